"""Start the graph on an arm: ros2 launch impact_control franka.launch.py robot_ip:=... robot_type:=fr3

One arm; for a second one, launch again with another arm_prefix. Once the joint states come, the thresholds are raised
from which the arm stops by itself (config/controllers/collision_behavior.yaml), while it stands. Then our nodes are
configured, then the effort controller is activated, then our nodes, which hold the pose. docs/launch.md says how to
begin. Not tried on hardware.
"""

from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from impact_control.nodes.launching import (
    COMMON,
    broadcaster,
    chosen_scenario,
    controller_manager,
    declare,
    include_graph,
    one_after_another,
    parameters,
    place,
    spawner,
    state_publisher,
    viewer,
)
from impact_control.robot_side import ROBOT_STATE_BROADCASTER, controllers_file
from impact_control.scenario import config_directory, robot_of
from launch import LaunchContext, LaunchDescription

OWN = ("robot_ip", "collision_behavior")
PASSED_ON = ("shape", "record")


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; what is started follows from their values."""
    return LaunchDescription([*declare(*COMMON, *OWN, *PASSED_ON), OpaqueFunction(function=actions)])


def actions(context: LaunchContext) -> list:
    """Return the controller manager of the arm and what comes after it."""
    value = context.launch_configurations
    namespace, prefix = place(value)
    scenario, name = chosen_scenario(value)
    controllers = config_directory() / "controllers"
    # For the robot state broadcaster, which finds the arm by them.
    arm = parameters({"robot_type": robot_of(scenario.robot).name, "arm_prefix": prefix})
    thresholds = Node(
        package="impact_control",
        executable="collision_behavior",
        namespace=namespace,
        parameters=[value["collision_behavior"] or str(controllers / "collision_behavior.yaml")],
        output="both",
    )
    graph = include_graph(
        scenario=name,
        namespace=namespace,
        simulate="false",
        ros2_control="true",
        **{argument: value[argument] for argument in PASSED_ON},
    )
    steps = [broadcaster(namespace), spawner(ROBOT_STATE_BROADCASTER, namespace), thresholds]
    return [
        state_publisher(scenario, "franka", namespace, prefix, robot_ip=value["robot_ip"]),
        controller_manager(namespace, str(controllers_file(scenario)), str(controllers / "franka.yaml"), arm),
        *viewer(value, scenario),
        *one_after_another(steps, graph),
    ]
