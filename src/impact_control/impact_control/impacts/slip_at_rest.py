"""A contact in an impact that does not slip at this instant: whether it sticks, and how it starts to slip or stops.

Contact axes: normal first, then two tangents. mobility G (3, 3) [1/kg]; impulses per normal impulse.
"""

from __future__ import annotations

import math

from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector

SMALLEST_MOBILITY_RATIO = 1e-12
"""Tangential mobility below this part of the whole is rounding: the contact cannot move that way."""


@compiled
def direction_at_rest(mobility: Matrix, friction: float, direction: Vector) -> bool:
    """Write the impulse per normal impulse of a contact that does not slip now; return whether it sticks.

    It sticks where the friction that keeps the slip zero, t = -G_TT^-1 G_TN, is in the cone. Else it starts to
    slip in the one direction u that it then keeps: G_TN - mu G_TT u = rate u, u = (mu G_TT + rate)^-1 G_TN
    of length 1 with rate > 0; its length falls with the rate, so there is one.
    """
    cosine, sine, mobility_1, mobility_2 = _principal_axes(mobility)
    drive_1 = cosine * mobility[1, 0] + sine * mobility[2, 0]
    drive_2 = cosine * mobility[2, 0] - sine * mobility[1, 0]
    along_1, along_2 = -drive_1 / mobility_1, -drive_2 / mobility_2
    sticks = math.hypot(along_1, along_2) <= friction
    if not sticks:
        if mobility_1 == math.inf:
            mobility_1, drive_1 = 1.0, 0.0
        if mobility_2 == math.inf:
            mobility_2, drive_2 = 1.0, 0.0
        low, high = 0.0, math.hypot(drive_1, drive_2)
        for _ in range(60):
            rate = 0.5 * (low + high)
            if math.hypot(drive_1 / (friction * mobility_1 + rate), drive_2 / (friction * mobility_2 + rate)) > 1.0:
                low = rate
            else:
                high = rate
        along_1 = -friction * drive_1 / (friction * mobility_1 + high)
        along_2 = -friction * drive_2 / (friction * mobility_2 + high)
    direction[0] = 1.0
    direction[1] = cosine * along_1 - sine * along_2
    direction[2] = sine * along_1 + cosine * along_2
    return sticks


@compiled
def aim_at_rest(mobility: Matrix, velocity: Vector, friction: float, direction: Vector) -> float:
    """Turn `direction`, in which a contact would stick, into the one that ends its slip; return how long that takes.

    With the friction impulse -G_TT^-1 s + t p after the normal impulse p the slip is zero; the least p for which that
    is in the cone. There is one, as the slip shrinks with p by at least mu - |t| (in the norm of G_TT^-1).
    """
    cosine, sine, mobility_1, mobility_2 = _principal_axes(mobility)
    stop_1 = -(cosine * velocity[1] + sine * velocity[2]) / mobility_1
    stop_2 = -(cosine * velocity[2] - sine * velocity[1]) / mobility_2
    first, second = cosine * stop_1 - sine * stop_2, sine * stop_1 + cosine * stop_2
    # (mu^2 - t^2) p^2 - 2 (t stop) p - stop^2 = 0
    square = friction**2 - direction[1] ** 2 - direction[2] ** 2
    half = direction[1] * first + direction[2] * second
    if square <= 0.0:
        return math.inf
    length: float = (half + math.sqrt(half**2 + square * (first**2 + second**2))) / square
    if length > 0.0:
        direction[1] += first / length
        direction[2] += second / length
    return length


@compiled
def _principal_axes(mobility: Matrix) -> tuple[float, float, float, float]:
    """Return cosine and sine of the angle of the principal axes of G_TT, and the mobilities along them.

    A mobility that is rounding is returned as infinite: what is divided by it vanishes.
    """
    mean = 0.5 * (mobility[1, 1] + mobility[2, 2])
    angle = 0.5 * math.atan2(2.0 * mobility[1, 2], mobility[1, 1] - mobility[2, 2])
    radius = math.hypot(0.5 * (mobility[1, 1] - mobility[2, 2]), mobility[1, 2])
    smallest = SMALLEST_MOBILITY_RATIO * (mobility[0, 0] + 2.0 * mean)
    first = mean + radius if mean + radius > smallest else math.inf
    second = mean - radius if mean - radius > smallest else math.inf
    return math.cos(angle), math.sin(angle), first, second
