"""What is known of the impacts of a task: their number, the verdicts on them, and whether the contact is full."""

from __future__ import annotations

import math
from typing import Protocol

from impact_control.classification import ExternalForce, Verdict
from impact_control.observation import MomentumObserver
from impact_control.parts import make_classifier, make_completion, make_held_force
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import Scenario
from impact_control.types import Vector


class PlannedImpact(Protocol):
    """The impact that is awaited: an `ImpactReference`, or what a recording says of one."""

    @property
    def nominal_impact_time(self) -> float:
        """Task time of the impact [s]."""

    @property
    def impact_configuration(self) -> Vector:
        """Configuration there (n,) [rad]."""


class Judge:
    """Classifier and contact completion of one arm, or the verdicts of a classifier that runs elsewhere.

    Attributes: classifier, completion, held_force, None where they are not needed here; impacts, detected so far;
    impact and post_impact, the verdicts; changed, whether they did with this sample or event.
    """

    def __init__(self, scenario: Scenario, robot: RobotDescription, *, classify: bool, complete: bool) -> None:
        """classify: with a classifier. complete: with contact completion, where the scenario has one."""
        self._joints = len(robot.joint_names)
        self.classifier = make_classifier(scenario, self._joints) if classify else None
        self.completion = make_completion(scenario, robot) if complete else None
        self.held_force = make_held_force(scenario) if classify else None
        self._external_force = ExternalForce(scenario.detection.observer_gain)
        self.changed = False
        self.forget()

    def forget(self) -> None:
        """Know of no impact."""
        self.impacts = 0
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED

    def start(self, scenario: Scenario, reference: PlannedImpact) -> None:
        """Judge a new task, with a classifier of its scenario's tuning. Not for the loop."""
        if self.classifier is not None:
            self.classifier = make_classifier(scenario, self._joints)
        self._await_impact(reference)

    def start_anew(self, reference: PlannedImpact) -> None:
        """Forget the touches that interrupted the task: its own impact is still to come, at its time of the task."""
        self._await_impact(reference)
        self.changed = self.classifier is not None

    def _await_impact(self, reference: PlannedImpact) -> None:
        self.forget()
        if self.classifier is not None:
            self.classifier.start(reference.nominal_impact_time, reference.impact_configuration)
        if self.completion is not None:
            self.completion.reset()
        if self.held_force is not None:
            self.held_force.start()

    def impact_detected(self, seconds: float, position: Vector) -> bool:
        """Take an impact at `seconds` of the task, position (n,) [rad]; tell whether its verdict may be answered."""
        self.impacts += 1
        classifier = self.classifier
        if classifier is None or not classifier.impact_detected(seconds, position):
            return False
        self._take_verdicts()
        return classifier.settled

    def update(self, seconds: float, velocity: Vector, expected: Vector) -> bool:
        """Take a sample, velocities (n,) [rad/s]; tell whether the verdicts may be answered.

        Not as long as the next impact of many may take them back, nor when the held force has changed one.
        """
        classifier = self.classifier
        if classifier is None:
            return False
        if classifier.update(seconds, velocity, expected):
            self._take_verdicts()
        return classifier.settled and self.post_impact is classifier.post_impact

    def contact_closes(self, seconds: float, dynamics: Dynamics, observer: MomentumObserver) -> bool:
        """Tell in which sample all points of the end-effector have come to touch, Proper 2021 section 5.2."""
        completion = self.completion
        if completion is None or completion.complete or not self.impacts:
            return False
        force = self._external_force.update(dynamics.jacobian, observer.residual, observer.residual_rate)
        if not completion.update(seconds, dynamics.rotation, dynamics.twist, force):
            return False
        if self.classifier is not None:
            self.classifier.contact_completed(seconds)
        return True

    def feel(self, seconds: float, dynamics: Dynamics, observer: MomentumObserver, exerted: Vector) -> None:
        """Judge the force after an expected behaviour, in post-impact mode; exerted (3,) [N], axes of A."""
        held, classifier = self.held_force, self.classifier
        if held is None or classifier is None or classifier.post_impact is not Verdict.EXPECTED:
            return
        since = seconds - classifier.impact_time
        if not held.due(since):
            return
        force = self._external_force.update(dynamics.jacobian, observer.residual, observer.residual_rate)
        if held.update(since, force, exerted) and held.verdict is Verdict.UNEXPECTED:
            self.post_impact = Verdict.UNEXPECTED
            self.changed = True

    @property
    def reason(self) -> str:
        """What decided last, in words with its numbers. Builds a string: not for every tick."""
        held = self.held_force
        if held is not None and held.verdict is Verdict.UNEXPECTED:
            return held.reason
        return "" if self.classifier is None else self.classifier.reason

    @property
    def decision_time(self) -> float:
        """When a verdict last changed [s], NaN before."""
        held, classifier = self.held_force, self.classifier
        if classifier is None:
            return math.nan
        if held is not None and held.verdict is Verdict.UNEXPECTED:
            return classifier.impact_time + held.parameters.after + held.parameters.window
        return classifier.decision_time

    def _take_verdicts(self) -> None:
        if self.classifier is not None:
            self.impact = self.classifier.impact
            self.post_impact = self.classifier.post_impact
            self.changed = True
