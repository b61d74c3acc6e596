"""Findings of the supervisor from signs of life."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impact_control.util.errors import InvalidInputError
from impact_control_ros.bridge.supervision import Cause, RobotMode, SupervisionLimits, Watch

INTERVAL = 0.004
LIMITS = SupervisionLimits(command_limit=0.035, state_limit=0.05, lag_limit=0.1)


class Observed:
    """A watch and its clock: one look every interval, with what is said to have come."""

    def __init__(self):
        self.watch = Watch(LIMITS, INTERVAL)
        self.now = 100.0
        self.jumped = 0.0
        self.watch.start(self.now)

    def look(self, *, command=True, state=True, answer=True, behind=0.0, commanders=1, after=INTERVAL):
        self.now += after
        self.watch.look(self.now)
        if command:
            self.watch.see_command()
        if state:
            self.watch.see_state(self.now + self.jumped)
        if answer:
            self.watch.see_answer(self.now + self.jumped - behind)
        return self.watch.finding(commanders)

    def until_found(self, seconds=1.0, **missing):
        """Look until something is found; return it and the time that passed."""
        start = self.now
        while self.now < start + seconds:
            if (finding := self.look(**missing)) is not None:
                return finding, self.now - start
        return None, seconds


def test_nothing_is_found_while_everything_comes():
    assert Observed().until_found()[0] is None


@pytest.mark.parametrize(
    ("missing", "cause", "limit"),
    [
        ({"command": False}, Cause.CONTROLLER_SILENT, LIMITS.command_limit),
        ({"state": False}, Cause.ROBOT_SILENT, LIMITS.state_limit),
        ({"answer": False}, Cause.CONTROLLER_STALE, LIMITS.lag_limit),
    ],
)
def test_silence_is_found_within_a_look_after_its_limit(missing, cause, limit):
    observed = Observed()
    observed.look()
    last_sign = observed.now
    finding, passed = observed.until_found(**missing)
    assert finding.cause is cause
    assert limit < passed <= limit + INTERVAL * 1.001
    assert finding.since == pytest.approx(last_sign, abs=1e-9)


def test_commands_from_old_states_are_found_by_their_stamps():
    observed = Observed()
    assert observed.look(behind=0.099) is None
    assert observed.look(behind=0.101).cause is Cause.CONTROLLER_STALE


@pytest.mark.parametrize("jump", [-2.0, 0.05, 0.15, 2.0])
def test_an_answer_to_a_state_from_before_a_jump_of_the_clock_is_not_late(jump):
    observed = Observed()
    observed.look()
    observed.jumped = jump
    # Within the limit: the answer that was under way, then answers to what came after it.
    assert observed.until_found(0.04, behind=jump)[0] is None
    assert observed.until_found(0.5)[0] is None
    observed.jumped = 0.0
    assert observed.until_found(0.04, behind=-jump)[0] is None
    assert observed.until_found(0.5)[0] is None


@pytest.mark.parametrize("jump", [2.0, -10.0])
def test_a_controller_that_stays_behind_a_jump_of_the_clock_is_found(jump):
    observed = Observed()
    observed.look()
    observed.jumped = jump
    finding, passed = observed.until_found(behind=jump)
    assert finding.cause is Cause.CONTROLLER_STALE
    assert passed <= LIMITS.lag_limit + 2.001 * INTERVAL


def answered_late(jumps, delay):
    """Return the finding, None without one, when a controller answers the state of `delay` looks ago.

    jumps: by how much [s] the clock of the states is off at each look.
    """
    observed, stamps = Observed(), []
    for observed.jumped in jumps:
        stamps.append(observed.now + INTERVAL + observed.jumped)
        answered = stamps[max(0, len(stamps) - 1 - delay)]
        if (finding := observed.look(behind=stamps[-1] - answered)) is not None:
            return finding
    return None


IN_TIME, LATE = 24, 27
"""Looks within and above the limit of the lag, 25 looks."""


@pytest.mark.parametrize("looks", [1, 2, 5, 24, 25, 26, 27, 60])
@pytest.mark.parametrize("jump", [2.0, -2.0, 10.0])
def test_a_clock_that_jumps_to_and_fro_hides_no_controller_that_is_behind(looks, jump):
    jumps = [jump * (k // looks % 2) for k in range(250)]
    assert answered_late(jumps, LATE).cause is Cause.CONTROLLER_STALE
    assert answered_late(jumps, IN_TIME) is None


@given(jumps=st.lists(st.sampled_from([0.0, 2.0, -3.0, 10.0]), min_size=40, max_size=120))
def test_whatever_the_clock_does_answers_count_by_the_age_of_their_states(jumps):
    assert answered_late(jumps, LATE).cause is Cause.CONTROLLER_STALE
    assert answered_late(jumps, IN_TIME) is None


@given(jump=st.floats(-1.0, 1.0), looks=st.integers(1, 60), delay=st.integers(0, 12))
def test_no_jump_of_the_clock_is_held_against_answers_within_half_of_the_limit(jump, looks, delay):
    assert answered_late([jump * (k // looks % 2) for k in range(150)], delay) is None


def test_after_its_own_sleep_old_answers_are_still_old():
    observed = Observed()
    observed.look()
    assert observed.look(after=1.0, behind=0.5).cause is Cause.CONTROLLER_STALE


def test_a_second_commander_is_found_at_once():
    finding = Observed().look(commanders=2)
    assert finding.cause is Cause.SECOND_COMMANDER
    assert "2" in finding.reason


def test_a_mode_that_is_not_known_is_another_one():
    assert RobotMode(7) is RobotMode(255) is RobotMode.OTHER


@pytest.mark.parametrize(
    ("mode", "name"),
    [(0, ""), (1, ""), (2, ""), (3, "GUIDING"), (4, "REFLEX"), (5, "USER_STOPPED"), (6, "AUTOMATIC_ERROR_RECOVERY")],
)
def test_an_arm_that_follows_no_commands_is_found(mode, name):
    """By the numbers of franka_msgs/FrankaRobotState: other, idle, move, and those in which it follows none."""
    observed = Observed()
    observed.watch.see_mode(RobotMode(mode))
    finding = observed.look()
    if name:
        assert finding.cause is Cause.ROBOT_STOPPED and name in finding.reason
    else:
        assert finding is None


def test_before_an_arm_the_limits_are_those_of_the_documentation():
    assert SupervisionLimits() == SupervisionLimits(command_limit=0.03, state_limit=0.07, lag_limit=0.25)


def test_a_gap_that_the_loop_lives_with_stops_nothing():
    """Without a state there is no command either, which is not the controller's fault."""
    observed = Observed()
    observed.watch.limits = SupervisionLimits()
    observed.look()
    finding, passed = observed.until_found(command=False, state=False)
    assert finding.cause is Cause.ROBOT_SILENT
    assert 0.064 < passed < 0.08
    observed = Observed()
    observed.watch.limits = SupervisionLimits()
    assert observed.until_found(command=False)[0].cause is Cause.CONTROLLER_SILENT


