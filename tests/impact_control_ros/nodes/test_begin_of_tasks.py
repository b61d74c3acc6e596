"""When a task begins, and when it does not: the loop was deactivated meanwhile, or the arm is elsewhere."""

from __future__ import annotations

import dataclasses
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from impact_msgs.action import ExecuteImpactTask
from surfaces.actions import accept, cancel
from surfaces.graph import EPOCH, JointStates, renew

from impact_control.control import Fault, Mode
from impact_control.pipeline import Outcome
from impact_control.planning import impact_signal
from impact_control.planning.assignment import assigned
from impact_control_ros.bridge import impact_task
from impact_control_ros.bridge.messages import to_stamp

PATIENCE = 10.0
PERIOD = 1_000_000
TASKS = {name: assigned(name) for name in ("tabletop", "tabletop_raised")}
PLANS = {name: task.plan() for name, task in TASKS.items()}
NAMES, START = TASKS["tabletop"].robot.joint_names, PLANS["tabletop"].reference.initial_configuration
AT_START, AWAY = JointStates(NAMES, START), JointStates(NAMES, START + 0.06 * np.eye(7)[1])


@pytest.fixture(scope="module")
def configured(graph):
    return graph.add_loop("impact_loop", served=True)


class Slow:
    """A loop that holds an arm, and whose references are built when the test says so.

    Attributes: node, tasks, stamp [ns] of the last sample.
    """

    def __init__(self, graph, node, monkeypatch):
        self.node, self.tasks = node, node.built.tasks
        self._graph = graph
        self._gates = {name: threading.Event() for name in TASKS}
        self._builders = {}
        self.stamp = EPOCH
        monkeypatch.setattr(impact_task, "assigned", self._assigned)
        self.restart()

    def _assigned(self, name, arm):
        assert self._gates[name].wait(PATIENCE)
        task = TASKS[name]
        return SimpleNamespace(
            scenario=task.scenario, robot=task.robot, departures=task.departures, plan=lambda predict: PLANS[name]
        )

    def restart(self):
        renew(self.node)
        self.sample()

    def sample(self, *, away=False):
        self.stamp += PERIOD
        self.node.built._on_state((AWAY if away else AT_START).good(self.stamp))

    def accept(self, name, begin=0):
        before = set(threading.enumerate())
        goal = ExecuteImpactTask.Goal(scenario=name)
        to_stamp(begin, goal.begin)
        accepted = accept(self.tasks, goal)
        (self._builders[name],) = set(threading.enumerate()) - before
        return accepted

    def build(self, name):
        self._gates[name].set()
        self._builders[name].join()
        self.tasks.advance()

    def open_gates(self):
        for name in self._builders:
            self._gates[name].set()

    def assert_not_begun(self, accepted):
        """The arm is held where it is, and the client is told why."""
        assert self.node.built.pipeline.controller.mode is Mode.STOPPED, "which its partners hear"
        self.tasks.advance()
        result = self.answer(accepted).result
        assert result.outcome == Outcome.REFUSED
        assert "not where the task starts: panda_joint2" in result.summary
        assert "0.060 rad from" in result.summary

    def answer(self, accepted):
        _, answered = accepted
        end = time.monotonic() + PATIENCE
        while not answered.done():
            self._graph.executor.spin_once(timeout_sec=0.01)
            assert time.monotonic() < end
        return answered.result()


@pytest.fixture
def slow(graph, configured, monkeypatch):
    slow = Slow(graph, configured, monkeypatch)
    yield slow
    slow.open_gates()


def test_a_goal_that_has_ended_moves_no_arm_when_its_reference_comes(slow):
    goal = slow.accept("tabletop")
    slow.restart()
    slow.build("tabletop")
    slow.sample()
    assert not slow.node.built.pipeline.task_active
    assert not slow.tasks._refusal()
    assert slow.answer(goal).result.outcome == Outcome.FAULT


def test_a_goal_outside_the_verified_ranges_is_begun_with_a_warning(slow, monkeypatch):
    told = []
    monkeypatch.setattr(slow.tasks._log, "warning", told.append)
    goal = slow.accept("tabletop")
    slow.build("tabletop")
    assert slow.node.built.pipeline.task_active
    assert told == ["impact task: task.post.slide is 0.1 m, outside what was verified: 0 to 0.08 m"]
    slow.node.on_deactivate(None)
    assert slow.answer(goal).result.outcome == Outcome.FAULT


