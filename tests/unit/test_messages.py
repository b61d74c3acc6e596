"""The constants of the messages are those of the core's enumerations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from impact_control.classification import Verdict
from impact_control.control import Fault, Limit, Mode, QPStatus
from impact_control.pipeline import Outcome
from impact_control.simulation import CommandState

MESSAGES = Path(__file__).resolve().parents[2] / "src" / "impact_msgs"


@pytest.mark.parametrize(
    ("file", "prefix", "enumeration"),
    [
        ("msg/ControllerReference.msg", "", Mode),
        ("msg/ControllerStatus.msg", "FAULT_", Fault),
        ("msg/ControllerStatus.msg", "QP_", QPStatus),
        ("msg/ControllerStatus.msg", "RELAXED_", Limit),
        ("msg/ImpactClassification.msg", "", Verdict),
        ("msg/GroundTruth.msg", "COMMAND_", CommandState),
        ("action/ExecuteImpactTask.action", "", Outcome),
    ],
)
def test_constants_are_those_of_the_core(file, prefix, enumeration):
    text = (MESSAGES / file).read_text()
    written = {
        name: int(value) for name, value in re.findall(rf"^uint8 {prefix}([A-Z_]+) *= *(\d+)", text, re.MULTILINE)
    }
    # No flag is set: not a constant of its own.
    assert written == {
        name: int(value)
        for name, value in enumeration.__members__.items()
        if name != "NONE" or enumeration is not Limit
    }
