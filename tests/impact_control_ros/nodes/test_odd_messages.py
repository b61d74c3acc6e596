"""Messages that no node of ours sends, as one of another version or another arm might: passed over or refused."""

from __future__ import annotations

import math
import time

import pytest
import rclpy
from geometry_msgs.msg import Vector3
from impact_msgs.action import ExecuteImpactTask
from impact_msgs.msg import ControllerReference, ControllerStatus, ImpactClassification, ImpactEvent
from rclpy.serialization import serialize_message
from surfaces import BrokenPromiseError
from surfaces.graph import EPOCH, JointStates, renew

from harness import joint_state
from impact_control.classification import Verdict
from impact_control.control import Fault, Mode
from impact_control.planning.assignment import assigned
from impact_control_ros.bridge import impact_task, qos, topics
from impact_control_ros.bridge.impact_task import Building, PreparedTask
from impact_control_ros.bridge.loop_output import ClassificationWriter
from impact_control_ros.bridge.messages import FirstOfEvent, to_stamp
from impact_control_ros.nodes.classifier import ClassifierNode
from impact_control_ros.nodes.controller import ControllerNode
from impact_control_ros.nodes.detector import DetectorNode

TASK = assigned("tabletop")
PLAN = TASK.plan()
STATES = JointStates(TASK.robot.joint_names, PLAN.reference.initial_configuration)


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
        "friction_deviation": [0.01] * 7,
        "configuration_deviation": [0.01] * 7,
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
        {"friction_deviation": [0.01] * 6},
        {"friction_deviation": [0.01] * 6 + [-0.01]},
        {"friction_deviation": [math.nan] * 7},
        {"configuration_deviation": [0.01] * 8},
        {"configuration_deviation": [0.01] * 6 + [-0.01]},
        {"height_deviation": -1e-3},
        {"height_deviation": math.nan},
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


def test_the_classifier_judges_by_the_deviations_of_the_reference(classifier):
    sampled(classifier)
    classifier.built._on_reference(reference(configuration_deviation=[0.0] * 6 + [0.004], friction_deviation=[0.3] * 7))
    judged, tuning = classifier.built._alone.judge.classifier, classifier.built._alone.judge.classifier.parameters
    limit = tuning.uncertainty.limit
    assert judged.configuration_limit == pytest.approx(math.hypot(tuning.configuration_error, 0.004 * limit))
    assert judged.widening > 0.3 * limit


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
    controller.built._on_state(STATES.good(before))
    controller.built._on_state(STATES.good(EPOCH))
    assert not controller.built.start_task(PreparedTask(PLAN, ClassificationWriter(TASK.scenario, 7), 0))
    controller.built._on_state(STATES.good(EPOCH + 1_000_000))
    assert controller.built.pipeline.controller.mode is Mode.ANTE
    return controller.built.pipeline


def hit(controller):
    """Give a controller the sample of an impact, 2 ms after that in which its task began was held."""
    states = joint_state(EPOCH + 2_000_000, PLAN.reference.initial_configuration, effort=[60.0] * 7)
    controller.built._on_state(serialize_message(states))


def event_at(stamp, joints=7):
    """An event that was detected at a stamp [ns]."""
    event = ImpactEvent(index=1, joint_position=[0.0] * joints)
    to_stamp(stamp, event.header.stamp)
    to_stamp(stamp, event.impact_time)
    return event


@pytest.mark.parametrize(("joints", "taken"), [(6, 0), (0, 0), (8, 0), (7, 1)])
def test_a_controller_passes_over_events_of_another_arm(controller, joints, taken):
    pipeline = begun(controller)
    controller.built._is_new(ImpactEvent())
    controller.built._on_event(event_at(EPOCH + 1_000_000, joints))
    hit(controller)
    assert pipeline.judge.impacts == taken


