"""Detector as a process of its own: joint states in; external torques and impacts out."""

from __future__ import annotations

import numpy as np
from impact_msgs.msg import ControllerStatus
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from impact_control.control import Mode
from impact_control.pipeline.alone import DetectorAlone
from impact_control.planning.assignment import assigned
from impact_control.util.types import Vector
from impact_control_ros.bridge import qos, runtime, topics
from impact_control_ros.bridge.lifecycle import ConfiguredNode
from impact_control_ros.bridge.loop_output import CommandReader, DetectionOutput
from impact_control_ros.bridge.sample_loop import SampleLoop, declare_loop

_AWAITING = (Mode.ANTE, Mode.MOVE)


class DetectorLoop(SampleLoop):
    """A `DetectorAlone` that runs on every joint state.

    A detector that compares torques with those commanded takes these from the commands: the last one that came before
    a joint state was commanded for it, because the controller answers that one later. Whether an impact is awaited it
    takes from where the controller's mode changes: its statuses are some samples late, and those before an impact still
    arrive after it.
    """

    def __init__(self, node: Node) -> None:
        """Build the detector that the parameters of the node ask for, open the topics."""
        assignment = assigned(node.value("scenario"), node.value("arm"))
        scenario, robot = assignment.scenario, assignment.robot
        n = len(robot.joint_names)
        self.detection = DetectorAlone(scenario, robot)
        super().__init__(node, robot, scenario.control.period)
        self._awaited = False
        self._commanded: Vector = np.zeros(n)
        self._commands = CommandReader(robot.joint_names)
        self._output = DetectionOutput(self, robot.joint_names, scenario.detection.rate_threshold)
        self._outputs.append(self._output)
        self.subscription(ControllerStatus, topics.STATUS, self._on_status, qos.STREAM)
        if scenario.detection.needs_commands:
            self.subscription(Float64MultiArray, topics.COMMANDS, self._on_command, qos.STREAM, raw=True)
        node.get_logger().info(f"ready to detect for {robot.name}, scenario {scenario.name}")

    def activate(self) -> None:
        """Start with cleared buffers."""
        super().activate()
        self.detection.reset()
        self._awaited = False
        self._commanded[:] = 0.0

    def take(self, seconds: float, *, usable: bool) -> None:
        """Look for an impact."""
        reader = self._reader
        if usable:
            self.detection.tick(seconds, reader.position, reader.velocity, reader.effort, self._commanded)
        else:
            self.detection.impact_now = False

    def publish(self, base: int, elapsed: float) -> None:
        """Publish external torque and impact."""
        self._output.publish(self.detection, self._reader, base)

    def _on_status(self, status: ControllerStatus) -> None:
        awaited = status.mode in _AWAITING
        if awaited is not self._awaited:
            self._awaited = self.detection.awaits_impact = awaited

    def _on_command(self, data: bytes) -> None:
        self._commands.read(data, self._commanded)


class DetectorNode(ConfiguredNode[DetectorLoop]):
    """Runs a `DetectorLoop`."""

    FIXED = ("scenario", "arm")

    def __init__(self) -> None:
        super().__init__("detector", DetectorLoop)
        declare_loop(self)


def main() -> int:
    """Entry point of the process."""
    return runtime.run(DetectorNode, runtime.spin_until_stopped, priority=runtime.LOOP_PRIORITY)
