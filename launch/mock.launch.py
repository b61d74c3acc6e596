"""Start the graph on a real controller manager without an arm: ros2 launch impact_control_ros mock.launch.py

Behind the controller manager stands the embedded simulator, in step with it through shared memory (impact_sim_hardware)
or reached through topic_based_ros2_control, or, for wiring checks, mock hardware that does not move. The joint state
broadcaster comes first, then our nodes are configured, then the simulator is activated, then the effort controller,
then our other nodes. Each arm of a scene has a controller manager of its own, in its namespace.
"""

import os

from impact_control_ros.robot_side.shared_exchange import segment_name, segment_of
from impact_control_ros.session.launching import (
    RobotSide,
    broadcaster,
    controller_manager,
    describe_launch,
    one_after_another,
    state_publisher,
    viewers,
)
from launch import LaunchDescription

OWN = ("hardware", "guard")
PASSED_ON = ("shape", "seed", "record")


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; what is started follows from their values."""
    return describe_launch(start, OWN, PASSED_ON)


def start(side: RobotSide) -> list:
    """Return the controller manager and what comes after it."""
    kind = {"generic": "mock"}.get(side.value["hardware"], side.value["hardware"])
    shared = segment_name(side.namespace, os.environ.get("ROS_DOMAIN_ID", "")) if kind == "shared" else ""
    graph = side.graph(
        # Mock hardware weighs nothing.
        **dict.fromkeys(("simulate", "check_gravity"), str(kind != "mock").lower()),
        ros2_control="true",
        shared_memory=shared,
        # The clock of a controller manager is that of the wall.
        real_time_factor="1.0",
    )
    actions, guard = viewers(side), side.value["guard"]
    catch_up = "1" if len(side.arms) == 1 else "2"
    for arm in side.arms:
        actions += [
            state_publisher(arm, kind, shared_memory=segment_of(shared, arm.name), catch_up=catch_up),
            controller_manager(arm.namespace, arm.controllers(guard)),
        ]
    steps = [broadcaster(arm.namespace) for arm in side.arms]
    return [*actions, *one_after_another(steps, graph, "see above; its hardware has to be installed")]