def test_a_robot_that_sends_its_last_state_again_and_again_is_silent():
    observed = Observed()
    observed.look()
    stamp, last_sign = observed.now, observed.now
    finding = None
    while finding is None:
        observed.watch.see_state(stamp)
        finding = observed.look(state=False)
    assert finding.cause is Cause.ROBOT_SILENT
    assert finding.since == pytest.approx(last_sign, abs=1e-9)


def test_a_robot_that_stands_still_is_not_blamed_on_its_controller():
    observed = Observed()
    finding = None
    while finding is None:
        # The controller answers each state, so it falls silent with the robot.
        finding = observed.look(command=False, state=False, answer=False, after=0.0249)
    assert finding.cause in (Cause.CONTROLLER_SILENT, Cause.ROBOT_SILENT)
    both = SupervisionLimits(command_limit=0.035, state_limit=0.035)
    observed.watch = Watch(both, INTERVAL)
    observed.watch.start(observed.now)
    assert observed.until_found(command=False, state=False)[0].cause is Cause.ROBOT_SILENT


@given(asleep=st.floats(0.01, 100.0), silent=st.booleans())
def test_its_own_sleep_is_nobodys_silence(asleep, silent):
    observed = Observed()
    observed.look()
    assert observed.look(after=asleep, command=not silent, state=not silent, answer=not silent) is None
    finding, passed = observed.until_found(command=False)
    assert finding.cause is Cause.CONTROLLER_SILENT
    # Of the sleep two looks are counted at most, so it is found no later, and no sooner than the limit allows.
    assert LIMITS.command_limit - 2 * INTERVAL - 1e-6 <= passed <= LIMITS.command_limit + INTERVAL + 1e-6


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["command_limit", "state_limit", "lag_limit"])
def test_limits_that_mean_nothing_are_refused(name, value):
    with pytest.raises(InvalidInputError, match=name):
        SupervisionLimits(**{name: value})


def test_a_second_source_of_joint_states_is_found():
    observed = Observed()
    observed.look()
    assert observed.watch.finding(1, 1) is None
    finding = observed.watch.finding(1, 2)
    assert finding.cause is Cause.SECOND_SOURCE and finding.reason == "2 publishers of joint states"
