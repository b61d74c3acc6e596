"""A fault that is found between two samples: the commands of both are as near as the torque rate asks for."""

from __future__ import annotations

import numpy as np
import pytest
from impact_msgs.msg import SupervisorStatus
from surfaces.command_watch import CommandWatch
from surfaces.graph import EPOCH, JointStates, renew

from impact_control.control import Fault, Mode
from impact_control.planning.assignment import assigned
from impact_control_ros.bridge.impact_task import PreparedTask
from impact_control_ros.bridge.loop_output import ClassificationWriter

TASK = assigned("tabletop")


@pytest.fixture(scope="module")
def loop(graph):
    return graph.add_loop("impact_loop")


def stop_by_the_supervisor(loop):
    loop.built.supervision.take(SupervisorStatus(state=SupervisorStatus.STOPPED, reason="asked to"))
    return Fault.SUPERVISOR_STOP


def fall_silent(loop):
    loop.built._last_arrival -= 1.0
    return Fault.STATE_STALE


@pytest.fixture
def away(loop):
    """Joint states off the start of a task that the loop, which has answered one sample, is to begin with the next."""
    plan = TASK.plan()
    start = plan.reference.initial_configuration
    loop.built.supervision.take(SupervisorStatus(state=SupervisorStatus.WATCHING))
    renew(loop)
    loop.built._on_state(JointStates(TASK.robot.joint_names, start).good(EPOCH))
    assert not loop.built.start_task(PreparedTask(plan, ClassificationWriter(TASK.scenario, 7), 0))
    return JointStates(TASK.robot.joint_names, start + 0.03)


@pytest.mark.parametrize("cause", [stop_by_the_supervisor, fall_silent])
def test_the_torque_rate_is_kept(loop, away, cause):
    watch = CommandWatch(TASK.robot, TASK.scenario.control.period)
    watch.look(loop.built.pipeline.torque)
    for k in range(1, 31):
        loop.built._on_state(away.good(EPOCH + k * 1_000_000))
        watch.look(loop.built.pipeline.torque)
    pipeline = loop.built.pipeline
    pulling = np.abs(pipeline.torque).max()
    assert pulling > 5.0
    fault = cause(loop)
    loop.built._on_slow_timer()
    assert (pipeline.controller.mode, pipeline.controller.fault) == (Mode.FAULT, fault)
    for k in range(31, 70):
        loop.built._on_state(away.good(EPOCH + k * 1_000_000))
        watch.look(loop.built.pipeline.torque)
    assert np.abs(pipeline.torque).max() < 0.1 * pulling


@pytest.mark.parametrize(("after", "fault"), [(0, Fault.STATE_STALE), (1_000_000, Fault.NONE)])
def test_a_state_that_only_comes_again_is_no_sign_of_life(loop, away, after, fault):
    loop.built._on_state(away.good(EPOCH + 1_000_000))
    fall_silent(loop)
    loop.built._on_state(away.good(EPOCH + 1_000_000 + after))
    loop.built._on_slow_timer()
    assert loop.built.pipeline.controller.fault is fault


def test_the_numbers_of_the_state_before_under_a_new_stamp_are_none_either(loop, away):
    numbers = (
        list(TASK.robot.joint_names),
        TASK.plan().reference.initial_configuration.tolist(),
        [1e-3] * 7,
        [0.0] * 7,
    )
    loop.built._on_state(away._bytes(EPOCH + 1_000_000, *numbers))
    fall_silent(loop)
    loop.built._on_state(away._bytes(EPOCH + 2_000_000, *numbers))
    loop.built._on_slow_timer()
    assert loop.built.pipeline.controller.fault is Fault.STATE_STALE
