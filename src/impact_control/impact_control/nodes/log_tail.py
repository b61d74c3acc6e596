"""What the nodes of a session write into their logs while one looks."""

from __future__ import annotations

from pathlib import Path

_TOLD = ("[WARN]", "[ERROR]", "[FATAL]", "Traceback")


class LogTail:
    """The warnings and errors that come into the log files of a directory from the making of this on."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sizes = {file: file.stat().st_size for file in directory.glob("*.log")}

    def lines(self) -> tuple[str, ...]:
        """Return those that have come, by file."""
        found = []
        for file in sorted(self._directory.glob("*.log")):
            with file.open("rb") as log:
                log.seek(self._sizes.get(file, 0))
                lines = log.read().decode(errors="replace").splitlines()
            found += [line for line in lines if any(word in line for word in _TOLD)]
        return tuple(found)


def is_error(line: str) -> bool:
    """Whether a line of a log is more than a warning."""
    return "[WARN]" not in line
