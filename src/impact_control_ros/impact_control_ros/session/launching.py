"""Shared parts of the launch files, beside the graph that `launch/graph.launch.py` brings up.

Imported by launch files only: `launch` comes with a ROS installation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, List, NoReturn  # noqa: UP035

import pinocchio as pin
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import EnvironmentVariable
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from impact_control.planning.assignment import Assignment, assigned
from impact_control.robots.urdf import WORLD, base_placement
from impact_control.scenario import Scene
from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control_ros.bridge import real_time
from impact_control_ros.bridge.runtime import ROBOT_PRIORITY
from impact_control_ros.robot_side.files import (
    ARGUMENTS,
    JOINT_STATE_BROADCASTER,
    controllers_file,
    description_of,
    ros_directory,
    scenario_file,
    scenario_of,
    temporary_directory,
    xacro_arguments,
)
from impact_control_ros.session.graph import below
from impact_control_ros.session.occupants import require_free_namespace
from impact_control_ros.session.processes import DISCOVERY_RANGE, LOCALHOST, dds_environment
from launch import LaunchContext, LaunchDescription

MANAGER_PATIENCE = 6.0
"""[s] a controller manager may take to answer: 1.1 s were seen with mock hardware on two busy cores. One that cannot
load its hardware, or reach its arm, never does."""

END_PATIENCE = 1.0
"""[s] a process that is not ours may take to end after an interrupt, and again after its termination, before it is
killed: as a controller manager that connects to an arm. Ours complete a bag first."""

COMMON = ("scenario", "robot_type", "arm_prefix", "namespace", "use_rviz")
"""Arguments of every robot side."""


@dataclass(frozen=True, eq=False)
class LaunchedArm:
    """An arm to be launched: its task, the prefix of its frames and of Franka's own interfaces, its namespace."""

    task: Assignment
    prefix: str
    namespace: str

    @property
    def name(self) -> str:
        """Name of the arm in its scene; "" for the only one."""
        return self.task.arm

    def controllers(self, guard: str, real_time_factor: float = 1.0) -> str:
        """Return the file with the parameters of controller manager and controllers; guard: value of the argument."""
        return str(controllers_file(self.task.scenario, self.task.robot, guard == "true", real_time_factor))


class RobotSide:
    """Values of the arguments of a launch file, and what follows from them.

    `namespace` is the prefix of the arm unless the arguments give another. `scene` and `scenario_name` are those that
    the arguments `scenario` and `robot_type` choose; the name is that for a node.
    """

    def __init__(self, value: Mapping[str, str], passed_on: Sequence[str]) -> None:
        self.value = value
        self.namespace = value["namespace"] or value["arm_prefix"]
        self._passed_on = passed_on

    @cached_property
    def scene(self) -> Scene:
        """The scenario, of one arm or of several."""
        return scenario_of(self.value["scenario"], self.value["robot_type"])

    @cached_property
    def scenario_name(self) -> str:
        """The name as given, or the file of a scenario whose robot is another than its own."""
        if not self.value["robot_type"]:
            return self.value["scenario"]
        return scenario_file(self.scene, temporary_directory())

    @cached_property
    def arms(self) -> tuple[LaunchedArm, ...]:
        """The arms, each of a scene with its name as prefix and namespace. Raises InvalidInputError for another."""
        prefix, names = self.value["arm_prefix"], self.scene.arm_names
        if prefix and any(names):
            raise InvalidInputError("arm_prefix", prefix, f"none for the arms of a scene: {', '.join(names)}")
        return tuple(
            LaunchedArm(assigned(self.scenario_name, name), name or prefix, below(self.namespace, name))
            for name in names
        )

    def graph(self, **more: str) -> Any:
        """Return the include of our own nodes, with these arguments beside those that are passed on."""
        passed_on = {argument: self.value[argument] for argument in self._passed_on}
        return IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(ros_directory("launch") / "graph.launch.py")),
            launch_arguments={"scenario": self.scenario_name, "namespace": self.namespace, **passed_on, **more}.items(),
        )


def describe_launch(start: Callable[[RobotSide], list[Any]], own: Sequence[str], passed_on: Sequence[str]) -> Any:
    """Return the description of a launch: arguments are declared; what `start` returns follows from their values.

    Unless the environment sets it otherwise, all of it is visible on this machine only, and talks over UDP.

    own: arguments of this robot side beside the common ones; passed_on: those that go on to our nodes.
    """

    def actions(context: LaunchContext) -> list[Any]:
        side = RobotSide(context.launch_configurations, passed_on)
        require_free_namespace(side.namespace, side.scene.arm_names)
        return start(side)

    seen_from_here = SetEnvironmentVariable(
        DISCOVERY_RANGE, EnvironmentVariable(DISCOVERY_RANGE, default_value=LOCALHOST)
    )
    # Not only for our own nodes: ros2_control must not receive through shared memory either.
    by_udp = [SetEnvironmentVariable(name, value) for name, value in dds_environment().items()]
    return LaunchDescription(
        [seen_from_here, *by_udp, *declare(*COMMON, *own, *passed_on), OpaqueFunction(function=actions)]
    )


def declare(*names: str) -> list[Any]:
    """Return declarations of arguments, as `robot_side.ARGUMENTS` has them."""
    return [
        DeclareLaunchArgument(
            name,
            default_value=ARGUMENTS[name].default,
            description=description_of(name),
            choices=list(ARGUMENTS[name].choices) or None,
        )
        for name in names
    ]


def parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a node with its texts marked as such: others are taken for YAML, and a text may look so."""
    # The types that launch knows.
    kinds: Mapping[type, Any] = {str: str, list: List[str]}  # noqa: UP006
    return {
        name: ParameterValue(value, value_type=kinds[type(value)]) if type(value) in kinds else value
        for name, value in values.items()
    }


def process(package: str, executable: str, **more: Any) -> Any:
    """Return a process whose output goes to the screen and to its log; one that does not end is killed soon."""
    limit = f"{END_PATIENCE:g}"
    ending = {"sigterm_timeout": limit, "sigkill_timeout": limit}
    return Node(package=package, executable=executable, output="both", **ending, **more)


def state_publishers(arm: LaunchedArm, kind: str, **more: str) -> list[Any]:
    """Return publishers of the description of an arm, which a controller manager waits for, and of its frames.

    kind: which of `robot_side.SIDES`; more: arguments of the description that this kind needs.
    """
    import xacro

    own = {"namespace": arm.namespace, "arm_prefix": arm.prefix, **more}
    mappings = xacro_arguments(arm.task.scenario, arm.task.robot, kind, **own)
    description = xacro.process_file(str(ros_directory("urdf") / "arm.urdf.xacro"), mappings=mappings).toxml()
    frames = {"frame_prefix": f"{arm.prefix}_"} if arm.prefix else {}
    given = [parameters({"robot_description": description, **frames})]
    publisher = process("robot_state_publisher", "robot_state_publisher", namespace=arm.namespace, parameters=given)
    # In Gazebo the description itself contains `WORLD`, which its prefix renames.
    if kind != "gazebo":
        return [publisher, fixed_frame(arm, *base_placement(arm.task.robot))]
    return [publisher, fixed_frame(arm, WORLD, pin.SE3.Identity())] if arm.prefix else [publisher]


def fixed_frame(arm: LaunchedArm, link: str, place: pin.SE3) -> Any:
    """Return the process that publishes where a link of an arm is fixed in `WORLD`."""
    numbers = dict(zip(("x", "y", "z", "qx", "qy", "qz", "qw"), pin.SE3ToXYZQUAT(place).tolist(), strict=True))
    given = [text for name, value in numbers.items() for text in (f"--{name}", f"{value:.9g}")]
    given += ["--frame-id", WORLD, "--child-frame-id", f"{arm.prefix}_{link}" if arm.prefix else link]
    return process("tf2_ros", "static_transform_publisher", namespace=arm.namespace, arguments=given)


def controller_manager(namespace: str, *given: Any) -> Any:
    """Return the process of ros2_control with these parameters: files, or mappings.

    It takes the description from the topic; without it nothing goes on. Where it is permitted all of its threads have
    real-time priority: that of a broadcaster that publishes, else, waits behind every other process of the machine.
    """
    ended = end_with("the controller manager")
    prefix = real_time.prefix(ROBOT_PRIORITY) or None
    return process(
        "controller_manager",
        "ros2_control_node",
        namespace=namespace,
        parameters=list(given),
        on_exit=ended,
        prefix=prefix,
    )


def spawner(controller: str, namespace: str, *options: str, patience: float = MANAGER_PATIENCE) -> Any:
    """Return the process that activates a controller and ends: with 0 once the controller is active.

    It ends with 1 when the controller manager does not answer within `patience` [s], as one that cannot load its
    hardware. options: of the spawner, as --inactive to load only.
    """
    limit = ["--controller-manager-timeout", f"{patience:g}"]
    return process("controller_manager", "spawner", namespace=namespace, arguments=[controller, *options, *limit])


def viewers(side: RobotSide) -> list[Any]:
    """Return an RViz for each arm, which shows it as seen from its base, if `use_rviz` asks for it."""
    if side.value["use_rviz"] != "true":
        return []
    arms = {arm.namespace: f"{arm.prefix}_" if arm.prefix else "" for arm in side.arms}
    given = ["-d", str(ros_directory("config/rviz") / "arm.rviz"), "-f"]
    base = f"{side.arms[0].task.robot.name}_link0"
    return [
        process("rviz2", "rviz2", namespace=namespace, arguments=[*given, f"{prefix}{base}"])
        for namespace, prefix in arms.items()
    ]


def one_after_another(steps: Sequence[Any], then: Any, advice: str = "") -> list[Any]:
    """Return the actions that run some processes in sequence, each after the success of the one before, then `then`.

    When one fails, the launch fails, and the reason names it, followed by the advice.
    """
    handlers = [when_done(step, following, advice) for step, following in pairwise([*steps, then])]
    # Handlers first: they must be there before the process is.
    return [*handlers, steps[0]]


def fail(reason: str) -> NoReturn:
    """End the launch with a code other than 0, which only an exception does: after `Shutdown` it would be 0."""
    raise ImpactControlError(reason)


def when_done(process: Any, then: Any, advice: str = "") -> Any:
    """Return the handler that does `then` when a process ends with 0, and fails with the advice when it does not."""

    def on_exit(event: Any, context: Any) -> Any:
        if context.is_shutdown:
            return None
        if event.returncode != 0:
            fail(f"{event.process_name} ended with {event.returncode}{advice and f': {advice}'}")
        return then

    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=on_exit))


def end_with(name: str) -> Callable[[Any, Any], Any]:
    """Return the callback that fails when a process ends, unless a shutdown is under way."""

    def on_exit(event: Any, context: Any) -> Any:
        if not context.is_shutdown:
            fail(f"{name} ended")

    return on_exit


def broadcaster(namespace: str, patience: float = MANAGER_PATIENCE) -> Any:
    """Return the spawner of the controller that publishes the joint states: the first step with any manager."""
    return spawner(JOINT_STATE_BROADCASTER, namespace, patience=patience)
