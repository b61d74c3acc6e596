"""Start the graph on the embedded simulator: ros2 launch impact_control_ros sim.launch.py

Scenarios of one arm, and scenes of several; a scene has its own arms and cannot be shown in RViz.
"""

from impact_control_ros.session.launching import RobotSide, describe_launch, state_publisher, viewer
from launch import LaunchDescription

PASSED_ON = ("shape", "seed", "real_time_factor", "record")


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; what is started follows from their values."""
    return describe_launch(start, (), PASSED_ON)


def start(side: RobotSide) -> list:
    """Return the graph, and what shows the arm."""
    shown = [state_publisher(side, "mock"), *viewer(side)] if side.value["use_rviz"] == "true" else []
    return [*shown, side.graph()]
