"""The end of the collision event pipeline: what is done after a verdict. Proper 2021 section 1.1.

Go on; stop; pull back (Wang 2022 section VI); or yield until nothing has touched the arm for a while, then go on
(Flacco 2016 section V-D).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from impact_control.checks import checked_count, checked_vector, require_positive
from impact_control.classification import Verdict
from impact_control.reaction.quiet import Silence, is_touched
from impact_control.types import Vector


class Reaction(IntEnum):
    """What to do about an unexpected impact; the names, in lower case, are what a scenario may choose."""

    CONTINUE = 0
    STOP = 1
    PULL_BACK = 2
    ADMITTANCE = 3


class Phase(IntEnum):
    """Where the reaction is."""

    WATCHING = 0
    PULLING_BACK = 1
    YIELDING = 2
    RESUMING = 3
    OVER = 4


class Step(IntEnum):
    """What the controller is to begin now."""

    NONE = 0
    STOP = 1
    PULL_BACK = 2
    YIELD = 3
    RESUME = 4
    JUDGE_ANEW = 5


@dataclass(frozen=True, eq=False)
class ReactionParameters:
    """What a scenario says.

    on_unexpected_impact: after an impact at the wrong time or place; on_unexpected_post_impact: after an expected one
    with the wrong behaviour. threshold (n,) [Nm]: external torque below which a joint is not touched. quiet_time [s]:
    silence after which the task goes on. time_limit [s]: of yielding, after which the arm stops. attempts: how often a
    task may be interrupted and taken up again; at the next interruption the arm stops.
    """

    on_unexpected_impact: Reaction
    on_unexpected_post_impact: Reaction
    threshold: Vector
    quiet_time: float
    time_limit: float
    attempts: int

    def __post_init__(self) -> None:
        checked_vector("threshold", self.threshold, zero_allowed=False)
        for name in ("quiet_time", "time_limit"):
            require_positive(name, getattr(self, name))
        checked_count("attempts", self.attempts, 0)

    def choose(self, impact: Verdict, post_impact: Verdict) -> Reaction:
        """Return the reaction to a verdict. An unexpected impact counts before what came after it."""
        if impact is Verdict.UNEXPECTED:
            return self.on_unexpected_impact
        if post_impact is Verdict.UNEXPECTED:
            return self.on_unexpected_post_impact
        return Reaction.CONTINUE


class CollisionReaction:
    """State machine driven by verdicts, external torque and time; it commands, the controller moves.

    WATCHING --verdict--> OVER (stop), PULLING_BACK or YIELDING; PULLING_BACK --arrived--> OVER (stop);
    YIELDING --silence--> RESUMING, --time_limit--> OVER (stop);
    RESUMING --touched--> YIELDING, or OVER (stop) after too many attempts; --arrived--> WATCHING.
    `end` leads to OVER from everywhere, `start` to WATCHING.

    Attributes: phase; interruptions, number of times the task began to yield or would have; repeats_impact, whether
    the impact of the task is still to come after an interruption: its verdict was about another one.
    """

    def __init__(self, parameters: ReactionParameters) -> None:
        is_touched(parameters.threshold, parameters.threshold)  # compiles it before the loop
        self._silence = Silence()
        self.start(parameters)
        self.end()

    def start(self, parameters: ReactionParameters) -> None:
        """Watch a new task."""
        self._parameters = parameters
        self._answered = (Verdict.UNKNOWN, Verdict.NOT_STARTED)
        self._yielding_since = math.nan
        self.phase = Phase.WATCHING
        self.interruptions = 0
        self.repeats_impact = False

    def end(self) -> None:
        """The task is over: react to nothing any more."""
        self.phase = Phase.OVER

    def verdict(self, impact: Verdict, post_impact: Verdict) -> Step:
        """Take a verdict; the same one again is answered once."""
        if self.phase is not Phase.WATCHING or (impact, post_impact) == self._answered:
            return Step.NONE
        self._answered = (impact, post_impact)
        reaction = self._parameters.choose(impact, post_impact)
        if reaction is Reaction.STOP:
            return self._stop()
        if reaction is Reaction.PULL_BACK:
            self.phase = Phase.PULLING_BACK
            return Step.PULL_BACK
        if reaction is Reaction.ADMITTANCE:
            self.repeats_impact = impact is Verdict.UNEXPECTED
            return self._yield()
        return Step.NONE

    def update(self, time: float, external_torque: Vector, impact: bool, arrived: bool, pressing: bool) -> Step:
        """Take a sample at `time` [s] and return what is to begin.

        external_torque (n,) [Nm]: the observer's residual. impact: one was detected since the last sample.
        arrived: the motion of PULLING_BACK or RESUMING is done. pressing: contact is planned now.
        """
        if self.phase is Phase.PULLING_BACK and arrived:
            return self._stop()
        if self.phase is Phase.YIELDING:
            return self._wait(time, external_torque)
        if self.phase is Phase.RESUMING:
            if arrived:
                self.phase = Phase.WATCHING
                return self._judge_anew()
            if not pressing and (impact or is_touched(external_torque, self._parameters.threshold)):
                return self._yield()
        return Step.NONE

    def _wait(self, time: float, external_torque: Vector) -> Step:
        if math.isnan(self._yielding_since):
            self._yielding_since = time
        silence = self._silence.update(time, is_touched(external_torque, self._parameters.threshold))
        if silence >= self._parameters.quiet_time:
            self.phase = Phase.RESUMING
            return Step.RESUME
        if time - self._yielding_since >= self._parameters.time_limit:
            return self._stop()
        return Step.NONE

    def _judge_anew(self) -> Step:
        if not self.repeats_impact:
            return Step.NONE
        self._answered = (Verdict.UNKNOWN, Verdict.NOT_STARTED)
        return Step.JUDGE_ANEW

    def _yield(self) -> Step:
        self.interruptions += 1
        if self.interruptions > self._parameters.attempts:
            return self._stop()
        self.phase = Phase.YIELDING
        self._yielding_since = math.nan
        self._silence.reset()
        return Step.YIELD

    def _stop(self) -> Step:
        self.phase = Phase.OVER
        return Step.STOP
