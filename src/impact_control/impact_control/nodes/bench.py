"""Measures the stack on this machine, every figure with its target and its peer, from one run."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from impact_control.benchmark import loop_figures, physics_figures
from impact_control.nodes.environment import isolate
from impact_control.nodes.latency import measure_latency

LATENCY_RATIO_TARGET = 1.5

_STOLEN = 7
"""Column of the times in /proc/stat in which the host of a virtual machine had the cores."""


def run_bench(seconds: float, output: Path | None, tell: Callable[[str], None]) -> None:
    """Measure and print; also write JSON to `output`."""
    tell(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, numbers in microseconds\n")
    figures = [*loop_figures(), *physics_figures()]
    tell(f"{'':38s}{'median':>9s}{'99 %':>9s}{'99.9 %':>9s}   target")
    for figure in figures:
        mark = {True: "met", False: "MISSED", None: ""}[figure.met]
        numbers = f"{figure.median:9.1f}{figure.high:9.1f}{figure.highest:9.1f}"
        tell(f"{figure.name:38s}{numbers}   {figure.target} {mark}")
    tell(f"\nState to torque over DDS, {seconds:g} s at 1 kHz each in turns, one process sends and one answers:")
    tell(f"{'':38s}{'median':>9s}{'99 %':>9s}{'99.9 %':>9s}   missed")
    with tempfile.TemporaryDirectory() as directory:
        isolate(Path(directory))
        before = _core_times()
        ping_pong, loop = measure_latency(seconds)
        spent = [after - start for start, after in zip(before, _core_times(), strict=True)]
    for name, way in (("bare rclpy ping-pong", ping_pong), ("loop node", loop)):
        numbers = f"{way.median:9.1f}{way.high:9.1f}{way.highest:9.1f}"
        tell(f"{name:38s}{numbers}   {way.missed} of {way.cycles} ({way.missed / way.cycles:.2%})")
    tell(f"of the cores' time meanwhile {spent[_STOLEN] / sum(spent):.1%} was taken by the host of this machine")
    ratio = loop.median / ping_pong.median
    ratio_met = "met" if ratio <= LATENCY_RATIO_TARGET else "MISSED"
    tell(f"\nmedian, loop over ping-pong: {ratio:.2f}   target at most {LATENCY_RATIO_TARGET:g} {ratio_met}")
    pairs = (
        ("missed, loop against ping-pong", loop.missed, ping_pong.missed),
        ("of them while all cores ran", loop.own_missed, ping_pong.own_missed),
    )
    for what, missed, allowed in pairs:
        tell(f"{what}: {missed} against {allowed}   target no more {'met' if missed <= allowed else 'MISSED'}")
    if output is not None:
        report = {"figures": [asdict(f) for f in figures], "latency": [asdict(way) for way in (ping_pong, loop)]}
        output.write_text(json.dumps(report, indent=2))


def _core_times() -> list[int]:
    """Return what the kernel counted of the time of all cores, by use, as it stands in /proc/stat."""
    return [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
