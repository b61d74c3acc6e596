"""Description of an arm: its joints, its end-effector, and the model of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pinocchio as pin

from impact_control.robots.joints import (
    JointFriction,
    JointLimits,
    ModelDeviation,
    SensorNoise,
    TorqueLoop,
    Transmission,
)
from impact_control.util.checks import freeze, require_not_negative, require_positive
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

CONTACT_FRAME = "contact"
"""Name of the contact frame E in the Pinocchio model."""


@dataclass(frozen=True)
class Cover:
    """Soft cover of an end-effector: exponentially extended Hunt-Crossley contact, Rey Arias 2024 (6).

    stiffness k_c [N/m^exponent] of one contact point, above 0; damping d_c [N s/m^(exponent+1)], at least 0;
    exponent [-], above 0. Raises InvalidInputError.
    """

    stiffness: float
    damping: float
    exponent: float

    def __post_init__(self) -> None:
        require_positive("stiffness", self.stiffness)
        require_not_negative("damping", self.damping)
        require_positive("exponent", self.exponent)


@dataclass(frozen=True, eq=False)
class EndEffector:
    """Rigid body on the flange that touches with one or more small spheres. Raises InvalidInputError.

    A sphere has one contact point, an edge n_c in a row, a plate at least four: Proper 2021 (2.25), (2.27).

    Attributes:
        name: its name.
        radius: of the sphere around each contact point [m], at least 0 (0: the point itself touches).
        mass: [kg], above 0; 0 for a bare flange, with an inertia of 0.
        com: centre of mass (3,) [m], in axes of the flange, from its origin.
        inertia: (3, 3) [kg m^2] about the centre of mass, axes of the flange.
        contact_frame_offset: origin of E (3,) [m], in axes of the flange, from its origin. E has the
            orientation of the flange.
        contact_points: (n_c, 3) [m], in axes of E, from its origin; default one point at the origin.
        cover: what is soft about it; None: nothing, what it hits makes the contact law.
    """

    name: str
    radius: float
    mass: float
    com: Vector
    inertia: Matrix
    contact_frame_offset: Vector
    contact_points: Matrix = field(default_factory=lambda: np.zeros((1, 3)))
    cover: Cover | None = None

    def __post_init__(self) -> None:
        require_not_negative("radius", self.radius)
        require_not_negative("mass", self.mass)
        freeze(self, (3,), "com", "contact_frame_offset")
        freeze(self, (3, 3), "inertia")
        freeze(self, (max(1, len(np.atleast_1d(self.contact_points))), 3), "contact_points")
        if not np.allclose(self.inertia, self.inertia.T, rtol=1e-9, atol=0.0):
            raise InvalidInputError("inertia", self.inertia, "a symmetric matrix")
        if self.mass == 0.0:
            if self.inertia.any():
                raise InvalidInputError("mass", self.mass, "above 0, or 0 with an inertia of 0 for a bare flange")
            return
        principal = np.linalg.eigvalsh(self.inertia)
        if principal[0] <= 0.0 or principal[2] > (1.0 + 1e-9) * (principal[0] + principal[1]):
            raise InvalidInputError(
                "inertia",
                self.inertia,
                f"principal moments above 0, none above the sum of the others; they are {principal}",
            )


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """An arm with its end-effector, complete.

    Attributes:
        name: of the robot.
        joint_names: the n joints, in the order of every (n,) array.
        limits, transmission, friction, torque_loop, noise, deviation, end_effector: see their classes.
        pinocchio_model: pinocchio.Model with the end-effector's inertia and the frame CONTACT_FRAME. Links
            only: no motor inertia. Shared by all who use the description, not to be changed.
        contact_frame_id: id of the contact frame E in the model.
        urdf: file of the arm without end-effector.
        gravity: acceleration (3,) [m/s^2], world frame A.
    """

    name: str
    joint_names: tuple[str, ...]
    limits: JointLimits
    transmission: Transmission
    friction: JointFriction
    torque_loop: TorqueLoop
    noise: SensorNoise
    deviation: ModelDeviation
    end_effector: EndEffector
    pinocchio_model: pin.Model
    contact_frame_id: int
    urdf: Path
    gravity: Vector

    def __post_init__(self) -> None:
        freeze(self, (3,), "gravity")
