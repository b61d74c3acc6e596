"""Joint acceleration bounds that keep position and velocity limits satisfiable."""

from __future__ import annotations

import math

from impact_control.compiled import compiled
from impact_control.types import Vector


@compiled
def _reachable_stop(position: float, velocity: float, limit: float, deceleration: float, period: float) -> float:
    """Largest acceleration after which a stop before `limit` is still possible with `deceleration`.

    With q' = q + dt dq + dt^2/2 ddq and dq' = dq + dt ddq, the next state can still stop when
    dq' <= 0 or dq'^2 <= 2 deceleration (limit - q'). Solved for ddq.
    """
    linear = period * (2.0 * velocity + deceleration * period)
    constant = velocity * velocity - 2.0 * deceleration * (limit - position - period * velocity)
    square = period * period
    stop_now = -velocity / period
    discriminant = linear * linear - 4.0 * square * constant
    if discriminant < 0.0:
        return stop_now
    return max(stop_now, (-linear + math.sqrt(discriminant)) / (2.0 * square))


@compiled
def acceleration_bounds(
    position: Vector,
    velocity: Vector,
    position_lower: Vector,
    position_upper: Vector,
    velocity_limit: Vector,
    acceleration_limit: Vector,
    period: float,
    lower: Vector,
    upper: Vector,
) -> bool:
    """Write the interval of admissible joint accelerations (n,) [rad/s^2]; True when it is not empty.

    Van Steen 2024 (19), (20) bound the next position and velocity; near a limit they can contradict each
    other and the torque limits (Errata). Added here: from the next state a stop before the position limit
    must be possible with `acceleration_limit` (n,) [rad/s^2] (viability, as in Del Prete 2018). When the
    interval is empty all the same, because the state itself is outside, both bounds become the admissible
    acceleration that brakes, and False is returned.

    position, velocity (n,) [rad, rad/s]; limits (n,); period [s].
    """
    viable = True
    for j in range(position.shape[0]):
        high = min((velocity_limit[j] - velocity[j]) / period, acceleration_limit[j])
        low = max((-velocity_limit[j] - velocity[j]) / period, -acceleration_limit[j])
        square = period * period
        high = min(high, 2.0 * (position_upper[j] - position[j] - period * velocity[j]) / square)
        low = max(low, 2.0 * (position_lower[j] - position[j] - period * velocity[j]) / square)
        high = min(high, _reachable_stop(position[j], velocity[j], position_upper[j], acceleration_limit[j], period))
        low = max(
            low,
            -_reachable_stop(-position[j], -velocity[j], -position_lower[j], acceleration_limit[j], period),
        )
        if high < low:
            # On the boundary of what can still stop, rounding alone makes them cross by some 1e-8.
            viable = viable and low - high <= 1e-6 * acceleration_limit[j]
            towards_upper = position[j] - position_lower[j] > position_upper[j] - position[j]
            if abs(velocity[j]) > velocity_limit[j]:
                towards_upper = velocity[j] > 0.0
            braking = max(high, -acceleration_limit[j]) if towards_upper else min(low, acceleration_limit[j])
            high = braking
            low = braking
        lower[j] = low
        upper[j] = high
    return viable
