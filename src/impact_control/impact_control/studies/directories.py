"""Directories that studies write to."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile

from impact_control.errors import InvalidInputError


def writable_directory(directory: Path, name: str, where: str = "") -> Path:
    """Return a directory, made when it is not there, after something was written to it.

    name: what it is, where: it may be, for the error. Raises InvalidInputError when it cannot be made or written to.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # Without a name, so that nothing is left of it whatever ends this process.
        with TemporaryFile(dir=directory) as probe:
            probe.write(b"probe")
    except OSError as error:
        allowed = f"a directory to write to{where}; {error.strerror}"
        raise InvalidInputError(name, str(directory), allowed) from error
    return directory
