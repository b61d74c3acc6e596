"""Joint states that cannot be used, and impacts from elsewhere: an impact and its verdict are published once."""

from __future__ import annotations

from types import SimpleNamespace

from impact_msgs.msg import ControllerReference, ImpactEvent
from rclpy.serialization import serialize_message
from surfaces.graph import EPOCH, renew

from harness import joint_state
from impact_control.classification import Verdict
from impact_control.control import Fault, Mode
from impact_control.planning.assignment import assigned
from impact_control_ros.bridge.impact_task import PreparedTask
from impact_control_ros.bridge.loop_output import ClassificationWriter
from impact_control_ros.bridge.messages import FirstOfEvent, to_stamp
from impact_control_ros.nodes.classifier import ClassifierNode
from impact_control_ros.nodes.detector import DetectorNode

TASK = assigned("tabletop")
PLAN = TASK.plan()


class Fed:
    """A node that gets samples 1 ms apart, and what it publishes of impacts.

    Attributes: impacts, how many a receiver takes its events for; verdicts, messages with them.
    """

    def __init__(self, node, monkeypatch):
        self.node = node
        self.impacts = self.verdicts = 0
        self._is_new = FirstOfEvent()
        self._stamp = EPOCH
        renew(node)
        output = node.built._output if isinstance(node, DetectorNode) else node.built._detection_output
        monkeypatch.setattr(output, "_event", SimpleNamespace(publish=self._take_event))
        if not isinstance(node, DetectorNode):
            monkeypatch.setattr(node.built, "_classification_publisher", SimpleNamespace(publish=self._take_verdict))

    def _take_event(self, event):
        self.impacts += self._is_new(event)

    def _take_verdict(self, message):
        self.verdicts += 1

    def sample(self, **fields):
        self._stamp += 1_000_000
        message = joint_state(self._stamp, PLAN.reference.initial_configuration, **fields)
        self.node.built._on_state(serialize_message(message))

    def hit(self):
        for _ in range(20):
            self.sample()
        assert self.impacts == 0
        self.sample(effort=[60.0] * 7)
        assert self.impacts == 1


UNUSABLE = {"names": ["another_joint", *TASK.robot.joint_names[1:]]}


def test_a_loop_tells_of_an_impact_once(graph, monkeypatch):
    fed = Fed(graph.add_loop("impact_loop"), monkeypatch)
    fed.sample()
    assert not fed.node.built.start_task(PreparedTask(PLAN, ClassificationWriter(TASK.scenario, 7), 0))
    fed.hit()
    verdicts = fed.verdicts
    for _ in range(3):
        fed.sample(**UNUSABLE)
    assert (fed.impacts, fed.verdicts) == (1, verdicts)
    controller = fed.node.built.pipeline.controller
    assert (controller.mode, controller.fault) == (Mode.FAULT, Fault.STATE_JOINT_NAMES)


def test_a_detector_tells_of_an_impact_once_and_goes_on(graph, monkeypatch):
    fed = Fed(graph.add_loop("detector", DetectorNode), monkeypatch)
    fed.hit()
    for _ in range(3):
        fed.sample(**UNUSABLE)
    assert fed.impacts == 1
    for _ in range(100):
        fed.sample()
    fed.sample(effort=[60.0] * 7)
    assert fed.impacts == 2


def test_the_classifier_tells_its_verdict_on_an_impact_that_another_has_detected_once(graph, monkeypatch):
    node = graph.add(ClassifierNode)
    node.trigger_configure()
    renew(node)
    told = []
    monkeypatch.setattr(node.built, "_publisher", SimpleNamespace(publish=lambda message: told.append(message.impact)))
    start = PLAN.reference.initial_configuration
    node.built._on_state(serialize_message(joint_state(EPOCH, start)))
    deviations = ("jump_deviation", "friction_deviation", "configuration_deviation")
    fields = dict.fromkeys(("ante_joint_velocity", "post_joint_velocity", *deviations), [0.0] * 7)
    reference = ControllerReference(
        scenario="tabletop", mode=int(Mode.ANTE), nominal_impact_time=1.8, impact_configuration=start.tolist(), **fields
    )
    to_stamp(EPOCH, reference.header.stamp)
    node.built._on_reference(reference)
    assert told == [Verdict.UNKNOWN]
    event = ImpactEvent(index=1, joint_position=start.tolist())
    for stamp in (event.header.stamp, event.impact_time):
        to_stamp(EPOCH + 1_000_000, stamp)
    # The samples before it may still wait for a core: it is judged once they are.
    node.built._on_event(event)
    to_stamp(EPOCH + 500_000, reference.header.stamp)
    node.built._on_reference(reference)
    assert told == [Verdict.UNKNOWN]
    to_stamp(EPOCH + 1_000_000, reference.header.stamp)
    node.built._on_reference(reference)
    assert told == [Verdict.UNKNOWN, Verdict.UNEXPECTED]
    node.built._on_event(event)  # with its link
    event.index = 2  # and one that comes late
    node.built._on_event(event)
    assert told == [Verdict.UNKNOWN, Verdict.UNEXPECTED]
    assert node.built._alone.judge.impacts == 2
