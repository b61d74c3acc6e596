"""Fuzz all surfaces, or put one input in again. `make fuzz` runs it; the section on fuzzing in docs/lab/development.md.

Usage:
    python tools/fuzz [--inputs N] [--seed S] [--surface NAME ...] [--into DIRECTORY]
    python tools/fuzz --again failed-SURFACE-DIGEST
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(HERE))

from surfaces import SURFACES, make_target  # noqa: E402

import impact_control  # noqa: E402
from benchmark.check import describe_machine  # noqa: E402
from impact_control.util.stopping import StopFlag, stoppable  # noqa: E402
from impact_control_ros.session.processes import isolate  # noqa: E402

DRAWN = 10
"""Inputs by coverage for each example of hypothesis, which takes its time to choose one."""

LARGEST = 512
"""[bytes] most that stand for an input: enough for all its choices."""

SEEDS = 200
"""Random inputs that a fuzzer begins with."""

DOMAINS = 101
"""ROS domains on which Linux gives the ports of DDS to nobody else."""

LOOK = 0.2
"""[s] between two looks whether a driver is to go on, or has ended."""

INTERRUPTED = 130
"""Exit code after Ctrl-C or SIGTERM: no driver goes on, and none is started."""

_COVERAGE = re.compile(r"^#\d+\s+\w+\s+cov: (\d+) ft: (\d+) corp: (\d+)", re.MULTILINE)


def fuzz(
    surface: str, inputs: int, examples: int, seed: int, hang: int, directory: Path, stopped: StopFlag
) -> dict[str, Any]:
    """Fuzz one surface in a process of its own; return its record."""
    record, corpus, log = (directory / f"{surface}{end}" for end in (".json", ".corpus", ".log"))
    plant(corpus, seed)
    command = [
        sys.executable,
        str(HERE / "coverage_guided.py"),
        surface,
        str(record),
        str(inputs),
        str(corpus),
        f"-runs={inputs}",
        f"-seed={seed}",
        f"-max_len={LARGEST}",
        "-len_control=0",
        "-keep_seed=1",
        "-reduce_inputs=0",
        f"-timeout={hang}",
        "-rss_limit_mb=4096",
        f"-artifact_prefix={directory}/failed-{surface}-",
    ]
    ended = run_apart(command, surface, log, stopped)
    edges, features, kept = (_COVERAGE.findall(log.read_text(errors="replace")) or [("0", "0", "0")])[-1]
    coverage = {"edges": int(edges), "features": int(features), "corpus": int(kept)}
    if not record.is_file():
        return {"name": surface, **broken_off(f"exit code {ended}, see {log}"), **coverage}
    drawn = draw(surface, examples, seed, hang, directory, stopped)
    return {**json.loads(record.read_text()), **coverage, "hypothesis": drawn}


def plant(corpus: Path, seed: int) -> None:
    """Make a corpus to begin with: long inputs, because a fuzzer that begins with nothing stays with short ones."""
    corpus.mkdir()
    choices = random.Random(seed)
    for number in range(SEEDS):
        (corpus / f"seed-{number}").write_bytes(choices.randbytes(choices.randint(1, LARGEST)))


def draw(surface: str, examples: int, seed: int, hang: int, directory: Path, stopped: StopFlag) -> dict[str, Any]:
    """Run examples of hypothesis on the surface; return their record."""
    record, log = directory / f"{surface}.drawn.json", directory / f"{surface}.drawn.log"
    command = [sys.executable, str(HERE / "drawn.py"), surface, str(record), str(examples), str(seed), str(hang)]
    ended = run_apart(command, surface, log, stopped)
    if record.is_file():
        found: dict[str, Any] = json.loads(record.read_text())
        return found
    how = f"an input took longer than {hang} s" if ended == -signal.SIGALRM else f"exit code {ended}"
    return broken_off(f"{how}, see {log}")


def broken_off(ended: str) -> dict[str, Any]:
    """Return the record of a driver that ended before it could write its own."""
    return {"inputs": 0, "accepted": 0, "refused": 0, "failures": 1, "ended": ended}


def run_apart(command: list[str], surface: str, log: Path, stopped: StopFlag) -> int:
    """Run a command in a ROS domain of its surface, beside which others may be fuzzed; return its exit code."""
    domain = 1 + (int(os.environ["ROS_DOMAIN_ID"]) + tuple(SURFACES).index(surface)) % DOMAINS
    environment = {**os.environ, "ROS_DOMAIN_ID": str(domain)}
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment) as process,
    ):
        while True:
            try:
                return process.wait(LOOK)
            except subprocess.TimeoutExpired:
                if stopped():
                    process.kill()


def line(record: dict[str, Any]) -> str:
    """Return a record in one line."""
    told = f"{record['name']:15} {counted(record)}"
    if "ended" in record:
        return told
    return (
        f"{told}, {record['edges']} edges, {record['seconds']:.0f} s, slowest {record['slowest'] * 1e3:.0f} ms; "
        f"hypothesis: {counted(record['hypothesis'])}"
    )


def counted(record: dict[str, Any]) -> str:
    """Return what became of the inputs of a driver, in words."""
    if "ended" in record:
        return f"ended early: {record['ended']}"
    return ", ".join(f"{record[what]} {what}" for what in ("inputs", "accepted", "refused", "failures"))


def again(path: Path) -> None:
    """Put an input in again, outside of the fuzzer; what it raises comes out."""
    import atheris
    from source import FromBytes

    surface = next(name for name in SURFACES if f"-{name}" in path.name)
    target = make_target(surface)
    try:
        print("accepted" if target(FromBytes(atheris.FuzzedDataProvider(path.read_bytes()))) else "refused")
    finally:
        target.close()


def passed(record: dict[str, Any], inputs: int, examples: int) -> bool:
    """Return whether both drivers got through with a surface, with all its inputs and all examples of hypothesis."""
    return through(record, inputs) and through(record["hypothesis"], examples)


def through(record: dict[str, Any], inputs: int) -> bool:
    """Return whether a driver put in all inputs, none failed, and some were accepted, some refused.

    Where all go one way the target has not come to what it is to try, and nothing fails.
    """
    both_ways = record["accepted"] > 0 and record["refused"] > 0
    return not record["failures"] and both_ways and bool(record["inputs"] >= inputs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns 1 when an input failed, 130 when it was interrupted (Ctrl-C, SIGTERM)."""
    parser = argparse.ArgumentParser(prog="tools/fuzz", description="Fuzz every surface by coverage.")
    parser.add_argument("--inputs", type=int, default=100_000, help="inputs for each surface")
    parser.add_argument(
        "--examples", type=int, help="of hypothesis for each surface; a tenth of the inputs if not given"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the fuzzer")
    parser.add_argument("--hang", type=int, default=20, help="seconds an input may take; then its surface ends")
    parser.add_argument("--surface", action="append", choices=tuple(SURFACES), help="only these")
    parser.add_argument("--into", type=Path, help="new directory of the results; runs/<time>-fuzz if not given")
    parser.add_argument("--jobs", type=int, default=1, help="surfaces at the same time")
    parser.add_argument("--again", type=Path, help="put this input in again")
    chosen = parser.parse_args(arguments)
    begin = datetime.now(UTC)
    directory: Path = chosen.into or REPOSITORY / "runs" / f"{begin:%Y%m%d-%H%M%S}-fuzz"
    isolate(directory / "ros")
    if chosen.again is not None:
        again(chosen.again)
        return 0
    directory.mkdir(parents=True)
    os.environ["IMPACT_CONTROL_REALTIME"] = "0"
    examples = -(-chosen.inputs // DRAWN) if chosen.examples is None else chosen.examples
    machine, records = describe_machine(), []
    head = {
        "fuzzer": f"atheris {version('atheris')}",
        "package": f"impact_control {impact_control.__version__}",
        "commit": machine["commit"],
        "machine": machine["kind"],
        "date": begin.isoformat(timespec="seconds"),
        "seed": chosen.seed,
    }
    file = directory / "fuzz.json"
    names = tuple(dict.fromkeys(chosen.surface or SURFACES))

    def unless_stopped(name: str) -> dict[str, Any] | None:
        if stopped():
            return None
        record = fuzz(name, chosen.inputs, examples, chosen.seed, chosen.hang, directory, stopped)
        return None if stopped() else record

    with stoppable() as stopped, ThreadPoolExecutor(chosen.jobs) as pool:
        waiting = {pool.submit(unless_stopped, name) for name in names}
        while waiting:
            # Python sees a signal that comes just before it waits for a lock when it has waited, so it waits briefly.
            ended, waiting = wait(waiting, LOOK, FIRST_COMPLETED)
            for record in filter(None, (future.result() for future in ended)):
                records.append(record)
                # After each of them: a surface takes minutes to an hour.
                file.write_text(json.dumps(head | {"surfaces": records}, indent=2) + "\n")
                print(line(record), flush=True)
                for kind, name in record.get("kinds_of_failure", {}).items():
                    print(f"    {kind}: {sys.executable} {HERE} --again {directory / name}", flush=True)
    if stopped():
        print(f"interrupted after {len(records)} of {len(names)} surfaces", flush=True)
    if records:
        print(f"records: {file}")
    if stopped():
        return INTERRUPTED
    return int(any(not passed(record, chosen.inputs, examples) for record in records))


if __name__ == "__main__":
    sys.exit(main())
