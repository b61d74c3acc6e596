"""One tick: observe, detect, classify, decide the mode, solve, react.

The same object runs inside the ROS 2 nodes, in a simulation without ROS, and over a recording.
"""

from impact_control.pipeline.outcome import MoveOutcome, Outcome, worst_of
from impact_control.pipeline.pipeline import Pipeline
from impact_control.pipeline.rehearsal import warm_up
from impact_control.pipeline.start_pose import StartPose

__all__ = [
    "MoveOutcome",
    "Outcome",
    "Pipeline",
    "StartPose",
    "warm_up",
    "worst_of",
]
