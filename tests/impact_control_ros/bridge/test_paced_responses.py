"""Responses of a service, paced for each of its clients: by a clock and with requests of the test."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from impact_control_ros.bridge import paced_responses
from impact_control_ros.bridge.paced_responses import CLIENTS, GROUP, INTERVAL, LONGEST, PATIENCE, PAUSE, PacedResponses
from impact_control_ros.bridge.rclpy_internals import RequestId


class Timer:
    """A timer that the test fires."""

    def __init__(self, callback):
        self.callback = callback
        self.running = True

    def cancel(self):
        self.running = False

    def reset(self):
        self.running = True

    def is_canceled(self):
        return not self.running


class Server:
    """A service with paced responses, its clock, and what it sent: (time, client, number, response)."""

    def __init__(self, monkeypatch, known=True):
        self.now, self.sent = 100.0, []
        clock = SimpleNamespace(monotonic=lambda: self.now, time_ns=lambda: round(1e9 * self.now))
        monkeypatch.setattr(paced_responses, "time", clock)
        monkeypatch.setattr(paced_responses, "request_id", lambda header: header.identity if known else None)
        self.service = SimpleNamespace(send_response=self._send)
        node = SimpleNamespace(create_timer=self._make_timer, destroy_timer=lambda timer: timer.cancel())
        self.paced = PacedResponses(node, self.service, lambda: "refused")

    def _make_timer(self, period, callback):
        assert period == INTERVAL
        self.timer = Timer(callback)
        return self.timer

    def _send(self, response, header):
        self.sent.append((self.now, header.identity.writer_guid[0], header.identity.sequence_number, response))

    def answer(self, number, client=1, received=None):
        """Answer a request that came at a time; by default just now."""
        identity = RequestId((client,), number)
        stamp = round(1e9 * (self.now if received is None else received))
        shown = SimpleNamespace(sequence_number=number)
        header = SimpleNamespace(identity=identity, request_id=shown, received_timestamp=stamp)
        self.service.send_response("answered", header)

    def burst(self, numbers, client=1):
        """Answer requests that all came together, 0.1 ms for each."""
        come = self.now
        for number in numbers:
            self.answer(number, client, come)
            self.now += 1e-4

    def wait(self, seconds):
        """Let the timer fire for a while."""
        end = self.now + seconds
        while self.now < end:
            self.now += INTERVAL
            if self.timer.running:
                self.timer.callback()

    def numbers(self, client=1):
        return [number for _, of, number, _ in self.sent if of == client]


@pytest.fixture
def server(monkeypatch):
    return Server(monkeypatch)


def test_one_request_at_a_time_is_answered_at_once(server):
    for number in range(1, 500):
        server.answer(number)
        server.now += 1e-3
        assert len(server.sent) == number
    assert not server.timer.running


def test_a_burst_is_answered_in_its_order_in_groups_after_a_pause(server):
    server.burst(range(1, 101))
    assert server.numbers() == [1]
    ended = server.now
    server.wait(2.0)
    assert server.numbers() == list(range(1, 101))
    times = [time for time, *_ in server.sent[1:]]
    assert times[0] >= ended + PAUSE - 2e-4
    assert all(later - before >= INTERVAL - 1e-9 for before, later in zip(times, times[GROUP:], strict=False))
    assert not server.timer.running


def test_never_more_than_ten_are_sent_before_a_client_that_sends_pauses(server):
    """Also where it is so slow that some requests come after the answer to the one ahead."""
    for number in range(1, 1001):
        server.answer(number, received=server.now - (1e-3 if number % 3 else 0.0))
        server.now += 2e-4
        server.wait(0.0)
    assert len(server.sent) < 10
    server.wait(10.0)
    assert server.numbers() == list(range(1, 1001))


def test_requests_without_a_pause_are_answered_after_the_patience(server):
    begun, number = server.now, 0
    while not server.numbers()[1:]:
        server.burst(range(number + 1, number + 4))
        number += 3
        server.wait(INTERVAL)
    assert PATIENCE <= server.now - begun < PATIENCE + 0.1


def test_a_burst_of_one_client_does_not_hold_up_another(server):
    server.burst(range(1, 1001))
    server.answer(1, client=2)
    assert server.numbers(2) == [1]


def test_numbers_that_are_missing_are_refused_in_their_place(server):
    server.answer(4)
    server.now += 2.0
    server.burst([9, 10, 14])
    server.answer(1, client=2)
    server.wait(1.0)
    of_one = [(number, response) for _, client, number, response in server.sent if client == 1]
    refused = {5, 6, 7, 8, 11, 12, 13}
    assert of_one == [(n, "refused" if n in refused else "answered") for n in range(4, 15)]
    assert server.numbers(2) == [1]


def test_a_jump_of_the_number_makes_no_endless_work(server):
    server.answer(1)
    server.answer(2**62)
    server.wait(20.0)
    assert len(server.sent) == LONGEST + 2 and server.numbers()[-1] == 2**62


def test_what_waits_is_bounded(server):
    server.burst(range(1, LONGEST + 102))
    assert server.numbers() == list(range(1, 102))


def test_a_client_that_is_paced_is_answered_at_once_again_a_while_later(server):
    server.burst([1, 2, 3])
    server.wait(2 * PATIENCE)
    server.answer(4)
    assert server.numbers() == [1, 2, 3, 4]


def test_where_rclpy_does_not_show_the_client_nothing_is_refused(monkeypatch):
    server = Server(monkeypatch, known=False)
    server.burst([1, 5, 9])
    server.answer(700, client=2)
    server.wait(1.0)
    assert [(number, response) for *_, number, response in server.sent] == [(n, "answered") for n in (1, 5, 9, 700)]


def test_clients_are_forgotten_where_there_are_many_but_not_those_that_wait(server):
    server.burst([1, 2], client=1)
    for client in range(2, 100):
        server.answer(1, client)
    for guid in range(CLIENTS):
        server.paced._client(bytes([guid % 256, 1]))
    assert len(server.paced._clients) <= CLIENTS
    server.wait(1.0)
    assert server.numbers(1) == [1, 2]


def test_what_waits_is_sent_when_the_service_is_withdrawn(server):
    server.burst(range(1, 11))
    server.paced.close()
    assert server.numbers() == list(range(1, 11))
    server.answer(12)
    assert server.numbers()[-1] == 12 and not server.timer.running
