"""The loop node over DDS, fed by hand: joint orders, defects of the state, life."""

from __future__ import annotations

import math
import os
import signal
import time
from dataclasses import replace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from impact_msgs.action import ExecuteImpactTask
from impact_msgs.msg import ControllerReference, ControllerStatus, ExternalTorque
from lifecycle_msgs.msg import Transition
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from harness import JOINTS, Peer, joint_state, until
from impact_control.pipeline import Outcome
from impact_control.references import initial_configuration
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario
from impact_control_ros.bridge import qos
from impact_control_ros.session.graph import Duty, NodeSpec

SPEC = NodeSpec("impact_loop", "loop", Duty.LOOP, {"scenario": "tabletop", "state_patience": 0.0})
PREDICTOR = NodeSpec("predictor", "predictor", Duty.SERVICE, {"scenario": "tabletop"})
OTHER_ARM = [f"fr3_joint{i}" for i in range(1, 8)]
RANDOM = np.random.default_rng(5)
START = initial_configuration(load_scenario("tabletop"), load_robot())


class Feeder:
    """Sends joint states with rising stamps and keeps what comes back."""

    def __init__(self, peer, publisher):
        self.peer = peer
        self.publisher = publisher
        self.commands, self.status, self.torque = peer.heard
        for messages in peer.heard:
            messages.clear()
        self.stamp = time.time_ns()
        peer.until(lambda: self.publisher.get_subscription_count() == 1, what="the loop's subscription")

    def send(self, *arguments, after=1_000_000, **keywords):
        """Send one sample, stamped `after` [ns] the last one, and return the command that answers it."""
        self.stamp += after
        self.commands.clear()
        self.publisher.publish(joint_state(self.stamp, *arguments, **keywords))
        self.peer.until(lambda: self.commands, what="a command")
        return np.asarray(self.commands[-1].data)


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    with Peer(tmp_path_factory.mktemp("log")) as peer:
        peer.publisher = peer.node.create_publisher(JointState, "joint_states", qos.STREAM)
        # For all tests: what is destroyed while the executor serves it can take the process with it.
        peer.action = ActionClient(peer.node, ExecuteImpactTask, "execute_impact_task")
        peer.heard = (
            peer.listen(Float64MultiArray, "effort_controller/commands", qos.COMMAND),
            peer.listen(ControllerStatus, "controller/status", qos.STREAM),
            peer.listen(ExternalTorque, "impact/external_torque", qos.STREAM),
        )
        peer.bring_up(PREDICTOR, SPEC)
        yield peer
        peer.action.destroy()  # It would keep the node in the graph.


@pytest.fixture
def feeder(peer):
    """A feeder for a loop that has just been activated."""
    assert peer.change(SPEC.name, Transition.TRANSITION_DEACTIVATE)
    assert peer.change(SPEC.name, Transition.TRANSITION_ACTIVATE)
    return Feeder(peer, peer.publisher)


@pytest.fixture
def goal(peer, feeder):
    """A feeder for a loop that has accepted a goal."""
    peer.until(peer.action.server_is_ready, what="the action")
    feeder.send(START)
    sent = peer.action.send_goal_async(ExecuteImpactTask.Goal(scenario="tabletop"))
    peer.until(sent.done, what="the answer to the goal")
    feeder.result = sent.result().get_result_async()
    return feeder


@pytest.fixture
def task(goal):
    """A feeder for a loop that has begun a task."""
    until(
        lambda: goal.status and goal.status[-1].mode == ControllerReference.ANTE,
        "the task",
        10.0,
        lambda: goal.send(START),
    )
    return goal


def moving():
    """Velocities of joints in motion [rad/s], with noise: two states with the same numbers would be one."""
    return 0.1 + 1e-3 * RANDOM.random(7)


def diagnostics(feeder, found):
    """The newest diagnostics of the loop, as a mapping, once some came since now."""
    found.clear()
    feeder.peer.until(lambda: found, what="diagnostics of the loop")
    (status,) = found[-1].status
    return status, {value.key: value.value for value in status.values}


def test_diagnostics_tell_rate_missed_samples_and_how_the_problems_ended(feeder):
    found = feeder.peer.listen(DiagnosticArray, "/diagnostics", 10)
    diagnostics(feeder, found)
    for after in (1, 1, 4, 1, 3, 1):
        feeder.send(START, after=after * 1_000_000)
    _, value = diagnostics(feeder, found)
    assert (value["samples missed"], value["samples missed in a row"]) == ("5", "3")
    solved = {name: int(value[f"QP {name}"]) for name in ("solved", "relaxed", "failed", "not_used")}
    assert sum(solved.values()) == 6 and solved["failed"] == 0
    assert float(value["rate [Hz]"]) == pytest.approx(6.0, rel=0.2)
    assert float(value["computation largest [us]"]) >= float(value["computation mean [us]"]) > 0.0
    assert value["log lines waiting"] == "0"
    status, _ = diagnostics(feeder, found)
    assert status.message == "no samples"


