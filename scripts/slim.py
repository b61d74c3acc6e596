"""Take out of the virtual environment what wheels bring and nobody needs: a third of its size."""

import hashlib
import os
import shutil
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


def main() -> None:
    """Slim the environment this Python runs in."""
    environment = Path(sys.prefix)
    remove_headers(environment)
    link_copies(environment)


if __name__ == "__main__":
    main()
