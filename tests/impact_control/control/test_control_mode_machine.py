"""The modes as functions of mode, event and time: the printed rules, and what every order of events ends in."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.control import Mode
from impact_control.control.mode_machine import (
    Event,
    ModeState,
    awaits_impact,
    elapse,
    follows_ante,
    transition,
    velocity_feedback,
)
from impact_control.scenario import (
    FurtherImpacts,
    ImpactStrategy,
    Interim,
    InterimEnd,
    InterimReference,
    load_scenario,
)
from impact_control.util.errors import InvalidInputError

PERIOD = 1e-3
NOMINAL = 1.0
SINGLE = replace(load_scenario("tabletop").control, interim_duration=0.05, missing_impact_timeout=None)
IMPACT_TIMES = st.lists(st.integers(0, 400), max_size=6).map(sorted)
"""Samples at which impacts are detected; several may fall on one."""


def settings_of(interim=None, **changes):
    """The settings of a single impact with these changes, `interim` in their section."""
    return replace(SINGLE, interim=Interim(**(interim or {})), **changes)


def start(course):
    return transition(ModeState(), Event.START, 0.0, course)


def run(course, events, samples=600, first=0.9):
    """Yield time and state at each sample; events: sample -> list of events, on samples from `first` [s] on."""
    state = start(course)
    for k in range(samples):
        time = first + k * PERIOD
        for event in events.get(k, ()):
            state = transition(state, event, time, course)
        state = elapse(state, time, time - NOMINAL, course)
        yield time, state


def impacts(samples):
    return {k: [Event.IMPACT] * samples.count(k) for k in samples}


def modes(course, events, **others):
    found = []
    for _, state in run(course, events, **others):
        if not found or found[-1] is not state.mode:
            found.append(state.mode)
    return found


def test_a_single_impact_blends_the_velocity_feedback_in():
    """Van Steen 2024 (24), whenever the impact comes."""
    for sample in (3, 100, 250):
        impact = 0.9 + sample * PERIOD
        for time, state in run(SINGLE, impacts([sample])):
            if time < impact - 1e-9:
                assert state.mode is Mode.ANTE
                assert velocity_feedback(state, time, SINGLE) == 1.0
                assert follows_ante(state, SINGLE) and awaits_impact(state, SINGLE)
            elif time < impact + SINGLE.interim_duration - 1e-9:
                assert state.mode is Mode.INTERIM
                assert velocity_feedback(state, time, SINGLE) == pytest.approx((time - impact) / 0.05)
                assert not follows_ante(state, SINGLE) and not awaits_impact(state, SINGLE)
            else:
                assert state.mode is Mode.POST
                assert velocity_feedback(state, time, SINGLE) == 1.0


@settings(deadline=None, max_examples=40)
@given(IMPACT_TIMES, st.integers(1, 4), st.integers(1, 200))
def test_counted_impacts_are_the_printed_rule(samples, expected, longest):
    """Proper 2021 (3.11), (3.12), written down again from the number j of impacts and the time t - t_1."""
    interim = {"until": InterimEnd.IMPACT_COUNT, "expected_impacts": expected, "longest": longest * PERIOD}
    course = settings_of(interim | {"reference": InterimReference.ANTE}, interim_duration=0.0)
    for k, (time, state) in enumerate(run(course, impacts(samples))):
        j = sum(sample <= k for sample in samples)
        if j == 0:
            ante, damped = True, True
        elif j < expected and k - samples[0] < longest:
            ante, damped = True, False
        else:
            ante, damped = False, True
        assert follows_ante(state, course) is ante
        assert velocity_feedback(state, time, course) == float(damped)
        assert awaits_impact(state, course) is (j == 0)


@settings(deadline=None, max_examples=40)
@given(
    IMPACT_TIMES.filter(len),
    st.sampled_from(InterimEnd),
    st.sampled_from(FurtherImpacts),
    st.integers(0, 80),
    st.lists(st.integers(0, 400), max_size=2),
)
def test_whatever_touches_the_feedback_comes_back_in_time(samples, until, further, blend, closings):
    """At the latest t_switch + Delta t_int after the first impact; until then gamma is a share."""
    interim = {"until": until, "expected_impacts": 3, "longest": 0.1, "further_impacts": further}
    course = settings_of(interim, interim_duration=blend * PERIOD)
    events = impacts(samples)
    for k in closings:
        events[k] = [*events.get(k, []), Event.CONTACT_CLOSED]
    latest = 0.9 + samples[0] * PERIOD + course.interim.longest + course.interim_duration
    for time, state in run(course, events):
        gamma = velocity_feedback(state, time, course)
        assert 0.0 <= gamma <= 1.0
        if time >= latest - 1e-9:
            assert state.mode is Mode.POST
            assert gamma == 1.0
    assert state.impacts == len(samples)


def test_contact_completion_closes_the_contact_and_starts_the_blending():
    course = settings_of({"until": InterimEnd.CONTACT_COMPLETION})
    events = {100: [Event.IMPACT], 130: [Event.IMPACT], 160: [Event.CONTACT_CLOSED], 170: [Event.CONTACT_CLOSED]}
    for k, (time, state) in enumerate(run(course, events)):
        gamma = velocity_feedback(state, time, course)
        if 100 <= k < 210:
            assert state.mode is Mode.INTERIM
            assert gamma == pytest.approx(max(0.0, (k - 160) / 50), abs=1e-9)
        else:
            assert state.mode is (Mode.ANTE if k < 100 else Mode.POST)


def test_a_contact_that_is_never_completed_is_given_up_after_the_longest_interim():
    course = settings_of({"until": InterimEnd.CONTACT_COMPLETION, "longest": 0.12})
    first_post = next(time for time, state in run(course, impacts([100])) if state.mode is Mode.POST)
    assert first_post == pytest.approx(1.0 + 0.12 + 0.05)


def test_completion_says_nothing_to_an_interim_mode_that_does_not_wait_for_it():
    events = {90: [Event.CONTACT_CLOSED], 100: [Event.IMPACT], 110: [Event.CONTACT_CLOSED]}
    assert list(run(SINGLE, events)) == list(run(SINGLE, impacts([100])))


@pytest.mark.parametrize("further", FurtherImpacts)
def test_a_second_impact_restarts_the_blending_or_is_counted_only(further):
    course = settings_of({"further_impacts": further})
    restarts = further is FurtherImpacts.RESTART
    for k, (time, state) in enumerate(run(course, impacts([100, 120]))):
        gamma = velocity_feedback(state, time, course)
        if k >= 120:
            assert state.impacts == 2
            assert gamma == pytest.approx(min(1.0, (k - (120 if restarts else 100)) / 50), abs=1e-9)


def test_a_bounce_after_the_interim_mode_begins_another_until_the_longest_is_over():
    course = settings_of({"further_impacts": FurtherImpacts.RESTART, "longest": 0.15})
    again = [Mode.ANTE, Mode.INTERIM, Mode.POST, Mode.INTERIM, Mode.POST]
    assert modes(course, impacts([100, 200])) == again
    assert modes(course, impacts([100, 250])) == again[:3]


@settings(deadline=None, max_examples=20)
@given(IMPACT_TIMES)
def test_plain_tracking_switches_at_the_nominal_time_whatever_it_hits(samples):
    course = settings_of(impact_strategy=ImpactStrategy.PLAIN_TRACKING, missing_impact_timeout=0.0)
    for k, (time, state) in enumerate(run(course, impacts(samples))):
        assert state.mode is (Mode.ANTE if k < 100 else Mode.POST)
        assert follows_ante(state, course) is (k < 100)
        assert velocity_feedback(state, time, course) == 1.0
        # What the joints do is told by the impact, not by what is followed.
        assert awaits_impact(state, course) is not any(sample <= k for sample in samples)


@settings(deadline=None, max_examples=20)
@given(IMPACT_TIMES)
def test_without_interim_the_impact_switches_and_nothing_is_taken_out(samples):
    course = settings_of(impact_strategy=ImpactStrategy.WITHOUT_INTERIM)
    for k, (time, state) in enumerate(run(course, impacts(samples))):
        assert state.mode is (Mode.POST if any(sample <= k for sample in samples) else Mode.ANTE)
        assert velocity_feedback(state, time, course) == 1.0


def test_a_missing_impact_stops_the_approach_after_its_time_out_and_not_without_one():
    assert modes(SINGLE, {}) == [Mode.ANTE]
    patient = replace(SINGLE, missing_impact_timeout=0.2)
    stopped = next(time for time, state in run(patient, {}) if state.mode is Mode.STOPPED)
    assert stopped == pytest.approx(NOMINAL + 0.2)
    # Late, but in time; and too late.
    assert modes(patient, impacts([280])) == [Mode.ANTE, Mode.INTERIM, Mode.POST]
    assert modes(patient, impacts([320])) == [Mode.ANTE, Mode.STOPPED]


@pytest.mark.parametrize("event", [event for event in Event if event is not Event.RESET])
def test_a_fault_is_left_by_a_reset_only(event):
    fault = transition(start(SINGLE), Event.FAIL, 0.0, SINGLE)
    assert fault.mode is Mode.FAULT
    assert transition(fault, event, 1.0, SINGLE) is fault
    assert transition(fault, Event.RESET, 1.0, SINGLE) == ModeState()


@pytest.mark.parametrize("mode", [Mode.IDLE, Mode.STOPPED, Mode.PULL_BACK, Mode.ADMITTANCE, Mode.RESUME])
def test_out_of_the_task_impacts_and_time_change_nothing(mode):
    state = ModeState(mode=mode)
    for event in (Event.IMPACT, Event.CONTACT_CLOSED):
        assert transition(state, event, 1.0, SINGLE) is state
    assert elapse(state, 10.0, 9.0, replace(SINGLE, missing_impact_timeout=0.0)) is state


@pytest.mark.parametrize("running", [Mode.ANTE, Mode.INTERIM, Mode.POST])
def test_reactions_lead_out_of_the_task_and_only_what_yields_comes_back(running):
    state = replace(start(SINGLE), mode=running, impacts=0 if running is Mode.ANTE else 1)
    for event, mode in ((Event.STOP, Mode.STOPPED), (Event.PULL_BACK, Mode.PULL_BACK)):
        after = transition(state, event, 1.0, SINGLE)
        assert after.mode is mode
        assert transition(after, Event.RESUME, 1.1, SINGLE) is after
        assert transition(after, Event.RESUMED, 1.1, SINGLE) is after
    for event, mode in ((Event.YIELD_TO_ANTE, Mode.ANTE), (Event.YIELD_TO_POST, Mode.POST)):
        back = transition(transition(state, event, 1.0, SINGLE), Event.RESUME, 2.0, SINGLE)
        assert back.mode is Mode.RESUME
        assert follows_ante(back, SINGLE) is (mode is Mode.ANTE)
        resumed = transition(back, Event.RESUMED, 3.0, SINGLE)
        assert resumed.mode is mode
        assert follows_ante(resumed, SINGLE) is awaits_impact(resumed, SINGLE) is (mode is Mode.ANTE)
        assert velocity_feedback(resumed, 3.0, SINGLE) == 1.0


def test_an_impact_of_a_resumed_approach_is_a_first_one():
    """What interrupted it is forgotten: t_switch counts from the impact of the task."""
    state = transition(start(SINGLE), Event.IMPACT, 0.5, SINGLE)
    for event in (Event.YIELD_TO_ANTE, Event.RESUME, Event.RESUMED):
        state = transition(state, event, 2.0, SINGLE)
    assert (state.impacts, state.first_impact) == (0, math.inf)
    state = transition(state, Event.IMPACT, 5.0, SINGLE)
    assert (state.mode, state.impacts, state.first_impact) == (Mode.INTERIM, 1, 5.0)


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        (SINGLE, "interim_duration", -0.1),
        (SINGLE, "interim_duration", math.inf),
        (SINGLE.interim, "longest", 0.0),
        (SINGLE.interim, "expected_impacts", 0),
        (SINGLE, "missing_impact_timeout", -1.0),
        (SINGLE, "missing_impact_timeout", math.nan),
    ],
)
def test_wrong_settings_are_refused(section, name, value):
    with pytest.raises(InvalidInputError, match=name):
        replace(section, **{name: value})