def last_status(feeder):
    """The newest status; one that is on its way is given 50 ms, enough to see that no fault comes."""
    feeder.peer.spin(0.05)
    return feeder.status[-1]


def status_of_fault(feeder):
    """The first status with a fault, however late a busy machine delivers it."""
    faults = []
    feeder.peer.until(
        lambda: faults.extend(one for one in feeder.status if one.fault != ControllerStatus.FAULT_NONE) or faults,
        what="the status of a fault",
    )
    return faults[0]


def test_every_sample_is_answered_by_a_finite_command(feeder):
    for _ in range(20):
        command = feeder.send(START)
        assert command.shape == (7,)
        assert np.isfinite(command).all()
    assert last_status(feeder).mode == ControllerReference.IDLE
    assert feeder.torque
    assert list(feeder.torque[-1].joint_names) == JOINTS


def test_holds_with_joints_in_any_order_and_among_others(feeder):
    order = [6, 2, 0, 5, 1, 4, 3]
    names = ["gripper", *(JOINTS[i] for i in order)]
    feeder.send(START)
    pushed = START + np.linspace(4.9e-3, -4.9e-3, 7)
    mixed = [0.3, *(pushed[i] for i in order)]
    for _ in range(60):
        command = feeder.send(mixed, names=names)
    assert np.abs(command).max() > 1.0
    assert last_status(feeder).fault == ControllerStatus.FAULT_NONE
    np.testing.assert_allclose(feeder.send(pushed), command, atol=1e-9)


@pytest.mark.parametrize(
    ("sample", "fault"),
    [
        ({"position": START, "velocity": [np.nan] * 7}, ControllerStatus.FAULT_STATE_NOT_FINITE),
        ({"position": [np.nan, *START[1:]]}, ControllerStatus.FAULT_STATE_NOT_FINITE),
        ({"position": START[:6], "names": JOINTS[:6]}, ControllerStatus.FAULT_STATE_JOINT_NAMES),
        ({"position": START, "names": OTHER_ARM}, ControllerStatus.FAULT_STATE_JOINT_NAMES),
        ({"position": START, "names": [*JOINTS[:6], JOINTS[0]]}, ControllerStatus.FAULT_STATE_JOINT_NAMES),
        ({"position": START, "velocity": np.zeros(6)}, ControllerStatus.FAULT_STATE_WRONG_SIZE),
        ({"position": START + 5.0}, ControllerStatus.FAULT_STATE_OUT_OF_LIMITS),
    ],
)
def test_a_defect_of_the_state_is_a_fault_with_a_safe_command(feeder, sample, fault):
    for _ in range(10):
        feeder.send(START, moving())
    command = feeder.send(**sample)
    assert np.isfinite(command).all()
    assert (np.abs(command) <= 87.0).all()
    status = status_of_fault(feeder)
    assert status.mode == ControllerReference.FAULT
    assert status.fault == fault
    # A good sample does not bring it back by itself; the joints are damped.
    for _ in range(40):
        command = feeder.send(START, moving())
    assert last_status(feeder).mode == ControllerReference.FAULT
    assert (command < 0.0).all()


def test_a_task_ends_when_its_joint_states_stay_unusable(task):
    for _ in range(20):
        command = task.send(START[:6], names=JOINTS[:6])
    assert np.isfinite(command).all()
    task.peer.until(task.result.done, what="the end of the task")
    result = task.result.result().result
    assert result.outcome == Outcome.FAULT
    assert "STATE_JOINT_NAMES" in result.summary


@pytest.mark.parametrize("after", [0, -500_000, -5_000_000], ids=["repeated", "late", "reordered"])
def test_what_comes_again_or_late_in_a_task_changes_nothing(task, after):
    command = task.send(START)
    stamp = task.stamp
    # A state from before the newest one would pull the other way.
    np.testing.assert_array_equal(task.send(START + 0.01, np.full(7, 0.5), after=after), command)
    task.stamp = stamp
    following = task.send(START)
    assert np.abs(following - command).max() < 1.0
    status = last_status(task)
    assert status.fault == ControllerStatus.FAULT_NONE
    assert status.mode == ControllerReference.ANTE


def test_the_log_says_what_the_plan_makes_of_the_slip(task):
    task.peer.until(lambda: "impact planned: contact slips, " in task.peer.log(SPEC.name), what="the plan in the log")


@pytest.mark.parametrize("after", [66_000_000, -1_000_000_000, 10**15], ids=["gap", "set back", "far ahead"])
def test_a_jump_of_the_clock_in_a_task_is_a_fault(task, after):
    task.send(START, moving())
    command = task.send(START, moving(), after=after)
    assert np.isfinite(command).all()
    assert status_of_fault(task).fault == ControllerStatus.FAULT_STATE_STALE
    task.peer.until(task.result.done, what="the end of the task")
    result = task.result.result().result
    assert result.outcome == Outcome.FAULT
    assert "STATE_STALE" in result.summary
    for _ in range(40):
        command = task.send(START, moving())
    assert (command < 0.0).all()


