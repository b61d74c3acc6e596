"""Processes of this machine, as proc(5) has them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def alive(pid):
    """Return True for a running process, False for a zombie and for none."""
    return (fields := _fields(Path(f"/proc/{pid}/stat"))) is not None and fields[0] != "Z"


def children(pid):
    """Return the directories of the children of a process."""
    stats = {file.parent: _fields(file) for file in Path("/proc").glob("[0-9]*/stat")}
    return {directory for directory, fields in stats.items() if fields is not None and int(fields[1]) == int(pid)}


def _fields(stat):
    """Return state, parent and what follows; None of one that is gone."""
    with suppress(OSError):
        return stat.read_text().rpartition(")")[2].split()
