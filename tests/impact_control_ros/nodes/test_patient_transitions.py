"""An activation that waits for the robot: the node serves everything else meanwhile, and says so by its state."""

from __future__ import annotations

import pytest
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from sensor_msgs.msg import JointState

from harness import Peer
from impact_control_ros.bridge import qos, topics
from impact_control_ros.session.graph import Duty, NodeSpec


@pytest.fixture
def peer(tmp_path):
    with Peer(tmp_path) as peer:
        yield peer


def configured(peer, patience):
    """Start a detector whose robot side is not there."""
    peer.processes.start(NodeSpec("detector", "detector", Duty.LOOP, {"robot_patience": patience}))
    peer.caller.await_node("detector")
    assert peer.change("detector", Transition.TRANSITION_CONFIGURE)
    return peer.caller.begin_change("detector", Transition.TRANSITION_ACTIVATE)


def state(peer):
    return peer.call(GetState, "detector/get_state", GetState.Request()).current_state.id


def test_it_is_made_when_the_robot_is_there_and_the_node_answers_meanwhile(peer):
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


def test_it_is_refused_when_the_patience_is_over(peer):
    assert not peer.caller.end_change(configured(peer, 0.5))
    assert state(peer) == State.PRIMARY_STATE_INACTIVE
    assert "no publisher of /joint_states: is the robot side running?" in peer.log("detector")


def test_a_stop_of_the_process_is_heeded_meanwhile(peer):
    configured(peer, 60.0)
    peer.spin(0.3)
    peer.processes.request_stop(["detector"])
    peer.until(lambda: not peer.processes.running("detector"), patience=10.0, what="the end of the process")
