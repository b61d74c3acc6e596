"""Progress in one line of the terminal."""

from __future__ import annotations

import sys
import time
from enum import Enum
from typing import Protocol

from impact_control.cli.terminal import width


class TaskProgress(Protocol):
    """Progress of a task, see `nodes.task_messages.Progress`."""

    @property
    def mode(self) -> Enum:
        """Mode of the controller."""

    @property
    def task_time(self) -> float:
        """Time of the task [s]."""

    @property
    def duration(self) -> float:
        """Planned end of the task [s]."""

    @property
    def position_error(self) -> float:
        """Position error of the end-effector [m]."""

    @property
    def impacts(self) -> int:
        """Detected so far."""


class ProgressLine:
    """One line that is written over on a terminal; a line a stage elsewhere."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._live = sys.stderr.isatty()
        self._mode = ""
        self._since: tuple[float, float] | None = None

    def stage(self, text: str) -> None:
        """Show what is being done."""
        self._write(f"{self._name}: {text} ...", final=not self._live)

    def progress(self, progress: TaskProgress) -> None:
        """Show how far the task is."""
        mode = progress.mode.name.lower()
        if self._live:
            done = progress.task_time / max(progress.duration, 1e-9)
            self._write(
                f"{self._name}: [{_bar(done)}] {progress.task_time:5.2f} / {progress.duration:.2f} s  {mode:8s} "
                f"error {progress.position_error * 1e3:5.1f} mm  impacts {progress.impacts}",
                final=False,
            )
        elif mode != self._mode:
            self._write(f"{self._name}: {progress.task_time:5.2f} s  {mode}", final=True)
        self._mode = mode

    def part(self, done: float, text: str) -> None:
        """Show which part of the work, 0 to 1, is done, what is being done, and the time left; on a terminal only."""
        now = time.monotonic()
        if self._since is None:
            # What was there from the start took no time.
            self._since = (now, done)
        left = time_left(now - self._since[0], done - self._since[1], 1.0 - done)
        self._write(f"{self._name}: [{_bar(done)}] {text}{left}", final=False)

    def end(self) -> None:
        """Leave the line."""
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _write(self, text: str, *, final: bool) -> None:
        # A line that is wrapped could not be written over.
        sys.stderr.write(f"\r\x1b[K{text[: width(80) - 1]}" if self._live else f"{text}\n" if final else "")
        sys.stderr.flush()


def time_left(elapsed: float, done: float, remaining: float) -> str:
    """Return ", about ... left" for what remains when `done`, in the same measure, took `elapsed` [s]; "" too early."""
    if elapsed < 2.0 or done < 0.01:
        return ""
    seconds = elapsed / done * remaining
    return f", about {seconds:.0f} s left" if seconds < 90.0 else f", about {seconds / 60.0:.0f} min left"


def _bar(done: float) -> str:
    filled = round(24 * min(1.0, done))
    return "#" * filled + "." * (24 - filled)
