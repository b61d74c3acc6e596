"""Check of a joint state: finite, inside the limits of the arm, in time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.control import Fault
from impact_control.observation import MAXIMUM_GAP, POSITION_TOLERANCE
from impact_control.robots import RobotDescription
from impact_control.scenario import Scenario
from impact_control.util.compiled import compiled
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Vector

LIMIT_TOLERANCE = 0.1
"""[rad] outside the position limits, beyond which a measured state cannot be the arm's."""

VELOCITY_TOLERANCE = 1.25
"""Times the velocity limit, beyond which the arm is not in hand: a controller that keeps the limits was overpowered, as
by a contact it does not know of, and an impact as those of the scenarios adds less."""

MOTION = 1e-9
"""[rad/s] from which on a joint moves: in a period of 1 ms its position changes by thousands of the last digits."""

SETTLING = 3.0
"""Time constants of the observer after which its residual follows the arm again: 5 % of an error are left."""

TORQUE_TOLERANCE = 10.0
"""Times the torque limit, beyond which a measured joint torque is none: also the hardest impact, which loads a joint
through its transmission by more than its motor can, stays below."""

_NONE = Fault.NONE  # read in every sample

SOUND, NOT_FINITE, OUTSIDE = -1, -2, -3
"""Status of a sample; from 0 on it is the index of the joint whose position contradicts its velocity."""

STAMP_ERROR = 5e-3
"""Largest error [s] of the time between two stamps: 5.1 ms in a recording of an FR3, 3.0 ms in one of a Panda."""


@compiled
def _contradicts(position: Vector, velocity: Vector, allowed: Memory, last: Memory, since: float, lost: float) -> int:
    """Return the joint whose position cannot be reached from the last sample, `since` [s] ago, -1 for none.

    The change of position has to be the mean velocity times `since`. Allowed are the tolerance of the joint, half the
    change of velocity times `since`, STAMP_ERROR times the speed, and the largest speed over the lost samples [s].
    """
    before, most = last[()], allowed[()]
    for i in range(position.shape[0]):
        expected = 0.5 * since * (velocity[i] + before.velocity[i])
        slack = most.tolerance[i] + 0.5 * since * abs(velocity[i] - before.velocity[i])
        slack += STAMP_ERROR * max(abs(velocity[i]), abs(before.velocity[i])) + lost * most.speed[i]
        if abs(position[i] - before.position[i] - expected) > slack:
            return i
    return -1


@compiled
def _copied(position: Vector, velocity: Vector, torque: Vector, last: Memory) -> bool:
    """Return whether a sample has all numbers of the last one although a joint moves: it is a copy of that.

    ros2_control stamps what its last read left. Measured signals have noise: no two samples are equal in all numbers.
    Without noise those of an arm at exact rest are, and stay samples: with all velocities zero a new one would say no
    more, and nothing can be detected from it.
    """
    before, moves = last[()], False
    for i in range(position.shape[0]):
        if position[i] != before.position[i] or velocity[i] != before.velocity[i] or torque[i] != before.torque[i]:
            return False
        moves = moves or abs(velocity[i]) > MOTION
    return moves


@compiled
def _inspect(
    position: Vector, velocity: Vector, torque: Vector, allowed: Memory, last: Memory, since: float, lost: float
) -> int:
    """Compare a sample with the last one and with what is allowed, and keep it as the last one.

    allowed: lower and upper position, largest speed and torque, tolerance of the position. last: the sample, and how
    the torque has turned since the one before. since [s]: from the last one, 0 for not to compare positions; lost: of
    it without samples. Returns SOUND, NOT_FINITE, OUTSIDE, or the joint that contradicts the last sample.
    """
    found = _contradicts(position, velocity, allowed, last, since, lost) if since > 0.0 else SOUND
    most, before = allowed[()], last[()]
    for i in range(position.shape[0]):
        if not (math.isfinite(position[i]) and math.isfinite(velocity[i]) and math.isfinite(torque[i])):
            found = NOT_FINITE
        elif found != NOT_FINITE and (
            position[i] < most.lower[i]
            or position[i] > most.upper[i]
            or abs(velocity[i]) > most.speed[i]
            or abs(torque[i]) > most.torque[i]
        ):
            found = OUTSIDE
        before.turned[i] = torque[i] - before.torque[i]
        before.position[i], before.velocity[i], before.torque[i] = position[i], velocity[i], torque[i]
    return found


