"""Motions outside of a task on the real plant: to the goal, into a contact, and back from it."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.control import Mode
from impact_control.pipeline import MoveOutcome, Pipeline, StartPose
from impact_control.planning.joint_move import plan_move
from impact_control.references import build_reference
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario
from impact_control.simulation import build_world

PERIOD = 1e-3
SCENE = load_scenario("tabletop_raised")  # the surface is higher than expected
SCENARIO, ROBOT = SCENE.arm(), load_robot()
REFERENCE = build_reference(SCENARIO, ROBOT)
START, AT_SURFACE = REFERENCE.initial_configuration, REFERENCE.impact_configuration


class Arm:
    """The simulated arm at the start of the task, its pipeline, and what it commanded."""

    def __init__(self):
        self.world = build_world(SCENE)
        self.plant, self.sensors, self.gate = self.world.single
        self.pipeline = Pipeline(SCENARIO, ROBOT)
        self.pipeline.reset()
        self.samples = 0
        self.torques, self.forces = [], []
        self.tick()

    def tick(self):
        measured, pipeline = self.sensors.measure(self.plant), self.pipeline
        pipeline.tick(self.samples * PERIOD, measured.position, measured.velocity, measured.torque)
        self.gate.offer(pipeline.torque)
        self.world.step([self.gate.select(self.plant.link_velocity, PERIOD)])
        self.samples += 1
        self.torques.append(pipeline.torque.copy())
        self.forces.append(self.plant.normal_force)

    def move(self, goal, at=None):
        """Arm a motion from where the arm is held; at: where it has to be."""
        held = self.pipeline.controller.held_configuration.copy()
        motion = plan_move(ROBOT, SCENARIO, held, goal)
        self.pipeline.start_move(motion, StartPose(ROBOT.joint_names, held if at is None else at))

    def end(self):
        """Go on until the motion has ended; return its outcome."""
        while not self.pipeline.finished:
            self.tick()
            assert self.samples < 20_000
        assert not self.pipeline.task_active
        return self.pipeline.move_outcome


@pytest.fixture(scope="module")
def course():
    """The arm that moved into the surface, and from there back to its start."""
    arm = Arm()
    arm.move(AT_SURFACE)
    met = arm.end()
    stopped = (arm.pipeline.controller.mode, arm.forces[-1], arm.pipeline.move_error, max(arm.forces))
    arm.move(START)
    return arm, met, stopped, arm.end()


def test_a_contact_on_the_way_stops_the_arm_which_holds_there(course):
    _, met, (mode, force, error, peak), _ = course
    assert met is MoveOutcome.CONTACT
    assert mode is Mode.STOPPED
    assert peak > 0.0 and force <= peak
    assert error > 0.01


def test_from_the_contact_it_comes_back_inside_the_limits(course):
    arm, _, _, back = course
    assert back is MoveOutcome.REACHED
    np.testing.assert_allclose(arm.plant.link_position, START, atol=0.01)
    torques, limits = np.array(arm.torques), ROBOT.limits
    assert np.all(np.abs(torques) <= limits.torque + 1e-9)
    assert np.all(np.abs(np.diff(torques, axis=0)) <= limits.torque_rate * PERIOD + 1e-9)
    assert not np.any(arm.forces[-500:])


def test_a_cancelled_motion_stops_and_the_next_task_is_not_judged_by_it(course):
    arm = course[0]
    arm.move(AT_SURFACE)
    for _ in range(300):
        arm.tick()
    assert arm.pipeline.controller.mode is Mode.MOVE
    arm.pipeline.cancel()
    assert arm.end() is MoveOutcome.CANCELLED
    arm.pipeline.start(REFERENCE, SCENARIO)
    assert not arm.pipeline.moves and arm.pipeline.judge.impacts == 0
    arm.pipeline.cancel()


def test_an_arm_that_is_elsewhere_is_not_moved():
    arm = Arm()
    arm.move(AT_SURFACE, at=START + 0.06)
    assert arm.end() is MoveOutcome.REFUSED
    assert "not where" in arm.pipeline.start_defect()
    assert arm.pipeline.controller.mode is Mode.STOPPED


def test_an_arm_that_something_holds_back_stops_before_the_goal():
    pipeline = Pipeline(SCENARIO, ROBOT)
    pipeline.reset()
    still = np.zeros(7)
    pipeline.tick(0.0, START, still, still)
    pipeline.start_move(plan_move(ROBOT, SCENARIO, START, AT_SURFACE), StartPose(ROBOT.joint_names, START))
    for k in range(1, 5000):
        # The last digit moves, or the sample would count as repeated.
        pipeline.tick(k * PERIOD, START + 1e-9 * (k % 2), still, still)
        if pipeline.controller.mode is Mode.STOPPED:
            break
    assert pipeline.controller.task_time < pipeline.duration
    assert pipeline.move_outcome is MoveOutcome.NOT_REACHED
