"""What a measurement was made on and of: machine, versions, commit, date."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from impact_control import __version__

PACKAGES = ("numpy", "pin", "numba")
"""Those that most of the work is done by."""


def describe_machine() -> dict[str, str]:
    """Return the description: kind, cores, kernel, load, version, commit, date."""
    return {
        "kind": machine_kind(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "load": f"{os.getloadavg()[0]:.1f}",
        "version": __version__,
        "commit": _commit(Path(__file__).parent),
        "date": f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S %z}",
    }


def machine_kind() -> str:
    """Return what ratios depend on beside our own code: processor, and minor versions of Python and `PACKAGES`."""
    python = ".".join(platform.python_version_tuple()[:2])
    return ", ".join([_processor(), f"Python {python}", *(f"{name} {_minor_version(name)}" for name in PACKAGES)])


def _processor() -> str:
    """Return name, family and model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return f"{facts.get('model name', platform.machine())} {facts.get('cpu family', '')}/{facts.get('model', '')}"


def _minor_version(package: str) -> str:
    try:
        return ".".join(version(package).split(".")[:2])
    except PackageNotFoundError:
        return "none"


def _commit(directory: Path) -> str:
    """Return the commit of a clone, with a plus where files differ from it; nothing outside a clone."""
    git = ["git", "-C", str(directory)]
    try:
        done = subprocess.run([*git, "describe", "--always", "--dirty=+"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
