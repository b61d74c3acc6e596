"""Back into an interrupted task: a rest-to-rest motion to its reference, then its clock from standstill to full speed.

Flacco 2016 section V-D lets the task go on when nothing has touched the arm for a while; how is ours.
"""

from __future__ import annotations

import math

import numpy as np

from impact_control.references import ReferenceColumns
from impact_control.references.quintic import PEAK_ACCELERATION, PEAK_SPEED
from impact_control.util.compiled import compiled_in_place
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Vector

RUN_UP = 0.1
"""[s] of task time at full speed before the nominal impact: a task that was interrupted later is taken up earlier."""


@compiled_in_place
def _duration(start: Vector, target: Vector, speed: Vector, acceleration: Vector, least: float) -> float:
    """Return the shortest time [s] in which no joint exceeds speed (n,) [rad/s] or acceleration (n,) [rad/s^2]."""
    duration = least
    for j in range(start.shape[0]):
        way = abs(target[j] - start[j])
        duration = max(duration, PEAK_SPEED * way / speed[j])
        duration = max(duration, math.sqrt(PEAK_ACCELERATION * way / acceleration[j]))
    return duration


@compiled_in_place
def _blend(motion: Memory, elapsed: float, duration: float) -> None:
    """Write the rest-to-rest quintic from start to target at `elapsed` of `duration` [s]."""
    m = motion[()]
    u = min(max(elapsed / duration, 0.0), 1.0)
    share = u * u * u * (10.0 + u * (6.0 * u - 15.0))
    slope = 30.0 * u * u * (1.0 - u) * (1.0 - u) / duration
    curvature = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / (duration * duration)
    for j in range(m.start.shape[0]):
        way = m.target[j] - m.start[j]
        m.position[j] = m.start[j] + share * way
        m.velocity[j] = slope * way
        m.acceleration[j] = curvature * way


@compiled_in_place
def _clock(elapsed: float, duration: float) -> tuple[float, float, float]:
    """Return task time passed [s], its rate [-] and the rate's derivative [1/s], `elapsed` [s] after the start.

    The rate is the quintic of `_blend`; over the whole duration half of it passes as task time.
    """
    u = min(max(elapsed / duration, 0.0), 1.0)
    passed = duration * u * u * u * u * (2.5 + u * (u - 3.0)) + max(0.0, elapsed - duration)
    rate = u * u * u * (10.0 + u * (6.0 * u - 15.0))
    return passed, rate, 30.0 * u * u * (1.0 - u) * (1.0 - u) / duration


@compiled_in_place
def _slow_down(first: Vector, second: Vector, rate: float, rate_change: float) -> None:
    """Turn first and second derivative (k,) into those on a clock of that rate, see `slow_down`."""
    for i in range(first.shape[0]):
        second[i] = second[i] * rate * rate + first[i] * rate_change
        first[i] *= rate


def slow_down(sample: ReferenceColumns, rate: float, rate_change: float) -> None:
    """Turn a sample of a reference into what it is on a clock of that rate.

    x(s(t)): dx/dt = x' rate, d^2x/dt^2 = x'' rate^2 + x' rate_change. rate [-], rate_change [1/s].
    """
    _slow_down(sample.velocity, sample.acceleration, rate, rate_change)
    _slow_down(sample.angular_velocity, sample.angular_acceleration, rate, rate_change)
    _slow_down(sample.posture[1:2], sample.posture[2:3], rate, rate_change)
    _slow_down(sample.joint_velocity, sample.joint_acceleration, rate, rate_change)


class Resumption:
    """First the joints go back to the reference at one task time, at rest; then the clock starts from there.

    Attributes after `back_at`: position, velocity, acceleration (n,) of the joints [rad, rad/s, rad/s^2].
    """

    def __init__(self, n: int, period: float) -> None:
        self._period = period
        joints = (n,)
        self._memory = memory = named_memory(
            start=joints, target=joints, position=joints, velocity=joints, acceleration=joints
        )
        self._start, self._target = memory["start"], memory["target"]
        self._start_time = 0.0
        self._duration = period
        self._ramp = 1.0
        self._task_time = 0.0
        self.position: Vector = memory["position"]
        self.velocity: Vector = memory["velocity"]
        self.acceleration: Vector = memory["acceleration"]
        # Compiles the kernels here and not in the loop.
        one = np.ones(n)
        self.begin(0.0, self._start, self._target, one, one, 0.0, 1.0)
        self.back_at(0.0)
        self.clock(0.0)
        slow_down(ReferenceColumns.one_sample(n), 0.0, 0.0)

    def begin(
        self,
        time: float,
        start: Vector,
        target: Vector,
        speed: Vector,
        acceleration: Vector,
        task_time: float,
        ramp: float,
    ) -> None:
        """Begin at `time` [s] in configuration start (n,) [rad], to resume at `task_time` [s] in target (n,) [rad].

        speed, acceleration (n,) [rad/s, rad/s^2]: bounds on the way. ramp [s]: in which the clock gets to full speed.
        """
        self._start[:] = start
        self._target[:] = target
        self._start_time = time
        self._duration = _duration(start, target, speed, acceleration, self._period)
        self._task_time = task_time
        self._ramp = ramp

    @property
    def back_time(self) -> float:
        """Time [s] at which the joints are back."""
        return self._start_time + self._duration

    def back_at(self, time: float) -> None:
        """Write the motion of the joints at `time` [s]."""
        _blend(self._memory, time - self._start_time, self._duration)

    def clock(self, time: float) -> tuple[float, float, float]:
        """Return task time [s], its rate [-] and the rate's derivative [1/s] at `time` [s]; rate 1: it is over."""
        passed, rate, rate_change = _clock(time - self.back_time, self._ramp)
        return self._task_time + passed, rate, rate_change


def resumption_time(interrupted: float, nominal_impact_time: float, ramp: float) -> float:
    """Return the task time [s] at which an approach that was interrupted at `interrupted` [s] is taken up.

    Where it was, or so much earlier that the clock runs at full speed for `RUN_UP` before the nominal impact; never
    before the start. ramp [s]: duration in which the clock gets to full speed, half of which passes as task time.
    """
    return max(0.0, min(interrupted, nominal_impact_time - RUN_UP - 0.5 * ramp))
