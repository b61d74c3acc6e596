"""Common part of all 1 kHz loops: reads, counts and times the joint states, and watches their publisher."""

from __future__ import annotations

import time

from rclpy.node import Node
from sensor_msgs.msg import JointState

from impact_control.control import QPStatus
from impact_control.robots import RobotDescription
from impact_control.util.errors import ImpactControlError
from impact_control.util.settings import SCENARIO
from impact_control_ros.bridge import qos, real_time, topics
from impact_control_ros.bridge.diagnostics import LoopDiagnostics, QueuedLog
from impact_control_ros.bridge.joint_states import JointStateReader
from impact_control_ros.bridge.lifecycle import Configuration, declare, declare_setting
from impact_control_ros.bridge.loop_output import ControlOutput, DetectionOutput
from impact_control_ros.bridge.rclpy_internals import only_namesakes, rival_publishers

LISTED = 30.0
"""[s] that DDS may list a node that was killed, at most: its lease is 20 s by default."""


def declare_arm(node: Node) -> None:
    """Declare the parameters that say for which arm of which scenario a node is built."""
    declare_setting(node, SCENARIO)
    declare(node, "arm", "", "which arm of a scene this node is for; empty for one-arm scenarios")


def declare_loop(node: Node) -> None:
    """Declare the parameters of a node around a `SampleLoop`."""
    declare_arm(node)
    found = "seconds that the publisher of the joint states may take to be found at activation"
    declare(node, "robot_patience", 10.0, found, bounds=(0.0, 60.0))


class SampleLoop(Configuration):
    """Loop over the joint states: `take` processes one, `publish` publishes the results.

    Attribute: log, whose waiting lines are counted in the diagnostics; None without one.
    """

    log: QueuedLog | None = None

    def __init__(self, node: Node, robot: RobotDescription, period: float) -> None:
        """Subscribe to the joint states of a robot; period [s]: of them."""
        super().__init__(node)
        self.when_closed(real_time.thaw_heap)  # gives the pipeline back to the collector
        self._period = period
        self._reader = JointStateReader(robot.joint_names)
        self._base: int | None = None
        self._samples = self._missed = self._last_stamp = 0
        self._last_arrival = time.monotonic()
        self._states = self.subscription(JointState, topics.JOINT_STATES, self._on_state, qos.STREAM, raw=True)
        self._sole = {topics.JOINT_STATES: self._states}
        self._outputs: list[ControlOutput | DetectionOutput] = []
        self._diagnostics = LoopDiagnostics(self, period)
        self.timer(1.0, self._on_diagnostics)

    def prepare(self) -> float:
        """Wait for the publisher of the joint states, and for the end of nodes that may be dead."""
        patience = float(self.node.value("robot_patience"))
        if not (dead := self._perhaps_dead()):
            return patience
        self.node.get_logger().warning(
            f"several publishers of {dead} with one name: waiting for the dead to be unlisted"
        )
        return max(patience, LISTED)

    def missing(self) -> str:
        """Return a topic without a publisher, or with several of which all but one may be dead; "" for none."""
        if not self._states.get_publisher_count():
            return str(self._states.topic_name)
        return self._perhaps_dead()

    def sole(self) -> list[str]:
        """Return the topics that have to have one publisher."""
        return [subscription.topic_name for subscription in self._sole.values()]

    def _perhaps_dead(self) -> str:
        return next((topic for topic in self.sole() if only_namesakes(self.node, topic)), "")

    def rival_sources(self) -> str:
        """Name the publishers of a topic that is subscribed to where there are several; "" for one."""
        rivals = (rival_publishers(self.node, one, topic) for topic, one in self._sole.items())
        return next(filter(None, rivals), "")

    def activate(self) -> None:
        """Reset the counters."""
        if topic := self.missing():
            raise ImpactControlError(f"no publisher of {topic}: is the robot side running?")
        if sources := self.rival_sources():
            raise ImpactControlError(f"{sources}; allowed: one")
        for output in self._outputs:
            output.reset()
        self._base = None
        self._samples = self._missed = self._last_stamp = 0
        self._last_arrival = time.monotonic()
        real_time.still_heap()

    # ------------------------------------------------------------------ for the classes derived from this one

    def take(self, seconds: float, *, usable: bool) -> None:
        """Use the joint state that was read, `seconds` on the clock of the samples; usable: see `JointStateReader`."""
        raise NotImplementedError

    def publish(self, base: int, elapsed: float) -> None:
        """Publish what was found. base: zero of the clock of the samples [ns]; elapsed [s]: of `take`."""
        raise NotImplementedError

    @property
    def repeated(self) -> bool:
        """True where the last joint state only repeats the one before."""
        return False

    @property
    def qp_status(self) -> QPStatus:
        """How the QP of this sample ended."""
        return QPStatus.NOT_USED

    # ------------------------------------------------------------------ one joint state

    def _on_state(self, data: bytes) -> None:
        if not self.active:
            return
        started = time.perf_counter()
        usable = self._reader.read(data)
        stamp = self._reader.stamp
        base = self._base
        if base is None:
            base = self._base = stamp
        self.take((stamp - base) * 1e-9, usable=usable)
        elapsed = time.perf_counter() - started
        passed_over = self._count(stamp)
        self.publish(base, elapsed)
        self._diagnostics.sample(stamp, elapsed, passed_over, self.qp_status)

    def _count(self, stamp: int) -> int:
        """Count a sample; return how many were missed just before it, by the stamps."""
        self._samples += 1
        # A state that only comes again is no sign of life.
        if stamp != self._last_stamp and not self.repeated:
            self._last_arrival = time.monotonic()
        passed_over = 0
        if self._last_stamp:
            passed_over = max(0, round((stamp - self._last_stamp) * 1e-9 / self._period) - 1)
            self._missed += passed_over
        self._last_stamp = stamp
        return passed_over

    def _on_diagnostics(self) -> None:
        if self.active:
            for output in self._outputs:
                output.look_for_listeners()
            self._diagnostics.publish(self._missed, self._samples, self.log.waiting if self.log else 0)
