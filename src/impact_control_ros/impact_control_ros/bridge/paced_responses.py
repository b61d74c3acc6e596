"""Responses at a pace that a client with queues of the default depth can take, and refusals of requests it lost."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rclpy.node import Node
from rclpy.service import Service

from impact_control_ros.bridge.rclpy_internals import request_id

GROUP = 2
"""Responses sent to a client together, less than half of the ten that it keeps."""

INTERVAL = 0.01
"""[s] between two groups."""

PAUSE = 0.05
"""[s] without a request of a client before responses that wait are sent to it: its process may be held up."""

PATIENCE = 1.0
"""[s] that responses wait at most for the requests to pause, and for which a client is paced after a burst."""

LONGEST = 2000
"""Responses to a client that wait at most; then the oldest is sent at once."""

CLIENTS = 256
"""Clients known at most, before those for whom nothing waits are forgotten."""


@dataclass
class _Client:
    """A client of the service; times in s of the monotonic clock.

    Attributes: waiting, responses with header and number of their request; number, of the last request that arrived,
    0 before; asked, when that was answered; burst, when requests came last before the one ahead was answered; begun,
    since when responses wait; sent, when the last response was sent [ns of the system clock].
    """

    waiting: deque[tuple[Any, Any, int]] = field(default_factory=deque)
    number: int = 0
    asked: float = -PATIENCE
    burst: float = -PATIENCE
    begun: float = 0.0
    sent: int = 0


class PacedResponses:
    """Responses of a service that a client with queues of the default depth does not lose.

    Of many requests at once such a client loses all but ten that wait to be sent, and of the responses all but ten
    that arrive before it spins. So requests that came before the one ahead was answered are answered in groups, once
    their client pauses; one at a time is answered at once. Numbers that are missing between the requests of a client
    are refused. Where rclpy does not show the client all are paced as one, and none is refused.
    """

    def __init__(self, node: Node, service: Service, refuse: Callable[[], Any]) -> None:
        """refuse: return the response to a request that did not arrive."""
        self._node, self._service, self._refuse = node, service, refuse
        self._send, service.send_response = service.send_response, self._on_send
        self._clients: dict[bytes, _Client] = {}
        # Not made for each burst: destroying a timer in its own callback is not safe in the events executor.
        self._timer = node.create_timer(INTERVAL, self._look)
        self._timer.cancel()

    def close(self) -> None:
        """Send what waits; before the service is withdrawn."""
        self._service.send_response = self._send
        self._node.destroy_timer(self._timer)
        for client in self._clients.values():
            self._send_oldest(client, len(client.waiting))

    def _on_send(self, response: Any, header: Any) -> None:
        """Take the place of `Service.send_response`, which the executor calls."""
        identity, now = request_id(header), time.monotonic()
        client = self._client(b"" if identity is None else bytes(identity.writer_guid))
        if header.received_timestamp <= client.sent:
            client.burst = now
        if not client.waiting:
            client.begun = now
        number = header.request_id.sequence_number
        if identity is not None and client.number > 0:
            lost = range(max(client.number + 1, number - LONGEST), number)
            client.waiting.extend((self._refuse(), header, missing) for missing in lost)
        client.waiting.append((response, header, number))
        client.number, client.asked = number, now
        if len(client.waiting) == 1 and now - client.burst >= PATIENCE:
            self._send_oldest(client, 1)
        else:
            self._send_oldest(client, len(client.waiting) - LONGEST)
            if self._timer.is_canceled():
                self._timer.reset()

    def _look(self) -> None:
        """Send a group to each client that pauses, or has waited long enough."""
        now, left = time.monotonic(), 0
        for client in self._clients.values():
            if now - client.asked >= PAUSE or now - client.begun >= PATIENCE:
                self._send_oldest(client, min(GROUP, len(client.waiting)))
            left += len(client.waiting)
        if left == 0:
            self._timer.cancel()

    def _send_oldest(self, client: _Client, count: int) -> None:
        for _ in range(count):
            response, header, number = client.waiting.popleft()
            if (identity := request_id(header)) is not None:
                identity.sequence_number = number
            self._send(response, header)
            client.sent = time.time_ns()

    def _client(self, guid: bytes) -> _Client:
        if guid not in self._clients and len(self._clients) >= CLIENTS:
            self._clients = {known: client for known, client in self._clients.items() if client.waiting}
        return self._clients.setdefault(guid, _Client())
