"""Detection on all joints at once, whitened by the noise and the model error in free motion of the same arm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from impact_control.detection.signals import DetectionSignals
from impact_control.observation import MAXIMUM_GAP
from impact_control.scenario.detection import SlidingFriction
from impact_control.util.checks import checked_count, checked_vector, finite_array
from impact_control.util.compiled import compiled_in_place
from impact_control.util.errors import InvalidInputError
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Matrix, Vector

TIME_CONSTANTS = (2.5e-3, 5e-3, 1e-2, 2e-2, 4e-2)
"""[s] of the low-passes whose differences are the bands."""

WITH_TORQUE = 2
"""Bands, the fastest ones, that look at the joint torque beside the residual: a command changes it more slowly."""

BANDS = len(TIME_CONSTANTS)
"""Bands: what is above the first two low-passes, then what is between each of the others and the one two before."""

FEATURES = 4
"""Number of terms of a deviation: a constant, speed, acceleration, and closeness of the joint to its reversal."""

DEVIATIONS = FEATURES * (WITH_TORQUE + BANDS)
"""Rows of the deviations."""

ACCELERATION = (2, 4)
"""Low-passes of the velocity whose difference over that of their time constants is the acceleration."""

REVERSAL_SPEED = 0.05
"""[rad/s] within which a joint is near its reversal."""

SETTLING = 5.0
"""Time constants of the observer after a start in which its residual says nothing."""

_FRICTION = ("amplitude", "slope", "offset", "viscous")


class WhitenedModel(Protocol):
    """Free motion of an arm of n joints, as it was learned from a recording; see `WhitenedScore`."""

    @property
    def friction(self) -> SlidingFriction:
        """Friction that is taken out of the residual: amplitude / 2 (tanh(slope (dq + offset) / 2) -
        tanh(slope offset / 2)) + viscous dq.
        """

    @property
    def known_speed(self) -> Vector:
        """(n,) [rad/s], above 0: up to which the joint moved in the recording."""

    @property
    def deviations(self) -> Matrix:
        """(DEVIATIONS, n) [Nm]: of the residual and of the torque in the first WITH_TORQUE bands, of the residual in
        the others, each in the order constant, at 1 rad/s, at 1 rad/s^2, at rest.
        """

    @property
    def correlations(self) -> Matrix:
        """(correlation_rows(n), n): those of the channels (2 n, 2 n) of the first WITH_TORQUE bands, each row cut in
        two, and (n, n) of the others.
        """


def correlation_rows(size: int) -> int:
    """Return the rows of n numbers that the correlations of all bands of n joints take."""
    return WITH_TORQUE * 4 * size + (BANDS - WITH_TORQUE) * size


@compiled_in_place
def _is_new(memory: Memory, started: bool) -> bool:
    """Return whether what arrived is a sample: finite, and not the numbers of the one before while a joint moves."""
    m = memory[()]
    checksum, same, moving = 0.0, not started, False
    for j in range(m.velocity.size):
        checksum += m.new_velocity[j] + m.new_torque[j] + m.new_residual[j]
        same = same and m.new_velocity[j] == m.velocity[j] and m.new_torque[j] == m.torque[j]
        moving = moving or m.new_velocity[j] != 0.0
    return math.isfinite(checksum) and not (same and moving)


@compiled_in_place
def _advance(memory: Memory, started: bool, period: float) -> None:
    """Take the sample that arrived into all filters; with `started`, as their first values."""
    m = memory[()]
    n = m.velocity.size
    for j in range(n):
        m.velocity[j], m.torque[j] = m.new_velocity[j], m.new_torque[j]
        half = 0.5 * m.slope[j]
        shift = math.tanh(half * m.offset[j])
        friction = 0.5 * m.amplitude[j] * (math.tanh(half * (m.velocity[j] + m.offset[j])) - shift)
        friction += m.viscous[j] * m.velocity[j]
        if started:
            m.friction[j] = friction
        else:
            m.friction[j] += (1.0 - math.exp(-period * m.gain[j])) * (friction - m.friction[j])
        m.channel[j] = m.new_residual[j] + m.friction[j]
        m.channel[n + j] = m.torque[j]
        m.channel[2 * n + j] = m.velocity[j]
    for b in range(m.time_constant.size):
        kept = 0.0 if started else math.exp(-period / m.time_constant[b])
        for c in range(3 * n):
            m.low[b, c] = m.channel[c] + kept * (m.low[b, c] - m.channel[c])
    for c in range(2 * n):
        m.band[0, c] = m.channel[c] - m.low[0, c]
        m.band[1, c] = m.channel[c] - m.low[1, c]
        for b in range(2, m.time_constant.size):
            m.band[b, c] = m.low[b - 2, c] - m.low[b, c]


@compiled_in_place
def _describe_motion(memory: Memory) -> None:
    """Write the squares of what the deviations depend on, (4, n), and the trust (n,) in each joint."""
    m = memory[()]
    n = m.velocity.size
    fast, slow = ACCELERATION
    speed, acceleration = 0.0, 0.0
    for j in range(n):
        speed += m.velocity[j] ** 2
        change = (m.low[fast, 2 * n + j] - m.low[slow, 2 * n + j]) / (m.time_constant[slow] - m.time_constant[fast])
        acceleration += change * change
    for j in range(n):
        m.feature[0, j] = 1.0
        m.feature[1, j] = speed
        m.feature[2, j] = acceleration
        m.feature[3, j] = math.exp(-((m.velocity[j] / REVERSAL_SPEED) ** 2))
        beyond = max(1.0, abs(m.velocity[j]) / m.known_speed[j])
        m.trust[j] = 1.0 / (beyond * beyond)


@compiled_in_place
def _weigh(memory: Memory) -> None:
    """Write the Mahalanobis distance of each band."""
    m = memory[()]
    n = m.velocity.size
    for b in range(m.time_constant.size):
        kinds = 2 if b < WITH_TORQUE else 1
        for c in range(kinds * n):
            j = c % n
            row = FEATURES * (2 * b + c // n if b < WITH_TORQUE else WITH_TORQUE + b)
            variance = 0.0
            for f in range(FEATURES):
                variance += m.deviation[row + f, j] ** 2 * m.feature[f, j]
            m.scaled[c] = m.band[b, c] * m.trust[j] / math.sqrt(variance)
        distance = 0.0
        for c in range(kinds * n):
            part = 0.0
            for k in range(c + 1):
                part += m.whitening[b, c, k] * m.scaled[k]
            distance += part * part
        m.distance[b] = math.sqrt(distance)


@compiled_in_place
def _take(memory: Memory, started: bool, period: float) -> bool:
    """Take the sample that arrived, `period` [s] after the last one; return whether it is one."""
    if not _is_new(memory, started):
        return False
    _advance(memory, started, period)
    _describe_motion(memory)
    _weigh(memory)
    return True


class WhitenedScore:
    """Distance of the last samples of all joints together from free motion, in standard deviations.

    A generalised likelihood ratio for a force that begins at any time, in any direction, over exponential windows: the
    signals are the residual of the momentum observer, with the friction of the joints taken out of it, and the joint
    torque, because a link that is stopped loads its transmission at once. Each runs through a bank of band-passes of
    2.5 to 40 ms; a short window sees an impact after 1 ms, a long one a soft push. Of each band the Mahalanobis
    distance is the score: the channels are the bands, and their distribution without contact is the same in all of
    them but for what the model of the deviations misses.

    The deviation of a joint in a band is the root of the sum of four squares: a constant, one in proportion to the
    speed sqrt(sum dq^2), one to the acceleration sqrt(sum ddq^2), and one for the reversal of the friction, near rest.
    A joint that moves faster than in the recording that the model is of counts for less, by the square of the ratio.

    A sample that repeats velocity and torque of the one before, while a joint moves, is none, and the next one is as
    far from the last one as their stamps say. For `SETTLING` time constants of the observer after a start the score is
    0: the residual still finds what acts on the arm at rest.

    The slow bands rise up to 40 ms later than the fast ones: give the detector a refractory time of that or more.
    """

    isolates = False

    def __init__(self, size: int, observer_gain: Vector, model: WhitenedModel) -> None:
        """Take the model of an arm of n = size joints; observer_gain: K_O (n,) [1/s].

        Raises InvalidInputError, also for correlations that are none.
        """
        n = checked_count("size", size, 1)
        self.channels = BANDS
        self.joints: NDArray[np.int_] = np.full(BANDS, -1)
        names = ("velocity", "torque", "gain", *_FRICTION, "friction", "known_speed", "trust")
        arrived = ("new_velocity", "new_torque", "new_residual")
        self._memory = named_memory(
            **dict.fromkeys((*names, *arrived), (n,)),
            time_constant=(BANDS,),
            channel=(3 * n,),
            low=(BANDS, 3 * n),
            band=(BANDS, 2 * n),
            feature=(FEATURES, n),
            deviation=(DEVIATIONS, n),
            whitening=(BANDS, 2 * n, 2 * n),
            scaled=(2 * n,),
            distance=(BANDS,),
        )
        m = self._memory
        m["gain"] = checked_vector("observer_gain", observer_gain, n, zero_allowed=False)
        m["known_speed"] = checked_vector("known_speed", model.known_speed, n, zero_allowed=False)
        m["time_constant"] = TIME_CONSTANTS
        for name in _FRICTION:
            m[name] = finite_array(f"friction.{name}", getattr(model.friction, name), (n,))
        m["deviation"] = finite_array("deviations", model.deviations, (DEVIATIONS, n))
        if not np.all(m["deviation"][::FEATURES] > 0.0):
            raise InvalidInputError("deviations", model.deviations, "above 0 in every first row of four")
        rows = finite_array("correlations", model.correlations, (correlation_rows(n), n))
        for band, matrix in enumerate(band_correlations(rows)):
            try:
                root = np.linalg.cholesky(matrix)
            except np.linalg.LinAlgError:
                raise InvalidInputError(f"correlations of band {band + 1}", matrix, "positive definite") from None
            m["whitening"][band, : len(root), : len(root)] = np.linalg.inv(root)
        self._settling = SETTLING / float(m["gain"].min())
        self.bands: Matrix = m["band"]
        self.features: Matrix = m["feature"]
        self._velocity, self._torque, self._residual = (m[name] for name in arrived)
        self._distance: Vector = m["distance"]
        self._values: Vector = np.zeros(BANDS)
        self._time = self._begin = -math.inf
        _take(m, True, 0.0)  # compiles the kernels here and not in the loop
        self.reset()

    def reset(self) -> None:
        """Forget all samples; the residual has to settle again."""
        self._values[:] = 0.0
        self._time = self._begin = -math.inf

    def evaluate(self, signals: DetectionSignals, time: float) -> Vector:
        """Return the distance of each band, (BANDS,)."""
        period = time - self._time
        started = not 0.0 < period <= MAXIMUM_GAP
        self._velocity[:], self._torque[:] = signals.velocity, signals.joint_torque
        self._residual[:] = signals.residual
        if not _take(self._memory, started, period):
            return self._values
        if started:
            self._begin = time
        self._time = time
        if time - self._begin >= self._settling:
            self._values[:] = self._distance
        return self._values


def band_correlations(rows: Matrix) -> Sequence[Matrix]:
    """Return the correlations of each band, (2 n, 2 n) or (n, n), out of their rows (correlation_rows(n), n)."""
    n = rows.shape[1]
    matrices, first = [], 0
    for band in range(BANDS):
        width = 2 * n if band < WITH_TORQUE else n
        count = width * width // n
        matrices.append(rows[first : first + count].reshape(width, width))
        first += count
    return matrices
