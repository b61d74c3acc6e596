"""Measures the stack on this machine, every figure with its target and its peer, from one run, in one report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmark.check import (
    STOPPED_BY_USER,
    Check,
    describe_machine,
    loaded_cores,
    memory_growth,
    reference_ratios,
    run_check,
)
from benchmark.course import record_course
from benchmark.figure import HIGHEST, MEDIAN, Figure, Peer
from benchmark.growth import Curve, growth_curves
from benchmark.latency import LOOP, PING_PONG, Latency, measure_figures, measure_latency
from benchmark.loop import loop_figures
from benchmark.message_costs import message_figures
from benchmark.peers import Peers
from benchmark.physics import physics_figures
from benchmark.picture import draw_report
from benchmark.report import PICTURE_FILE, REPORT_FILE, TEXT_FILE, Report, earlier_changes, text_of
from benchmark.works import checked_works
from impact_control.util.errors import ImpactControlError, InterruptedByUserError, words_of
from impact_control_ros.bridge import real_time
from impact_control_ros.session.processes import isolate
from impact_control_ros.session.runs import new_run_directory

MEDIAN_TARGET = 1.5
TAIL_TARGET = 2.0
"""Largest ratio of the loop's answer times to those of the ping-pong: median, 99.9 %."""

SECONDS_OF_MEASURES = 10.0
"""Length of each measurement by which a measure of real time is judged."""

LOOP_MEMORY_TARGET = 1.0
"""[MB] by which the memory of the loop that is its own (RssAnon, without pages of files) may grow from the second tenth
of the measurement to the last, see `memory_growth`. Our choice, not derived from anything: in 45 s, 2 min by the clock
with the turns of the ping-pong, it grew by 0.06 MB; ten minutes were not measured yet."""

SHOWN = {LOOP.name: "loop", PING_PONG.name: "ping-pong"}
"""How a report names those who answer."""

_STOLEN = 7
"""Column of the times in /proc/stat in which the host of a virtual machine had the cores."""


def run_bench(
    seconds: float, loaded: bool, growth: bool, measures: bool, output: Path, tell: Callable[[str], None]
) -> Path:
    """Measure everything and return the directory below `output` with the report as text, JSON and picture.

    seconds: of the loop and of the ping-pong over DDS each. loaded: over DDS also beside a busy process on each core.
    growth: with the curves of cost against size. measures: with what each measure of real time is worth.
    tell: called with what is done, and with the report.

    Raises InvalidInputError for measures of real time that there are not. With the report of what was measured written:
    InterruptedByUserError when it was interrupted (Ctrl-C), ImpactControlError when a part of it failed.
    """
    real_time.chosen()
    directory = new_run_directory(output, "bench")
    machine = describe_machine() | {"peers": "none"}
    sections: dict[str, list[Figure]] = {}
    checks: list[Check] = []
    curves: list[Curve] = []
    memory: dict[str, tuple[tuple[float, float], ...]] = {}
    failures: dict[str, str] = {}
    part = partial(_part, failures, tell)
    tell("measuring on one core ...")
    course = record_course()
    try:
        with part("On one core") as name, Peers(course) as peers:
            installed = sorted({f"{peer.split(',')[0]} {version}" for peer, version in peers.versions.items()})
            machine["peers"] = ", ".join(installed) or "none"
            sections[name] = loop_figures(course, peers)
            sections[name] += physics_figures(peers)
        with part("Ratio to the yardstick"):
            tell("measuring against the yardstick ...")
            references, limit = reference_ratios(machine["kind"])
            run_check(checked_works(course), references, limit, checks.append)
        if growth:
            with part("Growth"):
                for curve in growth_curves(course, lambda name: tell(f"growing {name} ...")):
                    curves.append(curve)
        isolate(directory / "log")
        for load in ("idle", "loaded") if loaded else ("idle",):
            with part(f"Over DDS at 1 kHz, {load}") as name:
                tell(f"measuring over DDS, {load}, {seconds:g} s each for the loop and a ping-pong in turns ...")
                latencies, stolen = _over_dds(seconds, load == "loaded")
                sections[name] = latency_figures(load, latencies, stolen)
                memory |= {f"{SHOWN[way]}, {load}": latency.memory for way, latency in latencies.items()}
        with part("Messages") as name:
            sections[name] = message_figures()
        if measures:
            with part("Measures of real time") as name:
                sections[name] = measure_figures(SECONDS_OF_MEASURES, tell)
    except KeyboardInterrupt as interruption:
        raise InterruptedByUserError(f"benchmark interrupted; what it measured is in {directory}") from interruption
    finally:
        report = Report(machine, sections, checks, curves, memory, failures)
        _write(report, directory, output, tell)
    if failures:
        raise ImpactControlError(f"parts of the benchmark failed: {'; '.join(failures)}. All else is in {directory}")
    return directory


