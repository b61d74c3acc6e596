"""Subscriptions that no executor serves: their messages wait until somebody takes them.

A wake-up for each message costs more than handling it. Who looks at a fixed time anyway, as the recorder and
the simulator do, takes what has come by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription


class Inbox:
    """Subscriptions beside a node, in its namespace."""

    def __init__(self, owner: Node) -> None:
        self._node = rclpy.create_node(
            f"{owner.get_name()}_inbox",
            context=owner.context,
            namespace=owner.get_namespace(),
            enable_rosout=False,
            start_parameter_services=False,
            # The owner has the service of that name: processes are started with one name for all their nodes.
            parameter_overrides=[Parameter("start_type_description_service", value=False)],
        )

    def subscribe(self, kind: type, topic: str, profile: QoSProfile, *, raw: bool = False) -> Slot:
        """Subscribe; `raw` leaves messages serialised."""
        return Slot(self._node.create_subscription(kind, topic, _ignore, profile, raw=raw))

    def close(self) -> None:
        """Unsubscribe from everything."""
        self._node.destroy_node()


class Slot:
    """One subscription of an inbox.

    Attributes: topic, its full name; sent, when the message that was taken last was sent [ns of the system clock].
    """

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self.topic: str = subscription.topic_name
        self.sent = 0

    @property
    def publishers(self) -> int:
        """How many publishers it is matched with."""
        return int(self._subscription.get_publisher_count())

    def take(self) -> Any | None:
        """Return the oldest message that waits, or None."""
        taken = self._subscription.handle.take_message(self._subscription.msg_type, self._subscription.raw)
        if taken is None:
            return None
        message, information = taken
        self.sent = information["source_timestamp"]
        return message

    def drain(self) -> Iterator[tuple[Any, int, int]]:
        """Yield every message that waits with the times [ns] at which it was received and sent."""
        subscription = self._subscription
        while (taken := subscription.handle.take_message(subscription.msg_type, subscription.raw)) is not None:
            message, information = taken
            yield message, information["received_timestamp"], information["source_timestamp"]


def _ignore(message: Any) -> None:
    """Stand in for the callback that rclpy asks for."""
