"""Goals of `move_to`, and of `execute_impact_task` with `approach_start`, at a loop whose samples the test sends."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from impact_msgs.action import ExecuteImpactTask, MoveTo
from rclpy.serialization import serialize_message
from surfaces.actions import accept, cancel
from surfaces.graph import EPOCH, JointStates, renew

from harness import joint_state
from impact_control.control import Mode
from impact_control.pipeline import MoveOutcome, Outcome
from impact_control.planning.assignment import assigned
from impact_control.scenario import load_scenario
from impact_control.simulation import build_world
from impact_control_ros.bridge import impact_task
from impact_control_ros.bridge.loop_output import CommandReader

PATIENCE = 60.0
TASK = assigned("tabletop")
PLAN = TASK.plan()
START = PLAN.reference.initial_configuration
NAMES = TASK.robot.joint_names


@pytest.fixture(scope="module")
def node(graph):
    return graph.add_loop("impact_loop", served=True)


class Arm:
    """An arm that is where its reference is, unless it is held back."""

    def __init__(self, graph, node):
        self.node, self.tasks, self.pipeline = node, node.built.tasks, node.built.pipeline
        self._graph, self._samples = graph, 0
        self.position = START.copy()
        renew(node)

    def sample(self, count=1):
        for _ in range(count):
            self._samples += 1
            # The last digit moves, or the sample would count as repeated.
            place = self.position + 1e-9 * (self._samples % 2)
            self.node.built._on_state(JointStates(NAMES, place).good(EPOCH + self._samples * 1_000_000))

    def built(self):
        """Wait until a motion or a task was planned."""
        end = time.monotonic() + PATIENCE
        while self.tasks._building is not None:
            self._graph.executor.spin_once(timeout_sec=0.01)
            self.tasks.advance()
            assert time.monotonic() < end

    def end(self):
        """Send samples until the goal has ended."""
        for _ in range(100):
            self.sample(100)
            self.tasks.advance()
            if self.tasks._goal is None:
                return
        raise AssertionError("it does not end")

    def answer(self, accepted):
        end = time.monotonic() + PATIENCE
        while not accepted[1].done():
            self._graph.executor.spin_once(timeout_sec=0.01)
            assert time.monotonic() < end
        return accepted[1].result()


def planned(name, arm):
    """An assignment that needs no predictor."""
    task = assigned(name, arm)
    return SimpleNamespace(scenario=task.scenario, robot=task.robot, departures=(), plan=lambda predict: PLAN)


@pytest.fixture
def arm(graph, node, monkeypatch):
    monkeypatch.setattr(impact_task, "assigned", planned)
    return Arm(graph, node)


class SimulatedArm(Arm):
    """The plant of the scenario behind the loop: a sample for each of its commands."""

    def __init__(self, graph, node):
        super().__init__(graph, node)
        self._world = build_world(load_scenario("tabletop"))
        self._plant, self._sensors, self._gate = self._world.single
        self._commands, self._reader, self._torque = graph.commands[node], CommandReader(7), np.zeros(7)

    def sample(self, count=1):
        for _ in range(count):
            self._samples += 1
            measured = self._sensors.measure(self._plant)
            state = joint_state(
                EPOCH + self._samples * 1_000_000, measured.position, measured.velocity, measured.torque, NAMES
            )
            self._commands.clear()
            self.node.built._on_state(serialize_message(state))
            assert self._reader.read(bytes(self._commands[-1]), self._torque)
            self._gate.offer(self._torque)
            self._world.step([self._gate.select(self._plant.link_velocity, 1e-3)])

    def ended(self, goal):
        """Send a goal, go on until it has ended, and return its result."""
        accepted = accept(self.tasks, goal)
        self.built()
        self.end()
        return self.answer(accepted).result


@pytest.mark.timeout(600)
def test_from_the_surface_the_arm_comes_back_by_itself_and_runs_the_task_again(graph, node, monkeypatch):
    """Off the surface by a motion, then by a task that approaches its start; without either, it is refused."""
    monkeypatch.setattr(impact_task, "assigned", planned)
    arm = SimulatedArm(graph, node)
    arm.sample()
    assert arm.ended(ExecuteImpactTask.Goal()).outcome == Outcome.SUCCEEDED
    assert arm.ended(ExecuteImpactTask.Goal()).outcome == Outcome.REFUSED
    moved = arm.ended(MoveTo.Goal(speed=1.0))
    assert moved.outcome == MoveOutcome.REACHED and moved.final_error < 0.01
    assert arm.ended(ExecuteImpactTask.Goal(approach_start=True)).outcome == Outcome.SUCCEEDED


def test_a_goal_waits_for_the_first_sample_and_is_the_only_one(arm):
    goal = accept(arm.tasks, MoveTo.Goal())
    arm.tasks.advance()
    assert arm.tasks._building.awaits is not None
    assert arm.tasks._refusal() == "another task is running"
    arm.sample()
    arm.tasks.advance()
    arm.built()
    arm.sample(2)
    assert arm.pipeline.controller.mode is Mode.MOVE
    arm.end()
    answer = arm.answer(goal)
    assert (answer.status, answer.result.outcome) == (GoalStatus.STATUS_SUCCEEDED, MoveOutcome.REACHED)
    assert answer.result.final_error < 1e-6 and not answer.result.summary


def test_an_arm_that_does_not_follow_has_not_reached_its_goal(arm):
    arm.sample()
    goal = accept(arm.tasks, MoveTo.Goal(joint_position=(START + 0.3).tolist()))
    arm.built()
    arm.end()
    answer = arm.answer(goal)
    assert (answer.status, answer.result.outcome) == (GoalStatus.STATUS_ABORTED, MoveOutcome.NOT_REACHED)
    assert answer.result.final_error == pytest.approx(0.3, abs=1e-6)
    assert "0.300 rad from the goal" in answer.result.summary


@pytest.mark.parametrize("running", [False, True])
def test_a_goal_is_cancelled_before_and_while_it_moves(arm, running):
    arm.sample()
    goal = accept(arm.tasks, MoveTo.Goal(joint_position=(START + 0.3).tolist()))
    if running:
        arm.built()
        arm.sample(10)
    cancel(arm.tasks, goal[0])
    arm.tasks.advance()
    if running:
        arm.end()
    answer = arm.answer(goal)
    assert (answer.status, answer.result.outcome) == (GoalStatus.STATUS_CANCELED, MoveOutcome.CANCELLED)
    assert arm.pipeline.controller.mode is not Mode.MOVE


def test_a_deactivation_ends_it(arm):
    arm.sample()
    goal = accept(arm.tasks, MoveTo.Goal(joint_position=(START + 0.3).tolist()))
    arm.built()
    arm.sample(10)
    arm.node.on_deactivate(None)
    assert arm.answer(goal).result == MoveTo.Result(
        outcome=int(MoveOutcome.FAULT),
        summary="the node was deactivated",
        duration=pytest.approx(0.009),
        final_error=pytest.approx(0.3, abs=1e-6),
    )


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (MoveTo.Goal(joint_position=[0.0] * 6), "joint_position"),
        (MoveTo.Goal(joint_position=[np.nan] * 7), "joint_position"),
        (MoveTo.Goal(speed=-1.0), "speed = -1.0; allowed: above 0"),
        (MoveTo.Goal(scenario="nowhere"), "nowhere"),
        (ExecuteImpactTask.Goal(begin=Time(sec=1), approach_start=True), "approach_start"),
    ],
)
def test_what_cannot_be_moved_to_is_refused_with_the_reason(arm, goal, words):
    arm.sample()
    accepted = accept(arm.tasks, goal)
    arm.built()
    answer = arm.answer(accepted)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert answer.result.outcome == answer.result.REFUSED and words in answer.result.summary
    assert not arm.pipeline.task_active and not arm.tasks._refusal()


def test_a_task_whose_start_is_not_reached_is_not_begun(arm):
    arm.position = START + 0.2 * np.eye(7)[1]
    arm.sample()
    goal = accept(arm.tasks, ExecuteImpactTask.Goal(approach_start=True))
    arm.built()
    arm.end()
    answer = arm.answer(goal)
    assert answer.result.outcome == Outcome.REFUSED
    assert answer.result.summary.startswith("on the way to the start: stopped")