@contextmanager
def _part(failures: dict[str, str], tell: Callable[[str], None], name: str) -> Iterator[str]:
    """Yield the name of a part; record and print an error in it, and let the others run: each takes minutes."""
    try:
        yield name
    except KeyboardInterrupt:
        failures[name] = STOPPED_BY_USER
        raise
    except Exception as error:
        failures[name] = f"{type(error).__name__}: {words_of(error)}"
        tell(f"{name} failed: {failures[name]}")


def _write(report: Report, directory: Path, output: Path, tell: Callable[[str], None]) -> None:
    """Write the report into its directory, and print it with the changes since earlier ones in `output`."""
    changes = earlier_changes(report, output)
    text = text_of(report, changes)
    (directory / TEXT_FILE).write_text(text + "\n")
    (directory / REPORT_FILE).write_text(report.as_json(changes))
    (directory / PICTURE_FILE).write_bytes(draw_report(report, changes))
    tell(f"\n{text}\n\nReport: {directory}")


def latency_figures(load: str, latencies: Mapping[str, Latency], stolen: float) -> list[Figure]:
    """Return what the loop needed beside the ping-pong.

    load: of the machine, in a word. stolen [-]: part of the cores' time that the host took.
    """
    loop, ping_pong = latencies[LOOP.name], latencies[PING_PONG.name]
    ratios = {MEDIAN: loop.median / ping_pong.median, HIGHEST: loop.highest / ping_pong.highest}
    peer = SHOWN[PING_PONG.name]

    def pair(name: str, unit: str, values: Callable[[Latency], Mapping[str, float]], *limited: str) -> Figure:
        ours, its = values(loop), values(ping_pong)
        return Figure(f"{name}, {load}", ours, unit, {key: its[key] for key in limited}, (Peer(peer, its),))

    cycles = f"of {loop.cycles} cycles"
    answers = pair("state to torque, loop node", "us", lambda way: way.answers)
    ratio = replace(answers.peers[0], name=f"bare rclpy {peer}", ratio=ratios[MEDIAN])
    weight = {"at the end": loop.memory[-1][1], "growth": memory_growth(loop.memory)}
    limits = {MEDIAN: MEDIAN_TARGET, HIGHEST: TAIL_TARGET}
    return [
        replace(answers, peers=(ratio,)),
        Figure(f"state to torque, times the {peer}, {load}", ratios, "times", limits),
        pair("jitter", "us", lambda way: {"standard deviation": way.jitter, "longest": way.longest}),
        pair("missed", cycles, lambda way: {"missed": way.missed}, "missed"),
        pair("missed while all cores ran", cycles, lambda way: {"missed": way.own_missed}, "missed"),
        Figure(f"time of the cores taken by the host, {load}", {"part": 100.0 * stolen}, "%"),
        Figure(f"memory of the loop, {load}", weight, "MB", {"growth": LOOP_MEMORY_TARGET}),
    ]


def _over_dds(seconds: float, loaded: bool) -> tuple[dict[str, Latency], float]:
    """Return what loop and ping-pongs needed, and which part of the cores' time the host took meanwhile."""
    before = _core_times()
    with loaded_cores() if loaded else nullcontext():
        latencies = measure_latency(seconds)
    spent = [after - start for start, after in zip(before, _core_times(), strict=True)]
    return latencies, spent[_STOLEN] / sum(spent)


def _core_times() -> list[int]:
    """Return what the kernel counted of the time of all cores, by use, as it stands in /proc/stat."""
    return [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
