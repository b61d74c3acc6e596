"""All that the study simulated."""

from __future__ import annotations

from dataclasses import dataclass

from impact_control.studies.wang.evaluation import Case, Limit
from impact_control.studies.wang.measurement import FittedStop, Impulses
from impact_control.studies.wang.models import ModelCase
from impact_control.studies.wang.options import InertiaOption
from impact_control.studies.wang.trials import ControlMode, Trial


@dataclass(frozen=True, eq=False)
class Outcome:
    """All that was simulated.

    given: by impact and option whose mass is given, where the law fitted with it stops; None if no law fits.
    models: the models fitted to the impacts under stiff velocity control, by configuration and speed; then to those on
        a wall that is a spring.
    """

    cases: tuple[Case, ...]
    modes: tuple[Limit, ...]
    forces: tuple[tuple[str, ControlMode, Trial, Impulses], ...]
    sweeps: tuple[tuple[Limit, ...], ...]
    materials: tuple[Limit, ...]
    given: tuple[tuple[Limit, InertiaOption, FittedStop | None], ...]
    models: tuple[ModelCase, ...]

    def of(self, mode: ControlMode) -> list[Case]:
        """Return the cases of one control mode."""
        return [case for case in self.cases if case.mode is mode]
