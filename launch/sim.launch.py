"""Start the graph on the embedded simulator: ros2 launch impact_control_ros sim.launch.py

Scenarios of one arm, and scenes of several, each of which has an RViz of its own.
"""

from impact_control_ros.session.launching import RobotSide, describe_launch, state_publishers, viewers
from launch import LaunchDescription

PASSED_ON = ("shape", "seed", "real_time_factor", "record")


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; what is started follows from their values."""
    return describe_launch(start, (), PASSED_ON)


def start(side: RobotSide) -> list:
    """Return the graph, and what shows the arms."""
    shown = side.arms if side.value["use_rviz"] == "true" else ()
    return [*(action for arm in shown for action in state_publishers(arm, "mock")), *viewers(side), side.graph()]
