"""What stands between the graph and an arm on a ROS installation: files, names and arguments of the launch files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml.error import YAMLError

from impact_control.errors import InvalidInputError
from impact_control.graph import Shape
from impact_control.references import initial_configuration
from impact_control.robots import known_names
from impact_control.robots.data_file import DATA_DIRECTORY
from impact_control.scenario import (
    Scenario,
    available_scenarios,
    available_scenes,
    config_directory,
    load_any,
    robot_of,
)
from impact_control.yaml_text import parse_yaml

CONTROLLER_MANAGER = "controller_manager"
JOINT_STATE_BROADCASTER = "joint_state_broadcaster"
EFFORT_CONTROLLER = "effort_controller"
ROBOT_STATE_BROADCASTER = "franka_robot_state_broadcaster"
"""Names of the nodes in `config/controllers`."""

SIDES = ("topics", "mock", "gazebo", "franka")
"""Values of the argument `side` of `urdf/arm.urdf.xacro`."""


@dataclass(frozen=True)
class Argument:
    """An argument of a launch file; choices: its only values, () for any."""

    default: str
    description: str
    choices: tuple[str, ...] = ()


ARGUMENTS: Mapping[str, Argument] = {
    "scenario": Argument("tabletop", "name of a scenario ({names}), or path of a file"),
    "robot_type": Argument("", "robot model instead of the scenario's; empty: the scenario's", ("", "panda", "fr3")),
    "robot_ip": Argument("172.16.0.2", "host name or address of the arm"),
    "arm_prefix": Argument("", "prefix of the frames and of Franka's own interfaces; joints keep their names"),
    "namespace": Argument("", "namespace of all nodes of this arm; empty: arm_prefix"),
    "use_rviz": Argument("false", "show the arm in RViz", ("true", "false")),
    "shape": Argument(
        Shape.COMPOSED.value,
        "observer, detector, classifier and controller in one process, or in three",
        tuple(shape.value for shape in Shape),
    ),
    "seed": Argument("", "seed of the sensor noise; empty: the scenario's"),
    "real_time_factor": Argument("", "simulated seconds to a second of the wall clock; empty: what the cores carry"),
    "record": Argument("", "new or empty directory for a bag; empty: nothing is recorded"),
    "simulate": Argument("true", "start the embedded simulator, too", ("true", "false")),
    "ros2_control": Argument(
        "false", "a controller manager stands before the robot: its effort controller is activated", ("true", "false")
    ),
    "check_gravity": Argument(
        "true", "refuse a robot side whose efforts at rest are not those that hold the arm", ("true", "false")
    ),
    "hardware": Argument(
        "simulated",
        "behind the controller manager: the embedded simulator, or mock hardware that does not move",
        ("simulated", "generic"),
    ),
    "collision_behavior": Argument(
        "", "parameter file with the thresholds from which the arm stops by itself; empty: the one of this package"
    ),
    "gui": Argument("true", "show the window of Gazebo", ("true", "false")),
}
"""All arguments of all launch files: one of a name means the same everywhere."""


def description_of(name: str) -> str:
    """Return what an argument means, with the scenarios there are."""
    names = ", ".join((*available_scenarios(), *available_scenes())) if name == "scenario" else ""
    return ARGUMENTS[name].description.format(names=names)


def scenario_of(name_or_path: str, robot_type: str = "") -> Scenario:
    """Return the scenario of one arm, with another robot model if one is named.

    Raises ScenarioError for an unknown scenario or one that the model cannot do, InvalidInputError for a scene.
    """
    scenario = load_any(name_or_path)
    if not isinstance(scenario, Scenario):
        raise InvalidInputError(
            "scenario", name_or_path, "a scenario of one arm: scenes run on the embedded simulator only"
        )
    return scenario.with_overrides({"robot.model": robot_type}) if robot_type else scenario


def scenario_file(scenario: Scenario, directory: Path) -> str:
    """Write a scenario, overrides resolved, into a directory; return the path, for nodes that take one."""
    path = directory / f"{scenario.name}.yaml"
    path.write_text(scenario.to_yaml())
    return str(path)


def urdf_directory() -> Path:
    """Return the directory of `arm.urdf.xacro`: of the checkout that `config` lies in, else of its installation."""
    root = config_directory().parent
    checkout = root / "src" / "impact_control" / "urdf"
    return checkout if checkout.is_dir() else root / "urdf"


def xacro_arguments(scenario: Scenario, side: str, **more: str) -> dict[str, str]:
    """Return the arguments of `arm.urdf.xacro` for the arm of a scenario with its end-effector.

    side: one of SIDES. more: arguments that the side needs. Arms that are not real stand at the start of the task.
    Raises InvalidInputError, UnreachableReferenceError where that start is out of reach.
    """
    if side not in SIDES:
        raise InvalidInputError("side", side, f"one of {', '.join(SIDES)}")
    tools, robot = DATA_DIRECTORY / "end_effectors", robot_of(scenario.robot)
    return {
        "name": robot.name,
        "robot": _data_file(DATA_DIRECTORY, scenario.robot.model),
        "end_effector": _data_file(tools, scenario.robot.end_effector),
        "start": " ".join(f"{angle:.9g}" for angle in initial_configuration(scenario, robot)),
        "side": side,
        **more,
    }


def controllers_file(scenario: Scenario) -> Path:
    """Return the parameters of the controllers for a scenario's robot, after holding them against it.

    Raises InvalidInputError naming what was found and what is needed: a model without such a file, joints in another
    order, another rate than the controller's, other interfaces.
    """
    robot = robot_of(scenario.robot)
    directory = config_directory() / "controllers"
    path = directory / f"{robot.name}.yaml"
    with_controllers = [name for name in known_names() if (directory / f"{name}.yaml").is_file()]
    if robot.name not in with_controllers:
        words = f"one of {', '.join(with_controllers)}: the others have no controllers in {directory}"
        raise InvalidInputError("robot model", robot.name, words)
    check_controllers(path, robot.joint_names, scenario.control.period)
    return path


def check_controllers(path: Path, joint_names: tuple[str, ...], period: float) -> None:
    """Refuse parameters of controllers that do not fit a robot: joints and their order, update rate, interfaces.

    period: of the controller [s]. Raises InvalidInputError naming the parameter, what was found and what is needed.
    """
    try:
        content = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        allowed = f"one that can be read as YAML: {error}"
        raise InvalidInputError("file of the controllers", str(path), allowed) from error
    needed = needed_parameters(joint_names, period)
    found = {key: _nested(content, (f"/**/{key[0]}", "ros__parameters", *key[1].split("."))) for key in needed}
    check_parameters(found, needed, f"{path}: ")


def needed_parameters(joint_names: tuple[str, ...], period: float) -> dict[tuple[str, str], object]:
    """Return what a controller manager and its controllers have to be told, by node and parameter.

    Joints in the order of the model, the rate of the controller with this period [s], effort in, and out what the
    observer needs.
    """
    return {
        (CONTROLLER_MANAGER, "update_rate"): round(1.0 / period),
        (CONTROLLER_MANAGER, f"{EFFORT_CONTROLLER}.type"): "effort_controllers/JointGroupEffortController",
        (JOINT_STATE_BROADCASTER, "joints"): list(joint_names),
        (JOINT_STATE_BROADCASTER, "interfaces"): ["position", "velocity", "effort"],
        (EFFORT_CONTROLLER, "joints"): list(joint_names),
    }


def check_parameters(
    found: Mapping[tuple[str, str], object], needed: Mapping[tuple[str, str], object], where: str = ""
) -> None:
    """Refuse parameters, by node and name, that are not those needed.

    Raises InvalidInputError naming the parameter, what was found and what is needed; where: begins the name.
    """
    for (node, parameter), value in needed.items():
        if found.get((node, parameter)) != value:
            raise InvalidInputError(f"{where}{node}.{parameter}", found.get((node, parameter)), f"{value}")


def _nested(content: object, keys: Iterable[str]) -> object:
    """Return the entry of nested mappings below some keys, None where there is none."""
    for part in keys:
        content = content.get(part) if isinstance(content, Mapping) else None
    return content


def _data_file(directory: Path, name_or_path: str) -> str:
    """Return the absolute path of a data file of the package by its name, or of one's own."""
    path = Path(name_or_path)
    return str(path.resolve() if path.suffix == ".yaml" else directory / f"{name_or_path}.yaml")
