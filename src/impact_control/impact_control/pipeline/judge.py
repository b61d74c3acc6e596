"""Judgement of the impacts of a task: their number, the verdicts on them, and full contact."""

from __future__ import annotations

import math
from typing import Protocol

from impact_control.classification import (
    Classifier,
    ContactCompletion,
    ContactPath,
    EnvelopeMargin,
    ExternalForce,
    HeldForce,
    SimultaneousImpactClassifier,
    SingleImpactClassifier,
    Verdict,
    fixed_margin,
    probability_expected,
    propagated_margin,
    remaining_error,
)
from impact_control.observation import MomentumObserver
from impact_control.references import ExpectedImpact
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import SIMULTANEOUS, Classification, Scenario
from impact_control.util.types import Vector

NOISE_QUANTILE = 3.0
"""Standard deviations in the half-width of sensor noise, Proper 2021 (3.5) as in the Errata."""


def envelope_margin(
    scenario: Scenario, robot: RobotDescription, jump_deviation: Vector, friction_deviation: Vector
) -> EnvelopeMargin:
    """Return the margin of a task: the scenario's, or one from these deviations (n,) [rad/s], see `ExpectedImpact`."""
    c, control = scenario.classification, scenario.control
    if c.envelope_margin is not None:
        return fixed_margin(c.envelope_margin, jump_deviation.size)
    noise = robot.noise.velocity / NOISE_QUANTILE
    gain, interim, cutoff = control.gains.position, control.interim_duration, control.cutoff_frequency
    left = remaining_error(gain, interim, cutoff, c.post_impact_time)
    return propagated_margin(
        jump_deviation, friction_deviation, c.uncertainty.tracking, noise, c.uncertainty.limit, left
    )


def configuration_limit(classification: Classification, configuration_deviation: Vector) -> float:
    """Return epsilon of a task [rad]: the scenario's, and what joint friction does to the configuration.

        sqrt(epsilon^2 + limit^2 sum_i configuration_deviation_i^2)

    configuration_deviation (n,) [rad]: see `ExpectedImpact`. A fixed margin of the envelope leaves epsilon as it is.
    """
    if classification.envelope_margin is not None:
        return classification.configuration_error
    limit = classification.uncertainty.limit
    return math.hypot(classification.configuration_error, *(limit * configuration_deviation).tolist())


def make_classifier(classification: Classification, size: int) -> Classifier:
    """Return the classifier of this tuning for an arm of `size` joints."""
    c = classification
    if c.method == SIMULTANEOUS:
        return SimultaneousImpactClassifier(c, size, await_completion=c.completion is not None)
    return SingleImpactClassifier(c, size)


def _contact_path(scenario: Scenario) -> ContactPath | None:
    """Return what judges the way of the contact on the expected surface; None when the scenario does not ask for it."""
    c = scenario.classification
    if c.contact_path is None:
        return None
    return ContactPath(c.contact_path, c.uncertainty, scenario.expected_surface.normal, scenario.control.period)


class TaskJudge(Protocol):
    """Judge of the impacts of one arm as its pipeline sees it: a `Judge`, or one that stands for another process's.

    Attributes: impacts, detected so far; impact and post_impact, the verdicts; changed, True when one did with this
    sample or event.
    """

    impacts: int
    impact: Verdict
    post_impact: Verdict
    changed: bool

    @property
    def deviation(self) -> float:
        """Largest deviation so far from what is expected as a part of its limit; NaN where it is not known."""

    @property
    def probability(self) -> float:
        """Probability that impact and behaviour are as expected; NaN where it is not known."""

    @property
    def reason(self) -> str:
        """Reason of the last verdict, in words. Builds a string: not for every tick."""

    def forget(self) -> None:
        """Forget all impacts and verdicts."""

    def begin_task(self, scenario: Scenario, reference: ExpectedImpact) -> None:
        """Judge a new task by the tuning of its scenario. Not for the loop."""

    def await_impact_again(self, reference: ExpectedImpact) -> None:
        """Forget the touches that interrupted the task: its own impact is still to come, at its time of the task."""

    def impact_detected(self, seconds: float, position: Vector) -> bool:
        """Take an impact at `seconds` of the task, position (n,) [rad]; return whether the verdicts are answered."""

    def contact_closes(self, seconds: float, dynamics: Dynamics, observer: MomentumObserver) -> bool:
        """Return True in the sample in which all points of the end-effector touch, Proper 2021 section 5.2."""

    def judge(
        self, seconds: float, dynamics: Dynamics, observer: MomentumObserver, expected: Vector, exerted: Vector | None
    ) -> bool:
        """Take a sample at `seconds` of the task; return whether the verdicts are to be answered by a reaction.

        expected (n,) [rad/s]: joint velocity of the reference. exerted (3,) [N], axes of A: in post-impact mode; None
        in the others.
        """


