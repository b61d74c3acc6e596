"""All that the figures of a run draw from."""

from __future__ import annotations

from dataclasses import dataclass

from impact_control.errors import InvalidInputError
from impact_control.recording.analysis import RunAnalysis
from impact_control.recording.comparison import PostImpactComparison
from impact_control.recording.series import Recording
from impact_control.recording.summary import short_joint_names
from impact_control.recording.topics import Topics
from impact_control.types import Matrix, Vector


@dataclass(frozen=True)
class Envelope:
    """Envelope of the joint velocity error, recomputed by the caller. Proper 2021, (4.26).

    Attributes:
        time: (m,) [s] stamps.
        lower: (m, n) [rad/s] bound.
        upper: (m, n) [rad/s] bound.
        margin: [rad/s] e_eta, by which the bounds are widened in (4.27).
    """

    time: Vector
    lower: Matrix
    upper: Matrix
    margin: float = 0.0

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if bound.ndim != 2 or len(bound) != len(self.time) or bound.shape != self.lower.shape:
                raise InvalidInputError(name, bound.shape, f"shape ({len(self.time)}, joints)")


@dataclass(frozen=True)
class RunData:
    """All that the figures draw from."""

    recording: Recording
    analysis: RunAnalysis
    topics: Topics
    comparison: PostImpactComparison | None = None
    envelope: Envelope | None = None

    @property
    def joints(self) -> tuple[str, ...]:
        """Short names of the joints."""
        return short_joint_names(self.analysis.joint_names)
