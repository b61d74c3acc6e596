"""Record of the inputs of one surface: number, outcomes, the slowest, and failures."""

from __future__ import annotations

import hashlib
import json
import sys
import time
import traceback
from pathlib import Path

from counting import Counted
from source import Source
from surfaces import Target

CALLERS = 2
"""Frames around the one that raises that tell failures apart: all torques outside the limits are found at one place."""


class Keeper:
    """Puts inputs into a target and writes a record, beside it the failed ones as `failed-<surface>-<digest>`.

    One input is kept of each kind of failure: of the same exception, raised at the same line by the same callers.
    """

    def __init__(self, surface: str, record: Path, inputs: int, target: Target) -> None:
        """Keep so many inputs in the record of a surface."""
        self._surface = surface
        self._record = record
        self._inputs = inputs
        self._target = Counted(target)
        self._slowest_input = b""
        self._failures: dict[str, str] = {}
        self._begin = time.monotonic()
        self._begin_of_processor = time.process_time()

    def take(self, data: bytes, source: Source) -> None:
        """Put in one input, made of the choices of a source, which stand for these bytes."""
        target = self._target
        if target.inputs == self._inputs:
            return  # libFuzzer may ask for some more
        slowest = target.slowest
        try:
            target(source)
        except Exception as error:
            self._keep(data, error)
        if target.slowest > slowest:
            self._slowest_input = data
        if target.inputs == self._inputs:
            self._write()

    def _keep(self, data: bytes, error: Exception) -> None:
        kind = kind_of(error)
        if kind in self._failures:
            return
        path = self._record.with_name(f"failed-{self._surface}-{hashlib.sha256(data).hexdigest()[:12]}")
        path.write_bytes(data)
        self._failures[kind] = path.name
        print(f"FAILED {kind}: {path}", file=sys.stderr)
        traceback.print_exception(error)

    def _write(self) -> None:
        slowest = self._record.with_name(f"slowest-{self._surface}")
        slowest.write_bytes(self._slowest_input)
        target = self._target
        record = {
            "name": self._surface,
            **target.counts,
            "seconds": time.monotonic() - self._begin,
            "processor_seconds": time.process_time() - self._begin_of_processor,
            "slowest_input": slowest.name,
            "failures": target.inputs - target.accepted - target.refused,
            "kinds_of_failure": self._failures,
        }
        self._record.write_text(json.dumps(record, indent=2) + "\n")


def kind_of(error: Exception) -> str:
    """Return what tells failures apart: the exception, the line that raises it, and those it was called at."""
    places = traceback.extract_tb(error.__traceback__)[: -CALLERS - 2 : -1]
    return f"{type(error).__name__} at {' < '.join(f'{Path(one.filename).name}:{one.lineno}' for one in places)}"
