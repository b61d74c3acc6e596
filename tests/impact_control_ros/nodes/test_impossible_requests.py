"""Requests at which rclpy raises end no node: parameters of no type there is, transitions that are not allowed."""

from __future__ import annotations

import pytest
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically

from harness import Peer
from impact_control_ros.session.graph import Duty, NodeSpec

SPEC = NodeSpec("predictor", "predictor", Duty.SERVICE, {"scenario": "tabletop"})


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    with Peer(tmp_path_factory.mktemp("log")) as peer:
        peer.bring_up(SPEC)
        yield peer


def setting(kind):
    return Parameter(name="scenario", value=ParameterValue(type=kind, string_value="tabletop_tilted"))


def scenario(peer):
    """The parameter as it is, from a node that still answers."""
    (value,) = peer.call(GetParameters, "predictor/get_parameters", GetParameters.Request(names=["scenario"])).values
    return value.string_value


def test_a_type_that_is_none_is_refused_and_the_node_goes_on(peer):
    request = SetParameters.Request(parameters=[setting(4), setting(79)])
    results = peer.call(SetParameters, "predictor/set_parameters", request).results
    assert [result.successful for result in results] == [False, False]
    assert "scenario of type 79" in results[0].reason
    atomic = SetParametersAtomically.Request(parameters=[setting(255)])
    result = peer.call(SetParametersAtomically, "predictor/set_parameters_atomically", atomic).result
    assert not result.successful and "scenario of type 255" in result.reason
    assert scenario(peer) == "tabletop"


def test_types_there_are_go_their_way(peer):
    request = SetParameters.Request(parameters=[setting(4), setting(3)])
    results = peer.call(SetParameters, "predictor/set_parameters", request).results
    assert [result.successful for result in results] == [True, False]
    assert scenario(peer) == "tabletop_tilted"


@pytest.mark.parametrize("wanted", [Transition(id=Transition.TRANSITION_CONFIGURE), Transition(id=200)])
def test_a_transition_that_is_not_allowed_is_refused_and_the_node_goes_on(wanted, peer):
    for _ in range(2):
        assert not peer.call(ChangeState, "predictor/change_state", ChangeState.Request(transition=wanted)).success
    state = peer.call(GetState, "predictor/get_state", GetState.Request()).current_state
    assert state.id == State.PRIMARY_STATE_ACTIVE
    assert "refused: the state of the node does not allow it" in peer.log("predictor")
    assert peer.processes.running("predictor")
