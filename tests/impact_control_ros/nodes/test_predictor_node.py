"""The predictor over DDS: the map of the core, every refusal with its reason, and requests that end no node."""

from __future__ import annotations

import os
import re
import signal
import time

import numpy as np
import pytest
from geometry_msgs.msg import Vector3
from impact_msgs.srv import PredictPostImpact
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically

from bursts import answers_of, answers_of_some_attempt, client_of
from harness import Peer
from impact_control.references import build_reference, rigid_impact_map
from impact_control.robots import InertiaModel, load_robot
from impact_control.scenario import load_scenario
from impact_control_ros.bridge import qos
from impact_control_ros.session.graph import Duty, NodeSpec

ROBOT = load_robot()
REFERENCE = build_reference(load_scenario("tabletop"), ROBOT)
FRICTION = 0.1
LOST = "the request was lost: more were sent at once than the queue of the client keeps, ten by default"


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    with Peer(tmp_path_factory.mktemp("log")) as peer:
        peer.bring_up(NodeSpec("predictor", "predictor", Duty.SERVICE, {"scenario": "tabletop"}))
        yield peer


def request(**changes):
    """Return the request for the tabletop impact, with changes."""
    x, y, z = REFERENCE.geometry.contact_offset
    fields = {
        "joint_position": REFERENCE.impact_configuration.tolist(),
        "joint_velocity": REFERENCE.ante_impact_velocity.tolist(),
        "normal": Vector3(x=0.0, y=0.0, z=1.0),
        "contact_offset": Vector3(x=x, y=y, z=z),
        "friction": FRICTION,
        "inertia_model": PredictPostImpact.Request.REDUCED_MOTORS,
    } | changes
    return PredictPostImpact.Request(**fields)


def ask(peer, **changes):
    return peer.call(PredictPostImpact, "predict_post_impact", request(**changes))


@pytest.mark.parametrize("model", InertiaModel)
def test_answers_with_the_map_of_the_core(peer, model):
    answer = ask(peer, inertia_model=int(model))
    assert answer.success, answer.reason
    geometry = REFERENCE.geometry
    q, dq = REFERENCE.impact_configuration, REFERENCE.ante_impact_velocity
    expected = rigid_impact_map(ROBOT, model)(q, dq, geometry.contact_offset, geometry.normal, FRICTION)
    np.testing.assert_allclose(answer.joint_velocity, expected.velocity, rtol=1e-12)
    assert answer.normal_impulse == pytest.approx(expected.normal_impulse)
    assert answer.contact_velocity_after.z == pytest.approx(0.0, abs=1e-12)
    assert answer.contact_velocity_before.z == pytest.approx(-0.2 * np.sin(np.pi / 3), rel=1e-6)
    assert list(answer.joint_names) == list(ROBOT.joint_names)
    assert (answer.slip, answer.jammed) == (expected.slip, expected.jammed)
    assert answer.kinetic_energy_change == pytest.approx(expected.kinetic_energy_change)


@pytest.mark.parametrize(
    ("friction", "heading", "slip"), [(0.1, 1.0, "SLIPS"), (1.0, 1.0, "STICKS"), (0.1, -1.0, "REVERSES")]
)
def test_tells_what_becomes_of_the_slip(peer, friction, heading, slip):
    """Towards the base the impact drives the slip back, which is what friction 0.1 cannot hold."""
    task = load_scenario("tabletop").with_overrides({"task.impact.heading": [heading, 0.0, 0.0]})
    reference = build_reference(task, ROBOT)
    answer = ask(
        peer,
        joint_position=reference.impact_configuration.tolist(),
        joint_velocity=reference.ante_impact_velocity.tolist(),
        friction=friction,
    )
    assert answer.slip == getattr(PredictPostImpact.Response, slip)
    before, after = answer.contact_velocity_before, answer.contact_velocity_after
    assert before.x * heading > 0.0
    assert (after.x * heading > 1e-6) == (slip == "SLIPS")
    assert (after.x * heading < -1e-6) == (slip == "REVERSES")
    assert answer.kinetic_energy_change < 0.0


def test_restitution_gives_back_a_part_of_the_speed(peer):
    answer = ask(peer, friction=0.0, restitution=0.5)
    assert answer.contact_velocity_after.z == pytest.approx(-0.5 * answer.contact_velocity_before.z, rel=1e-9)


