"""The parts of a pipeline, and their settings, as a scenario chooses them."""

from __future__ import annotations

import math

import numpy as np

from impact_control import detection
from impact_control.classification import (
    Classifier,
    ClassifierParameters,
    ContactCompletion,
    ContactPath,
    EnvelopeMargin,
    HeldForce,
    SimultaneousImpactClassifier,
    SingleImpactClassifier,
    fixed_margin,
    propagated_margin,
)
from impact_control.control import (
    ContactForce,
    ControlParameters,
    FurtherImpacts,
    ImpactCourse,
    ImpactStrategy,
    InterimEnd,
)
from impact_control.detection import MAXIMUM_GAP, SCORES, Detector, FirstOf, step_response
from impact_control.observation import MomentumObserver
from impact_control.pipeline.samples import Gaps
from impact_control.references import ImpactReference
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import ANTE_REFERENCE, JOINT_SPACE, SIMULTANEOUS, Detection, RetreatDirection, Scenario
from impact_control.util.types import Vector

NOISE_QUANTILE = 3.0
"""Standard deviations in the half-width of sensor noise, Proper 2021 (3.5) as in the Errata."""


def classifier_parameters(scenario: Scenario) -> ClassifierParameters:
    """Return the tuning parameters of the scenario's classifier; without a fixed margin see `envelope_margin`."""
    c = scenario.classification
    return ClassifierParameters(
        window_length=c.window_length,
        decay_rate=c.decay_rate,
        envelope_margin=0.0 if c.envelope_margin is None else tuple(c.envelope_margin.tolist()),
        configuration_error=c.configuration_error,
        time_error=c.time_error,
        post_impact_time=c.post_impact_time,
        impact_interval=math.inf if c.impact_interval is None else c.impact_interval,
    )


def envelope_margin(scenario: Scenario, robot: RobotDescription, jump_deviation: Vector) -> EnvelopeMargin:
    """Return the margin of a task: the scenario's, or one from the deviation of its predicted velocity (n,) [rad/s]."""
    c, control = scenario.classification, scenario.control
    if c.envelope_margin is not None:
        return fixed_margin(c.envelope_margin)
    return propagated_margin(
        jump_deviation,
        c.uncertainty.tracking,
        robot.noise.velocity / NOISE_QUANTILE,
        c.uncertainty.limit,
        control.gains.position,
        control.interim_duration,
        c.post_impact_time,
    )


def make_contact_path(scenario: Scenario) -> ContactPath | None:
    """Return what judges the way of the contact on the expected surface; None when the scenario does not ask for it."""
    c = scenario.classification
    if c.contact_path is None:
        return None
    return ContactPath(c.contact_path, c.uncertainty, scenario.expected_surface.normal, scenario.control.period)


def make_classifier(scenario: Scenario, size: int) -> Classifier:
    """Return the scenario's classifier for an arm of `size` joints."""
    parameters = classifier_parameters(scenario)
    if scenario.classification.method == SIMULTANEOUS:
        awaits = scenario.classification.completion is not None
        return SimultaneousImpactClassifier(parameters, size, await_completion=awaits)
    return SingleImpactClassifier(parameters, size)


def make_completion(scenario: Scenario, robot: RobotDescription) -> ContactCompletion | None:
    """Return what tells the scenario's classifier that all points touch; None when it does not wait for that."""
    c = scenario.classification.completion
    if c is None:
        return None
    return ContactCompletion(robot.end_effector.contact_points, c)


def make_held_force(scenario: Scenario) -> HeldForce | None:
    """Return what judges the force that the arm feels after the impact; None when the scenario does not ask for it."""
    c = scenario.classification.held_force
    return None if c is None else HeldForce(c)


def control_parameters(scenario: Scenario, robot: RobotDescription) -> ControlParameters:
    """Return gains and limits of the scenario's controller.

    The damping of a fault lets each joint, with the inertia it has at the home configuration, decay at the
    scenario's stop rate.
    """
    c = scenario.control
    dynamics = Dynamics(robot)
    home = scenario.task.home_configuration
    dynamics.compute(home, np.zeros_like(home))
    inertia = np.diag(dynamics.mass_matrix) + robot.transmission.reduced_motor_inertia
    return ControlParameters(
        position_gain=c.gains.position,
        orientation_gain=c.gains.orientation,
        posture_gain=c.gains.posture,
        position_weight=c.weights.position,
        orientation_weight=c.weights.orientation,
        posture_weight=c.weights.posture,
        course=impact_course(scenario),
        friction_compensation=c.friction_compensation,
        stop_rate=c.stop_damping,
        stop_damping=c.stop_damping * inertia,
        acceleration_limit=c.max_joint_acceleration,
        hold_gain=c.gains.joint,
        feedback_bandwidth=c.feedback_bandwidth,
        joint_space=c.feedback == JOINT_SPACE,
        period=c.period,
    )


