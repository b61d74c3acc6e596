"""Whether a sample of the joints' state can be used: finite, inside the arm's limits, in time."""

from __future__ import annotations

import math

from impact_control.compiled import compiled
from impact_control.control import Fault
from impact_control.robots import RobotDescription
from impact_control.types import Vector

LIMIT_TOLERANCE = 0.1
"""[rad] outside the position limits, beyond which a measured state cannot be the arm's."""


@compiled
def _defect(position: Vector, velocity: Vector, torque: Vector, lower: Vector, upper: Vector) -> int:
    """Return 1 for a sample that is not finite, 2 for a position that cannot be the arm's, else 0."""
    outside = False
    for i in range(position.shape[0]):
        if not (math.isfinite(position[i]) and math.isfinite(velocity[i]) and math.isfinite(torque[i])):
            return 1
        outside = outside or position[i] < lower[i] or position[i] > upper[i]
    return 2 if outside else 0


class SampleCheck:
    """Checks sample by sample; `timeout` [s] is the longest gap in a task."""

    def __init__(self, robot: RobotDescription, timeout: float) -> None:
        self._lower = robot.limits.position_lower - LIMIT_TOLERANCE
        self._upper = robot.limits.position_upper + LIMIT_TOLERANCE
        self._timeout = timeout
        self.reset()

    def reset(self) -> None:
        """Forget the last sample."""
        self._last_time = -math.inf

    def repeated(self, time: float) -> bool:
        """Tell whether a sample at `time` [s] comes again or late: the newest one stands."""
        return 0.0 <= self._last_time - time < self._timeout

    def fault(self, time: float, position: Vector, velocity: Vector, torque: Vector, *, in_task: bool) -> Fault:
        """Take a sample and return what is wrong with it.

        In a task that is also a gap before it, or a stamp that shows that the clock was set back.
        """
        since, self._last_time = time - self._last_time, time
        defect = _defect(position, velocity, torque, self._lower, self._upper)
        if defect == 1:
            return Fault.STATE_NOT_FINITE
        if defect == 2:
            return Fault.STATE_OUT_OF_LIMITS
        if in_task and not 0.0 < since <= self._timeout:
            return Fault.STATE_STALE
        return Fault.NONE
