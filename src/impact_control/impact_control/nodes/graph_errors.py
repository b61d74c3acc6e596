"""What goes wrong with a graph: it did not start, a node died, the supervisor stopped the robot, a bag was cut off."""

from __future__ import annotations

from impact_control.errors import ImpactControlError
from impact_control.nodes.processes import Death
from impact_control.supervision import Cause


class GraphError(ImpactControlError):
    """The graph could not be started, or a node of it died or did not answer."""


class NodeDiedError(GraphError):
    """A node ended without being asked to. `death` says which and how."""

    def __init__(self, death: Death, log: str) -> None:
        super().__init__(f"{death}; all others were stopped{log}")
        self.death = death


class RobotStoppedError(GraphError):
    """The supervisor keeps commands from the robot. `cause` and `reason` say why."""

    def __init__(self, cause: Cause, reason: str) -> None:
        super().__init__(f"the supervisor stopped the robot: {reason}; all nodes were stopped")
        self.cause = cause
        self.reason = reason


class RecordingCutOffError(GraphError):
    """A recording ended before it was asked to, on a full disk for example. What was written is readable."""
