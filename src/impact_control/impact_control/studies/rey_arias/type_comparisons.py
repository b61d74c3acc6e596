"""Tables II, III and IV of Rey Arias 2024, type by type, beside ours."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from impact_control.studies.rey_arias import published
from impact_control.studies.rey_arias.course import SIXTH
from impact_control.studies.rey_arias.evaluation import TypeEvaluation
from impact_control.studies.rey_arias.experiments import TYPES, ExperimentType
from impact_control.studies.rey_arias.outcome import PUBLISHED, Outcome
from impact_control.studies.study import Comparison, Mark
from impact_control.types import Vector

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
            mark=Mark.of(moves_as_published(kind, found) and is_oriented_as_published(kind, found)),
        )
        for kind, found in zip(TYPES, outcome.evaluations, strict=True)
    )


def along(kind: ExperimentType) -> str:
    """Say along which axis of the world a type moves."""
    axis, sign = kind.heading
    return f"{'along' if sign > 0 else 'against'} {AXES[axis]}"


def orientation(kind: ExperimentType) -> str:
    """Say how the end-effector is turned as printed."""
    return f"{kind.tilt:g} deg about {AXES[kind.axis]}" if kind.tilt else "z aligned with gravity"


def motion(found: TypeEvaluation) -> str:
    """Say how fast the contact point moves before the impact, in the plane of the plate and into it."""
    x, y, z = 1e3 * found.motion
    return f"{round(x)} mm/s along x, {round(y)} along y, {round(-z)} into the plate"


def other_tilt(kind: ExperimentType, found: TypeEvaluation) -> float:
    """Return the largest turn about the axes that Table II does not name [deg]."""
    return float(np.max(np.abs(np.delete(found.tilt, kind.axis))))


def moves_as_published(kind: ExperimentType, found: TypeEvaluation) -> bool:
    """Whether the contact point moves more along the printed direction than across it, and into the plate."""
    axis, sign = kind.heading
    forward, across = sign * float(found.motion[axis]), abs(float(found.motion[1 - axis]))
    return forward > across and found.motion[2] < 0.0


def is_oriented_as_published(kind: ExperimentType, found: TypeEvaluation) -> bool:
    """Whether the end-effector is turned as printed, within HALF_STEP about every axis."""
    error = abs(float(found.tilt[kind.axis]) - kind.tilt)
    return max(error, other_tilt(kind, found)) <= HALF_STEP


def error_comparisons(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return the errors of each type, all joints and joint 6, and which cells are coloured: Tables III and IV."""
    return tuple(row for i in range(len(TYPES)) for row in _errors_of(i, outcome))


def _errors_of(i: int, outcome: Outcome) -> Iterable[Comparison]:
    ours, theirs, kind = outcome.errors, PUBLISHED, f"type {TYPES[i].number}"
    compared = (
        ("Table III", "B_theta", theirs.reduced_motors[i], ours.reduced_motors[i]),
        ("Table III", "B_rho", theirs.motors[i], ours.motors[i]),
        ("Table IV", "B_theta without friction", theirs.without_friction[i], ours.without_friction[i]),
    )
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
    mark = Mark.of(bool(same.all())) if same.size else Mark.PLAIN
    return Comparison(where, what, _colours(printed), f"{_colours(own)}{among}", mark=mark)


def _colours(gain: Vector) -> str:
    """Say which joints are green and which are red."""
    cells = (("green", gain >= published.SIGNIFICANT), ("red", gain <= -published.SIGNIFICANT))
    parts = [
        f"{colour} {', '.join(str(j + 1) for j in np.flatnonzero(where))}" for colour, where in cells if where.any()
    ]
    return "; ".join(parts) or "none"
