"""What a controller does when a reaction asks for it: stop, pull back, yield, resume."""

from __future__ import annotations

import numpy as np

from impact_control.control import Mode, ReferenceSpreadingController
from impact_control.parts import admittance_parameters, retreat_direction, retreat_parameters
from impact_control.reaction import Step
from impact_control.references import ImpactReference
from impact_control.scenario import Scenario
from impact_control.types import Vector


class Maneuvers:
    """The steps of a reaction with the parameters of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._away: Vector = np.array([0.0, 0.0, 1.0])
        self._take(scenario)

    def start(self, scenario: Scenario, reference: ImpactReference) -> None:
        """Take the parameters of a new task, and which way is away from its surface."""
        self._take(scenario)
        self._away = retreat_direction(scenario, reference)

    def begin(self, step: Step, controller: ReferenceSpreadingController, *, repeats_impact: bool) -> None:
        """Let the controller begin a step. repeats_impact: the impact of the task is still to come after it."""
        if step is Step.STOP:
            controller.stop()
        elif step is Step.PULL_BACK:
            controller.pull_back(self._away, self._retreat)
        elif step is Step.YIELD:
            controller.admit(self._admittance, Mode.ANTE if repeats_impact else Mode.POST)
        elif step is Step.RESUME:
            controller.resume()

    def _take(self, scenario: Scenario) -> None:
        self._retreat = retreat_parameters(scenario)
        self._admittance = admittance_parameters(scenario)
