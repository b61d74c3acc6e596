"""Messages that are built from core objects in more than one node."""

from __future__ import annotations

from impact_msgs.msg import ImpactClassification

from impact_control.classification import Classifier
from impact_control.robots import load_robot
from impact_control.scenario import Scenario


class ClassificationWriter:
    """Fills ImpactClassification from a classifier; made once for a scenario."""

    def __init__(self, scenario: Scenario, n: int) -> None:
        c = scenario.classification
        robot = load_robot(scenario.robot.model, scenario.robot.end_effector, scenario.robot.motor_inertia)
        self._message = ImpactClassification(
            scenario=scenario.name,
            joint_names=list(robot.joint_names[:n]),
            time_error_limit=c.time_error,
            configuration_error_limit=c.configuration_error,
            envelope_margin=float(c.envelope_margin.max()),
        )

    def write(self, classifier: Classifier, impacts: int) -> ImpactClassification:
        """Return the message with the numbers behind the present verdicts; the caller stamps it."""
        message = self._message
        message.impact_index = impacts
        message.impact = int(classifier.impact)
        message.post_impact = int(classifier.post_impact)
        message.reason = classifier.reason
        message.impact_time = float(classifier.impact_time)
        message.time_error = float(classifier.time_error)
        message.configuration_error = float(classifier.configuration_error)
        message.envelope_lower = classifier.lower.tolist()
        message.envelope_upper = classifier.upper.tolist()
        message.margin = classifier.margin.tolist()
        message.decision_time = float(classifier.decision_time)
        return message
