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
    available_scenarios,
    config_directory,
    load_scenario,
    scenario_from_text,
)
from impact_control.scenario.reaction import Admittance, PullBack, Reaction
from impact_control.scenario.robot_side import JointBacklash, Simulation
from impact_control.scenario.schema import Robot, Scenario
from impact_control.scenario.task import Ante, Impact, Post, Task

__all__ = [
    "ANTE_REFERENCE",
    "CONTACT_COMPLETION",
    "JOINT_SPACE",
    "SIMULTANEOUS",
    "ActualEnvironment",
    "Admittance",
    "Ante",
    "Classification",
    "Completion",
    "CompliantSurface",
    "Contact",
    "Control",
    "Detection",
    "ExpectedEnvironment",
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
    "Simulation",
    "Surface",
    "Task",
    "TaskGains",
    "TaskWeights",
    "TorqueError",
    "Touch",
    "VelocityJump",
    "available_scenarios",
    "config_directory",
    "describe_schema",
    "load_scenario",
    "scenario_from_text",
]
