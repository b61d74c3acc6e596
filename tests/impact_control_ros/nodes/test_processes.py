"""The processes of a session: they end with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from rclpy.context import Context
from rclpy.node import Node

from harness import until
from impact_control_ros.session import processes
from impact_control_ros.session.graph import Duty, NodeSpec
from impact_control_ros.session.processes import Processes
from process_table import alive

SESSION = """
import sys, time
from pathlib import Path
from impact_control_ros.session.graph import Duty, NodeSpec
from impact_control_ros.session.processes import Processes
processes = Processes(Path(sys.argv[1]))
processes.start(NodeSpec("left_behind", "benchmark.bench_echo", Duty.LOOP))
print(processes.pid("left_behind"), flush=True)
time.sleep(60.0)
"""


def test_no_node_is_left_behind_by_a_session_that_is_killed(tmp_path):
    command = [sys.executable, "-c", SESSION, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as session:
        node = int(session.stdout.readline())
        assert alive(node)
        os.kill(session.pid, signal.SIGKILL)
    until(lambda: not alive(node), "the end of a node without its session", 10.0)


@pytest.mark.parametrize(("patience", "complete"), [(30.0, True), (0.0, False)])
def test_a_node_that_does_not_end_is_killed_once_its_work_is_complete_or_its_time_is_over(tmp_path, patience, complete):
    deaf = tmp_path / "deaf"
    deaf.write_text("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 0.05; done\n")
    deaf.chmod(0o755)
    started = Processes(tmp_path)
    started.start(NodeSpec("deaf", str(deaf), Duty.RECORDER))
    pid, begun = started.pid("deaf"), time.monotonic()
    started.stop(["deaf"], patience, complete=lambda: complete)
    assert time.monotonic() - begun < 10.0
    assert not alive(pid) and not started.pids()


@pytest.mark.parametrize(
    "text", ["my file.yaml", "it's.yaml", '"a" \\n #b: {c} [d], %s ü.yaml', "two\nlines", "true", "1.5", "", "~/x.yaml"]
)
def test_a_text_reaches_the_node_as_it_is(monkeypatch, tmp_path, text):
    commands = []
    server = SimpleNamespace(fork=lambda module, arguments, *_: commands.append(arguments))
    monkeypatch.setattr(processes, "server", lambda: server)
    Processes(tmp_path).start(NodeSpec("predictor", "predictor", Duty.LOOP, parameters={"scenario": text}))
    ((*_, flag, parameter),) = commands
    context = Context()
    context.init(args=["--ros-args", flag, parameter])
    try:
        node = Node("predictor", context=context)
        assert node.declare_parameter("scenario", "tabletop").value == text
        node.destroy_node()
    finally:
        context.shutdown()
