"""Short check of the cost of computations, with the machine, versions, commit and date of a measurement."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from benchmark.works import checked_works
from benchmark.yardstick import Work, durations_in_turns
from impact_control import __version__
from impact_control.util.types import Vector
from impact_studies.frame.provenance import PACKAGE, commit_of, installed_version

PACKAGES = ("numpy", "pin", "numba")
"""Those that most of the work is done by."""


def describe_machine() -> dict[str, str]:
    """Return the description: kind, cores, kernel, load, version, commit, date."""
    return {
        "kind": machine_kind(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "load": f"{os.getloadavg()[0]:.1f}",
        "version": __version__,
        "commit": commit_of(PACKAGE),
        "date": f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S %z}",
    }


def machine_kind() -> str:
    """Return what ratios depend on beside our own code: processor, and minor versions of Python and `PACKAGES`."""
    versions = {"Python": platform.python_version(), **{name: installed_version(name) for name in PACKAGES}}
    return ", ".join([_processor(), *(f"{name} {_minor(version) or 'none'}" for name, version in versions.items())])


def _processor() -> str:
    """Return name, family and model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return f"{facts.get('model name', platform.machine())} {facts.get('cpu family', '')}/{facts.get('model', '')}"


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


@contextmanager
def loaded_cores() -> Iterator[None]:
    """Keep every core that this process may use busy, at ordinary priority, until the context is left."""
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_keep_busy, args=(core, os.getpid()), daemon=True)
        for core in sorted(os.sched_getaffinity(0))
    ]
    try:
        for process in processes:
            process.start()
        yield
    finally:
        for process in processes:
            if process.pid is not None:
                process.kill()
                process.join()


def _keep_busy(core: int, parent: int) -> None:
    """Compute on a core as long as the parent lives, however that ends."""
    os.sched_setaffinity(0, {core})
    while os.getppid() == parent:
        for _ in range(100_000):
            pass


REFERENCE_FILE = Path(__file__).parent / "data" / "reference_ratios.json"

LIMIT = 1.2
"""Ratio to the reference ratio from which a work counts as slower, on a kind of machine that has a reference."""

COARSE_LIMIT = 2.0
"""The same on any other: processors and versions differ, too."""

STOPPED_BY_USER = "stopped by the user"
"""End of a run that its user stopped, which is no failure."""

ATTEMPTS = 5
"""Measurements that are taken together before a work is called slower."""

PAUSE = 1.0
"""[s] before the next of them."""

ROUNDS = 80
"""Turns of one measurement."""

ACCEPTED = 4
"""Measurements, calm and beside a load each, whose ratios together make a reference."""

NAME_WIDTH = 42
"""Letters of a name in a table."""


@dataclass(frozen=True)
class Check:
    """Ratio of a work to the yardstick, the reference ratio, and the limit of their quotient."""

    name: str
    ratio: float
    reference: float
    limit: float
    attempts: int = 1

    @property
    def change(self) -> float:
        """By which factor the work has become slower."""
        return self.ratio / self.reference

    @property
    def passed(self) -> bool:
        """True inside the limit."""
        return self.change <= self.limit

    @property
    def line(self) -> str:
        """All of it, for a table."""
        tries = f"   in {self.attempts} attempts" if self.attempts > 1 else ""
        numbers = f"{self.ratio:10.2f}{self.reference:10.2f}{self.change - 1.0:+10.0%}"
        return f"  {self.name:{NAME_WIDTH - 2}s}{numbers}{tries}{'' if self.passed else '   SLOWER'}"


def measure_ratios(work: Work, ruler: Work, rounds: int = ROUNDS) -> Vector:
    """Return (rounds,) how many times as long as `ruler` a `work` took in each of the turns. Their median counts."""
    ours, its = durations_in_turns([work, ruler], rounds).T
    ratios: Vector = ours / its
    return ratios


