"""Faults of a running graph that the supervisor answers: real processes, by the wall clock, stopped and gone on.

`make faults` runs each 20 times and prints the reaction times.
"""

from __future__ import annotations

import math
import os
import signal
import time
from dataclasses import asdict, replace

import numpy as np
import pytest
from impact_msgs.action import ExecuteImpactTask
from impact_msgs.msg import ControllerReference, ControllerStatus, GroundTruth, SupervisorStatus
from lifecycle_msgs.msg import Transition
from rclpy.action import ActionClient
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from harness import Peer
from impact_control.pipeline import Outcome
from impact_control_ros.bridge import qos
from impact_control_ros.bridge.supervision import Cause, SupervisionLimits
from impact_control_ros.session.graph import Duty, describe_graph
from impact_control_ros.session.session import Session
from machine import ATTEMPTS, stood_still

pytestmark = pytest.mark.wall_clock

REACTION = 0.05
"""[s] from the cause to the answer of the robot side, in the median."""

STANDSTILL = 0.4
"""[s] of simulated time in which the damped arm comes to rest: from 0.6 rad/s, by 10 1/s at least, to 0.011 rad/s."""

REACTIONS = {}
"""[s] of all stops by cause, also those of a graph that was ended because a test in it is run again."""


class Graph:
    """A running graph, a task in it, and what is heard of it."""

    def __init__(self, session, peer):
        self.session = session
        self.peer = peer
        self.truths = peer.listen(GroundTruth, "simulation/truth", qos.STREAM)
        self.statuses = peer.listen(ControllerStatus, "controller/status", qos.STREAM)
        self.supervision = peer.listen(SupervisorStatus, "supervisor/status", qos.LATCHED)
        self.action = ActionClient(peer.node, ExecuteImpactTask, "execute_impact_task")

    def begin_task(self):
        """Put the arm to its start and begin the tabletop task; return once the arm moves towards the table."""
        ended = ""
        for _ in range(ATTEMPTS):
            if not (ended := self._ends_before_approach()):
                return
            assert stood_still(ended), f"the task ended before its approach: {ended}"
        pytest.fail(f"the machine stood still in each of {ATTEMPTS} attempts: {ended}")

    def _ends_before_approach(self):
        """Begin the task; what it says when it ends too early, nothing when the arm approaches."""
        if self.supervises(SupervisorStatus.STOPPED):
            self.reset()
        self.restart()
        self.peer.until(self.action.server_is_ready, what="the action")
        sent = self.action.send_goal_async(ExecuteImpactTask.Goal(scenario="tabletop"))
        self.peer.until(sent.done, what="the answer to the goal")
        self.result = sent.result().get_result_async()
        self.statuses.clear()
        self.peer.until(lambda: self.approaches() or self.result.done(), what="the approach")
        return self.result.result().result.summary if self.result.done() else ""

    def restart(self):
        """Put the arm to its start; return once the supervisor watches."""
        self.session.restart_arm("tabletop")
        watching, stopped = SupervisorStatus.WATCHING, SupervisorStatus.STOPPED
        self.peer.until(lambda: self.supervises(watching) or self.supervises(stopped), what="a watching supervisor")
        if self.supervises(stopped):  # the machine stood still meanwhile
            assert self.supervision[-1].reason.startswith("no "), self.supervision[-1].reason
            self.reset()

    def approaches(self):
        return (
            bool(self.statuses)
            and self.statuses[-1].mode == ControllerReference.ANTE
            and self.statuses[-1].task_time > 0.5
        )

    def supervises(self, state):
        return bool(self.supervision) and self.supervision[-1].state == state

    def signal(self, node, number):
        os.kill(self.session.processes.pid(node), number)

    def await_stop(self, cause):
        """Wait until the robot side is stopped; check why, and that the arm comes to rest."""
        self.peer.until(lambda: self.supervises(SupervisorStatus.STOPPED), patience=2.0, what="the stop")
        status = self.supervision[-1]
        assert status.cause == cause, status.reason
        REACTIONS.setdefault(cause, []).append(status.reaction_time)
        self.come_to_rest()
        assert self.truths[-1].command_state == GroundTruth.COMMAND_REFUSED
        assert np.abs(self.truths[-1].joint_velocity).max() < 0.02
        return status

    def come_to_rest(self):
        """Let simulated time pass, which may be slower than the clock when the machine stands still."""
        self.truths.clear()
        self.peer.until(lambda: self.truths, what="the truth")
        end = self.truths[0].time + STANDSTILL
        self.peer.until(lambda: self.truths[-1].time > end, what="the standstill")

    def obeys(self):
        return bool(self.truths) and self.truths[-1].command_state != GroundTruth.COMMAND_REFUSED

    def outcome(self, patience=2.0):
        """Wait for the end of the task; return its outcome and what is said of it."""
        self.peer.until(self.result.done, patience, what="the end of the task")
        result = self.result.result().result
        return Outcome(result.outcome), result.summary

    def lose_supervisor(self):
        """Bring the controller to FAULT by a supervisor that stands still for a while."""
        for _ in range(ATTEMPTS):
            self.begin_task()
            self.signal("supervisor", signal.SIGSTOP)
            try:
                outcome, summary = self.outcome(patience=1.0)
            finally:
                self.signal("supervisor", signal.SIGCONT)
            if not stood_still(summary):
                break
        assert outcome is Outcome.FAULT
        assert "SUPERVISOR_LOST" in summary

    def is_idle(self):
        """Return True when the controller holds the arm without a fault."""
        status = self.statuses[-1]
        return (status.mode, status.fault_reason) == (ControllerReference.IDLE, "")

    def recovers(self):
        """Reset the supervisor; check that the controller holds the arm where it is, by commands that are taken."""
        for _ in range(ATTEMPTS):
            self.reset()
            self.peer.until(lambda: self.is_idle() or self.supervises(SupervisorStatus.STOPPED), what="the hold")
            start = self.truths[-1].joint_position
            self.come_to_rest()
            if not self.supervises(SupervisorStatus.STOPPED):
                break
            # The machine stood still meanwhile.
            assert self.supervision[-1].reason.startswith("no "), self.supervision[-1].reason
        assert self.is_idle()
        assert self.truths[-1].command_state in (GroundTruth.COMMAND_FRESH, GroundTruth.COMMAND_HELD)
        np.testing.assert_allclose(self.truths[-1].joint_position, start, atol=0.005)
        assert np.abs(self.truths[-1].joint_velocity).max() < 0.02

    def reset(self):
        """Let commands through again, as soon as everything is right."""
        end = time.monotonic() + 5.0
        while not (answer := self.peer.call(Trigger, "supervisor/reset", Trigger.Request())).success:
            assert time.monotonic() < end, answer.message
            self.peer.spin(0.05)
        self.peer.until(lambda: self.supervises(SupervisorStatus.WATCHING), what="a watching supervisor")


