"""From an acceleration, or a wish, to a torque that may be sent: inside torque and torque-rate limit, always."""

from __future__ import annotations

from impact_control.compiled import compiled
from impact_control.types import Matrix, Vector


@compiled
def limit_command(wanted: Vector, limits: Matrix, previous: Vector, torque: Vector) -> tuple[bool, float]:
    """Write the admissible torque nearest to `wanted` and keep it as `previous`; limits (2, n): torque, step [Nm].

    What is no number asks for no torque: it would pass every comparison, and stay as `previous`.
    Returns whether a limit held it, and the largest change of a torque [Nm].
    """
    limited = False
    largest_change = 0.0
    for i in range(wanted.shape[0]):
        largest, step = limits[0, i], limits[1, i]
        high = min(previous[i] + step, largest)
        low = max(previous[i] - step, -largest)
        asked = wanted[i] if wanted[i] == wanted[i] else 0.0
        value = min(max(asked, low), high)
        margin = 1e-6 * step
        limited = limited or value <= low + margin or value >= high - margin
        largest_change = max(largest_change, abs(value - previous[i]))
        torque[i] = value
        previous[i] = value
    return limited, largest_change


@compiled
def command_acceleration(
    inertia: Matrix, acceleration: Vector, feedforward: Vector, limits: Matrix, previous: Vector, torque: Vector
) -> tuple[bool, float]:
    """Turn the acceleration into the command, van Steen 2024 (22), inside the limits; see `limit_command`."""
    for i in range(torque.shape[0]):
        torque[i] = feedforward[i]
        for j in range(torque.shape[0]):
            torque[i] += inertia[i, j] * acceleration[j]
    return limit_command(torque, limits, previous, torque)
