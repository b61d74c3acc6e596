"""Versions of source, packages and scenarios, on which the numbers of a trial depend, and the commit of a study."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryFile

import impact_control
import impact_studies
from impact_control import __version__
from impact_control.util.errors import InvalidInputError

PACKAGES = tuple(Path(package.__path__[0]) for package in (impact_control, impact_studies))
"""Directories of what computes a trial."""

_DISTRIBUTIONS = ("numpy", "scipy", "numba", "qpsolvers", "daqp")
"""Distributions that trials compute with, beside Pinocchio."""


@lru_cache(maxsize=1)
def software() -> Mapping[str, str]:
    """Return the software that computes trials, by the names of `/provenance`.

    source: digest of the library and the studies. python, and packages by name: versions, "" for what is not there.
    machine: architecture and system.
    """
    # Imported here: it is slow to load, and is loaded anyway where trials are computed.
    import pinocchio

    return {
        "source": source_digest(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()} {platform.system()}",
        # An installation of ROS has it without the description of a distribution.
        "pinocchio": pinocchio.__version__,
        **{name: installed_version(name) for name in _DISTRIBUTIONS},
    }


@lru_cache(maxsize=1)
def versions() -> Mapping[str, str]:
    """Return what the numbers of every trial depend on beside its case: `software`, and the digest of `scenarios`.

    Both as they were when they were first asked for: what was read of them then is what this process computes with.
    """
    # Late, so that listing the studies does not load the robots.
    from impact_control.scenario import scenario_digest

    return {**software(), "scenarios": scenario_digest()}


def installed_version(distribution: str) -> str:
    """Return the version of a distribution, "" when it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


@lru_cache(maxsize=1)
def source_digest(packages: tuple[Path, ...] = PACKAGES) -> str:
    """Return a digest of the library and the studies: a result of other code or data is not one of this."""
    digest = hashlib.sha256()
    for package in packages:
        for path in sorted(package.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(str(path.relative_to(package.parent)).encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


PACKAGE = PACKAGES[-1]
"""Directory of this package."""

_ENGINES = ("mujoco", "drake")
"""Distributions that one study computes with; its trials name them."""


def provenance(seed: int, quick: bool) -> dict[str, str | int | bool]:
    """Return everything that determines the numbers of a study that runs here and now, by the names of `/provenance`.

    seed, quick: of the study. software_version: of this package. commit: of the checkout it lies in, see `commit_of`.
    scenarios: digest of all files in `config/scenarios`. `software`, and the versions of the engines.
    """
    return {
        "seed": seed,
        "quick": quick,
        "software_version": __version__,
        "commit": commit_of(PACKAGE),
        "scenarios": versions()["scenarios"],
        **software(),
        **{name: installed_version(name) for name in _ENGINES},
    }


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
        raise InvalidInputError(name, directory, allowed) from error
    return directory
