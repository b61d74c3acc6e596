"""Controller as a process of its own: impacts and verdicts come from detector and classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from impact_msgs.msg import ImpactClassification, ImpactEvent
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter

from impact_control.classification import Verdict
from impact_control.pipeline import Pipeline
from impact_control.pipeline.elsewhere import DetectorElsewhere
from impact_control.pipeline.judge import TaskJudge
from impact_control.planning.assignment import Assignment, assigned
from impact_control.util.errors import ImpactControlError
from impact_control_ros.bridge import qos, runtime, topics
from impact_control_ros.bridge.control_loop import ControlLoop
from impact_control_ros.bridge.impact_task import PreparedTask
from impact_control_ros.bridge.messages import FirstOfEvent, nanoseconds
from impact_control_ros.nodes.loop import LoopNode

_VERDICTS = frozenset(Verdict)
_OPEN = {Verdict.UNKNOWN, Verdict.NOT_STARTED}

EARLY = 20
"""Samples that a verdict may be ahead of the impact that it is on: both come from other processes."""


class ControllerLoop(ControlLoop):
    """A `Pipeline` that takes impacts and verdicts from topics.

    From one publisher each, and only where the own residual shows the impact: see `DetectorElsewhere`. A verdict is on
    an impact that is believed.
    """

    def __init__(self, node: Any) -> None:
        """Build the pipeline that the parameters of the node ask for, open the topics. node: a `LoopNode`."""
        assignment = assigned(node.value("scenario"), node.value("arm"))
        scenario, robot = assignment.scenario, assignment.robot
        self._detector = DetectorElsewhere(scenario, len(robot.joint_names))
        judge = TaskJudge(scenario, robot)
        super().__init__(node, assignment, Pipeline(scenario, robot, detector=self._detector, judge=judge))
        self._is_new = FirstOfEvent()
        self._last_classification = ImpactClassification()
        self._early: ImpactClassification | None = None
        self._waited = self._unbelieved = self._reported_unbelieved = 0
        for kind, topic, callback in (
            (ImpactEvent, topics.EVENTS, self._on_event),
            (ImpactClassification, topics.CLASSIFICATION, self._on_classification),
        ):
            self._sole[topic] = self.subscription(kind, topic, callback, qos.EVENT)
        self._classifier = self.client(SetParameters, "classifier/set_parameters")
        self._judged_by: list[Any] = []
        self._publishers: dict[str, set[tuple[int, ...]]] = {}

    def activate(self) -> None:
        """Note who publishes impacts and verdicts: the nodes that the graph has started before this one."""
        super().activate()
        self._publishers.clear()
        self._require_the_same_publishers()

    def publish_results(self, base: int) -> None:
        """Take a verdict that was ahead of its impact, or drop it."""
        if self._early is None:
            return
        self._waited += 1
        if self.pipeline.judge.impacts:
            self._take(self._early)
        elif self._waited > EARLY:
            self._early = None
            self._unbelieved += 1

    def watch_results(self) -> None:
        """Report impacts and verdicts that are not believed."""
        if (count := self._detector.unbelieved + self._unbelieved) != self._reported_unbelieved:
            self._reported_unbelieved = count
            what = "an impact event, or the verdict on one, is not believed"
            self.log.warning(f"{what}: the residual of this node shows no impact then; {count} so far")

    def prepare_results(self, assignment: Assignment) -> None:
        """Give the classifier a scenario by which it is to judge otherwise than before. Beside the loop."""
        self._require_the_same_publishers()
        if (wanted := _judged_by(assignment)) == self._judged_by:
            return
        parameter = Parameter("task", value=assignment.scene.to_yaml())
        answer = self.tasks.ask(self._classifier, SetParameters.Request(parameters=[parameter.to_parameter_msg()]))
        if not answer.results[0].successful:
            raise ImpactControlError(f"the classifier refuses the scenario: {answer.results[0].reason}")
        self._judged_by = wanted

    def _require_the_same_publishers(self) -> None:
        """Raise ImpactControlError when impacts or verdicts have a publisher with another gid than at the activation.

        One that is discovered later is noted at the first task.
        """
        for topic in (topics.EVENTS, topics.CLASSIFICATION):
            name = self._sole[topic].topic_name
            found = {tuple(one.endpoint_gid) for one in self.node.get_publishers_info_by_topic(name)}
            if found and self._publishers.setdefault(topic, found) != found:
                raise ImpactControlError(
                    f"another publisher of {topic} than at the activation: activate this node again to trust it"
                )

    def begin_results(self, task: PreparedTask) -> None:
        """Forget the verdicts of the task before."""
        self._last_classification = ImpactClassification()
        self._early = None

    def classification(self) -> ImpactClassification:
        """Return the verdicts of the last task."""
        return self._last_classification

    def _on_event(self, event: ImpactEvent) -> None:
        if not self.active or not self._is_new(event) or self._watch_sources():
            return
        # Events from before the task are kept by the publisher for late joiners; others are of another arm.
        seconds = self._since_start(nanoseconds(event.impact_time))
        detected = self._since_start(nanoseconds(event.header.stamp))
        ours = len(event.joint_position) == len(self._robot.joint_names)
        if ours and seconds is not None and detected is not None and self._detector.report(detected, seconds):
            self.pipeline.impact_detected(seconds, np.asarray(event.joint_position))

    def _on_classification(self, message: ImpactClassification) -> None:
        # Verdicts from before the task are kept by the publisher for late joiners.
        if not self.active or self._watch_sources() or self._since_start(nanoseconds(message.header.stamp)) is None:
            return
        if message.scenario == self.pipeline.scenario.name:
            if not {message.impact, message.post_impact} <= _VERDICTS:
                self.log.warning(f"unknown verdict: {message.impact}, {message.post_impact}")
            elif {message.impact, message.post_impact} <= _OPEN or self.pipeline.judge.impacts:
                self._take(message)
            else:
                self._early, self._waited = message, 0

    def _take(self, message: ImpactClassification) -> None:
        self._early, self._last_classification = None, message
        verdicts = Verdict(message.impact), Verdict(message.post_impact)
        self.pipeline.take_verdicts(*verdicts, answered=message.answered)


def _judged_by(assignment: Assignment) -> list[Any]:
    """Return the entries of a scenario that its classifier judges by."""
    entries = assignment.scene.document.plain()
    return [entries.get(section) for section in ("classification", "expected_environment")]


class ControllerNode(LoopNode):
    """Runs a `ControllerLoop`, with the parameters of a loop."""

    def __init__(self) -> None:
        super().__init__("controller", ControllerLoop)


def main() -> int:
    """Entry point of the process."""
    return runtime.run(ControllerNode, runtime.spin_until_stopped, priority=runtime.LOOP_PRIORITY)
