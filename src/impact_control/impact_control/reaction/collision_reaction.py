"""The end of the collision event pipeline: the reaction to a verdict. Proper 2021 section 1.1.

Go on; stop; pull back (Wang 2022 section VI); or yield until nothing has touched the arm for a while, then go on
(Flacco 2016 section V-D).
"""

from __future__ import annotations

import math
from enum import IntEnum

from impact_control.classification import Verdict
from impact_control.control import Event
from impact_control.reaction.quiet import Silence, is_touched
from impact_control.scenario import Reaction, ReactionSettings
from impact_control.util.types import Vector


class Phase(IntEnum):
    """State of the reaction."""

    WATCHING = 0
    PULLING_BACK = 1
    YIELDING = 2
    RESUMING = 3
    OVER = 4


def choose(settings: ReactionSettings, impact: Verdict, post_impact: Verdict) -> Reaction:
    """Return the reaction to a verdict. An unexpected impact counts before what came after it."""
    if impact is Verdict.UNEXPECTED:
        return settings.on_unexpected_impact
    if post_impact is Verdict.UNEXPECTED:
        return settings.on_unexpected_post_impact
    return Reaction.CONTINUE


_PULLING_BACK, _YIELDING, _RESUMING = Phase.PULLING_BACK, Phase.YIELDING, Phase.RESUMING  # read in every sample


class CollisionReaction:
    """State machine driven by verdicts, external torque and time; it emits events of the mode machine.

    WATCHING --verdict--> OVER (stop), PULLING_BACK or YIELDING; PULLING_BACK --arrived--> OVER (stop);
    YIELDING --silence--> RESUMING, --time_limit--> OVER (stop);
    RESUMING --touched--> YIELDING, or OVER (stop) after too many attempts; --arrived--> WATCHING.
    `end` leads to OVER from everywhere, `watch` to WATCHING.

    Events: STOP, PULL_BACK, YIELD_TO_ANTE where the impact of the task is still to come (the verdict was about another
    one), else YIELD_TO_POST, RESUME, and RESUMED when the arm is back before its impact, which is to be judged again.

    Attributes: phase; interruptions, number of times the task began to yield or would have; repeats_impact, true where
    the impact of the task is still to come after an interruption.
    """

    def __init__(self, settings: ReactionSettings) -> None:
        is_touched(settings.admittance.threshold, settings.admittance.threshold)  # compiles it before the loop
        self._silence = Silence()
        self.watch(settings)
        self.end()

    def watch(self, settings: ReactionSettings) -> None:
        """Watch a new task."""
        self._settings, self._admittance = settings, settings.admittance
        self._answered = (Verdict.UNKNOWN, Verdict.NOT_STARTED)
        self._yielding_since = math.nan
        self.phase = Phase.WATCHING
        self.interruptions = 0
        self.repeats_impact = False

    def end(self) -> None:
        """The task is over: react to nothing any more."""
        self.phase = Phase.OVER

    def answer(self, impact: Verdict, post_impact: Verdict) -> Event | None:
        """Return the event that answers a verdict, None where nothing is to be done; the same one is answered once."""
        if self.phase is not Phase.WATCHING or (impact, post_impact) == self._answered:
            return None
        self._answered = (impact, post_impact)
        reaction = choose(self._settings, impact, post_impact)
        if reaction is Reaction.STOP:
            return self._stop()
        if reaction is Reaction.PULL_BACK:
            self.phase = Phase.PULLING_BACK
            return Event.PULL_BACK
        if reaction is Reaction.ADMITTANCE:
            self.repeats_impact = impact is Verdict.UNEXPECTED
            return self._yield()
        return None

    def proceed(
        self, time: float, external_torque: Vector, impact: bool, arrived: bool, pressing: bool
    ) -> Event | None:
        """Take a sample at `time` [s]; return the event that is due, if any.

        external_torque (n,) [Nm]: the observer's residual. impact: one was detected since the last sample.
        arrived: the motion of PULLING_BACK or RESUMING is done. pressing: contact is planned now.
        """
        phase = self.phase
        if phase is _PULLING_BACK and arrived:
            return self._stop()
        if phase is _YIELDING:
            return self._wait(time, external_torque)
        if phase is _RESUMING:
            if arrived:
                self.phase = Phase.WATCHING
                return self._judge_anew()
            if not pressing and (impact or is_touched(external_torque, self._admittance.threshold)):
                return self._yield()
        return None

    def _wait(self, time: float, external_torque: Vector) -> Event | None:
        if math.isnan(self._yielding_since):
            self._yielding_since = time
        silence = self._silence.measure(time, is_touched(external_torque, self._admittance.threshold))
        if silence >= self._admittance.quiet_time:
            self.phase = Phase.RESUMING
            return Event.RESUME
        if time - self._yielding_since >= self._admittance.time_limit:
            return self._stop()
        return None

    def _judge_anew(self) -> Event | None:
        if not self.repeats_impact:
            return None
        self._answered = (Verdict.UNKNOWN, Verdict.NOT_STARTED)
        return Event.RESUMED

    def _yield(self) -> Event | None:
        self.interruptions += 1
        if self.interruptions > self._admittance.attempts:
            return self._stop()
        self.phase = Phase.YIELDING
        self._yielding_since = math.nan
        self._silence.reset()
        return Event.YIELD_TO_ANTE if self.repeats_impact else Event.YIELD_TO_POST

    def _stop(self) -> Event | None:
        self.phase = Phase.OVER
        return Event.STOP
