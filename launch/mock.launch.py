"""Start the graph on a real controller manager without an arm: ros2 launch impact_control mock.launch.py

Behind the controller manager stands the embedded simulator, reached through topic_based_ros2_control, or, for wiring
checks, mock hardware that does not move. The joint state broadcaster comes first, then our nodes are configured, then
the effort controller is activated, then our nodes.
"""

from impact_control.nodes.launching import (
    RobotSide,
    broadcaster,
    controller_manager,
    describe_launch,
    one_after_another,
    state_publisher,
    viewer,
)
from impact_control.robot_side import controllers_file
from launch import LaunchDescription

OWN = ("hardware",)
PASSED_ON = ("shape", "seed", "record")


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; what is started follows from their values."""
    return describe_launch(start, OWN, PASSED_ON)


def start(side: RobotSide) -> list:
    """Return the controller manager and what comes after it."""
    # Mock hardware weighs nothing.
    simulated = str(side.value["hardware"] == "simulated").lower()
    # The clock of a controller manager is that of the wall.
    graph = side.graph(simulate=simulated, check_gravity=simulated, ros2_control="true", real_time_factor="1.0")
    return [
        state_publisher(side, "topics" if simulated == "true" else "mock"),
        controller_manager(side.namespace, str(controllers_file(side.scenario))),
        *viewer(side),
        *one_after_another([broadcaster(side.namespace)], graph),
    ]