def run_check(
    works: Mapping[str, tuple[Work, Work]],
    references: Mapping[str, float],
    limit: float,
    tell: Callable[[Check], None],
    pause: float = PAUSE,
) -> list[Check]:
    """Measure all works that have a reference ratio; those beyond the limit again, up to ATTEMPTS times.

    works: by name, each with its yardstick. tell: called with each result. pause [s]: before a work is measured again,
    when the machine may be calmer. Only what is beyond the limit after all attempts has become slower.
    """
    checks = []
    for name, (work, ruler) in works.items():
        if name not in references:
            continue
        ratios, attempts = measure_ratios(work, ruler), 1
        while np.median(ratios) > limit * references[name] and attempts < ATTEMPTS:
            time.sleep(pause)
            ratios, attempts = np.append(ratios, measure_ratios(work, ruler)), attempts + 1
        checks.append(Check(name, float(np.median(ratios)), references[name], limit, attempts))
        tell(checks[-1])
    return checks


def reference_ratios(kind: str, file: Path = REFERENCE_FILE) -> tuple[dict[str, float], float]:
    """Return the reference ratios for a kind of machine and the limit that goes with them.

    For a kind that is not in the file: the largest of all kinds for each work, with the coarse limit.
    """
    kinds: dict[str, dict[str, float]] = json.loads(file.read_text())["ratios"]
    if kind in kinds:
        return kinds[kind], LIMIT
    names = {name for ratios in kinds.values() for name in ratios}
    return {name: max(ratios.get(name, 0.0) for ratios in kinds.values()) for name in sorted(names)}, COARSE_LIMIT


def run_short(tell: Callable[[str], None]) -> list[Check]:
    """Check all works and return the results; tell: called with each line."""
    kind = machine_kind()
    references, limit = reference_ratios(kind)
    known = "" if limit == LIMIT else ", which has no reference of its own"
    tell(f"{kind}{known}: slower from {limit - 1.0:.0%} above the reference on")
    tell(f"{'ratio to the yardstick':{NAME_WIDTH}s}{'ratio':>10s}{'reference':>10s}{'change':>10s}")
    return run_check(checked_works(), references, limit, lambda check: tell(check.line))


def accept_ratios(tell: Callable[[str], None], file: Path = REFERENCE_FILE) -> None:
    """Measure all works, and write their ratios as the reference of this kind of machine; those of others stay.

    Half of it on the machine as it is and half beside a load: the reference is in the middle of both.
    """
    works, content = checked_works(), json.loads(file.read_text())
    calm = _medians(works)
    with loaded_cores():
        loaded = _medians(works)
    accepted = {name: round(math.sqrt(calm[name] * loaded[name]), 3) for name in works}
    content["ratios"][machine_kind()] = accepted
    file.write_text(json.dumps(content, indent=2) + "\n")
    tell(f"{'':{NAME_WIDTH}s}{'calm':>10s}{'loaded':>10s}{'reference':>10s}")
    for name, ratio in accepted.items():
        tell(f"{name:{NAME_WIDTH}s}{calm[name]:10.3f}{loaded[name]:10.3f}{ratio:10.3f}")
    tell(f"written to {file}")


def _medians(works: Mapping[str, tuple[Work, Work]]) -> dict[str, float]:
    """Return the median ratio of each of the works over ACCEPTED measurements, one of each in turns."""
    found: dict[str, list[Vector]] = {name: [] for name in works}
    for _ in range(ACCEPTED):
        for name, (work, ruler) in works.items():
            found[name].append(measure_ratios(work, ruler))
    return {name: float(np.median(ratios)) for name, ratios in found.items()}


def own_memory(pid: int) -> float:
    """Return the own memory [MB] of a process: RssAnon, as the kernel names it.

    Without what is mapped from files: the kernel drops such pages and reads them again as it likes.
    """
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("RssAnon:"))
    return int(kilobytes) * 1024 / 1e6


def memory_growth(series: Sequence[tuple[float, float]]) -> float:
    """Return by how much the sizes [MB] of times and sizes grew from the second tenth of them to the last.

    The first tenth is left out: what runs for the first time takes what it then keeps.
    """
    sizes = np.array([size for _, size in series])
    tenth = max(1, sizes.size // 10)
    begin = sizes[tenth : 2 * tenth] if sizes.size > tenth else sizes
    return float(sizes[-tenth:].mean() - begin.mean())
