"""What we ask of the gray areas; the source asks for less, or gives no number."""

from __future__ import annotations

import math
from collections.abc import Sequence

from impact_control.studies.classification.evaluation import Outcome
from impact_control.studies.classification.sweep import EDGE
from impact_control.studies.classification.verdicts import degrees
from impact_control.studies.study import Comparison, Mark

OWN = "target of our own"

LARGEST_GRAY = 1.5
"""[deg] On each side for the simultaneous impact; for the single one each side is to end within the sweep."""


def asked_for(outcome: Outcome) -> str:
    """Return what is asked of each side of a gray area."""
    return f"at most {LARGEST_GRAY:g} deg" if outcome.experiment.end_effector == EDGE else "an end"


def reaches(outcome: Outcome, width: float) -> bool:
    """Whether a side of the gray area [deg] is as small as it is to be."""
    return width <= LARGEST_GRAY if outcome.experiment.end_effector == EDGE else math.isfinite(width)


def targets(outcomes: Sequence[Outcome]) -> tuple[Comparison, ...]:
    """Each target in the place of what is published; widths of the verdict as a whole, on all tilts.

    That nothing acceptable is unexpected the source has, too; here it is for the variants it does not have.
    """
    found = []
    for outcome in outcomes:
        one, area = outcome.experiment, outcome.overall.area
        name = "{}, acceptable {:g} to {:g} deg".format(one.title, *one.acceptable)
        for side, width in (("below", area.below), ("above", area.above)):
            own = f"{width:g} deg" if math.isfinite(width) else degrees(width)
            what = f"{name}: gray area {side}"
            found.append(Comparison(OWN, what, asked_for(outcome), own, mark=Mark.of(reaches(outcome, width))))
        if not one.published:
            alarms = float(outcome.overall.false_alarms)
            what = f"{name}: acceptable trials called unexpected"
            found.append(Comparison(OWN, what, 0.0, alarms, mark=Mark.of(alarms == 0.0)))
    return tuple(found)
