"""Feedback through a low-pass: the noise of the sensors stays out of the torque, the impact is met without delay."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.control import Mode
from impact_control.control.contact_force import NO_FORCE
from impact_control.control.tasks import JointTask, TaskStack
from impact_control.control.torque_law import TorqueLaw
from impact_control.planning import plan_scenario
from impact_control.planning.team import Team
from impact_control.references import ReferenceColumns
from impact_control.robots import Dynamics
from impact_control.scenario import load_scenario, robot_of
from impact_control.simulation import build_world
from impact_control.simulation.scenario_run import run_scenario

SCENARIO = load_scenario("tabletop")
ROBOT = robot_of(SCENARIO.robot)
HOME = SCENARIO.task.home_configuration
FIFTH = 0.2 * ROBOT.limits.torque_rate
"""[Nm/s] What noise alone may make of the torque rate; without the low-pass it is up to 0.93 of the limit."""


def rate(torque):
    return np.abs(np.diff(torque, axis=0)).max(axis=0) / SCENARIO.control.period


@pytest.mark.parametrize("model", ["panda", "fr3"])
def test_noise_moves_the_torque_of_a_held_arm_at_a_fifth_of_its_rate_at_most(model):
    scenario = SCENARIO.with_overrides({"robot.model": model})
    plan = plan_scenario(scenario)
    world = build_world(scenario)
    arm, sensors, gate = world.single
    team, torque = Team(plan), []
    team.reset()
    for k in range(500):
        m = sensors.measure(arm)
        team.tick(k * 1e-3, {"": (m.position, m.velocity, m.torque)})
        torque.append(team.pipelines[""].torque.copy())
        world.step([gate.select(arm.link_velocity, 1e-3)])
        gate.offer(torque[-1])
    assert team.pipelines[""].controller.mode is Mode.IDLE
    assert np.all(rate(torque[100:]) < FIFTH)


def test_noise_moves_the_torque_of_a_pressing_arm_at_a_fifth_of_its_rate_at_most():
    course = run_scenario(SCENARIO)
    at_rest = (course.single.signals.mode == Mode.POST) & (course.time > 2.1)
    assert np.count_nonzero(at_rest) > 300
    assert np.all(rate(course.single.signals.torque[at_rest]) < FIFTH)
    assert course.single.detection_time - course.single.first_contact_time < 2e-3


def test_feedback_comes_as_a_first_order_lag_and_feedforward_at_once():
    task, dynamics = JointTask(400.0, 1.0, 7), Dynamics(ROBOT)
    stack = TaskStack((task,), 7, 200.0, 1e-3)
    dynamics.compute(HOME, np.zeros(7))
    task.follow(HOME, np.zeros(7), np.zeros(7))
    stack.write(dynamics, 1.0)
    np.testing.assert_array_equal(stack.target, 0.0)
    task.follow(HOME + 0.01, np.zeros(7), np.full(7, 3.0))
    for k in range(1, 6):
        stack.write(dynamics, 1.0)
        np.testing.assert_allclose(stack.target, 3.0 + 4.0 * (1.0 - np.exp(-0.2 * k)), rtol=1e-12)
    stack.begin()
    stack.write(dynamics, 1.0)
    np.testing.assert_allclose(stack.target, 7.0, rtol=1e-12)


def test_a_sample_that_is_not_finite_is_forgotten():
    task, dynamics = JointTask(400.0, 1.0, 7), Dynamics(ROBOT)
    stack = TaskStack((task,), 7, 200.0, 1e-3)
    for position in (np.full(7, np.nan), HOME + 0.01):
        dynamics.compute(HOME, np.zeros(7))
        task.follow(position, np.zeros(7), np.zeros(7))
        stack.write(dynamics, 1.0)
    np.testing.assert_allclose(stack.target, 4.0, rtol=1e-12)


@pytest.mark.parametrize("changed", ["gamma", "reference"])
def test_nothing_of_the_feedback_before_an_impact_is_left_after_it(changed):
    """The same state answered by a law that has seen another one before, and by a fresh one."""
    before, after = ReferenceColumns.one_sample(7), ReferenceColumns.one_sample(7)
    dynamics = Dynamics(ROBOT)
    dynamics.compute(HOME, np.zeros(7))
    for columns in (before, after):
        columns.data[:] = 0.0
        columns.position[:] = dynamics.position
        columns.posture[0] = HOME[0]
    before.velocity[2] = 1e-2
    accelerations = []
    for seen in ((), (before,)):
        law = TorqueLaw(ROBOT, SCENARIO.control, SCENARIO.task.home_configuration)
        law.reset()
        gamma = 0.0 if changed == "gamma" else 1.0
        answered = before if changed == "gamma" else after
        for desired in seen:
            law.take(dynamics)
            law.serve_task(desired, dynamics.rotation, 1.0, NO_FORCE, 0.0)
        law.qp.reset()
        law.take(dynamics)
        law.serve_task(answered, dynamics.rotation, gamma, NO_FORCE, 0.0)
        accelerations.append(law.qp.acceleration.copy())
    np.testing.assert_allclose(accelerations[0], accelerations[1], atol=1e-12)
