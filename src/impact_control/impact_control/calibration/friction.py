"""Joint friction from recordings of free motion, by what it leaves in the momentum residual: Gaz et al. 2019."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from impact_control.calibration.motion import FreeMotion, Result, joined_time, numbers, quantity
from impact_control.recording.summary import Grid, Mark, Row, RunSummary, number_grid, short_joint_names
from impact_control.scenario import Scenario, robot_of
from impact_control.util.checks import checked_vector, finite_array, increasing_stamps
from impact_control.util.errors import InvalidInputError, RecordingError
from impact_control.util.types import Matrix, Vector

PARAMETERS = ("amplitude", "slope", "offset", "viscous", "bias")
"""In the order of `FrictionFit.standard_error`."""

_SLOPES = (2.0, 5.0, 10.0, 20.0, 40.0)
"""[s/rad] tried at the start of the search; the published ones of a Panda lie between 5 and 17."""

_LARGEST_LOG_SLOPE = 7.0
"""Largest logarithm of the slope in s/rad: friction saturates at 2 mrad/s."""

_INTERVAL, _LARGEST_PERIOD = 0.02, 0.005
"""[s] over which impulses are summed; longest period between samples that is used."""

_LEAST_SPEED = 0.2
"""[rad/s] that a joint has to reach in both directions to be identified."""

LEAST_EXPLAINED = 0.5
"""Share of the variance from which on friction is written: below, most of what was measured is something else."""

_CLUSTERS = 20
"""Parts of the record between which errors count as independent."""


@dataclass(frozen=True, eq=False)
class FrictionFit:
    """Friction of n joints: tau_f = phi_1 / 2 (tanh(phi_2 (dq + phi_3) / 2) - tanh(phi_2 phi_3 / 2)) + b dq.

    The sigmoid of Gaz et al. 2019, as in the robot's data, in place of the sign of Coulomb friction, and a viscous
    term. Each (n,): amplitude phi_1 [Nm], slope phi_2 [s/rad], offset phi_3 [rad/s], viscous b [Nm s/rad], and bias
    [Nm], what acts against the joint at rest too: an error of gravity, or of the sensor. standard_error (5, n) in the
    order of PARAMETERS. explained (n,): share of the variance of the measured impulses that the fit accounts for;
    remaining (n,) [Nm]: root mean square of the rest, over an interval. objection: reason why a joint was not
    identified, "" for one that was; the numbers of one that was not are NaN.
    """

    amplitude: Vector
    slope: Vector
    offset: Vector
    viscous: Vector
    bias: Vector
    standard_error: Matrix
    explained: Vector
    remaining: Vector
    objection: tuple[str, ...]

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Mask (n,) of the identified joints."""
        return np.array([not words for words in self.objection])


def identify_joint_friction(
    time: Vector,
    velocity: Matrix,
    residual: Matrix,
    observer_gain: Vector,
    *,
    viscous: bool = True,
    least_explained: float = 0.0,
) -> FrictionFit:
    """Return the friction of each joint from a record without contact.

    Without contact the momentum residual is the friction, negative and low-passed: dr/dt = K (-tau_f - r). Flacco 2016
    (8)-(11) regresses it; with the Errata, the sign of the friction is kept and the filter accounted for. Here the
    filter is undone instead, exactly: for the Tustin rule of Flacco 2016 (13) over a period T

        ((1 + K T / 2) r_k - (1 - K T / 2) r_{k-1}) / K = -(tau_f,k + tau_f,k-1) T / 2 + noise,

    whose sum over an interval is the impulse of the friction. The noise is a difference of momenta, so that only those
    at the ends of the interval stay in the sum. The five parameters of a joint are those of least squares over all
    intervals. Their errors are computed from the scatter between parts of the record, since neighbouring intervals
    share noise and errors of the model are alike in like motion.

    Args:
        time: (m,) [s] of the samples, increasing.
        velocity: (m, n) [rad/s].
        residual: r (m, n) [Nm] of a momentum observer without a friction model.
        observer_gain: K_O (n,) [1/s], with which it ran.
        viscous: with a viscous term, which the friction of the robots' data has not; without it is 0.
        least_explained: share of the variance that the fit of a joint has to explain to be identified.

    Raises InvalidInputError for sizes that do not match, numbers that are not finite, or too few samples.
    """
    t = increasing_stamps("time", time)
    gain = checked_vector("observer_gain", observer_gain, zero_allowed=False)
    dq = finite_array("velocity", velocity, (t.size, gain.size))
    r = finite_array("residual", residual, (t.size, gain.size))
    period = np.diff(t)
    usable = period <= _LARGEST_PERIOD
    # Intervals of the samples' clock; none reaches over a gap, and cut ones are left out.
    number = np.floor((t[1:] - t[0]) / _INTERVAL + 1e-9).astype(np.int64)
    number = np.cumsum(np.diff(number, prepend=number[0]) != 0)
    duration: Vector = np.asarray(np.bincount(number, weights=period), dtype=float)
    whole = (np.bincount(number, weights=~usable) == 0) & (duration > 0.5 * _INTERVAL)
    if np.count_nonzero(whole) < 2 * _CLUSTERS:
        allowed = f"at least {2 * _CLUSTERS} intervals of {_INTERVAL} s without gaps"
        raise InvalidInputError("duration", round(float(t[-1] - t[0]), 3), allowed)
    half = 0.5 * period[:, None] * gain
    impulse = ((1.0 + half) * r[1:] - (1.0 - half) * r[:-1]) / gain
    torque = -np.array([np.bincount(number, weights=column) for column in impulse.T]).T[whole] / duration[whole, None]

    def mean(signal: Vector) -> Vector:
        """Return the means over the intervals, by the trapezoidal rule as in the observer."""
        area = np.bincount(number, weights=0.5 * period * (signal[1:] + signal[:-1]))
        means: Vector = area[whole] / duration[whole]
        return means

    columns = [_fit(mean, dq[:, j], torque[:, j], viscous, least_explained) for j in range(gain.size)]
    values, errors, explained, remaining, objections = zip(*columns, strict=True)
    amplitude, slope, offset, linear, bias = np.array(values).T
    rest = (np.array(errors).T, np.array(explained), np.array(remaining))
    return FrictionFit(amplitude, slope, offset, linear, bias, *rest, objection=tuple(objections))