class ContactWatch:
    """Contact completion by the external force, where the scenario has one.

    Attribute: completion, None where it has not.
    """

    def __init__(self, scenario: Scenario, robot: RobotDescription) -> None:
        c = scenario.classification.completion
        self.completion = None if c is None else ContactCompletion(robot.end_effector.contact_points, c)
        self._external_force = ExternalForce(scenario.detection.observer_gain)

    def reset(self) -> None:
        """Wait for the next contact."""
        if self.completion is not None:
            self.completion.reset()

    def closes(self, seconds: float, dynamics: Dynamics, observer: MomentumObserver) -> bool:
        """Take a sample after an impact; return whether it is the one in which all points of the end-effector touch."""
        completion = self.completion
        if completion is None or completion.complete:
            return False
        force = self._external_force.estimate(dynamics.jacobian, observer.residual, observer.residual_rate)
        return completion.observe(seconds, dynamics.rotation, dynamics.twist, force)


class Judge:
    """Classifier of one arm with all else that a verdict depends on; a `TaskJudge`.

    Attributes beside those: classifier; contact, the watch for full contact; held_force and contact_path, None where
    the scenario does not ask for them.
    """

    def __init__(self, scenario: Scenario, robot: RobotDescription) -> None:
        self._joints = len(robot.joint_names)
        self._robot, self._scenario = robot, scenario
        self.classifier = make_classifier(scenario.classification, self._joints)
        self.contact = ContactWatch(scenario, robot)
        held = scenario.classification.held_force
        self.held_force = None if held is None else HeldForce(held)
        self.contact_path = _contact_path(scenario)
        self._external_force = ExternalForce(scenario.detection.observer_gain)
        self.changed = False
        self._path_time = math.nan
        self.forget()

    def forget(self) -> None:
        """Forget all impacts and verdicts."""
        self._left_the_surface = False
        self._closed = math.nan
        self.impacts = 0
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED

    def begin_task(self, scenario: Scenario, reference: ExpectedImpact) -> None:
        """Judge a new task, with a classifier of its scenario's tuning. Not for the loop."""
        self._scenario = scenario
        self.classifier = make_classifier(scenario.classification, self._joints)
        self.contact_path = _contact_path(scenario)
        self._expect(reference)

    def await_impact_again(self, reference: ExpectedImpact) -> None:
        """Forget the touches that interrupted the task: its own impact is still to come, at its time of the task."""
        self._expect(reference)
        self.changed = True

    def _expect(self, reference: ExpectedImpact) -> None:
        self.forget()
        margin = envelope_margin(self._scenario, self._robot, reference.jump_deviation, reference.friction_deviation)
        limit = configuration_limit(self._scenario.classification, reference.configuration_deviation)
        self.classifier.await_impact(reference.nominal_impact_time, reference.impact_configuration, margin, limit)
        self.contact.reset()
        if self.held_force is not None:
            self.held_force.reset()
        if self.contact_path is not None:
            self.contact_path.reset(reference.height_deviation)

    def impact_detected(self, seconds: float, position: Vector) -> bool:
        """Take an impact at `seconds` of the task, position (n,) [rad]; return whether the verdicts are answered."""
        self.impacts += 1
        if not self.classifier.impact_detected(seconds, position):
            return False
        self._take_verdicts()
        return self.classifier.settled

    def contact_closes(self, seconds: float, dynamics: Dynamics, observer: MomentumObserver) -> bool:
        """Return True in the sample in which all points of the end-effector touch, Proper 2021 section 5.2."""
        if not self.impacts or not self.contact.closes(seconds, dynamics, observer):
            return False
        self.classifier.contact_completed(seconds)
        self._closed = seconds
        return True

    def judge(
        self, seconds: float, dynamics: Dynamics, observer: MomentumObserver, expected: Vector, exerted: Vector | None
    ) -> bool:
        """Judge velocity and, in post-impact mode, path and force; see `TaskJudge`."""
        if self.classifier.classify(seconds, dynamics.dq, expected):
            self._take_verdicts()
        if exerted is not None:
            self._judge_path(seconds, dynamics.position)
            self._judge_force(seconds, dynamics, observer, exerted)
        return self.answered

    @property
    def answered(self) -> bool:
        """True when a reaction is to answer the verdicts.

        Not as long as the next impact of many may take them back. That the held force is not as expected is only
        reported: to let go of what is carried would be worse than to carry it.
        """
        classifier = self.classifier
        return classifier.settled and (self.post_impact is classifier.post_impact or self._left_the_surface)

    def _judge_force(self, seconds: float, dynamics: Dynamics, observer: MomentumObserver, exerted: Vector) -> None:
        """Judge the force after an expected behaviour; exerted (3,) [N], axes of A."""
        held, classifier = self.held_force, self.classifier
        if held is None or classifier.post_impact is not Verdict.EXPECTED:
            return
        since = seconds - classifier.impact_time
        if not held.due(since):
            return
        force = self._external_force.estimate(dynamics.jacobian, observer.residual, observer.residual_rate)
        if held.compare(since, force, exerted) and held.verdict is Verdict.UNEXPECTED:
            self.post_impact = Verdict.UNEXPECTED
            self.changed = True

    def _judge_path(self, seconds: float, position: Vector) -> None:
        """Judge the way of the contact on the surface; position (3,) [m] of the end-effector."""
        path, classifier = self.contact_path, self.classifier
        if path is None or self._left_the_surface:
            return
        path.follow(seconds - (classifier.impact_time if self.contact.completion is None else self._closed), position)
        # As long as the classifier is not through, what it finds counts.
        if path.deviation <= 1.0 or classifier.post_impact is not Verdict.EXPECTED:
            return
        self._left_the_surface = True
        self.post_impact = Verdict.UNEXPECTED
        self._path_time = seconds
        self.changed = True

    @property
    def deviation(self) -> float:
        """Return the largest deviation so far from what is expected as a part of its limit."""
        path = self.contact_path
        return max(self.classifier.deviation, 0.0 if path is None else path.deviation)

    @property
    def probability(self) -> float:
        """Return the probability that impact and behaviour are as expected, by all that was seen so far."""
        return probability_expected(self.deviation)

    @property
    def reason(self) -> str:
        """Reason of the last verdict, in words with its numbers. Builds a string: not for every tick."""
        held = self.held_force
        if held is not None and held.verdict is Verdict.UNEXPECTED:
            return held.reason
        if self.contact_path is not None and self._left_the_surface:
            return self.contact_path.reason
        return self.classifier.reason

    @property
    def decision_time(self) -> float:
        """Time of the last change of a verdict [s], NaN before."""
        held = self.held_force
        if held is not None and held.verdict is Verdict.UNEXPECTED:
            return self.classifier.impact_time + held.settings.after + held.settings.window
        return self._path_time if self._left_the_surface else self.classifier.decision_time

    def _take_verdicts(self) -> None:
        self.impact = self.classifier.impact
        self.post_impact = self.classifier.post_impact
        self.changed = True
