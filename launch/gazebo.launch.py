"""Start the graph on Gazebo: ros2 launch impact_control_ros gazebo.launch.py

The world is that of the scenario, see `robot_side.gazebo_world`; scenes are refused. The controller manager runs inside
Gazebo and comes up with the arm; the joint state broadcaster comes first, then our nodes are configured, then the
effort controller is activated, then our nodes.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from impact_control_ros.robot_side.files import temporary_directory
from impact_control_ros.robot_side.gazebo_world import gazebo_world
from impact_control_ros.session.launching import (
    RobotSide,
    broadcaster,
    describe_launch,
    one_after_another,
    process,
    state_publishers,
    viewers,
)
from launch import LaunchDescription

OWN = ("guard", "gui")
PASSED_ON = ("shape", "record")
GAZEBO_PATIENCE = 60.0
"""[s] the controller manager in Gazebo may take to answer: it loads the world before."""

CLOCK = "/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock"


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; what is started follows from their values."""
    return describe_launch(start, OWN, PASSED_ON)


def start(side: RobotSide) -> list:
    """Return Gazebo with the arm in it, and what comes after it."""
    world = gazebo_world(side.scene.arm())
    (arm,) = side.arms
    arguments = ["-topic", "robot_description", "-name", arm.task.robot.name]
    create = process("ros_gz_sim", "create", namespace=arm.namespace, arguments=arguments)
    clock = process("ros_gz_bridge", "parameter_bridge", arguments=[CLOCK])
    return [
        simulation(world, side.value["gui"] == "true"),
        clock,
        *state_publishers(arm, "gazebo", controllers=arm.controllers(side.value["guard"])),
        *viewers(side),
        *one_after_another(
            [create, broadcaster(arm.namespace, GAZEBO_PATIENCE)], side.graph(simulate="false", ros2_control="true")
        ),
    ]


def simulation(world: str, gui: bool) -> IncludeLaunchDescription:
    """Return Gazebo with a world, running, with its window or without."""
    file = temporary_directory() / "world.sdf"
    file.write_text(world)
    launch_file = Path(get_package_share_directory("ros_gz_sim")) / "launch" / "gz_sim.launch.py"
    options = {"gz_args": f"-r {'' if gui else '-s '}{file}", "on_exit_shutdown": "true"}
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(str(launch_file)), launch_arguments=options.items())