def _sigmoid(velocity: Vector, slope: float, offset: float) -> Vector:
    half = 0.5 * slope
    value: Vector = 0.5 * (np.tanh(half * (velocity + offset)) - math.tanh(half * offset))
    return value


def _fit(
    mean: Callable[[Vector], Vector], velocity: Vector, torque: Vector, viscous: bool, least_explained: float
) -> tuple[Vector, Vector, float, float, str]:
    """Return parameters (5,), their standard errors (5,), explained share, what remains [Nm], objection, of a joint."""
    unknown = np.full(len(PARAMETERS), math.nan)
    fastest, slowest = float(np.max(velocity)), float(np.min(velocity))
    if fastest < _LEAST_SPEED or slowest > -_LEAST_SPEED:
        words = f"moved from {slowest:.3g} to {fastest:.3g} rad/s, not beyond {_LEAST_SPEED:g} in both directions"
        return unknown, unknown, math.nan, math.nan, words
    ones, mean_velocity = np.ones_like(torque), mean(velocity)

    def start(slope: float) -> tuple[float, Vector]:
        columns = np.column_stack([mean(_sigmoid(velocity, slope, 0.0)), viscous * mean_velocity, ones])
        amplitude, coefficient, bias = np.linalg.lstsq(columns, torque, rcond=None)[0]
        rest = torque - columns @ np.array([amplitude, coefficient, bias])
        return float(rest @ rest), np.array([amplitude, math.log(slope), 0.0, coefficient, bias])

    free = np.array([True, True, True, viscous, True])

    def spread(values: Vector) -> Vector:
        p = np.zeros(free.size)
        p[free] = values
        return p

    def error(values: Vector) -> Vector:
        p = spread(values)
        shape = mean(_sigmoid(velocity, math.exp(min(p[1], _LARGEST_LOG_SLOPE)), p[2]))
        rest: Vector = p[0] * shape + p[3] * mean_velocity + p[4] - torque
        return rest

    first = min((start(slope) for slope in _SLOPES), key=lambda found: found[0])[1]
    scale = np.array([0.1, 0.1, 0.01, 0.1, 0.1])
    found = least_squares(error, first[free], method="lm", x_scale=scale[free], max_nfev=500)
    p = spread(found.x)
    p[1] = math.exp(min(p[1], _LARGEST_LOG_SLOPE))
    scatter = spread(_standard_errors(found.jac, found.fun))
    scatter[1] *= p[1]
    explained = 1.0 - float(found.fun @ found.fun) / float(np.sum((torque - torque.mean()) ** 2))
    remaining = float(np.sqrt(np.mean(found.fun**2)))
    # At the largest slope the error no longer depends on it, and its scatter is 0.
    if not (p[0] > 2.0 * scatter[0] and p[1] > 2.0 * scatter[1] and p[1] < math.exp(_LARGEST_LOG_SLOPE)):
        words = f"amplitude {p[0]:.3g} Nm, slope {p[1]:.3g} s/rad with standard errors of {scatter[0]:.3g} Nm, "
        words += f"{scatter[1]:.3g} s/rad: not identifiable from this motion"
        return unknown, unknown, explained, remaining, words
    if explained < least_explained:
        words = f"{100.0 * explained:.0f} % of the variance explained, less than {100.0 * least_explained:.0f} %: "
        return unknown, unknown, explained, remaining, words + "other torques act, of a wrong model or a contact"
    return p, scatter, explained, remaining, ""


