"""Summary of a series: the same scenario again and again, in statistics over all trials and a line for each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from impact_control.recording.summary import Grid, Mark, Row, RunSummary, plain_number
from impact_control.replay.evaluation import Evaluation


@dataclass(frozen=True)
class SeriesTrial:
    """A trial that was recorded: its varied values, its outcome in words, and the evaluation of its recording.

    arm: of a scene, each of which has such a trial; "" for the only one. reason: why it came to no verdict; "" where
    it did.
    """

    changes: Mapping[str, Any]
    outcome: str
    evaluation: Evaluation
    arm: str = ""
    reason: str = ""

    @property
    def delay(self) -> float:
        """Delay of the detection [s]; NaN where it is not known."""
        delay = self.evaluation.analysis.detection_delay
        return math.nan if delay is None else delay

    def jump_errors(self) -> dict[str, float]:
        """Return the mean absolute error [deg/s] of each prediction of the velocity after the impact, by its name."""
        comparison = self.evaluation.comparison
        return {} if comparison is None else {name: float(e.mean()) for name, e in comparison.errors().items()}

    def verdicts(self) -> tuple[str, str]:
        """Return both verdicts in words."""
        verdict = self.evaluation.analysis.verdict
        return ("-", "-") if verdict is None else (verdict.impact, verdict.post_impact)


def summarise_series(name: str, times: int, trials: Sequence[SeriesTrial], ended: str = "") -> RunSummary:
    """Return the summary of a series.

    times: trials that were asked for. ended: why the series ended before, "" if it did not.
    """
    arms = max(1, len({trial.arm for trial in trials}))
    reported = len(trials) // arms
    jumps = [trial.jump_errors() for trial in trials]
    models = list(dict.fromkeys(model for jump in jumps for model in jump))
    rows = [
        Row("Scenario", name),
        Row("Trials", f"{reported} of {times} reported", Mark.of(reported == times)),
        Row("Outcome", _counts(trial.outcome for trial in trials)),
        Row("Impact verdict", _counts(trial.verdicts()[0] for trial in trials)),
        Row("Post-impact verdict", _counts(trial.verdicts()[1] for trial in trials)),
        Row("Detection delay", _statistics([1e3 * trial.delay for trial in trials], "ms")),
        *(
            Row(f"Jump error, {model}", _statistics([jump.get(model, math.nan) for jump in jumps], "deg/s"))
            for model in models
        ),
    ]
    keys = list(dict.fromkeys(key for trial in trials for key in trial.changes))
    named = any(trial.arm for trial in trials)
    columns: list[tuple[str, Callable[[int, SeriesTrial], str]]] = [
        *([("arm", lambda k, trial: trial.arm)] if named else []),
        *((key, lambda k, trial, key=key: str(trial.changes[key])) for key in keys),
        ("outcome", lambda k, trial: trial.outcome),
        ("impact", lambda k, trial: trial.verdicts()[0]),
        ("post-impact", lambda k, trial: trial.verdicts()[1]),
        ("delay [ms]", lambda k, trial: plain_number(1e3 * trial.delay)),
        *(
            (f"{model} [deg/s]", lambda k, t, model=model: plain_number(jumps[k].get(model, math.nan)))
            for model in models
        ),
    ]
    lines = tuple((str(k // arms + 1), *(cell(k, trial) for _, cell in columns)) for k, trial in enumerate(trials))
    undecided = tuple(
        (" ".join(filter(None, (str(k // arms + 1), trial.arm))), trial.reason)
        for k, trial in enumerate(trials)
        if trial.reason
    )
    grids = [
        Grid("Trials", ("", *(header for header, _ in columns)), lines),
        Grid("Without a verdict", ("", "reason"), undecided),
    ]
    verdict = f"All {times} trials were begun." if not ended else f"NOT AS EXPECTED: {ended}."
    return RunSummary(
        f"{name}, {times} times", tuple(rows), tuple(grid for grid in grids if grid.rows), verdict, not ended
    )


def _counts(words: Any) -> str:
    return ", ".join(f"{count} {word}" for word, count in Counter(words).most_common()) or "-"


def _statistics(values: Sequence[float], unit: str) -> str:
    """Return mean, standard deviation and range of the values that are known, in words."""
    known = np.array([value for value in values if not math.isnan(value)])
    if not known.size:
        return "not known"
    spread = f" ± {plain_number(float(known.std(ddof=1)))}" if known.size > 1 else ""
    span = f"{plain_number(float(known.min()))} to {plain_number(float(known.max()))}"
    return f"{plain_number(float(known.mean()))}{spread} {unit}, {span}, {known.size} known"
