"""The surfaces at which something comes in from outside, each with a target for the fuzzers.

A target is made once and takes one input after the other; each input stands for itself. It returns True when what came
was accepted and False when it was refused as it should be; whatever else it does is a finding.
"""

from __future__ import annotations

import importlib
from typing import Protocol

from source import Source

SURFACES = {
    "actions": "Actions",
    "parameters": "Parameters",
    "messages": "Messages",
    "services": "Services",
    "scenario_files": "ScenarioFiles",
    "recordings": "Recordings",
}
"""Module here and class of the target of each surface; those that take longest first."""


class Target(Protocol):
    """Target of the fuzzers."""

    def __call__(self, source: Source) -> bool:
        """Make an input from choices and put it in; return whether it was accepted. Raises what is a finding."""

    def close(self) -> None:
        """Give everything back."""


class BrokenPromiseError(AssertionError):
    """Broken promise of an output, as a torque outside its limits."""


def make_target(surface: str) -> Target:
    """Return the target of a surface. Imports the package only here, after a fuzzer had its hands on the imports."""
    target: Target = getattr(importlib.import_module(f"surfaces.{surface}"), SURFACES[surface])()
    return target
