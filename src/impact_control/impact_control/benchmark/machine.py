"""What a measurement was made on and of: machine, versions, commit, date."""

from __future__ import annotations

import os
import platform
from datetime import datetime
from pathlib import Path

from impact_control import __version__
from impact_control.studies.provenance import PACKAGE, commit_of
from impact_control.studies.software import installed_version

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
        "commit": commit_of(PACKAGE),
        "date": f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S %z}",
    }


def machine_kind() -> str:
    """Return what ratios depend on beside our own code: processor, and minor versions of Python and `PACKAGES`."""
    versions = {"Python": platform.python_version(), **{name: installed_version(name) for name in PACKAGES}}
    return ", ".join([_processor(), *(f"{name} {_minor(version) or 'none'}" for name, version in versions.items())])


def _processor() -> str:
    """Return name, family and model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return f"{facts.get('model name', platform.machine())} {facts.get('cpu family', '')}/{facts.get('model', '')}"


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
