"""Friction of the joints from motion without contact, by what it leaves in the momentum residual."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from impact_control.checks import checked_vector, finite_array, increasing_stamps, require_positive
from impact_control.errors import InvalidInputError
from impact_control.types import Matrix, Vector

PARAMETERS = ("amplitude", "slope", "offset", "viscous", "bias")
"""In the order of `FrictionFit.standard_error`."""

_SLOPES = (2.0, 5.0, 10.0, 20.0, 40.0)
"""[s/rad] tried at the start of the search; the published ones of a Panda lie between 5 and 17."""

_CLUSTERS = 20
"""Parts of the record between which errors count as independent."""


@dataclass(frozen=True, eq=False)
class FrictionFit:
    """Friction of n joints: tau_f = phi_1 / 2 (tanh(phi_2 (dq + phi_3) / 2) - tanh(phi_2 phi_3 / 2)) + b dq.

    The sigmoid of Gaz et al. 2019, as in the robot's data, in place of the sign of Coulomb friction, and a viscous
    term. Each (n,): amplitude phi_1 [Nm], slope phi_2 [s/rad], offset phi_3 [rad/s], viscous b [Nm s/rad], and bias
    [Nm], what acts against the joint at rest too: an error of gravity, or of the sensor. standard_error (5, n) in the
    order of PARAMETERS. explained (n,): share of the variance of the measured impulses that the fit accounts
    for. objection: of each joint, why it was not identified; empty for one that was. The numbers of a joint that was
    not are NaN.
    """

    amplitude: Vector
    slope: Vector
    offset: Vector
    viscous: Vector
    bias: Vector
    standard_error: Matrix
    explained: Vector
    objection: tuple[str, ...]

    @property
    def identified(self) -> NDArray[np.bool_]:
        """(n,) whether each joint was."""
        return np.array([not words for words in self.objection])

    def torque(self, velocity: Matrix) -> Matrix:
        """Return tau_f at joint velocities (..., n) [rad/s], in Nm: of the sign of the velocity, 0 at rest."""
        half = 0.5 * self.slope
        sigmoid = np.tanh(half * (velocity + self.offset)) - np.tanh(half * self.offset)
        torque: Matrix = 0.5 * self.amplitude * sigmoid + self.viscous * velocity
        return torque


def identify_joint_friction(
    time: Vector,
    velocity: Matrix,
    residual: Matrix,
    observer_gain: Vector,
    *,
    interval: float = 0.02,
    least_speed: float = 0.2,
    largest_period: float = 0.005,
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
        interval: [s] over which impulses are summed, above 0.
        least_speed: [rad/s] a joint has to reach in both directions to be identified, above 0.
        largest_period: [s]; longer gaps between samples are left out.

    Raises:
        InvalidInputError: sizes that do not match, numbers that are not finite, or too few samples.
    """
    t = increasing_stamps("time", time)
    gain = checked_vector("observer_gain", observer_gain, zero_allowed=False)
    dq = finite_array("velocity", velocity, (t.size, gain.size))
    r = finite_array("residual", residual, (t.size, gain.size))
    for name, value in (("interval", interval), ("least_speed", least_speed), ("largest_period", largest_period)):
        require_positive(name, value)
    period = np.diff(t)
    usable = period <= largest_period
    # Intervals of the samples' clock; none reaches over a gap, and cut ones are left out.
    number = np.floor((t[1:] - t[0]) / interval + 1e-9).astype(np.int64)
    number = np.cumsum(np.diff(number, prepend=number[0]) != 0)
    duration: Vector = np.asarray(np.bincount(number, weights=period), dtype=float)
    whole = (np.bincount(number, weights=~usable) == 0) & (duration > 0.5 * interval)
    if np.count_nonzero(whole) < 2 * _CLUSTERS:
        allowed = f"at least {2 * _CLUSTERS} intervals of {interval} s without gaps"
        raise InvalidInputError("duration", t[-1] - t[0], allowed)
    half = 0.5 * period[:, None] * gain
    impulse = ((1.0 + half) * r[1:] - (1.0 - half) * r[:-1]) / gain
    torque = -np.array([np.bincount(number, weights=column) for column in impulse.T]).T[whole] / duration[whole, None]
    weight = _MeanOver(number, period, duration, whole)

    columns = [_fit(weight, dq[:, j], torque[:, j], least_speed) for j in range(gain.size)]
    values, errors, explained, objections = zip(*columns, strict=True)
    amplitude, slope, offset, viscous, bias = np.array(values).T
    return FrictionFit(
        amplitude, slope, offset, viscous, bias, np.array(errors).T, np.array(explained), tuple(objections)
    )


