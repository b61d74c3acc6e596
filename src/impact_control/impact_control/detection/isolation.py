"""Isolation of the link in contact: the outermost joint whose residual has changed since the impact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impact_control.detection.detector import NO_LINK
from impact_control.util.checks import checked_count, checked_vector, require_positive
from impact_control.util.compiled import compiled
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

WINDOWS = (3, 5, 10, 20, 30, 50, 70)
"""Samples after an event over which means are taken: short ones for what is over soon, long ones for what grows. None
of one sample: what an impulse leaves in the residual stays for some 1/K_O, the noise of the velocity does not."""


BEFORE, LEAD = 20, 5
"""Samples over which the mean before an event is taken, and samples between its end and the event."""


@compiled
def _mean(ring: Matrix, first: int, length: int, out: Vector) -> None:
    """Write the mean of `length` rows of a ring from row `first` on to out (n,)."""
    out[:] = 0.0
    for k in range(length):
        out += ring[(first + k) % ring.shape[0]]
    out /= length


@compiled
def _all_finite(values: Vector, others: Vector) -> bool:
    total = 0.0
    for i in range(values.size):
        total += values[i] + others[i]
    return math.isfinite(total)


class WindowBounds(NamedTuple):
    """Changes of the mean over one window that count, see `LinkIsolation`, each (n,).

    threshold, ceiling [Nm]; velocity_slope, motion_slope [Nm s/rad].
    """

    threshold: Vector
    velocity_slope: Vector
    motion_slope: Vector
    ceiling: Vector


@compiled
def _outermost(after: Vector, length: int, before: Vector, bounds: WindowBounds, inner: int) -> int:
    """Return the outermost joint beyond `inner` that reacts, counted from 1; else inner.

    after: sums (2 n,) of r and dq over `length` samples; before: means (2 n,).
    """
    threshold, velocity_slope, motion_slope, ceiling = bounds
    n = threshold.size
    motion = 0.0
    for i in range(n):
        motion += abs(before[n + i])
    for i in range(n - 1, max(inner, 0) - 1, -1):
        change = after[i] / length - before[i]
        moved = after[n + i] / length - before[n + i]
        friction = velocity_slope[i] * abs(moved) if change * moved < 0.0 else 0.0
        if abs(change) >= min(threshold[i] + friction + motion_slope[i] * motion, ceiling[i]):
            return i + 1
    return inner


def step_response(gain: Vector | float, period: float, windows: Sequence[int] = WINDOWS) -> Matrix:
    """Return the share (w, n) of a torque that is there from an event on in the mean residual over each window.

    gain: K_O (n,) or one for all [1/s], above 0; period [s], above 0. The residual is the torque through a first-order
    filter, Proper 2021 (2.90): the mean of 1 - exp(-K_O t) up to the end of the window.
    Raises InvalidInputError.
    """
    rates = checked_vector("gain", np.atleast_1d(np.asarray(gain, dtype=np.float64)), zero_allowed=False)
    reached = np.multiply.outer(require_positive("period", period) * np.asarray(windows, dtype=np.float64), rates)
    response: Matrix = 1.0 + np.expm1(-reached) / reached
    return response


def _checked_slopes(name: str, given: Vector | Matrix | float, shape: tuple[int, int]) -> Matrix:
    rows = np.asarray(given, dtype=np.float64)
    if rows.shape not in ((), shape[1:], shape):
        raise InvalidInputError(name, given, f"a number, a row of {shape[1]} or {shape[0]} such rows")
    if not np.all(np.isfinite(rows) & (rows >= 0.0)):
        raise InvalidInputError(name, given, "finite numbers of at least 0")
    return np.ascontiguousarray(np.broadcast_to(rows, shape))


class LinkIsolation:
    """The link in contact, from the residual r before and after an impact.

    Joints beyond the link in contact do not react (Proper 2021, 1.1 and 2.5): that joint i does not is tested, with the
    mean of r_i over each of `windows`, which all begin with the event, against the mean over `before` samples that
    ended `lead` samples before it, because the reaction begins before it is detected. A change counts from

        min(threshold_i + velocity_slope_i |change of the mean of dq_i| + motion_slope_i sum_j |dq_j| before, ceiling_i)

    on, with numbers of its own for each window: the threshold is what noise makes of the change while the arm stands;
    the second term is what an unknown friction makes when the joint itself gets faster or slower, as when a contact
    inside pushes it along, see `step_response` for how much of it the residual shows by then. A friction that grows
    with the speed changes against it: where both changes have the same sign there is no such term. The third is what
    errors of the model make on the way since the mean before, while the arm moves. Neither goes on growing, and beyond
    the ceiling hardly any motion without contact gets. A slow arm is thus looked at as closely as its noise allows.
    It is no guarantee: without a lever about its joint a force leaves a link unseen.

    Attributes:
        joints: n; bounds: of each window.
        link: 1..n, outermost joint that has reacted in a window so far; NO_LINK while none has: not yet known. It may
            move outwards until the last window is over and then stays.
        decided_after: samples after that of the event at which `link` was last changed; 0 while it is NO_LINK.
        settled: whether the last window is over.
    """

    def __init__(
        self,
        threshold: Vector | Matrix,
        velocity_slope: Vector | Matrix | float = 0.0,
        motion_slope: Vector | Matrix | float = 0.0,
        ceiling: Vector | Matrix | float = math.inf,
        windows: Sequence[int] = WINDOWS,
        before: int = BEFORE,
        lead: int = LEAD,
    ) -> None:
        """Set the tuning.

        threshold: (n,) for all windows or (w, n), a row for each of them [Nm], above 0. The others likewise, or one
        number for all: velocity_slope, motion_slope [Nm s/rad], at least 0; ceiling [Nm], not below the threshold,
        infinite for none. windows: w numbers of samples, rising, at least 1; before, lead: at least 1.
        Raises InvalidInputError.
        """
        self._windows: NDArray[np.int_] = np.array(
            [checked_count("isolation window", w, 1) for w in windows], dtype=int
        )
        if not self._windows.size or np.any(np.diff(self._windows) <= 0):
            raise InvalidInputError("isolation windows", windows, "rising numbers of samples")
        rows = np.atleast_2d(np.asarray(threshold, dtype=np.float64))
        if rows.ndim != 2 or len(rows) not in (1, self._windows.size):
            raise InvalidInputError("isolation_threshold", threshold, f"one row of numbers or {self._windows.size}")
        for row in rows:
            checked_vector("isolation_threshold", row, zero_allowed=False)
        n = rows.shape[1]
        shape = (self._windows.size, n)
        least: Matrix = np.ascontiguousarray(np.broadcast_to(rows, shape))
        most: Matrix = np.ascontiguousarray(np.broadcast_to(ceiling, shape), dtype=np.float64)
        if not np.all(most >= least):
            raise InvalidInputError("isolation_ceiling", ceiling, "numbers not below the threshold")
        given = {"isolation_slope": velocity_slope, "isolation_motion_slope": motion_slope}
        slopes = (_checked_slopes(name, slope, shape) for name, slope in given.items())
        self.bounds = [WindowBounds(*window) for window in zip(least, *slopes, most, strict=True)]
        self._before_length = checked_count("isolation before", before, 1)
        self._lead = checked_count("isolation lead", lead, 1)
        self._ring: Matrix = np.zeros((before + lead, 2 * n))
        self._before, self._after = np.zeros(2 * n), np.zeros(2 * n)
        self.joints, self.link = n, NO_LINK
        self.decided_after = self._count = self._window = 0
        self._taken = int(self._windows[-1])
        self.record(np.zeros(n), np.zeros(n))  # compiles the kernels here and not in the loop
        self.impact()
        self.reset()

    @property
    def settled(self) -> bool:
        """True when the link is final."""
        return bool(self._taken >= self._windows[-1])

    def reset(self) -> None:
        """Forget everything."""
        self.link = NO_LINK
        self.decided_after = self._count = self._window = 0
        self._taken = int(self._windows[-1])

    def impact(self) -> None:
        """Take the newest sample as that of an event."""
        self.link = NO_LINK
        self.decided_after = 0
        rows = self._ring.shape[0]
        held = min(self._count, rows)
        if held < 2:
            return
        length = min(self._before_length, max(1, held - self._lead))
        _mean(self._ring, (self._count - held) % rows, length, self._before)
        self._after[:] = 0.0
        self._taken = 0
        self._window = 0
        self._take()

    def record(self, residual: Vector, velocity: Vector) -> None:
        """Take r (n,) [Nm] and dq (n,) [rad/s] of a sample; one that is not finite is left out."""
        if not _all_finite(residual, velocity):
            return
        row = self._ring[self._count % self._ring.shape[0]]
        row[: residual.size] = residual
        row[residual.size :] = velocity
        self._count += 1
        if not self.settled:
            self._take()

    def _take(self) -> None:
        self._after += self._ring[(self._count - 1) % self._ring.shape[0]]
        self._taken += 1
        if self._taken < self._windows[self._window]:
            return
        row = self._window
        self._window += 1
        link = int(_outermost(self._after, self._taken, self._before, self.bounds[row], self.link))
        if link != self.link:
            self.link = link
            self.decided_after = self._taken - 1
