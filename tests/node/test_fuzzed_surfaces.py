"""A few inputs for each surface that `make fuzz` gives a hundred thousand: refused or accepted, and nothing else."""

from __future__ import annotations

import json
import runpy
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


WELL = {"inputs": 1000, "failures": 0, "hypothesis": {"inputs": 100, "failures": 0}}


@pytest.mark.parametrize(
    ("record", "well"),
    [
        (WELL, True),
        (WELL | {"inputs": 999}, False),
        (WELL | {"failures": 1}, False),
        (WELL | {"hypothesis": {"inputs": 99, "failures": 0}}, False),
        (WELL | {"hypothesis": {"inputs": 100, "failures": 1}}, False),
        ({"inputs": 0, "failures": 1}, False),  # a process that died writes no more
    ],
)
def test_a_surface_passed_when_both_drivers_put_in_all_inputs(record, well):
    passed = runpy.run_path(str(FUZZ / "__main__.py"), run_name="fuzz")["passed"]
    assert passed(record, 1000, 100) is well
