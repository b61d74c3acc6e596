"""Pieces of the launch files: what they share beside the graph, which `launch/graph.launch.py` brings up.

Imported by launch files only: `launch` comes with a ROS installation.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import EnvironmentVariable
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from impact_control.nodes.environment import DISCOVERY_RANGE, LOCALHOST, dds_environment
from impact_control.robot_side import (
    ARGUMENTS,
    JOINT_STATE_BROADCASTER,
    description_of,
    scenario_file,
    scenario_of,
    urdf_directory,
    xacro_arguments,
)
from impact_control.scenario import Scenario, config_directory, robot_of
from launch import LaunchContext, LaunchDescription

COMMON = ("scenario", "robot_type", "arm_prefix", "namespace", "use_rviz")
"""Arguments of every robot side."""


class RobotSide:
    """What a launch file starts from: the values of its arguments, and what follows from them.

    `namespace` is the prefix of the arm unless the arguments say another. `scenario` and `scenario_name` are those
    that the arguments `scenario` and `robot_type` choose; the name is what to tell a node.
    """

    def __init__(self, value: Mapping[str, str], passed_on: Sequence[str]) -> None:
        self.value = value
        self.prefix = value["arm_prefix"]
        self.namespace = value["namespace"] or self.prefix
        self._passed_on = passed_on

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario of one arm; a scene is refused."""
        return scenario_of(self.value["scenario"], self.value["robot_type"])

    @cached_property
    def scenario_name(self) -> str:
        """The name as given, or the file of a scenario whose robot is another than its own."""
        if not self.value["robot_type"]:
            return self.value["scenario"]
        return scenario_file(self.scenario, Path(tempfile.mkdtemp(prefix="impact_control_")))

    def graph(self, **more: str) -> Any:
        """Return the include of our own nodes, with these arguments beside those that are passed on."""
        passed_on = {argument: self.value[argument] for argument in self._passed_on}
        return IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(config_directory().parent / "launch" / "graph.launch.py")),
            launch_arguments={
                "scenario": self.scenario_name,
                "namespace": self.namespace,
                **passed_on,
                **more,
            }.items(),
        )


def describe_launch(start: Callable[[RobotSide], list[Any]], own: Sequence[str], passed_on: Sequence[str]) -> Any:
    """Return the description of a launch: arguments are declared; what `start` returns follows from their values.

    Unless the environment says otherwise, all of it is seen from this machine only, and talks over UDP.

    own: arguments of this robot side beside the common ones; passed_on: those that go on to our nodes.
    """

    def actions(context: LaunchContext) -> list[Any]:
        return start(RobotSide(context.launch_configurations, passed_on))

    seen_from_here = SetEnvironmentVariable(
        DISCOVERY_RANGE, EnvironmentVariable(DISCOVERY_RANGE, default_value=LOCALHOST)
    )
    # Not only for our own nodes: what ros2_control hears must not come through shared memory either.
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
            **({"choices": list(ARGUMENTS[name].choices)} if ARGUMENTS[name].choices else {}),
        )
        for name in names
    ]


def parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a node with its texts marked as such: others are taken for YAML, and a text may look so."""
    return {
        name: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for name, value in values.items()
    }


def state_publisher(side: RobotSide, kind: str, **more: str) -> Any:
    """Return the process that publishes the description of the arm, which a controller manager waits for, and frames.

    kind: which of `robot_side.SIDES`; more: arguments of the description that this kind needs.
    """
    import xacro

    mappings = xacro_arguments(side.scenario, kind, namespace=side.namespace, arm_prefix=side.prefix, **more)
    description = xacro.process_file(str(urdf_directory() / "arm.urdf.xacro"), mappings=mappings).toxml()
    frames = {"frame_prefix": f"{side.prefix}_"} if side.prefix else {}
    return Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=side.namespace,
        parameters=[parameters({"robot_description": description, **frames})],
        output="both",
    )


def controller_manager(namespace: str, *given: Any) -> Any:
    """Return the process of ros2_control with these parameters: files, or mappings.

    It takes the description from the topic; without it nothing goes on.
    """
    return Node(
        package="controller_manager",
        executable="ros2_control_node",
        namespace=namespace,
        parameters=list(given),
        output="both",
        on_exit=end_with("the controller manager"),
    )


def spawner(controller: str, namespace: str, *options: str) -> Any:
    """Return the process that activates a controller and ends: with 0 once the controller is active.

    It waits for the controller manager as long as that takes. options: of the spawner, as --inactive to load only.
    """
    return Node(
        package="controller_manager",
        executable="spawner",
        namespace=namespace,
        arguments=[controller, *options],
        output="both",
    )


def viewer(side: RobotSide) -> list[Any]:
    """Return RViz, showing frames and end-effector as seen from the base of the arm, if `use_rviz` asks for it."""
    if side.value["use_rviz"] != "true":
        return []
    base = f"{side.prefix}_" if side.prefix else ""
    base += f"{robot_of(side.scenario.robot).name}_link0"
    return [
        Node(
            package="rviz2",
            executable="rviz2",
            namespace=side.namespace,
            arguments=["-d", str(config_directory() / "rviz" / "arm.rviz"), "-f", base],
            output="both",
        )
    ]


def one_after_another(steps: Sequence[Any], then: Any) -> list[Any]:
    """Return what starts the first of some processes that end, each other when the one before ended well, then `then`.

    When one fails, everything is shut down, and the reason names it.
    """
    handlers = [when_done(step, following) for step, following in pairwise([*steps, then])]
    # Handlers first: they must be there before the process is.
    return [*handlers, steps[0]]


def when_done(process: Any, then: Any) -> Any:
    """Return the handler that does `then` when a process ends with 0, and ends everything when it ends otherwise."""

    def on_exit(event: Any, context: Any) -> Any:
        if context.is_shutdown:
            return None
        return then if event.returncode == 0 else Shutdown(reason=f"{event.process_name} ended with {event.returncode}")

    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=on_exit))


def end_with(name: str) -> Callable[[Any, Any], Any]:
    """Return what ends everything when a process ends that should not, and nothing when everything ends anyway."""

    def on_exit(event: Any, context: Any) -> Any:
        return None if context.is_shutdown else Shutdown(reason=f"{name} ended")

    return on_exit


def broadcaster(namespace: str) -> Any:
    """Return the spawner of the controller that publishes the joint states: the first step with any manager."""
    return spawner(JOINT_STATE_BROADCASTER, namespace)
