"""Data of the joints of an arm: limits, transmission, friction, torque loop, sensor noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from impact_control.util.checks import (
    freeze,
    not_negative_fields,
    positive_fields,
    require_not_negative,
    require_positive,
)
from impact_control.util.compiled import compiled
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits of the joints, each (n,).

    position_lower, position_upper [rad]; velocity [rad/s], torque [Nm] and torque_rate [Nm/s] are
    magnitudes, all above 0. Raises InvalidInputError.
    """

    position_lower: Vector
    position_upper: Vector
    velocity: Vector
    torque: Vector
    torque_rate: Vector

    def __post_init__(self) -> None:
        _freeze_vectors(self, "position_lower", "position_upper", "velocity", "torque", "torque_rate")
        if not np.all(self.position_lower < self.position_upper):
            raise InvalidInputError("position_lower", self.position_lower, "below position_upper")
        positive_fields(self, "velocity", "torque", "torque_rate", each="joint")


@dataclass(frozen=True, eq=False)
class Transmission:
    """Flexible joints and motors of Rey Arias 2024 (1)-(5), each (n,), the diagonals of the matrices.

    stiffness K [Nm/rad] and damping D [Nm s/rad] of the transmission; motor_inertia B_rho [kg m^2], after the
    gear; reduced_motor_inertia B_theta [kg m^2], what the low-level torque loop makes of it, above 0 and at
    most motor_inertia. Raises InvalidInputError.
    """

    stiffness: Vector
    damping: Vector
    motor_inertia: Vector
    reduced_motor_inertia: Vector

    def __post_init__(self) -> None:
        _freeze_vectors(self, "stiffness", "damping", "motor_inertia", "reduced_motor_inertia")
        positive_fields(self, "stiffness", "motor_inertia", "reduced_motor_inertia", each="joint")
        not_negative_fields(self, "damping", each="joint")
        if np.any(self.reduced_motor_inertia > self.motor_inertia):
            raise InvalidInputError(
                "reduced_motor_inertia",
                self.reduced_motor_inertia,
                "at most motor_inertia in every joint: the torque loop reduces it",
            )


@compiled
def _friction_torque(
    velocity: Vector, amplitude: Vector, slope: Vector, offset: Vector, at_rest: Vector, out: Vector
) -> None:
    """Write phi_1 / 2 (tanh(phi_2 (dq + phi_3) / 2) - tanh(phi_2 phi_3 / 2)) to out (n,)."""
    for i in range(out.shape[0]):
        out[i] = 0.5 * amplitude[i] * (math.tanh(0.5 * slope[i] * (velocity[i] + offset[i])) - at_rest[i])


@dataclass(frozen=True, eq=False)
class JointFriction:
    """Sigmoidal friction of the joints, Gaz et al. 2019, each (n,).

    amplitude phi_1 [Nm] at least 0, slope phi_2 [s/rad] above 0, offset phi_3 [rad/s]. on_motor: whether it acts on
    the motors, before the transmission, and not on the links: a torque loop reduces it there, see `reduced`.
    Raises InvalidInputError.
    """

    amplitude: Vector
    slope: Vector
    offset: Vector
    on_motor: bool = False
    _at_rest: Vector = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _freeze_vectors(self, "amplitude", "slope", "offset")
        not_negative_fields(self, "amplitude", each="joint")
        positive_fields(self, "slope", each="joint")
        object.__setattr__(self, "_at_rest", np.tanh(0.5 * self.slope * self.offset))
        self._at_rest.setflags(write=False)

    def reduced(self, transmission: Transmission) -> JointFriction:
        """Return the friction of the links that a torque-controlled arm with rigid joints has.

        Friction on the motors is reduced as their inertia is, by B_theta / B_rho: van Steen 2024 (4), (7), (8).
        """
        if not self.on_motor:
            return self
        reduction = transmission.reduced_motor_inertia / transmission.motor_inertia
        return replace(self, amplitude=self.amplitude * reduction, on_motor=False)

    def torque(self, velocity: Vector, out: Vector) -> Vector:
        """Write the friction torque at the joint velocity (n,) [rad/s] to out (n,) [Nm], and return it.

        tau_f = phi_1 / (1 + exp(-phi_2 (dq + phi_3))) - phi_1 / (1 + exp(-phi_2 phi_3)), zero at rest and of
        the sign of dq: it stands on the left side, M ddq + h + tau_f = tau. Evaluated as a difference of
        tanh, which is the same and does not overflow. Does not allocate; out may be velocity.
        """
        _friction_torque(velocity, self.amplitude, self.slope, self.offset, self._at_rest, out)
        return out


@dataclass(frozen=True)
class TorqueLoop:
    """Low-level torque loop: rate [Hz] and cut-off of the first-order filter on the measured torque [Hz].

    Rey Arias 2024, section III. Both above 0. Raises InvalidInputError.
    """

    rate: float
    filter_cutoff: float

    def __post_init__(self) -> None:
        require_positive("rate", self.rate)
        require_positive("filter_cutoff", self.filter_cutoff)


@dataclass(frozen=True, eq=False)
class ModelDeviation:
    """Standard deviations as parts of what deviates, all at least 0.

    link_inertia of M, reduced_motor_inertia of B_theta, joint_friction (n,) of the amplitudes phi_1. Raises
    InvalidInputError.
    """

    link_inertia: float
    reduced_motor_inertia: float
    joint_friction: Vector

    def __post_init__(self) -> None:
        require_not_negative("link_inertia", self.link_inertia)
        require_not_negative("reduced_motor_inertia", self.reduced_motor_inertia)
        _freeze_vectors(self, "joint_friction")
        not_negative_fields(self, "joint_friction", each="joint")


@dataclass(frozen=True, eq=False)
class SensorNoise:
    """Half-widths of the noise on each sample, each (n,) and at least 0; Proper 2021 (3.5).

    position and motor_position [rad], velocity and motor_velocity [rad/s], torque [Nm].
    Raises InvalidInputError.
    """

    position: Vector
    velocity: Vector
    torque: Vector
    motor_position: Vector
    motor_velocity: Vector

    def __post_init__(self) -> None:
        names = ("position", "velocity", "torque", "motor_position", "motor_velocity")
        _freeze_vectors(self, *names)
        not_negative_fields(self, *names, each="joint")


def _freeze_vectors(instance: object, *names: str) -> None:
    """Replace the named fields by read-only float64 copies, all of the length of the first."""
    freeze(instance, (np.size(getattr(instance, names[0])),), *names)
