"""Joint states that cannot be used, and impacts from elsewhere: an impact and its verdict are told once."""

from __future__ import annotations

from types import SimpleNamespace

from harness import joint_state
from impact_msgs.msg import ImpactEvent
from rclpy.serialization import serialize_message
from surfaces.graph import EPOCH, renew

from impact_control.assignment import assigned
from impact_control.control import Fault, Mode
from impact_control.nodes.impact_task import PreparedTask
from impact_control.nodes.messages import FirstOfEvent, to_stamp
from impact_control.nodes.writers import ClassificationWriter

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
        if node._detection_output is not None:
            monkeypatch.setattr(node._detection_output, "_event", SimpleNamespace(publish=self._take_event))
        if node._classifies:
            monkeypatch.setattr(node, "_classification_publisher", SimpleNamespace(publish=self._take_verdict))

    def _take_event(self, event):
        self.impacts += self._is_new(event)

    def _take_verdict(self, message):
        self.verdicts += 1

    def sample(self, **fields):
        self._stamp += 1_000_000
        message = joint_state(self._stamp, PLAN.reference.initial_configuration, **fields)
        self.node._on_state(serialize_message(message))

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
    assert not fed.node.start_task(PreparedTask(PLAN, ClassificationWriter(TASK.scenario, 7), 0))
    fed.hit()
    verdicts = fed.verdicts
    for _ in range(3):
        fed.sample(**UNUSABLE)
    assert (fed.impacts, fed.verdicts) == (1, verdicts)
    controller = fed.node._pipeline.controller
    assert (controller.mode, controller.fault) == (Mode.FAULT, Fault.STATE_JOINT_NAMES)


def test_a_detector_tells_of_an_impact_once_and_goes_on(graph, monkeypatch):
    fed = Fed(graph.add_loop("detector", classify=False, control=False), monkeypatch)
    fed.hit()
    for _ in range(3):
        fed.sample(**UNUSABLE)
    assert fed.impacts == 1
    for _ in range(100):
        fed.sample()
    fed.sample(effort=[60.0] * 7)
    assert fed.impacts == 2


def test_a_loop_tells_its_verdict_on_an_impact_that_another_has_detected(graph, monkeypatch):
    fed = Fed(graph.add_loop("controller", detect=False), monkeypatch)
    fed.sample()
    assert not fed.node.start_task(PreparedTask(PLAN, ClassificationWriter(TASK.scenario, 7), 0))
    fed.sample()
    before = fed.verdicts
    event = ImpactEvent(joint_position=[float(q) for q in PLAN.reference.initial_configuration])
    to_stamp(fed._stamp, event.header.stamp)
    to_stamp(fed._stamp, event.impact_time)
    fed.node._on_event(event)
    assert fed.verdicts == before + 1
    fed.sample()
    assert fed.verdicts == before + 1
    fed.node._pipeline.judge.changed = True  # as after a sample with a verdict, which was told then
    event.index += 1
    fed.node._on_event(event)
    assert fed.node._pipeline.judge.impacts == 2
    assert fed.verdicts == before + 1
