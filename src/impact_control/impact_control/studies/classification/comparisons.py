"""Figs 4.12 to 4.20 of Proper 2021 beside ours: gray areas, and acceptable trials that are called unexpected."""

from __future__ import annotations

from collections.abc import Sequence

from impact_control.studies.classification.evaluation import Outcome
from impact_control.studies.classification.sweep import EDGE
from impact_control.studies.classification.tables import LARGEST_GRAY, degrees, reaches
from impact_control.studies.study import Comparison, Mark


def comparisons(outcomes: Sequence[Outcome]) -> tuple[Comparison, ...]:
    """Return both sides of each gray area and the false alarms of each tuning; verdicts: targets of ours."""
    found = []
    for outcome in outcomes:
        one, area = outcome.experiment, outcome.area
        where = f"Fig. {one.figure}"
        tilts = "{:g} to {:g} deg".format(*one.acceptable)
        asked = f"at most {LARGEST_GRAY:g} deg" if one.end_effector == EDGE else "an end"
        for side, width, published in (
            ("below", area.below, one.published_below),
            ("above", area.above, one.published_above),
        ):
            what = f"gray area {side} the acceptable tilts of {tilts}; our target: {asked}"
            theirs = float(published) if published.isdecimal() else published
            ours = width if degrees(width) != "does not end" else degrees(width)
            found.append(Comparison(where, what, theirs, ours, "deg", Mark.of(reaches(outcome, width))))
        found.append(
            Comparison(
                where,
                f"acceptable trials called unexpected, tuned for {tilts}",
                0.0,
                float(outcome.false_alarms),
                mark=Mark.of(outcome.false_alarms == 0),
            )
        )
    return tuple(found)
