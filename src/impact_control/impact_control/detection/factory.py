"""The detectors that a scenario chooses, ours and those of other packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

from impact_control.detection.detector import Detector
from impact_control.detection.first_of import FirstOf
from impact_control.detection.isolation import LinkIsolation, step_response
from impact_control.detection.score_detector import ScoreDetector
from impact_control.detection.scores import (
    ResidualRateScore,
    ResidualScore,
    Score,
    TorqueErrorScore,
    VelocityJumpScore,
)
from impact_control.detection.whitened import WhitenedScore
from impact_control.scenario import Detection
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector

SCORES: Mapping[str, Callable[..., Score]] = {
    "residual_rate": ResidualRateScore,
    "residual": ResidualScore,
    "velocity_jump": VelocityJumpScore,
    "torque_error": TorqueErrorScore,
    "whitened": WhitenedScore,
}
"""Score of each of our sections in `scenario.Detection`."""

ENTRY_POINTS = "impact_control.scores"
"""Group of entry points in which installed packages offer scores of their own."""


def own_scores() -> tuple[str, ...]:
    """Return the names of the scores that other installed packages offer, as entry points `impact_control.scores`."""
    return tuple(sorted(point.name for point in entry_points(group=ENTRY_POINTS) if point.name not in SCORES))


def score_class(name: str) -> Callable[..., Score]:
    """Return what makes the score of this name, ours or of an installed package. Raises InvalidInputError.

    Only the package of the chosen score is imported.
    """
    if name in SCORES:
        return SCORES[name]
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name:
            try:
                loaded: Callable[..., Score] = point.load()
            except (ImportError, AttributeError) as error:
                raise InvalidInputError("detector", f"{name} = {point.value}", f"importable: {error}") from error
            return loaded
    raise InvalidInputError("detector", name, f"one of {', '.join((*SCORES, *own_scores()))}")


def make_score(name: str, size: int) -> Score:
    """Return the score of this name, which takes the number of joints alone. Raises InvalidInputError."""
    made = score_class(name)
    try:
        return made(size=size)
    except TypeError as error:
        raise InvalidInputError("detector", name, f"a score that is made of its size alone: {error}") from error


def scores_of(chosen: Detection, size: int) -> dict[str, tuple[Score, Vector | float]]:
    """Return the chosen scores with their bounds, by their sections, for an arm of `size` joints.

    Raises InvalidInputError.
    """
    found: dict[str, tuple[Score, Vector | float]] = {}
    if chosen.residual_rate is not None:
        found["residual_rate"] = ResidualRateScore(size), chosen.residual_rate.threshold
    if chosen.residual is not None:
        found["residual"] = ResidualScore(size), chosen.residual.threshold
    if chosen.velocity_jump is not None:
        found["velocity_jump"] = VelocityJumpScore(size, chosen.velocity_jump.window), chosen.velocity_jump.threshold
    if chosen.torque_error is not None:
        found["torque_error"] = TorqueErrorScore(size, chosen.torque_error.joints), chosen.torque_error.threshold
    if chosen.whitened is not None:
        found["whitened"] = WhitenedScore(size, chosen.observer_gain, chosen.whitened), chosen.whitened.threshold
    if chosen.own is not None:
        found["own"] = make_score(chosen.own.score, size), chosen.own.threshold
    return found


def make_isolation(chosen: Detection, period: float) -> LinkIsolation | None:
    """Return the chosen isolation of the link for samples of a period [s]; None where none is chosen.

    Of a friction it expects what the observer shows by then. Raises InvalidInputError.
    """
    settings = chosen.isolation
    if settings is None:
        return None
    slope = settings.velocity_slope * step_response(chosen.observer_gain, period)
    return LinkIsolation(settings.threshold, slope, settings.motion_slope)


def make_detector(chosen: Detection, size: int, period: float) -> Detector:
    """Return the chosen detector for an arm of `size` joints and samples of a period [s]; `FirstOf` of several.

    Raises InvalidInputError.
    """
    wait = chosen.refractory_time
    detectors = [
        ScoreDetector(score, size, threshold, wait, isolation=make_isolation(chosen, period))
        for score, threshold in scores_of(chosen, size).values()
    ]
    return detectors[0] if len(detectors) == 1 else FirstOf(detectors, wait)
