"""What one arm has to do, whether it is the only one of a scenario or one of those of a scene."""

from __future__ import annotations

from impact_control.errors import InvalidInputError
from impact_control.parts import contact_force
from impact_control.references import ImpactMap, build_reference, scene_robots
from impact_control.robots import RobotDescription, load_robot
from impact_control.scenario import Scenario, SceneScenario, arm_scenario, load_any
from impact_control.team import ArmPlan, plan_scene


def assigned(name_or_path: str, arm: str = "") -> tuple[Scenario, RobotDescription]:
    """Return the scenario of an arm and its robot at its place.

    name_or_path: of a scenario or a scene. arm: which of those of a scene; "" for the arm of a scenario. Raises
    ScenarioError, InvalidInputError when there is no such arm.
    """
    scenario = _load(name_or_path, arm)
    if isinstance(scenario, SceneScenario):
        return arm_scenario(scenario, arm), scene_robots(scenario)[arm]
    return scenario, load_robot(scenario.robot.model, scenario.robot.end_effector, scenario.robot.motor_inertia)


def plan_arm(name_or_path: str, arm: str = "", predict: ImpactMap | None = None) -> ArmPlan:
    """Plan what an arm does; see `assigned`.

    predict: the impact map of a scenario's one contact, see `build_reference`; scenes bring theirs. Raises
    UnreachableReferenceError besides.
    """
    scenario = _load(name_or_path, arm)
    if isinstance(scenario, SceneScenario):
        return plan_scene(scenario).arms[arm]
    own, robot = assigned(name_or_path)
    reference = build_reference(own, robot, predict)
    return ArmPlan(robot, own, reference, contact_force(own, reference))


def _load(name_or_path: str, arm: str) -> Scenario | SceneScenario:
    scenario = load_any(name_or_path)
    arms = tuple(scenario.arms) if isinstance(scenario, SceneScenario) else ("",)
    if arm not in arms:
        allowed = f"one of {', '.join(arms)}" if arms != ("",) else "none: the scenario has one arm, which has no name"
        raise InvalidInputError(f"arm of scenario {scenario.name}", arm, allowed)
    return scenario