@compiled
def _undilute(rate: Vector, turned: Vector, gain: Vector, since: float, period: float, out: Vector) -> None:
    """Write the residual's rate (n,) [Nm/s] as if its change over a gap of `since` [s] had come within a period [s].

    In a gap the torque is not known: without commands a guard damps. The observer integrates it by the trapezoidal
    rule; a torque that went from one value to another is off by at most since / 2 of their difference, turned (n,)
    [Nm], and the residual by gain (n,) [1/s] times that. So much of its change says nothing of the environment.
    """
    for i in range(out.size):
        unknown = 0.5 * since * gain[i] * abs(turned[i])
        out[i] = math.copysign(max(abs(rate[i]) * since - unknown, 0.0) / period, rate[i])


@dataclass(frozen=True, eq=False)
class Gaps:
    """Times [s]: period of the samples, timeout, over which a task goes on, longest that is no fault, and settling.

    settling: after a gap above timeout, until the residual of an observer that restarted follows the arm again.
    observer_gain (n,) [1/s]: of that observer.
    """

    period: float
    timeout: float
    longest: float
    settling: float
    observer_gain: Vector

    @classmethod
    def of(cls, scenario: Scenario) -> Gaps:
        """Return what the scenario says of gaps in the joint states; afterwards the detectors restart."""
        control = scenario.control
        settling = max(SETTLING / float(np.min(scenario.detection.observer_gain)), MAXIMUM_GAP + control.period)
        gain = scenario.detection.observer_gain
        return cls(control.period, control.state_timeout, control.longest_gap, settling, gain)

    def count(self, gap: float) -> int:
        """Return the number of samples in a gap [s]."""
        return round(gap / self.period)


