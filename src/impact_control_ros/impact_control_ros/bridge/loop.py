"""The 1 kHz loop of a node with everything in it: joint states in; torques, detections, verdicts and results out."""

from __future__ import annotations

from impact_msgs.msg import ImpactClassification

from impact_control.pipeline import Pipeline
from impact_control.pipeline.judge import Judge
from impact_control.planning.assignment import Assignment
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.control_loop import ControlLoop
from impact_control_ros.bridge.impact_task import BUILT_IN, PreparedTask
from impact_control_ros.bridge.loop_output import ClassificationWriter, DetectionOutput
from impact_control_ros.bridge.messages import to_stamp


class Loop(ControlLoop):
    """A `Pipeline` with its own detector and judge, whose results are published here."""

    built_in = BUILT_IN

    def build_pipeline(self, assignment: Assignment) -> Pipeline:
        """Return the pipeline of an arm."""
        self._judge = Judge(assignment.scenario, assignment.robot)
        return Pipeline(assignment.scenario, assignment.robot, judge=self._judge)

    def open_results(self) -> None:
        """Open the topics of detections and verdicts."""
        names = self._robot.joint_names
        self._verdicts = ClassificationWriter(self._scenario, len(names))
        self._detection_output = DetectionOutput(self, names, self._scenario.detection.rate_threshold)
        self._classification_publisher = self.publisher(ImpactClassification, topics.CLASSIFICATION, qos.EVENT)

    def activate(self) -> None:
        """Start with cleared buffers."""
        super().activate()
        self._detection_output.reset()

    def look_for_listeners(self) -> None:
        """Notice new listeners to all that is published with every sample."""
        super().look_for_listeners()
        self._detection_output.look_for_listeners()

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
