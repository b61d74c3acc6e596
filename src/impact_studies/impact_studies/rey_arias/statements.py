"""Findings and verdict of the experiments, built from their numbers."""

from __future__ import annotations

import numpy as np

from impact_control.util.types import Matrix
from impact_studies.frame.study import Finding
from impact_studies.rey_arias import published
from impact_studies.rey_arias.evaluation import PUBLISHED, SIXTH, Outcome

_FIFTH = 4

TOLERANCE = 0.1
"""Relative difference within which the source's force gauge confirmed its coefficient, section IV-B."""


def verdict(outcome: Outcome) -> tuple[bool, str]:
    """Return whether its main claims hold, on both errors and on the coefficient that comes back, and the sentence."""
    ours = outcome.errors
    reduced, motors = ours.reduced_motors[:, SIXTH].mean(), ours.motors[:, SIXTH].mean()
    with_friction, without = ours.reduced_motors.mean(), ours.without_friction.mean()
    coefficient = outcome.evaluations[published.FRICTION_TYPE - 1].friction.coefficient
    holds = bool(reduced < motors and with_friction < without and comes_back(coefficient))
    parts = (
        f"B_theta {'is better' if reduced < motors else 'is not better'} than B_rho in joint 6 "
        f"({reduced:.2f} against {motors:.2f} deg/s)",
        f"friction {'improves' if with_friction < without else 'does not improve'} the prediction "
        f"({with_friction:.2f} against {without:.2f} deg/s)",
        f"the friction coefficient of type {published.FRICTION_TYPE} comes back as {coefficient:.2f}",
    )
    return holds, f"The main claims {'hold' if holds else 'do not all hold'}: {', '.join(parts[:2])}, and {parts[2]}."


def comes_back(coefficient: float) -> bool:
    """Check that a friction coefficient is that of the source, within what its force gauge confirmed."""
    return abs(coefficient - published.FRICTION_COEFFICIENT) <= TOLERANCE * published.FRICTION_COEFFICIENT


def findings(outcome: Outcome) -> tuple[Finding, ...]:
    """Return all findings in the order of the report."""
    return (
        _sixth_joint(outcome),
        _fifth_joint(outcome),
        _cells("B_theta instead of B_rho", outcome.errors.motors, PUBLISHED.motors, outcome),
        _cells("friction", outcome.errors.without_friction, PUBLISHED.without_friction, outcome),
        _largest(outcome),
        _coefficient(outcome),
        _coefficient_motors(outcome),
        _coefficients(outcome),
        _restitution(outcome),
        _delay(outcome),
        _noise(outcome),
    )


def _sixth_joint(outcome: Outcome) -> Finding:
    ours, theirs = outcome.errors, PUBLISHED
    reduced, motors = ours.reduced_motors[:, SIXTH], ours.motors[:, SIXTH]
    text = (
        f"Joint 6: the mean error is {reduced.mean():.2f} deg/s with B_theta and {motors.mean():.2f} with B_rho; "
        f"published {theirs.reduced_motors[:, SIXTH].mean():.2f} and {theirs.motors[:, SIXTH].mean():.2f}. "
        f"B_theta is better in {np.count_nonzero(reduced < motors)} of {reduced.size} types, published in "
        f"{np.count_nonzero(theirs.reduced_motors[:, SIXTH] < theirs.motors[:, SIXTH])}."
    )
    return Finding(text, bool(reduced.mean() < motors.mean()))


def _fifth_joint(outcome: Outcome) -> Finding:
    ours, theirs = outcome.errors, PUBLISHED
    reduced, motors = ours.reduced_motors[:, _FIFTH].mean(), ours.motors[:, _FIFTH].mean()
    text = (
        f"Joint 5: {reduced:.2f} deg/s with B_theta and {motors:.2f} with B_rho; published "
        f"{theirs.reduced_motors[:, _FIFTH].mean():.2f} and {theirs.motors[:, _FIFTH].mean():.2f}, where the source "
        "finds B_rho slightly better."
    )
    return Finding(text, bool(motors < reduced))


def _cells(what: str, ours: Matrix, theirs: Matrix, outcome: Outcome) -> Finding:
    """Count significant gains over another error (10, 7), and those where the source has them."""
    gain = ours - outcome.errors.reduced_motors
    published_gain = theirs - PUBLISHED.reduced_motors
    limit = published.SIGNIFICANT
    significant = np.abs(published_gain) >= limit
    same = significant & (np.sign(gain) == np.sign(published_gain))
    text = (
        f"By {what}, {np.count_nonzero(gain >= limit)} cells get better by {limit:g} deg/s or more and "
        f"{np.count_nonzero(gain <= -limit)} worse; published {np.count_nonzero(published_gain >= limit)} and "
        f"{np.count_nonzero(published_gain <= -limit)}. Of those {np.count_nonzero(significant)} published cells, "
        f"{np.count_nonzero(same)} change in the same direction here."
    )
    return Finding(text, bool(np.count_nonzero(same) > 0.5 * np.count_nonzero(significant)))


