"""Tables II to IV and statements on Figs 4 and 5 of Rey Arias 2024, section IV, beside ours."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from impact_control.util.types import Matrix, Vector
from impact_studies.frame.study import Comparison
from impact_studies.rey_arias import published
from impact_studies.rey_arias.evaluation import DAMPED, PUBLISHED, SIXTH, Outcome, TypeEvaluation
from impact_studies.rey_arias.experiments import TYPES, ExperimentType
from impact_studies.rey_arias.statements import comes_back

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
            holds=slower == len(courses),
        ),
        Comparison("Fig. 4", f"{what}, type 1", RINGING, float(ringing[0]), "ms"),
        Comparison(
            "IV", f"{what}, all types", f"about {RINGING:g} ms", f"{np.min(ringing):.0f} to {np.max(ringing):.0f} ms"
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
            holds=bool(np.all(lags > 0.0)),
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


HALF_STEP = 5.0
"""[deg] Half of the least difference of two orientations in Table II: nearer, ours is the published one."""

AXES = ("x", "y", "z")


def condition_comparisons(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return motion and orientation at the impact of each type: Table II."""
    return tuple(
        Comparison(
            "Table II",
            f"type {kind.number}: motion and orientation at the impact",
            f"{kind.motion}, {along(kind)}; {orientation(kind)}",
            f"{motion(found)}; {found.tilt[kind.axis]:.1f} deg about {AXES[kind.axis]}, at most "
            f"{other_tilt(kind, found):.1f} deg about the others",
            holds=moves_as_published(kind, found) and is_oriented_as_published(kind, found),
        )
        for kind, found in zip(TYPES, outcome.evaluations, strict=True)
    )


def along(kind: ExperimentType) -> str:
    """Describe along which axis of the world a type moves."""
    axis, sign = kind.heading
    return f"{'along' if sign > 0 else 'against'} {AXES[axis]}"


def orientation(kind: ExperimentType) -> str:
    """Describe how the end-effector is turned as printed."""
    return f"{kind.tilt:g} deg about {AXES[kind.axis]}" if kind.tilt else "z aligned with gravity"


def motion(found: TypeEvaluation) -> str:
    """Describe how fast the contact point moves before the impact, in the plane of the plate and into it."""
    x, y, z = 1e3 * found.motion
    return f"{round(x)} mm/s along x, {round(y)} along y, {round(-z)} into the plate"


def other_tilt(kind: ExperimentType, found: TypeEvaluation) -> float:
    """Return the largest turn about the axes that Table II does not name [deg]."""
    return float(np.max(np.abs(np.delete(found.tilt, kind.axis))))


def moves_as_published(kind: ExperimentType, found: TypeEvaluation) -> bool:
    """Check that the contact point moves more along the printed direction than across it, and into the plate."""
    axis, sign = kind.heading
    forward, across = sign * float(found.motion[axis]), abs(float(found.motion[1 - axis]))
    return forward > across and found.motion[2] < 0.0


def is_oriented_as_published(kind: ExperimentType, found: TypeEvaluation) -> bool:
    """Check that the end-effector is turned as printed, within HALF_STEP about every axis."""
    error = abs(float(found.tilt[kind.axis]) - kind.tilt)
    return max(error, other_tilt(kind, found)) <= HALF_STEP


def error_comparisons(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return the errors of each type, all joints and joint 6, and which cells are coloured: Tables III and IV."""
    return tuple(row for i in range(len(TYPES)) for row in _errors_of(i, outcome))


def _compared(outcome: Outcome) -> tuple[tuple[str, str, Matrix, Matrix], ...]:
    """Return table, name, printed and own errors (10, 7) [deg/s] of each prediction."""
    ours, theirs = outcome.errors, PUBLISHED
    return (
        ("Table III", "B_theta", theirs.reduced_motors, ours.reduced_motors),
        ("Table III", "B_rho", theirs.motors, ours.motors),
        ("Table IV", "B_theta without friction", theirs.without_friction, ours.without_friction),
    )


def _errors_of(i: int, outcome: Outcome) -> Iterable[Comparison]:
    kind = f"type {TYPES[i].number}"
    compared = [(table, what, printed[i], own[i]) for table, what, printed, own in _compared(outcome)]
    for table, what, printed, own in compared:
        yield Comparison(table, f"{kind}: mean error, {what}", float(printed.mean()), float(own.mean()), "deg/s")
        yield Comparison(table, f"{kind}: error of joint 6, {what}", float(printed[SIXTH]), float(own[SIXTH]), "deg/s")
    (_, _, full, own_full), *others = compared
    for (table, _, printed, own), what in zip(others, ("B_theta", "friction"), strict=True):
        yield coloured(table, f"{kind}: joints better (green), worse (red) with {what}", printed - full, own - own_full)


def coloured(where: str, what: str, printed: Vector, own: Vector) -> Comparison:
    """Compare in which joints the error gets smaller (green) or larger (red) by SIGNIFICANT or more.

    printed, own (7,) [deg/s]: by how much it gets smaller. It holds when each joint that the source colours has the
    same colour here; nothing is said of the others.
    """
    chosen = np.abs(printed) >= published.SIGNIFICANT
    same = np.sign(printed[chosen]) * own[chosen] >= published.SIGNIFICANT
    among = f"; {np.count_nonzero(same)} of the {same.size} of the source" if same.size else ""
    holds = bool(same.all()) if same.size else None
    return Comparison(where, what, _colours(printed), f"{_colours(own)}{among}", holds=holds)


def _colours(gain: Vector) -> str:
    """Describe which joints are green and which are red."""
    cells = (("green", gain >= published.SIGNIFICANT), ("red", gain <= -published.SIGNIFICANT))
    parts = [
        f"{colour} {', '.join(str(j + 1) for j in np.flatnonzero(where))}" for colour, where in cells if where.any()
    ]
    return "; ".join(parts) or "none"


def comparisons(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return means of the errors, claims on them, friction coefficients, then Figs 4 and 5, Table II, and each type."""
    ours = outcome.errors
    means = [
        Comparison(
            table, f"mean error of {joints}, {what}", float(printed[:, j].mean()), float(own[:, j].mean()), "deg/s"
        )
        for joints, j in (("all joints", slice(None)), ("joint 6", slice(SIXTH, SIXTH + 1)))
        for table, what, printed, own in _compared(outcome)
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
            holds=comes_back(found),
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
            holds=reduced < motors,
        ),
        Comparison(
            "Table IV, Fig. 7",
            "error with friction against without",
            "smaller",
            f"{friction:.2f} against {without:.2f} deg/s",
            holds=friction < without,
        ),
        Comparison(
            "V",
            "largest error of a joint, B_theta and friction",
            f"below {published.LARGEST_ERROR:g} deg/s",
            f"{largest:.2f} deg/s",
            holds=largest < published.LARGEST_ERROR,
        ),
        *coefficients,
        *course_comparisons(outcome),
        *condition_comparisons(outcome),
        *error_comparisons(outcome),
    )
