"""Calls of services whose answers get lost, or come too late."""

from __future__ import annotations

import threading
import time

import pytest
import rclpy
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger

from harness import Peer
from impact_control_ros.bridge.calls import ANSWER_PATIENCE, NoAnswerError


@pytest.fixture
def slow_to_answer():
    """Services that answer their first request too late; the requests they took."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("slow", context=context)
    requests = []

    def answer(request, response):
        requests.append(request)
        if len(requests) == 1:
            time.sleep(ANSWER_PATIENCE + 0.5)
        return response

    def count(request, response):
        response.message = str(len(requests) + 1)
        return answer(request, response)

    def state(request, response):
        response.current_state.id = State.PRIMARY_STATE_ACTIVE
        return answer(request, response)

    node.create_service(Trigger, "slow/answer", count)
    node.create_service(GetState, "slow/get_state", state)
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


def test_a_state_is_asked_for_again_until_it_comes(slow_to_answer, tmp_path):
    with Peer(tmp_path) as peer:
        assert peer.caller.state("slow") == State.PRIMARY_STATE_ACTIVE
    assert len(slow_to_answer) == 2


def test_a_service_that_is_not_there_is_named_with_the_time_it_had(tmp_path):
    with Peer(tmp_path) as peer, pytest.raises(NoAnswerError, match=r"no/such did not answer within 0\.5 s"):
        peer.caller.call_until_answered(Trigger, "no/such", Trigger.Request(), patience=0.5)
