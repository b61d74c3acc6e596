"""Where numbers come from: versions, source, scenarios and seed of a study."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from impact_control import __version__
from impact_control.studies.software import installed_version, software, versions

PACKAGE = Path(__file__).parents[1]
"""Directory of this package."""

_ENGINES = ("mujoco", "drake")
"""Distributions that one study computes with; its trials name them."""


@dataclass(frozen=True)
class Provenance:
    """What has to be the same for the same numbers.

    Attributes:
        seed, quick: of the study.
        software_version: of this package.
        commit: of the checkout the package lies in, see `commit_of`.
        scenarios: digest of all files in `config/scenarios`.
        software: what trials are computed with, see `software`, and the versions of the engines.
    """

    seed: int
    quick: bool
    software_version: str
    commit: str
    scenarios: str
    software: Mapping[str, str]


def provenance(seed: int, quick: bool) -> Provenance:
    """Return that of a study that runs here and now."""
    return Provenance(
        seed=seed,
        quick=quick,
        software_version=__version__,
        commit=commit_of(PACKAGE),
        scenarios=versions()["scenarios"],
        software={**software(), **{name: installed_version(name) for name in _ENGINES}},
    )


def commit_of(package: Path) -> str:
    """Return the hash of the commit that the directory of a package was checked out from.

    A "+" behind it says that something in the checkout is not committed, be it a new file. "" when the package is in
    no repository, or there is no git.
    """
    try:
        # Another repository that an installation happens to lie in does not have the file.
        _git(package, "ls-files", "--error-unmatch", "__init__.py")
        commit = _git(package, "rev-parse", "HEAD")
        return f"{commit}+" if _git(package, "status", "--porcelain", "--untracked-files=normal") else commit
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(directory: Path, *arguments: str) -> str:
    command = ["git", "-C", str(directory), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10.0).stdout.strip()
