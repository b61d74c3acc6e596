"""Messages that no node of ours sends, as one of another version or another arm might: passed over or refused."""

from __future__ import annotations

import math

import pytest
from geometry_msgs.msg import Vector3
from impact_msgs.action import ExecuteImpactTask
from impact_msgs.msg import ControllerReference, ControllerStatus, ImpactClassification, ImpactEvent
from surfaces.graph import EPOCH, JointStates, renew

from impact_control.classification import Verdict
from impact_control.control import Mode
from impact_control.planning.assignment import assigned
from impact_control_ros.bridge import impact_task
from impact_control_ros.bridge.impact_task import Building, PreparedTask
from impact_control_ros.bridge.loop_output import ClassificationWriter
from impact_control_ros.bridge.messages import FirstOfEvent, to_stamp
from impact_control_ros.nodes.classifier import ClassifierNode
from impact_control_ros.nodes.controller import ControllerNode

TASK = assigned("tabletop")
STATES = JointStates(TASK.robot.joint_names, TASK.plan().reference.initial_configuration)


@pytest.fixture(scope="module")
def classifier(graph):
    node = graph.add(ClassifierNode)
    node.trigger_configure()
    return node


@pytest.fixture(scope="module")
def controller(graph):
    return graph.add_loop("controller", ControllerNode)


def reference(**changes):
    """A reference of a task that has just begun."""
    fields = {
        "scenario": "tabletop",
        "mode": int(Mode.ANTE),
        "nominal_impact_time": 1.8,
        "impact_configuration": [0.0] * 7,
        "ante_joint_velocity": [0.0] * 7,
        "post_joint_velocity": [0.0] * 7,
        "jump_deviation": [0.01] * 7,
    }
    message = ControllerReference(**(fields | changes))
    to_stamp(EPOCH, message.header.stamp)
    return message


@pytest.mark.parametrize(
    "odd",
    [
        {"mode": 10},
        {"mode": 255},
        {"task_time": math.inf},
        {"task_time": math.nan},
        {"task_time": 1e300},
        {"nominal_impact_time": math.nan},
        {"impact_configuration": [0.0] * 6},
        {"impact_configuration": [math.nan] * 7},
        {"ante_joint_velocity": []},
        {"post_joint_velocity": [0.0] * 8},
        {"jump_deviation": []},
        {"jump_deviation": [0.01] * 6 + [-0.01]},
        {"jump_deviation": [math.inf] * 7},
        {"force": Vector3(z=math.nan)},
    ],
    ids=str,
)
def test_the_classifier_passes_over_a_reference_that_is_none(classifier, odd):
    sampled(classifier)
    classifier.built._on_reference(reference(**odd))
    assert math.isnan(classifier.built._alone.start)
    classifier.built._on_reference(reference())
    assert classifier.built._alone.start == 0.0
    classifier.built._on_state(STATES.good(EPOCH + 1_000_000))
    classifier.built._on_reference(reference(**odd))
    assert classifier.built._alone._mode is Mode.ANTE


def sampled(classifier):
    """Renew a classifier and give it the joint state that the reference is of."""
    renew(classifier)
    classifier.built._on_state(STATES.good(EPOCH))


def test_the_classifier_passes_over_an_event_of_another_arm(classifier):
    sampled(classifier)
    classifier.built._on_reference(reference())
    for index, joints in enumerate((6, 8, 0, 7), 1):
        event = ImpactEvent(index=index, joint_position=[0.0] * joints)
        to_stamp(EPOCH + index, event.impact_time)
        classifier.built._on_event(event)
    assert classifier.built._alone.judge.impacts == 1


def begun(controller, before=EPOCH):
    """The pipeline of a controller with a task that has begun. before: stamp [ns] of the first sample that was held."""
    renew(controller)
    plan = TASK.plan()
    states = JointStates(TASK.robot.joint_names, plan.reference.initial_configuration)
    controller.built._on_state(states.good(before))
    controller.built._on_state(states.good(EPOCH))
    assert not controller.built.start_task(PreparedTask(plan, ClassificationWriter(TASK.scenario, 7), 0))
    controller.built._on_state(states.good(EPOCH + 1_000_000))
    assert controller.built.pipeline.controller.mode is Mode.ANTE
    return controller.built.pipeline


