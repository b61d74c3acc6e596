"""Sees every true sample of the simulated arm from outside, whatever becomes of the recorder."""

from __future__ import annotations

from types import TracebackType

import numpy as np
import rclpy
from impact_msgs.msg import GroundTruth
from rclpy.signals import SignalHandlerOptions

from impact_control.endurance import ArmWatch
from impact_control.nodes import qos, topics
from impact_control.nodes.inbox import Inbox


class TrueMotion:
    """Samples of the arm wait here until they are looked at, for 20 s at most. Use as a context manager."""

    def __init__(self) -> None:
        self._context = rclpy.Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node("true_motion", context=self._context, start_parameter_services=False)
        self._inbox = Inbox(self._node)
        self._truths = self._inbox.subscribe(GroundTruth, topics.TRUTH, qos.WATCH)

    def __enter__(self) -> TrueMotion:
        """Return it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the graph."""
        self._inbox.close()
        self._node.destroy_node()
        self._context.try_shutdown()

    def forget(self) -> None:
        """Forget what has come since the last look, as of an arm that is not there any more."""
        for _ in self._truths.drain():
            pass

    def show(self, watch: ArmWatch) -> None:
        """Show what has come since the last look to a watch."""
        truths = [truth for truth, _, _ in self._truths.drain()]
        if truths:
            watch.see(
                np.array([truth.cycles for truth in truths]),
                np.array([truth.joint_position for truth in truths]),
                np.array([truth.joint_velocity for truth in truths]),
                np.array([truth.applied_torque for truth in truths]),
            )
