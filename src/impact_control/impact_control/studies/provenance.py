"""Where numbers come from: versions, source, scenarios and seed of a study."""

from __future__ import annotations

import platform
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from impact_control import __version__
from impact_control.scenario import scenario_digest
from impact_control.studies.trials import source_digest

_PACKAGES = {"numpy": "numpy", "scipy": "scipy", "pinocchio": "pin", "numba": "numba"}
"""What the numbers may depend on: attribute of the file, and name of its distribution."""


@dataclass(frozen=True)
class Provenance:
    """What has to be the same for the same numbers.

    Attributes:
        seed, quick: of the study.
        software_version: of this package.
        commit: of the checkout the package lies in, with "+" when something in it is not committed; "" without one.
        source: digest of all files of the package, data of the robots included.
        scenarios: digest of all files in `config/scenarios`.
        python, machine: version of Python, architecture and system.
        packages: versions by name, "" of what is not there.
    """

    seed: int
    quick: bool
    software_version: str
    commit: str
    source: str
    scenarios: str
    python: str
    machine: str
    packages: dict[str, str]


def provenance(seed: int, quick: bool) -> Provenance:
    """Return that of a study that runs here and now."""
    return Provenance(
        seed=seed,
        quick=quick,
        software_version=__version__,
        commit=_commit(Path(__file__).parents[1]),
        source=source_digest(),
        scenarios=scenario_digest(),
        python=platform.python_version(),
        machine=f"{platform.machine()} {platform.system()}",
        packages={name: _version(distribution) for name, distribution in _PACKAGES.items()},
    )


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def _commit(directory: Path) -> str:
    """Return the commit that a directory belongs to; "" when it is in no repository, or there is no git."""
    try:
        # Another repository that an installation happens to lie in does not have the file.
        _git(directory, "ls-files", "--error-unmatch", "__init__.py")
        commit = _git(directory, "rev-parse", "HEAD")
        return f"{commit}+" if _git(directory, "status", "--porcelain", ".") else commit
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(directory: Path, *arguments: str) -> str:
    command = ["git", "-C", str(directory), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10.0).stdout.strip()
