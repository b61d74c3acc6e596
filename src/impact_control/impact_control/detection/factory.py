"""Detectors by name, so that a scenario can choose one."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from impact_control.detection.detector import Detector
from impact_control.detection.isolation import LinkIsolation
from impact_control.detection.score_detector import ScoreDetector
from impact_control.detection.scores import (
    ResidualRateScore,
    ResidualScore,
    Score,
    TorqueErrorScore,
    VelocityJumpScore,
)
from impact_control.detection.whitened import WhitenedScore
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

SCORES: Mapping[str, Callable[..., Score]] = {
    "residual_rate": ResidualRateScore,
    "residual": ResidualScore,
    "velocity_jump": VelocityJumpScore,
    "torque_error": TorqueErrorScore,
    "whitened": WhitenedScore,
}
"""Signal that each method scores."""

ENTRY_POINTS = "impact_control.scores"
"""Group of entry points in which installed packages offer scores of their own."""


def own_scores() -> tuple[str, ...]:
    """Return the names of the scores that other installed packages offer, as entry points `impact_control.scores`."""
    return tuple(sorted(point.name for point in entry_points(group=ENTRY_POINTS) if point.name not in SCORES))


def score_class(method: str) -> Callable[..., Score]:
    """Return what makes the score of a method, ours or of an installed package. Raises InvalidInputError.

    Only the package of the chosen method is imported.
    """
    if method in SCORES:
        return SCORES[method]
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == method:
            try:
                loaded: Callable[..., Score] = point.load()
            except (ImportError, AttributeError) as error:
                raise InvalidInputError("detector", f"{method} = {point.value}", f"importable: {error}") from error
            return loaded
    raise InvalidInputError("detector", method, f"one of {', '.join((*SCORES, *own_scores()))}")


def _detector(
    score: Score,
    size: int,
    threshold: Vector | float,
    refractory_time: float,
    rise_ratio: float = 1.0,
    isolation_threshold: Vector | Matrix | None = None,
    isolation_slope: Vector | Matrix | float = 0.0,
    isolation_motion_slope: Vector | Matrix | float = 0.0,
    isolation_ceiling: Vector | Matrix | float = math.inf,
) -> Detector:
    given = np.atleast_1d(np.asarray(threshold, dtype=np.float64)).ravel()
    if given.size == 0 or score.channels % given.size:
        raise InvalidInputError("threshold", threshold, f"1, {size} or {score.channels} numbers")
    bound = np.resize(given, score.channels)
    isolation = None
    if isolation_threshold is not None:
        if np.shape(isolation_threshold)[-1:] != (size,):
            raise InvalidInputError("isolation_threshold", isolation_threshold, f"rows of {size} numbers")
        isolation = LinkIsolation(isolation_threshold, isolation_slope, isolation_motion_slope, isolation_ceiling)
    return ScoreDetector(score, size, bound, refractory_time, rise_ratio, isolation)


def make_score(method: str, parameters: Mapping[str, Any], size: int) -> Score:
    """Return the score of a method; parameters: those of its class besides `size`. Raises InvalidInputError."""
    made = score_class(method)
    _require_fitting(method, parameters, made)
    return made(size=size, **parameters)


def make_detector(method: str, parameters: Mapping[str, Any], size: int) -> Detector:
    """Return the detector of this name for an arm of `size` joints.

    Every method takes threshold (one number, one for each joint, or one for each channel of its score) and
    refractory_time [s]; optional: rise_ratio, see `ScoreDetector`, and isolation_threshold (n,) or (w, n) [Nm],
    isolation_slope and isolation_motion_slope [Nm s/rad], and isolation_ceiling [Nm], see `LinkIsolation`.
    Besides, and with these units of the threshold:

    - residual_rate: nothing else; [Nm/s]. Proper 2021 (3.6), (3.7): the events of `ImpactDetector`.
    - residual: nothing else; [Nm]. Proper 2021 (2.91).
    - velocity_jump: window, gaps; [rad/s]. See `VelocityJumpScore`.
    - torque_error: joints, the first is 1; one number [Nm]. Wang 2022, section VI.
    - whitened: observer_gain, friction, known_speed, deviations, correlations; [1]. See `WhitenedScore`.
    - a name of `own_scores`: what its class takes, in its own unit.

    Raises InvalidInputError for other names, parameters that are missing or not known, or values not allowed.
    """
    common = {name: parameters[name] for name in parameters if name in _parameters(_detector)}
    score = make_score(method, {name: parameters[name] for name in parameters if name not in common}, size)
    _require_fitting(method, common, _detector)
    return _detector(score=score, size=size, **common)


def _parameters(function: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """Return what `function` takes from the caller's parameters."""
    return {name: p for name, p in inspect.signature(function).parameters.items() if name not in ("score", "size")}


def _require_fitting(method: str, given: Mapping[str, Any], function: Callable[..., object]) -> None:
    known = _parameters(function)
    for name in given:
        if name not in known:
            allowed = [*known, *(other for other in _parameters(_detector) if other not in known)]
            raise InvalidInputError(f"{method} parameter", name, f"one of {', '.join(allowed)}")
    for name, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and name not in given:
            raise InvalidInputError(f"{method} parameters", sorted(given), f"{name} has to be among them")
