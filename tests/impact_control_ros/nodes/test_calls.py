"""Calls of services and transitions whose answers get lost, come late, or wait for the robot."""

from __future__ import annotations

import time

import pytest
import rclpy
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from harness import Peer
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.calls import ANSWER_PATIENCE, NoAnswerError
from impact_control_ros.session.graph import Duty, NodeSpec
from spun_node import SpunNode


@pytest.fixture
def peer(tmp_path):
    with Peer(tmp_path) as peer:
        yield peer


@pytest.fixture
def slow_to_answer():
    """Services that answer their first request too late; the requests they took."""
    context = rclpy.Context()
    rclpy.init(context=context)
    slow, requests = SpunNode("slow", context), []

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

    slow.node.create_service(Trigger, "slow/answer", count)
    slow.node.create_service(GetState, "slow/get_state", state)
    slow.start()
    yield requests
    slow.close()
    context.try_shutdown()


def test_a_service_is_asked_again_until_it_answers(slow_to_answer, peer):
    answer = peer.caller.call_until_answered(Trigger, "slow/answer", Trigger.Request())
    assert answer.message == "2"
    assert len(slow_to_answer) == 2


def test_a_state_is_asked_for_again_until_it_comes(slow_to_answer, peer):
    assert peer.caller.state("slow") == State.PRIMARY_STATE_ACTIVE
    assert len(slow_to_answer) == 2


def test_a_service_that_is_not_there_is_named_with_the_time_it_had(peer):
    with pytest.raises(NoAnswerError, match=r"no/such did not answer within 0\.5 s"):
        peer.caller.call_until_answered(Trigger, "no/such", Trigger.Request(), patience=0.5)


# ---------------------------------------------------------------------- an activation that waits for the robot


def configured(peer, patience):
    """Start a detector whose robot side is not there."""
    peer.processes.start(NodeSpec("detector", "detector", Duty.LOOP, {"robot_patience": patience}))
    peer.caller.await_node("detector")
    assert peer.change("detector", Transition.TRANSITION_CONFIGURE)
    return peer.caller.begin_change("detector", Transition.TRANSITION_ACTIVATE)


def state(peer):
    return peer.call(GetState, "detector/get_state", GetState.Request()).current_state.id


def test_an_activation_is_made_when_the_robot_is_there_and_the_node_answers_meanwhile(peer):
    change = configured(peer, 30.0)
    peer.spin(0.5)
    assert not change.answer.done()
    assert state(peer) == State.TRANSITION_STATE_ACTIVATING
    request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_CLEANUP))
    assert not peer.call(ChangeState, "detector/change_state", request).success
    found = []

    def publish():
        found or found.append(peer.node.create_publisher(JointState, topics.JOINT_STATES, qos.STREAM))

    # Later than the caller asks for the state instead of waiting on.
    peer.node.create_timer(3.0, publish)
    assert peer.caller.end_change(change)
    assert state(peer) == State.PRIMARY_STATE_ACTIVE


def test_an_activation_is_refused_when_the_patience_is_over(peer):
    assert not peer.caller.end_change(configured(peer, 0.5))
    assert state(peer) == State.PRIMARY_STATE_INACTIVE
    assert "no publisher of /joint_states: is the robot side running?" in peer.log("detector")


def test_a_stop_of_the_process_is_heeded_while_an_activation_waits(peer):
    configured(peer, 60.0)
    peer.spin(0.3)
    peer.processes.request_stop(["detector"])
    peer.until(lambda: not peer.processes.running("detector"), patience=10.0, what="the end of the process")
