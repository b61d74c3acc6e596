"""A robot that falls silent in a task, and a user who presses Ctrl-C: real processes, by the wall clock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from impact_control.pipeline import Outcome
from impact_control.recording.series import read_bag
from impact_control_ros.session.graph import describe_graph
from impact_control_ros.session.session import Session
from machine import ATTEMPTS

pytestmark = pytest.mark.wall_clock


def test_a_silent_robot_ends_the_task_in_a_fault(tmp_path):
    silent_since = []

    def fall_silent(progress):
        if progress.task_time > 0.3 and not silent_since:
            session.pause(True)
            silent_since.append(time.monotonic())

    with Session(describe_graph("tabletop", record=False), tmp_path) as session:
        session.start()
        for _ in range(ATTEMPTS):
            result = session.run_task("tabletop", on_progress=fall_silent)
            ended = time.monotonic()
            assert result.outcome is Outcome.FAULT
            assert "STATE_STALE" in result.summary
            if silent_since:
                break
            session.restart_arm("tabletop")
    assert ended - silent_since[0] < 1.0
    assert "no joint state for" in (tmp_path / "impact_loop.log").read_text()


def test_ctrl_c_stops_everything_and_leaves_a_readable_bag(tmp_path):
    command = [sys.executable, "-m", "impact_control.cli.main", "demo", "--output", str(tmp_path)]
    log = tmp_path / "output"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        deadline = time.monotonic() + 60.0
        while b"ante" not in log.read_bytes():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(timeout=15.0) == 130
    assert "stopped by the user" in log.read_text()
    assert "Traceback" not in log.read_text()
    (run,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert len(read_bag(run / "bag").series("joint_states")["stamp"]) > 50
    assert (run / "bag" / "metadata.yaml").is_file()
