"""Goals of `execute_impact_task` and `move_to` at a loop whose samples the test sends: begun, refused, ended."""

from __future__ import annotations

import dataclasses
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from impact_msgs.action import ExecuteImpactTask, MoveTo
from rclpy.serialization import serialize_message
from surfaces.actions import accept, cancel

from hand_fed import PERIOD, PLAN, START, HandFed
from harness import joint_state, until
from impact_control.control import Fault, Mode
from impact_control.pipeline import MoveOutcome, Outcome
from impact_control.planning import impact_signal
from impact_control.planning.assignment import assigned
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario
from impact_control.simulation import build_world
from impact_control_ros.bridge import impact_task
from impact_control_ros.bridge.loop_output import CommandReader
from impact_control_ros.bridge.messages import to_stamp

PATIENCE = 60.0
AWAY = START + 0.06 * np.eye(7)[1]


@pytest.fixture(scope="module")
def node(graph):
    return graph.add_loop("impact_loop", served=True)


class Served(HandFed):
    """A loop with its action server."""

    def __init__(self, graph, node):
        self._executor, self.tasks = graph.executor, node.built.tasks
        super().__init__(node)

    def until(self, condition):
        until(condition, step=lambda: self._executor.spin_once(timeout_sec=0.01))

    def answer(self, accepted):
        self.until(accepted[1].done)
        return accepted[1].result()

    def end(self):
        """Send samples until the goal has ended."""
        for _ in range(100):
            self.sample(100)
            self.tasks.advance()
            if self.tasks._goal is None:
                return
        raise AssertionError("it does not end")


# ---------------------------------------------------------------------- when a task begins, and when it does not

TASKS = {name: assigned(name) for name in ("tabletop", "tabletop_raised")}
PLANS = {name: task.plan() for name, task in TASKS.items()}


class Slow(Served):
    """A loop that holds an arm, and whose references are built when the test says so."""

    def __init__(self, graph, node, monkeypatch):
        self._gates = {name: threading.Event() for name in TASKS}
        self._builders = {}
        monkeypatch.setattr(impact_task.GoalFiles, "assigned", self._assigned)
        super().__init__(graph, node)
        self.sample()

    def _assigned(self, name, arm):
        assert self._gates[name].wait(PATIENCE)
        task = TASKS[name]
        return SimpleNamespace(
            scenario=task.scenario, robot=task.robot, departures=task.departures, plan=lambda predict: PLANS[name]
        )

    def restart(self):
        self.renew()
        self.sample()

    def accept(self, name, begin=0):
        before = set(threading.enumerate())
        goal = ExecuteImpactTask.Goal(scenario=name)
        to_stamp(begin, goal.begin)
        accepted = accept(self.tasks, goal)
        (self._builders[name],) = set(threading.enumerate()) - before
        return accepted

    def build(self, name="tabletop"):
        self._gates[name].set()
        self._builders[name].join()
        self.tasks.advance()

    def begun(self):
        """A goal that was accepted and begun."""
        goal = self.accept("tabletop")
        self.build()
        assert self.pipeline.task_active
        return goal

    def open_gates(self):
        for name in self._builders:
            self._gates[name].set()

    def deactivate(self, goal):
        """End a goal by a deactivation."""
        self.node.on_deactivate(None)
        assert self.answer(goal).result.outcome == Outcome.FAULT

    def assert_not_begun(self, accepted):
        """Require that the arm is held where it is, and that the result gives the reason."""
        assert self.pipeline.controller.mode is Mode.STOPPED, "which its partners hear"
        self.tasks.advance()
        result = self.answer(accepted).result
        assert result.outcome == Outcome.REFUSED
        assert "not where the task starts: panda_joint2" in result.summary
        assert "0.060 rad from" in result.summary


@pytest.fixture
def slow(graph, node, monkeypatch):
    slow = Slow(graph, node, monkeypatch)
    yield slow
    slow.open_gates()


def assert_cancelled(answer, outcome=Outcome.CANCELLED):
    assert (answer.status, answer.result.outcome) == (GoalStatus.STATUS_CANCELED, outcome)


