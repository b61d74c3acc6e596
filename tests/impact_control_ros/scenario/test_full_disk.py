"""The outcome of a task is printed, in plain lines, whatever becomes of its bag."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys

import pytest

LARGEST_FILE = 2_000_000
"""[bytes] A bag of the demo needs more; a write beyond it fails like one to a full disk."""


@pytest.mark.scenario
def test_the_outcome_is_printed_when_the_bag_cannot_be_written(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "impact_control.cli.main", "demo", "--lockstep", "--output", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=100.0,
        env=os.environ,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE)),
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "Task: succeeded (behaviour after the impact expected" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert re.search(r"was cut off(: recording stopped|, and cannot be completed: .*File too large)", done.stderr)
    assert sum(line.startswith("impact-control: ") for line in done.stderr.splitlines()) == 1
