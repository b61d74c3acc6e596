"""Tables III and IV of Rey Arias 2024 in few numbers, and what its text says of them, beside ours; then in detail."""

from __future__ import annotations

from impact_control.studies.rey_arias import published
from impact_control.studies.rey_arias.course import SIXTH
from impact_control.studies.rey_arias.course_comparisons import course_comparisons
from impact_control.studies.rey_arias.outcome import PUBLISHED, Outcome
from impact_control.studies.rey_arias.statements import comes_back
from impact_control.studies.rey_arias.type_comparisons import condition_comparisons, error_comparisons
from impact_control.studies.study import Comparison, Mark


def comparisons(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return means of the errors, claims on them, friction coefficients, then Figs 4 and 5, Table II, and each type."""
    ours, theirs = outcome.errors, PUBLISHED
    means = [
        Comparison(
            table, f"mean error of {joints}, {what}", float(printed[:, j].mean()), float(own[:, j].mean()), "deg/s"
        )
        for joints, j in (("all joints", slice(None)), ("joint 6", slice(SIXTH, SIXTH + 1)))
        for table, what, printed, own in (
            ("Table III", "B_theta", theirs.reduced_motors, ours.reduced_motors),
            ("Table III", "B_rho", theirs.motors, ours.motors),
            ("Table IV", "B_theta without friction", theirs.without_friction, ours.without_friction),
        )
    ]
    reduced, motors = (float(errors[:, SIXTH].mean()) for errors in (ours.reduced_motors, ours.motors))
    friction, without = float(ours.reduced_motors.mean()), float(ours.without_friction.mean())
    largest = float(ours.reduced_motors.max())
    evaluation = outcome.evaluations[published.FRICTION_TYPE - 1]
    coefficients = [
        Comparison(
            "IV-B",
            f"friction coefficient of type {published.FRICTION_TYPE}, {what}",
            published.FRICTION_COEFFICIENT,
            found,
            mark=Mark.of(comes_back(found)),
        )
        for what, found in (
            ("B_theta", evaluation.friction.coefficient),
            ("B_rho", evaluation.friction_motors.coefficient),
        )
    ]
    return (
        *means,
        Comparison(
            "Table III, Fig. 6",
            "joint 6: error with B_theta against B_rho",
            "smaller",
            f"{reduced:.2f} against {motors:.2f} deg/s",
            mark=Mark.of(reduced < motors),
        ),
        Comparison(
            "Table IV, Fig. 7",
            "error with friction against without",
            "smaller",
            f"{friction:.2f} against {without:.2f} deg/s",
            mark=Mark.of(friction < without),
        ),
        Comparison(
            "V",
            "largest error of a joint, B_theta and friction",
            f"below {published.LARGEST_ERROR:g} deg/s",
            f"{largest:.2f} deg/s",
            mark=Mark.of(largest < published.LARGEST_ERROR),
        ),
        *coefficients,
        *course_comparisons(outcome),
        *condition_comparisons(outcome),
        *error_comparisons(outcome),
    )
