"""Responses of a service, paced for each of its clients: by a clock and with requests of the test."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger

from harness import until
from impact_control_ros.bridge import paced_responses
from impact_control_ros.bridge.paced_responses import (
    CLIENTS,
    FREE,
    GROUP,
    INTERVAL,
    LONGEST,
    PATIENCE,
    PAUSE,
    PacedResponses,
)
from impact_control_ros.bridge.rclpy_internals import RequestId, replace_send, request_id

TRANSPORT = 1e-4
"""[s] from a request to its service."""


class Timer:
    """A timer that the test fires, also once more after its end, as an executor may."""

    def __init__(self, callback):
        self.callback = callback
        self.running, self.destroyed = True, False

    def cancel(self):
        assert not self.destroyed
        self.running = False

    def reset(self):
        assert not self.destroyed
        self.running = True

    def is_canceled(self):
        assert not self.destroyed
        return not self.running

    def destroy(self):
        self.destroyed = True


class Server:
    """A service with paced responses, its clock, and what it sent: (time, client, number, response)."""

    def __init__(self, monkeypatch, known=True, numbered=True):
        self.now, self.sent, self.ahead = 100.0, [], 0.0
        clock = SimpleNamespace(monotonic=lambda: self.now, time_ns=lambda: round(1e9 * self.now))
        monkeypatch.setattr(paced_responses, "time", clock)
        monkeypatch.setattr(paced_responses, "request_id", lambda header: header.identity if known else None)
        monkeypatch.setattr(paced_responses, "numbers_are_of_one_client", lambda: numbered)
        self.service = SimpleNamespace(send_response=self._send)
        node = SimpleNamespace(create_timer=self._make_timer, destroy_timer=Timer.destroy)
        self.paced = PacedResponses(node, self.service, lambda: "refused")

    def _make_timer(self, period, callback):
        assert period == INTERVAL
        self.timer = Timer(callback)
        return self.timer

    def _send(self, response, header):
        self.sent.append((self.now, header.identity.writer_guid[0], header.identity.sequence_number, response))

    def answer(self, number, client=1, asked=None):
        """Answer a request that was sent at a time; by default as late as it can be. The client's clock is ahead."""
        stamp = round(1e9 * ((self.now - TRANSPORT if asked is None else asked) + self.ahead))
        shown = SimpleNamespace(sequence_number=number)
        header = SimpleNamespace(identity=RequestId((client,), number), request_id=shown, source_timestamp=stamp)
        self.service.send_response("answered", header)

    def burst(self, numbers, client=1):
        """Answer requests that were all sent together, 0.1 ms for each."""
        asked = self.now - TRANSPORT
        for number in numbers:
            self.answer(number, client, asked)
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


@pytest.mark.parametrize("ahead", [0.0, -30.0, 30.0])
@pytest.mark.parametrize(("together", "apart"), [(1, 2e-4), (2, 0.02), (FREE, FREE * INTERVAL)])
def test_a_client_is_answered_at_once_with_one_request_at_a_time_or_now_and_then_a_few(server, together, apart, ahead):
    """Whatever its clock shows."""
    server.ahead = ahead
    for number in range(1, 1001, together):
        server.burst(range(number, number + together))
        assert len(server.sent) == number + together - 1
        server.now += apart


@pytest.mark.parametrize("together", [2, FREE])
def test_a_client_with_always_a_few_requests_under_way_is_answered_within_a_few_intervals(server, together):
    for number in range(1, 1001, together):
        begun = server.now
        server.burst(range(number, number + together))
        while len(server.sent) < number + together - 1:
            server.wait(INTERVAL)
        assert server.now - begun < (1 + together / GROUP) * INTERVAL + 2e-3


