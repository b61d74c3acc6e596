"""The other arms of a scene, as one arm hears of them: their impacts, and that they stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from impact_msgs.msg import ControllerStatus, ImpactEvent
from rclpy.node import Node

from impact_control.control import RUNNING, Mode
from impact_control.nodes import qos, topics
from impact_control.nodes.messages import FirstOfEvent, nanoseconds

_AT_WORK = (Mode.IDLE, *RUNNING)
"""Modes of an arm that does not keep the others from their work."""


class Partners:
    """Listens to arms in namespaces beside that of a node.

    on_impact(time [ns]) is called when one of them detects an impact, on_stop(name, time [ns]) with each status of
    one that has stopped.
    """

    def __init__(
        self,
        node: Node,
        names: Sequence[str],
        on_impact: Callable[[int], None],
        on_stop: Callable[[str, int], None],
    ) -> None:
        """Subscribe to the partners `names`."""
        self._node = node
        self._on_impact = on_impact
        self._on_stop = on_stop
        beside = node.get_namespace().rsplit("/", 1)[0]
        self._subscriptions = [
            subscription
            for name in names
            for subscription in (
                node.create_subscription(
                    ImpactEvent,
                    f"{beside}/{topics.of_arm(name, topics.EVENTS)}",
                    partial(self._take_event, FirstOfEvent()),
                    qos.EVENT,
                ),
                node.create_subscription(
                    ControllerStatus,
                    f"{beside}/{topics.of_arm(name, topics.STATUS)}",
                    partial(self._take_status, name),
                    qos.STREAM,
                ),
            )
        ]

    def destroy(self) -> None:
        """Hear no more."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _take_event(self, is_new: FirstOfEvent, event: ImpactEvent) -> None:
        if is_new(event):
            self._on_impact(nanoseconds(event.impact_time))

    def _take_status(self, name: str, status: ControllerStatus) -> None:
        # Also a mode that is not known here: of a partner that may have stopped.
        if status.mode not in _AT_WORK:
            self._on_stop(name, nanoseconds(status.header.stamp))
