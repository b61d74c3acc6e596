"""Loops in this process, called by hand: what they check before they begin, and what they keep from before."""

from __future__ import annotations

import re
import threading
import time
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
from impact_msgs.action import ExecuteImpactTask
from rclpy.action import GoalResponse
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from surfaces.graph import EPOCH, JointStates, renew

from harness import joint_state
from impact_control.control import Fault
from impact_control.planning.assignment import assigned
from impact_control.robots.mounting import mounted_at
from impact_control.scenario import config_directory
from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control_ros.bridge import control_loop as loop_module
from impact_control_ros.bridge.impact_task import PreparedTask
from impact_control_ros.bridge.loop_output import STATUS_PERIOD, ClassificationWriter
from impact_control_ros.nodes.loop import LoopNode

TASK = assigned("tabletop")
PLAN = TASK.plan()
MILLISECOND = 1_000_000
STATES = JointStates(TASK.robot.joint_names, PLAN.reference.initial_configuration)


@pytest.fixture(scope="module")
def loop(graph):
    return graph.add_loop("impact_loop")


def start(node, begin=0):
    """Ask a loop for a task; return why it is refused."""
    return node.built.start_task(PreparedTask(PLAN, ClassificationWriter(TASK.scenario, 7), begin))


def begin(node):
    """Let a loop begin a task with its second sample."""
    renew(node)
    node.built._on_state(STATES.good(EPOCH))
    assert not start(node)
    node.built._on_state(STATES.good(EPOCH + MILLISECOND))


def test_a_scenario_whose_rehearsal_fails_can_be_corrected(graph, monkeypatch):
    def fail(scenario, robot):
        raise InvalidInputError("reference", "this one", "one that can be built")

    node = graph.add(lambda: LoopNode("impact_loop"))
    monkeypatch.setattr(loop_module, "warm_up", fail)
    assert node.trigger_configure() is TransitionCallbackReturn.FAILURE
    (changed,) = node.set_parameters([Parameter("scenario", value="tabletop_raised")])
    assert changed.successful, changed.reason


def test_what_the_loop_says_is_written_by_another_thread(loop, monkeypatch):
    """Of an arm that falls silent in a task, and of a goal in the fault that follows."""
    written = []
    monkeypatch.setattr(RcutilsLogger, "error", lambda logger, line: written.append((line, threading.current_thread())))
    begin(loop)
    loop.built._last_arrival -= 1.0
    loop.built._on_slow_timer()
    assert loop.built.tasks._on_goal(ExecuteImpactTask.Goal()) is GoalResponse.REJECT
    end = time.monotonic() + 10.0
    while len(written) < 3:
        time.sleep(0.01)
        assert time.monotonic() < end, written
    assert [line.split()[0] for line, _ in written] == ["no", "fault", "impact"]
    assert threading.current_thread() not in [thread for _, thread in written]


def test_the_reason_of_a_fault_ends_with_it(loop, monkeypatch):
    reasons = []
    status = SimpleNamespace(publish=lambda message: reasons.append(message.fault_reason))
    monkeypatch.setattr(loop.built._control_output, "_status", status)
    begin(loop)
    loop.built._last_arrival -= 1.0
    loop.built._on_slow_timer()
    loop.built._on_state(STATES.good(EPOCH + 2 * MILLISECOND))
    assert re.fullmatch(r"STATE_STALE: no joint state for 1\.\d\d s \(limit 0\.2 s\)", reasons[-1])
    renew(loop)
    for k in range(STATUS_PERIOD):
        loop.built._on_state(STATES.good(EPOCH + k * MILLISECOND))
    assert reasons[-1] == ""


def test_the_first_status_of_a_fault_has_its_reason(loop, monkeypatch):
    """Of a torque that no joint gives, a second before anything is looked at beside the loop."""
    told = []
    status = SimpleNamespace(publish=lambda message: told.append((message.fault, message.fault_reason)))
    monkeypatch.setattr(loop.built._control_output, "_status", status)
    begin(loop)
    effort = [0.0, 0.0, 1e100, 0.0, 0.0, 0.0, 0.0]
    state = joint_state(EPOCH + 2 * MILLISECOND, PLAN.reference.initial_configuration, effort=effort)
    loop.built._on_state(serialize_message(state))
    reason = "STATE_OUT_OF_LIMITS: the torque of panda_joint3 is 1e+100 Nm; allowed: at most 870 Nm"
    assert told[-1] == (Fault.STATE_OUT_OF_LIMITS, reason)
    assert [fault for fault, _ in told].count(Fault.STATE_OUT_OF_LIMITS) == 1
    renew(loop)


@pytest.mark.parametrize(
    ("overrides", "built_in"),
    [
        ({"task.duration": "3 s", "reaction.on_unexpected_impact": "continue"}, ""),
        ({"classification.window_length": 25, "classification.envelope_margin": "0.1 rad/s"}, ""),
        ({"classification.method": "simultaneous"}, "classification.method"),
        ({"control.gains.position": "100 1/s^2"}, "control"),
        ({"control.friction_compensation": 0.5}, "control"),
        ({"detection.refractory_time": "15 ms"}, "detection"),
    ],
    ids=str,
)
def test_a_goal_that_needs_what_the_loop_is_not_built_with_is_refused(loop, overrides, built_in):
    other = replace(TASK, scenario=TASK.scenario.with_overrides(overrides))
    needs = pytest.raises(ImpactControlError, match=f"needs another {built_in} than") if built_in else nullcontext()
    with needs:
        loop.built.tasks._require_what_is_built_in(other)


def test_gains_that_the_low_pass_of_the_scenario_does_not_bear_are_refused(graph, tmp_path):
    file = tmp_path / "slow.yaml"
    tabletop = config_directory() / "scenarios" / "tabletop.yaml"
    file.write_text(f"extends: {tabletop}\ncontrol.cutoff_frequency: 15 Hz\n")
    node = graph.add(lambda: LoopNode("impact_loop"))
    node.set_parameters([Parameter("scenario", value=str(file))])
    assert node.trigger_configure() is TransitionCallbackReturn.SUCCESS
    high, low = (node.set_parameters([Parameter("gains.posture", value=gain)])[0] for gain in (600.0, 500.0))
    assert (high.successful, low.successful) == (False, True)
    assert "gains.posture: at most 555.2 1/s^2" in high.reason


def test_a_goal_for_another_tool_is_refused(loop):
    other = replace(TASK, scenario=TASK.scenario.with_overrides({"robot.end_effector": "edge"}))
    with pytest.raises(ImpactControlError, match="needs another robot than"):
        loop.built.tasks._require_what_is_built_in(other)


def test_a_goal_for_an_arm_that_stands_elsewhere_is_refused(loop):
    other = replace(TASK, robot=mounted_at(TASK.robot, [0.1, 0.0, 0.0]))
    with pytest.raises(ImpactControlError, match="the arm stands elsewhere than"):
        loop.built.tasks._require_what_is_built_in(other)
