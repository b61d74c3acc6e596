"""Messages that no node of ours sends, as one of another version or another arm might: passed over or refused.

Each impact and verdict is reported once, whatever follows it.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import rclpy
from geometry_msgs.msg import Vector3
from impact_msgs.action import ExecuteImpactTask
from impact_msgs.msg import ControllerReference, ControllerStatus, ImpactClassification, ImpactEvent
from surfaces import BrokenPromiseError
from surfaces.graph import EPOCH

from hand_fed import PERIOD, TASK, HandFed
from harness import until
from impact_control.classification import Verdict
from impact_control.control import Fault, Mode
from impact_control.planning.assignment import assigned
from impact_control.util.errors import ImpactControlError
from impact_control_ros.bridge import impact_task, qos, topics
from impact_control_ros.bridge.impact_task import Building
from impact_control_ros.bridge.messages import FirstOfEvent, to_stamp
from impact_control_ros.nodes.classifier import ClassifierNode
from impact_control_ros.nodes.controller import ControllerNode, _judged_by
from impact_control_ros.nodes.detector import DetectorNode


@pytest.fixture(scope="module")
def nodes(graph):
    made = {"classifier": graph.add(ClassifierNode), "controller": graph.add_loop("controller", ControllerNode)}
    made["classifier"].trigger_configure()
    return made


@pytest.fixture
def classifier(nodes):
    """A classifier that has had the joint state of `reference`."""
    fed = HandFed(nodes["classifier"])
    fed.sample()
    return fed


@pytest.fixture
def controller(nodes):
    return HandFed(nodes["controller"])


def reference(stamp=EPOCH, **changes):
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
    to_stamp(stamp, message.header.stamp)
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
    classifier.built._on_reference(reference(**odd))
    assert math.isnan(classifier.built._alone.start)
    classifier.built._on_reference(reference())
    assert classifier.built._alone.start == 0.0
    classifier.sample()
    classifier.built._on_reference(reference(**odd))
    assert classifier.built._alone._mode is Mode.ANTE


def test_the_classifier_judges_by_the_deviations_of_the_reference(classifier):
    classifier.built._on_reference(reference(configuration_deviation=[0.0] * 6 + [0.004], friction_deviation=[0.3] * 7))
    judged, tuning = classifier.built._alone.judge.classifier, classifier.built._alone.judge.classifier.parameters
    limit = tuning.uncertainty.limit
    assert judged.configuration_limit == pytest.approx(math.hypot(tuning.configuration_error, 0.004 * limit))
    assert judged.widening > 0.3 * limit


def test_the_classifier_passes_over_an_event_of_another_arm(classifier):
    classifier.built._on_reference(reference())
    for index, joints in enumerate((6, 8, 0, 7), 1):
        event = ImpactEvent(index=index, joint_position=[0.0] * joints)
        to_stamp(EPOCH + index, event.impact_time)
        classifier.built._on_event(event)
    assert classifier.built._alone.judge.impacts == 1


def begun(controller, set_back=0):
    """The pipeline of a controller with a task that has begun; set_back: its clock before [ns]."""
    controller.sample(after=PERIOD + set_back)
    if set_back:
        controller.sample(after=-set_back)
    assert not controller.arm()
    controller.sample()
    assert controller.pipeline.controller.mode is Mode.ANTE
    return controller.pipeline


def hit(controller):
    """Give a controller the sample of an impact, 2 ms after that in which its task began was held."""
    controller.sample(effort=[60.0] * 7)


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
    pipeline = begun(controller, set_back=10**10)
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
    controller.sample(28)
    controller.look()
    assert (pipeline.judge.impact, pipeline.judge.post_impact) == (Verdict.UNKNOWN, Verdict.NOT_STARTED)
    assert pipeline.controller.mode is Mode.ANTE
    assert ["is not believed: the residual of this node shows no impact" in line for line in lines] == [True]


def assert_refused(controller, kind):
    """Give a controller a result of a kind, and the sample of an impact: it goes to a fault, and judges nothing."""
    controller.built._is_new(ImpactEvent())  # else it may be that of the test before
    if kind is ImpactEvent:
        controller.built._on_event(event_at(EPOCH + 1_000_000))
    else:
        controller.built._on_classification(ImpactClassification(scenario="tabletop", impact=1, post_impact=1))
    hit(controller)
    pipeline = controller.pipeline
    assert (pipeline.controller.fault, pipeline.judge.impacts) == (Fault.RESULT_SOURCES, 0)


@pytest.mark.parametrize("topic", [topics.EVENTS, topics.CLASSIFICATION])
def test_of_two_publishers_of_events_or_verdicts_neither_is_believed(graph, controller, topic):
    kind = qos.OFFERED[topic][0]
    begun(controller)
    nodes = [
        graph.add(lambda name=name: rclpy.create_node(name, namespace="/controller")) for name in ("one", "forger")
    ]
    publishers = [node.create_publisher(kind, topic, qos.EVENT) for node in nodes]
    await_publishers(controller, topic, 2)
    assert_refused(controller, kind)
    named = f"RESULT_SOURCES: 2 publishers of {topic}: /controller/forger, /controller/one"
    assert controller.built.fault_reason() == named
    with pytest.raises(BrokenPromiseError):
        controller.renew()
    for node, publisher in zip(nodes, publishers, strict=True):
        node.destroy_publisher(publisher)
    await_publishers(controller, topic, 0)


@pytest.mark.parametrize("topic", [topics.EVENTS, topics.CLASSIFICATION])
def test_a_publisher_in_the_place_of_the_first_is_not_believed_in_a_task(graph, controller, topic):
    """A detector that was restarted before the task is; nobody is who comes in it, and who sends and goes neither."""
    kind = qos.OFFERED[topic][0]
    node = graph.add(lambda: rclpy.create_node("restarted", namespace="/controller"))

    def come_and_go():
        publisher = node.create_publisher(kind, topic, qos.EVENT)
        await_publishers(controller, topic, 1)
        node.destroy_publisher(publisher)
        await_publishers(controller, topic, 0)

    come_and_go()
    pipeline = begun(controller)
    controller.look()
    assert pipeline.controller.mode is Mode.ANTE
    come_and_go()
    assert_refused(controller, kind)
    assert controller.built.fault_reason() == f"RESULT_SOURCES: another publisher of {topic} within the task"


@pytest.mark.parametrize("topic", [topics.EVENTS, topics.CLASSIFICATION])
def test_before_a_task_a_publisher_in_the_place_of_the_first_is_refused_until_the_next_activation(
    graph, controller, topic
):
    kind, node = qos.OFFERED[topic][0], graph.add(lambda: rclpy.create_node("replaced", namespace="/controller"))
    loop, assignment = controller.built, assigned("tabletop")
    loop._publishers.clear()
    loop._judged_by = _judged_by(assignment)

    def publisher():
        made = node.create_publisher(kind, topic, qos.EVENT)
        name = loop._sole[topic].topic_name
        until(lambda: loop.node.get_publishers_info_by_topic(name), f"a publisher of {topic}", 20.0)
        return made

    first = publisher()
    for _ in range(2):
        loop.prepare_results(assignment)
    node.destroy_publisher(first)
    until(lambda: not loop.node.get_publishers_info_by_topic(loop._sole[topic].topic_name), "the end of it", 20.0)
    second = publisher()
    with pytest.raises(ImpactControlError, match=f"another publisher of {topic} than at the activation"):
        loop.prepare_results(assignment)
    loop._publishers.clear()
    loop.prepare_results(assignment)
    node.destroy_publisher(second)
    await_publishers(controller, topic, 0)


def await_publishers(controller, topic, count):
    """Wait until a controller has found so many publishers of a topic, or their end."""
    found = controller.built._sole[topic]
    until(lambda: found.get_publisher_count() == count, f"{count} publishers of {topic}", 20.0)


@pytest.fixture(scope="module")
def detector(graph):
    return graph.add_loop("detector", DetectorNode, served=True)


def test_a_detector_learns_from_the_status_whether_an_impact_is_awaited(graph, detector):
    """Over DDS; a mode that is not known awaits none."""
    detection = detector.built.detection
    sender = graph.add(lambda: rclpy.create_node("of_the_status", namespace="/detector"))
    publisher = sender.create_publisher(ControllerStatus, topics.STATUS, qos.STREAM)
    for mode, awaited in ((Mode.ANTE, True), (Mode.INTERIM, False), (Mode.MOVE, True), (10, False), (Mode.ANTE, True)):

        def tell(mode=mode):
            publisher.publish(ControllerStatus(mode=int(mode)))
            graph.executor.spin_once(timeout_sec=0.01)

        until(lambda awaited=awaited: detection.awaits_impact is awaited, f"mode {mode}", 20.0, tell)
    detection.awaits_impact = False  # as by its own impact, before the controller has heard of it
    for mode, awaited in ((Mode.ANTE, False), (Mode.INTERIM, False), (Mode.ANTE, True)):
        detector.built._on_status(ControllerStatus(mode=int(mode)))
        assert detection.awaits_impact is awaited


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
    controller.sample(2)
    assert pipeline.controller.mode is mode
    assert pipeline.judge.impacts == 0


def test_a_goal_whose_preparation_fails_in_an_unknown_way_ends_with_the_reason(controller, monkeypatch):
    def fail(name, arm):
        raise KeyError("what nobody thought of")

    monkeypatch.setattr(impact_task.GoalFiles, "assigned", staticmethod(fail))
    tasks = controller.built.tasks
    building = tasks._building = Building()
    tasks._build(ExecuteImpactTask.Goal(scenario="tabletop"), building)
    tasks._building = None
    assert building.built == "KeyError: 'what nobody thought of'"
    tasks._building = building
    tasks.advance()
    assert not tasks._refusal()


# ---------------------------------------------------------------------- told once


class Told(HandFed):
    """A node, and what it publishes of impacts: how many a receiver takes its events for, and its verdicts."""

    def __init__(self, node, output, monkeypatch):
        super().__init__(node)
        self.impacts, is_new = 0, FirstOfEvent()

        def take(event):
            self.impacts += is_new(event)

        monkeypatch.setattr(output, "_event", SimpleNamespace(publish=take))

    def hit(self):
        self.sample(20)
        assert self.impacts == 0
        self.sample(effort=[60.0] * 7)
        assert self.impacts == 1


UNUSABLE = {"names": ["another_joint", *TASK.robot.joint_names[1:]]}


def test_a_loop_tells_of_an_impact_once(graph, monkeypatch):
    node, verdicts = graph.add_loop("impact_loop"), []
    told = Told(node, node.built._detection_output, monkeypatch)
    monkeypatch.setattr(node.built, "_classification_publisher", SimpleNamespace(publish=verdicts.append))
    told.sample()
    assert not told.arm()
    told.hit()
    before = len(verdicts)
    told.sample(3, **UNUSABLE)
    assert (told.impacts, len(verdicts), told.fault) == (1, before, Fault.STATE_JOINT_NAMES)


def test_a_detector_tells_of_an_impact_once_and_goes_on(detector, monkeypatch):
    told = Told(detector, detector.built._output, monkeypatch)
    told.hit()
    told.sample(3, **UNUSABLE)
    assert told.impacts == 1
    told.sample(100)
    told.sample(effort=[60.0] * 7)
    assert told.impacts == 2


def test_the_classifier_tells_its_verdict_on_an_impact_that_another_has_detected_once(classifier, monkeypatch):
    told, built = [], classifier.built
    monkeypatch.setattr(built, "_publisher", SimpleNamespace(publish=lambda message: told.append(message.impact)))
    exact = dict.fromkeys(("jump_deviation", "friction_deviation", "configuration_deviation"), [0.0] * 7)
    exact["impact_configuration"] = classifier.position.tolist()
    built._on_reference(reference(**exact))
    assert told == [Verdict.UNKNOWN]
    event = event_at(EPOCH + PERIOD)
    event.joint_position = classifier.position.tolist()
    # The samples before it may still wait for a core: it is judged once they are.
    built._on_event(event)
    built._on_reference(reference(EPOCH + PERIOD // 2, **exact))
    assert told == [Verdict.UNKNOWN]
    built._on_reference(reference(EPOCH + PERIOD, **exact))
    assert told == [Verdict.UNKNOWN, Verdict.UNEXPECTED]
    built._on_event(event)  # with its link
    event.index = 2  # and one that comes late
    built._on_event(event)
    assert told == [Verdict.UNKNOWN, Verdict.UNEXPECTED]
    assert built._alone.judge.impacts == 2