class _MeanOver:
    """Means of a sampled signal over the intervals, by the trapezoidal rule as in the observer."""

    def __init__(self, number: NDArray[np.int64], period: Vector, duration: Vector, whole: NDArray[np.bool_]) -> None:
        self._number, self._period, self._duration, self._whole = number, period, duration, whole

    def __call__(self, signal: Vector) -> Vector:
        area = np.bincount(self._number, weights=0.5 * self._period * (signal[1:] + signal[:-1]))
        mean: Vector = area[self._whole] / self._duration[self._whole]
        return mean


def _sigmoid(velocity: Vector, slope: float, offset: float) -> Vector:
    half = 0.5 * slope
    value: Vector = 0.5 * (np.tanh(half * (velocity + offset)) - math.tanh(half * offset))
    return value


def _fit(mean: _MeanOver, velocity: Vector, torque: Vector, least_speed: float) -> tuple[Vector, Vector, float, str]:
    """Return parameters (5,), their standard errors (5,), the explained share and the objection, of one joint."""
    unknown = np.full(len(PARAMETERS), math.nan)
    fastest, slowest = float(np.max(velocity)), float(np.min(velocity))
    if fastest < least_speed or slowest > -least_speed:
        words = f"moved from {slowest:.3g} to {fastest:.3g} rad/s, not beyond {least_speed:g} in both directions"
        return unknown, unknown, math.nan, words
    ones, mean_velocity = np.ones_like(torque), mean(velocity)

    def start(slope: float) -> tuple[float, Vector]:
        columns = np.column_stack([mean(_sigmoid(velocity, slope, 0.0)), mean_velocity, ones])
        amplitude, viscous, bias = np.linalg.lstsq(columns, torque, rcond=None)[0]
        rest = torque - columns @ np.array([amplitude, viscous, bias])
        return float(rest @ rest), np.array([amplitude, math.log(slope), 0.0, viscous, bias])

    def error(p: Vector) -> Vector:
        shape = mean(_sigmoid(velocity, math.exp(min(p[1], 7.0)), p[2]))
        rest: Vector = p[0] * shape + p[3] * mean_velocity + p[4] - torque
        return rest

    first = min((start(slope) for slope in _SLOPES), key=lambda found: found[0])[1]
    found = least_squares(error, first, method="lm", x_scale=[0.1, 0.1, 0.01, 0.1, 0.1], max_nfev=500)
    p = found.x
    p[1] = math.exp(min(p[1], 7.0))
    scatter = _standard_errors(found.jac, found.fun)
    scatter[1] *= p[1]
    explained = 1.0 - float(found.fun @ found.fun) / float(np.sum((torque - torque.mean()) ** 2))
    if not (p[0] > 2.0 * scatter[0]):
        return unknown, unknown, explained, f"amplitude {p[0]:.3g} Nm with a standard error of {scatter[0]:.3g} Nm"
    return p, scatter, explained, ""


def _standard_errors(jacobian: Matrix, error: Vector) -> Vector:
    """Return the standard errors (5,) from the scores of consecutive parts of the record, which are independent."""
    bread = np.linalg.pinv(jacobian.T @ jacobian)
    parts = np.array_split(np.arange(error.size), _CLUSTERS)
    scores = np.array([jacobian[part].T @ error[part] for part in parts])
    meat = scores.T @ scores * _CLUSTERS / (_CLUSTERS - 1)
    deviations: Vector = np.sqrt(np.diagonal(bread @ meat @ bread))
    return deviations