def test_a_goal_with_a_weak_signal_is_begun_with_a_warning(slow, monkeypatch):
    told, weak = [], dataclasses.replace(impact_signal(PLANS["tabletop"]), share=1.2)
    monkeypatch.setattr(slow.tasks._log, "warning", told.append)
    monkeypatch.setattr(impact_task, "impact_signal", lambda plan: weak)
    goal = slow.accept("tabletop")
    slow.build("tabletop")
    assert slow.node.built.pipeline.task_active
    assert [line for line in told if "may not be detected" in line] == [f"impact task: {weak.warnings[0]}"]
    slow.node.on_deactivate(None)
    assert slow.answer(goal).result.outcome == Outcome.FAULT


def test_a_goal_does_not_get_the_reference_of_the_one_before(slow):
    slow.accept("tabletop")
    slow.restart()
    goal = slow.accept("tabletop_raised")
    slow.build("tabletop")
    assert not slow.node.built.pipeline.task_active
    assert slow.tasks._refusal() == "another task is running"
    slow.build("tabletop_raised")
    assert slow.node.built.pipeline.task_active
    assert slow.node.built.pipeline.scenario.name == "tabletop_raised"
    slow.node.on_deactivate(None)
    assert slow.answer(goal).result.outcome == Outcome.FAULT


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_goal_that_is_not_begun_does_not_get_the_result_of_the_task_before(slow, cancelled):
    first = slow.accept("tabletop")
    slow.build("tabletop")
    if cancelled:
        cancel(slow.tasks, first[0])
    while slow.node.built.pipeline.task_active:
        slow.sample()
    slow.tasks.advance()
    assert slow.answer(first).result.outcome == (Outcome.CANCELLED if cancelled else Outcome.NO_IMPACT)
    goal = slow.accept("tabletop_raised")
    slow.node.on_deactivate(None)
    answer = slow.answer(goal)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert answer.result == ExecuteImpactTask.Result(outcome=int(Outcome.FAULT), summary="the node was deactivated")


def test_a_goal_that_was_cancelled_before_it_began_is_cancelled_by_a_deactivation_too(slow):
    goal = slow.accept("tabletop")
    cancel(slow.tasks, goal[0])
    slow.node.on_deactivate(None)
    answer = slow.answer(goal)
    assert (answer.status, answer.result.outcome) == (GoalStatus.STATUS_CANCELED, Outcome.CANCELLED)


def test_a_result_is_that_of_the_end_of_its_task(slow):
    """Though rclpy asks for it later, when the next goal may have been accepted and refused."""
    first = slow.accept("tabletop")
    slow.build("tabletop")
    cancel(slow.tasks, first[0])
    while slow.node.built.pipeline.task_active:
        slow.sample()
    slow.tasks.advance()
    second = slow.accept("tabletop_raised")
    slow.node.on_deactivate(None)
    assert slow.answer(first).result.outcome == Outcome.CANCELLED
    assert slow.answer(second).result.outcome == Outcome.FAULT


def test_a_goal_that_comes_before_any_sample_begins_only_at_its_start(slow):
    renew(slow.node)
    goal = slow.accept("tabletop")
    slow.build("tabletop")
    assert slow.node.built.pipeline.armed
    slow.sample(away=True)
    slow.assert_not_begun(goal)


def test_a_goal_that_begins_later_begins_only_at_its_start(slow):
    goal = slow.accept("tabletop", begin=slow.stamp + 3 * PERIOD)
    slow.build("tabletop")
    for _ in range(2):
        slow.sample(away=True)
        assert slow.node.built.pipeline.armed
    slow.sample(away=True)
    slow.assert_not_begun(goal)


def test_a_goal_is_cancelled_while_its_reference_is_built(slow):
    """However long that takes; the next goal is accepted meanwhile."""
    goal = slow.accept("tabletop")
    cancel(slow.tasks, goal[0])
    slow.tasks.advance()
    answer = slow.answer(goal)
    assert (answer.status, answer.result.outcome) == (GoalStatus.STATUS_CANCELED, Outcome.CANCELLED)
    assert not slow.tasks._refusal()
    slow.build("tabletop")
    slow.sample()
    assert not slow.node.built.pipeline.task_active


@pytest.mark.parametrize(
    ("fault", "step"),
    [(Fault.SUPERVISOR_STOP, "reset the supervisor"), (Fault.STATE_STALE, "deactivate and activate")],
)
def test_a_refusal_after_a_fault_says_what_clears_it(slow, monkeypatch, fault, step):
    in_fault = SimpleNamespace(mode=Mode.FAULT, fault=fault)
    monkeypatch.setattr(type(slow.tasks), "_controller", property(lambda tasks: in_fault))
    monkeypatch.setattr(slow.tasks, "_open", True)
    monkeypatch.setattr(slow.tasks, "_goal", None)
    assert slow.tasks._refusal() == f"fault {fault.name}; {step} to clear it"
