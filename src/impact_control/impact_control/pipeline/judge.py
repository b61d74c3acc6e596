"""Judgement of the impacts of a task: their number, the verdicts on them, and full contact."""

from __future__ import annotations

import math

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
from impact_control.scenario import (
    SIMULTANEOUS,
    Classification,
    ContactPathSettings,
    HeldForceSettings,
    Scenario,
)
from impact_control.util.types import Matrix, Vector

NOISE_QUANTILE = 3.0
"""Standard deviations in the half-width of sensor noise, Proper 2021 (3.5) as in the Errata."""

NEVER = 1e9
"""[s] after an impact: begin of a check that the scenario does not ask for."""

_NO_HELD_FORCE = HeldForceSettings(after=NEVER, window=1.0, limit=1.0)
_NO_CONTACT_PATH = ContactPathSettings(begin=NEVER, window=1e-3)


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


def _contact_path(scenario: Scenario) -> ContactPath:
    """Return the check of the contact path on the expected surface, which never begins without one in the scenario."""
    c = scenario.classification
    settings = c.contact_path or _NO_CONTACT_PATH
    return ContactPath(settings, c.uncertainty, scenario.expected_environment.surface.normal, scenario.control.period)


class CompleteAtOnce:
    """Full contact where a scenario has no settings of it: complete with the impact."""

    complete = True

    def reset(self) -> None:
        """Wait for nothing."""

    def observe(self, time: float, rotation: Matrix, twist: Vector, force: Vector) -> bool:
        """Return False: nothing is left to be completed."""
        return False


class ContactWatch:
    """Contact completion by the external force, where the scenario has one.

    Attributes: completion; awaited, whether it takes time.
    """

    def __init__(self, scenario: Scenario, robot: RobotDescription) -> None:
        c = scenario.classification.completion
        self.awaited = c is not None
        self.completion = CompleteAtOnce() if c is None else ContactCompletion(robot.end_effector.contact_points, c)
        self._external_force = ExternalForce(scenario.detection.observer_gain)

    def reset(self) -> None:
        """Wait for the next contact."""
        self.completion.reset()

    def closes(self, seconds: float, dynamics: Dynamics, observer: MomentumObserver) -> bool:
        """Take a sample after an impact; return whether it is the one in which all points of the end-effector touch."""
        completion = self.completion
        if completion.complete:
            return False
        force = self._external_force.estimate(dynamics.jacobian, observer.residual, observer.residual_rate)
        return completion.observe(seconds, dynamics.rotation, dynamics.twist, force)


class TaskJudge:
    """Count of the impacts of a task, and the verdicts on them, of one arm.

    This one finds no verdicts: it holds those of another process, which come by `Pipeline.take_verdicts`, and watches
    for full contact, for which an interim mode may wait: a message would come too late. `Judge` finds its own.

    Attributes: impacts, detected so far; impact and post_impact, the verdicts; changed, True when one did with this
    sample or event; contact, the watch for full contact.
    """

    def __init__(self, scenario: Scenario, robot: RobotDescription) -> None:
        self.contact = ContactWatch(scenario, robot)
        self.changed = False
        self.impacts = 0
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED

    @property
    def answered(self) -> bool:
        """Whether a reaction is to answer the verdicts; here they are answered when they come."""
        return False

    @property
    def deviation(self) -> float:
        """Largest deviation so far from what is expected as a part of its limit; NaN where it is not known."""
        return math.nan

    @property
    def probability(self) -> float:
        """Probability that impact and behaviour are as expected; NaN where it is not known."""
        return math.nan

    @property
    def reason(self) -> str:
        """Reason of the last verdict, in words. Builds a string: not for every tick."""
        return ""

    def forget(self) -> None:
        """Forget all impacts and verdicts."""
        self.impacts = 0
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED

    def begin_task(self, scenario: Scenario, reference: ExpectedImpact) -> None:
        """Judge a new task by the tuning of its scenario. Not for the loop."""
        self.await_impact_again(reference)

    def await_impact_again(self, reference: ExpectedImpact) -> None:
        """Forget the touches that interrupted the task: its own impact is still to come, at its time of the task."""
        self.forget()
        self.contact.reset()

    def impact_detected(self, seconds: float, position: Vector) -> bool:
        """Take an impact at `seconds` of the task, position (n,) [rad]; return whether the verdicts are answered."""
        self.impacts += 1
        return False

    def contact_closes(self, seconds: float, dynamics: Dynamics, observer: MomentumObserver) -> bool:
        """Return True in the sample in which all points of the end-effector touch, Proper 2021 section 5.2."""
        return self.impacts > 0 and self.contact.closes(seconds, dynamics, observer)

    def judge_velocity(self, seconds: float, velocity: Vector, expected: Vector) -> None:
        """Take a sample at `seconds` of the task: velocity of the joints and of the reference (n,) [rad/s]."""

    def judge_contact(self, seconds: float, dynamics: Dynamics, observer: MomentumObserver, exerted: Vector) -> None:
        """Take it in post-impact mode, too; exerted (3,) [N], axes of A: force of the reference."""


