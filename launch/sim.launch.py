"""Start the graph on the embedded simulator: ros2 launch impact_control sim.launch.py

Scenarios of one arm, and scenes of several; a scene has its own arms and cannot be shown in RViz.
"""

from launch.actions import OpaqueFunction

from impact_control.nodes.launching import (
    COMMON,
    chosen_scenario,
    declare,
    include_graph,
    place,
    state_publisher,
    viewer,
)
from launch import LaunchContext, LaunchDescription

PASSED_ON = ("shape", "seed", "real_time_factor", "record")


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; what is started follows from their values."""
    return LaunchDescription([*declare(*COMMON, *PASSED_ON), OpaqueFunction(function=actions)])


def actions(context: LaunchContext) -> list:
    """Return the graph, and what shows the arm."""
    value = context.launch_configurations
    namespace, prefix = place(value)
    name, shown = value["scenario"], []
    if value["robot_type"] or value["use_rviz"] == "true":
        scenario, name = chosen_scenario(value)
        if value["use_rviz"] == "true":
            shown = [state_publisher(scenario, "mock", namespace, prefix), *viewer(value, scenario)]
    passed_on = {argument: value[argument] for argument in PASSED_ON}
    return [*shown, include_graph(scenario=name, namespace=namespace, **passed_on)]
