"""Scenarios: one YAML file says robot, task, environments, control, detection, classification, reaction."""

from impact_control.scenario.classification import SIMULTANEOUS, Classification, Completion
from impact_control.scenario.control import (
    ANTE_REFERENCE,
    CONTACT_COMPLETION,
    JOINT_SPACE,
    Control,
    Interim,
    TaskGains,
    TaskWeights,
)
from impact_control.scenario.detection import Detection, Residual, ResidualRate, TorqueError, VelocityJump
from impact_control.scenario.documentation import describe_schema
from impact_control.scenario.environment import (
    ActualEnvironment,
    CompliantSurface,
    Contact,
    ExpectedEnvironment,
    Surface,
    Touch,
)
from impact_control.scenario.loading import (
    any_from_text,
    available_scenarios,
    available_scenes,
    config_directory,
    load_any,
    load_scenario,
    load_scene,
    parts_of,
    scenario_digest,
    scenario_from_text,
)
from impact_control.scenario.reaction import Admittance, PullBack, Reaction
from impact_control.scenario.robot_side import JointBacklash, Simulation
from impact_control.scenario.scene import SceneScenario
from impact_control.scenario.scene_arm import ArmImpact, Base, SceneArm
from impact_control.scenario.scene_arm_scenario import arm_scenario, flat_orientation, impact_point
from impact_control.scenario.scene_environment import (
    ActualObject,
    ExpectedObject,
    SceneActualEnvironment,
    SceneExpectedEnvironment,
    rotation_about_z,
)
from impact_control.scenario.scene_task import ScenePost, SceneTask
from impact_control.scenario.schema import Robot, Scenario, robot_of
from impact_control.scenario.task import Ante, Impact, Post, Task

__all__ = [
    "ANTE_REFERENCE",
    "CONTACT_COMPLETION",
    "JOINT_SPACE",
    "SIMULTANEOUS",
    "ActualEnvironment",
    "ActualObject",
    "Admittance",
    "Ante",
    "ArmImpact",
    "Base",
    "Classification",
    "Completion",
    "CompliantSurface",
    "Contact",
    "Control",
    "Detection",
    "ExpectedEnvironment",
    "ExpectedObject",
    "Impact",
    "Interim",
    "JointBacklash",
    "Post",
    "PullBack",
    "Reaction",
    "Residual",
    "ResidualRate",
    "Robot",
    "Scenario",
    "SceneActualEnvironment",
    "SceneArm",
    "SceneExpectedEnvironment",
    "ScenePost",
    "SceneScenario",
    "SceneTask",
    "Simulation",
    "Surface",
    "Task",
    "TaskGains",
    "TaskWeights",
    "TorqueError",
    "Touch",
    "VelocityJump",
    "any_from_text",
    "arm_scenario",
    "available_scenarios",
    "available_scenes",
    "config_directory",
    "describe_schema",
    "flat_orientation",
    "impact_point",
    "load_any",
    "load_scenario",
    "load_scene",
    "parts_of",
    "robot_of",
    "rotation_about_z",
    "scenario_digest",
    "scenario_from_text",
]