class Judge(TaskJudge):
    """Classifier of one arm with all else that a verdict depends on.

    Attributes beside those of `TaskJudge`: classifier; held_force; contact_path.
    """

    def __init__(self, scenario: Scenario, robot: RobotDescription) -> None:
        super().__init__(scenario, robot)
        self._joints = len(robot.joint_names)
        self._robot, self._scenario = robot, scenario
        self.classifier = make_classifier(scenario.classification, self._joints)
        self.held_force = HeldForce(scenario.classification.held_force or _NO_HELD_FORCE)
        self.contact_path = _contact_path(scenario)
        self._external_force = ExternalForce(scenario.detection.observer_gain)
        self._left_the_surface = False
        self._closed = self._path_time = math.nan

    def forget(self) -> None:
        """Forget all impacts and verdicts."""
        super().forget()
        self._left_the_surface = False
        self._closed = math.nan

    def tune(self, scenario: Scenario) -> None:
        """Judge what comes by the tuning of a scenario, with a new classifier. Not for the loop."""
        self._scenario = scenario
        self.classifier = make_classifier(scenario.classification, self._joints)
        self.contact_path = _contact_path(scenario)

    def begin_task(self, scenario: Scenario, reference: ExpectedImpact) -> None:
        """Judge a new task, see `TaskJudge`."""
        self.tune(scenario)
        self._expect(reference)

    def await_impact_again(self, reference: ExpectedImpact) -> None:
        """Await the impact, see `TaskJudge`; the verdicts change by it."""
        self._expect(reference)
        self.changed = True

    def _expect(self, reference: ExpectedImpact) -> None:
        super().await_impact_again(reference)
        margin = envelope_margin(self._scenario, self._robot, reference.jump_deviation, reference.friction_deviation)
        limit = configuration_limit(self._scenario.classification, reference.configuration_deviation)
        self.classifier.await_impact(reference.nominal_impact_time, reference.impact_configuration, margin, limit)
        self.held_force.reset()
        self.contact_path.reset(reference.height_deviation)

    def impact_detected(self, seconds: float, position: Vector) -> bool:
        """Judge an impact, see `TaskJudge`."""
        self.impacts += 1
        if not self.classifier.impact_detected(seconds, position):
            return False
        self._take_verdicts()
        return self.classifier.settled

    def contact_closes(self, seconds: float, dynamics: Dynamics, observer: MomentumObserver) -> bool:
        """Let the classifier know of full contact, see `TaskJudge`."""
        if not super().contact_closes(seconds, dynamics, observer):
            return False
        self.classifier.contact_completed(seconds)
        self._closed = seconds
        return True

    def judge_velocity(self, seconds: float, velocity: Vector, expected: Vector) -> None:
        """Judge the velocity, see `TaskJudge`."""
        if self.classifier.classify(seconds, velocity, expected):
            self._take_verdicts()

    def judge_contact(self, seconds: float, dynamics: Dynamics, observer: MomentumObserver, exerted: Vector) -> None:
        """Judge path and force, see `TaskJudge`."""
        self._judge_path(seconds, dynamics.position)
        self._judge_force(seconds, dynamics, observer, exerted)

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
        if classifier.post_impact is not Verdict.EXPECTED:
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
        if self._left_the_surface:
            return
        path.follow(seconds - (self._closed if self.contact.awaited else classifier.impact_time), position)
        # Until the classifier has decided, its own findings count.
        if path.deviation <= 1.0 or classifier.post_impact is not Verdict.EXPECTED:
            return
        self._left_the_surface = True
        self.post_impact = Verdict.UNEXPECTED
        self._path_time = seconds
        self.changed = True

    @property
    def deviation(self) -> float:
        """Return the largest deviation so far from what is expected as a part of its limit."""
        return max(self.classifier.deviation, self.contact_path.deviation)

    @property
    def probability(self) -> float:
        """Return the probability that impact and behaviour are as expected, by all that was seen so far."""
        return probability_expected(self.deviation)

    @property
    def reason(self) -> str:
        """Reason of the last verdict, in words with its numbers. Builds a string: not for every tick."""
        if self.held_force.verdict is Verdict.UNEXPECTED:
            return self.held_force.reason
        return self.contact_path.reason if self._left_the_surface else self.classifier.reason

    @property
    def decision_time(self) -> float:
        """Time of the last change of a verdict [s], NaN before."""
        held = self.held_force
        if held.verdict is Verdict.UNEXPECTED:
            return self.classifier.impact_time + held.settings.after + held.settings.window
        return self._path_time if self._left_the_surface else self.classifier.decision_time

    def _take_verdicts(self) -> None:
        self.impact = self.classifier.impact
        self.post_impact = self.classifier.post_impact
        self.changed = True
