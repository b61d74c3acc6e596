"""An arm that goes on pressing when its task is over is watched as in the task: `task.post.hold` of a scene."""

from __future__ import annotations

from dataclasses import replace

import pytest
from impact_msgs.msg import ControllerStatus, SupervisorStatus
from surfaces.graph import EPOCH, JointStates, renew

from impact_control.control import Fault, Mode
from impact_control.planning.assignment import assigned
from impact_control_ros.bridge.impact_task import PreparedTask
from impact_control_ros.bridge.loop_output import ClassificationWriter
from impact_control_ros.bridge.messages import to_stamp

TASK = assigned("tabletop")
PERIOD = 1_000_000


@pytest.fixture(scope="module")
def node(graph):
    return graph.add_loop("impact_loop")


@pytest.fixture
def loop(node):
    """A loop whose task is over and that holds on; `sampled` [ns] is the stamp of its last sample."""
    plan = replace(TASK.plan(), hold=True)
    states = JointStates(TASK.robot.joint_names, plan.reference.initial_configuration)
    node.built.supervision.take(SupervisorStatus(state=SupervisorStatus.WATCHING))
    renew(node)
    node.sampled = EPOCH
    node.built._on_state(states.good(EPOCH))
    assert not node.built.start_task(PreparedTask(plan, ClassificationWriter(TASK.scenario, 7), 0))
    pipeline = node.built.pipeline
    while not pipeline.finished:
        node.sampled += PERIOD
        node.built._on_state(states.good(node.sampled))
        if pipeline.controller.mode is Mode.ANTE:
            pipeline.controller.impact((node.sampled - EPOCH) * 1e-9)
    assert pipeline.controller.mode is Mode.POST
    assert not pipeline.task_active
    return node


def test_it_stops_with_a_partner(loop):
    status = ControllerStatus(mode=int(Mode.FAULT))
    to_stamp(loop.sampled, status.header.stamp)
    loop.built._partners._take_status("other", status)
    assert loop.built.pipeline.controller.mode is Mode.STOPPED


def test_it_stops_with_a_partner_while_its_next_task_is_armed(loop):
    plan = TASK.plan()
    begin = loop.sampled + 3_000_000_000
    assert not loop.built.start_task(PreparedTask(plan, ClassificationWriter(TASK.scenario, 7), begin))
    test_it_stops_with_a_partner(loop)
    assert not loop.built.pipeline.task_active


def test_a_supervisor_that_is_deactivated_when_the_task_is_over_is_no_fault(loop):
    """As a session does before it stops the clock."""
    loop.built.supervision.patience = 0.5
    loop.built.supervision._heard -= 1.0
    loop.built.supervision.take(SupervisorStatus(state=SupervisorStatus.INACTIVE))
    loop.built._on_slow_timer()
    assert loop.built.pipeline.controller.mode is Mode.POST


def test_without_its_supervisor_it_is_damped(loop):
    loop.built.supervision.patience = 0.5
    loop.built.supervision._heard -= 1.0
    loop.built._on_slow_timer()
    assert loop.built.pipeline.controller.fault is Fault.SUPERVISOR_LOST
