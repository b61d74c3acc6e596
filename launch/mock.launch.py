"""Start the graph on a real controller manager without an arm: ros2 launch impact_control_ros mock.launch.py

Behind the controller manager stands the embedded simulator, in step with it through shared memory (impact_sim_hardware)
or reached through topic_based_ros2_control, or, for wiring checks, mock hardware that does not move. The joint state
broadcaster comes first, then our nodes are configured, then the simulator is activated, then the effort controller,
then our other nodes. Each arm of a scene has a controller manager of its own, in its namespace.

In step, the controller manager sets the pace, by the wall clock. With a real_time_factor, and for the arms of a scene,
which wait for each other, the simulator does: it publishes its time, which all controller managers use.
"""

import os

from impact_control.util.errors import InvalidInputError
from impact_control_ros.robot_side.shared_exchange import segment_name, segment_of
from impact_control_ros.session.graph import factor_of, sustainable_real_time_factor
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

OWN = ("hardware", "guard", "real_time_factor")
PASSED_ON = ("shape", "seed", "record")


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; what is started follows from their values."""
    return describe_launch(start, OWN, PASSED_ON)


def start(side: RobotSide) -> list:
    """Return the controller manager and what comes after it."""
    kind = {"generic": "mock"}.get(side.value["hardware"], side.value["hardware"])
    shared = segment_name(side.namespace, os.environ.get("ROS_DOMAIN_ID", "")) if kind == "shared" else ""
    factor = simulated_pace(side, kind)
    use_sim_time = str(factor is not None).lower()
    graph = side.graph(
        # Mock hardware weighs nothing.
        **dict.fromkeys(("simulate", "check_gravity"), str(kind != "mock").lower()),
        ros2_control="true",
        shared_memory=shared,
        real_time_factor=f"{factor or 1.0}",
        use_sim_time=use_sim_time,
    )
    actions, guard = viewers(side), side.value["guard"]
    for arm in side.arms:
        given = [arm.controllers(guard, factor or 1.0), *([{"use_sim_time": True}] if factor else [])]
        actions += [
            state_publisher(arm, kind, shared_memory=segment_of(shared, arm.name), use_sim_time=use_sim_time),
            controller_manager(arm.namespace, *given),
        ]
    if factor is not None:
        return [*actions, graph]
    steps = [broadcaster(arm.namespace) for arm in side.arms]
    return [*actions, *one_after_another(steps, graph, "see above; its hardware has to be installed")]


def simulated_pace(side: RobotSide, kind: str) -> float | None:
    """Return how fast simulated time runs that the controller managers go by; None where they go by the wall clock."""
    given, arms = side.value["real_time_factor"], len(side.arms)
    if kind != "shared":
        if given:
            raise InvalidInputError("real_time_factor", given, "empty without hardware:=shared, in real time")
        return None
    if given:
        return factor_of(given)
    return sustainable_real_time_factor(arms) if arms > 1 else None
