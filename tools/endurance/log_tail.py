"""New lines in the logs of the nodes of a session."""

from __future__ import annotations

from pathlib import Path

CRASHED = "Traceback"
"""First word that Python prints for an uncaught exception."""

_TOLD = ("[WARN]", "[ERROR]", "[FATAL]", CRASHED)


class LogTail:
    """The warnings and errors in the log files of a directory, from the making of this on."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._read = {file: file.stat().st_size for file in directory.glob("*.log")}

    def lines(self) -> tuple[str, ...]:
        """Return those that have come since this was asked before, by file."""
        found = []
        for file in sorted(self._directory.glob("*.log")):
            with file.open("rb") as log:
                log.seek(self._read.get(file, 0))
                lines = log.read().decode(errors="replace").splitlines()
                self._read[file] = log.tell()
            found += [line for line in lines if any(word in line for word in _TOLD)]
        return tuple(found)


def is_error(line: str) -> bool:
    """Whether a line of a log is more than a warning."""
    return "[WARN]" not in line