def test_any_frame_of_the_robot_can_touch(peer):
    offset = Vector3(x=0.0, y=0.0, z=0.0)
    answer = ask(peer, frame="panda_link7", contact_offset=offset)
    assert answer.success, answer.reason
    assert answer.joint_velocity[6] == pytest.approx(REFERENCE.ante_impact_velocity[6], abs=0.05)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"joint_position": [0.0] * 6}, "joint_position"),
        ({"joint_velocity": [0.0] * 8}, "joint_velocity"),
        ({"joint_velocity": [float("nan")] * 7}, "joint_velocity"),
        ({"joint_position": [9.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0]}, "inside the position limits"),
        ({"joint_velocity": [5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]}, "inside the velocity limits"),
        ({"normal": Vector3(x=0.0, y=0.0, z=2.0)}, "length 1"),
        ({"normal": Vector3(x=0.0, y=0.0, z=float("inf"))}, "normal"),
        ({"normal": Vector3(x=0.0, y=0.0, z=-1.0)}, "moving into the surface"),
        ({"joint_velocity": [0.0] * 7}, "moving into the surface"),
        ({"friction": -0.1}, "friction"),
        ({"friction": float("nan")}, "friction"),
        ({"restitution": 1.1}, "restitution"),
        ({"restitution": float("nan")}, "restitution"),
        ({"inertia_model": 9}, "inertia_model"),
        ({"frame": "panda_hand"}, "frame"),
        ({"contact_offset": Vector3(x=float("nan"))}, "contact_offset"),
        # Of such a speed not even the sign is sure.
        ({"contact_offset": Vector3(x=1e300, y=-1e300)}, "contact_offset|moving into the surface"),
    ],
)
def test_refuses_with_the_reason(peer, change, reason):
    answer = ask(peer, **change)
    assert not answer.success
    assert re.search(reason, answer.reason)
    assert len(answer.joint_velocity) == 0


def test_goes_on_when_it_is_deactivated_between_a_request_and_its_answer(peer):
    predict = peer.node.create_client(PredictPostImpact, "predict_post_impact")
    change = peer.node.create_client(ChangeState, "predictor/change_state")
    withdraw = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE))
    for _ in range(20):
        asked = [predict.call_async(request()) for _ in range(3)]
        withdrawn = change.call_async(withdraw)
        asked += [predict.call_async(request()) for _ in range(5)]
        peer.until(withdrawn.done, what="the deactivation")
        for future in asked:
            predict.remove_pending_request(future)
        assert peer.change("predictor", Transition.TRANSITION_ACTIVATE)
    assert peer.ask(PredictPostImpact, "predict_post_impact", request()).success


def thousands(client, count=1000):
    """Call at once: the requests are there already."""
    requests = [request(friction=0.1 + 1e-4 * k) for k in range(count)]
    return [client.call_async(one) for one in requests]


def test_a_thousand_calls_at_once_are_all_answered(peer):
    """Of a client that keeps as many requests and answers."""
    with client_of(peer, qos.CALLS) as client:
        answers = answers_of(peer, thousands(client))
    assert all(answer.success for answer in answers)


def test_a_thousand_calls_of_a_client_that_keeps_ten_are_answered_or_refused(peer):
    with client_of(peer) as client:
        answers = answers_of_some_attempt(peer, lambda: thousands(client))
    assert {answer.reason for answer in answers if not answer.success} <= {LOST}
    assert answers[-1].success


def test_another_client_does_not_wait_for_them(peer):
    with client_of(peer) as client:
        calls = thousands(client)
        assert ask(peer).success
        assert sum(call.done() for call in calls) < 500


def test_another_client_does_not_wait_for_answers_to_one_that_has_gone(peer):
    """Of which the last test left hundreds: Fast DDS waits for a reader that it expects to come."""
    with client_of(peer) as client:
        thousands(client)
    begun = time.monotonic()
    for _ in range(50):
        assert ask(peer).success
    assert time.monotonic() - begun < 5.0  # each would wait for 0.1 or 0.2 s


def test_requests_that_never_arrive_are_refused(peer):
    """While the predictor stands still its inbox fills, and of the rest the client keeps the last ten."""

    def begin():
        pid = peer.processes.pid("predictor")
        os.kill(pid, signal.SIGSTOP)
        try:
            return thousands(client, 1500)
        finally:
            os.kill(pid, signal.SIGCONT)

    with client_of(peer) as client:
        answers = answers_of_some_attempt(peer, begin)
    refused = [answer.reason for answer in answers if not answer.success]
    assert set(refused) == {LOST} and len(refused) < len(answers) and answers[-1].success


# ---------------------------------------------------------------------- requests at which rclpy raises


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
