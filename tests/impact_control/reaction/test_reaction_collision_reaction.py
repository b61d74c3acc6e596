"""The state machine behind the reactions: verdicts, torque and time in, events out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.classification import Verdict
from impact_control.control import Event, Mode
from impact_control.control.mode_machine import ModeState, transition
from impact_control.reaction import CollisionReaction, Silence, is_touched
from impact_control.scenario import Admittance, Reaction, ReactionSettings, load_scenario
from impact_control.util.errors import InvalidInputError

THRESHOLD = np.array([2.0, 1.0])
QUIET = np.array([1.9, -0.9])
TOUCHED = np.array([0.0, -1.1])
PERIOD = 1e-3
MOTION = ("gain", "speed", "acceleration", "excursion")
CONTROL = load_scenario("tabletop").control
YIELDS = (Event.YIELD_TO_ANTE, Event.YIELD_TO_POST)


def parameters(impact=Reaction.ADMITTANCE, post_impact=Reaction.STOP, **changes):
    one = np.ones(2)
    values = {"threshold": THRESHOLD, "quiet_time": 2.0, "time_limit": 10.0, "attempts": 2}
    admittance = Admittance(**{**dict.fromkeys(MOTION, one), **values, **changes})
    return ReactionSettings(on_unexpected_impact=impact, on_unexpected_post_impact=post_impact, admittance=admittance)


class Chain:
    """A reaction and the mode machine that its events go to, in a task from its approach on."""

    def __init__(self, *arguments, **changes):
        wanted = parameters(*arguments, **changes)
        self.reaction = CollisionReaction(wanted)
        self.reaction.watch(wanted)
        self.state = ModeState(Mode.ANTE)

    @property
    def mode(self):
        return self.state.mode

    def _take(self, event):
        if event is not None:
            self.state = transition(self.state, event, 0.0, CONTROL)
        return event

    def answer(self, impact, post_impact):
        return self._take(self.reaction.answer(self.mode, impact, post_impact))

    def sample(self, time, torque=QUIET, impact=False, arrived=False, pressing=False):
        return self._take(self.reaction.proceed(self.mode, time, torque, impact, arrived, pressing))

    def wait_for_resume(self, start):
        """Return the time at which a machine that yields since `start`, untouched, resumes."""
        for k in range(20000):
            event = self.sample(start + k * PERIOD)
            if event is not None:
                assert event is Event.RESUME
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
    ("reaction", "event", "mode"),
    [
        (Reaction.CONTINUE, None, Mode.ANTE),
        (Reaction.STOP, Event.STOP, Mode.STOPPED),
        (Reaction.PULL_BACK, Event.PULL_BACK, Mode.PULL_BACK),
        (Reaction.ADMITTANCE, YIELDS, Mode.ADMITTANCE),
    ],
)
@pytest.mark.parametrize("unexpected_impact", [True, False])
def test_a_verdict_begins_what_was_chosen_for_it(reaction, event, mode, unexpected_impact):
    other = Reaction.STOP if reaction is not Reaction.STOP else Reaction.CONTINUE
    chain = Chain(reaction, other) if unexpected_impact else Chain(other, reaction)
    assert chain.answer(Verdict.UNKNOWN, Verdict.NOT_STARTED) is None
    if not unexpected_impact:
        assert chain.answer(Verdict.EXPECTED, Verdict.UNKNOWN) is None
    impact, yielding = (
        (Verdict.UNEXPECTED, Event.YIELD_TO_ANTE) if unexpected_impact else (Verdict.EXPECTED, Event.YIELD_TO_POST)
    )
    assert chain.answer(impact, Verdict.UNEXPECTED) is (yielding if event is YIELDS else event)
    assert chain.mode is mode


def test_what_is_expected_is_not_reacted_to():
    chain = Chain(Reaction.STOP, Reaction.STOP)
    assert chain.answer(Verdict.EXPECTED, Verdict.UNKNOWN) is None
    assert chain.answer(Verdict.EXPECTED, Verdict.EXPECTED) is None


def test_pulling_back_ends_in_a_stop():
    chain = Chain(Reaction.PULL_BACK)
    chain.answer(Verdict.UNEXPECTED, Verdict.UNEXPECTED)
    assert chain.sample(0.0, TOUCHED) is None
    assert chain.sample(0.1, arrived=True) is Event.STOP
    assert chain.sample(0.2, arrived=True) is None


def test_yields_until_it_was_quiet_for_two_seconds_without_a_break():
    chain = Chain()
    assert chain.answer(Verdict.UNEXPECTED, Verdict.UNEXPECTED) is Event.YIELD_TO_ANTE
    for k in range(1900):
        assert chain.sample(k * PERIOD) is None
    assert chain.sample(1.9, TOUCHED) is None
    assert chain.wait_for_resume(1.901) == pytest.approx(3.901, abs=2 * PERIOD)


def test_stops_when_it_is_not_let_go_of():
    chain = Chain(time_limit=5.0)
    chain.answer(Verdict.UNEXPECTED, Verdict.UNEXPECTED)
    events = [chain.sample(3.0 + 0.1 * k, TOUCHED) for k in range(60)]
    assert events.index(Event.STOP) == pytest.approx(50, abs=1)


@pytest.mark.parametrize("impact", [Verdict.UNEXPECTED, Verdict.EXPECTED])
def test_back_in_the_task_only_verdicts_that_were_forgotten_are_answered_again(impact):
    chain = Chain(post_impact=Reaction.ADMITTANCE)
    yields = Event.YIELD_TO_ANTE if impact is Verdict.UNEXPECTED else Event.YIELD_TO_POST
    assert chain.answer(impact, Verdict.UNEXPECTED) is yields
    end = chain.wait_for_resume(0.0)
    assert chain.sample(end + 0.1, TOUCHED, pressing=True) is None, "contact is planned then"
    chain.state = transition(chain.state, Event.RESUMED, 0.0, CONTROL)
    assert chain.mode is (Mode.ANTE if impact is Verdict.UNEXPECTED else Mode.POST)
    assert chain.answer(impact, Verdict.UNEXPECTED) is None
    chain.reaction.forget_verdicts()
    assert chain.answer(impact, Verdict.UNEXPECTED) is yields
    assert chain.reaction.interruptions == 2


@pytest.mark.parametrize("how", [{"torque": TOUCHED}, {"impact": True}])
def test_touched_on_the_way_back_it_yields_again_but_not_for_ever(how):
    chain = Chain(attempts=2)
    chain.answer(Verdict.UNEXPECTED, Verdict.UNEXPECTED)
    end = chain.wait_for_resume(0.0)
    assert chain.sample(end + 0.1, **how) is Event.YIELD_TO_ANTE
    end = chain.wait_for_resume(end + 0.2)
    assert chain.sample(end + 0.1, **how) is Event.STOP
    assert chain.reaction.interruptions == 3


def test_without_attempts_admittance_is_a_stop():
    assert Chain(attempts=0).answer(Verdict.UNEXPECTED, Verdict.UNEXPECTED) is Event.STOP


EVENTS = st.one_of(
    st.tuples(st.just("verdict"), st.sampled_from(Verdict), st.sampled_from(Verdict)),
    st.tuples(st.just("sample"), st.booleans(), st.booleans(), st.booleans(), st.booleans()),
    st.tuples(st.sampled_from([Event.STOP, Event.RESUMED])),
)


@settings(deadline=None)
@given(
    st.sampled_from(Reaction), st.sampled_from(Reaction), st.integers(0, 3), st.lists(EVENTS, min_size=1, max_size=60)
)
def test_whatever_happens_it_resumes_only_after_silence_and_never_wakes_up_again(impact, post, attempts, events):
    """Over is over; RESUME follows quiet_time without a touch; YIELD at most `attempts` times."""
    chain = Chain(impact, post, attempts=attempts)
    time, last_touch, yields = 0.0, 0.0, 0
    for kind, *given_ in events:
        before, event = chain.mode, None
        if kind == "verdict":
            event = chain.answer(*given_)
        elif kind == "sample":
            touched, hit, arrived, pressing = given_
            time += 0.5
            last_touch = time if touched or before is not Mode.ADMITTANCE else last_touch
            event = chain.sample(time, TOUCHED if touched else QUIET, hit, arrived, pressing)
        else:
            chain.state = transition(chain.state, kind, 0.0, CONTROL)
        yields += event in YIELDS
        assert yields <= attempts
        if event is Event.RESUME:
            assert time - last_touch >= 2.0
        if event is Event.STOP or before is Mode.STOPPED:
            assert chain.mode is Mode.STOPPED
        if before is Mode.STOPPED:
            assert event is None


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
