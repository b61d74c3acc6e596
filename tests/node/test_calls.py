"""Calls of services whose answers get lost, or come too late."""

from __future__ import annotations

import threading
import time

import pytest
import rclpy
from harness import Peer
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger

from impact_control.nodes.calls import ANSWER_PATIENCE, NoAnswerError


@pytest.fixture
def slow_to_answer():
    """A service that answers its first request too late; the number of requests it took."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("slow", context=context)
    requests = []

    def answer(request, response):
        requests.append(request)
        if len(requests) == 1:
            time.sleep(ANSWER_PATIENCE + 0.5)
        response.message = str(len(requests))
        return response

    node.create_service(Trigger, "slow/answer", answer)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    yield requests
    executor.shutdown()
    context.try_shutdown()
    thread.join()
    node.destroy_node()


def test_a_service_is_asked_again_until_it_answers(slow_to_answer, tmp_path):
    with Peer(tmp_path) as peer:
        answer = peer.caller.call_until_answered(Trigger, "slow/answer", Trigger.Request())
    assert answer.message == "2"
    assert len(slow_to_answer) == 2


def test_a_service_that_is_not_there_is_named_with_the_time_it_had(tmp_path):
    with Peer(tmp_path) as peer, pytest.raises(NoAnswerError, match=r"no/such did not answer within 0\.5 s"):
        peer.caller.call_until_answered(Trigger, "no/such", Trigger.Request(), patience=0.5)
