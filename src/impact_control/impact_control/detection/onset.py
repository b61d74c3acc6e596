"""Onset of a rise that was detected at its bound."""

from __future__ import annotations

from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector

SUDDEN = 0.25
"""Share of the rise that may be there one sample before, for it to count as having happened between the two."""

PATIENCE = 6
"""Samples, back from the newest, over which a rise gains NOTICEABLE of its height, or is over."""

NOTICEABLE = 0.1
"""See PATIENCE."""


@compiled
def onset_time(history: Matrix, stamps: Vector, newest: int, count: int, channel: int) -> float:
    """Return when the rise of a channel began [s], from the last `count` samples, at least 1, in rings.

    history (capacity, channels), stamps (capacity,) [s]; newest: row of the newest sample. Back from there the score
    falls until, over PATIENCE samples, it does so no more: what lies before is noise, or an earlier impact. A rise
    within one period is put into its middle. A slower one is followed back on the straight line through the newest
    sample and the last one below half of its height, down to its lowest value: for the residual, a first-order
    filter, that is near the step of the external torque. Never before the oldest sample that was looked at.
    """
    capacity = stamps.size
    top = history[newest, channel]
    base, mark, since_mark = top, top, 0
    looked_at = 1
    while looked_at < count and since_mark < PATIENCE:
        value = history[(newest - looked_at) % capacity, channel]
        base = min(base, value)
        since_mark += 1
        if mark - value > NOTICEABLE * (top - value):
            mark, since_mark = value, 0
        looked_at += 1
    if looked_at < 2:
        return float(stamps[newest])
    last = (newest - 1) % capacity
    middle = float(0.5 * (stamps[newest] + stamps[last]))
    height = top - base
    if history[last, channel] - base <= SUDDEN * height:
        return middle
    for k in range(1, looked_at):
        row = (newest - k) % capacity
        value = history[row, channel] - base
        if value <= 0.5 * height:
            start = stamps[row] - value * (stamps[newest] - stamps[row]) / (height - value)
            return min(max(float(start), float(stamps[(newest - looked_at + 1) % capacity])), middle)
    return middle
