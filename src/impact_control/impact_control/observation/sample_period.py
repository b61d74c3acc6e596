"""Integration period of a streaming filter, from the stamps of its samples."""

from __future__ import annotations

import math


def sample_period(elapsed: float, maximum_gap: float) -> float:
    """Return the period [s] from the last sample to this one, 0 to start anew from it, NaN to ignore it.

    elapsed: stamp less that of the last sample [s], infinite for the first one. A longer gap than `maximum_gap` [s],
        and a clock that jumps back by more than that, starts anew; a repeated or an older stamp, or one that is not a
        number, is ignored.
    """
    if 0.0 < elapsed <= maximum_gap:
        return elapsed
    return 0.0 if abs(elapsed) > maximum_gap else math.nan
