"""A recorder whose disk is full, or that stands still: the task goes on, what was written stays readable."""

from __future__ import annotations

import os
import resource
import signal

import pytest

from impact_control.graph import describe_graph
from impact_control.nodes.calls import NoAnswerError
from impact_control.nodes.graph_errors import GraphError
from impact_control.nodes.session import Session
from impact_control.pipeline import Outcome
from impact_control.recording.series import read_bag
from impact_control.scenario import load_scenario

FULL = 400_000
"""Bytes that the disk still takes."""


@pytest.fixture
def session(tmp_path):
    with Session(describe_graph("tabletop", lockstep=True), tmp_path / "log") as session:
        session.start(tmp_path / "bag", load_scenario("tabletop").to_yaml())
        yield session


def test_a_full_disk_ends_the_recording_and_nothing_else(session, tmp_path):
    resource.prlimit(session.processes.pid("recorder"), resource.RLIMIT_FSIZE, (FULL, FULL))
    assert session.run_task("tabletop").outcome is Outcome.SUCCEEDED
    with pytest.raises(GraphError, match=r"cut off.*recording stopped.*File too large"):
        session.record(None)
    assert len(read_bag(tmp_path / "bag").series("joint_states")["stamp"]) > 100


@pytest.mark.long
def test_a_recorder_that_stands_still_holds_nobody_up(session, tmp_path):
    stopped = []

    def stop(progress):
        if progress.task_time > 0.5 and not stopped:
            stopped.append(progress.task_time)
            os.kill(session.processes.pid("recorder"), signal.SIGSTOP)

    assert session.run_task("tabletop", on_progress=stop).outcome is Outcome.SUCCEEDED
    with pytest.raises(NoAnswerError, match="recorder"):
        session.record(None)
    session.stop()
    stamps = read_bag(tmp_path / "bag").series("joint_states")["stamp"]
    assert stamps[-1] - stamps[0] > 0.3
