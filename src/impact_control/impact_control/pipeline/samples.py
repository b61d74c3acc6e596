"""Whether a sample of the joints' state can be used: finite, inside the arm's limits, in time."""

from __future__ import annotations

import math

import numpy as np

from impact_control.compiled import compiled
from impact_control.control import Fault
from impact_control.robots import RobotDescription
from impact_control.types import Vector

LIMIT_TOLERANCE = 0.1
"""[rad] outside the position limits, beyond which a measured state cannot be the arm's."""

VELOCITY_TOLERANCE = 1.25
"""Times the velocity limit, beyond which the arm is not in hand: a controller that keeps the limits was overpowered, as
by a contact it does not know of, and an impact as those of the scenarios adds less."""

NOT_FINITE, OUTSIDE = 1, 2


@compiled
def _defect(position: Vector, velocity: Vector, torque: Vector, lower: Vector, upper: Vector, fastest: Vector) -> int:
    """Return NOT_FINITE, OUTSIDE for a position or velocity out of bounds, else 0."""
    outside = False
    for i in range(position.shape[0]):
        if not (math.isfinite(position[i]) and math.isfinite(velocity[i]) and math.isfinite(torque[i])):
            return NOT_FINITE
        outside = outside or position[i] < lower[i] or position[i] > upper[i] or abs(velocity[i]) > fastest[i]
    return OUTSIDE if outside else 0


class SampleCheck:
    """Checks sample by sample; `timeout` [s] is the longest gap in a task, `period` [s] that of the samples."""

    def __init__(self, robot: RobotDescription, timeout: float, period: float) -> None:
        self._names = robot.joint_names
        self._limits = robot.limits
        self._lower = robot.limits.position_lower - LIMIT_TOLERANCE
        self._upper = robot.limits.position_upper + LIMIT_TOLERANCE
        self._fastest = robot.limits.velocity * VELOCITY_TOLERANCE
        self._timeout = timeout
        self._most_repeats = round(timeout / period)
        self._first = np.zeros((3, len(self._names)))
        self.reset()

    def reset(self) -> None:
        """Forget the last sample, and what was wrong with one."""
        self._last_time = -math.inf
        self._repeats = 0
        self._found = Fault.NONE
        self._gap = math.nan

    def repeated(self, time: float) -> bool:
        """Take a stamp [s] and tell whether its sample comes again or late: the newest one stands."""
        again = 0.0 <= self._last_time - time < self._timeout
        self._repeats = self._repeats + 1 if again else 0
        return again

    @property
    def stands_still(self) -> bool:
        """Whether more samples in a row came again or late than one stamp ahead of the others can make."""
        return self._repeats > self._most_repeats

    def note_standstill(self) -> None:
        """Keep that the stamp stood still, as what was wrong, for `reason`."""
        if self._found is Fault.NONE:
            self._found, self._gap = Fault.STATE_STALE, 0.0

    def fault(self, time: float, position: Vector, velocity: Vector, torque: Vector, *, in_task: bool) -> Fault:
        """Take a sample and return what is wrong with it.

        In a task that is also a gap before it, or a stamp that shows that the clock was set back.
        """
        since, self._last_time = time - self._last_time, time
        defect = _defect(position, velocity, torque, self._lower, self._upper, self._fastest)
        fault = Fault.NONE
        if defect == NOT_FINITE:
            fault = Fault.STATE_NOT_FINITE
        elif defect == OUTSIDE:
            fault = Fault.STATE_OUT_OF_LIMITS
        elif in_task and not 0.0 < since <= self._timeout:
            fault = Fault.STATE_STALE
        if fault is not Fault.NONE and self._found is Fault.NONE:
            self._found, self._gap = fault, since
            for row, values in zip(self._first, (position, velocity, torque), strict=True):
                row[:] = values
        return fault

    def reason(self, fault: Fault) -> str:
        """Say what was wrong with the first sample since `reset` that was a fault; nothing if it was another fault."""
        if fault is not self._found or fault is Fault.NONE:
            return ""
        if fault is Fault.STATE_STALE and self._gap == 0.0:
            return f"more than {self._most_repeats} samples in a row whose stamp did not advance"
        if fault is Fault.STATE_STALE:
            jump = f"{1e3 * self._gap:.1f} ms between the stamps of two samples"
            return f"{jump} (at most {1e3 * self._timeout:g} ms, and forwards)"
        position, velocity, _ = self._first
        if fault is Fault.STATE_NOT_FINITE:
            kinds = zip(("position", "velocity", "torque"), self._first, strict=True)
            kind, values = next((kind, values) for kind, values in kinds if not np.all(np.isfinite(values)))
            joint = int(np.flatnonzero(~np.isfinite(values))[0])
            return f"the {kind} of {self._names[joint]} is {values[joint]}"
        beyond = np.maximum(self._limits.position_lower - position, position - self._limits.position_upper)
        joint = int(beyond.argmax())
        if beyond[joint] > LIMIT_TOLERANCE:
            return f"{self._names[joint]} is at {position[joint]:.3f} rad, {beyond[joint]:.3f} rad beyond its limit"
        joint = int(np.argmax(np.abs(velocity) / self._limits.velocity))
        limit = self._limits.velocity[joint]
        return f"{self._names[joint]} moves at {velocity[joint]:.2f} rad/s, its limit is {limit:g} rad/s"
