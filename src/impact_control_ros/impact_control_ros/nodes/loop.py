"""The 1 kHz loop as a node: observer, detector, classifier and controller in one process."""

from __future__ import annotations

import math
from typing import Any

from impact_msgs.msg import ImpactClassification
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter

from impact_control.pipeline import Pipeline
from impact_control.pipeline.judge import Judge
from impact_control.planning.assignment import assigned
from impact_control.scenario import largest_gain
from impact_control_ros.bridge import qos, real_time, runtime, topics
from impact_control_ros.bridge.control_loop import GAINS, ControlLoop
from impact_control_ros.bridge.diagnostics import QueuedLog
from impact_control_ros.bridge.impact_task import PreparedTask
from impact_control_ros.bridge.lifecycle import ConfiguredNode, declare
from impact_control_ros.bridge.loop_output import ClassificationWriter, DetectionOutput
from impact_control_ros.bridge.messages import to_stamp
from impact_control_ros.bridge.sample_loop import declare_loop
from impact_control_ros.bridge.settings import UNNAMED

_GAINS = tuple(f"gains.{task}" for task in GAINS)
_NUMBER = Parameter.Type.DOUBLE

NYQUIST = 500.0
"""[Hz] Half of the rate of the loop: the largest cutoff of a low-pass of its command that does anything."""


class Loop(ControlLoop):
    """A `Pipeline` with its own detector and judge, whose results are published here."""

    def __init__(self, node: Any) -> None:
        """Build the pipeline that the parameters of the node ask for, open the topics. node: a `LoopNode`."""
        assignment = assigned(node.value("scenario"), node.value("arm"))
        self._judge = Judge(assignment.scenario, assignment.robot)
        super().__init__(node, assignment, Pipeline(assignment.scenario, assignment.robot, judge=self._judge))
        names = self._robot.joint_names
        self._verdicts = ClassificationWriter(self._scenario, len(names))
        self._detection_output = DetectionOutput(self, names, self._scenario.detection.rate_threshold)
        self._outputs.append(self._detection_output)
        self._classification_publisher = self.publisher(ImpactClassification, topics.CLASSIFICATION, qos.EVENT)

    def publish_results(self, base: int) -> None:
        """Publish detections and verdicts of a sample."""
        self._detection_output.publish(self.pipeline, self._reader, base)
        if self._judge.changed:
            self._classification_publisher.publish(self.classification())

    def begin_results(self, task: PreparedTask) -> None:
        """Publish that nothing is known of the task yet."""
        self._verdicts = task.writer
        self._classification_publisher.publish(self.classification())

    def classification(self) -> ImpactClassification:
        """Return the verdicts of the last task, with the stamp of the last sample."""
        message = self._verdicts.write(self._judge)
        to_stamp(self._reader.stamp, message.header.stamp)
        return message


class LoopNode(ConfiguredNode[ControlLoop]):
    """Runs a `Loop`. Attributes: log."""

    FIXED = ("scenario", "arm", "partners")

    def __init__(self, name: str = "impact_loop", build: type[ControlLoop] = Loop) -> None:
        super().__init__(name, build)
        declare_loop(self)
        silence = "seconds of wall time without a joint state after which a running task ends in a fault; "
        declare(self, "state_patience", 0.2, f"{silence}0: no limit, for lockstep", bounds=(0.0, 10.0))
        lost = (
            "seconds of wall time without a sign of life of the supervisor, or without one that watches, "
            "after which a task ends in a fault; 0: there is none"
        )
        declare(self, "supervisor_patience", 0.0, lost, bounds=(0.0, 10.0))
        declare(self, "partners", list(UNNAMED), "namespaces beside this one, of the other arms at the object")
        tasks = ("position of the end-effector", "orientation of the end-effector", "posture of joint 1")
        for gain, task in zip(_GAINS, tasks, strict=True):
            text = f"feedback gain k [1/s^2] of the {task}, also in a running task; 0: the scenario's"
            declare(self, gain, 0.0, text, bounds=(0.0, largest_gain(NYQUIST)))
        self.add_post_set_parameters_callback(self._on_parameters_set)
        self.log = QueuedLog(self.get_logger())

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        """Refuse also gains that the low-pass of the command does not bear."""
        result = super()._on_parameters(parameters)
        largest = math.inf if self.configured is None else self.configured.largest_gain
        high = [one.name for one in parameters if one.name in _GAINS and one.type_ is _NUMBER and one.value > largest]
        if not result.successful or not high:
            return result
        reason = f"{', '.join(high)}: at most {largest:.4g} 1/s^2 with control.cutoff_frequency of the scenario"
        return SetParametersResult(successful=False, reason=reason)

    def _on_parameters_set(self, parameters: list[Parameter]) -> None:
        if self.configured is not None and self.configured.active:
            self.configured.take_parameters()


def main() -> int:
    """Entry point of the process."""
    spin, priority = runtime.spin_until_stopped, runtime.LOOP_PRIORITY
    return runtime.run(LoopNode, spin, priority=priority, cores=real_time.LOOP_CORES)
