"""Model of a `WhitenedScore` from recordings of free motion: friction, deviations, correlations, thresholds.

Assumptions, beside those of `thresholds`: what the recording does not show is not known. A joint that did not move in
it, or did not turn about, has friction of the size of the robot's data that nothing takes out; one that was identified
is known to UNKNOWN_SHARE of its friction. Both bound from below what a reversal may do.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from impact_control.calibration.friction import LEAST_EXPLAINED, FrictionFit, friction_in
from impact_control.calibration.motion import BRIDGED_GAP, FreeMotion, Result, joined_time, numbers, quantity, settled
from impact_control.calibration.thresholds import HOUR, Calibration, calibrate_thresholds
from impact_control.detection import SCORES, DetectionSignals, WhitenedScore
from impact_control.detection.whitened import (
    BANDS,
    DEVIATIONS,
    FEATURES,
    SETTLING,
    TIME_CONSTANTS,
    WITH_TORQUE,
    band_correlations,
    correlation_rows,
)
from impact_control.recording.summary import Grid, Mark, Row, RunSummary, number_grid, short_joint_names
from impact_control.robots import RobotDescription
from impact_control.scenario import Scenario, robot_of
from impact_control.util.checks import require_positive
from impact_control.util.errors import InvalidInputError, RecordingError
from impact_control.util.types import Matrix, Vector

UNKNOWN_SHARE = 0.3
"""Part of an identified friction by which a reversal may differ from its model."""

BLOCK = 0.125
"""[s] of which the largest distances are taken as independent: the slowest band remembers 40 ms."""

GUMBEL = (0.0,)
"""Shape of the law of the maxima: a bound that a short recording seems to have is that of its few motions."""

_LEAST_SHARE = 0.1
"""Least share of the mean square of a channel that is taken as independent of the motion."""

_SHRINKAGE = 0.05
"""Part by which correlations are moved towards none."""

_LEAST_SPEED = 5e-3
"""[rad/s] that a joint at rest shows by its noise."""


class Model(NamedTuple):
    """Settings of a `WhitenedScore` beside the gain of the observer; see there."""

    friction: Any
    known_speed: Vector
    deviations: Matrix
    correlations: Matrix

    def score(self, observer_gain: Vector) -> WhitenedScore:
        """Return the score."""
        return WhitenedScore(self.known_speed.size, observer_gain, self)


def learn_model(gain: Vector, motions: Sequence[FreeMotion], robot: RobotDescription) -> tuple[Model, FrictionFit]:
    """Return the model of the free motion of an arm, and the friction that was identified for it.

    gain: K_O (n,) [1/s] of the observer that made the residuals. Raises InvalidInputError for too few samples.
    """
    fit = friction_in(motions, gain, least_explained=LEAST_EXPLAINED)
    found = fit.identified
    friction = SimpleNamespace(**{name: np.where(found, getattr(fit, name), 0.0) for name in _FRICTION})
    known = np.max([np.abs(motion.velocity).max(axis=0) for motion in motions], axis=0)
    plain = _plain_model(friction, np.maximum(known, _LEAST_SPEED))
    bands, features = _filtered(plain.score(gain), gain, motions)
    reversal = np.where(found, UNKNOWN_SHARE * np.abs(np.nan_to_num(fit.amplitude)), robot.friction.amplitude)
    floor = _step_response(gain) * reversal
    deviations, matrices = np.empty_like(plain.deviations), []
    for band in range(BANDS):
        kinds = 2 if band < WITH_TORQUE else 1
        scaled = []
        for kind in range(kinds):
            first = FEATURES * (2 * band + kind if band < WITH_TORQUE else WITH_TORQUE + band)
            for j in range(gain.size):
                signal, described = bands[:, band, kind * gain.size + j], features[:, :, j]
                squares = _squares(signal, described)
                if kind == 0:
                    squares[3] = max(squares[3], floor[band, j] ** 2)
                deviations[first : first + FEATURES, j] = np.sqrt(squares)
                scaled.append(signal / np.sqrt(described @ squares))
        matrices.append(_correlation(np.array(scaled)))
    rows = np.vstack([matrix.reshape(-1, gain.size) for matrix in matrices])
    return Model(friction, plain.known_speed, deviations, rows), fit


_FRICTION = {"amplitude": "Nm", "slope": "s/rad", "offset": "rad/s", "viscous": "Nm*s/rad"}
"""Parameters of the friction and their units."""


def _plain_model(friction: Any, known_speed: Vector) -> Model:
    """Return a model that weighs nothing, for its filters."""
    n = known_speed.size
    correlations = np.zeros((correlation_rows(n), n))
    for matrix in band_correlations(correlations):
        matrix[:] = np.eye(len(matrix))
    return Model(friction, known_speed, np.ones((DEVIATIONS, n)), correlations)


def _filtered(score: WhitenedScore, gain: Vector, motions: Sequence[FreeMotion]) -> tuple[Matrix, Matrix]:
    """Return bands (k, BANDS, 2 n) and features (k, FEATURES, n) of the samples at which the filters have settled."""
    bands, features = [], []
    for motion in motions:
        kept = settled(motion.time, SETTLING / float(gain.min()))
        for k, _ in enumerate(_distances(score, motion)):
            if kept[k]:
                bands.append(score.bands.copy())
                features.append(score.features.copy())
    if not bands:
        raise InvalidInputError("samples", 0, "more than the filters need to settle")
    return np.array(bands), np.array(features)


def _distances(score: WhitenedScore, motion: FreeMotion) -> Any:
    """Yield the distances (BANDS,) at each sample of a motion."""
    signals = DetectionSignals(motion.velocity.shape[1])
    score.reset()
    for k, time in enumerate(motion.time.tolist()):
        signals.velocity, signals.joint_torque = motion.velocity[k], motion.torque[k]
        signals.residual = motion.residual[k]
        yield score.evaluate(signals, time)


def distances(score: WhitenedScore, motion: FreeMotion) -> Matrix:
    """Return the distances (k, BANDS) at each sample of a motion, 0 where the filters settle."""
    return np.array([values.copy() for values in _distances(score, motion)])


def _squares(signal: Vector, features: Matrix) -> Vector:
    """Return by how much each of the features (k, FEATURES) adds to the square of a signal (k,), none below 0."""
    mean = float(np.mean(signal**2))
    if not mean > 0.0:
        raise InvalidInputError("signal", mean, "some noise in every joint")
    squares: Vector = nnls(features, signal**2 / mean)[0] * mean
    squares[0] = max(squares[0], _LEAST_SHARE * mean)
    return squares


def _correlation(scaled: Matrix) -> Matrix:
    """Return the correlation (c, c) of channels (c, k) about 0, moved towards that of independent ones.

    Its diagonal is 1 also where the deviations are larger than the recording asks for.
    """
    products: Matrix = scaled @ scaled.T
    size = np.sqrt(np.diagonal(products))
    mixed: Matrix = (1.0 - _SHRINKAGE) * products / np.outer(size, size) + _SHRINKAGE * np.eye(size.size)
    return mixed


def _step_response(gain: Vector) -> Matrix:
    """Return the largest value (BANDS, n) that a step of the external torque by 1 Nm gives in each band."""
    nothing = SimpleNamespace(**{name: np.zeros(gain.size) for name in _FRICTION})
    score = _plain_model(nothing, np.ones(gain.size)).score(gain)
    signals, peak = DetectionSignals(gain.size), np.zeros((BANDS, gain.size))
    for time in np.arange(0.0, 5.0 * (TIME_CONSTANTS[-1] + 1.0 / float(gain.min())), 1e-3).tolist():
        signals.residual = 1.0 - np.exp(-gain * time)
        score.evaluate(signals, time)
        peak = np.maximum(peak, np.abs(score.bands[:, : gain.size]))
    return peak


class Learned(NamedTuple):
    """Model of the free motion of an arm, the friction identified for it, thresholds with what they promise."""

    model: Model
    friction: FrictionFit
    thresholds: Calibration


def learn_detector(scenario: Scenario, motions: Sequence[FreeMotion], false_alarms_per_hour: float) -> Learned:
    """Return what a detector on all joints has to know of an arm, with its scenario's observer.

    Raises InvalidInputError for a rate that is not above 0, RecordingError for recordings that are too short.
    """
    require_positive("false_alarm_rate", false_alarms_per_hour)
    gain = scenario.detection.observer_gain
    try:
        model, fit = learn_model(gain, motions, robot_of(scenario.robot))
        score = model.score(gain)
        values = np.vstack([distances(score, motion) for motion in motions])
        kept = values.any(axis=1)
        rate, time = false_alarms_per_hour / HOUR, joined_time(motions, BLOCK)
        found = calibrate_thresholds(
            time[kept], values[kept], rate, block=BLOCK, largest_period=BRIDGED_GAP, shapes=GUMBEL
        )
    except InvalidInputError as error:
        raise RecordingError(", ".join(m.name for m in motions), str(error), "a longer one of free motion") from error
    return Learned(model, fit, found)


def calibrate_detector(scenario: Scenario, motions: Sequence[FreeMotion], false_alarms_per_hour: float) -> Result:
    """Return the section of a `WhitenedScore` for an arm, in place of all other detectors of the scenario.

    Raises as `learn_detector`.
    """
    robot, gain = robot_of(scenario.robot), scenario.detection.observer_gain
    model, fit, found = learn_detector(scenario, motions, false_alarms_per_hour)
    section = {
        "threshold": numbers(found.threshold),
        "friction": {name: quantity(getattr(model.friction, name), unit) for name, unit in _FRICTION.items()},
        "known_speed": quantity(model.known_speed, "rad/s"),
        "deviations": [quantity(row, "Nm") for row in model.deviations],
        "correlations": [numbers(row) for row in model.correlations],
    }
    others = {name: "none" for name in (*SCORES, "own") if name != "whitened"}
    detection = {"observer_gain": quantity(gain, "1/s"), "whitened": section, **others}
    doubts = [words for motion in motions for words in motion.doubts]
    objections = [words.replace("channel", "band") for words in found.objections]
    promise = (
        f"at most {false_alarms_per_hour:g} an hour with {100 * found.confidence:g} % confidence; the law of the "
        f"maxima of {found.blocks} blocks of {found.block:g} s, trusted {found.extrapolation:.0f} times further"
    )
    sources = (*(motion.source for motion in motions), f"false alarms: {promise}")
    rows = [row for motion in motions for row in motion.rows]
    rows.append(Row("False alarms", promise))
    rows += [Row("Kept", f"joint {j + 1}: {words}") for j, words in enumerate(fit.objection) if words]
    rows += [Row("Objection", words, Mark.BAD) for words in objections]
    good = not (doubts or objections)
    verdict = "CALIBRATED: whitened." if good else "OBJECTIONS: see above."
    summary = RunSummary("Detector on all joints", tuple(rows), _grids(robot, model, fit, found), verdict, good)
    return Result(summary, {"detection": detection}, sources, (*doubts, *objections))


def _grids(robot: RobotDescription, model: Model, fit: FrictionFit, found: Calibration) -> tuple[Grid, ...]:
    joints = short_joint_names(robot.joint_names)
    friction = [(f"{name} [{unit}]", getattr(model.friction, name)) for name, unit in _FRICTION.items()]
    lines = (*friction, ("explained", fit.explained), ("known speed [rad/s]", model.known_speed))
    bands = tuple(f"{1e3 * constant:g} ms" for constant in TIME_CONSTANTS)
    distance = (("threshold", found.threshold), ("estimate", found.estimate), ("recorded", found.largest))
    return (
        number_grid("Friction that is taken out of the residual, part of it explained", lines, joints),
        number_grid("Distance in each band [1]", (*distance, ("tail", found.tail)), bands),
    )
