"""A loop whose supervisor is there and does not watch, or is gone: what it does with a task."""

from __future__ import annotations

import time

import pytest
from impact_msgs.msg import SupervisorStatus
from rclpy.parameter import Parameter
from surfaces.graph import EPOCH, JointStates, renew

from impact_control.control import Fault, Mode
from impact_control.planning.assignment import assigned
from impact_control_ros.bridge.impact_task import PreparedTask
from impact_control_ros.bridge.loop_output import ClassificationWriter

pytestmark = pytest.mark.wall_clock

TASK = assigned("tabletop")
PLAN = TASK.plan()
PATIENCE = 0.2
"""[s]"""


class Supervisor:
    """Status messages of a supervisor, as the loop receives them."""

    def __init__(self, loop):
        self._loop = loop

    def says(self, state):
        """Have its status arrive."""
        self._loop.built.supervision.take(SupervisorStatus(state=state, reason="asked to"))

    def repeats(self, state):
        """Have it arrive in time again and again, for longer than the loop is patient, and the loop look."""
        for _ in range(6):
            self.says(state)
            self._loop.built._on_slow_timer()
            time.sleep(0.25 * PATIENCE)
        self._loop.built._on_slow_timer()


@pytest.fixture(scope="module")
def configured(graph):
    return graph.add_loop("impact_loop")


@pytest.fixture
def loop(configured):
    renew(configured)
    silence = [Parameter("state_patience", value=0.0), Parameter("supervisor_patience", value=PATIENCE)]
    assert all(answer.successful for answer in configured.set_parameters(silence))
    return configured


@pytest.fixture
def supervisor(loop):
    return Supervisor(loop)


STATES = JointStates(TASK.robot.joint_names, PLAN.reference.initial_configuration)


def start_task(loop):
    """Arm a task; return why it is refused."""
    loop.built._on_state(STATES.good(EPOCH))
    return loop.built.start_task(PreparedTask(PLAN, ClassificationWriter(TASK.scenario, 7), 0))


def run(loop):
    """Have the sample come with which an armed task begins."""
    loop.built._on_state(STATES.good(EPOCH + 1_000_000))


def fault(loop):
    controller = loop.built.pipeline.controller
    return controller.fault if controller.mode is Mode.FAULT else Fault.NONE


def test_a_task_is_armed_while_the_supervisor_does_not_watch(loop, supervisor):
    supervisor.says(SupervisorStatus.INACTIVE)
    assert not start_task(loop)
    supervisor.repeats(SupervisorStatus.INACTIVE)
    assert fault(loop) is Fault.NONE
    run(loop)
    supervisor.repeats(SupervisorStatus.WATCHING)
    assert fault(loop) is Fault.NONE


def test_a_task_that_nobody_watches_is_a_fault(loop, supervisor):
    supervisor.says(SupervisorStatus.INACTIVE)
    assert not start_task(loop)
    run(loop)
    supervisor.repeats(SupervisorStatus.INACTIVE)
    assert fault(loop) is Fault.SUPERVISOR_LOST
    assert "supervisor inactive" in loop.built.fault_reason()


def test_a_supervisor_that_ceases_to_watch_is_a_fault(loop, supervisor):
    supervisor.says(SupervisorStatus.WATCHING)
    assert not start_task(loop)
    run(loop)
    supervisor.repeats(SupervisorStatus.WATCHING)
    assert fault(loop) is Fault.NONE
    supervisor.repeats(SupervisorStatus.INACTIVE)
    assert fault(loop) is Fault.SUPERVISOR_LOST


def test_gains_that_are_tuned_all_the_time_do_not_hide_that_the_supervisor_is_gone(loop, supervisor):
    supervisor.says(SupervisorStatus.WATCHING)
    assert not start_task(loop)
    run(loop)
    for gain in (100.0, 110.0, 120.0, 130.0, 140.0, 150.0):
        (answer,) = loop.set_parameters([Parameter("gains.position", value=gain)])
        assert answer.successful
        time.sleep(0.25 * PATIENCE)
    loop.built._on_slow_timer()
    assert fault(loop) is Fault.SUPERVISOR_LOST
    assert "no sign of life" in loop.built.fault_reason()


@pytest.mark.parametrize("state", [SupervisorStatus.STOPPING, SupervisorStatus.STOPPED])
def test_a_stop_ends_the_task_whether_the_robot_side_has_obeyed_or_not(loop, supervisor, state):
    supervisor.says(SupervisorStatus.WATCHING)
    assert not start_task(loop)
    run(loop)
    supervisor.says(state)
    loop.built._on_slow_timer()
    assert fault(loop) is Fault.SUPERVISOR_STOP
    assert "asked to" in loop.built.fault_reason()


@pytest.mark.parametrize("state", [SupervisorStatus.STOPPING, SupervisorStatus.STOPPED])
def test_an_arm_that_is_only_held_does_not_keep_its_old_pose_through_a_stop(loop, supervisor, state):
    """Somebody may move it meanwhile, and it would pull it back once commands are let through."""
    loop.built._on_state(STATES.good(EPOCH))
    supervisor.says(state)
    loop.built._on_slow_timer()
    assert fault(loop) is Fault.SUPERVISOR_STOP


@pytest.mark.parametrize("state", [SupervisorStatus.STOPPING, SupervisorStatus.STOPPED])
def test_no_task_is_begun_while_the_robot_is_stopped(loop, supervisor, state):
    loop.built._on_state(STATES.good(EPOCH))
    supervisor.says(state)
    assert "SUPERVISOR_STOP" in start_task(loop)


def test_no_task_is_begun_without_a_supervisor(loop, supervisor):
    supervisor.says(SupervisorStatus.WATCHING)
    time.sleep(1.5 * PATIENCE)
    renew(loop)
    assert "SUPERVISOR_LOST" in start_task(loop), "to be activated is no sign of life"
