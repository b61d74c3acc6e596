"""Finds scenario files by name or path."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from impact_control.errors import ScenarioError
from impact_control.scenario.document import load_document, parse_document
from impact_control.scenario.schema import Scenario, scenario_from_document

_PACKAGE = "impact_control"


def config_directory() -> Path:
    """Return the directory `config`: of the checkout this file lies in, else of an installation.

    Searched are the checkout, `$AMENT_PREFIX_PATH` and the Python prefix, each below `share/impact_control`.
    Raises ScenarioError when there is none.
    """
    checkout = Path(__file__).resolve().parents[4]
    prefixes = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    installed = [prefix / "share" / _PACKAGE for prefix in (*prefixes, Path(sys.prefix))]
    for root in (checkout, *installed):
        if (root / "config" / "scenarios").is_dir():
            return root / "config"
    searched = ", ".join(str(root / "config") for root in (checkout, *installed))
    raise ScenarioError(searched, "(directory)", None, "one of these directories has to hold `scenarios`")


def available_scenarios() -> tuple[str, ...]:
    """List the names in `config/scenarios`."""
    return tuple(sorted(path.stem for path in (config_directory() / "scenarios").glob("*.yaml")))


def load_scenario(name_or_path: str | Path) -> Scenario:
    """Load and check a scenario.

    name_or_path: a name in `config/scenarios`, or the path of a `.yaml` file. Raises ScenarioError with
    file and line, key, value, and what is allowed.
    """
    path = Path(name_or_path).expanduser()
    if path.suffix not in (".yaml", ".yml"):
        directory = config_directory() / "scenarios"
        path = directory / f"{name_or_path}.yaml"
        if path.parent != directory or not path.is_file():
            names = ", ".join(available_scenarios())
            raise ScenarioError(str(directory), "(name)", str(name_or_path), f"one of {names}, or a .yaml file")
    return scenario_from_document(load_document(path))


def scenario_from_text(text: str, origin: str) -> Scenario:
    """Build a scenario from the text of `Scenario.to_yaml`, as recorders keep it.

    origin: what errors name as the file. Raises ScenarioError.
    """
    return scenario_from_document(parse_document(text, Path(origin)))
