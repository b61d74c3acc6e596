"""Start pose of a task, and the check that the arm is there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from impact_control.pipeline.rest import largest_magnitude
from impact_control.util.types import Vector

START_TOLERANCE = 0.05
"""[rad] a joint may be from the start of a task."""


class StartPose:
    """The start of one task, and where the arm was when it was compared with it."""

    def __init__(self, joint_names: Sequence[str], configuration: Vector) -> None:
        """configuration (n,) [rad]: in which the reference of the task starts."""
        self._names = joint_names
        self._configuration = configuration
        self._away = np.zeros_like(configuration)

    def compare(self, position: Vector) -> bool:
        """Take the configuration of the arm (n,) [rad]; return whether the task may begin there."""
        np.subtract(position, self._configuration, out=self._away)
        return not self.missed

    @property
    def missed(self) -> bool:
        """True when the arm was elsewhere; False before the comparison."""
        return largest_magnitude(self._away) > START_TOLERANCE

    def reason(self) -> str:
        """Return where the arm was and where it should be; "" when it was there."""
        if not self.missed:
            return ""
        joint = int(np.abs(self._away).argmax())
        start, away = self._configuration[joint], self._away[joint]
        return (
            f"the arm is not where the task starts: {self._names[joint]} is at {start + away:.3f} rad, "
            f"{abs(away):.3f} rad from {start:.3f} rad (limit {START_TOLERANCE:g} rad)"
        )
