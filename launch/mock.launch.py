"""Start the graph on a real controller manager without an arm: ros2 launch impact_control mock.launch.py

Behind the controller manager stands the embedded simulator, reached through topic_based_ros2_control, or, for wiring
checks, mock hardware that does not move. The joint state broadcaster comes first, then our nodes are configured, then
the effort controller is activated, then our nodes.
"""

from launch.actions import OpaqueFunction

from impact_control.nodes.launching import (
    COMMON,
    broadcaster,
    chosen_scenario,
    controller_manager,
    declare,
    include_graph,
    one_after_another,
    place,
    state_publisher,
    viewer,
)
from impact_control.robot_side import controllers_file
from launch import LaunchContext, LaunchDescription

OWN = ("hardware",)
PASSED_ON = ("shape", "seed", "record")


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; what is started follows from their values."""
    return LaunchDescription([*declare(*COMMON, *OWN, *PASSED_ON), OpaqueFunction(function=actions)])


def actions(context: LaunchContext) -> list:
    """Return the controller manager and what comes after it."""
    value = context.launch_configurations
    namespace, prefix = place(value)
    scenario, name = chosen_scenario(value)
    simulated = value["hardware"] == "simulated"
    graph = include_graph(
        scenario=name,
        namespace=namespace,
        simulate=str(simulated).lower(),
        ros2_control="true",
        # The clock of a controller manager is that of the wall.
        real_time_factor="1.0",
        **{argument: value[argument] for argument in PASSED_ON},
    )
    return [
        state_publisher(scenario, "topics" if simulated else "mock", namespace, prefix),
        controller_manager(namespace, str(controllers_file(scenario))),
        *viewer(value, scenario),
        *one_after_another([broadcaster(namespace)], graph),
    ]
