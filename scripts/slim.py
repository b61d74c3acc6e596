"""Take out of the virtual environment what wheels bring and nobody needs: half of its size."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path


def remove_headers(environment: Path) -> None:
    """Remove the headers of Boost, Eigen, Pinocchio and others: nothing here is compiled against them."""
    for headers in environment.glob("lib/python*/site-packages/cmeel.prefix/include"):
        shutil.rmtree(headers)


def link_copies(environment: Path) -> None:
    """Make one file of equal shared libraries.

    Wheels cannot hold symbolic links, so libx.so, libx.so.1 and libx.so.1.2 are three files.
    """
    first: dict[tuple[int, bytes], Path] = {}
    for library in sorted(environment.rglob("*.so*")):
        if library.is_symlink() or not library.is_file():
            continue
        content = library.read_bytes()
        original = first.setdefault((len(content), hashlib.sha256(content).digest()), library)
        if not original.samefile(library):
            library.unlink()
            os.link(original, library)


def strip_symbols(environment: Path) -> None:
    """Take the symbols for debuggers out of shared libraries, 100 MB, with the tool that comes with a compiler.

    Libraries below `*.libs` were edited after linking, which the tool may not survive.
    """
    strip = shutil.which("strip")
    if strip is None:
        return
    for library in environment.rglob("*.so*"):
        edited = any(part.endswith(".libs") for part in library.parts)
        if library.is_file() and not library.is_symlink() and library.stat().st_size > 200_000 and not edited:
            # Into another file and then in its place, so that all names of a file stay names of one.
            stripped = library.with_name(f"{library.name}.stripped")
            done = subprocess.run([strip, "--strip-unneeded", "-o", stripped, library], capture_output=True)
            if done.returncode == 0:
                library.write_bytes(stripped.read_bytes())
            stripped.unlink(missing_ok=True)


def remove_tests(environment: Path) -> None:
    """Remove the tests that wheels bring of themselves and never import."""
    for package in ("h5py", "matplotlib", "numba", "scipy"):
        for tests in environment.glob(f"lib/python*/site-packages/{package}/**/tests"):
            shutil.rmtree(tests, ignore_errors=True)


def main() -> None:
    """Slim the environment this Python runs in."""
    environment = Path(sys.prefix)
    remove_headers(environment)
    remove_tests(environment)
    strip_symbols(environment)
    link_copies(environment)


if __name__ == "__main__":
    main()
