"""Finds the studies. Names come from the files; a module is imported only when its study is asked for."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from impact_control.errors import ImpactControlError, InvalidInputError
from impact_control.studies.study import Study

_FRAME = frozenset(
    {
        "cluster", "computing", "directories", "every", "model_errors", "provenance", "registry", "report", "results",
        "runner", "software", "study", "terminal", "trials",
    }
)  # fmt: skip


ALL = "all"
"""Stands for all of them on the command line, and is the name of their directory."""


def available_studies() -> tuple[str, ...]:
    """Return the names of all studies, sorted."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent)])
    return tuple(sorted(module.name for module in modules if not module.ispkg and module.name not in _FRAME))


def find_study(name: str) -> Study:
    """Return the study of this name; hyphens count as underscores.

    Raises InvalidInputError for a name that is not known, MissingDependencyError when a package is not there.
    """
    known = available_studies()
    module_name = name.replace("-", "_")
    if module_name not in known:
        raise InvalidInputError("study", name, f"one of {', '.join(known)}; on the command line also {ALL}")
    study = getattr(importlib.import_module(f"impact_control.studies.{module_name}"), "STUDY", None)
    if not isinstance(study, Study) or study.name != module_name:
        raise ImpactControlError(f"studies/{module_name}.py has to define STUDY, a Study with the name {module_name!r}")
    return study


def find_studies(name: str) -> list[Study]:
    """Return the study of this name, or all for ALL. Raises what `find_study` raises."""
    if name == ALL:
        return [find_study(one) for one in available_studies()]
    return [find_study(name)]