def test_a_predictor_that_stands_still_is_a_refusal_and_no_silence(peer, request):
    os.kill(peer.processes.pid(PREDICTOR.name), signal.SIGSTOP)
    try:
        goal = request.getfixturevalue("goal")
        until(goal.result.done, "the refusal", 10.0, lambda: goal.send(START))
    finally:
        os.kill(peer.processes.pid(PREDICTOR.name), signal.SIGCONT)
    result = goal.result.result().result
    assert result.outcome == Outcome.REFUSED
    assert "predict_post_impact did not answer" in result.summary
    assert np.isfinite(goal.commands[-1].data).all()
    assert last_status(goal).fault == ControllerStatus.FAULT_NONE


def test_limits_that_contradict_each_other_give_way_in_order_and_the_torques_hold(feeder):
    limits = load_robot().limits
    q, dq = START.copy(), np.zeros(7)
    # So near its limit, and so fast, that no torque stops the joint before it.
    q[1], dq[1] = limits.position_upper[1] - 0.001, 1.5
    before = feeder.send(START)
    for k in range(20):
        # First behind a gap: so fast no arm gets there.
        command = feeder.send(q, dq, after=1_000_000 if k else 30_000_000)
        assert np.abs(command).max() <= limits.torque.max()
        assert np.abs(command - before).max() <= limits.torque_rate.max() * 1e-3 * (1.0 + 1e-9)
        before = command
    status = last_status(feeder)
    assert status.qp_status == ControllerStatus.QP_RELAXED
    assert status.relaxed & ControllerStatus.RELAXED_POSITION
    assert command[1] < 0.0


def set_parameter(peer, name, value):
    """Ask the loop for another value; return whether it took it, and why not."""
    request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
    (result,) = peer.call(SetParameters, f"{SPEC.name}/set_parameters", request).results
    return result.successful, result.reason


def test_gains_change_in_a_running_task(task):
    away = START + 1e-3
    task.send(away)
    assert set_parameter(task.peer, "gains.position", 1600.0)[0]
    softer = np.array([task.send(away) for _ in range(3)])
    assert set_parameter(task.peer, "gains.position", 0.0)[0]
    back = np.array([task.send(away) for _ in range(3)])
    assert np.abs(softer[-1] - back[-1]).max() > 0.05
    assert last_status(task).mode == ControllerReference.ANTE


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("scenario", "tabletop_tilted", "the node is built from it"),
        ("partners", ["left"], "the node is built from it"),
        ("gains.position", -1.0, ""),
        ("gains.posture", 1e9, ""),
        ("gains.orientation", math.nan, ""),
        ("state_patience", -0.1, ""),
        ("gains.position", "stiff", ""),
    ],
)
def test_changes_that_a_running_node_cannot_take_are_refused_with_a_reason(peer, feeder, name, value, reason):
    taken, why = set_parameter(peer, name, value)
    assert not taken
    assert reason in why
    assert why


def test_a_deactivated_loop_is_silent(peer, feeder):
    feeder.send(START)
    assert peer.change(SPEC.name, Transition.TRANSITION_DEACTIVATE)
    feeder.commands.clear()
    feeder.publisher.publish(joint_state(feeder.stamp + 10**6, START))
    peer.spin(0.3)
    assert not feeder.commands
    assert peer.change(SPEC.name, Transition.TRANSITION_ACTIVATE)


def test_a_wrong_scenario_is_refused_at_configuration(tmp_path):
    with Peer(tmp_path, namespace="wrong") as peer:
        spec = NodeSpec("impact_loop", "loop", Duty.LOOP, {"scenario": "tabletopp"})
        peer.processes.start(spec)
        peer.caller.await_node("impact_loop")
        assert not peer.change("impact_loop", Transition.TRANSITION_CONFIGURE)
        peer.until(lambda: "no scenario of that name" in peer.log("impact_loop"), what="the reason in the log")


def test_a_loop_without_a_robot_is_not_activated(tmp_path):
    with Peer(tmp_path, namespace="lonely") as peer:
        peer.processes.start(replace(SPEC, parameters={**SPEC.parameters, "robot_patience": 0.5}))
        peer.caller.await_node(SPEC.name)
        assert peer.change(SPEC.name, Transition.TRANSITION_CONFIGURE)
        assert not peer.change(SPEC.name, Transition.TRANSITION_ACTIVATE)
        peer.until(lambda: "no publisher of" in peer.log(SPEC.name), what="the reason in the log")


def test_a_second_sender_of_commands_is_refused(peer, feeder):
    assert peer.change(SPEC.name, Transition.TRANSITION_DEACTIVATE)
    rival = peer.node.create_publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
    peer.spin(1.0)
    assert not peer.change(SPEC.name, Transition.TRANSITION_ACTIVATE)
    peer.until(lambda: "other publisher" in peer.log(SPEC.name), what="the reason in the log")
    peer.node.destroy_publisher(rival)
    peer.spin(1.0)
    assert peer.change(SPEC.name, Transition.TRANSITION_ACTIVATE)
