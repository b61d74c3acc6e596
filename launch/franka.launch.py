"""Start the graph on an arm: ros2 launch impact_control_ros franka.launch.py robot_ip:=... robot_type:=fr3

Each arm of a scene has a controller manager of its own: scenario:=grab_juice_1 robot_ip:=172.16.0.2,172.16.1.2

Once the joint states come, the thresholds are raised from which an arm stops by itself
(config/controllers/collision_behavior.yaml), while it stands. Then our nodes are configured, then the effort
controllers are activated, then our nodes, which hold the pose. docs/launch.md says how to begin. Not tried on hardware.
"""

from impact_control_ros.robot_side.files import ROBOT_STATE_BROADCASTER, addresses, ros_directory
from impact_control_ros.session.launching import (
    RobotSide,
    broadcaster,
    controller_manager,
    describe_launch,
    one_after_another,
    parameters,
    process,
    spawner,
    state_publishers,
    viewers,
)
from launch import LaunchDescription

OWN = ("robot_ip", "collision_behavior", "guard")
PASSED_ON = ("shape", "record")


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; what is started follows from their values."""
    return describe_launch(start, OWN, PASSED_ON)


def start(side: RobotSide) -> list:
    """Return the controller manager of each arm and what comes after it."""
    controllers, guard = ros_directory("config/controllers"), side.value["guard"]
    given = [side.value["collision_behavior"] or str(controllers / "collision_behavior.yaml")]
    address = addresses(side.value["robot_ip"], side.scene.arm_names)
    # First, of every arm: a manager that does not reach its arm ends the launch at once.
    actions, steps = viewers(side), [broadcaster(arm.namespace) for arm in side.arms]
    for arm in side.arms:
        # For the robot state broadcaster, which finds the arm by them.
        found_by = parameters({"robot_type": arm.task.robot.name, "arm_prefix": arm.prefix})
        actions += [
            *state_publishers(arm, "franka", robot_ip=address[arm.name]),
            controller_manager(arm.namespace, arm.controllers(guard), str(controllers / "franka.yaml"), found_by),
        ]
        thresholds = process("impact_control_ros", "collision_behavior", namespace=arm.namespace, parameters=given)
        steps += [spawner(ROBOT_STATE_BROADCASTER, arm.namespace), thresholds]
    graph = side.graph(simulate="false", ros2_control="true")
    return [*actions, *one_after_another(steps, graph, reachable(side.value["robot_ip"]))]


def reachable(robot_ip: str) -> str:
    """Return what to look at when the controller manager does not answer."""
    return f"see above; allowed: an arm with active FCI at robot_ip {robot_ip!r}, and hardware that can be loaded"