def _standard_errors(jacobian: Matrix, error: Vector) -> Vector:
    """Return the standard errors (5,) from the scores of consecutive parts of the record, which are independent."""
    bread = np.linalg.pinv(jacobian.T @ jacobian)
    parts = np.array_split(np.arange(error.size), _CLUSTERS)
    scores = np.array([jacobian[part].T @ error[part] for part in parts])
    meat = scores.T @ scores * _CLUSTERS / (_CLUSTERS - 1)
    with np.errstate(invalid="ignore"):  # NaN, which is never small enough, where rounding leaves less than 0
        deviations: Vector = np.sqrt(np.diagonal(bread @ meat @ bread))
    return deviations


UNITS = {"amplitude": "Nm", "slope": "s/rad", "offset": "rad/s"}
"""Units of the parameters in the robots' data."""

_APART = 1.0
"""[s] between two recordings."""


def friction_in(motions: Sequence[FreeMotion], observer_gain: Vector, **options: Any) -> FrictionFit:
    """Return what `identify_joint_friction` makes of all recordings together, with its options and errors."""
    velocity, residual = (np.vstack([getattr(motion, name) for motion in motions]) for name in ("velocity", "residual"))
    return identify_joint_friction(joined_time(motions, _APART), velocity, residual, observer_gain, **options)


def calibrate_friction(scenario: Scenario, motions: Sequence[FreeMotion]) -> Result:
    """Return the friction of the joints that moved enough; the others keep that of the scenario.

    There is no viscous term, as in the robots' data. A joint of which less than LEAST_EXPLAINED of the variance is
    explained is not identified. Raises RecordingError when none is.
    """
    robot, gain = robot_of(scenario.robot), scenario.detection.observer_gain
    names = ", ".join(motion.name for motion in motions)
    try:
        fit = friction_in(motions, gain, viscous=False, least_explained=LEAST_EXPLAINED)
    except InvalidInputError as error:
        raise RecordingError(names, str(error), "a longer recording of free motion") from error
    if not fit.identified.any():
        reasons = "; ".join(f"joint {j + 1}: {words}" for j, words in enumerate(fit.objection))
        raise RecordingError(names, f"no joint is identified: {reasons}", "motion of the joints in both directions")
    known = np.array([getattr(robot.friction, name) for name in UNITS])
    found = np.where(fit.identified, np.array([getattr(fit, name) for name in UNITS]), known)
    section: dict[str, object] = {
        name: quantity(values, unit) for (name, unit), values in zip(UNITS.items(), found, strict=True)
    }
    scatter = fit.standard_error[PARAMETERS.index("amplitude")] / found[0]
    section["deviation"] = numbers(np.where(fit.identified, scatter, robot.deviation.joint_friction))
    kept = tuple(f"joint {j + 1} keeps its friction: {words}" for j, words in enumerate(fit.objection) if words)
    objections = tuple(words for motion in motions for words in motion.doubts)
    rows = [row for motion in motions for row in motion.rows]
    rows += [Row("Kept", words, Mark.BAD) for words in kept]
    joints = short_joint_names(robot.joint_names)
    shares = 100.0 * fit.explained[fit.identified]
    verdict = (
        f"IDENTIFIED: {shares.size} of {fit.identified.size} joints, "
        f"{shares.min():.0f} to {shares.max():.0f} % of the variance explained."
    )
    summary = RunSummary("Joint friction", tuple(rows), _grids(fit, known, joints), verdict, not (kept or objections))
    sources = (*(motion.source for motion in motions), *kept)
    return Result(summary, {"robot": {"joint_friction": section}}, sources, objections)


def _grids(fit: FrictionFit, known: Matrix, joints: tuple[str, ...]) -> tuple[Grid, ...]:
    grids = []
    for row, (name, unit) in enumerate(UNITS.items()):
        error = fit.standard_error[PARAMETERS.index(name)]
        lines = (("before", known[row]), ("now", getattr(fit, name)), ("+-", error))
        grids.append(number_grid(f"{name} [{unit}], and its standard error", lines, joints))
    rest = (("bias", fit.bias), ("remains", fit.remaining), ("explained", fit.explained))
    title = "Torque beside the friction, at rest too; root mean square of the rest [Nm]; part explained"
    return (*grids, number_grid(title, rest, joints))