def impact_course(scenario: Scenario) -> ImpactCourse:
    """Return how the scenario's controller goes through the impacts of a task."""
    c, interim = scenario.control, scenario.control.interim
    return ImpactCourse(
        strategy=ImpactStrategy[c.impact_strategy.upper()],
        interim_duration=c.interim_duration,
        until=InterimEnd[interim.until.upper()],
        expected_impacts=interim.expected_impacts,
        longest_interim=interim.longest,
        ante_in_interim=interim.reference == ANTE_REFERENCE,
        further_impacts=FurtherImpacts[interim.further_impacts.upper()],
        missing_impact_timeout=math.inf if c.missing_impact_timeout is None else c.missing_impact_timeout,
    )


def contact_force(scenario: Scenario, reference: ImpactReference) -> ContactForce:
    """Return the force the task asks for after the impact, on the expected surface."""
    return ContactForce(
        magnitude=scenario.task.post.force,
        friction=scenario.expected_environment.surface.friction,
        normal=reference.geometry.normal,
        offset=reference.geometry.contact_offset,
    )


def retreat_direction(scenario: Scenario, reference: ImpactReference) -> Vector:
    """Return the direction (3,) away from the contact, frame A, in which the scenario pulls back."""
    geometry = reference.geometry
    if scenario.reaction.pull_back.direction is RetreatDirection.SURFACE_NORMAL:
        return geometry.normal
    return -geometry.approach_velocity


def make_observer(scenario: Scenario, robot: RobotDescription) -> MomentumObserver:
    """Return the scenario's momentum observer for flexible joints; it begins anew after a gap that stops a task."""
    transmission, control = robot.transmission, scenario.control
    longest = control.state_timeout + 0.5 * control.period
    return MomentumObserver(scenario.detection.observer_gain, transmission.damping / transmission.stiffness, longest)


SETTLING = 3.0
"""Time constants of the observer after which its residual follows the arm again: 5 % of an error are left."""


def sample_gaps(scenario: Scenario) -> Gaps:
    """Return what the scenario says of gaps in the joint states; afterwards the detectors begin anew."""
    control = scenario.control
    settling = max(SETTLING / float(np.min(scenario.detection.observer_gain)), MAXIMUM_GAP + control.period)
    return Gaps(control.period, control.state_timeout, control.longest_gap, settling)


def score_settings(scenario: Scenario) -> dict[str, dict[str, object]]:
    """Return the settings of each of our scores the scenario uses, with its threshold, by their names in `SCORES`."""
    chosen = scenario.detection
    sections = {name: getattr(chosen, name) for name in SCORES}
    settings = {name: dict(vars(section)) for name, section in sections.items() if section is not None}
    if chosen.whitened is not None:
        settings["whitened"]["observer_gain"] = chosen.observer_gain
    return settings


def detector_settings(scenario: Scenario) -> dict[str, dict[str, object]]:
    """Return the settings of each detector the scenario uses, by its name in `impact_control.detection`."""
    chosen = scenario.detection
    common: dict[str, object] = {"refractory_time": chosen.refractory_time}
    if chosen.isolation is not None:
        response = step_response(chosen.observer_gain, scenario.control.period)
        common |= {
            "isolation_threshold": chosen.isolation.threshold,
            "isolation_slope": chosen.isolation.velocity_slope * response,
            "isolation_motion_slope": chosen.isolation.motion_slope,
        }
    settings = {name: {**section, **common} for name, section in score_settings(scenario).items()}
    if chosen.own is not None:
        settings[chosen.own.score] = {"threshold": chosen.own.threshold, **common}
    return settings


def make_detector(scenario: Scenario, size: int) -> Detector:
    """Return the scenario's detector for an arm of `size` joints, several in one if it uses several."""
    settings = detector_settings(scenario)
    detectors = [detection.make_detector(name, parameters, size) for name, parameters in settings.items()]
    return detectors[0] if len(detectors) == 1 else FirstOf(detectors, scenario.detection.refractory_time)


def needs_commands(chosen: Detection) -> bool:
    """Return True where one of the detectors compares torques with those commanded, or may do so."""
    return chosen.torque_error is not None or chosen.own is not None


def rate_threshold(scenario: Scenario, size: int) -> Vector:
    """Return the bounds (n,) [Nm/s] of the residual's rate; NaN where the scenario's detectors have none."""
    section = scenario.detection.residual_rate
    return np.full(size, np.nan) if section is None else section.threshold