class SampleCheck:
    """Checks sample by sample.

    Attribute: since [s], from the sample before to the last one; infinite for the first.
    """

    def __init__(self, robot: RobotDescription, gaps: Gaps) -> None:
        self._names = robot.joint_names
        self._limits = robot.limits
        joints = robot.limits.torque.shape
        self._allowed = named_memory(lower=joints, upper=joints, speed=joints, torque=joints, tolerance=joints)
        self._allowed["lower"] = robot.limits.position_lower - LIMIT_TOLERANCE
        self._allowed["upper"] = robot.limits.position_upper + LIMIT_TOLERANCE
        self._allowed["speed"] = robot.limits.velocity * VELOCITY_TOLERANCE
        self._allowed["torque"] = robot.limits.torque * TORQUE_TOLERANCE
        # Two samples may be off by twice the half-width of the noise.
        self._allowed["tolerance"] = np.maximum(POSITION_TOLERANCE, 3.0 * robot.noise.position)
        self._gaps = gaps
        self._rounding = 0.5 * gaps.period
        self._last = named_memory(position=joints, velocity=joints, torque=joints, turned=joints)
        self._last_position: Vector = self._last["position"]
        self._turned: Vector = self._last["turned"]
        self._faulty = self._last.copy()
        self._rate = np.zeros(joints)
        # Compiles the kernels here and not in the loop.
        still = np.zeros(joints)
        _copied(still, still, still, self._last)
        _inspect(still, still, still, self._allowed, self._last, gaps.period, 0.0)
        _undilute(still, still, gaps.observer_gain, gaps.period, gaps.period, self._rate)
        self.reset()

    def reset(self) -> None:
        """Forget the last sample, and what was wrong with one."""
        self._last_time = -math.inf
        for name in ("position", "velocity", "torque"):
            self._last[name] = math.nan
        self._repeats = self._dropped = 0
        self._blind_from = -math.inf
        self._contradictory = -1
        self.since = math.inf
        self._found = Fault.NONE
        self._gap = math.nan

    def repeated(self, time: float, position: Vector, velocity: Vector, torque: Vector) -> bool:
        """Take a stamp [s] and its sample; return whether it is a repeated or late one: the newest one stands.

        Repeated is one with the stamp of the newest, or with its numbers, see `_copied`.
        """
        since = time - self._last_time
        # Few samples have even one number of the last one.
        again = -self._gaps.timeout < since <= 0.0 or (
            position[0] == self._last_position[0] and _copied(position, velocity, torque, self._last)
        )
        if again:
            self._repeats += 1
        else:
            self._dropped, self._repeats = self._repeats, 0
        return again

    @property
    def overdue(self) -> bool:
        """True when more samples in a row came again or late than one stamp ahead of the others can make."""
        return self._repeats > self._gaps.count(self._gaps.timeout)

    @property
    def stands_still(self) -> bool:
        """True when so many samples in a row came again or late that it is a fault."""
        return self._repeats > self._gaps.count(self._gaps.longest)

    @property
    def after_gap(self) -> bool:
        """True for a sample behind a gap over which no task goes on."""
        return self._gaps.timeout + self._rounding < self.since < math.inf

    def sees(self, time: float) -> bool:
        """Return whether the residual of the observer at a stamp [s] can show an impact: not soon after a gap."""
        return not 0.0 <= time - self._blind_from < self._gaps.settling

    def undiluted(self, residual_rate: Vector) -> Vector:
        """Return the residual's rate (n,) [Nm/s] as if its whole change over lost samples had come with the last one.

        The rate is the mean over the gap: an impact that falls into one would not be seen. What the torque in the gap
        may have changed is left out, see `_undilute`. Overwritten by the next.
        """
        gaps, since = self._gaps, self.since
        if not self._rounding < since - gaps.period < math.inf:
            return residual_rate
        _undilute(residual_rate, self._turned, gaps.observer_gain, since, gaps.period, self._rate)
        return self._rate

    def note_standstill(self) -> None:
        """Keep that the stamp stood still, as what was wrong, for `reason`."""
        if self._found is Fault.NONE:
            self._found, self._gap = Fault.STATE_STALE, 0.0

    def fault(self, time: float, position: Vector, velocity: Vector, torque: Vector, *, in_task: bool) -> Fault:
        """Take a sample and return what is wrong with it.

        In a task that is also a gap before it, or a stamp that shows that the clock was set back. After a gap longer
        than `timeout` the position is not compared.
        """
        since, self._last_time = time - self._last_time, time
        self.since = since
        if self.after_gap:
            self._blind_from = time
        compared = since if 0.0 < since <= self._gaps.timeout + self._rounding else 0.0
        # Behind a stamp that was ahead, the samples dropped as late took longer than the stamps say.
        lost = max(since - self._gaps.period, self._dropped * self._gaps.period, 0.0)
        found = _inspect(position, velocity, torque, self._allowed, self._last, compared, lost)
        fault = _NONE
        if found == NOT_FINITE:
            fault = Fault.STATE_NOT_FINITE
        elif found == OUTSIDE:
            fault = Fault.STATE_OUT_OF_LIMITS
        elif in_task and not 0.0 < since <= self._gaps.longest + self._rounding:
            fault = Fault.STATE_STALE
        elif found != SOUND:
            fault = Fault.STATE_CONTRADICTORY
        if fault is not _NONE and self._found is _NONE:
            self._found, self._gap, self._contradictory = fault, since, found
            self._faulty[...] = self._last
        return fault

    def reason(self, fault: Fault) -> str:
        """Return what was wrong with the first faulty sample since `reset`; "" if the fault was another."""
        if fault is not self._found or fault is Fault.NONE:
            return ""
        if fault is Fault.STATE_STALE and self._gap == 0.0:
            most = self._gaps.count(self._gaps.longest)
            return f"more than {most} samples in a row that repeat one before, or its stamp"
        if fault is Fault.STATE_STALE:
            jump = f"{1e3 * self._gap:.1f} ms between the stamps of two samples"
            return f"{jump} (at most {1e3 * self._gaps.longest:g} ms, and forwards)"
        faulty = {name: self._faulty[name] for name in ("position", "velocity", "torque")}
        if fault is Fault.STATE_CONTRADICTORY:
            jump = f"{self._names[self._contradictory]} is where its velocity does not take it"
            return f"{jump} in {1e3 * self._gap:.1f} ms: another source, or a jump"
        if fault is Fault.STATE_NOT_FINITE:
            kind, values = next((kind, values) for kind, values in faulty.items() if not np.all(np.isfinite(values)))
            joint = int(np.flatnonzero(~np.isfinite(values))[0])
            return f"the {kind} of {self._names[joint]} is {values[joint]}"
        position, velocity, torque = faulty.values()
        beyond = np.maximum(self._limits.position_lower - position, position - self._limits.position_upper)
        joint = int(beyond.argmax())
        if beyond[joint] > LIMIT_TOLERANCE:
            return f"{self._names[joint]} is at {position[joint]:.3f} rad, {beyond[joint]:.3f} rad beyond its limit"
        strongest = self._allowed["torque"]
        joint = int(np.argmax(np.abs(torque) / strongest))
        if abs(torque[joint]) > strongest[joint]:
            allowed = f"at most {strongest[joint]:g} Nm"
            return f"the torque of {self._names[joint]} is {torque[joint]:.4g} Nm; allowed: {allowed}"
        joint = int(np.argmax(np.abs(velocity) / self._limits.velocity))
        limit = self._limits.velocity[joint]
        return f"{self._names[joint]} moves at {velocity[joint]:.2f} rad/s, its limit is {limit:g} rad/s"
