"""Signs of life of a controller and its robot, and the findings of the supervisor when they are absent.

No clock is read here: times come as arguments, in seconds of one steady clock.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from enum import IntEnum

from impact_control.util.checks import require_positive
from impact_control.util.settings import Setting


class Supervision(IntEnum):
    """State of the supervisor; constants of impact_msgs/SupervisorStatus."""

    INACTIVE = 0
    WATCHING = 1
    STOPPING = 2
    STOPPED = 3


class Cause(IntEnum):
    """Cause of a stop of the robot side; constants of impact_msgs/SupervisorStatus."""

    NONE = 0
    CONTROLLER_SILENT = 1
    ROBOT_SILENT = 2
    CONTROLLER_STALE = 3
    SECOND_COMMANDER = 4
    OPERATOR = 5
    ROBOT_STOPPED = 6
    SECOND_SOURCE = 7


class RobotMode(IntEnum):
    """Mode of an arm by its own report; constants of franka_msgs/FrankaRobotState."""

    OTHER = 0
    IDLE = 1
    MOVE = 2
    GUIDING = 3
    REFLEX = 4
    USER_STOPPED = 5
    AUTOMATIC_ERROR_RECOVERY = 6

    @classmethod
    def _missing_(cls, value: object) -> RobotMode:
        """Map a mode of a later franka_ros2 to OTHER."""
        return cls.OTHER


DISOBEYING = frozenset(
    {RobotMode.GUIDING, RobotMode.REFLEX, RobotMode.USER_STOPPED, RobotMode.AUTOMATIC_ERROR_RECOVERY}
)
"""Modes in which an arm follows no commands."""


LONGEST_LIMIT = 10.0
"""[s] that a limit of a supervisor may be."""


def _limit(name: str, default: float, words: str) -> Setting:
    text = f"seconds of wall time {words}, before commands are blocked"
    return Setting(name, text, default, bounds=(0.005, LONGEST_LIMIT))


COMMAND_LIMIT = _limit("command_limit", 0.03, "without a command")
STATE_LIMIT = _limit("state_limit", 0.07, "without a joint state")
LAG_LIMIT = _limit("lag_limit", 0.25, "of the controller behind the joint states")
LIMITS = (COMMAND_LIMIT, STATE_LIMIT, LAG_LIMIT)
"""Settings of `SupervisionLimits`."""


@dataclass(frozen=True)
class SupervisionLimits:
    """Limits [s] without a command, without a joint state, and between a state and its answer.

    A state may be missing for as long as the loop allows, `control.longest_gap` of the scenarios, and 6 ms more: the
    supervisor looks every 4 ms. A controller that has no state to answer is not silent meanwhile.
    """

    command_limit: float = COMMAND_LIMIT.default
    state_limit: float = STATE_LIMIT.default
    lag_limit: float = LAG_LIMIT.default

    def __post_init__(self) -> None:
        """Refuse limits that are not positive."""
        for name, value in asdict(self).items():
            require_positive(name, value)


@dataclass(frozen=True)
class Finding:
    """A violated limit. since: time of the last sign of normal operation [s]."""

    cause: Cause
    reason: str
    since: float


@dataclass(frozen=True)
class Clock:
    """A clock of joint states that jumped: the stamp that was due when the jump was seen [s], and when that was [s]."""

    due: float
    left: float

    def at(self, now: float) -> float:
        """Stamp [s] it would show at `now` [s], had it not jumped."""
        return self.due + now - self.left


@dataclass
class Watch:
    """Signs of life of one arm and its controller.

    Every `interval` [s], `look` is called, then what arrived since the last look is reported, then `finding` is asked.
    Time in which the supervisor itself did not run is no silence: signs of life may have been sent meanwhile.
    """

    limits: SupervisionLimits
    interval: float
    _command: float = field(default=math.nan, init=False)
    _state: float = field(default=math.nan, init=False)
    _stamp: float = field(default=math.nan, init=False)
    _stamped: float = field(default=math.nan, init=False)
    _clocks_before: list[Clock] = field(default_factory=list, init=False)
    _answered_stamp: float = field(default=math.nan, init=False)
    _answered: float = field(default=math.nan, init=False)
    _mode: RobotMode | None = field(default=None, init=False)
    _looked: float = field(default=math.nan, init=False)

    def start(self, now: float) -> None:
        """Start with all signs of life fresh at `now`."""
        self._command = self._state = self._answered = self._looked = now
        self._stamp = self._stamped = self._answered_stamp = math.nan
        self._clocks_before.clear()

    def look(self, now: float) -> None:
        """Begin a look, before its observations are reported."""
        asleep = now - self._looked - 2.0 * self.interval
        if asleep > 0.0:
            self._command += asleep
            self._state += asleep
            self._answered += asleep
        self._looked = now
        self._clocks_before = [clock for clock in self._clocks_before if now - clock.left <= self.limits.lag_limit]

    def see_command(self) -> None:
        """Report a command since the last look."""
        self._command = self._looked

    def see_state(self, stamp: float) -> None:
        """Report a joint state since the last look, its stamp [s] on its own clock; a repeated one does not count."""
        if stamp == self._stamp:
            return
        now = self._looked
        due = self._stamp + now - self._stamped
        # Half of the limit: a jump that is none here counts as lag, and must leave room for that of the answers.
        if abs(stamp - due) > 0.5 * self.limits.lag_limit:
            self._clocks_before.append(Clock(due, now))
        self._state = self._stamped = now
        self._stamp = stamp

    def see_answer(self, stamp: float) -> None:
        """Report that the controller answered the joint state of this stamp [s]."""
        self._answered = self._looked
        self._answered_stamp = stamp

    def see_mode(self, mode: RobotMode | None) -> None:
        """Report the mode of the arm; None: unknown."""
        self._mode = mode

    @property
    def command_age(self) -> float:
        """Seconds since a command was seen, at the last look."""
        return self._looked - self._command

    @property
    def state_age(self) -> float:
        """Seconds since a joint state was seen, at the last look."""
        return self._looked - self._state

    @property
    def lag(self) -> float:
        """Seconds by which the controller's last answer is behind, at the last look.

        By the stamps, which reveal an answer to an old state, or by the time since that answer, whichever is more. An
        answer from before a jump of the joint states' clock is not late by as much: until `lag_limit` after a jump the
        clock from before it counts as well, and an answer is as late as by the one of them that fits it best.
        """
        now, answered = self._looked, self._answered_stamp
        silent = now - self._answered
        if math.isnan(answered):
            return silent
        # An answer may be to a state that was not seen here, but to none from later than now.
        late = max(self._stamp - answered, answered - (self._stamp + now - self._stamped))
        return max(silent, min([late, *(abs(clock.at(now) - answered) for clock in self._clocks_before)]))

    def finding(self, commanders: int, sources: int = 1) -> Finding | None:
        """Return the violated limit at the last look, None without one.

        commanders: publishers of commands; sources: of joint states.
        """
        limits = self.limits
        if sources > 1:
            return Finding(Cause.SECOND_SOURCE, f"{sources} publishers of joint states", self._looked)
        if commanders > 1:
            return Finding(Cause.SECOND_COMMANDER, f"{commanders} publishers of commands", self._looked)
        if self._mode in DISOBEYING:
            reason = f"the arm follows no commands: its mode is {self._mode.name}"
            return Finding(Cause.ROBOT_STOPPED, reason, self._looked)
        if self.state_age > limits.state_limit:
            reason = f"no joint state for {self.state_age * 1e3:.0f} ms (limit {limits.state_limit * 1e3:.0f} ms)"
            return Finding(Cause.ROBOT_SILENT, reason, self._state)
        if self.command_age - self.state_age > limits.command_limit:
            reason = f"no command for {self.command_age * 1e3:.0f} ms (limit {limits.command_limit * 1e3:.0f} ms)"
            return Finding(Cause.CONTROLLER_SILENT, reason, self._command)
        if self.lag > limits.lag_limit:
            limit = f"limit {limits.lag_limit * 1e3:.0f} ms"
            reason = f"the controller is {self.lag * 1e3:.0f} ms behind the joint states ({limit})"
            return Finding(Cause.CONTROLLER_STALE, reason, self._looked - self.lag)
        return None
