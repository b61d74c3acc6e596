"""A scenario in lockstep without ROS: what comes back is one run, consistent in itself."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.classification import Verdict
from impact_control.pipeline import Outcome
from impact_control.robots import Dynamics
from impact_control.scenario import load_scenario, robot_of
from impact_control.simulation.scenario_run import run_scenario
from impact_control.util.errors import InvalidInputError

SCENARIO = load_scenario("tabletop")
ROBOT = robot_of(SCENARIO.robot)
END = 1.1


@pytest.fixture(scope="module")
def course():
    return run_scenario(SCENARIO, until=END)


def test_it_is_left_at_the_time_that_was_asked_for(course):
    np.testing.assert_allclose(course.time, np.arange(round(END / 1e-3)) * 1e-3, atol=1e-12)
    arm, signals = course.single, course.single.signals
    assert all(len(values) == course.time.size for values in (signals.position, signals.torque, signals.normal_force))
    assert (arm.impact, arm.post_impact) == (Verdict.EXPECTED, Verdict.UNKNOWN)
    assert course.outcome is not Outcome.SUCCEEDED
    with pytest.raises(InvalidInputError, match="until"):
        run_scenario(SCENARIO, until=0.0)


def test_the_hand_is_where_the_joints_put_it_and_moves_as_they_do(course):
    dynamics, signals = Dynamics(ROBOT), course.single.signals
    for k in range(0, course.time.size, 100):
        dynamics.compute(signals.measured_position[k], signals.measured_velocity[k])
        np.testing.assert_allclose(signals.position[k], dynamics.position, atol=1e-12)
        np.testing.assert_allclose(signals.velocity[k], dynamics.twist[:3], atol=1e-12)


def test_nothing_presses_before_the_contact_and_the_detection_comes_after_it(course):
    arm, force = course.single, course.single.signals.normal_force
    before = course.time < arm.first_contact_time
    assert np.all(force[before] == 0.0)
    assert force[~before].max() > 0.0
    assert 0.0 <= arm.detection_time - arm.first_contact_time < 3e-3


def test_commands_stay_inside_the_limits(course):
    torque = course.single.signals.torque
    assert np.all(np.abs(torque) <= ROBOT.limits.torque)
    assert np.all(np.abs(np.diff(torque, axis=0)) <= ROBOT.limits.torque_rate * 1e-3 * (1.0 + 1e-9))


def test_an_fr3_does_what_a_panda_does():
    """The last link of the FR3 alone is 40 times lighter about its axis: joint 7 has a mode of 10^5 1/s."""
    run = run_scenario(SCENARIO.with_overrides({"robot.model": "fr3"}))
    assert run.outcome is Outcome.SUCCEEDED
    assert (run.single.impact, run.single.post_impact) == (Verdict.EXPECTED, Verdict.EXPECTED)


def test_the_same_seed_gives_the_same_run():
    short, again, other = (
        run_scenario(SCENARIO.with_overrides({"simulation.seed": seed}), until=0.05).single.signals.torque
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(short, again)
    assert np.any(short != other)


def test_an_arm_that_feels_no_impact_does_not_run_away():
    """Without a time-out it goes on into the surface; the contact force that its model has not turns the wrist."""
    deaf = SCENARIO.with_overrides({"detection.residual_rate.threshold": "1e6 Nm/s"})
    stopped = run_scenario(deaf)
    assert stopped.outcome is Outcome.NO_IMPACT
    assert (np.abs(stopped.single.signals.measured_velocity) < 0.4 * ROBOT.limits.velocity).all()
    course = run_scenario(deaf.with_overrides({"control.missing_impact_timeout": "10 s"}))
    signals = course.single.signals
    fastest = np.abs(signals.measured_velocity) / ROBOT.limits.velocity
    assert course.outcome is Outcome.FAULT
    # Before there was a limit: 1.9 times, and 0.3 rad beyond a limit of the position.
    assert 1.0 < fastest.max() < 1.3
    assert np.all(signals.measured_position > ROBOT.limits.position_lower)
    assert np.all(signals.measured_position < ROBOT.limits.position_upper)
