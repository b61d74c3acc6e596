"""A verdict in plain words: which number met which limit, where the limit is set, and which figure shows it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from impact_control.recording.measures import NOT_BEGUN, SUCCEEDED
from impact_control.recording.series import Topics
from impact_control.replay.evaluation import Evaluation
from impact_control.scenario import Scenario

NOT_JUDGED = "The motion after it was not judged: that begins with an expected impact."

_WORDS = {"expected": "as expected", "unexpected": "not as expected"}


def explain(evaluation: Evaluation) -> list[str]:
    """Return paragraphs on why a run of one arm was judged as it was: impact, motion after it, what really differed.

    Every limit is named with its key in the scenario. What is really there is known of a simulation only.
    """
    analysis, scenario = evaluation.analysis, evaluation.scenario
    paragraphs = [_ending(evaluation)]
    verdicts = evaluation.recording.decisions(Topics.classification)
    if analysis.verdict is None or verdicts is None or not analysis.detections.size:
        paragraphs.append(_without_impact(evaluation))
    else:
        last = {name: column[-1] for name, column in verdicts.items() if len(column)}
        judged = analysis.verdict.impact == "expected"
        paragraphs.append(_impact(analysis.verdict.impact, last, scenario))
        paragraphs.append(_motion(analysis.verdict.post_impact, last, scenario) if judged else NOT_JUDGED)
        paragraphs.append(_probability(analysis.verdict.probability))
    if evaluation.recording.get(Topics.truth) is not None:
        there = " and ".join(differences_of(scenario)) or "the expected surface"
        paragraphs.append(f"In the simulation there was {there}.")
    return [text for text in paragraphs if text]


def _ending(evaluation: Evaluation) -> str:
    analysis = evaluation.analysis
    ended = f"fault: {analysis.fault}" if analysis.fault else analysis.outcome
    meant = "" if analysis.as_meant else f", and was meant to end otherwise: {analysis.expected_outcome}"
    if analysis.as_meant and analysis.expected_outcome != SUCCEEDED:
        meant = ", as it was meant to"
    return f"{analysis.scenario or 'The run'} ended: {ended}{meant}."


def _without_impact(evaluation: Evaluation) -> str:
    if evaluation.analysis.outcome == NOT_BEGUN:
        return (
            "The controller was idle from the first to the last sample: no task was executed. `impact-control plan` "
            "says whether the task would be refused, and why."
        )
    contact = evaluation.analysis.true_impact_time
    if contact is not None:
        return (
            f"There was contact at {contact:.3f} s, and no detector fired: compare detection.* of the scenario "
            "with the rate of the residual in figures/residual.png."
        )
    planned, ended = evaluation.scenario.impact_time, evaluation.analysis.duration
    return (
        f"No impact was detected. It was planned for {planned:.3g} s after the start of the task, and the recording is "
        f"{ended:.3g} s long. figures/residual.png shows how far the rate of the residual stayed below its thresholds."
    )


def _impact(verdict: str, last: dict[str, Any], scenario: Scenario) -> str:
    error, limit = float(last["time_error"]), float(last["time_error_limit"])
    posture, allowed = float(last["configuration_error"]), float(last["configuration_error_limit"])
    if not math.isfinite(error):
        return f"The impact is {verdict}: it was not judged before the end."
    side = "late" if error > 0.0 else "early"
    text = (
        f"The impact is {_WORDS.get(verdict, verdict)}. It came {1e3 * abs(error):.1f} ms {side}, allowed are "
        f"{1e3 * limit:.3g} ms (classification.time_error); the joints were then {posture:.3g} rad from where the "
        f"impact was planned, allowed are {allowed:.3g} rad (classification.configuration_error)."
    )
    if abs(error) > limit:
        impact = scenario.task.impact
        height = impact.speed * math.sin(impact.approach_angle) * abs(error)
        place = "deeper" if error > 0.0 else "higher"
        text += (
            f" At {impact.speed:.3g} m/s that is a surface {1e3 * height:.0f} mm {place} than "
            "expected_environment.surface says, or something else in the way."
        )
    return f"{text} figures/residual.png shows how it was detected."


def _motion(verdict: str, last: dict[str, Any], scenario: Scenario) -> str:
    margins = np.asarray(last["margin"], dtype=float)
    if not np.isfinite(margins).any():
        return NOT_JUDGED
    worst = int(np.nanargmin(margins))
    joint, margin = last["joint_names"][worst], float(margins[worst])
    after = 1e3 * (float(last["decision_time"]) - float(last["impact_time"]))
    limit = "classification.envelope_margin"
    if scenario.classification.envelope_margin is None:
        limit = "from classification.uncertainty"
    widened = f"widened by {float(last['envelope_margin']):.3g} rad/s ({limit})"
    if margin >= 0.0:
        words = f"stayed inside: {joint} came nearest, {margin:.3g} rad/s from the bound"
    else:
        words = f"was left {after:.0f} ms after the impact by {joint}, by {-margin:.3g} rad/s"
    return (
        f"The motion after it is {_WORDS.get(verdict, verdict)}. The envelope of the joint velocity error, {widened}, "
        f"{words} (figures/velocity_error.png)."
    )


def _probability(probability: float) -> str:
    if math.isnan(probability):
        return ""
    return f"By all that was seen both are as expected with a probability of {100.0 * probability:.0f} %."


def differences_of(scenario: Scenario) -> list[str]:
    """Return in words how the surface that is really there differs from the expected one."""
    expected, actual = scenario.expected_environment.surface, scenario.actual_environment.surface
    if actual is None:
        return ["no surface at all"]
    found = []
    distance = float(expected.normal @ (actual.point - expected.point))
    angle = math.degrees(math.acos(min(1.0, float(expected.normal @ actual.normal))))
    if abs(distance) > 1e-6:
        found.append(f"a surface {1e3 * abs(distance):.0f} mm {'higher' if distance > 0.0 else 'deeper'}")
    if angle > 1e-3:
        found.append(f"a surface tilted by {angle:.1f} deg")
    if actual.friction != expected.friction:
        found.append(f"friction {actual.friction:.2g} instead of {expected.friction:.2g}")
    return found
