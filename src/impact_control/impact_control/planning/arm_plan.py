"""The plan of a scene, and that of one of its arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from impact_control.control import DesiredForce
from impact_control.references import ImpactReference, ObjectImpact
from impact_control.robots import RobotDescription
from impact_control.scenario import Scenario, Scene


@dataclass(frozen=True, eq=False)
class ArmPlan:
    """Task of one arm: its robot, its own scenario, its reference, the force that it exerts after the impact.

    hold: whether it goes on with the end of the reference and with the force when the task is over. name: of the arm in
    its scene; "" for the arm of a scenario.
    """

    robot: RobotDescription
    scenario: Scenario
    reference: ImpactReference
    force: DesiredForce
    hold: bool = False
    name: str = ""


@dataclass(frozen=True, eq=False)
class Plan:
    """Plans of the arms of a scene by name, and the impact on objects that they were made for."""

    scene: Scene
    arms: Mapping[str, ArmPlan]
    impact: ObjectImpact
