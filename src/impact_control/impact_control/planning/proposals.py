"""The nearest values with which a task that was refused can be done."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from impact_control.planning.budget import budget_of, largest_share
from impact_control.planning.feasible_plan import InfeasibleTaskError, draft_plan
from impact_control.planning.knobs import Changes, Knob, knobs_of, name_of
from impact_control.planning.limit_use import ANTE, Quantity
from impact_control.references import COARSE, FINE, Sampling
from impact_control.scenario import Scene
from impact_control.util.errors import ImpactControlError

_NEAR = 0.97
"""Use of a limit from which on a value counts as the nearest that works."""

_ENOUGH = 0.995
"""Use of a limit by a coarse plan up to which the same plan in full is expected to be inside it."""

_AIM = 0.985
"""Use of a limit that is aimed at."""

_REFINEMENTS = 6
"""Plans, at most, to come near the limit between two steps."""

_NEIGHBOURS = 0.015
"""Between steps that are not further apart there is nothing to be gained."""

_MOST_PLANS, _MOST_PLANS_OF_PAIRS = 60, 40
"""Coarse plans, at most, with a change of one entry, and with changes of two."""

_PLANS_WITH_PROPOSAL = 20
"""Coarse plans after which no further proposal is searched for beside one that was found."""

_POSTURE = {"joint_1", "approach_angle", "orientation", "home_configuration", "distance", "extension_depth", "slide"}
"""Knobs that move the configurations of the arm."""


@dataclass(frozen=True)
class Proposal:
    """Values with which the task can be done, by dotted keys as they stand in a file, and the use of a limit."""

    changes: Mapping[str, str]
    share: float

    def __str__(self) -> str:
        """Return lines that can be pasted into a scenario."""
        return "\n".join(f"{key}: {value}" for key, value in self.changes.items())


def propose(scene: Scene, refusals: Sequence[ImpactControlError]) -> tuple[Proposal, ...]:
    """Return changes of one entry each with which a refused task can be done, the smallest first; else of two.

    Every one was planned in full. refusals: why the task was refused. Entries that drive what is violated are tried
    first; not all others are once there is a proposal. Empty where nothing was found.
    """
    search, driving, names = _Search(scene, refusals), _driving(refusals), _promising(refusals)
    knobs = sorted(knobs_of(scene), key=lambda knob: knob.name not in driving)
    for promising in (True, False):
        found = search.each([knob for knob in knobs if (knob.name in names) is promising])
        if found:
            return tuple(one.proposal for one in sorted(found, key=lambda one: abs(one.step)))
    return search.pair(knobs)


def proposals_text(proposals: Sequence[Proposal]) -> str:
    """Return the lines with which a refused task can be done."""
    if not proposals:
        return "no change of one or two entries was found with which it can be done"
    return "it can be done with\n" + "\nor with\n".join(map(str, proposals))


def _driving(refusals: Iterable[ImpactControlError]) -> set[str]:
    """Return the names of the knobs that drive what is violated."""
    uses = (use for refusal in refusals if isinstance(refusal, InfeasibleTaskError) for use in refusal.violations)
    return {name_of(use.key) for use in uses}


def _promising(refusals: Iterable[ImpactControlError]) -> set[str]:
    """Return the names of the knobs that may help."""
    names = _driving(refusals) | {"approach_angle", "joint_1"}
    for refusal in refusals:
        if not isinstance(refusal, InfeasibleTaskError):
            names |= _POSTURE
            continue
        for use in refusal.violations:
            names |= _POSTURE if use.quantity is Quantity.POSITION else {"speed"}
            names |= {"distance", "time"} if use.reference == ANTE else set()
            names |= {"force"} if use.quantity is Quantity.TORQUE else set()
    return names


def _may_lack_torque(refusal: ImpactControlError) -> bool:
    """Return whether torque or its rate is too large, or unknown because there is no plan."""
    if not isinstance(refusal, InfeasibleTaskError):
        return True
    return any(use.quantity in (Quantity.TORQUE, Quantity.TORQUE_RATE) for use in refusal.violations)


@dataclass(frozen=True)
class _Tried:
    """A step of a knob, and the use of a limit with it."""

    step: float
    share: float


@dataclass(frozen=True)
class _Found:
    """A proposal, and the step of the knob that it changes last."""

    step: float
    proposal: Proposal


class _Search:
    """Plans of the task with other values, and what they use of the limits."""

    def __init__(self, scene: Scene, refusals: Sequence[ImpactControlError]) -> None:
        self._scene = scene
        self._with_torque = any(_may_lack_torque(refusal) for refusal in refusals)
        self._plans_left = _MOST_PLANS
        self._tried: list[tuple[Knob, _Tried]] = []
        self._refused = max(1.0, self._share({}))

    def _share(self, changes: Changes, sampling: Sampling = COARSE) -> float:
        """Return the largest use of a limit [-]; infinite where there is no plan, or all coarse ones were made."""
        if sampling is COARSE:
            self._plans_left -= 1
            if self._plans_left < 0:
                return math.inf
        try:
            plan = draft_plan(self._scene.with_overrides(changes), sampling=sampling)
        except ImpactControlError:
            return math.inf
        if sampling is COARSE:
            return float(np.max([largest_share(arm, self._with_torque) for arm in plan.arms.values()]))
        return float(np.max([use.share for arm in plan.arms.values() for use in budget_of(arm).uses]))

    def each(self, knobs: Sequence[Knob]) -> list[_Found]:
        """Return the smallest step found to work of each knob; of the first ones alone where that takes long."""
        found: list[_Found] = []
        for knob in knobs:
            if found and self._plans_left <= _MOST_PLANS - _PLANS_WITH_PROPOSAL:
                break
            one = self.along(knob)
            found += [] if one is None else [one]
        return found

    def along(self, knob: Knob, kept: Changes | None = None) -> _Found | None:
        """Return the smallest step of a knob that was found to work, beside changes that are kept; None without one."""

        def changes(step: float) -> Changes:
            return {**(kept or {}), **knob.changes(step)}

        bracket = self._bracket(knob, changes)
        if bracket is None:
            return None
        step = self._refined(changes, *bracket) if knob.continuous else bracket[1].step
        for again in (step, 1.03 * step) if knob.continuous else (step,):
            share = self._share(changes(again), FINE)
            if share <= 1.0:
                return _Found(again, Proposal(changes(again), share))
        return None

    def _bracket(self, knob: Knob, changes: Callable[[float], Changes]) -> tuple[_Tried, _Tried] | None:
        """Return neighbouring steps of which the larger works; None without one."""
        last = dict.fromkeys((True, False), _Tried(0.0, self._refused))
        for step in knob.steps[-1:] if knob.steady else knob.steps:
            if not knob.changes(step):
                continue
            tried = _Tried(step, self._share(changes(step)))
            if tried.share <= _ENOUGH:
                return last[step > 0.0], tried
            last[step > 0.0] = tried
            self._tried.append((knob, tried))
        return None

    def _refined(self, changes: Callable[[float], Changes], worse: _Tried, better: _Tried) -> float:
        """Return a step that works, near the smallest that does, between one that does not and one that does."""
        for _ in range(_REFINEMENTS):
            if better.share >= _NEAR or abs(better.step - worse.step) <= _NEIGHBOURS:
                break
            part = 0.5 if math.isinf(worse.share) else (worse.share - _AIM) / (worse.share - better.share)
            step = worse.step + min(max(part, 0.1), 0.9) * (better.step - worse.step)
            tried = _Tried(step, self._share(changes(step)))
            worse, better = (worse, tried) if tried.share <= _ENOUGH else (tried, better)
        return better.step

    def pair(self, knobs: Sequence[Knob]) -> tuple[Proposal, ...]:
        """Return the first change of two entries that is found to work, the one that alone came nearest first."""
        self._plans_left = _MOST_PLANS_OF_PAIRS
        for first, tried in sorted(self._tried, key=lambda one: one[1].share):
            for second in knobs:
                if second.name == first.name or self._plans_left <= 0:
                    continue
                found = self.along(second, first.changes(tried.step))
                if found is not None:
                    smaller = self.along(first, second.changes(found.step))
                    return (found.proposal if smaller is None else smaller.proposal,)
        return ()
