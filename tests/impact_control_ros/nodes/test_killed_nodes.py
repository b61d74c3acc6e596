"""kill -9 of any node, before and in contact: the rest stops with a message, the arm stands, the bag is readable."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest
from impact_msgs.msg import GroundTruth

from impact_control.recording.series import read_bag
from impact_control.scenario import load_scenario
from impact_control_ros.bridge.supervision import Cause
from impact_control_ros.session.graph import describe_graph
from impact_control_ros.session.processes import NodeDiedError, RobotStoppedError
from impact_control_ros.session.session import Session
from machine import ATTEMPTS, WatchedMachine, stood_still

pytestmark = pytest.mark.wall_clock

DECAY = 10.0
"""[1/s] at which the joints of a damped arm come to rest at least, from 0.6 rad/s at most."""


def kill(session, victim, phase):
    """Run a task and kill a node in it; return when [ns], None where the machine stood still before."""
    killed_at = []

    def kill_in_phase(progress):
        due = progress.task_time > 0.5 if phase == "approach" else progress.impacts > 0
        if due and not killed_at:
            killed_at.append(time.monotonic_ns())
            os.kill(session.processes.pid(victim), signal.SIGKILL)

    try:
        result = session.run_task("tabletop", on_progress=kill_in_phase)
    except NodeDiedError as error:
        assert str(error).startswith(f"node '{victim}' was killed by SIGKILL")
        return killed_at[0]
    assert not killed_at and stood_still(result.summary), f"the task ended first: {result}"
    return None


OTHERS = [("simulator", "contact"), ("predictor", "contact"), ("recorder", "approach"), ("supervisor", "approach")]
"""Rows that `make faults` and `make verify` run; in `make test` each node is killed once, and the loop twice."""

ROWS = [
    pytest.param(victim, phase, marks=pytest.mark.long if (victim, phase) in OTHERS else ())
    for victim in ("simulator", "impact_loop", "predictor", "recorder", "supervisor")
    for phase in ("approach", "contact")
]


@pytest.mark.parametrize(("victim", "phase"), ROWS)
def test_killing_a_node_stops_everything_safely(victim, phase, tmp_path):
    specs = describe_graph("tabletop")
    for attempt in range(ATTEMPTS):
        bag = tmp_path / f"bag{attempt}"
        with WatchedMachine() as machine:
            with Session(specs, tmp_path / "log") as session:
                session.start(bag, load_scenario("tabletop").to_yaml())
                pids = [session.processes.pid(spec.name) for spec in specs]
                killed_at = kill(session, victim, phase)
                stopped_at = time.monotonic_ns()
            taken = 0.0 if killed_at is None else machine.taken(killed_at, stopped_at)
        if killed_at is not None:
            break
    else:
        pytest.fail(f"the machine stood still in each of {ATTEMPTS} attempts")
    assert 1e-9 * (stopped_at - killed_at) - taken < 1.0
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    recording = read_bag(bag)
    assert (bag / "metadata.yaml").is_file()
    assert len(recording.series("joint_states")["stamp"]) > 100
    if victim in ("impact_loop", "predictor"):
        truth = recording.series("simulation/truth")
        assert truth["command_state"][-1] == GroundTruth.COMMAND_REFUSED
        damped = np.isin(truth["command_state"], (GroundTruth.COMMAND_REFUSED, GroundTruth.COMMAND_LOST))
        since = truth["time"][damped.size - np.argmin(damped[::-1])]
        for_so_long = truth["time"][-1] - since  # less than by the clock, where the machine stood still
        assert for_so_long > 0.15
        assert np.abs(truth["joint_velocity"][-1]).max() < max(0.02, 0.6 * np.exp(-DECAY * for_so_long))


def test_a_session_ends_when_its_controller_stands_still(tmp_path):
    stopped_at = []

    def stop(progress):
        if progress.task_time > 0.5 and not stopped_at:
            stopped_at.append(progress.task_time)
            os.kill(session.processes.pid("impact_loop"), signal.SIGSTOP)

    with Session(describe_graph("tabletop", record=False), tmp_path) as session:
        session.start()
        with pytest.raises(RobotStoppedError, match="supervisor stopped the robot: no command for") as stopped:
            for _ in range(ATTEMPTS):
                result = session.run_task("tabletop", on_progress=stop)
                assert not stopped_at and stood_still(result.summary), f"the task ended first: {result}"
                session.restart_arm("tabletop")
    assert stopped.value.cause is Cause.CONTROLLER_SILENT