def _largest(outcome: Outcome) -> Finding:
    errors = outcome.errors.reduced_motors
    row, column = np.unravel_index(int(np.argmax(errors)), errors.shape)
    text = (
        f"The largest error with B_theta and friction is {errors.max():.2f} deg/s, type {row + 1}, joint {column + 1}; "
        f"published: values below {published.LARGEST_ERROR:g}, at most {PUBLISHED.reduced_motors.max():.2f}."
    )
    return Finding(text, bool(errors.max() < published.LARGEST_ERROR))


def _coefficient(outcome: Outcome) -> Finding:
    coefficient = outcome.evaluations[published.FRICTION_TYPE - 1].friction.coefficient
    text = (
        f"From type {published.FRICTION_TYPE} and B_theta the friction coefficient comes back as {coefficient:.3f}. "
        f"The simulated plate has {published.FRICTION_COEFFICIENT:g}, which is what the source identified."
    )
    return Finding(text, comes_back(coefficient))


def _coefficient_motors(outcome: Outcome) -> Finding:
    evaluation = outcome.evaluations[published.FRICTION_TYPE - 1]
    reduced, motors = evaluation.friction.coefficient, evaluation.friction_motors.coefficient
    agree = abs(motors - reduced) < TOLERANCE * reduced
    text = (
        f"With B_rho it comes back as {motors:.3f}, {abs(motors / reduced - 1.0):.0%} from that with B_theta; the "
        "source found the same with both. The search puts into the coefficient what the inertia has too much."
    )
    return Finding(text, agree)


def _coefficients(outcome: Outcome) -> Finding:
    types = dict(enumerate(outcome.evaluations, 1))
    found = [one.friction.coefficient for one in types.values()]
    near = [i for i, one in types.items() if comes_back(one.friction.coefficient)]
    restituted = [i for i, one in types.items() if comes_back(one.friction_restitution.coefficient)]
    others = [(i, one.slip_left) for i, one in types.items() if i not in restituted]
    text = (
        f"Over all types it is {min(found):.2f} to {max(found):.2f}, within 10 % of 0.3 in types "
        f"{_listed(near)}. With the observed restitution in the map it is so in types {_listed(restituted)}. "
        f"{_left(others)}The search puts into the coefficient whatever else the rigid map misses."
    )
    return Finding(text)


def _restitution(outcome: Outcome) -> Finding:
    restitution = np.array([one.restitution for one in outcome.evaluations])
    before, after = outcome.errors.reduced_motors[:, SIXTH], outcome.error_restitution[:, SIXTH]
    text = (
        "The law of the contact is inelastic, but joints and torque loop are not: with the gross velocity the contact "
        f"point leaves the plate at {restitution.min():.2f} to {restitution.max():.2f} of the speed of its approach "
        f"(types {np.argmin(restitution) + 1} and {np.argmax(restitution) + 1}). With this restitution in the map the "
        f"error of joint 6 is {after.mean():.2f} deg/s instead of {before.mean():.2f}."
    )
    return Finding(text)


def _delay(outcome: Outcome) -> Finding:
    delays = outcome.delays
    text = (
        f"The impact is found {-delays.max():.2f} to {-delays.min():.2f} ms before the contact, in all "
        f"{delays.size} trials."
        if delays.max() < 0.0
        else f"The impact is found {delays.min():+.2f} to {delays.max():+.2f} ms from the contact in all trials."
    )
    return Finding(f"{text} Samples are {1e3 * outcome.period:g} ms apart.")


def _noise(outcome: Outcome) -> Finding:
    published_least = PUBLISHED.reduced_motors[:, [0, 6]].mean()
    ours_least = outcome.errors.reduced_motors[:, [0, 6]].mean()
    text = (
        f"The position noise alone makes a mean error of {outcome.error_of_noise:.2f} deg/s in the fitted velocity. "
        f"Joints 1 and 7, which the impact hardly moves, have {ours_least:.2f} deg/s here and {published_least:.2f} "
        "published: much of the error of the joints that err least is noise."
    )
    return Finding(text)


def _left(others: list[tuple[int, float]]) -> str:
    """Describe how much slip is left in types (number, part) in which the coefficient does not come back."""
    if not others:
        return ""
    numbers = _listed([number for number, _ in others])
    parts = ", ".join(f"{part:.0%}" for _, part in others)
    return f"In the others, {numbers}, {parts} of the slip is left after the impact. "


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
