"""Loops in this process, called by hand: what they check before they begin, keep from before, and do in a fault."""

from __future__ import annotations

import re
import threading
import time
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from impact_msgs.action import ExecuteImpactTask
from impact_msgs.msg import ControllerStatus, SupervisorStatus
from rclpy.action import GoalResponse
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray, UInt8
from surfaces.command_watch import CommandWatch

from documentation import ROOT
from hand_fed import PERIOD, PLAN, START, TASK, HandFed
from harness import until
from impact_control.control import Fault, Mode
from impact_control.robots.mounting import mounted_at
from impact_control.scenario import config_directory
from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control_ros.bridge import control_loop as loop_module
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.loop_output import STATUS_PERIOD
from impact_control_ros.bridge.messages import to_stamp
from impact_control_ros.bridge.partners import GUARD_ACTIVE
from impact_control_ros.nodes.loop import LoopNode

STOPPING, STOPPED = SupervisorStatus.STOPPING, SupervisorStatus.STOPPED
INACTIVE, WATCHING = SupervisorStatus.INACTIVE, SupervisorStatus.WATCHING


@pytest.fixture(scope="module")
def configured(graph):
    return graph.add_loop("impact_loop")


@pytest.fixture
def loop(configured):
    defaults = {"state_patience": 0.2, "supervisor_patience": 0.0}
    configured.set_parameters([Parameter(name, value=value) for name, value in defaults.items()])
    fed = HandFed(configured)
    fed.supervise(WATCHING)
    return fed


def statuses(loop, monkeypatch):
    """The fault and its reason in each status that a loop publishes from now on."""
    told = []
    status = SimpleNamespace(publish=lambda message: told.append((message.fault, message.fault_reason)))
    monkeypatch.setattr(loop.built._control_output, "_status", status)
    return told


def test_a_scenario_whose_rehearsal_fails_can_be_corrected(graph, monkeypatch):
    def fail(scenario, robot):
        raise InvalidInputError("reference", "this one", "one that can be built")

    node = graph.add(lambda: LoopNode("impact_loop"))
    monkeypatch.setattr(loop_module, "warm_up", fail)
    assert node.trigger_configure() is TransitionCallbackReturn.FAILURE
    (changed,) = node.set_parameters([Parameter("scenario", value="tabletop_raised")])
    assert changed.successful, changed.reason


def test_it_waits_for_the_end_of_a_publisher_with_its_own_name(graph, loop):
    """DDS lists one that was killed for a while."""
    for name, waits in (("impact_loop", True), ("another", False)):
        node = graph.add(lambda name=name: rclpy.create_node(name, namespace="/impact_loop"))
        dead = node.create_publisher(Float64MultiArray, topics.COMMANDS, qos.COMMAND)
        await_publishers(loop.node, 2)
        loop.node.prepare_activation()
        assert loop.node.awaits_activation() is bool(loop.built.missing()) is waits
        node.destroy_publisher(dead)
        await_publishers(loop.node, 1)
        assert not loop.node.awaits_activation()


def await_publishers(node, count):
    found = f"/impact_loop/{topics.COMMANDS}"
    until(lambda: len(node.get_publishers_info_by_topic(found)) == count, f"{count} publishers of commands", 20.0)


# ---------------------------------------------------------------------- goals that do not fit


@pytest.mark.parametrize(
    ("overrides", "built_in"),
    [
        ({"task.duration": "3 s", "reaction.on_unexpected_impact": "continue"}, ""),
        ({"classification.window_length": 25, "classification.envelope_margin": "0.1 rad/s"}, ""),
        ({"classification.method": "simultaneous"}, "classification.method"),
        ({"control.gains.position": "100 1/s^2"}, "control"),
        ({"control.friction_compensation": 0.5}, "control"),
        ({"detection.refractory_time": "15 ms"}, "detection"),
        ({"robot.end_effector": "edge"}, "robot"),
    ],
    ids=str,
)
def test_a_goal_that_needs_what_the_loop_is_not_built_with_is_refused(loop, overrides, built_in):
    other = replace(TASK, scenario=TASK.scenario.with_overrides(overrides))
    needs = pytest.raises(ImpactControlError, match=f"another {built_in} than") if built_in else nullcontext()
    with needs:
        loop.built.tasks._require_what_is_built_in(other)


