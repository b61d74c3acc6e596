"""Start the graph on Gazebo: ros2 launch impact_control gazebo.launch.py

The world is that of the scenario, see impact_control/gazebo_world.py. The controller manager runs inside Gazebo and
comes up with the arm; the joint state broadcaster comes first, then our nodes are configured, then the effort
controller is activated, then our nodes.
"""

import tempfile
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node

from impact_control.gazebo_world import gazebo_world
from impact_control.nodes.launching import (
    RobotSide,
    broadcaster,
    describe_launch,
    one_after_another,
    state_publisher,
    viewer,
)
from impact_control.robot_side import controllers_file
from impact_control.scenario import robot_of
from launch import LaunchDescription

OWN = ("gui",)
PASSED_ON = ("shape", "record")
CLOCK = "/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock"


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; what is started follows from their values."""
    return describe_launch(start, OWN, PASSED_ON)


def start(side: RobotSide) -> list:
    """Return Gazebo with the arm in it, and what comes after it."""
    arm = Node(
        package="ros_gz_sim",
        executable="create",
        namespace=side.namespace,
        arguments=["-topic", "robot_description", "-name", robot_of(side.scenario.robot).name],
        output="both",
    )
    clock = Node(package="ros_gz_bridge", executable="parameter_bridge", arguments=[CLOCK], output="both")
    return [
        simulation(gazebo_world(side.scenario), side.value["gui"] == "true"),
        clock,
        state_publisher(side, "gazebo", controllers=str(controllers_file(side.scenario))),
        *viewer(side),
        *one_after_another([arm, broadcaster(side.namespace)], side.graph(simulate="false", ros2_control="true")),
    ]


def simulation(world: str, gui: bool) -> IncludeLaunchDescription:
    """Return Gazebo with a world, running, with its window or without."""
    file = Path(tempfile.mkdtemp(prefix="impact_control_")) / "world.sdf"
    file.write_text(world)
    launch_file = Path(get_package_share_directory("ros_gz_sim")) / "launch" / "gz_sim.launch.py"
    options = {"gz_args": f"-r {'' if gui else '-s '}{file}", "on_exit_shutdown": "true"}
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(str(launch_file)), launch_arguments=options.items())
