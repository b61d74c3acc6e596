"""Scenarios: one YAML file with robot, task, environments, control, detection, classification and reaction."""

from impact_control.scenario.classification import (
    SIMULTANEOUS,
    Classification,
    CompletionSettings,
    ContactPathSettings,
    HeldForceSettings,
)
from impact_control.scenario.control import (
    Control,
    Feedback,
    FurtherImpacts,
    ImpactStrategy,
    Interim,
    InterimEnd,
    InterimReference,
    TaskGains,
    TaskWeights,
    largest_gain,
    low_pass_share,
)
from impact_control.scenario.detection import Detection, Residual, ResidualRate, TorqueError, VelocityJump
from impact_control.scenario.document import parse_overrides
from impact_control.scenario.documentation import describe_schema
from impact_control.scenario.environment import (
    ActualEnvironment,
    CompliantSurface,
    Contact,
    ExpectedEnvironment,
    Surface,
    Touch,
    TouchProfile,
)
from impact_control.scenario.loading import load_scenario, parts_of, scenario_from_text
from impact_control.scenario.object_scene import ObjectScene, flat_orientation
from impact_control.scenario.objects import (
    ActualObject,
    ArmImpact,
    Base,
    ExpectedObject,
    SceneActualEnvironment,
    SceneArm,
    SceneExpectedEnvironment,
    ScenePost,
    SceneTask,
    Target,
    rotation_about_z,
)
from impact_control.scenario.reaction import Admittance, PullBack, Reaction, ReactionSettings, RetreatDirection
from impact_control.scenario.robot import Robot, robot_of
from impact_control.scenario.robot_side import ArmDeviation, JointBacklash, Simulation
from impact_control.scenario.scene import Scenario, Scene
from impact_control.scenario.shipped import available_scenarios, available_scenes, config_directory, scenario_digest
from impact_control.scenario.task import Ante, Impact, Post, Task
from impact_control.scenario.uncertainty import Uncertainty

__all__ = [
    "SIMULTANEOUS",
    "ActualEnvironment",
    "ActualObject",
    "Admittance",
    "Ante",
    "ArmDeviation",
    "ArmImpact",
    "Base",
    "Classification",
    "CompletionSettings",
    "CompliantSurface",
    "Contact",
    "ContactPathSettings",
    "Control",
    "Detection",
    "ExpectedEnvironment",
    "ExpectedObject",
    "Feedback",
    "FurtherImpacts",
    "HeldForceSettings",
    "Impact",
    "ImpactStrategy",
    "Interim",
    "InterimEnd",
    "InterimReference",
    "JointBacklash",
    "ObjectScene",
    "Post",
    "PullBack",
    "Reaction",
    "ReactionSettings",
    "Residual",
    "ResidualRate",
    "RetreatDirection",
    "Robot",
    "Scenario",
    "Scene",
    "SceneActualEnvironment",
    "SceneArm",
    "SceneExpectedEnvironment",
    "ScenePost",
    "SceneTask",
    "Simulation",
    "Surface",
    "Target",
    "Task",
    "TaskGains",
    "TaskWeights",
    "TorqueError",
    "Touch",
    "TouchProfile",
    "Uncertainty",
    "VelocityJump",
    "available_scenarios",
    "available_scenes",
    "config_directory",
    "describe_schema",
    "flat_orientation",
    "largest_gain",
    "load_scenario",
    "low_pass_share",
    "parse_overrides",
    "parts_of",
    "robot_of",
    "rotation_about_z",
    "scenario_digest",
    "scenario_from_text",
]
