"""`impact-control up`, `status`, `down`, and the states that a client hears of such a graph."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from impact_control.control import Mode
from impact_control.scenario import load_scenario, robot_of
from impact_control.util.errors import InvalidInputError
from impact_control_ros.bridge.calls import NoAnswerError
from impact_control_ros.session.client import ImpactClient
from process_table import children

pytestmark = [pytest.mark.wall_clock, pytest.mark.timeout(400)]

IMPACT_CONTROL = [sys.executable, "-m", "impact_control.cli"]


def command(*words):
    return subprocess.run([*IMPACT_CONTROL, *words], capture_output=True, text=True, timeout=180)


def start(directory, *words):
    """Start a graph that stays; return its process once it is there, those of its nodes, and what they come from."""
    up = subprocess.Popen([*IMPACT_CONTROL, "up", "-o", str(directory), *words], stdout=subprocess.PIPE, text=True)
    first = up.stdout.readline()
    assert first.startswith(f"Graph:  tabletop in ROS domain {os.environ['ROS_DOMAIN_ID']}, namespace /"), first
    server = children(up.pid)
    return up, set().union(*(children(process.name) for process in server)), server


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    up, nodes, server = start(tmp_path_factory.mktemp("up"), "--real-time-factor", "0.2")
    yield up, nodes, server
    up.terminate()
    up.wait(30.0)


def test_its_states_are_streamed(graph):
    robot = robot_of(load_scenario("tabletop").robot)
    with ImpactClient() as client:
        known = (state for state in client.states(0.05) if state.mode is not None)
        first, *others = itertools.islice(known, 4)
        with pytest.raises(InvalidInputError, match="period"):
            next(client.states(0.0))
    assert first.joint_names == tuple(robot.joint_names)
    assert all(state.time > before.time for before, state in itertools.pairwise([first, *others]))
    assert others[-1].mode is Mode.IDLE and others[-1].verdict is None and not others[-1].fault_reason
    np.testing.assert_allclose(others[-1].position, first.position, atol=0.01)
    assert others[-1].velocity.shape == others[-1].torque.shape == (7,)


def test_its_status_is_a_table(graph):
    for _ in range(20):  # a busy machine takes its time to find topics
        ran = command("status")
        assert ran.returncode == 0, ran.stderr
        if "no joint state" not in ran.stdout:
            break
    head, *rows = ran.stdout.splitlines()
    assert head == f"Graph in ROS domain {os.environ['ROS_DOMAIN_ID']}, namespace /"
    assert dict(re.split(r" {2,}", row) for row in rows) == {
        **dict.fromkeys(("/impact_loop", "/predictor", "/simulator", "/supervisor"), "active"),
        "mode": "idle",
        "verdict": "none yet",
    }


def test_a_second_one_is_refused(graph, tmp_path):
    ran = command("up", "-o", str(tmp_path))
    assert ran.returncode == 1
    assert "a graph runs here already: /" in ran.stderr and "Traceback" not in ran.stderr


def test_down_ends_it_with_all_nodes(graph):
    up, nodes, server = graph
    assert len(nodes) == 4
    ran = command("down")
    assert (ran.returncode, ran.stdout) == (0, "the graph in / ends\n"), ran.stderr
    assert up.wait(10.0) == 0
    assert not any(process.exists() for process in nodes | server)


def test_ctrl_c_ends_it_with_all_nodes(tmp_path):
    up, nodes, server = start(tmp_path, "--namespace", "left", "--real-time-factor", "0.2")
    up.send_signal(signal.SIGINT)
    assert up.wait(30.0) == 0
    assert nodes and not any(process.exists() for process in nodes | server)


ASKING = [["status"], ["down"], ["stop"], ["home"], ["run", "tabletop", "--launched"]]


def test_without_a_graph_commands_name_where_they_looked():
    """All at once: each waits for an answer."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    asking = [subprocess.Popen([*IMPACT_CONTROL, *words, "--namespace", "nobody"], **pipes) for words in ASKING]
    place = f"ROS domain {os.environ['ROS_DOMAIN_ID']}, namespace /nobody"
    for words, process in zip(ASKING, asking, strict=True):
        told, errors = process.communicate(timeout=100.0)
        assert (process.returncode, told) == (1, ""), words
        assert errors and all(place in line for line in errors.splitlines()), errors


def test_verdicts_say_so_and_listen_on():
    words = [*IMPACT_CONTROL, "verdicts", "--namespace", "nobody"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as listener:
        first = listener.stderr.readline()
        listener.send_signal(signal.SIGINT)
        assert listener.wait(10.0) == 0
    assert "namespace /nobody; listening until Ctrl-C" in first


def test_a_client_without_an_arm_does_not_wait_for_ever():
    with ImpactClient("nobody", patience=0.2) as client, pytest.raises(NoAnswerError, match="/nobody/joint_states"):
        next(client.states(0.01))


@pytest.mark.parametrize("words", [["verdicts"], ["stop"], ["status"], ["up"]], ids=" ".join)
def test_a_namespace_that_ros_does_not_allow_is_refused_in_one_line(words, tmp_path, monkeypatch, capsys):
    from impact_control.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["impact-control", *words, "--namespace", "9bad/"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert "namespace = '9bad/'; allowed: names of letters, digits and _" in capsys.readouterr().err