@pytest.mark.parametrize(("joints", "taken"), [(6, 0), (0, 0), (8, 0), (7, 1)])
def test_a_controller_passes_over_events_of_another_arm(controller, joints, taken):
    pipeline = begun(controller)
    controller.built._is_new(ImpactEvent())
    event = ImpactEvent(index=1, joint_position=[0.0] * joints)
    to_stamp(EPOCH + 1_000_000, event.impact_time)
    controller.built._on_event(event)
    assert pipeline.judge.impacts == taken


@pytest.mark.parametrize("after", [-1, 0, 1])
def test_a_controller_whose_clock_was_set_back_takes_what_is_of_its_task(controller, after):
    pipeline = begun(controller, before=EPOCH + 10**10)
    controller.built._is_new(ImpactEvent())
    event = ImpactEvent(index=1, joint_position=[0.0] * 7)
    verdict = ImpactClassification(scenario="tabletop", answered=True, impact=ImpactClassification.UNEXPECTED)
    to_stamp(EPOCH + (1 + after) * 1_000_000, event.impact_time)
    to_stamp(EPOCH + (1 + after) * 1_000_000, verdict.header.stamp)
    controller.built._on_event(event)
    controller.built._on_classification(verdict)
    taken = after >= 0
    assert pipeline.judge.impacts == taken
    assert (pipeline.judge.impact is Verdict.UNEXPECTED) == taken


@pytest.mark.parametrize(("impact", "post_impact"), [(4, 0), (0, 200)])
def test_the_controller_passes_over_a_verdict_that_is_none(controller, impact, post_impact):
    pipeline = begun(controller)
    message = ImpactClassification(scenario="tabletop", impact=impact, post_impact=post_impact)
    to_stamp(EPOCH + 1_000_000, message.header.stamp)
    before = (pipeline.judge.impact, pipeline.judge.post_impact)
    controller.built._on_classification(message)
    assert (pipeline.judge.impact, pipeline.judge.post_impact) == before
    assert pipeline.controller.mode is Mode.ANTE


def test_a_partner_in_a_mode_that_is_not_known_may_have_stopped(controller):
    pipeline = begun(controller)
    for mode in (int(Mode.POST), 9):
        assert pipeline.controller.mode is Mode.ANTE
        status = ControllerStatus(mode=mode)
        to_stamp(EPOCH + 1_000_000, status.header.stamp)
        controller.built._partners._take_status("other", status)
    assert pipeline.controller.mode is Mode.STOPPED


@pytest.mark.parametrize(("after", "mode"), [(-1, Mode.ANTE), (1, Mode.INTERIM)])
def test_an_arm_waits_no_longer_for_its_impact_when_its_partner_has_had_one(controller, after, mode):
    """Of this task; what is of before it changes nothing."""
    pipeline = begun(controller)
    event = ImpactEvent(index=1, joint_position=[0.0] * 7)
    to_stamp(EPOCH + (1 + after) * 1_000_000, event.impact_time)
    controller.built._partners._take_event(FirstOfEvent(), event)
    states = JointStates(TASK.robot.joint_names, TASK.plan().reference.initial_configuration)
    for sample in (2, 3):
        controller.built._on_state(states.good(EPOCH + sample * 1_000_000))
    assert pipeline.controller.mode is mode
    assert pipeline.judge.impacts == 0


def test_a_goal_whose_preparation_fails_in_an_unknown_way_ends_with_the_reason(controller, monkeypatch):
    def fail(name, arm):
        raise KeyError("what nobody thought of")

    monkeypatch.setattr(impact_task, "assigned", fail)
    renew(controller)
    tasks = controller.built.tasks
    building = Building()
    tasks._build(ExecuteImpactTask.Goal(scenario="tabletop"), building)
    assert building.built == "KeyError: 'what nobody thought of'"
    tasks._building = building
    tasks.advance()
    assert not tasks._refusal()
