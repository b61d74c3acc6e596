"""How well the completion of the contact is told, against the gaps of the simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from impact_control.studies.classification.sweep import SweptImpact

LASTING = 0.03
"""[s] A contact that was closed for so long at the end of a trial should have been told."""


@dataclass(frozen=True)
class CompletionErrors:
    """Of some trials: how many there are, in how many every point touched, in how many of these it was not told.

    missed: not told, although all points were closed for LASTING at the end; unfinished: not told, and not so.
    early: told before every point had touched. delays [s]: 5, 50, 95 % of the time from the first touch of the last
    point to the report, bounces included.
    """

    name: str
    trials: int
    touched: int
    missed: int
    unfinished: int
    early: int
    delays: tuple[float, float, float]


def completion_errors(name: str, trials: Sequence[SweptImpact]) -> CompletionErrors:
    """Return the errors of some trials."""
    touched = [trial for trial in trials if math.isfinite(max(trial.touches))]
    told = [trial for trial in touched if math.isfinite(trial.completion_decision)]
    untold = [trial for trial in touched if not math.isfinite(trial.completion_decision)]
    missed = [trial for trial in untold if trial.closed_time <= trial.recorded.time[-1] - LASTING]
    delays = [trial.completion_decision - max(trial.touches) for trial in told]
    quantiles = np.quantile(delays, (0.05, 0.5, 0.95)) if delays else np.full(3, math.nan)
    false = [t for t in trials if math.isfinite(t.completion_decision) and t.completion_decision < max(t.touches)]
    return CompletionErrors(
        name,
        len(trials),
        len(touched),
        len(missed),
        len(untold) - len(missed),
        len(false),
        (float(quantiles[0]), float(quantiles[1]), float(quantiles[2])),
    )