@pytest.mark.parametrize("after", [-1, 0, 1])
def test_a_controller_whose_clock_was_set_back_takes_what_is_of_its_task(controller, after):
    pipeline = begun(controller, before=EPOCH + 10**10)
    controller.built._is_new(ImpactEvent())
    verdict = ImpactClassification(scenario="tabletop", answered=True, impact=ImpactClassification.UNEXPECTED)
    to_stamp(EPOCH + (1 + after) * 1_000_000, verdict.header.stamp)
    controller.built._on_event(event_at(EPOCH + (1 + after) * 1_000_000))
    controller.built._on_classification(verdict)
    hit(controller)
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


@pytest.mark.parametrize(
    "forged", [{"impact": 1, "post_impact": 1}, {"impact": 2, "post_impact": 2}, {"post_impact": 2}], ids=str
)
def test_the_controller_does_not_believe_a_verdict_on_an_impact_that_it_has_not_had(controller, monkeypatch, forged):
    pipeline, lines = begun(controller), []
    monkeypatch.setattr(controller.built.log, "warning", lines.append)
    message = ImpactClassification(scenario="tabletop", answered=True, **forged)
    to_stamp(EPOCH + 1_000_000, message.header.stamp)
    controller.built._on_classification(message)
    for sample in range(2, 30):
        controller.built._on_state(STATES.good(EPOCH + sample * 1_000_000))
    controller.built._on_slow_timer()
    assert (pipeline.judge.impact, pipeline.judge.post_impact) == (Verdict.UNKNOWN, Verdict.NOT_STARTED)
    assert pipeline.controller.mode is Mode.ANTE
    assert ["is not believed: the residual of this node shows no impact" in line for line in lines] == [True]


@pytest.mark.parametrize("topic", [topics.EVENTS, topics.CLASSIFICATION])
def test_of_two_publishers_of_events_or_verdicts_neither_is_believed(graph, controller, topic):
    pipeline, kind = begun(controller), qos.OFFERED[topic][0]
    nodes = [
        graph.add(lambda name=name: rclpy.create_node(name, namespace="/controller")) for name in ("one", "forger")
    ]
    publishers = [node.create_publisher(kind, topic, qos.EVENT) for node in nodes]
    await_publishers(controller, topic, 2)
    if kind is ImpactEvent:
        controller.built._on_event(event_at(EPOCH + 1_000_000))
    else:
        controller.built._on_classification(ImpactClassification(scenario="tabletop", impact=1, post_impact=1))
    hit(controller)
    assert (pipeline.controller.fault, pipeline.judge.impacts) == (Fault.RESULT_SOURCES, 0)
    named = f"RESULT_SOURCES: 2 publishers of {topic}: /controller/forger, /controller/one"
    assert controller.built.fault_reason() == named
    with pytest.raises(BrokenPromiseError):
        renew(controller)
    for node, publisher in zip(nodes, publishers, strict=True):
        node.destroy_publisher(publisher)
    await_publishers(controller, topic, 0)


def await_publishers(controller, topic, count):
    """Wait until a controller has found so many publishers of a topic, or their end."""
    end = time.monotonic() + 20.0
    while controller.built._sole[topic].get_publisher_count() != count:
        time.sleep(0.01)
        assert time.monotonic() < end, f"{topic}: not {count} publishers"


def test_a_detector_learns_from_the_status_whether_an_impact_is_awaited(graph):
    """Over DDS; a mode that is not known awaits none."""
    detection = graph.add_loop("detector", DetectorNode, served=True).built.detection
    sender = graph.add(lambda: rclpy.create_node("of_the_status", namespace="/detector"))
    publisher = sender.create_publisher(ControllerStatus, topics.STATUS, qos.STREAM)
    for mode, awaited in ((Mode.ANTE, True), (Mode.INTERIM, False), (Mode.MOVE, True), (Mode.POST, False), (10, False)):
        detection.awaits_impact = not awaited
        end = time.monotonic() + 20.0
        while detection.awaits_impact is not awaited:
            publisher.publish(ControllerStatus(mode=int(mode)))
            graph.executor.spin_once(timeout_sec=0.01)
            assert time.monotonic() < end, mode


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
    for sample in (2, 3):
        controller.built._on_state(STATES.good(EPOCH + sample * 1_000_000))
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
