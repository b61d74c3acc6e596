"""How well the completion of the contact is told, against the gaps of the simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from impact_control.studies.classification.sweep import SweptImpact


@dataclass(frozen=True)
class CompletionErrors:
    """Of some trials: how many there are, in how many every point touched, in how many of these it was not told.

    early: told before every point had touched. delays [s]: 5, 50, 95 % of the time from the first touch of the last
    point to the report, bounces included.
    """

    name: str
    trials: int
    touched: int
    missed: int
    early: int
    delays: tuple[float, float, float]


def completion_errors(name: str, trials: Sequence[SweptImpact]) -> CompletionErrors:
    """Return the errors of some trials. Those that end before a report could come count as missed."""
    touched = [trial for trial in trials if math.isfinite(max(trial.touches))]
    told = [trial for trial in touched if math.isfinite(trial.completion_decision)]
    delays = [trial.completion_decision - max(trial.touches) for trial in told]
    quantiles = np.quantile(delays, (0.05, 0.5, 0.95)) if delays else np.full(3, math.nan)
    false = [t for t in trials if math.isfinite(t.completion_decision) and t.completion_decision < max(t.touches)]
    return CompletionErrors(
        name,
        len(trials),
        len(touched),
        len(touched) - len(told),
        len(false),
        (float(quantiles[0]), float(quantiles[1]), float(quantiles[2])),
    )
