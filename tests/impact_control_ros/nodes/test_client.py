"""The client on a graph in lockstep: the examples of docs/clients.md as they stand there, and what is refused."""

from __future__ import annotations

import itertools
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from impact_control.classification import Verdict
from impact_control.control import Mode
from impact_control.pipeline import MoveOutcome, Outcome
from impact_control.references import build_reference, rigid_impact_map
from impact_control.robots import InertiaModel, load_robot
from impact_control.scenario import load_scenario
from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control_ros.bridge.calls import NoAnswerError
from impact_control_ros.session.client import ImpactClient
from impact_control_ros.session.graph import describe_graph
from impact_control_ros.session.processes import GraphError
from impact_control_ros.session.session import Session

PAGE = Path(__file__).resolve().parents[3] / "docs" / "clients.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    specs = describe_graph("tabletop", lockstep=True, record=False)
    with Session(specs, tmp_path_factory.mktemp("log")) as session:
        session.start()
        yield session


@pytest.fixture
def arm(session):
    """The arm at the start of the task, in simulated time that runs."""
    session.restart_arm("tabletop", 3)
    session.pause(False)
    yield session
    session.pause(True)


def run_example(number):
    exec(compile(EXAMPLES[number], f"{PAGE}, example {number}", "exec"), {})


def test_the_examples_run_as_they_stand_in_the_documentation(arm, capsys):
    run_example(0)
    first, second = capsys.readouterr().out.splitlines()
    assert first == "SUCCEEDED"
    assert second.startswith("tabletop: impact expected, behaviour after it expected")
    run_example(1)
    assert len(re.findall(r"[-\d.]+e?[-+\d]*", capsys.readouterr().out)) >= 8
    run_example(2)  # a late joiner
    told = capsys.readouterr().out.splitlines()
    assert told[-1].startswith("impact expected, afterwards expected")


def test_the_arm_goes_to_a_configuration_and_home(arm):
    aside = build_reference(load_scenario("tabletop"), load_robot()).initial_configuration + 0.2 * np.eye(7)[0]
    with ImpactClient() as client:
        moved = client.move_to(aside, speed=1.0)
        assert moved.outcome is MoveOutcome.REACHED and moved.final_error < 0.01
        with pytest.raises(GraphError, match=r"speed = 99\.0; allowed: above 0, at most"):
            client.move_to(aside, speed=99.0)
        assert client.home().outcome is MoveOutcome.REACHED


def test_a_run_tells_of_its_progress_and_its_verdict(arm):
    seen = []
    with ImpactClient() as client:
        result = client.run("tabletop", on_progress=seen.append)
        assert result.outcome is Outcome.SUCCEEDED and result.impacts >= 1
        verdict = client.wait_for_verdict()
        assert (verdict.impact, verdict.post_impact) == (Verdict.EXPECTED, Verdict.EXPECTED)
        assert verdict.scenario == "tabletop" and abs(verdict.time_error) < 0.1
        assert client.verdict is verdict
    assert seen and seen[0].task_time <= seen[-1].task_time <= seen[-1].duration + 1.0


def test_trials_in_a_row_begin_at_the_start_wherever_the_arm_is(arm):
    aside = build_reference(load_scenario("tabletop"), load_robot()).initial_configuration + 0.2 * np.eye(7)[0]
    seen = []
    with ImpactClient() as client:
        client.move_to(aside, speed=1.0)
        results = client.run("tabletop", times=2, on_progress=seen.append)
        assert [result.outcome for result in results] == [Outcome.SUCCEEDED] * 2
        assert client.results == results and results[0] is not results[1]
        assert [mode for mode, _ in itertools.groupby(seen, lambda one: one.mode)].count(Mode.ANTE) == 2
        with pytest.raises(GraphError, match=r"refused to move: .*nearest: tabletop") as caught:
            client.run("tabletopp", times=2)
        assert caught.value.__notes__[0].startswith("in trial 1 of 2; ") and client.results == []


def test_verdicts_are_heard_in_another_terminal_until_ctrl_c(arm):
    command = [sys.executable, "-m", "impact_control.cli.main", "verdicts"]
    listener = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with ImpactClient() as client:
        client.run("tabletop")
        newest = str(client.wait_for_verdict())
    heard = []
    while not heard or heard[-1] != newest:
        heard.append(listener.stdout.readline().rstrip())
        assert heard[-1].startswith("tabletop: impact "), heard
    listener.send_signal(signal.SIGINT)
    assert listener.wait(10.0) == 0
    assert len(heard) > 1


def test_the_predictor_answers_with_the_map_of_the_core(session):
    robot = load_robot()
    reference = build_reference(load_scenario("tabletop"), robot)
    geometry = reference.geometry
    q, dq = reference.impact_configuration, reference.ante_impact_velocity
    with ImpactClient() as client:
        found = client.predict(
            q,
            dq,
            geometry.normal,
            contact_offset=geometry.contact_offset,
            friction=0.1,
            inertia_model=InertiaModel.MOTORS,
        )
        expected = rigid_impact_map(robot, InertiaModel.MOTORS)(q, dq, geometry.contact_offset, geometry.normal, 0.1)
        np.testing.assert_allclose(found.joint_velocity, expected.velocity, rtol=1e-12)
        assert found.joint_names == tuple(robot.joint_names)
        assert found.contact_velocity_after[2] == pytest.approx(0.0, abs=1e-12)
        assert (found.slip, found.jammed) == (expected.slip, expected.jammed)
        assert found.kinetic_energy_change == pytest.approx(expected.kinetic_energy_change)
        with pytest.raises(GraphError, match="joint_position"):
            client.predict(q[:6], dq, geometry.normal)
        with pytest.raises(InvalidInputError, match="normal"):
            client.predict(q, dq, (0.0, 1.0))


def test_what_is_refused_or_not_answered_is_said(session):
    with ImpactClient() as client, pytest.raises(GraphError, match=r"refused scenario 'tabletopp'.*nearest: tabletop"):
        client.run("tabletopp")
    with ImpactClient("nobody", patience=0.3) as client:
        for call in (client.run, lambda: client.wait_for_verdict(0.3), lambda: client.predict([0.0], [0.0], (0, 0, 1))):
            with pytest.raises(NoAnswerError) as caught:
                call()
            assert isinstance(caught.value, ImpactControlError)
        client.close()
        client.close()


def test_a_task_that_takes_too_long_is_cancelled(arm):
    with ImpactClient() as client:
        with pytest.raises(NoAnswerError, match="the end of the task"):
            client.run("tabletop", timeout=0.01)
        arm.restart_arm("tabletop_raised", 4)
        arm.pause(False)
        assert client.run("tabletop_raised").outcome is Outcome.IMPACT_UNEXPECTED
