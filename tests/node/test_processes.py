"""The processes of a session: they end with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SESSION = """
import sys, time
from pathlib import Path
from impact_control.graph import Duty, NodeSpec
from impact_control.nodes.processes import Processes
processes = Processes(Path(sys.argv[1]))
processes.start(NodeSpec("left_behind", "bench_echo", Duty.LOOP))
print(processes.pid("left_behind"), flush=True)
time.sleep(60.0)
"""


def alive(pid):
    """Whether a process runs: one that has ended and that nobody waits for is a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_no_node_is_left_behind_by_a_session_that_is_killed(tmp_path):
    command = [sys.executable, "-c", SESSION, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as session:
        node = int(session.stdout.readline())
        assert alive(node)
        os.kill(session.pid, signal.SIGKILL)
    end = time.monotonic() + 10.0
    while alive(node):
        assert time.monotonic() < end, "the node goes on without its session"
        time.sleep(0.01)
