"""Outcome of a task."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum

from impact_control.classification import Verdict
from impact_control.pipeline.judge import TaskJudge


class Outcome(IntEnum):
    """Outcome of a task; constants of impact_msgs/ExecuteImpactTask."""

    SUCCEEDED = 0
    IMPACT_UNEXPECTED = 1
    POST_IMPACT_UNEXPECTED = 2
    NO_IMPACT = 3
    CANCELLED = 4
    FAULT = 5
    UNDECIDED = 6
    REFUSED = 7


class MoveOutcome(IntEnum):
    """Outcome of a motion outside of a task; constants of impact_msgs/MoveTo."""

    REACHED = 0
    CONTACT = 1
    NOT_REACHED = 2
    CANCELLED = 3
    FAULT = 4
    REFUSED = 5


_WORST_FIRST = (
    Outcome.REFUSED,
    Outcome.FAULT,
    Outcome.CANCELLED,
    Outcome.IMPACT_UNEXPECTED,
    Outcome.POST_IMPACT_UNEXPECTED,
    Outcome.NO_IMPACT,
    Outcome.UNDECIDED,
)


def worst_of(outcomes: Collection[Outcome]) -> Outcome:
    """Return the outcome of a task of several arms: it succeeded if that of every arm did."""
    return next((worst for worst in _WORST_FIRST if worst in outcomes), Outcome.SUCCEEDED)


def outcome_of(judge: TaskJudge) -> Outcome:
    """Return the outcome of a task that was neither cancelled nor ended by a fault."""
    if judge.impacts == 0:
        return Outcome.NO_IMPACT
    if judge.impact is Verdict.UNEXPECTED:
        return Outcome.IMPACT_UNEXPECTED
    if judge.post_impact is Verdict.UNEXPECTED:
        return Outcome.POST_IMPACT_UNEXPECTED
    if judge.impact is Verdict.EXPECTED and judge.post_impact is Verdict.EXPECTED:
        return Outcome.SUCCEEDED
    return Outcome.UNDECIDED
