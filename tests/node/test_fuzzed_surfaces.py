"""A few inputs for each surface that `make fuzz` gives a hundred thousand: refused or accepted, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "fuzz"))

from surfaces import SURFACES

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"
INPUTS = {"messages": 100, "actions": 20}
"""Where they are slower than elsewhere."""


@pytest.mark.parametrize("surface", SURFACES)
def test_every_input_is_accepted_or_refused(surface, tmp_path):
    """In a process of its own: nodes that rclpy's cycles keep alive would be seen by the tests after it."""
    record, inputs = tmp_path / "record.json", INPUTS.get(surface, 150)
    command = [sys.executable, str(FUZZ / "drawn.py"), surface, str(record), str(inputs), "0"]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert record.is_file(), ended.stdout
    told = json.loads(record.read_text())
    assert told["failures"] == 0, ended.stdout
    assert told["inputs"] >= inputs
