"""Start the graph on a real controller manager without an arm: ros2 launch impact_control_ros mock.launch.py

Behind the controller manager stands the embedded simulator, in step with it through shared memory (impact_sim_hardware)
or reached through topic_based_ros2_control, or, for wiring checks, mock hardware that does not move. The joint state
broadcaster comes first, then our nodes are configured, then the simulator is activated, then the effort controller,
then our other nodes. Each arm of a scene has a controller manager of its own, in its namespace.

In step, the simulator sets the pace: it publishes its time, which all controller managers go by.
"""

import os

from impact_control.util.errors import InvalidInputError
from impact_control_ros.bridge.settings import REAL_TIME_FACTOR
from impact_control_ros.robot_side.files import JOINT_STATE_BROADCASTER
from impact_control_ros.robot_side.shared_exchange import segment_name, segment_of
from impact_control_ros.session.graph import sustainable_real_time_factor
from impact_control_ros.session.launching import (
    RobotSide,
    controller_manager,
    describe_launch,
    one_after_another,
    spawner,
    state_publishers,
    viewers,
)
from launch import LaunchDescription

OWN = ("hardware", "guard", "real_time_factor")
PASSED_ON = ("shape", "seed", "record")


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; what is started follows from their values."""
    return describe_launch(start, OWN, PASSED_ON)


def start(side: RobotSide) -> list:
    """Return the controller manager and what comes after it."""
    kind = {"generic": "mock"}.get(side.value["hardware"], side.value["hardware"])
    in_step = kind == "shared"
    shared = segment_name(side.namespace, os.environ.get("ROS_DOMAIN_ID", "")) if in_step else ""
    factor = pace(side, in_step)
    graph = side.graph(
        # Mock hardware weighs nothing.
        **dict.fromkeys(("simulate", "check_gravity"), str(kind != "mock").lower()),
        ros2_control="true",
        shared_memory=shared,
        real_time_factor=f"{factor}",
    )
    actions, guard = viewers(side), side.value["guard"]
    for arm in side.arms:
        actions += [
            *state_publishers(arm, kind, shared_memory=segment_of(shared, arm.name)),
            controller_manager(arm.namespace, arm.controllers(guard, factor), {"use_sim_time": in_step}),
        ]
    # Without a clock none becomes active: with the simulator it does.
    options = ("--inactive",) if in_step else ()
    steps = [spawner(JOINT_STATE_BROADCASTER, arm.namespace, *options) for arm in side.arms]
    return [*actions, *one_after_another(steps, graph, "see above; its hardware has to be installed")]


def pace(side: RobotSide, in_step: bool) -> float:
    """Return how fast simulated time runs: in real time where the controller managers go by the wall clock."""
    given = REAL_TIME_FACTOR.number(side.value["real_time_factor"])
    if given is not None and not in_step:
        allowed = f"empty, as hardware:={side.value['hardware']} goes by the wall clock"
        raise InvalidInputError("real_time_factor", given, allowed)
    if not in_step:
        return 1.0
    return sustainable_real_time_factor(len(side.arms), behind_managers=True) if given is None else given
