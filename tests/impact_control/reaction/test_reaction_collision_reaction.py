"""The state machine behind the reactions: verdicts, torque and time in, events out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.classification import Verdict
from impact_control.control import Event
from impact_control.reaction import CollisionReaction, Phase, Silence, is_touched
from impact_control.scenario import Admittance, Reaction, ReactionSettings
from impact_control.util.errors import InvalidInputError

THRESHOLD = np.array([2.0, 1.0])
QUIET = np.array([1.9, -0.9])
TOUCHED = np.array([0.0, -1.1])
PERIOD = 1e-3
MOTION = ("gain", "speed", "acceleration", "excursion")
YIELDS = (Event.YIELD_TO_ANTE, Event.YIELD_TO_POST)


def parameters(impact=Reaction.ADMITTANCE, post_impact=Reaction.STOP, **changes):
    one = np.ones(2)
    values = {"threshold": THRESHOLD, "quiet_time": 2.0, "time_limit": 10.0, "attempts": 2}
    admittance = Admittance(**{**dict.fromkeys(MOTION, one), **values, **changes})
    return ReactionSettings(on_unexpected_impact=impact, on_unexpected_post_impact=post_impact, admittance=admittance)


def machine(*arguments, **changes):
    wanted = parameters(*arguments, **changes)
    reaction = CollisionReaction(wanted)
    reaction.watch(wanted)
    return reaction


def sample(reaction, time, torque=QUIET, impact=False, arrived=False, pressing=False):
    return reaction.proceed(time, torque, impact, arrived, pressing)


def wait_for_resume(reaction, start):
    """Return the time at which a machine that yields since `start`, untouched, resumes."""
    for k in range(20000):
        step = sample(reaction, start + k * PERIOD)
        if step is not None:
            assert step is Event.RESUME
            return start + k * PERIOD
    raise AssertionError("never resumed")


def test_each_joint_has_its_threshold_and_what_is_no_number_is_a_touch():
    assert not is_touched(QUIET, THRESHOLD)
    assert is_touched(np.array([2.0, 0.0]), THRESHOLD)
    assert is_touched(np.array([0.0, -1.0]), THRESHOLD)
    assert is_touched(np.array([0.0, np.nan]), THRESHOLD)


def test_silence_is_measured_since_the_last_touch():
    silence = Silence()
    assert silence.measure(5.0, touched=False) == 0.0
    assert silence.measure(6.5, touched=False) == 1.5
    assert silence.measure(6.6, touched=True) == 0.0
    assert silence.measure(6.7, touched=False) == 0.0
    assert silence.measure(7.0, touched=False) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("reaction", "step", "phase"),
    [
        (Reaction.CONTINUE, None, Phase.WATCHING),
        (Reaction.STOP, Event.STOP, Phase.OVER),
        (Reaction.PULL_BACK, Event.PULL_BACK, Phase.PULLING_BACK),
        (Reaction.ADMITTANCE, YIELDS, Phase.YIELDING),
    ],
)
@pytest.mark.parametrize("unexpected_impact", [True, False])
def test_a_verdict_begins_what_was_chosen_for_it(reaction, step, phase, unexpected_impact):
    other = Reaction.STOP if reaction is not Reaction.STOP else Reaction.CONTINUE
    watching = machine(reaction, other) if unexpected_impact else machine(other, reaction)
    assert watching.answer(Verdict.UNKNOWN, Verdict.NOT_STARTED) is None
    if unexpected_impact:
        event = watching.answer(Verdict.UNEXPECTED, Verdict.UNEXPECTED)
        assert event is (Event.YIELD_TO_ANTE if step is YIELDS else step)
    else:
        assert watching.answer(Verdict.EXPECTED, Verdict.UNKNOWN) is None
        event = watching.answer(Verdict.EXPECTED, Verdict.UNEXPECTED)
        assert event is (Event.YIELD_TO_POST if step is YIELDS else step)
    assert watching.phase is phase


def test_what_is_expected_is_not_reacted_to():
    watching = machine(Reaction.STOP, Reaction.STOP)
    assert watching.answer(Verdict.EXPECTED, Verdict.UNKNOWN) is None
    assert watching.answer(Verdict.EXPECTED, Verdict.EXPECTED) is None
    assert watching.phase is Phase.WATCHING


def test_pulling_back_ends_in_a_stop():
    reaction = machine(Reaction.PULL_BACK)
    reaction.answer(Verdict.UNEXPECTED, Verdict.UNEXPECTED)
    assert sample(reaction, 0.0, TOUCHED) is None
    assert sample(reaction, 0.1, arrived=True) is Event.STOP
    assert reaction.phase is Phase.OVER
    assert sample(reaction, 0.2, arrived=True) is None


def test_yields_until_it_was_quiet_for_two_seconds_without_a_break():
    reaction = machine()
    assert reaction.answer(Verdict.UNEXPECTED, Verdict.UNEXPECTED) is Event.YIELD_TO_ANTE
    for k in range(1900):
        assert sample(reaction, k * PERIOD) is None
    assert sample(reaction, 1.9, TOUCHED) is None
    assert wait_for_resume(reaction, 1.901) == pytest.approx(3.901, abs=2 * PERIOD)
    assert reaction.phase is Phase.RESUMING
    assert reaction.repeats_impact


def test_stops_when_it_is_not_let_go_of():
    reaction = machine(time_limit=5.0)
    reaction.answer(Verdict.UNEXPECTED, Verdict.UNEXPECTED)
    steps = [sample(reaction, 3.0 + 0.1 * k, TOUCHED) for k in range(60)]
    assert steps.index(Event.STOP) == pytest.approx(50, abs=1)
    assert reaction.phase is Phase.OVER


def test_back_in_the_task_its_own_impact_is_judged_anew_and_answered_again():
    reaction = machine()
    reaction.answer(Verdict.UNEXPECTED, Verdict.UNEXPECTED)
    end = wait_for_resume(reaction, 0.0)
    assert sample(reaction, end + 0.1) is None
    assert sample(reaction, end + 0.2, arrived=True) is Event.RESUMED
    assert reaction.phase is Phase.WATCHING
    assert reaction.answer(Verdict.UNEXPECTED, Verdict.UNEXPECTED) is Event.YIELD_TO_ANTE
    assert reaction.interruptions == 2


def test_after_an_expected_impact_the_verdict_stands_and_is_not_answered_twice():
    reaction = machine(Reaction.STOP, Reaction.ADMITTANCE)
    reaction.answer(Verdict.EXPECTED, Verdict.UNKNOWN)
    assert reaction.answer(Verdict.EXPECTED, Verdict.UNEXPECTED) is Event.YIELD_TO_POST
    assert not reaction.repeats_impact
    end = wait_for_resume(reaction, 0.0)
    assert sample(reaction, end + 0.1, TOUCHED, pressing=True) is None, "contact is planned then"
    assert sample(reaction, end + 0.2, arrived=True) is None
    assert reaction.answer(Verdict.EXPECTED, Verdict.UNEXPECTED) is None
    assert reaction.phase is Phase.WATCHING


@pytest.mark.parametrize("how", [{"torque": TOUCHED}, {"impact": True}])
def test_touched_on_the_way_back_it_yields_again_but_not_for_ever(how):
    reaction = machine(attempts=2)
    reaction.answer(Verdict.UNEXPECTED, Verdict.UNEXPECTED)
    end = wait_for_resume(reaction, 0.0)
    assert sample(reaction, end + 0.1, **how) is Event.YIELD_TO_ANTE
    end = wait_for_resume(reaction, end + 0.2)
    assert sample(reaction, end + 0.1, **how) is Event.STOP
    assert reaction.interruptions == 3
    assert reaction.phase is Phase.OVER


def test_without_attempts_admittance_is_a_stop():
    assert machine(attempts=0).answer(Verdict.UNEXPECTED, Verdict.UNEXPECTED) is Event.STOP


EVENTS = st.one_of(
    st.tuples(st.just("verdict"), st.sampled_from(Verdict), st.sampled_from(Verdict)),
    st.tuples(st.just("sample"), st.booleans(), st.booleans(), st.booleans(), st.booleans()),
    st.tuples(st.just("end")),
)


@settings(deadline=None)
@given(
    st.sampled_from(Reaction), st.sampled_from(Reaction), st.integers(0, 3), st.lists(EVENTS, min_size=1, max_size=60)
)
def test_whatever_happens_it_resumes_only_after_silence_and_never_wakes_up_again(impact, post, attempts, events):
    """Over is over; RESUME follows quiet_time without a touch; YIELD at most `attempts` times."""
    reaction = machine(impact, post, attempts=attempts)
    time, last_touch, yields = 0.0, 0.0, 0
    for event in events:
        before = reaction.phase
        if event[0] == "verdict":
            step = reaction.answer(*event[1:])
        elif event[0] == "end":
            reaction.end()
            step = None
        else:
            touched, hit, arrived, pressing = event[1:]
            time += 0.5
            last_touch = time if touched or reaction.phase is not Phase.YIELDING else last_touch
            step = sample(reaction, time, TOUCHED if touched else QUIET, hit, arrived, pressing)
        yields += step in YIELDS
        assert yields <= attempts
        if step is Event.RESUME:
            assert time - last_touch >= 2.0
        if step is Event.STOP:
            assert reaction.phase is Phase.OVER
        if before is Phase.OVER:
            assert reaction.phase is Phase.OVER
            assert step is None


@pytest.mark.parametrize(
    "changes",
    [{"quiet_time": 0.0}, {"quiet_time": np.nan}, {"time_limit": -1.0}, {"attempts": -1}],
)
def test_senseless_parameters_are_refused(changes):
    with pytest.raises(InvalidInputError, match=next(iter(changes))):
        parameters(**changes)


@pytest.mark.parametrize("threshold", [np.array([1.0, 0.0]), np.array([1.0, np.nan]), np.array(1.0)])
def test_senseless_thresholds_are_refused(threshold):
    with pytest.raises(InvalidInputError, match="threshold"):
        parameters(threshold=threshold)