def test_a_goal_that_has_ended_moves_no_arm_when_its_reference_comes(slow):
    goal = slow.accept("tabletop")
    slow.restart()
    slow.build()
    slow.sample()
    assert not slow.pipeline.task_active
    assert not slow.tasks._refusal()
    assert slow.answer(goal).result.outcome == Outcome.FAULT


WEAK = dataclasses.replace(impact_signal(PLAN), share=1.2)


@pytest.mark.parametrize("weak", [False, True])
def test_a_goal_outside_the_verified_ranges_or_with_a_weak_signal_is_begun_with_a_warning(slow, monkeypatch, weak):
    told, expected = [], ["impact task: task.post.slide is 0.1 m, outside what was verified: 0 to 0.08 m"]
    monkeypatch.setattr(slow.tasks._log, "warning", told.append)
    if weak:
        monkeypatch.setattr(impact_task, "impact_signal", lambda plan: WEAK)
        expected += [f"impact task: {warning}" for warning in WEAK.warnings]
        assert "may not be detected" in expected[1]
    slow.deactivate(slow.begun())
    assert told == expected


def test_a_goal_does_not_get_the_reference_of_the_one_before(slow):
    slow.accept("tabletop")
    slow.restart()
    goal = slow.accept("tabletop_raised")
    slow.build()
    assert not slow.pipeline.task_active
    assert slow.tasks._refusal() == "another task is running"
    slow.build("tabletop_raised")
    assert slow.pipeline.task_active
    assert slow.pipeline.scenario.name == "tabletop_raised"
    slow.deactivate(goal)


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_goal_that_is_not_begun_does_not_get_the_result_of_the_task_before(slow, cancelled):
    first = slow.begun()
    if cancelled:
        cancel(slow.tasks, first[0])
    slow.end()
    assert slow.answer(first).result.outcome == (Outcome.CANCELLED if cancelled else Outcome.NO_IMPACT)
    goal = slow.accept("tabletop_raised")
    slow.node.on_deactivate(None)
    answer = slow.answer(goal)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert answer.result == ExecuteImpactTask.Result(outcome=int(Outcome.FAULT), summary="the node was deactivated")


def test_a_result_is_that_of_the_end_of_its_task(slow):
    """Though rclpy asks for it later, when the next goal may have been accepted and refused."""
    first = slow.begun()
    cancel(slow.tasks, first[0])
    slow.end()
    second = slow.accept("tabletop_raised")
    slow.deactivate(second)
    assert slow.answer(first).result.outcome == Outcome.CANCELLED


def test_a_goal_that_was_cancelled_before_it_began_is_cancelled_by_a_deactivation_too(slow):
    goal = slow.accept("tabletop")
    cancel(slow.tasks, goal[0])
    slow.node.on_deactivate(None)
    assert_cancelled(slow.answer(goal))


def test_a_goal_is_cancelled_while_its_reference_is_built(slow):
    """However long that takes; the next goal is accepted meanwhile."""
    goal = slow.accept("tabletop")
    cancel(slow.tasks, goal[0])
    slow.tasks.advance()
    assert_cancelled(slow.answer(goal))
    assert not slow.tasks._refusal()
    slow.build()
    slow.sample()
    assert not slow.pipeline.task_active


def test_a_goal_that_comes_before_any_sample_begins_only_at_its_start(slow):
    slow.renew()
    goal = slow.accept("tabletop")
    slow.build()
    assert slow.pipeline.armed
    slow.position = AWAY
    slow.sample()
    slow.assert_not_begun(goal)


def test_a_goal_that_begins_later_begins_only_at_its_start(slow):
    goal = slow.accept("tabletop", begin=slow.stamp + 20 * PERIOD)
    slow.build()
    for part in np.linspace(0.0, 1.0, 19):  # no faster than a joint can
        slow.position = START + part * (AWAY - START)
        slow.sample()
        assert slow.pipeline.armed
    slow.sample()
    slow.assert_not_begun(goal)


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


# ---------------------------------------------------------------------- motions


