"""Objects of a scene besides planes: mounted arms, free boxes, driven effectors."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from impact_control.impacts import NormalForceLaw
from impact_control.robots import RobotDescription
from impact_control.scenario import Touch
from impact_control.simulation.surface import require_contact
from impact_control.util.checks import checked_vector, freeze, require_not_negative, require_positive
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

UPRIGHT = (0.0, 0.0, 0.0, 1.0)
"""Quaternion x, y, z, w of no rotation."""


def _zeros() -> Vector:
    return np.zeros(3)


@dataclass(frozen=True, eq=False)
class Arm:
    """An arm at rest at `configuration` (n,) [rad], holding itself against gravity. Raises InvalidInputError.

    touches: on its links, by something outside the scene.
    """

    robot: RobotDescription
    configuration: Vector
    touches: tuple[Touch, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, (len(self.robot.joint_names),), "configuration")


@dataclass(frozen=True, eq=False)
class Box:
    """A free rigid box, homogeneous unless its inertia says otherwise. Raises InvalidInputError.

    mass [kg]; size (3,) [m], of its edges along its axes; its centre of mass is the middle. law, friction,
    slip_scale: of its faces, edges and corners against effectors, see `Surface`; against a plane those of the
    plane hold. position (3,) [m] of the centre, orientation (4,) as quaternion x, y, z, w, velocity (3,) [m/s] of
    the centre: world frame A. angular_velocity (3,) [rad/s]: axes of the box. inertia (3,) [kg m^2]: principal
    moments about its axes, None: of a homogeneous box.
    """

    mass: float
    size: Vector
    law: NormalForceLaw
    friction: float
    position: Vector
    orientation: Vector = field(default_factory=lambda: np.array(UPRIGHT))
    velocity: Vector = field(default_factory=_zeros)
    angular_velocity: Vector = field(default_factory=_zeros)
    inertia: Vector | None = None
    slip_scale: float = 2e-3

    def __post_init__(self) -> None:
        require_positive("box mass", self.mass)
        freeze(self, (3,), "size", "position", "velocity", "angular_velocity", owner="box")
        checked_vector("box size", self.size, 3, zero_allowed=False)
        freeze(self, (4,), "orientation", owner="box")
        if abs(float(np.linalg.norm(self.orientation)) - 1.0) > 1e-6:
            raise InvalidInputError("box orientation", self.orientation, "a quaternion x, y, z, w of length 1")
        if self.inertia is None:
            squares = self.size**2
            object.__setattr__(self, "inertia", self.mass / 12.0 * (squares.sum() - squares))
        freeze(self, (3,), "inertia", owner="box")
        moments = np.asarray(self.inertia)
        if np.any(moments <= 0.0) or 2.0 * moments.max() > (1.0 + 1e-9) * moments.sum():
            raise InvalidInputError("box inertia", moments, "moments above 0, none above the sum of the others")
        require_contact("box", self.law, self.friction, self.slip_scale)

    @property
    def corners(self) -> Matrix:
        """Return the corners (8, 3) [m] from the centre, axes of the box."""
        signs = np.array(list(product((-1.0, 1.0), repeat=3)))
        corners: Matrix = 0.5 * signs * self.size
        return corners


@dataclass(frozen=True, eq=False)
class Pusher:
    """An effector without an arm, which moves at a constant velocity whatever resists. Raises InvalidInputError.

    position (3,) [m] and velocity (3,) [m/s], world frame A; it does not turn. radius [m] of the sphere around each
    of its points (n_c, 3) [m], which are given from its position; default: one.
    """

    position: Vector
    radius: float
    velocity: Vector = field(default_factory=_zeros)
    points: Matrix = field(default_factory=lambda: np.zeros((1, 3)))

    def __post_init__(self) -> None:
        freeze(self, (3,), "position", "velocity", owner="pusher")
        require_not_negative("pusher radius", self.radius)
        freeze(self, (max(1, len(np.atleast_1d(self.points))), 3), "points", owner="pusher")