def test_a_goal_for_an_arm_that_stands_elsewhere_is_refused(loop):
    other = replace(TASK, robot=mounted_at(TASK.robot, [0.1, 0.0, 0.0]))
    with pytest.raises(ImpactControlError, match="another place of the arm than"):
        loop.built.tasks._require_what_is_built_in(other)


# ---------------------------------------------------------------------- faults


def test_what_the_loop_says_is_written_by_another_thread(loop, monkeypatch):
    """Of an arm that falls silent in a task, and of a goal in the fault that follows."""
    written = []
    monkeypatch.setattr(RcutilsLogger, "error", lambda logger, line: written.append((line, threading.current_thread())))
    loop.begin()
    loop.fall_silent()
    loop.look()
    assert loop.built.tasks._on_goal(ExecuteImpactTask.Goal()) is GoalResponse.REJECT
    until(lambda: len(written) == 3, "the last line", 10.0)
    assert [line.split()[0] for line, _ in written] == ["no", "fault", "impact"]
    assert threading.current_thread() not in [thread for _, thread in written]


def test_the_reason_of_a_fault_ends_with_it(loop, monkeypatch):
    told = statuses(loop, monkeypatch)
    loop.begin()
    loop.fall_silent()
    loop.look()
    loop.sample()
    assert re.fullmatch(r"STATE_STALE: no joint state for 1\.\d\d s \(limit 0\.2 s\)", told[-1][1])
    loop.renew()
    loop.sample(STATUS_PERIOD)
    assert told[-1][1] == ""


def test_the_first_status_of_a_fault_has_its_reason(loop, monkeypatch):
    """Of a torque that no joint gives, a second before anything is looked at beside the loop."""
    told = statuses(loop, monkeypatch)
    loop.begin()
    loop.sample(effort=[0.0, 0.0, 1e100, 0.0, 0.0, 0.0, 0.0])
    reason = "STATE_OUT_OF_LIMITS: the torque of panda_joint3 is 1e+100 Nm; allowed: at most 870 Nm"
    assert told[-1] == (Fault.STATE_OUT_OF_LIMITS, reason)
    assert [fault for fault, _ in told].count(Fault.STATE_OUT_OF_LIMITS) == 1


@pytest.fixture
def away(loop):
    """A loop that has answered one sample, of an arm off the start of the task that begins with the next."""
    loop.position = START + 0.03
    loop.sample()
    assert not loop.arm()
    return loop


@pytest.mark.parametrize("fault", [Fault.SUPERVISOR_STOP, Fault.STATE_STALE])
def test_the_torque_rate_is_kept_in_a_fault_between_two_samples(away, fault):
    watch = CommandWatch(TASK.robot, TASK.scenario.control.period)
    torques = []

    def follow(count):
        for _ in range(count):
            away.sample()
            watch.look(away.pipeline.torque)
            torques.append(np.abs(away.pipeline.torque).max())

    watch.look(away.pipeline.torque)
    follow(30)
    pulling = torques[-1]
    assert pulling > 5.0
    away.supervise(STOPPED) if fault is Fault.SUPERVISOR_STOP else away.fall_silent()
    away.look()
    assert away.fault is fault
    follow(39)
    assert torques[-1] < 0.1 * pulling


@pytest.mark.parametrize(("after", "fault"), [(0, Fault.STATE_STALE), (PERIOD, Fault.NONE)])
def test_a_state_that_only_comes_again_is_no_sign_of_life(away, after, fault):
    away.sample()
    away.fall_silent()
    away.sample(after=after)
    away.look()
    assert away.fault is fault


def test_the_numbers_of_the_state_before_under_a_new_stamp_are_none_either(away):
    away.sample(velocity=[1e-3] * 7)
    away.fall_silent()
    away.sample(velocity=[1e-3] * 7)
    away.look()
    assert away.fault is Fault.STATE_STALE


