"""What Rey Arias 2024, section IV, says of Figs 4 and 5, beside ours."""

from __future__ import annotations

import numpy as np

from impact_control.studies.rey_arias import published
from impact_control.studies.rey_arias.course import DAMPED, SIXTH
from impact_control.studies.rey_arias.outcome import Outcome
from impact_control.studies.study import Comparison, Mark
from impact_control.types import Vector

RINGING = 100.0
"""[ms] after which the oscillations are damped out, in all cases about."""

GROWTH = 1.0
"""[deg/s] to which joint 6 has grown when the impact is detected, about; text on Fig. 5."""


def course_comparisons(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return the statements on the course of the trials; both figures are of type 1."""
    first = outcome.evaluations[0]
    shown = first.courses[0]
    courses = [course for evaluation in outcome.evaluations for course in evaluation.courses]
    slower = sum(course.before < course.force_ends for course in courses)
    ringing = _by_type(outcome, "ringing")
    # A joint that does not show the impact is not later.
    lags = np.nan_to_num(_by_type(outcome, "lag"))
    what = f"time until the oscillation stays below {100.0 * DAMPED:g} % of its largest"
    return (
        Comparison(
            "Fig. 4",
            "arm between the end of the force and the impact",
            "decelerates",
            f"from {np.degrees(shown.force_ends):.1f} to {np.degrees(shown.before):.1f} deg/s (norm of the joints), "
            f"slower in {slower} of {len(courses)} trials",
            mark=Mark.of(slower == len(courses)),
        ),
        Comparison("Fig. 4", f"{what}, type 1", RINGING, float(ringing[0]), "ms"),
        Comparison(
            "IV",
            f"{what}, all types",
            f"about {RINGING:g} ms",
            f"{np.min(ringing):.0f} to {np.max(ringing):.0f} ms",
        ),
        Comparison(
            "Fig. 4",
            "arm after the oscillations",
            "moves on until its own joint friction stops it",
            f"moves with {np.degrees(shown.last):.1f} deg/s {1e3 * shown.recorded:.0f} ms after the impact, where our "
            "recording ends",
        ),
        Comparison("Fig. 5", "what joint 6 has grown by when the impact is detected", GROWTH, growth(outcome), "deg/s"),
        Comparison(
            "Fig. 5, Table III",
            "type 1: velocity of joint 6 after the impact, from the cubic",
            float(published.GROSS_POST_VELOCITY[0, SIXTH]),
            float(first.gross[SIXTH]),
            "deg/s",
        ),
        Comparison(
            "IV",
            "joint 1 shows the impact later than joint 6",
            "by a gradual lag",
            f"in {np.count_nonzero(lags > 0.0)} of {lags.size} types, by {np.max(lags):.1f} ms at most",
            mark=Mark.of(bool(np.all(lags > 0.0))),
        ),
    )


def growth(outcome: Outcome) -> float:
    """Return by how much joint 6 of the trial that is shown has changed [deg/s] at the sample of the impact as found.

    From the last sample before it, in the direction of its jump.
    """
    impact, trial = outcome.evaluations[0].impacts[0], outcome.shown
    at_impact = int(np.argmin(np.abs(trial.time - impact.time)))
    before, after = impact.ante_velocity[SIXTH], impact.gross_velocity[SIXTH]
    change = (trial.velocity[at_impact, SIXTH] - before) * np.sign(after - before)
    return float(np.degrees(change))


def _by_type(outcome: Outcome, name: str) -> Vector:
    """Return a time of the courses [ms], mean of each type."""
    return 1e3 * np.array([np.mean([getattr(course, name) for course in one.courses]) for one in outcome.evaluations])
