"""What computes here: source, packages and scenarios. With other ones, the same trial may give other numbers."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from impact_control.scenario import scenario_digest

_PACKAGES = ("numpy", "scipy", "numba", "qpsolvers", "daqp")
"""Distributions that trials compute with, beside Pinocchio."""


@lru_cache(maxsize=1)
def software() -> Mapping[str, str]:
    """Return what computes trials, by the names of `/provenance`.

    source: digest of this package. python, and packages by name: versions, "" for what is not there. machine:
    architecture and system.
    """
    # Late: it takes time, and whoever asks for this computes with it anyhow.
    import pinocchio

    return {
        "source": source_digest(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()} {platform.system()}",
        # An installation of ROS has it without the description of a distribution.
        "pinocchio": pinocchio.__version__,
        **{name: installed_version(name) for name in _PACKAGES},
    }


@lru_cache(maxsize=1)
def versions() -> Mapping[str, str]:
    """Return what the numbers of every trial depend on beside its case: `software`, and the digest of `scenarios`.

    Both as they were when they were first asked for: what was read of them then is what this process computes with.
    """
    return {**software(), "scenarios": scenario_digest()}


def installed_version(distribution: str) -> str:
    """Return the version of a distribution, "" when it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


@lru_cache(maxsize=1)
def source_digest(package: Path = Path(__file__).parents[1]) -> str:
    """Return a digest of the package: a result of other code or data is not one of this."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(str(path.relative_to(package)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