# ---------------------------------------------------------------------- an arm that presses on after its task


@pytest.fixture
def holding(loop):
    """A loop whose task is over and that holds on: `task.post.hold` of a scene. It is watched as in the task."""
    loop.sample()
    assert not loop.arm(replace(PLAN, hold=True))
    pipeline = loop.pipeline
    while not pipeline.finished:
        loop.sample()
        if pipeline.controller.mode is Mode.ANTE:
            pipeline.controller.impact((loop.stamp - loop.built._base) * 1e-9)
    assert pipeline.controller.mode is Mode.POST
    assert not pipeline.task_active
    return loop


@pytest.mark.parametrize("next_task", [False, True], ids=["alone", "armed"])
def test_a_holding_arm_stops_with_a_partner_also_while_its_next_task_is_armed(holding, next_task):
    if next_task:
        assert not holding.arm(begin=holding.stamp + 3_000_000_000)
    status = ControllerStatus(mode=int(Mode.FAULT))
    to_stamp(holding.stamp, status.header.stamp)
    holding.built._partners._take_status("other", status)
    assert holding.pipeline.controller.mode is Mode.STOPPED
    assert not holding.pipeline.task_active


@pytest.mark.parametrize("state", [0, 2, 9], ids=["waiting", "damping", "unknown"])
def test_an_arm_stops_with_a_partner_whose_guard_damps_for_longer_than_a_gap_may_last(holding, state):
    partners, longest = holding.built._partners, round(TASK.scenario.control.longest_gap * 1e9) // PERIOD
    for damped, mode in ((longest - 1, Mode.POST), (longest + 1, Mode.STOPPED)):
        holding.look()
        holding.sample(40)  # not looked at since
        partners._take_guard("other", UInt8(data=state))
        holding.sample(damped)
        partners._take_guard("other", UInt8(data=state))
        holding.look()
        assert holding.pipeline.controller.mode is mode
        partners._take_guard("other", UInt8(data=1))
        holding.sample(2 * longest)
        holding.look()
        assert holding.pipeline.controller.mode is mode
    assert holding.pipeline.stop_reason() == "stopped: the guard of other follows no commands"


def test_a_late_sample_after_the_state_of_a_guard_stops_nothing(holding):
    holding.built._partners._take_guard("other", UInt8(data=2))
    holding.sample(after=-PERIOD)
    holding.look()
    assert holding.pipeline.controller.mode is Mode.POST


