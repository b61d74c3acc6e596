"""What each measure of real time is worth: the loop's answers with all of them, and with each left out, in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from impact_control.benchmark.figure import HIGH, HIGHEST, MEDIAN, Figure, Peer
from impact_control.nodes.latency import LOOP, Latency, measure_latency
from impact_control.nodes.real_time import ALL, Measure

ROUNDS = 3
EVERY = "all measures"


def measure_figures(seconds: float, tell: Callable[[str], None]) -> list[Figure]:
    """Measure the loop over DDS, `seconds` for each set of measures in each round.

    Without `fifo` neither cores are kept awake nor is the loop kept to one, see `real_time.ask_for`.
    """
    sets = {EVERY: ALL}
    for left_out in Measure:
        sets[f"without {left_out.value}"] = ",".join(one.value for one in Measure if one is not left_out)
    found: dict[str, list[Latency]] = {name: [] for name in sets}
    for number in range(1, ROUNDS + 1):
        for name, measures in sets.items():
            tell(f"measuring over DDS with {name}, {number} of {ROUNDS} ...".replace("with without", "without"))
            found[name].append(measure_latency(seconds, measures)[LOOP.name])
    return figures_of(found)


def figures_of(found: dict[str, list[Latency]]) -> list[Figure]:
    """Return the answers with each set beside those with all, and what was missed; found: by set, a round each."""
    values = {name: _together(rounds) for name, rounds in found.items()}
    figures = [
        Figure(
            f"loop over DDS {name}",
            its,
            peers=(Peer(EVERY, values[EVERY], its[MEDIAN] / values[EVERY][MEDIAN]),),
        )
        for name, its in values.items()
        if name != EVERY
    ]
    cycles = sum(way.cycles for way in found[EVERY])
    missed = {name: sum(way.missed for way in rounds) for name, rounds in found.items()}
    return [*figures, Figure("missed", missed, f"of {cycles} cycles")]


def _together(rounds: Sequence[Latency]) -> dict[str, float]:
    """Return the medians over the rounds."""
    return {
        MEDIAN: float(np.median([way.median for way in rounds])),
        HIGH: float(np.median([way.high for way in rounds])),
        HIGHEST: float(np.median([way.highest for way in rounds])),
    }
