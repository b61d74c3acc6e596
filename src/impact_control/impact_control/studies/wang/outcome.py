"""All that the study simulated."""

from __future__ import annotations

from dataclasses import dataclass

from impact_control.studies.wang.evaluation import Case, Limit
from impact_control.studies.wang.measurement import Impulses
from impact_control.studies.wang.trials import ControlMode, Trial


@dataclass(frozen=True, eq=False)
class Outcome:
    """All that was simulated."""

    cases: tuple[Case, ...]
    modes: tuple[Limit, ...]
    forces: tuple[tuple[str, ControlMode, Trial, Impulses], ...]
    sweeps: tuple[tuple[Limit, ...], ...]
    materials: tuple[Limit, ...]

    def of(self, mode: ControlMode) -> list[Case]:
        """Return the cases of one control mode."""
        return [case for case in self.cases if case.mode is mode]