def test_a_burst_is_answered_in_its_order_in_groups_after_a_pause(server):
    server.burst(range(1, 101))
    assert FREE <= len(server.sent) <= FREE + 1  # the first may have come after its own response, by the clocks
    ended = server.now
    server.wait(2.0)
    assert server.numbers() == list(range(1, 101))
    times = [time for time, *_ in server.sent[FREE + 1 :]]
    assert times[0] >= ended + PAUSE - 2e-4
    assert all(later - before >= INTERVAL - 1e-9 for before, later in zip(times, times[GROUP:], strict=False))
    assert not server.timer.running


def test_a_burst_of_a_slow_client_is_seen_too(server):
    """It is held up twice while it sends: what was sent by then has been answered."""
    for numbers in (range(1, 4), range(4, 300), range(300, 1001)):
        server.burst(numbers)
        server.wait(PAUSE / 2)
    assert len(server.sent) < 10
    server.wait(6.0)
    assert server.numbers() == list(range(1, 1001))


def test_a_second_burst_during_the_answers_to_the_first_waits_for_its_pause(server):
    server.burst(range(1, 1001))
    server.wait(2.0)
    sent = len(server.sent)
    server.burst(range(1001, 1301))
    server.wait(PAUSE - INTERVAL)
    assert GROUP < sent < 1000 and len(server.sent) == sent
    server.wait(7.0)
    assert server.numbers() == list(range(1, 1301))


@pytest.mark.parametrize("rate", [100, 500, 1000])
def test_a_client_at_a_rate_is_answered_at_once_again_soon_after_a_hiccup(server, rate):
    """The server stands still for 0.2 s, and the client goes on: its requests overlap once."""
    begun, late, number = server.now, [], 0
    asked = {n: begun + n / rate for n in range(1, 6 * rate)}
    held_up = (begun + 1.0, begun + 1.2)
    for number, when in asked.items():
        if held_up[0] <= when < held_up[1]:
            server.now = max(server.now, held_up[1])
        while server.now + INTERVAL < when:
            server.wait(INTERVAL)
        server.now = max(server.now, when + TRANSPORT)
        server.answer(number, asked=when)
    server.wait(10.0)
    assert sorted(server.numbers()) == list(asked)
    late = [n for time, _, n, _ in server.sent if asked[n] > held_up[1] + PATIENCE and time > asked[n] + 2 * INTERVAL]
    assert late == []


def test_requests_without_a_pause_are_answered_after_the_patience(server):
    server.burst(range(1, 101))
    begun, number, sent = server.now, 100, len(server.sent)
    while len(server.sent) == sent:
        number += 1
        server.answer(number)
        server.wait(INTERVAL)
    assert server.now - begun == pytest.approx(PATIENCE, abs=0.05)
    for _ in range(120):
        number += 1
        server.answer(number)
        server.wait(INTERVAL)
    assert sorted(server.numbers()) == list(range(1, number + 1))


def test_a_burst_of_one_client_does_not_hold_up_another(server):
    server.burst(range(1, 1001))
    server.answer(1, client=2)
    assert server.numbers(2) == [1]


def test_a_clock_that_is_set_back_by_a_second_is_believed_again(server):
    number = 0

    def delayed(seconds):
        """Whether an answer is not sent at once, of one request after another, 133 a second."""
        nonlocal number
        late = False
        for _ in range(round(seconds / 0.015)):
            for _ in range(2):
                number += 1
                server.answer(number)
                late = late or server.numbers()[-1] != number
                server.now += 2.5e-3
            server.wait(INTERVAL / 2)
        return late

    assert not delayed(2.0)
    server.ahead = -1.0
    assert delayed(2.0)
    delayed(110.0)
    server.wait(2.0)
    assert not delayed(2.0)


def test_numbers_that_are_missing_are_refused(server):
    server.answer(4)
    server.wait(1.0)
    server.burst([9, 10, 14])
    server.answer(1, client=2)
    server.wait(1.0)
    of_one = {number: response for _, client, number, response in server.sent if client == 1}
    assert of_one == {n: "answered" if n in (4, 9, 10, 14) else "refused" for n in range(1, 15)}
    assert len(server.numbers()) == 14 and server.numbers(2) == [1]


