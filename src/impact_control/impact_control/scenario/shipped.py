"""Files of the scenarios that are shipped, by their names."""

from __future__ import annotations

import hashlib
from pathlib import Path

from impact_control.util.errors import ImpactControlError, ScenarioError
from impact_control.util.share import shared_directory
from impact_control.util.words import nearest


def config_directory() -> Path:
    """Return the directory `config` of the library, see `shared_directory`. Raises ImpactControlError without one."""
    try:
        return shared_directory("impact_control", "config/scenarios").parent
    except FileNotFoundError as error:
        raise ImpactControlError(str(error)) from None


def available_scenarios() -> tuple[str, ...]:
    """List the names in `config/scenarios`."""
    return _names(_directory())


def available_scenes() -> tuple[str, ...]:
    """List the names in `config/scenarios/scenes`."""
    return _names(_directory() / "scenes")


def scenario_digest() -> str:
    """Return a digest of all files in `config/scenarios`, which is another one when a scenario or a scene changes."""
    digest = hashlib.sha256()
    for path in sorted(_directory().rglob("*.yaml")):
        digest.update(path.relative_to(_directory()).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _directory() -> Path:
    return config_directory() / "scenarios"


def _names(directory: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in directory.glob("*.yaml")))


def find_scenario(name_or_path: str | Path) -> Path:
    """Return the file of a shipped name, or the path itself. Raises ScenarioError for anything else."""
    try:
        path = Path(name_or_path).expanduser()
    except (RuntimeError, ValueError) as error:
        raise ScenarioError(str(name_or_path), "", str(error), "the path of a file") from None
    if path.suffix in (".yaml", ".yml"):
        return path
    directories = (_directory(), _directory() / "scenes")
    for directory in directories:
        if str(name_or_path) in _names(directory):
            return directory / f"{name_or_path}.yaml"
    names = [name for directory in directories for name in _names(directory)]
    allowed = f"a .yaml file, or a name that `impact-control scenarios` lists{nearest(str(name_or_path), names)}"
    raise ScenarioError(str(name_or_path), "", "no scenario of that name", allowed)
