"""What Flacco 2016 shows in its Figs 5, 8 and 11 and its thresholds beside ours; the others are in `statements`."""

from __future__ import annotations

import numpy as np

from impact_control.studies.flacco.arm import JOINTS, SHOWN_GAP
from impact_control.studies.flacco.experiments import PUBLISHED_THRESHOLDS
from impact_control.studies.flacco.outcome import Outcome
from impact_control.studies.flacco.statements import OWN, statements
from impact_control.studies.flacco.tables import TOLERANCE, targets_table
from impact_control.studies.study import Comparison, Mark

_PLACES = (OWN, *("Fig. 8",) * 3, *("Fig. 11",) * 3)
"""Where the source shows what each target is about."""


def comparisons(outcome: Outcome) -> tuple[Comparison, ...]:
    """What the source shows in its Figs 8 and 11 and the targets, then gaps, statements and thresholds.

    The thresholds of the source are those of another arm, and it does not say how it chose them: no verdict.
    """
    targets = targets_table(outcome)
    said = [
        Comparison(where, str(what), str(target), str(measured), mark=targets.mark(i, 2))
        for i, (where, (what, target, measured)) in enumerate(zip(_PLACES, targets.rows, strict=True))
    ]
    gaps = [
        Comparison(
            "V-A, Fig. 5" if j == SHOWN_GAP else "V-A",
            f"half-width of the gap of joint {j + 1}, Romeo's, which is simulated",
            1e3 * float(JOINTS.gap[j]),
            1e3 * float(outcome.fit.model.gap[j]),
            "mrad",
            Mark.of(abs(float(outcome.fit.model.gap[j] / JOINTS.gap[j]) - 1.0) <= TOLERANCE),
        )
        for j in np.flatnonzero(JOINTS.gap)
    ]
    thresholds = [
        Comparison("V-C", f"threshold of joint {j + 1}", float(published), float(own), "Nm")
        for j, (published, own) in enumerate(zip(PUBLISHED_THRESHOLDS, outcome.threshold, strict=True))
    ]
    return (*said, *gaps, *statements(outcome), *thresholds)
