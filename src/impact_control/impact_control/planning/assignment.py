"""The task of one arm, of a scenario with one arm or of a scene with several."""

from __future__ import annotations

from dataclasses import dataclass

from impact_control.planning import ArmPlan, Departure, Proposal, departures, plan_scenario, propose
from impact_control.references import ImpactMap
from impact_control.robots import RobotDescription
from impact_control.scenario import Scenario, Scene, load_scenario
from impact_control.util.errors import ImpactControlError, InvalidInputError


@dataclass(frozen=True, eq=False)
class Assignment:
    """The scene, the name of an arm in it, its own scenario, and its robot at its place."""

    scene: Scene
    arm: str
    scenario: Scenario
    robot: RobotDescription

    def plan(self, predict: ImpactMap | None = None) -> ArmPlan:
        """Plan the task of the arm.

        predict: the impact map of one contact, see `build_references`. Raises InfeasibleTaskError,
        UnreachableReferenceError, InvalidInputError.
        """
        return plan_scenario(self.scene, predict).arms[self.arm]

    def proposals(self, refusal: ImpactControlError) -> tuple[Proposal, ...]:
        """Return changes with which a plan that was refused can be made, see `impact_control.planning.propose`."""
        return propose(self.scene, (refusal,))

    @property
    def departures(self) -> tuple[Departure, ...]:
        """Return the entries of the task outside the ranges that were verified, see `departures`."""
        return departures(self.scene)


def assigned(name_or_path: str, arm: str = "") -> Assignment:
    """Return the task of an arm.

    name_or_path: of a scenario. arm: name of the arm; "" for the arm of a scenario with one arm. Raises ScenarioError,
    InvalidInputError when there is no such arm.
    """
    return assigned_in(load_scenario(name_or_path), arm)


def assigned_in(scene: Scene, arm: str = "") -> Assignment:
    """Return the task of an arm in a scenario, see `assigned`. Raises ScenarioError, InvalidInputError."""
    arms = scene.arm_names
    if arm not in arms:
        allowed = f"one of {', '.join(arms)}" if any(arms) else "none: the scenario has one arm, which has no name"
        raise InvalidInputError(f"arm of scenario {scene.name}", arm, allowed)
    return Assignment(scene, arm, scene.arm(arm), scene.robots()[arm])