class Arm(Served):
    """An arm that is where its reference is, unless it is held back."""

    def sample(self, count=1):
        for _ in range(count):
            # The last digit moves, or the sample would count as repeated.
            self.position = self.position + (1e-9 if self.stamp // PERIOD % 2 else -1e-9)
            super().sample()

    def planned(self):
        """Wait until a motion or a task was planned."""

        def done():
            self.tasks.advance()
            return self.tasks._building is None

        self.until(done)

    def move(self, goal=None):
        """Send a goal and wait until it was planned; the default is 0.3 rad from the start in every joint."""
        accepted = accept(self.tasks, goal or MoveTo.Goal(joint_position=(START + 0.3).tolist()))
        self.planned()
        return accepted


def planned(name, arm):
    """An assignment that needs no predictor."""
    task = assigned(name, arm)
    return SimpleNamespace(scenario=task.scenario, robot=task.robot, departures=(), plan=lambda predict: PLAN)


@pytest.fixture
def arm(graph, node, monkeypatch):
    monkeypatch.setattr(impact_task.GoalFiles, "assigned", staticmethod(planned))
    return Arm(graph, node)


class SimulatedArm(Arm):
    """The plant of the scenario behind the loop: a sample for each of its commands."""

    def __init__(self, graph, node):
        super().__init__(graph, node)
        self._world = build_world(load_scenario("tabletop"))
        self._plant, self._sensors, self._gate = self._world.single
        self._commands, self._torque = graph.commands[node], np.zeros(7)
        self._reader = CommandReader(load_robot().joint_names)

    def sample(self, count=1):
        for _ in range(count):
            self.stamp += PERIOD
            measured = self._sensors.measure(self._plant)
            self._commands.clear()
            state = joint_state(self.stamp, measured.position, measured.velocity, measured.torque)
            self.built._on_state(serialize_message(state))
            assert self._reader.read(bytes(self._commands[-1]), self._torque)
            self._gate.offer(self._torque)
            self._world.step([self._gate.select(self._plant.link_velocity, 1e-3)])

    def ended(self, goal):
        """Send a goal, go on until it has ended, and return its result."""
        accepted = self.move(goal)
        self.end()
        return self.answer(accepted).result


@pytest.mark.timeout(600)
def test_from_the_surface_the_arm_comes_back_by_itself_and_runs_the_task_again(graph, node, monkeypatch):
    """Off the surface by a motion, then by a task that approaches its start; without either, it is refused."""
    monkeypatch.setattr(impact_task.GoalFiles, "assigned", staticmethod(planned))
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
    arm.planned()
    arm.sample(2)
    assert arm.pipeline.controller.mode is Mode.MOVE
    arm.end()
    answer = arm.answer(goal)
    assert (answer.status, answer.result.outcome) == (GoalStatus.STATUS_SUCCEEDED, MoveOutcome.REACHED)
    assert answer.result.final_error < 1e-6 and not answer.result.summary


def test_an_arm_that_does_not_follow_has_not_reached_its_goal(arm):
    arm.sample()
    goal = arm.move()
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
        arm.planned()
        arm.sample(10)
    cancel(arm.tasks, goal[0])
    arm.tasks.advance()
    if running:
        arm.end()
    assert_cancelled(arm.answer(goal), MoveOutcome.CANCELLED)
    assert arm.pipeline.controller.mode is not Mode.MOVE


def test_a_deactivation_ends_it(arm):
    arm.sample()
    goal = arm.move()
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
    answer = arm.answer(arm.move(goal))
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert answer.result.outcome == answer.result.REFUSED and words in answer.result.summary
    assert not arm.pipeline.task_active and not arm.tasks._refusal()


def test_a_task_whose_start_is_not_reached_is_not_begun(arm):
    arm.position = START + 0.2 * np.eye(7)[1]
    arm.sample()
    goal = arm.move(ExecuteImpactTask.Goal(approach_start=True))
    arm.end()
    answer = arm.answer(goal)
    assert answer.result.outcome == Outcome.REFUSED
    assert answer.result.summary.startswith("on the way to the start: stopped")
