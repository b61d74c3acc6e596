"""The end of the collision event pipeline: the reaction to a verdict. Proper 2021 section 1.1.

Go on; stop; pull back (Wang 2022 section VI); or yield until nothing has touched the arm for a while, then go on
(Flacco 2016 section V-D).
"""

from __future__ import annotations

import math

from impact_control.classification import Verdict
from impact_control.control import RUNNING, Event, Mode
from impact_control.reaction.quiet import Silence, is_touched
from impact_control.scenario import Reaction, ReactionSettings
from impact_control.util.types import Vector


def choose(settings: ReactionSettings, impact: Verdict, post_impact: Verdict) -> Reaction:
    """Return the reaction to a verdict. An unexpected impact counts before what came after it."""
    if impact is Verdict.UNEXPECTED:
        return settings.on_unexpected_impact
    if post_impact is Verdict.UNEXPECTED:
        return settings.on_unexpected_post_impact
    return Reaction.CONTINUE


_PULL_BACK, _ADMITTANCE, _RESUME = Mode.PULL_BACK, Mode.ADMITTANCE, Mode.RESUME  # read in every sample
_NOT_JUDGED = (Verdict.UNKNOWN, Verdict.NOT_STARTED)


class CollisionReaction:
    """Events of the mode machine that answer verdicts, external torque and time; the mode says what the arm does now.

    RUNNING: --verdict--> STOP, PULL_BACK or a yield; PULL_BACK: --arrived--> STOP; ADMITTANCE: --silence--> RESUME,
    --time_limit--> STOP; RESUME: --touched--> a yield. A yield is YIELD_TO_ANTE where the impact of the task is still
    to come (the verdict was about another one), else YIELD_TO_POST, and STOP after too many attempts. In other modes
    nothing is answered.

    Attribute: interruptions, number of times the task began to yield or would have.
    """

    def __init__(self, settings: ReactionSettings) -> None:
        is_touched(settings.admittance.threshold, settings.admittance.threshold)  # compiles it before the loop
        self._silence = Silence()
        self._settings, self._admittance = settings, settings.admittance
        self._answered = _NOT_JUDGED
        self._yielding_since = math.nan
        self._repeats_impact = False
        self.interruptions = 0

    def watch(self, settings: ReactionSettings) -> None:
        """Watch a new task."""
        self._settings, self._admittance = settings, settings.admittance
        self.forget_verdicts()
        self._repeats_impact = False
        self.interruptions = 0

    def forget_verdicts(self) -> None:
        """Answer the next verdicts even if they are those that were answered last."""
        self._answered = _NOT_JUDGED

    def answer(self, mode: Mode, impact: Verdict, post_impact: Verdict) -> Event | None:
        """Return the event that answers a verdict, None where nothing is to be done; the same one is answered once."""
        if mode not in RUNNING or (impact, post_impact) == self._answered:
            return None
        self._answered = (impact, post_impact)
        reaction = choose(self._settings, impact, post_impact)
        if reaction is Reaction.STOP:
            return Event.STOP
        if reaction is Reaction.PULL_BACK:
            return Event.PULL_BACK
        if reaction is Reaction.ADMITTANCE:
            self._repeats_impact = impact is Verdict.UNEXPECTED
            return self._yield()
        return None

    def proceed(
        self, mode: Mode, time: float, external_torque: Vector, impact: bool, arrived: bool, pressing: bool
    ) -> Event | None:
        """Take a sample at `time` [s]; return the event that is due, if any.

        external_torque (n,) [Nm]: the observer's residual. impact: one was detected since the last sample.
        arrived: the motion of PULL_BACK is done. pressing: contact is planned now.
        """
        if mode is _ADMITTANCE:
            return self._wait(time, external_torque)
        if mode is _PULL_BACK and arrived:
            return Event.STOP
        if mode is _RESUME and not pressing and (impact or is_touched(external_torque, self._admittance.threshold)):
            return self._yield()
        return None

    def _wait(self, time: float, external_torque: Vector) -> Event | None:
        if math.isnan(self._yielding_since):
            self._yielding_since = time
        silence = self._silence.measure(time, is_touched(external_torque, self._admittance.threshold))
        if silence >= self._admittance.quiet_time:
            return Event.RESUME
        return Event.STOP if time - self._yielding_since >= self._admittance.time_limit else None

    def _yield(self) -> Event:
        self.interruptions += 1
        if self.interruptions > self._admittance.attempts:
            return Event.STOP
        self._yielding_since = math.nan
        self._silence.reset()
        return Event.YIELD_TO_ANTE if self._repeats_impact else Event.YIELD_TO_POST
