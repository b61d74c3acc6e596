"""Nodes of this process that a test feeds by hand: a sample each millisecond, of an arm at the start of its task."""

from __future__ import annotations

from impact_msgs.msg import SupervisorStatus
from rclpy.serialization import serialize_message
from surfaces.graph import EPOCH, renew

from harness import joint_state
from impact_control.control import Fault, Mode
from impact_control.planning.assignment import assigned
from impact_control_ros.bridge.impact_task import PreparedTask
from impact_control_ros.bridge.loop_output import ClassificationWriter

TASK = assigned("tabletop")
PLAN = TASK.plan()
START = PLAN.reference.initial_configuration
PERIOD = 1_000_000
"""[ns] between two samples."""


class HandFed:
    """A node that was just activated, and has had no sample.

    Attributes: node; built, its configuration; position (7,) [rad] that is sent; stamp [ns] of the last sample.
    """

    def __init__(self, node):
        self.node, self.built = node, node.built
        self.position, self.stamp = START, EPOCH - PERIOD
        self.renew()

    def renew(self):
        """Let the node forget everything."""
        renew(self.node)

    @property
    def pipeline(self):
        return self.built.pipeline

    @property
    def fault(self):
        controller = self.pipeline.controller
        return controller.fault if controller.mode is Mode.FAULT else Fault.NONE

    def sample(self, count=1, *, after=PERIOD, **fields):
        """Send samples, each stamped so long [ns] after the last one; fields: see `joint_state`."""
        for _ in range(count):
            self.stamp += after
            self.built._on_state(serialize_message(joint_state(self.stamp, self.position, **fields)))

    def arm(self, plan=PLAN, begin=0):
        """Ask for a task that begins with a stamp [ns], or with the next sample; return why it is refused."""
        return self.built.start_task(PreparedTask(plan, ClassificationWriter(TASK.scenario, 7), begin))

    def begin(self):
        """Begin a task with the second sample."""
        self.sample()
        assert not self.arm()
        self.sample()

    def look(self):
        """Let the loop look at what is beside its samples."""
        self.built._on_slow_timer()

    def fall_silent(self):
        """Let a second pass without a sample."""
        self.built._last_arrival -= 1.0

    def supervise(self, state):
        """Let the status of a supervisor arrive."""
        self.built.supervision.take(SupervisorStatus(state=state, reason="asked to"))
