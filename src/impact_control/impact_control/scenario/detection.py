"""Observer and impact detectors of a scenario: each detector that has a section is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from impact_control.scenario.fields import (
    JOINTS,
    NOT_NEGATIVE,
    POSITIVE,
    Count,
    JointNumbers,
    Number,
    Numbers,
    Refusal,
    Rows,
    each_joint,
)
from impact_control.util.types import Matrix, Vector


@dataclass(frozen=True, eq=False, kw_only=True)
class ResidualRate:
    """Rate of the momentum residual, Proper 2021 (3.4), (3.6), (3.7): hard impacts."""

    threshold: Annotated[Vector, each_joint("Nm/s", POSITIVE), "r_b, bound of the rate"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Residual:
    """The momentum residual itself, Proper 2021 (2.91): soft and slow touches too."""

    threshold: Annotated[Vector, each_joint("Nm", POSITIVE), "bound; above the friction that is not known"]


@dataclass(frozen=True, eq=False, kw_only=True)
class VelocityJump:
    """Joint velocity against where its last samples point, Proper 2021 section 1.1."""

    threshold: Annotated[Vector, each_joint("rad/s", POSITIVE), "bound of the jump"]
    window: Annotated[int, Count(2, 1000), "samples through which the line is laid", 8]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorqueError:
    """Sum of the torque errors of chosen joints, Wang 2022 section VI. Needs detector and controller in one process."""

    threshold: Annotated[float, Number("Nm", POSITIVE), "bound of the sum"]
    joints: Annotated[tuple[int, ...], JointNumbers(), "joints whose errors are added, the first is 1"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SlidingFriction:
    """Friction that the residual shows in free motion, in the form of the robot's `joint_friction`."""

    amplitude: Annotated[Vector, Numbers(JOINTS, "Nm"), "between the two directions"]
    slope: Annotated[Vector, Numbers(JOINTS, "s/rad"), "how fast it turns about at a reversal"]
    offset: Annotated[Vector, Numbers(JOINTS, "rad/s"), "from rest, of the reversal"]
    viscous: Annotated[Vector, Numbers(JOINTS, "Nm*s/rad"), "in proportion to the speed"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Whitened:
    """All joints at once against noise and model errors of this arm; written by `impact-control calibrate detector`."""

    threshold: Annotated[Vector, Numbers(5, "", POSITIVE), "bound of each band, 2.5 to 40 ms"]
    friction: Annotated[SlidingFriction, "taken out of the residual"]
    known_speed: Annotated[
        Vector, Numbers(JOINTS, "rad/s", POSITIVE), "largest of the recording; beyond it a joint counts less"
    ]
    deviations: Annotated[Matrix, Rows("Nm"), "of band and signal: constant, with speed, acceleration, at rest"]
    correlations: Annotated[Matrix, Rows(), "of the joints' signals in each band"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Own:
    """A score of another package, found by the name under which it is installed, see `detection.own_scores`."""

    score: Annotated[str, "name under which an installed package offers it"]
    threshold: Annotated[float, Number("", POSITIVE), "bound of each channel of the score, in its SI unit"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Isolation:
    """The link that was hit: the outermost joint whose residual changes, see `detection.LinkIsolation`."""

    threshold: Annotated[
        Vector, each_joint("Nm", POSITIVE), "change of the residual that counts; above what free motion makes of it"
    ]
    velocity_slope: Annotated[
        Vector,
        each_joint("Nm*s/rad", NOT_NEGATIVE),
        "how much more where the joint's speed changes: slope of a friction that is not known",
        "0 Nm*s/rad",
    ]
    motion_slope: Annotated[
        Vector,
        each_joint("Nm*s/rad", NOT_NEGATIVE),
        "how much more for each rad/s of all joints together before: errors of the model",
        "0 Nm*s/rad",
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class Detection:
    """Momentum observer, Proper 2021 (2.89), and the impact detectors; the first of them to report makes the event."""

    observer_gain: Annotated[Vector, each_joint("1/s", POSITIVE), "diagonal of K_O"]
    refractory_time: Annotated[float, Number("s", NOT_NEGATIVE), "least time between two detected impacts, t_int"]
    residual_rate: Annotated[ResidualRate | None, "detector on the rate of the residual", "none"]
    residual: Annotated[Residual | None, "detector on the residual", "none"]
    velocity_jump: Annotated[VelocityJump | None, "detector on jumps of the velocity", "none"]
    torque_error: Annotated[TorqueError | None, "detector on the error of the torque control", "none"]
    whitened: Annotated[Whitened | None, "detector on all joints at once, for real arms", "none"]
    own: Annotated[Own | None, "detector on a score of another package", "none"]

    isolation: Annotated[
        Isolation | None, "tests on the residual which link was hit; without it a hint at most", "none"
    ]

    @property
    def needs_commands(self) -> bool:
        """True where one of the detectors compares torques with those commanded, or may do so."""
        return self.torque_error is not None or self.own is not None

    @property
    def rate_threshold(self) -> Vector:
        """Bounds (n,) [Nm/s] of the residual's rate; NaN where the detectors have none."""
        return np.full_like(self.observer_gain, np.nan) if self.residual_rate is None else self.residual_rate.threshold

    def check(self) -> None:
        """Require a detector."""
        names = ("residual_rate", "residual", "velocity_jump", "torque_error", "whitened", "own")
        if not any(getattr(self, name) for name in names):
            raise Refusal("residual_rate", "none", f"at least one detector of {', '.join(names)}")
