"""The 1 kHz loop of a controller whose detector and classifier have processes of their own."""

from __future__ import annotations

import numpy as np
from impact_msgs.msg import ImpactClassification, ImpactEvent

from impact_control.classification import Verdict
from impact_control.pipeline import Pipeline
from impact_control.pipeline.elsewhere import DetectorElsewhere, JudgeElsewhere
from impact_control.planning.assignment import Assignment
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.control_loop import ControlLoop
from impact_control_ros.bridge.impact_task import BUILT_IN, PreparedTask
from impact_control_ros.bridge.messages import FirstOfEvent, nanoseconds


class ControllerLoop(ControlLoop):
    """A `Pipeline` that takes impacts and verdicts from topics."""

    # The classifier keeps the tuning of the scenario that it was started with, and the surface that it expects.
    built_in = (*BUILT_IN, "classification", "expected_environment")

    def build_pipeline(self, assignment: Assignment) -> Pipeline:
        """Return the pipeline of an arm."""
        scenario, robot = assignment.scenario, assignment.robot
        detector = DetectorElsewhere(len(robot.joint_names))
        return Pipeline(scenario, robot, detector=detector, judge=JudgeElsewhere(scenario, robot))

    def open_results(self) -> None:
        """Open the topics of detections and verdicts."""
        self._is_new = FirstOfEvent()
        self._last_classification = ImpactClassification()
        self.subscription(ImpactEvent, topics.EVENTS, self._on_event, qos.EVENT)
        self.subscription(ImpactClassification, topics.CLASSIFICATION, self._on_classification, qos.EVENT)

    def begin_results(self, task: PreparedTask) -> None:
        """Forget the verdicts of the task before."""
        self._last_classification = ImpactClassification()

    def classification(self) -> ImpactClassification:
        """Return the verdicts of the last task."""
        return self._last_classification

    def _on_event(self, event: ImpactEvent) -> None:
        if not self.active or not self._is_new(event):
            return
        # Events from before the task are kept by the publisher for late joiners; others are of another arm.
        seconds = self._since_start(nanoseconds(event.impact_time))
        if seconds is not None and len(event.joint_position) == len(self._robot.joint_names):
            self.pipeline.impact_detected(seconds, np.asarray(event.joint_position))

    def _on_classification(self, message: ImpactClassification) -> None:
        # Verdicts from before the task are kept by the publisher for late joiners.
        if not self.active or self._since_start(nanoseconds(message.header.stamp)) is None:
            return
        if message.scenario == self.pipeline.scenario.name:
            try:
                verdicts = Verdict(message.impact), Verdict(message.post_impact)
            except ValueError:
                self.log.warning(f"unknown verdict: {message.impact}, {message.post_impact}")
                return
            self._last_classification = message
            self.pipeline.take_verdicts(*verdicts, answered=message.answered)
