"""Transitions of the mode: pure functions of mode, event and time. No clock, no arm, nothing is changed in place.

Van Steen 2024 section IV-B (ante, interim, post, blending (24)); Proper 2021 (3.11), (3.12) (several impacts until the
contact is closed, time-out). Events come from detection, contact completion, reactions and the caller; `elapse` is the
effect of time alone.

The two sources are two settings of the controller: from the first impact until the contact is closed no velocity is fed
back, gamma = 0, Proper 2021 (3.12); from then on gamma rises to 1 in Delta t_int, van Steen 2024 (24). With a contact
that is closed by the first impact that is van Steen's interim mode, with Delta t_int = 0 it is Proper's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from impact_control.control.modes import Event, Mode
from impact_control.scenario import Control, FurtherImpacts, ImpactStrategy, InterimEnd, InterimReference

ROUNDING = 1e-9
"""[s] Times that are nearer to each other are the same."""

_ANTE, _INTERIM, _POST, _STOPPED, _RESUME = Mode.ANTE, Mode.INTERIM, Mode.POST, Mode.STOPPED, Mode.RESUME
_PLAIN_TRACKING, _ANTE_REFERENCE = ImpactStrategy.PLAIN_TRACKING, InterimReference.ANTE
"""Read in every sample. Looking a member up in its class takes 0.2 us in Python 3.11."""


@dataclass(frozen=True)
class ModeState:
    """State on which the next mode depends. Times [s] on the clock of the samples.

    impacts: detected since the approach began. first_impact: when; infinite before it. closed_at: since when the
    contact counts as closed; infinite before. resume_in: ANTE or POST, where an interrupted task goes on.
    """

    mode: Mode = Mode.IDLE
    impacts: int = 0
    first_impact: float = math.inf
    closed_at: float = math.inf
    resume_in: Mode = Mode.ANTE


_REACTIONS = {
    Event.STOP: Mode.STOPPED,
    Event.PULL_BACK: Mode.PULL_BACK,
    Event.YIELD_TO_ANTE: Mode.ADMITTANCE,
    Event.YIELD_TO_POST: Mode.ADMITTANCE,
    Event.FAIL: Mode.FAULT,
}


def transition(state: ModeState, event: Event, time: float, control: Control) -> ModeState:
    """Return the state after an event at `time` [s]; the same object when the event changes nothing.

    FAULT is left by RESET only. Out of the task, in reactions too, impacts change nothing.
    """
    if event is Event.RESET:
        return ModeState()
    if state.mode is Mode.FAULT:
        return state
    if event is Event.START:
        return ModeState(mode=Mode.ANTE)
    if event is Event.MOVE:
        return ModeState(mode=Mode.MOVE)
    if event is Event.IMPACT:
        return _after_impact(state, time, control)
    if event is Event.CONTACT_CLOSED:
        waits = state.mode is Mode.INTERIM and control.interim.until is InterimEnd.CONTACT_COMPLETION
        return replace(state, closed_at=time) if waits and time < state.closed_at else state
    if event is Event.RESUME:
        return replace(state, mode=Mode.RESUME) if state.mode is Mode.ADMITTANCE else state
    if event is Event.RESUMED:
        return _resumed(state)
    if event is Event.STOP and state.mode is Mode.STOPPED:
        return state
    resume_in = Mode.ANTE if event is Event.YIELD_TO_ANTE else Mode.POST
    yields = event in (Event.YIELD_TO_ANTE, Event.YIELD_TO_POST)
    return replace(state, mode=_REACTIONS[event], resume_in=resume_in if yields else state.resume_in)


def elapse(state: ModeState, time: float, after_nominal: float, control: Control) -> ModeState:
    """Return the state at `time` [s], `after_nominal` [s] after the nominal impact time; the same object if none came.

    ANTE ends at the nominal time in PLAIN_TRACKING, else with STOPPED after the missing-impact time-out. INTERIM ends
    Delta t_int after the contact was closed, at the latest so long after t_switch: Proper 2021 (3.11).
    """
    if state.mode is _ANTE:
        if control.impact_strategy is _PLAIN_TRACKING:
            return replace(state, mode=_POST) if after_nominal >= -ROUNDING else state
        timeout = control.missing_impact_timeout
        return replace(state, mode=_STOPPED) if timeout is not None and after_nominal >= timeout - ROUNDING else state
    if state.mode is not _INTERIM:
        return state
    latest = state.first_impact + control.interim.longest
    if math.isinf(state.closed_at) and time >= latest - ROUNDING:
        state = replace(state, closed_at=latest)
    if time - state.closed_at >= control.interim_duration - ROUNDING:
        return replace(state, mode=_POST)
    return state


def velocity_feedback(state: ModeState, time: float, control: Control) -> float:
    """Return gamma [-] at `time` [s]: 0 until the contact is closed, then van Steen 2024 (24); 1 in other modes.

    T_imp is the estimated begin of the contact, not the sample that detected it: the vibrations begin there.
    """
    if state.mode is not _INTERIM:
        return 1.0
    since = time - state.closed_at
    if since >= control.interim_duration - ROUNDING:
        return 1.0
    return since / control.interim_duration if since > 0.0 else 0.0


def follows_ante(state: ModeState, control: Control) -> bool:
    """Return whether the ante-impact reference is followed, and no force is exerted yet."""
    if state.mode is _INTERIM:
        return control.interim.reference is _ANTE_REFERENCE and math.isinf(state.closed_at)
    return state.mode is _ANTE or (state.mode is _RESUME and state.resume_in is _ANTE)


def awaits_impact(state: ModeState, control: Control) -> bool:
    """Return whether the joints are expected to move as before the impact; PLAIN_TRACKING may follow another."""
    if state.mode is _POST:
        return control.impact_strategy is _PLAIN_TRACKING and state.impacts == 0
    return state.mode is not _INTERIM and state.impacts == 0 and follows_ante(state, control)


def _after_impact(state: ModeState, time: float, control: Control) -> ModeState:
    if state.mode not in (Mode.ANTE, Mode.INTERIM, Mode.POST):
        return state
    impacts = state.impacts + 1
    first = min(state.first_impact, time)
    counted = replace(state, impacts=impacts, first_impact=first)
    if control.impact_strategy is ImpactStrategy.PLAIN_TRACKING:
        return counted
    interim = control.interim
    counts = interim.until is InterimEnd.IMPACT_COUNT
    closes = interim.until is InterimEnd.FIRST_IMPACT or (counts and impacts >= interim.expected_impacts)
    if control.impact_strategy is ImpactStrategy.WITHOUT_INTERIM:
        return replace(counted, mode=Mode.POST, closed_at=min(state.closed_at, time))
    if state.mode is Mode.ANTE:
        return replace(counted, mode=Mode.INTERIM, closed_at=time if closes else math.inf)
    if math.isinf(state.closed_at):
        return replace(counted, closed_at=time) if closes else counted
    if interim.further_impacts is FurtherImpacts.RESTART and time - first < interim.longest - ROUNDING:
        return replace(counted, mode=Mode.INTERIM, closed_at=time)
    return counted


def _resumed(state: ModeState) -> ModeState:
    """Go on with the task; impacts of an approach that is repeated are forgotten, those of a slide are over."""
    if state.mode is not Mode.RESUME:
        return state
    if state.resume_in is Mode.ANTE:
        return ModeState(mode=Mode.ANTE)
    return replace(state, mode=Mode.POST, closed_at=min(state.closed_at, state.first_impact))
