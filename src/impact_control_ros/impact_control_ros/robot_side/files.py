"""Files, names and launch arguments of a robot side on a ROS installation."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml.error import YAMLError

from impact_control.references import initial_configuration
from impact_control.robots import RobotDescription, known_names
from impact_control.robots.data_file import DATA_DIRECTORY
from impact_control.scenario import Scenario, Scene, available_scenarios, available_scenes, load_scenario
from impact_control.util.errors import InvalidInputError
from impact_control.util.settings import SCENARIO
from impact_control.util.share import shared_directory
from impact_control.util.yaml_text import parse_yaml
from impact_control_ros.bridge.settings import CONTROLLER_MANAGER, REAL_TIME_FACTOR, SEED, SHAPE, Shape

JOINT_STATE_BROADCASTER = "joint_state_broadcaster"
EFFORT_CONTROLLER = "effort_controller"
ROBOT_STATE_BROADCASTER = "franka_robot_state_broadcaster"
"""Names of the nodes in `config/controllers`."""

GUARD = "impact_guard/ImpactGuard"
UNGUARDED = "effort_controllers/JointGroupEffortController"
"""Types of the effort controller: with limits and a time-out of commands, and without."""

EFFORT_TYPE = (CONTROLLER_MANAGER, f"{EFFORT_CONTROLLER}.type")
"""Node and parameter that determine which of them is loaded."""

_TIMEOUT = re.compile(r"(\bcommand_timeout: )([0-9.]+)")
_SHORTEST_TIMEOUT = 0.001
"""[s] that the guard takes."""

SIDES = ("shared", "topics", "mock", "gazebo", "franka")
"""Values of the argument `side` of `urdf/arm.urdf.xacro`."""


@dataclass(frozen=True)
class Argument:
    """An argument of a launch file; choices: its only values, () for any."""

    default: str
    description: str
    choices: tuple[str, ...] = ()


ARGUMENTS: Mapping[str, Argument] = {
    "scenario": Argument(SCENARIO.default, f"{SCENARIO.description}; shipped: {{names}}"),
    "robot_type": Argument("", "robot model instead of the scenario's; empty: the scenario's", ("", "panda", "fr3")),
    "robot_ip": Argument(
        "172.16.0.2", "host name or address of the arm; of a scene those of its arms in their order, with commas"
    ),
    "arm_prefix": Argument(
        "", "prefix of the frames and of Franka's own interfaces; joints keep their names; of a scene the arms' names"
    ),
    "namespace": Argument("", "namespace of all nodes of this graph; empty: arm_prefix"),
    "use_rviz": Argument("false", "show the arm in RViz", ("true", "false")),
    "shape": Argument(SHAPE.default.value, SHAPE.description, tuple(shape.value for shape in Shape)),
    "seed": Argument("", SEED.words("empty")),
    "real_time_factor": Argument("", REAL_TIME_FACTOR.words("empty")),
    "record": Argument("", "new or empty directory for a bag; empty: nothing is recorded"),
    "simulate": Argument("true", "start the embedded simulator, too", ("true", "false")),
    "ros2_control": Argument(
        "false", "a controller manager stands before the robot: its effort controller is activated", ("true", "false")
    ),
    "shared_memory": Argument(
        "",
        "name of the shared memory between the embedded simulator, which sets the pace, and its ros2_control hardware;"
        " empty: topics",
    ),
    "check_gravity": Argument(
        "true", "refuse a robot side whose efforts at rest are not those that hold the arm", ("true", "false")
    ),
    "hardware": Argument(
        "shared",
        "behind the controller manager: the embedded simulator, in step or on topics, or mock hardware: nothing moves",
        ("shared", "topics", "generic"),
    ),
    "collision_behavior": Argument(
        "", "parameter file with the thresholds from which the arm stops by itself; empty: the one of this package"
    ),
    "guard": Argument(
        "true",
        "effort controller with limits and a time-out of commands (impact_guard), or the one of ros2_controllers",
        ("true", "false"),
    ),
    "gui": Argument("true", "show the window of Gazebo", ("true", "false")),
}
"""All arguments of all launch files: one of a name means the same everywhere."""


def description_of(name: str) -> str:
    """Return the description of a launch argument; that of the scenario lists the available ones."""
    names = ", ".join((*available_scenarios(), *available_scenes())) if name == "scenario" else ""
    return ARGUMENTS[name].description.format(names=names)


def scenario_of(name_or_path: str, robot_type: str = "") -> Scene:
    """Return a scenario, with another robot model if one is named.

    Raises ScenarioError for an unknown scenario or one that is infeasible for the model.
    """
    scene = load_scenario(name_or_path)
    return scene.with_overrides({"robot.model": robot_type}) if robot_type else scene


def addresses(robot_ip: str, arms: tuple[str, ...]) -> dict[str, str]:
    """Return the address of each arm, from addresses in their order with commas. Raises InvalidInputError."""
    given = [address.strip() for address in robot_ip.split(",")]
    if len(given) != len(arms) or not all(given) or len(set(given)) != len(given):
        wanted = f"{len(arms)} addresses with commas: of {', '.join(arms)}" if len(arms) > 1 else "one address"
        raise InvalidInputError("robot_ip", robot_ip, wanted)
    return dict(zip(arms, given, strict=True))


def scenario_file(scenario: Scene, directory: Path) -> str:
    """Write a scenario, overrides resolved, into a directory; return the path, for nodes that take one."""
    path = directory / f"{scenario.name}.yaml"
    path.write_text(scenario.to_yaml())
    return str(path)


def ros_directory(name: str) -> Path:
    """Return a directory of the ROS side: `urdf`, `launch`, or one below `config`. Raises FileNotFoundError."""
    return shared_directory("impact_control_ros", name)


def temporary_directory() -> Path:
    """Make a directory that is removed when this process ends."""
    path = Path(tempfile.mkdtemp(prefix="impact_control_"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def xacro_arguments(scenario: Scenario, robot: RobotDescription, side: str, **more: str) -> dict[str, str]:
    """Return the arguments of `arm.urdf.xacro` for the arm of a scenario with its end-effector.

    robot: at its place; side: one of SIDES. more: arguments that the side needs. Arms that are not real stand at the
    start of the task. Raises InvalidInputError, UnreachableReferenceError where that start is out of reach.
    """
    if side not in SIDES:
        raise InvalidInputError("side", side, f"one of {', '.join(SIDES)}")
    tools = DATA_DIRECTORY / "end_effectors"
    return {
        "name": robot.name,
        "robot": _data_file(DATA_DIRECTORY, scenario.robot.model),
        "end_effector": _data_file(tools, scenario.robot.end_effector),
        "start": " ".join(f"{angle:.9g}" for angle in initial_configuration(scenario, robot)),
        "side": side,
        **more,
    }


def controllers_file(
    scenario: Scenario, robot: RobotDescription, guard: bool = True, real_time_factor: float = 1.0
) -> Path:
    """Return the file with the parameters of the controllers for the robot of a scenario, after checking it.

    guard: whether the effort controller is the guard; its time-out, by the wall clock, is that of as many cycles at
    another real_time_factor. Raises InvalidInputError naming what was found and what is allowed: a model without such a
    file, joints in another order, another rate than the controller's, other interfaces, other limits than the robot's,
    no guard where the scenario requires it.
    """
    directory = ros_directory("config/controllers")
    path = directory / f"{robot.name}.yaml"
    with_controllers = [name for name in known_names() if (directory / f"{name}.yaml").is_file()]
    if robot.name not in with_controllers:
        words = f"one of {', '.join(with_controllers)}: the others have no controllers in {directory}"
        raise InvalidInputError("robot model", robot.name, words)
    if not guard or real_time_factor != 1.0:
        text = path.read_text(encoding="utf-8")
        text = text if guard else text.replace(GUARD, UNGUARDED)
        text = _TIMEOUT.sub(
            lambda found: f"{found[1]}{max(float(found[2]) / real_time_factor, _SHORTEST_TIMEOUT):.4g}", text
        )
        path = temporary_directory() / path.name
        path.write_text(text, encoding="utf-8")
    check_controllers(path, robot, scenario.control.period, scenario.robot.require_guard)
    return path


def check_controllers(path: Path, robot: RobotDescription, period: float, require_guard: bool = False) -> None:
    """Refuse parameters of controllers that do not fit a robot, as `check_parameters` does.

    period: of the controller [s]. Raises InvalidInputError naming the parameter, what was found and what is allowed.
    """
    try:
        content = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        allowed = f"one that can be read as YAML: {error}"
        raise InvalidInputError("file of the controllers", path, allowed) from error

    def read(node: str, name: str) -> object:
        return _nested(content, (f"/**/{node}", "ros__parameters", *name.split(".")))

    check_parameters(read, robot, period, require_guard, f"{path}: ")


def check_parameters(
    read: Callable[[str, str], object],
    robot: RobotDescription,
    period: float,
    require_guard: bool,
    where: str = "",
) -> None:
    """Refuse parameters of a controller manager and its controllers that do not fit a robot.

    Needed are joints in the order of the model, the rate of the controller with this period [s], effort in, and the
    signals of the observer out; of the guard also the limits of the robot. read: returns the value of a parameter by
    node and name, None without one. Raises InvalidInputError naming the parameter, what was found and what is allowed;
    where: begins the name.
    """
    kind = read(*EFFORT_TYPE)
    allowed = (GUARD,) if require_guard else (GUARD, UNGUARDED)
    if kind not in allowed:
        why = ", as the scenario requires it (robot.require_guard)" if require_guard else ""
        raise InvalidInputError(f"{where}{'.'.join(EFFORT_TYPE)}", kind, f"{' or '.join(allowed)}{why}")
    joint_names = list(robot.joint_names)
    needed: dict[tuple[str, str], object] = {
        (CONTROLLER_MANAGER, "update_rate"): round(1.0 / period),
        (JOINT_STATE_BROADCASTER, "joints"): joint_names,
        (JOINT_STATE_BROADCASTER, "interfaces"): ["position", "velocity", "effort"],
        (EFFORT_CONTROLLER, "joints"): joint_names,
    }
    if kind == GUARD:
        needed |= {
            (EFFORT_CONTROLLER, "torque_limits"): robot.limits.torque.tolist(),
            (EFFORT_CONTROLLER, "torque_rates"): robot.limits.torque_rate.tolist(),
        }
    for (node, name), value in needed.items():
        if (found := read(node, name)) != value:
            raise InvalidInputError(f"{where}{node}.{name}", found, f"{value}")


def _nested(content: object, keys: Iterable[str]) -> object:
    """Return the entry of nested mappings below some keys, None where there is none."""
    for part in keys:
        content = content.get(part) if isinstance(content, Mapping) else None
    return content


def _data_file(directory: Path, name_or_path: str) -> str:
    """Return the absolute path of a data file of the package by its name, or of one's own."""
    path = Path(name_or_path)
    return str(path.resolve() if path.suffix == ".yaml" else directory / f"{name_or_path}.yaml")
