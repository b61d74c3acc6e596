"""Messages that no node of ours sends, as one of another version or another arm might: passed over or refused."""

from __future__ import annotations

import math

import pytest
from impact_msgs.action import ExecuteImpactTask
from impact_msgs.msg import ControllerReference, ControllerStatus, ImpactClassification, ImpactEvent
from surfaces.graph import EPOCH, JointStates, renew

from impact_control.assignment import assigned
from impact_control.classification import Verdict
from impact_control.control import Mode
from impact_control.nodes import impact_task
from impact_control.nodes.classifier import ClassifierNode
from impact_control.nodes.impact_task import Building, PreparedTask
from impact_control.nodes.messages import FirstOfEvent, to_stamp
from impact_control.nodes.writers import ClassificationWriter

TASK = assigned("tabletop")


@pytest.fixture(scope="module")
def classifier(graph):
    node = graph.add(ClassifierNode)
    node.trigger_configure()
    return node


@pytest.fixture(scope="module")
def controller(graph):
    return graph.add_loop("controller", detect=False, classify=False)


@pytest.fixture(scope="module")
def loop(graph):
    return graph.add_loop("impact_loop", detect=False)


def reference(**changes):
    """A reference of a task that has just begun."""
    fields = {
        "scenario": "tabletop",
        "mode": int(Mode.ANTE),
        "nominal_impact_time": 1.8,
        "impact_configuration": [0.0] * 7,
        "ante_joint_velocity": [0.0] * 7,
        "post_joint_velocity": [0.0] * 7,
    }
    message = ControllerReference(**(fields | changes))
    to_stamp(EPOCH, message.header.stamp)
    return message


@pytest.mark.parametrize(
    "odd",
    [
        {"mode": 9},
        {"mode": 255},
        {"task_time": math.inf},
        {"task_time": math.nan},
        {"task_time": 1e300},
        {"nominal_impact_time": math.nan},
        {"impact_configuration": [0.0] * 6},
        {"impact_configuration": [math.nan] * 7},
        {"ante_joint_velocity": []},
        {"post_joint_velocity": [0.0] * 8},
    ],
    ids=str,
)
def test_the_classifier_passes_over_a_reference_that_is_none(classifier, odd):
    renew(classifier)
    classifier._on_reference(reference(**odd))
    assert classifier._start_stamp is None
    classifier._on_reference(reference())
    assert classifier._start_stamp == EPOCH
    classifier._on_reference(reference(**odd))
    assert classifier._mode is Mode.ANTE


def test_the_classifier_passes_over_an_event_of_another_arm(classifier):
    renew(classifier)
    classifier._on_reference(reference())
    for index, joints in enumerate((6, 8, 0, 7), 1):
        event = ImpactEvent(index=index, joint_position=[0.0] * joints)
        to_stamp(EPOCH + index, event.impact_time)
        classifier._on_event(event)
    assert classifier._impacts == 1


def begun(controller, before=EPOCH):
    """The pipeline of a controller with a task that has begun. before: stamp [ns] of the first sample that was held."""
    renew(controller)
    plan = TASK.plan()
    states = JointStates(TASK.robot.joint_names, plan.reference.initial_configuration)
    controller._on_state(states.good(before))
    controller._on_state(states.good(EPOCH))
    assert not controller.start_task(PreparedTask(plan, ClassificationWriter(TASK.scenario, 7), 0))
    controller._on_state(states.good(EPOCH + 1_000_000))
    assert controller._pipeline.controller.mode is Mode.ANTE
    return controller._pipeline


@pytest.mark.parametrize(("joints", "taken"), [(6, 0), (0, 0), (8, 0), (7, 1)])
def test_a_loop_without_a_detector_passes_over_events_of_another_arm(loop, joints, taken):
    pipeline = begun(loop)
    loop._is_new(ImpactEvent())
    event = ImpactEvent(index=1, joint_position=[0.0] * joints)
    to_stamp(EPOCH + 1_000_000, event.impact_time)
    loop._on_event(event)
    assert pipeline.judge.impacts == taken


@pytest.mark.parametrize("after", [-1, 0, 1])
def test_a_controller_whose_clock_was_set_back_takes_what_is_of_its_task(controller, after):
    pipeline = begun(controller, before=EPOCH + 10**10)
    controller._is_new(ImpactEvent())
    event = ImpactEvent(index=1, joint_position=[0.0] * 7)
    verdict = ImpactClassification(scenario="tabletop", impact=ImpactClassification.UNEXPECTED)
    to_stamp(EPOCH + (1 + after) * 1_000_000, event.impact_time)
    to_stamp(EPOCH + (1 + after) * 1_000_000, verdict.header.stamp)
    controller._on_event(event)
    controller._on_classification(verdict)
    taken = after >= 0
    assert pipeline.judge.impacts == taken
    assert (pipeline.judge.impact is Verdict.UNEXPECTED) == taken


@pytest.mark.parametrize(("impact", "post_impact"), [(4, 0), (0, 200)])
def test_the_controller_passes_over_a_verdict_that_is_none(controller, impact, post_impact):
    pipeline = begun(controller)
    message = ImpactClassification(scenario="tabletop", impact=impact, post_impact=post_impact)
    to_stamp(EPOCH + 1_000_000, message.header.stamp)
    before = (pipeline.judge.impact, pipeline.judge.post_impact)
    controller._on_classification(message)
    assert (pipeline.judge.impact, pipeline.judge.post_impact) == before
    assert pipeline.controller.mode is Mode.ANTE


def test_a_partner_in_a_mode_that_is_not_known_may_have_stopped(controller):
    pipeline = begun(controller)
    for mode in (int(Mode.POST), 9):
        assert pipeline.controller.mode is Mode.ANTE
        status = ControllerStatus(mode=mode)
        to_stamp(EPOCH + 1_000_000, status.header.stamp)
        controller._partners._take_status("other", status)
    assert pipeline.controller.mode is Mode.STOPPED


@pytest.mark.parametrize(("after", "mode"), [(-1, Mode.ANTE), (1, Mode.INTERIM)])
def test_an_arm_waits_no_longer_for_its_impact_when_its_partner_has_had_one(controller, after, mode):
    """Of this task; what is of before it changes nothing."""
    pipeline = begun(controller)
    event = ImpactEvent(index=1, joint_position=[0.0] * 7)
    to_stamp(EPOCH + (1 + after) * 1_000_000, event.impact_time)
    controller._partners._take_event(FirstOfEvent(), event)
    states = JointStates(TASK.robot.joint_names, TASK.plan().reference.initial_configuration)
    for sample in (2, 3):
        controller._on_state(states.good(EPOCH + sample * 1_000_000))
    assert pipeline.controller.mode is mode
    assert pipeline.judge.impacts == 0


def test_a_goal_whose_preparation_fails_in_an_unknown_way_ends_with_the_reason(controller, monkeypatch):
    def fail(name, arm):
        raise KeyError("what nobody thought of")

    monkeypatch.setattr(impact_task, "assigned", fail)
    renew(controller)
    tasks = controller._tasks
    building = Building()
    tasks._build(ExecuteImpactTask.Goal(scenario="tabletop"), building)
    assert building.built == "KeyError: 'what nobody thought of'"
    tasks._building = building
    tasks.advance()
    assert not tasks._refusal()
