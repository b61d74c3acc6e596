"""Options of a simulated arm: switches of its effects, and the resolution of its integration."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from impact_control.util.checks import require_positive
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector


@dataclass(frozen=True, eq=False)
class Backlash:
    """Dead zone of the transmissions: Flacco 2016 (5), (6), corrected as in the Errata. Raises InvalidInputError.

    gap alpha [rad]: half-width, |theta - q| < alpha is free; 0: none. Beyond it the transmission's stiffness and
    damping act on theta - q -+ alpha, which is zero at the edge. damping K_phi,v [Nm s/rad] and dry_friction
    K_phi,s [Nm] act between motor and link inside the gap, the latter smoothed at low speed. Each (n,), or one number
    for all joints, at least 0. The friction of (6) on the link's own motion is the robot's JointFriction, inside
    the gap and outside.
    """

    gap: Vector | float
    damping: Vector | float = 0.0
    dry_friction: Vector | float = 0.0

    def __post_init__(self) -> None:
        for name in ("gap", "damping", "dry_friction"):
            array = np.array(getattr(self, name), dtype=float)
            if array.ndim > 1 or not (np.all(np.isfinite(array)) and np.all(array >= 0.0)):
                raise InvalidInputError(f"backlash {name}", array, "finite numbers of at least 0, one for each joint")
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def expanded(self, size: int) -> Backlash:
        """Return the same with (n,) arrays for `size` joints. Raises InvalidInputError when there are others."""
        arrays = []
        for name in ("gap", "damping", "dry_friction"):
            array = np.asarray(getattr(self, name))
            if array.ndim == 1 and array.size != size:
                raise InvalidInputError(f"backlash {name}", array, f"one number, or one for each of {size} joints")
            arrays.append(np.broadcast_to(array, (size,)))
        return Backlash(*arrays)


@dataclass(frozen=True, eq=False)
class PlantOptions:
    """Switches and resolution of a plant with compliant contact. Raises InvalidInputError.

    sample_period [s]: time advanced by one `step`, 1 ms on a Franka.
    refresh_ticks [-]: periods of the torque loop between two evaluations of the rigid-body terms; 2 instead
        of 1 changes the velocity after a 0.2 m/s impact by 0.03 % of the jump and saves 40 % of the time.
    largest_step [s]: largest integration step; 50 us is 1/125 of the period of the fastest joint
        resonance (joint 7: about 160 Hz) and a fifth of the torque loop's period. Steps are shorter where they would
        not be stable, see `step_control`.
    step_safety [-]: to follow a contact the step is at most step_safety over its own rate; 1 is less than half of
        what is stable. Halving both steps changes the velocity after an impact by less than 1e-3 of the jump
        (tests/impact_control/simulation/test_simulation_plant.py), with a sphere less than 1e-4.
    stiff_friction [-]: where friction alone would divide a step into more than so many, and nothing else asks for a
        shorter one, the scheme of `stabilised_step` passes it. Infinite: nowhere; impacts of steel, in
        which friction changes with the force, need that to be within 1e-3 of the jump.
    predict_velocity: take the rigid-body terms of an interval at the velocity expected at its middle, otherwise at
        that of its start. Without, the energy of a free arm drifts by 1e-3 of the kinetic energy in 1 s at
        2 rad/s, with it by less than 1e-5.
    joint_friction: the friction of the joints acts.
    torque_loop: the low-level torque loop, Rey Arias 2024 (4), acts; without it the motors get the
        commanded torque and keep their full inertia.
    torque_filter: the torque that the loop feeds back is filtered.
    gravity_compensation: the arm adds its gravity torque to the command, as a Franka does.
    backlash: of the joints.
    """

    sample_period: float = 1e-3
    refresh_ticks: int = 2
    largest_step: float = 50e-6
    step_safety: float = 1.0
    stiff_friction: float = math.inf
    predict_velocity: bool = True
    joint_friction: bool = True
    torque_loop: bool = True
    torque_filter: bool = True
    gravity_compensation: bool = True
    backlash: Backlash = field(default_factory=lambda: Backlash(0.0))

    def __post_init__(self) -> None:
        for name in ("sample_period", "refresh_ticks", "largest_step", "step_safety"):
            require_positive(name, getattr(self, name))
        if not self.stiff_friction > 0.0:
            raise InvalidInputError("stiff_friction", self.stiff_friction, "a number above 0, or infinity")


@dataclass(frozen=True, eq=False)
class RigidContactOptions:
    """Switches and resolution of a plant with rigid contact. Raises InvalidInputError.

    joints: sample period and effects in the joints, as in plant A; its step lengths are not used.
    largest_step [s]: of the integration; None: the default of the plant.
    rest_speed [m/s]: a point that leaves the surface slower after an impact stays on it.
    """

    joints: PlantOptions = field(default_factory=PlantOptions)
    largest_step: float | None = None
    rest_speed: float = 1e-4

    def __post_init__(self) -> None:
        if self.largest_step is not None:
            require_positive("largest_step", self.largest_step)
        require_positive("rest_speed", self.rest_speed)