def test_no_task_begins_beside_a_partner_whose_guard_damps(loop):
    loop.sample()
    loop.built._partners._take_guard("other", UInt8(data=2))
    loop.sample(round(TASK.scenario.control.longest_gap * 1e9) // PERIOD + 1)
    assert loop.arm() == "the guard of other follows no commands"
    loop.built._partners._take_guard("other", UInt8(data=1))
    assert not loop.arm()


def test_the_state_of_a_guard_that_follows_commands_is_that_of_the_guard():
    guard = (ROOT / "src/impact_guard/include/impact_guard/guard.hpp").read_text()
    assert re.search(rf"ACTIVE = {GUARD_ACTIVE},", guard)


@pytest.mark.parametrize(("state", "fault"), [(INACTIVE, Fault.NONE), (None, Fault.SUPERVISOR_LOST)])
def test_a_holding_arm_without_its_supervisor_is_damped(holding, state, fault):
    """One that is deactivated when the task is over, as a session does before it stops the clock, is no fault."""
    holding.built.supervision.patience = 0.5
    holding.built.supervision._heard -= 1.0
    if state is not None:
        holding.supervise(state)
    holding.look()
    assert holding.pipeline.controller.mode is (Mode.POST if fault is Fault.NONE else Mode.FAULT)
    assert holding.fault is fault


# ---------------------------------------------------------------------- a supervisor that does not watch, or is gone

PATIENCE = 0.2
"""[s]"""


class Supervised(HandFed):
    """A loop that waits so long for its supervisor, and for ever for its robot."""

    def renew(self):
        super().renew()
        silence = [Parameter("state_patience", value=0.0), Parameter("supervisor_patience", value=PATIENCE)]
        assert all(answer.successful for answer in self.node.set_parameters(silence))

    def repeats(self, state):
        """Have a status arrive in time again and again, for longer than the loop is patient, and the loop look."""
        for _ in range(6):
            self.supervise(state)
            self.look()
            time.sleep(0.25 * PATIENCE)
        self.look()


@pytest.fixture
def supervised(configured):
    return Supervised(configured)


@pytest.mark.wall_clock
def test_a_task_is_armed_while_the_supervisor_does_not_watch(supervised):
    supervised.supervise(INACTIVE)
    supervised.sample()
    assert not supervised.arm()
    supervised.repeats(INACTIVE)
    assert supervised.fault is Fault.NONE
    supervised.sample()
    supervised.repeats(WATCHING)
    assert supervised.fault is Fault.NONE


@pytest.mark.wall_clock
@pytest.mark.parametrize("before", [INACTIVE, WATCHING])
def test_a_task_that_nobody_watches_or_that_ceases_to_be_watched_is_a_fault(supervised, before):
    supervised.supervise(before)
    supervised.begin()
    if before is WATCHING:
        supervised.repeats(WATCHING)
        assert supervised.fault is Fault.NONE
    supervised.repeats(INACTIVE)
    assert supervised.fault is Fault.SUPERVISOR_LOST
    assert "supervisor inactive" in supervised.built.fault_reason()


@pytest.mark.wall_clock
def test_gains_that_are_tuned_all_the_time_do_not_hide_that_the_supervisor_is_gone(supervised):
    supervised.supervise(WATCHING)
    supervised.begin()
    for gain in (100.0, 110.0, 120.0, 130.0, 140.0, 150.0):
        (answer,) = supervised.node.set_parameters([Parameter("gains.position", value=gain)])
        assert answer.successful
        time.sleep(0.25 * PATIENCE)
    supervised.look()
    assert supervised.fault is Fault.SUPERVISOR_LOST
    assert "no sign of life" in supervised.built.fault_reason()


@pytest.mark.parametrize("state", [STOPPING, STOPPED])
@pytest.mark.parametrize("in_task", [True, False], ids=["task", "held"])
def test_a_stop_ends_the_task_and_the_hold_whether_the_robot_side_has_obeyed_or_not(loop, state, in_task):
    """Somebody may move an arm that is only held, and it would pull back once commands are let through."""
    loop.begin() if in_task else loop.sample()
    loop.supervise(state)
    loop.look()
    assert loop.fault is Fault.SUPERVISOR_STOP
    assert "asked to" in loop.built.fault_reason()


@pytest.mark.parametrize("state", [STOPPING, STOPPED])
def test_no_task_is_begun_while_the_robot_is_stopped(loop, state):
    loop.sample()
    loop.supervise(state)
    assert "SUPERVISOR_STOP" in loop.arm()


@pytest.mark.wall_clock
def test_no_task_is_begun_without_a_supervisor(supervised):
    supervised.supervise(WATCHING)
    time.sleep(1.5 * PATIENCE)
    supervised.renew()
    supervised.sample()
    assert "SUPERVISOR_LOST" in supervised.arm(), "to be activated is no sign of life"


def test_gains_that_the_low_pass_of_the_scenario_does_not_bear_are_refused(graph, tmp_path):
    """Last: its commands would be those of a rival."""
    file = tmp_path / "slow.yaml"
    tabletop = config_directory() / "scenarios" / "tabletop.yaml"
    file.write_text(f"extends: {tabletop}\ncontrol.cutoff_frequency: 15 Hz\n")
    node = graph.add(lambda: LoopNode("impact_loop"))
    node.set_parameters([Parameter("scenario", value=str(file))])
    assert node.trigger_configure() is TransitionCallbackReturn.SUCCESS
    high, low = (node.set_parameters([Parameter("gains.posture", value=gain)])[0] for gain in (600.0, 500.0))
    assert (high.successful, low.successful) == (False, True)
    assert "gains.posture: at most 555.2 1/s^2" in high.reason
