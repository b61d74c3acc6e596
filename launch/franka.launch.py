"""Start the graph on an arm: ros2 launch impact_control_ros franka.launch.py robot_ip:=... robot_type:=fr3

One arm; for a second one, launch again with another arm_prefix. Once the joint states come, the thresholds are raised
from which the arm stops by itself (config/controllers/collision_behavior.yaml), while it stands. Then our nodes are
configured, then the effort controller is activated, then our nodes, which hold the pose. docs/launch.md says how to
begin. Not tried on hardware.
"""

from impact_control.scenario import robot_of
from impact_control_ros.robot_side.files import ROBOT_STATE_BROADCASTER, ros_directory
from impact_control_ros.session.launching import (
    RobotSide,
    broadcaster,
    controller_manager,
    describe_launch,
    one_after_another,
    parameters,
    process,
    spawner,
    state_publisher,
    viewer,
)
from launch import LaunchDescription

OWN = ("robot_ip", "collision_behavior", "guard")
PASSED_ON = ("shape", "record")


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; what is started follows from their values."""
    return describe_launch(start, OWN, PASSED_ON)


def start(side: RobotSide) -> list:
    """Return the controller manager of the arm and what comes after it."""
    controllers = ros_directory("config/controllers")
    # For the robot state broadcaster, which finds the arm by them.
    arm = parameters({"robot_type": robot_of(side.scenario.robot).name, "arm_prefix": side.prefix})
    given = [side.value["collision_behavior"] or str(controllers / "collision_behavior.yaml")]
    thresholds = process("impact_control_ros", "collision_behavior", namespace=side.namespace, parameters=given)
    steps = [broadcaster(side.namespace), spawner(ROBOT_STATE_BROADCASTER, side.namespace), thresholds]
    return [
        state_publisher(side, "franka", robot_ip=side.value["robot_ip"]),
        controller_manager(side.namespace, side.controllers, str(controllers / "franka.yaml"), arm),
        *viewer(side),
        *one_after_another(steps, side.graph(simulate="false", ros2_control="true"), reachable(side.value["robot_ip"])),
    ]


def reachable(robot_ip: str) -> str:
    """Return what to look at when the controller manager does not answer."""
    return f"see above; allowed: an arm with active FCI at robot_ip {robot_ip!r}, and hardware that can be loaded"
