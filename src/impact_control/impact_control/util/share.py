"""Directory of data files of a package: in the checkout, or below `share` of an installation."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[4]
"""Made once: pathlib interns the parts of every path it makes. What is interned and forgotten makes Python build its
table of such names again, after some 40 min of tasks: 2 MB, and milliseconds in which the loop stands still."""


def shared_directory(package: str, name: str) -> Path:
    """Return a directory that a package shares: of the checkout that this file lies in, else of an installation.

    Searched are the checkout, `$AMENT_PREFIX_PATH` and the Python prefix, each of these below `share/<package>`.
    name: relative to it. Raises FileNotFoundError when there is none.
    """
    prefixes = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    installed = [prefix / "share" / package for prefix in (*prefixes, Path(sys.prefix))]
    for root in (_CHECKOUT, _CHECKOUT / "src" / package, *installed):
        if (root / name).is_dir():
            return root / name
    searched = ", ".join(str(root / name) for root in (_CHECKOUT, *installed))
    raise FileNotFoundError(f"no directory {name} of {package}, searched: {searched}")
