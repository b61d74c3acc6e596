"""Verdict on the path of a sliding contact: deviation from the expected surface."""

from __future__ import annotations

import math

import numpy as np

from impact_control.scenario import ContactPathSettings, Uncertainty
from impact_control.util.checks import require_positive, unit_vector
from impact_control.util.compiled import compiled
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Vector


@compiled
def _follow(position: Vector, heights: Vector, path: Memory, count: int, deviation: float, slope: float) -> float:
    """Take one sample; return the deviation of the mean height n^T p from the first one, in standard deviations.

    heights: those of the last window, a ring. path: normal; recent, the mean over the ring; first, that over the first
    window, and place, the mean position there.
    """
    p = path[()]
    normal = p.normal
    height = normal[0] * position[0] + normal[1] * position[1] + normal[2] * position[2]
    size = heights.shape[0]
    slot = count % size
    if count < size:
        p.first += height / size
        for i in range(3):
            p.place[i] += position[i] / size
    p.recent += (height - (heights[slot] if count >= size else 0.0)) / size
    heights[slot] = height
    if count < size:
        return 0.0
    way = 0.0
    for i in range(3):
        along = position[i] - p.place[i] - (height - p.first) * normal[i]
        way += along * along
    off: float = abs(p.recent - p.first)
    return off / math.sqrt(deviation * deviation + slope * slope * way)


class ContactPath:
    """Compares the height of the end-effector over the expected surface with its height just after the impact.

    A contact that stays on the expected surface keeps its height n^T p, whatever the friction does to its way along it;
    a surface that is tilted by an angle does not, nor does a contact that is lost. With h the mean of n^T p over a
    window, and s the way along the surface since the first window, which begins `begin` after the impact, or after full
    contact where several points have to close, it is expected that

        |h(t) - h_0| <= limit sqrt(height^2 + free^2 + (slope s)^2).

    Where the surface lies does not matter, so that an impact within the time error is judged the same. An arm that
    presses has free = 0; one that hardly does is as high as its position feedback leaves it, see `ExpectedImpact`.

    Attribute: deviation, largest so far as a part of the limit, above 1 where it is not as expected.
    """

    def __init__(self, settings: ContactPathSettings, known: Uncertainty, normal: Vector, period: float) -> None:
        """Judge contacts with the surface of normal n (3,), frame A, from samples with a period [s].

        known: standard deviations of a mean height and of the slope of the surface, and the limit in such deviations.
        """
        self.settings = settings
        self.known = known
        self._heights = np.zeros(max(1, round(settings.window / require_positive("period", period))))
        self._path = named_memory(normal=(3,), place=(3,), first=(), recent=())
        self._path["normal"] = unit_vector("normal", normal)
        self._first, self._recent = self._path["first"], self._path["recent"]
        _follow(np.zeros(3), self._heights, self._path, 0, 1.0, 0.0)  # compiles the kernel here and not in the loop
        self.reset()

    def reset(self, free: float = 0.0) -> None:
        """Wait for the next impact. free: standard deviation [m] of the height without a force on the surface."""
        self._height = math.hypot(self.known.height, free)
        self.deviation = 0.0
        self._count = 0
        self._path["first"] = self._path["recent"] = self._path["place"] = 0.0
        self._worst_time = self._worst_rise = 0.0

    def follow(self, since_contact: float, position: Vector) -> None:
        """Take the position (3,) [m] of the end-effector so long after the contact has closed [s]; no allocation."""
        if not since_contact >= self.settings.begin:
            return
        known = self.known
        ratio = _follow(position, self._heights, self._path, self._count, self._height, known.normal)
        self._count += 1
        ratio /= known.limit
        # Not a number is unexpected, too.
        if not ratio <= self.deviation:
            self.deviation = ratio if ratio == ratio else math.inf
            self._worst_time, self._worst_rise = since_contact, float(self._recent - self._first)

    @property
    def reason(self) -> str:
        """Reason of the verdict, in words with its numbers. Builds a string: not for every tick."""
        rise = 1e3 * self._worst_rise
        return (
            f"behaviour after the impact unexpected: {self._worst_time:.3g} s after contact it lies {rise:+.2f} mm "
            f"off the expected surface, {self.known.limit * self.deviation:.3g} standard deviations (limit "
            f"{self.known.limit:g})"
        )