def test_answers_of_a_burst_come_before_refusals(server):
    server.burst(range(300, 321))
    server.wait(0.5)
    assert server.numbers()[:21] == list(range(300, 321))


def test_answers_do_not_wait_for_refusals(server):
    server.answer(1500)
    for number in range(1501, 1600):
        server.wait(0.02)
        server.answer(number)
        assert server.numbers()[-1] == number
    server.wait(10.0)
    assert sorted(server.numbers()) == list(range(1, 1600))


def test_a_jump_of_the_number_causes_no_unbounded_work(server):
    server.answer(1)
    server.answer(2**62)
    server.wait(20.0)
    assert len(server.sent) == LONGEST + 2 and server.numbers()[1] == 2**62


def test_what_waits_is_bounded(server):
    server.burst(range(1, LONGEST + FREE + 102))
    assert server.numbers() == list(range(1, FREE + 102))


@pytest.mark.parametrize("lacking", ["known", "numbered"])
def test_where_the_numbers_are_not_of_one_client_nothing_is_refused(monkeypatch, lacking):
    server = Server(monkeypatch, **{lacking: False})
    server.burst([1, 5, 9])
    server.answer(700, client=2)
    assert [(number, response) for *_, number, response in server.sent] == [(n, "answered") for n in (1, 5, 9, 700)]


def test_of_many_clients_those_that_wait_are_not_forgotten(monkeypatch, server):
    monkeypatch.setattr(paced_responses, "CLIENTS", 20)
    server.burst(range(1, 20), client=1)
    for client in range(2, 100):
        server.answer(7, client)
    server.wait(1.0)
    assert server.numbers(1) == list(range(1, 20)) and CLIENTS > 20
    answered = [client for _, client, _, response in server.sent if client > 1 and response == "answered"]
    assert answered == list(range(2, 100))


def test_what_waits_is_sent_when_the_service_is_withdrawn(server):
    server.burst(range(1, 31))
    server.paced.close()
    assert server.numbers() == list(range(1, 31))
    if server.timer.running:  # a timer that is due already
        server.timer.callback()
    server.answer(50)
    assert server.numbers()[-1] == 50 and len(server.sent) == 31


@pytest.fixture
def node():
    rclpy.init()
    node = rclpy.create_node("of_two_requests")
    yield node
    node.destroy_node()
    rclpy.shutdown()


def test_the_id_of_a_request_names_its_client_and_where_its_response_goes(node):
    """Of three requests of two clients; the responses to the two of the first change places."""
    headers, executor = [], SingleThreadedExecutor()
    executor.add_node(node)
    service = node.create_service(Trigger, "serve", lambda _, response: response)
    send = replace_send(service, lambda _, header: headers.append(header))
    first, second = (node.create_client(Trigger, "serve") for _ in range(2))
    until(lambda: first.service_is_ready() and second.service_is_ready(), "the service", 10.0)
    calls = [client.call_async(Trigger.Request()) for client in (first, first, second)]

    def spin():
        executor.spin_once(timeout_sec=0.01)

    until(lambda: len(headers) == 3, "the requests", 10.0, spin)
    asked = [(bytes(request_id(header).writer_guid), header.request_id.sequence_number) for header in headers]
    assert sorted(number for _, number in asked) == [1, 1, 2] and len({client for client, _ in asked}) == 2
    (of_first,) = (client for client, number in asked if number == 2)
    for header, (client, number) in zip(headers, asked, strict=True):
        if client == of_first:
            request_id(header).sequence_number = 3 - number
        send(Trigger.Response(message=f"{number}"), header)
    until(lambda: all(call.done() for call in calls), "the responses", 10.0, spin)
    assert [call.result().message for call in calls] == ["2", "1", "1"]
