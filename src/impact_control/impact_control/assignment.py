"""What one arm has to do, whether it is the only one of a scenario or one of those of a scene."""

from __future__ import annotations

from dataclasses import dataclass

from impact_control.errors import InvalidInputError
from impact_control.parts import contact_force
from impact_control.references import ImpactMap, build_reference, scene_robots
from impact_control.robots import RobotDescription
from impact_control.scenario import Scenario, SceneScenario, arm_scenario, load_any, robot_of
from impact_control.team import ArmPlan, plan_scene


@dataclass(frozen=True, eq=False)
class Assignment:
    """The scenario of an arm and its robot at its place; `arm` and `scene` only for an arm of a scene."""

    scenario: Scenario
    robot: RobotDescription
    arm: str = ""
    scene: SceneScenario | None = None

    def plan(self, predict: ImpactMap | None = None) -> ArmPlan:
        """Plan what the arm does.

        predict: the impact map of a scenario's one contact, see `build_reference`; scenes bring theirs. Raises
        UnreachableReferenceError, InvalidInputError.
        """
        if self.scene is not None:
            return plan_scene(self.scene).arms[self.arm]
        reference = build_reference(self.scenario, self.robot, predict)
        return ArmPlan(self.robot, self.scenario, reference, contact_force(self.scenario, reference))


def assigned(name_or_path: str, arm: str = "") -> Assignment:
    """Return what an arm is to do.

    name_or_path: of a scenario or a scene. arm: which of those of a scene; "" for the arm of a scenario. Raises
    ScenarioError, InvalidInputError when there is no such arm.
    """
    loaded = load_any(name_or_path)
    arms = tuple(loaded.arms) if isinstance(loaded, SceneScenario) else ("",)
    if arm not in arms:
        allowed = f"one of {', '.join(arms)}" if arms != ("",) else "none: the scenario has one arm, which has no name"
        raise InvalidInputError(f"arm of scenario {loaded.name}", arm, allowed)
    if isinstance(loaded, SceneScenario):
        return Assignment(arm_scenario(loaded, arm), scene_robots(loaded)[arm], arm, loaded)
    return Assignment(loaded, robot_of(loaded.robot))
