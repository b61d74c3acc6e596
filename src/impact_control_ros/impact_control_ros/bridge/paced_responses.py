"""Responses at a pace that a client with queues of the default depth can take, and refusals of requests it lost."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rclpy.node import Node
from rclpy.service import Service

from impact_control_ros.bridge.rclpy_internals import (
    client_is_there,
    numbers_are_of_one_client,
    replace_send,
    request_id,
)

FREE = 5
"""Responses sent at once to requests that overlap, half of what a client keeps by default; one more each INTERVAL."""

GROUP = 2
"""Responses sent together to a client that is paced: as few that one which gets no core for 50 ms keeps all."""

INTERVAL = 0.01
"""[s] between two groups."""

PAUSE = 0.05
"""[s] without a request before the responses to a burst are sent: its client may be held up while it sends. Up to FREE
of them wait for an INTERVAL only."""

PATIENCE = 1.0
"""[s] without such a pause after which a client is taken for one that reads while it sends."""

LONGEST = 2000
"""Responses that wait at most, or refusals for one gap: as many requests as the service keeps."""

CLIENTS = 256
"""Clients known at most, before those for whom nothing waits are forgotten."""

_REACTION = 50_000
"""[ns] that a client needs at least from a response to its next request."""

_ONE_CLOCK = 20_000_000
"""[ns] of delay below which client and service are taken to have one clock."""

_CREEP = 0.01
"""Rate at which the least delay of a client is forgotten: its clock may be set back."""


@dataclass
class _Client:
    """A client of the service; times in s of the monotonic clock, stamps in ns of the system clock.

    Attributes: waiting, responses with header and number of their request; lost, the same of requests that are to be
    refused, after them; sent, when the last response was; room, how many more are sent at once to requests that
    overlap; number, of the last request that arrived, 0 before; asked, when its response was ready; quiet, when the
    client paused last or began to wait; delay, the least from the stamp of a request to its response [ns], with the
    difference of two clocks.
    """

    waiting: deque[tuple[Any, Any, int]] = field(default_factory=deque)
    lost: deque[tuple[Any, Any, int]] = field(default_factory=lambda: deque(maxlen=LONGEST))
    sent: int = 0
    room: float = FREE
    number: int = 0
    asked: float = 0.0
    quiet: float = 0.0
    delay: float | None = None

    @property
    def due(self) -> int:
        """Number of responses and refusals that are to be sent."""
        return len(self.waiting) + len(self.lost)

    def pours(self, stamp: int, now: float) -> bool:
        """Return whether too many requests overlap, with one of this stamp: it cannot answer to the last response."""
        delay, passed = time.time_ns() - stamp, now - self.asked
        self.delay = delay if self.delay is None else min(delay, self.delay + 1e9 * _CREEP * passed)
        self.room = min(FREE, self.room + passed / INTERVAL)
        clocks_differ_by = 0.0 if 0.0 <= self.delay < _ONE_CLOCK else self.delay
        if stamp + clocks_differ_by >= self.sent + _REACTION:
            return False
        self.room -= 1.0
        return self.room < 0.0


class PacedResponses:
    """Responses of a service that a client with queues of the default depth does not lose.

    Of many requests at once such a client loses all but the last ten that wait to be sent, and of the responses all
    but ten that arrive before it spins. So requests that overlap are, after FREE of them, answered in groups once their
    client pauses. Requests whose numbers are missing are refused; those before the first that this service
    sees, too, of which some may have been answered by another: a client ignores that.
    """

    def __init__(self, node: Node, service: Service, refuse: Callable[[], Any]) -> None:
        """refuse: return the response to a request that was lost."""
        self._node, self._service, self._refuse = node, service, refuse
        self._numbered = numbers_are_of_one_client()
        self._send = replace_send(service, self._on_send)
        self._clients: dict[bytes, _Client] = {}
        # Not made for each burst: destroying a timer in its own callback is not safe in the events executor.
        self._timer = node.create_timer(INTERVAL, self._look)
        self._timer.cancel()

    def close(self) -> None:
        """Send what waits, before the service is withdrawn; of more than ten a client may lose some."""
        replace_send(self._service, self._send)
        self._timer.cancel()  # one that is due already is called after it is destroyed
        self._node.destroy_timer(self._timer)
        for client in self._clients.values():
            self._send_oldest(client, client.due)

    def _on_send(self, response: Any, header: Any) -> None:
        identity, now = request_id(header), time.monotonic()
        client = self._client(b"" if identity is None else bytes(identity.writer_guid))
        pours = client.pours(header.source_timestamp, now)
        number, queue = header.request_id.sequence_number, client.waiting
        numbered = identity is not None and self._numbered
        missing = range(max(client.number + 1, number - LONGEST), number if numbered else 0)
        client.number, client.asked = number, now
        if not client.due:
            client.quiet = now
        if missing:
            refusal = self._refuse()
            client.lost.extend((refusal, header, lost) for lost in missing)
        if not pours and not (queue and now - client.quiet < PATIENCE):
            self._send_to(client, response, header, number)
        else:
            queue.append((response, header, number))
            self._send_oldest(client, len(queue) - LONGEST)
        if client.due and self._timer.is_canceled():
            self._timer.reset()

    def _look(self) -> None:
        """Send a group to each client that pauses, or has not for too long."""
        now, left = time.monotonic(), 0
        for client in self._clients.values():
            if now - client.asked >= (INTERVAL if client.due <= FREE else PAUSE):
                client.quiet = now
            if client.quiet == now or now - client.quiet >= PATIENCE:
                self._send_oldest(client, GROUP)
            left += client.due
        if left == 0:
            self._timer.cancel()

    def _send_oldest(self, client: _Client, count: int) -> None:
        for _ in range(count):
            if client.due:
                self._send_to(client, *(client.waiting or client.lost).popleft())

    def _send_to(self, client: _Client, response: Any, header: Any, number: int) -> None:
        if (identity := request_id(header)) is not None:
            identity.sequence_number = number
        client.sent = time.time_ns()
        if not client_is_there(self._send, response, header):
            client.waiting.clear()
            client.lost.clear()

    def _client(self, guid: bytes) -> _Client:
        if guid not in self._clients and len(self._clients) >= CLIENTS:
            self._clients = {known: client for known, client in self._clients.items() if client.due}
        return self._clients.setdefault(guid, _Client())
