"""From a recorded run to its report: analysis, predictions against the observed velocity, envelope."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from impact_control.classification import envelope_history
from impact_control.control import Mode
from impact_control.observation.post_impact_velocity import gross_velocity_deviation
from impact_control.pipeline import Outcome, worst_of
from impact_control.pipeline.judge import NOISE_QUANTILE, envelope_margin
from impact_control.recording.analysis import RunAnalysis, analyse
from impact_control.recording.measures import CommandLimits, Envelope, MeasuredJoints, measured_joints
from impact_control.recording.series import METADATA_NAME, Recording, Topics, read_bag
from impact_control.recording.summary import PostImpactComparison, RunData
from impact_control.references import PredictedImpact, rigid_impact_map
from impact_control.robots import Dynamics, InertiaModel, RobotDescription, lowest_points
from impact_control.scenario import Scenario, Scene, robot_of, scenario_from_text
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector
from impact_control.util.words import in_words

INERTIA_NAMES = {InertiaModel.LINKS: "M", InertiaModel.REDUCED_MOTORS: "M + B_theta", InertiaModel.MOTORS: "M + B_rho"}
"""Inertia models by the symbols of Rey Arias 2024, section III."""


_NO_APPROACH = (
    "none: by the last joint state before the impact nothing moves into the surface, as when states come late"
)


@dataclass(frozen=True)
class Evaluation(RunData):
    """Evaluation of the recorded run of an arm, with its scenario; comparison: None without an impact to compare."""

    scenario: Scenario = field(kw_only=True)


def scenario_of_bag(recording: Recording) -> Scene:
    """Return the scenario or scene that the recorder kept in the bag. Raises InvalidInputError when there is none."""
    text = recording.metadata.get(METADATA_NAME, {}).get("scenario", "")
    if not text:
        raise InvalidInputError("bag", recording.directory, "a bag of this stack's recorder, with its scenario")
    return scenario_from_text(text, str(recording.directory))


def evaluate(bag: Path) -> Evaluation:
    """Analyse a bag of one arm; see `evaluate_arms`. Raises InvalidInputError when there are several."""
    evaluations = evaluate_arms(bag)
    if len(evaluations) > 1:
        raise InvalidInputError("bag", bag, f"a bag of one arm, this has {', '.join(evaluations)}")
    return next(iter(evaluations.values()))


def evaluate_arms(bag: Path) -> dict[str, Evaluation]:
    """Analyse a bag of this stack's recorder: every arm of a scene by its name, the arm of a scenario as "".

    The impact on an object is not compared with predictions: it depends on the other arms.
    """
    recording = read_bag(bag)
    scene = scenario_of_bag(recording)
    meant = scene.expected_outcome.replace("_", " ")
    arms = {arm: _evaluate_arm(recording.of_arm(arm), scene.arm(arm), meant) for arm in scene.arm_names}
    if len(arms) == 1:
        return arms
    words = {in_words(outcome): outcome for outcome in Outcome}
    of_all = in_words(worst_of([words[arm.analysis.outcome] for arm in arms.values()]))
    return {name: replace(arm, analysis=replace(arm.analysis, outcome_of_all=of_all)) for name, arm in arms.items()}


def _evaluate_arm(recording: Recording, scenario: Scenario, meant: str) -> Evaluation:
    robot = robot_of(scenario.robot)
    analysis = analyse(recording, limits=CommandLimits(robot.limits.torque, robot.limits.torque_rate))
    analysis = replace(analysis, expected_outcome=meant)
    if scenario.target is not None:
        return Evaluation(recording, analysis, scenario=scenario)
    run = replace(analysis, impact_impulse=short_impulse(recording, analysis, scenario, robot))
    try:
        compared = compare_predictions(recording, analysis, scenario, robot)
    except InvalidInputError:
        return Evaluation(recording, run, not_compared=_NO_APPROACH, scenario=scenario)
    return Evaluation(recording, run, compared, scenario=scenario)


def object_moves(bag: Path) -> dict[str, tuple[Vector, float]]:
    """Return how far each recorded object of a scene was moved (3,) [m], frame A, and turned [rad], start to end."""
    moves = {}
    for name, poses in read_bag(bag).objects().items():
        place, turn = poses["pose.position"], poses["pose.orientation"]
        cosine = min(1.0, abs(float(turn[0] @ turn[-1])))
        moves[name] = (place[-1] - place[0], 2.0 * float(np.arccos(cosine)))
    return moves


def compare_predictions(
    recording: Recording, analysis: RunAnalysis, scenario: Scenario, robot: RobotDescription
) -> PostImpactComparison | None:
    """Return predicted and observed post-impact velocities, Rey Arias 2024 (17); None without an impact.

    Predicted under Coulomb's law at the measured state of the last sample before the impact, on the surface that is
    really there where the recording is a simulation, with the inertia models M, M + B_theta and M + B_rho. An edge or a
    plate comes to rest on it with all of its contact points, see `references.simultaneous_impact`. Raises what
    `predicted_impacts` raises.
    """
    impact = analysis.impact_time
    if impact is None or analysis.gross_post_velocity is None or analysis.ante_velocity is None:
        return None
    velocities = (analysis.ante_velocity, analysis.gross_post_velocity)
    return comparison_at(impact, measured_joints(recording), *velocities, scenario, robot)


_OVER = 0.1
"""Part of its peak below which the force of an impact counts as over."""


def short_impulse(
    recording: Recording, analysis: RunAnalysis, scenario: Scenario, robot: RobotDescription
) -> float | None:
    """Return the impulse [Ns] along the surface's normal of a simulated impact that is over within two samples.

    By the momentum of the links, (J M^-1 J^T)^-1 J (dq^+ - dq^-) with the J of the contact frame: in so short a time
    the joints pass nothing on to the motors. None where the contact lasts longer or is not recorded.
    """
    truth, surface = recording.get(Topics.truth), scenario.actual_environment.surface
    impact, peak = analysis.true_impact_time, analysis.peak_force
    if truth is None or surface is None or impact is None or peak is None:
        return None
    stamp, velocity = truth["stamp"], truth["joint_velocity"]
    before = int(np.searchsorted(stamp, impact)) - 1
    over = before + 1 + np.flatnonzero(truth["normal_force"][before + 1 : before + 3] <= _OVER * peak)
    if before < 0 or not over.size or stamp[over[0]] - stamp[before] > 2.5 * scenario.control.period:
        return None
    dynamics = Dynamics(robot)
    dynamics.compute(truth["joint_position"][before], velocity[before])
    jacobian = dynamics.jacobian
    mobility = jacobian @ np.linalg.solve(dynamics.mass_matrix, jacobian.T)
    return float(surface.normal @ np.linalg.solve(mobility, jacobian @ (velocity[over[0]] - velocity[before]))[:3])


def comparison_at(
    impact: float, joints: MeasuredJoints, ante: Vector, gross_post: Vector, scenario: Scenario, robot: RobotDescription
) -> PostImpactComparison:
    """Return velocities before and after an impact (n,) [rad/s] beside the `predicted_impacts`. Raises as these do."""
    predictions = predicted_impacts(joints, impact, scenario, robot)
    velocities = {name: np.rad2deg(predicted.velocity) for name, predicted in predictions.items()}
    slips = {name: in_words(predicted.slip) for name, predicted in predictions.items()}
    deviation = scenario.simulation.noise * robot.noise.position / NOISE_QUANTILE
    noise = np.rad2deg(gross_velocity_deviation(deviation, scenario.control.period))
    return PostImpactComparison(joints.names, np.rad2deg(ante), np.rad2deg(gross_post), velocities, slips, noise)


def predicted_impacts(
    joints: MeasuredJoints, impact: float, scenario: Scenario, robot: RobotDescription
) -> dict[str, PredictedImpact]:
    """Return the predictions of `compare_predictions` by name of the inertia model.

    impact: its time [s], later than the first sample. Raises InvalidInputError where the end-effector does not move
    into the surface.
    """
    surface = scenario.actual_environment.surface or scenario.expected_environment.surface
    before = int(np.flatnonzero(joints.time < impact)[-1])
    dynamics = Dynamics(robot)
    dynamics.compute(joints.position[before], joints.velocity[before])
    tool = robot.end_effector
    offsets = lowest_points(tool.contact_points, tool.radius, dynamics.rotation, surface.normal)
    return {
        name: rigid_impact_map(robot, model)(
            joints.position[before], joints.velocity[before], offsets, surface.normal, surface.friction
        )
        for model, name in INERTIA_NAMES.items()
    }


def envelope_of(recording: Recording, scenario: Scenario) -> Envelope | None:
    """Return the envelope of the joint velocity error over the task, computed again with the scenario's tuning."""
    if Topics.reference not in recording:
        return None
    joints = measured_joints(recording)
    reference = recording.series(Topics.reference)
    ante, post = reference["ante_joint_velocity"], reference["post_joint_velocity"]
    followed: Matrix = np.where((reference["mode"] == Mode.ANTE)[:, None], ante, post)
    _, rows, picks = np.intersect1d(_keys(joints.time), _keys(reference["stamp"]), return_indices=True)
    running = np.isin(reference["mode"][picks], (Mode.ANTE, Mode.INTERIM, Mode.POST))
    rows, picks = rows[running], picks[running]
    if rows.size < 2:
        return None
    times, velocity = joints.time[rows], joints.velocity[rows]
    lower, upper = envelope_history(times, velocity, followed[picks], scenario.classification)
    deviations = (reference[name][picks[0]] for name in ("jump_deviation", "friction_deviation"))
    margin = envelope_margin(scenario, robot_of(scenario.robot), *deviations)
    after = reference["mode"][picks] != Mode.ANTE
    impact = times[after][0] if after.any() else np.inf
    held = [margin.row(since) for since in (times - impact).tolist()]
    return Envelope(times, lower, upper, margin.table[held])


def _keys(stamps: Vector) -> Vector:
    """Stamps as whole microseconds, so that the same sample of two topics compares equal."""
    return np.round(stamps * 1e6).astype(np.int64)