def graph_of_an_arm():
    """The graph with the limits that hold before an arm, which has no watchdog of its own."""
    limits = asdict(SupervisionLimits())
    return [
        replace(spec, parameters={**spec.parameters, **limits}) if spec.duty is Duty.SUPERVISOR else spec
        for spec in describe_graph("tabletop", record=False)
    ]


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    log = tmp_path_factory.mktemp("log")
    with Session(graph_of_an_arm(), log) as session, Peer(log / "peer") as peer:
        session.start()
        yield Graph(session, peer)
        for cause, times in REACTIONS.items():
            print(
                f"\nreaction to {cause.name}, {len(times)} times: median {np.median(times) * 1e3:.0f} ms, "
                f"largest {np.max(times) * 1e3:.0f} ms"
            )


def test_a_controller_that_stands_still(graph):
    graph.begin_task()
    graph.signal("impact_loop", signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        status = graph.await_stop(Cause.CONTROLLER_SILENT)
        assert "no command for" in status.reason
        assert time.monotonic() - stopped < 1.0
    finally:
        graph.signal("impact_loop", signal.SIGCONT)
    outcome, summary = graph.outcome()
    assert outcome is Outcome.FAULT
    assert "SUPERVISOR_STOP" in summary or "STATE_STALE" in summary
    # Latched: that the controller is back changes nothing.
    graph.peer.spin(0.2)
    assert graph.truths[-1].command_state == GroundTruth.COMMAND_REFUSED
    graph.reset()
    graph.truths.clear()
    graph.peer.until(graph.obeys, what="a command that is let through")


def test_a_robot_that_stands_still(graph):
    graph.begin_task()
    graph.signal("simulator", signal.SIGSTOP)
    try:
        graph.peer.until(lambda: graph.supervises(SupervisorStatus.STOPPING), patience=1.0, what="the finding")
        assert graph.supervision[-1].cause == Cause.ROBOT_SILENT
        assert math.isnan(graph.supervision[-1].reaction_time)
        outcome, summary = graph.outcome()
        assert outcome is Outcome.FAULT
        assert "SUPERVISOR_STOP" in summary or "STATE_STALE" in summary
    finally:
        graph.signal("simulator", signal.SIGCONT)
    graph.peer.until(lambda: graph.supervises(SupervisorStatus.STOPPED), what="the stop")
    graph.come_to_rest()
    assert graph.truths[-1].command_state == GroundTruth.COMMAND_REFUSED
    graph.reset()


def test_a_second_commander(graph):
    graph.begin_task()
    rival = graph.peer.node.create_publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
    try:
        status = graph.await_stop(Cause.SECOND_COMMANDER)
        assert "2 publishers" in status.reason
        answer = graph.peer.call(Trigger, "supervisor/reset", Trigger.Request())
        assert not answer.success
        assert "still wrong: 2 publishers" in answer.message
    finally:
        graph.peer.node.destroy_publisher(rival)
    assert graph.outcome()[0] is Outcome.FAULT
    graph.reset()


def test_the_operator_stops(graph):
    graph.begin_task()
    assert graph.peer.ask(Trigger, "supervisor/stop", Trigger.Request()).success
    graph.await_stop(Cause.OPERATOR)
    outcome, summary = graph.outcome()
    assert outcome is Outcome.FAULT
    assert "SUPERVISOR_STOP: stopped by the operator" in summary
    graph.reset()


def test_a_reset_is_all_that_a_stopped_robot_needs(graph):
    graph.begin_task()
    assert graph.peer.ask(Trigger, "supervisor/stop", Trigger.Request()).success
    graph.await_stop(Cause.OPERATOR)
    assert graph.outcome()[0] is Outcome.FAULT
    graph.peer.spin(0.2)
    assert graph.statuses[-1].mode == ControllerReference.FAULT
    assert "stopped by the operator" in graph.statuses[-1].fault_reason
    graph.recovers()


def test_any_fault_is_cleared_by_activating_the_loop_again_and_a_reset(graph):
    """As docs/safety says. The supervisor, which watches, stops the robot meanwhile."""
    graph.lose_supervisor()
    assert graph.peer.change("impact_loop", Transition.TRANSITION_DEACTIVATE)
    graph.peer.until(lambda: graph.supervises(SupervisorStatus.STOPPED), what="the stop")
    assert graph.supervision[-1].cause == Cause.CONTROLLER_SILENT
    assert graph.peer.change("impact_loop", Transition.TRANSITION_ACTIVATE)
    graph.recovers()


def test_a_reset_ends_no_other_fault(graph):
    graph.lose_supervisor()
    assert graph.peer.ask(Trigger, "supervisor/stop", Trigger.Request()).success
    graph.peer.until(lambda: graph.supervises(SupervisorStatus.STOPPED), what="the stop")
    graph.reset()
    graph.peer.spin(0.5)
    assert graph.statuses[-1].mode == ControllerReference.FAULT
    assert "SUPERVISOR_LOST" in graph.statuses[-1].fault_reason


def test_a_supervisor_that_stands_still(graph):
    graph.lose_supervisor()
    graph.come_to_rest()
    assert np.abs(graph.truths[-1].joint_velocity).max() < 0.02


def test_nothing_to_reset(graph):
    graph.begin_task()
    answer = graph.peer.call(Trigger, "supervisor/reset", Trigger.Request())
    assert not answer.success
    assert "nothing to reset" in answer.message


def test_the_reaction_is_quick_enough(graph):
    # Most of this reaction is patience, which leaves little for a machine that stands still.
    for _ in range(6):
        graph.restart()
        graph.signal("impact_loop", signal.SIGSTOP)
        try:
            graph.await_stop(Cause.CONTROLLER_SILENT)
        finally:
            graph.signal("impact_loop", signal.SIGCONT)
        graph.reset()
    assert REACTIONS.keys() == {Cause.CONTROLLER_SILENT, Cause.SECOND_COMMANDER, Cause.OPERATOR}
    for cause, times in REACTIONS.items():
        assert np.median(times) <= REACTION, cause
