"""Clients and commands against stand-ins for the nodes of a graph, and a session that a client ends."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from threading import Event, Thread
from types import SimpleNamespace

import pytest
from action_msgs.msg import GoalStatus
from impact_msgs.action import ExecuteImpactTask, MoveTo
from impact_msgs.msg import ControllerStatus
from lifecycle_msgs.srv import GetState
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from harness import JOINTS, Peer, joint_state
from impact_control.control import Mode
from impact_control.pipeline import MoveOutcome, Outcome
from impact_control.util.errors import ImpactControlError, InterruptedByUserError, InvalidInputError
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.calls import NoAnswerError
from impact_control_ros.session.client import ImpactClient
from impact_control_ros.session.session import Session


@pytest.fixture
def arm(tmp_path):
    """A loop in the namespace `left` that publishes until the test ends."""

    def answer(request, response):
        response.current_state.label = "active"
        return response

    over = Event()
    with Peer(tmp_path, namespace="left") as peer:
        peer.node.create_service(GetState, "impact_loop/get_state", answer)
        joints = peer.node.create_publisher(JointState, topics.JOINT_STATES, qos.STREAM)
        status = peer.node.create_publisher(ControllerStatus, topics.STATUS, qos.STREAM)

        def publish():
            for k in itertools.count(1):
                joints.publish(joint_state(k * 1_000_000, [float(k)] * 7))
                status.publish(ControllerStatus(mode=Mode.ANTE))
                peer.spin(0.005)
                if over.is_set():
                    return

        thread = Thread(target=publish)
        thread.start()
        yield
        over.set()
        thread.join()


def found(client):
    """The nodes of a graph that answer, once there are any: a busy machine takes its time to find them.

    A node that an earlier test killed is listed for a while.
    """
    end, nodes = time.monotonic() + 60.0, {}
    while not nodes and time.monotonic() < end:
        nodes = {name: state for name, state in client.nodes().items() if state != "no answer"}
    return nodes


def test_a_client_streams_states_and_finds_nodes_in_and_below_its_namespace(arm):
    with ImpactClient("left") as client:
        known = (state for state in client.states(0.05) if state.mode is not None)
        states = list(itertools.islice(known, 3))
        assert all(before.time < state.time for before, state in itertools.pairwise(states))
        assert all(state.position[0] == pytest.approx(1e3 * state.time) for state in states)
        assert states[-1].mode is Mode.ANTE and states[-1].verdict is None and not states[-1].fault_reason
        assert states[-1].joint_names == tuple(JOINTS) and states[-1].velocity.shape == states[-1].torque.shape == (7,)
        assert client.absence(topics.STATUS, 30.0) == ""
        assert found(client) == {"/left/impact_loop": "active"}
        assert client.absence(topics.STOP, 0.1) == f"no {topics.STOP} in {client.place}"
        with pytest.raises(InvalidInputError, match="period"):
            next(client.states(0.0))
    with ImpactClient() as client:
        assert found(client) == {"/left/impact_loop": "active"}
        assert client.absence(topics.STATUS, 0.1).endswith("namespace /; there is one in /left")


def scripted(*steps):
    """Stand-in for `Caller.run`: each step is the outcome of a task or motion, None for no goal, or an error."""
    left = list(steps)

    def run(kind, *_, **__):
        step = left.pop(0)
        if isinstance(step, BaseException):
            raise step
        if step is None:
            return None
        assert kind is (MoveTo if isinstance(step, MoveOutcome) else ExecuteImpactTask)
        result = kind.Result(outcome=int(step), summary=f"step {step.name}")
        return SimpleNamespace(status=GoalStatus.STATUS_SUCCEEDED, result=result)

    return run, left


THERE, SUCCEEDED = MoveOutcome.REACHED, Outcome.SUCCEEDED
TRIAL = (THERE, SUCCEEDED)


@pytest.mark.parametrize(
    ("steps", "had", "error"),
    [
        ((*TRIAL, MoveOutcome.NOT_REACHED, *TRIAL, THERE, Outcome.NO_IMPACT), [0, 0, 3], None),
        ((*TRIAL, *[MoveOutcome.NOT_REACHED] * 3), [0], "way to the start ended not reached: step NOT_REACHED"),
        ((*TRIAL, MoveOutcome.CONTACT), [0], "way to the start ended contact"),
        ((*TRIAL, MoveOutcome.REFUSED), [0], "refused to move: step REFUSED"),
        ((*TRIAL, THERE, Outcome.REFUSED), [0], "refused scenario 'tabletop': step REFUSED"),
        ((*TRIAL, THERE, None), [0], "refused scenario 'tabletop': it is not active"),
        ((*TRIAL, THERE, Outcome.FAULT), [0, 5], "task ended fault: step FAULT"),
        ((*TRIAL, THERE, Outcome.CANCELLED), [0, 4], "task ended cancelled"),
        ((*TRIAL, THERE, NoAnswerError("no end")), [0], "no end"),
        ((*TRIAL, THERE, KeyboardInterrupt("by hand")), [0], "by hand"),
    ],
    ids=lambda value: "" if isinstance(value, tuple) else None,
)
def test_what_ends_a_series_is_raised_and_the_results_before_are_kept(monkeypatch, steps, had, error):
    with ImpactClient("left") as client:
        run, left = scripted(*steps)
        monkeypatch.setattr(client._caller, "run", run)
        if error is None:
            assert client.run("tabletop", times=3) == client.results
        else:
            with pytest.raises((ImpactControlError, KeyboardInterrupt), match=error) as caught:
                client.run("tabletop", times=3)
            assert caught.value.__notes__ == ["in trial 2 of 3; the results so far are in `results` of the client"]
        assert [result.outcome for result in client.results] == had and not left


@pytest.mark.parametrize("times", [0, -1, 1.5, "2"])
def test_a_number_of_trials_that_is_none_is_refused(times):
    with ImpactClient("left") as client, pytest.raises(InvalidInputError, match=r"times = .*; allowed: a whole number"):
        client.run("tabletop", times=times)


def test_a_namespace_that_ros_does_not_allow_is_refused():
    with pytest.raises(InvalidInputError, match="'9bad/'; allowed: names of letters"):
        ImpactClient("9bad/")


def test_a_session_that_offers_its_end_is_ended_by_a_client(tmp_path):
    answers = []

    def down():
        with ImpactClient("left") as client:
            assert client.absence(topics.END, 30.0) == ""
            answers.append(client.end_graph())

    thread = Thread(target=down)
    with Session([], tmp_path, namespace="left") as session:
        session.offer_end()
        thread.start()
        with pytest.raises(InterruptedByUserError):
            session.watch(60.0)
    thread.join()
    assert answers == ["the graph in /left ends"]


@pytest.fixture
def supervisor(tmp_path):
    """Services of the arm `left` and of one without a name, and who was asked for what."""
    asked = []

    def answer(where, what):
        def called(request, response):
            asked.append((where, what))
            response.success, response.message = True, f"{what} of {where}"
            return response

        return called

    with Peer(tmp_path, namespace="left") as peer:
        for where, prefix in (("left", ""), ("elsewhere", "/")):
            for what in ("stop", "reset"):
                peer.node.create_service(Trigger, f"{prefix}supervisor/{what}", answer(where, what))
        yield peer, asked


@pytest.mark.parametrize("what", ["stop", "reset"])
def test_commands_ask_the_supervisor_of_the_namespace_for_what_they_say(supervisor, what):
    peer, asked = supervisor
    command = [sys.executable, "-m", "impact_control.cli.main", what, "--namespace", "left"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peer.until(lambda: process.poll() is not None, patience=60.0, what="the end of the command")
    assert process.returncode == 0
    assert process.stdout.read() == f"{what} of left\n"
    assert set(asked) == {("left", what)}
