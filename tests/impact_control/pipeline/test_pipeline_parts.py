"""The small parts of the pipeline: when a stopped arm is at rest, which samples can be used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.classification import Verdict
from impact_control.control import Fault
from impact_control.pipeline.judge import Judge
from impact_control.pipeline.rest import LONGEST_SETTLE_TIME, REST_SPEED, REST_TIME, SETTLE_TIME, Rest
from impact_control.pipeline.samples import LIMIT_TOLERANCE, VELOCITY_TOLERANCE, Gaps, SampleCheck
from impact_control.pipeline.sensing import make_observer
from impact_control.references import ExpectedImpact
from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import load_scenario, robot_of

PERIOD = 1e-3
STILL = np.zeros(7)


def end(moving_until):
    """When a task ends whose arm moves one joint, just fast enough, until a time after its stop [s]."""
    rest = Rest()
    time = start = 0.3
    while not rest.reached(time, np.eye(7)[4] * -REST_SPEED if time - start < moving_until else STILL):
        time += PERIOD
    return time - start


@pytest.mark.parametrize(
    ("moving_until", "expected"),
    [
        (0.0, SETTLE_TIME),
        (SETTLE_TIME - 2.0 * REST_TIME, SETTLE_TIME),
        (SETTLE_TIME, SETTLE_TIME + REST_TIME),
        (1.0, 1.0 + REST_TIME),
        (10.0, LONGEST_SETTLE_TIME),
    ],
)
def test_a_stopped_task_ends_once_every_joint_has_stood_for_a_while(moving_until, expected):
    assert end(moving_until) == pytest.approx(expected, abs=2.0 * PERIOD)


def test_after_a_reset_the_time_begins_anew():
    rest = Rest()
    assert not rest.reached(0.0, STILL)
    assert rest.reached(SETTLE_TIME, STILL)
    rest.reset()
    assert not rest.reached(SETTLE_TIME, STILL)
    assert not rest.reached(2.0 * SETTLE_TIME - PERIOD, STILL)
    assert rest.reached(2.0 * SETTLE_TIME, STILL)


@pytest.fixture
def check():
    check = SampleCheck(load_robot(), Gaps(PERIOD, 0.02, 0.064, 0.0, np.full(7, 30.0)))
    assert check.fault(1.0, INSIDE, STILL, STILL, in_task=False) is Fault.NONE
    return check


@pytest.mark.parametrize("joint", [0, 6])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_torque_that_no_joint_gives_is_a_fault(check, joint, sign):
    torque = np.zeros(7)
    torque[joint] = sign * 9.9 * load_robot().limits.torque[joint]
    assert check.fault(1.001, INSIDE, STILL, torque, in_task=False) is Fault.NONE
    torque[joint] = sign * 1e100
    assert check.fault(1.002, INSIDE, STILL, torque, in_task=False) is Fault.STATE_OUT_OF_LIMITS
    assert f"the torque of panda_joint{joint + 1} is {sign * 1e100:g} Nm" in check.reason(Fault.STATE_OUT_OF_LIMITS)


INSIDE = 0.5 * (load_robot().limits.position_lower + load_robot().limits.position_upper)


@pytest.mark.parametrize(
    ("after", "fault"), [(0.064, Fault.NONE), (0.065, Fault.STATE_STALE), (-3.0, Fault.STATE_STALE)]
)
def test_a_gap_counts_in_a_task_only(check, after, fault):
    assert check.fault(1.0 + after, INSIDE, STILL, STILL, in_task=True) is fault
    assert check.fault(9.0 + after, INSIDE, STILL, STILL, in_task=False) is Fault.NONE


@pytest.mark.parametrize(("after", "repeated"), [(0.0, True), (-0.0199, True), (-0.021, False), (0.001, False)])
def test_what_comes_again_or_late_is_told_from_a_clock_that_was_set_back(check, after, repeated):
    assert check.repeated(1.0 + after, INSIDE, STILL, STILL) is repeated


def test_a_stamp_stands_still_after_more_samples_than_one_that_is_ahead_makes_late(check):
    for k in range(64):
        assert check.repeated(1.0, INSIDE, STILL, STILL)
        assert check.overdue == (k >= 20)
        assert not check.stands_still
    assert check.repeated(1.0, INSIDE, STILL, STILL)
    assert check.stands_still
    assert not check.repeated(1.001, INSIDE, STILL, STILL)
    assert not check.stands_still


@pytest.mark.parametrize("speed", [0.3, 2e-9])
@pytest.mark.parametrize("changed", [None, 0, 1, 2])
def test_the_numbers_of_the_sample_before_are_no_sample_under_whatever_stamp(check, speed, changed):
    sample = [INSIDE.copy(), np.full(7, speed), np.full(7, 3.0)]
    assert not check.repeated(1.001, *sample)
    check.fault(1.001, *sample, in_task=True)
    if changed is not None:
        sample[changed][6] = np.nextafter(sample[changed][6], 9.0)
    assert check.repeated(1.002, *sample) is (changed is None)


def test_an_arm_at_exact_rest_sends_samples(check):
    """As in a simulation without noise: nothing can be detected from them, and they are no standstill of the source."""
    for k in range(1, 100):
        assert not check.repeated(1.0 + k * PERIOD, INSIDE, STILL, STILL)
        assert check.fault(1.0 + k * PERIOD, INSIDE, STILL, STILL, in_task=True) is Fault.NONE


@pytest.mark.parametrize("joint", range(7))
@pytest.mark.parametrize("side", ["position_lower", "position_upper"])
def test_a_position_that_cannot_be_the_arms_is_a_fault(check, joint, side):
    outwards = 1.0 if side == "position_upper" else -1.0
    position = INSIDE.copy()
    for beyond, fault in ((0.99, Fault.NONE), (1.01, Fault.STATE_OUT_OF_LIMITS)):
        position[joint] = getattr(load_robot().limits, side)[joint] + outwards * beyond * LIMIT_TOLERANCE
        assert check.fault(1.0, position, STILL, STILL, in_task=False) is fault


@pytest.mark.parametrize("joint", range(7))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_joint_that_runs_away_is_a_fault(check, joint, sign):
    velocity = STILL.copy()
    limit = load_robot().limits.velocity[joint]
    for factor, fault in ((0.99, Fault.NONE), (1.01, Fault.STATE_OUT_OF_LIMITS)):
        velocity[joint] = sign * factor * VELOCITY_TOLERANCE * limit
        assert check.fault(1.0, INSIDE, velocity, STILL, in_task=False) is fault
    moves = f"panda_joint{joint + 1} moves at {velocity[joint]:.2f} rad/s, its limit is {limit:g} rad/s"
    assert check.reason(Fault.STATE_OUT_OF_LIMITS) == moves


def test_the_first_sample_that_was_a_fault_is_told(check):
    assert check.reason(Fault.STATE_STALE) == ""
    assert check.fault(1.09, INSIDE, STILL, STILL, in_task=True) is Fault.STATE_STALE
    said = check.reason(Fault.STATE_STALE)
    assert said == "90.0 ms between the stamps of two samples (at most 64 ms, and forwards)"
    beyond = INSIDE.copy()
    beyond[3] = load_robot().limits.position_upper[3] + 0.5
    assert check.fault(1.091, beyond, STILL, STILL, in_task=True) is Fault.STATE_OUT_OF_LIMITS
    assert check.reason(Fault.STATE_STALE) == said
    assert check.reason(Fault.STATE_OUT_OF_LIMITS) == ""
    check.reset()
    assert check.reason(Fault.STATE_STALE) == ""
    check.fault(1.0, beyond, STILL, STILL, in_task=False)
    assert check.reason(Fault.STATE_OUT_OF_LIMITS).endswith("rad, 0.500 rad beyond its limit")


@pytest.mark.parametrize("which", range(3))
def test_what_is_not_a_number_is_a_fault(check, which):
    sample = [INSIDE.copy(), STILL.copy(), STILL.copy()]
    sample[which][3] = np.nan
    assert check.fault(1.001, *sample, in_task=False) is Fault.STATE_NOT_FINITE
    kind = ("position", "velocity", "torque")[which]
    assert check.reason(Fault.STATE_NOT_FINITE) == f"the {kind} of panda_joint4 is nan"


TUNED = {"envelope_margin": "0.1 rad/s", "window_length": 60, "decay_rate": "3 1/s", "post_impact_time": "40 ms"}


@pytest.mark.parametrize("key", TUNED)
def test_a_task_is_judged_by_the_tuning_of_its_own_scenario(key):
    """Whatever the scenario was that the judge was made for."""
    robot, made_for = load_robot(), load_scenario("tabletop")
    task = made_for.with_overrides({f"classification.{key}": TUNED[key]})
    planned = ExpectedImpact(0.0, STILL, STILL, STILL, STILL, 0.0)

    def judged(made_for, task):
        """What is found of a velocity error that comes with the impact and stays."""
        judge = Judge(made_for, robot)
        judge.begin_task(task, planned)
        found = []
        for k in range(-30, 200):
            if k == 0:
                judge.impact_detected(0.0, STILL)
            judge.judge_velocity(k * PERIOD, np.full(7, 0.03 if k > 0 else 0.0), STILL)
            found.append((judge.post_impact, *judge.classifier.lower, *judge.classifier.margin))
        return found, judge.reason

    assert judged(made_for, task) == judged(task, task)
    assert judged(task, task) != judged(made_for, made_for)


def test_the_margin_of_a_task_holds_both_deviations_of_its_plan():
    robot, scenario = load_robot(), load_scenario("tabletop")
    limit = scenario.classification.uncertainty.limit

    def widening(jump, friction):
        judge = Judge(scenario, robot)
        judge.begin_task(scenario, ExpectedImpact(0.0, STILL, np.full(7, jump), np.full(7, friction), STILL, 0.0))
        judge.judge_velocity(0.0, STILL, STILL)
        return judge.classifier.widening / limit

    none = widening(0.0, 0.0)
    assert widening(0.03, 0.0) == pytest.approx(np.hypot(none, 0.03))
    assert widening(0.03, 0.02) == pytest.approx(np.linalg.norm([none, 0.03, 0.02]))


@pytest.mark.parametrize(("margin", "widened"), [({}, True), ({"classification.envelope_margin": "0.05 rad/s"}, False)])
def test_epsilon_of_a_task_holds_the_deviation_of_its_configuration_unless_the_margins_are_fixed(margin, widened):
    robot, scenario = load_robot(), load_scenario("tabletop").with_overrides(margin)
    settings, deviation = scenario.classification, np.array([0.0, 0.0, 0.0, 0.0, 0.003, 0.0, 0.004])
    epsilon = settings.configuration_error
    if widened:
        epsilon = np.hypot(epsilon, 0.005 * settings.uncertainty.limit)

    def verdict(error):
        judge = Judge(scenario, robot)
        judge.begin_task(scenario, ExpectedImpact(0.0, STILL, STILL, STILL, deviation, 0.0))
        judge.impact_detected(0.0, STILL + error * np.eye(7)[2])
        assert judge.classifier.configuration_limit == pytest.approx(epsilon)
        return judge.impact

    assert [verdict(part * epsilon) for part in (0.999, 1.001)] == [Verdict.EXPECTED, Verdict.UNEXPECTED]


@pytest.mark.parametrize("in_task", [False, True])
@pytest.mark.parametrize(("joint", "sign"), [(2, 1.0), (2, -1.0), (6, 1.0)])
@pytest.mark.parametrize("lost", [0, 1, 19])
@pytest.mark.parametrize(("before", "after"), [(0.0, 0.0), (-2.0, -2.0), (2.0, 0.0), (0.0, 1.0), (1.0, -1.0)])
def test_a_position_that_contradicts_the_velocity_is_a_fault(check, before, after, lost, joint, sign, in_task):
    """Beyond 5 mrad, half of what the velocity changed, 5 ms of it, and what the joint can do over lost samples."""
    since = (1 + lost) * PERIOD
    allowed = 5e-3 + 0.5 * since * abs(after - before) + 5e-3 * max(abs(before), abs(after))
    allowed += lost * PERIOD * 1.25 * load_robot().limits.velocity[joint]
    for part, fault in ((0.999, Fault.NONE), (1.001, Fault.STATE_CONTRADICTORY)):
        check.reset()
        assert check.fault(2.0, INSIDE, np.full(7, before), STILL, in_task=False) is Fault.NONE
        where = INSIDE + 0.5 * (before + after) * since
        where[joint] += sign * part * allowed
        assert check.fault(2.0 + since, where, np.full(7, after), STILL, in_task=in_task) is fault
    assert check.reason(Fault.STATE_CONTRADICTORY).startswith(f"panda_joint{1 + joint} is where")


@pytest.mark.parametrize("ahead", [5, 19])
def test_behind_a_stamp_that_was_ahead_nothing_contradicts(check, ahead):
    """Later samples are dropped until their stamps are newer: the arm has moved on for longer than these say."""
    speed, faults = 2.0 * np.ones(7), []
    for k in range(1, 60):
        stamp = 1.0 + (k + ahead * (k == 20)) * PERIOD
        where = INSIDE + speed * k * PERIOD
        if not check.repeated(stamp, where, speed, STILL):
            faults.append(check.fault(stamp, where, speed, STILL, in_task=True))
    assert faults == [Fault.NONE] * (59 - ahead)


def test_a_robot_with_a_coarse_encoder_has_a_wider_tolerance():
    robot = load_robot()
    coarse = replace(robot, noise=replace(robot.noise, position=np.full(7, 0.004)))
    for one, fault in ((robot, Fault.STATE_CONTRADICTORY), (coarse, Fault.NONE)):
        check = SampleCheck(one, Gaps(PERIOD, 0.02, 0.064, 0.0, np.full(7, 30.0)))
        assert check.fault(1.0, INSIDE + 0.004, STILL, STILL, in_task=False) is Fault.NONE
        assert check.fault(1.0 + PERIOD, INSIDE - 0.004, STILL, STILL, in_task=False) is fault


def test_behind_a_gap_that_ends_a_task_an_arm_may_be_elsewhere(check):
    assert check.fault(1.021, INSIDE + 0.3, STILL, STILL, in_task=False) is Fault.NONE


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_an_arm_within_its_speed_never_contradicts_itself_whatever_the_clock_does(seed):
    """Stamps are up to 5 ms late, encoders 1 mrad off, samples lost in gaps of up to 20 ms."""
    random = np.random.default_rng(seed)
    check = SampleCheck(load_robot(), Gaps(PERIOD, 0.02, 0.064, 0.0, np.full(7, 30.0)))
    time, position, velocity = 1.0, INSIDE.copy(), np.zeros(7)
    assert check.fault(time, position, velocity, STILL, in_task=False) is Fault.NONE
    fastest, impact = load_robot().limits.velocity, random.integers(200)
    for k in range(200):
        for _ in range(random.choice([1, 1, 1, 1, 2, 10])):
            before = velocity
            change = 5.0 if k == impact else 0.02  # [rad/s] in a period
            velocity = np.clip(velocity + random.uniform(-change, change, 7), -fastest, fastest)
            jumped = random.uniform()  # the moment of the period
            position += PERIOD * (jumped * before + (1.0 - jumped) * velocity)
            time += PERIOD
        stamp, measured = time + random.uniform(0.0, 5e-3), position + random.uniform(-1e-3, 1e-3, 7)
        if check.repeated(stamp, measured, velocity, STILL):
            continue
        assert check.fault(stamp, measured, velocity, STILL, in_task=True) is Fault.NONE


@pytest.mark.parametrize(
    ("change", "followed"),
    [
        ({}, True),
        ({"classification.contact_path": "none"}, False),
        ("tabletop_plate", False),  # its points have not all touched, and what turns it until then is no departure
    ],
)
def test_the_way_of_the_contact_counts_from_its_closing_where_the_scenario_asks_for_it(change, followed):
    scenario = load_scenario(change) if isinstance(change, str) else load_scenario("tabletop").with_overrides(change)
    robot = robot_of(scenario.robot)
    dynamics, observer = Dynamics(robot), make_observer(scenario, robot)
    judge = Judge(scenario, robot)
    judge.begin_task(scenario, ExpectedImpact(0.0, INSIDE, STILL, STILL, STILL, 0.0))
    judge.impact_detected(0.0, INSIDE)
    for k in range(1, 400):
        dynamics.compute(INSIDE + 1e-3 * k * np.eye(7)[1], STILL)  # [rad], leaves the surface
        judge.judge_contact(k * PERIOD, dynamics, observer, np.zeros(3))
    assert (judge.contact_path.deviation > 1.0) is followed
