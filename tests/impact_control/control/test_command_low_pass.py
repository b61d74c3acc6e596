"""The low-pass of the command: noise of the measurements stays out of the torque; limits, tracking, detection stay."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from impact_control.control import AccelerationQP, QPStatus, ReferenceSpreadingController
from impact_control.control.limits import ControlLimits, bound_fields, command_interval, limit_command, smooth_command
from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import largest_gain, load_scenario, robot_of
from impact_control.simulation.scenario_run import run_scenario
from impact_control.util.errors import ScenarioError
from impact_control.util.memory import named_memory

ROBOT = load_robot()
LIMITS = ROBOT.limits
PERIOD = 1e-3
STEP = LIMITS.torque_rate * PERIOD
ACCELERATION = np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0])
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
NOTHING = np.zeros(7)
NO_LOW_PASS = "10000 Hz"


def qp_with(cutoff_frequency):
    qp = AccelerationQP(ROBOT, PERIOD, ACCELERATION, np.full(7, 10.0), cutoff_frequency)
    dynamics = Dynamics(ROBOT)
    dynamics.compute(HOME, NOTHING)
    return qp, dynamics


def ask(qp, dynamics, target):
    qp.solve(dynamics, np.eye(7), target, np.ones(7), NOTHING, NOTHING)
    assert qp.status is QPStatus.SOLVED
    return qp.torque.copy()


@pytest.mark.parametrize("cutoff_frequency", [5.0, 50.0, 300.0])
def test_the_command_is_the_torque_after_two_first_order_stages(cutoff_frequency):
    """Against the recursion of scipy, with poles at exp(-2 pi f T)."""
    targets = np.random.default_rng(1).normal(0.0, 0.02, (400, 7))
    (direct, dynamics), (smoothed, _) = qp_with(math.inf), qp_with(cutoff_frequency)
    desired = np.array([ask(direct, dynamics, target) for target in targets])
    commands = np.array([ask(smoothed, dynamics, target) for target in targets])
    pole = math.exp(-2.0 * math.pi * cutoff_frequency * PERIOD)
    expected = desired
    for _ in range(2):
        expected = lfilter([1.0 - pole], [1.0, -pole], expected, axis=0)
    np.testing.assert_allclose(commands, expected, rtol=1e-9, atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 1.0))
def test_whatever_is_asked_for_some_torque_is_allowed_and_its_command_inside_the_limits(seed, smoothing):
    """The allowed torques are those whose command keeps torque and torque rate, no fewer."""
    random = np.random.default_rng(seed)
    limits = ControlLimits(LIMITS, ACCELERATION, PERIOD)
    last, torque = named_memory(**bound_fields(7)), np.zeros(7)
    for k in range(300):
        before = last.copy()
        states = zip(last["command"], last["halfway"], strict=True)
        low, high = np.array(
            [command_interval(*pair, 0.0, LIMITS.torque[j], STEP[j], smoothing) for j, pair in enumerate(states)]
        ).T
        assert (low <= high).all()
        desired = random.choice([low, high, random.uniform(low, high)]) if k % 50 else high
        smooth_command(desired, limits.memory, last, smoothing, torque)
        assert (np.abs(torque - before["command"]) <= STEP * (1.0 + 1e-9)).all()
        assert (np.abs(torque) <= LIMITS.torque * (1.0 + 1e-12)).all()
        beyond = before.copy()
        smooth_command(high + 0.1 * STEP / smoothing**2, limits.memory, beyond, smoothing, torque)
        assert ((torque - before["command"] > STEP) | (high > LIMITS.torque - 1e-9)).all()
        smooth_command(desired, limits.memory, before, smoothing, torque)
        limit_command(torque, limits.memory, last["command"], torque)


def test_the_torque_rate_stays_usable_to_its_limit():
    """While it is what limits. Behind a torque of limited rate a low-pass leaves a part of it, and two arms swing."""
    qp, dynamics = qp_with(50.0)
    force_torque = np.array([0.0, 40.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    changes = []
    for _ in range(25):
        qp.solve(dynamics, np.eye(7), NOTHING, np.ones(7), NOTHING, force_torque)
        changes.append(qp.change)
    np.testing.assert_allclose(changes, STEP[1], rtol=1e-9)


def test_a_limit_that_is_met_while_a_force_still_comes_does_not_push_the_joints_aside():
    """The command has a part of the force only; to hold on to all of it would take what is missing from the motion."""
    qp, dynamics = qp_with(50.0)
    force_torque = np.array([0.0, 10.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    qp.solve(dynamics, np.eye(7), NOTHING, np.ones(7), NOTHING, force_torque)
    assert qp.force_share == 1.0 and qp.torque[1] < 1.0
    beyond = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.5 * ACCELERATION[6]])
    qp.solve(dynamics, np.eye(7), beyond, np.ones(7), NOTHING, force_torque)
    assert qp.acceleration[6] > 0.5 * ACCELERATION[6]  # as far as the torque rate allows
    assert abs(qp.acceleration[1]) < 0.2
    assert 0.0 < qp.force_share < 0.3


def test_a_motion_that_could_use_the_torque_of_a_force_does_not_get_it():
    """To let go of the force would free torque rate for the motion: what the command has of it stays."""
    qp, dynamics = qp_with(50.0)
    force_torque = np.array([0.0, 10.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    for _ in range(200):
        qp.solve(dynamics, np.eye(7), NOTHING, np.ones(7), NOTHING, force_torque)
    qp.solve(dynamics, np.eye(7), 0.9 * ACCELERATION, np.ones(7), NOTHING, force_torque)
    assert qp.limited
    assert qp.force_share > 0.999

    qp.reset()
    beyond = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.5 * ACCELERATION[6]])
    for target in (NOTHING, beyond):  # through the low-pass, then at a limit, without it
        qp.solve(dynamics, np.eye(7), target, np.ones(7), NOTHING, force_torque)
    come = qp.force_share
    assert 0.1 < come < 0.3
    qp.solve(dynamics, np.eye(7), 0.9 * ACCELERATION, np.ones(7), NOTHING, force_torque)
    assert qp.force_share > come - 1e-6


def test_a_fault_begins_from_the_last_command_and_leaves_nothing_of_it_behind():
    qp, dynamics = qp_with(50.0)
    for _ in range(50):
        last = ask(qp, dynamics, np.full(7, 2.0))
    qp.damp(NOTHING)
    assert (np.abs(qp.torque - last) <= STEP * (1.0 + 1e-9)).all()
    for _ in range(100):
        qp.damp(NOTHING)
    assert not qp.torque.any()
    assert not ask(qp, dynamics, NOTHING).any()


@pytest.mark.parametrize("desired", [math.nan, math.inf, -math.inf, 1e300])
def test_a_torque_from_nowhere_is_gone_with_the_next_one(desired):
    limits = ControlLimits(LIMITS, ACCELERATION, PERIOD)
    last, torque = named_memory(**bound_fields(7)), np.zeros(7)
    smooth_command(np.full(7, desired), limits.memory, last, 0.27, torque)
    assert (np.abs(torque) <= LIMITS.torque).all()
    for _ in range(200):
        last["command"] = torque
        smooth_command(NOTHING, limits.memory, last, 0.27, torque)
    np.testing.assert_allclose(torque, 0.0, atol=1e-9)


@pytest.mark.parametrize("model", ["panda", "fr3"])
def test_the_torque_of_a_resting_arm_moves_at_a_fifth_of_its_rate_at_most(model):
    """Held by the noise of the sensors alone, in postures all over the workspace; without, it moves at the limit."""
    robot = load_robot(model, "sphere")
    random = np.random.default_rng(5 if model == "panda" else 6)
    middle = 0.5 * (robot.limits.position_upper + robot.limits.position_lower)
    half = 0.5 * (robot.limits.position_upper - robot.limits.position_lower)
    largest = {}
    for cutoff in ("50 Hz", NO_LOW_PASS):
        control = load_scenario("tabletop").with_overrides({"control.cutoff_frequency": cutoff}).control
        largest[cutoff] = max(
            _largest_rate_at_rest(robot, control, middle + random.uniform(-0.8, 0.8, 7) * half, random)
            for _ in range(15)
        )
    assert largest["50 Hz"] <= 0.2 * robot.limits.torque_rate.max()
    assert largest[NO_LOW_PASS] == pytest.approx(robot.limits.torque_rate.max())


def _largest_rate_at_rest(robot, control, home, random):
    """Largest torque rate [Nm/s] in 1 s, from 0.1 s on."""
    controller, dynamics = ReferenceSpreadingController(robot, control, home), Dynamics(robot)
    deviations = np.array([robot.noise.position, robot.noise.velocity])[:, None] / 3.0
    noise = deviations * np.clip(random.standard_normal((2, 1100, 7)), -3.0, 3.0)
    noise[:, 0] = 0.0
    rate, last = 0.0, None
    for k, (position, velocity) in enumerate(zip(home + noise[0], noise[1], strict=True)):
        dynamics.compute(position, velocity)
        controller.compute_torque(dynamics, k * PERIOD, position, velocity, np.zeros(7))
        if k >= 100:
            rate = max(rate, np.abs(controller.torque - last).max() / PERIOD)
        last = controller.torque.copy()
    return rate


@pytest.mark.parametrize("seed", [21, pytest.param(22, marks=pytest.mark.long)])
def test_tracking_and_detection_are_as_without(seed):
    """The error of the links themselves, as the simulation knows them: the noise hides it in the measurements."""
    with_it, without = (_course("50 Hz", seed), _course(NO_LOW_PASS, seed))
    assert with_it.outcome == without.outcome
    assert abs(_delay(with_it) - _delay(without)) <= PERIOD
    assert _rms_error(with_it) == pytest.approx(_rms_error(without), abs=0.05e-3)


def _course(cutoff, seed):
    scenario = load_scenario("tabletop").with_overrides({"control.cutoff_frequency": cutoff, "simulation.seed": seed})
    return run_scenario(scenario).single


def _delay(course):
    return course.detection_time - course.first_contact_time


def _rms_error(course):
    """Before and after the impact [m]."""
    signals, impact = course.signals, round(course.first_contact_time / PERIOD)
    dynamics = Dynamics(robot_of(load_scenario("tabletop").robot))
    places = []
    for position in signals.joint_position:
        dynamics.compute(position, NOTHING)
        places.append(dynamics.position.copy())
    reference = np.vstack([signals.ante_position[:impact], signals.post_position[impact:]])
    squares = np.sum((np.array(places) - reference) ** 2, axis=1)
    return np.sqrt([squares[:impact].mean(), squares[impact + 300 :].mean()])


def test_a_gain_that_the_low_pass_makes_swing_is_refused_with_the_largest_one():
    largest = largest_gain(50.0)
    assert largest == pytest.approx((math.pi * 25.0) ** 2)
    poles = _poles(largest, 50.0)
    assert poles.real.max() < 0.0
    assert _poles(4.0 * largest, 50.0).real.max() == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(ScenarioError, match=r"gains\.orientation.*at most 6169 1/s\^2 .*cutoff_frequency = 50 Hz"):
        load_scenario("tabletop").with_overrides({"control.gains.orientation": "7000 1/s^2"})
    with pytest.raises(ScenarioError, match=r"gains\.position.*at most 61\.69"):
        load_scenario("tabletop").with_overrides({"control.cutoff_frequency": "5 Hz"})


def _poles(gain, cutoff_frequency):
    corner = 2.0 * math.pi * cutoff_frequency
    return np.roots([1.0 / corner**2, 2.0 / corner, 1.0, 2.0 * math.sqrt(gain), gain])
