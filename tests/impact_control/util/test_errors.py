"""Our exceptions survive the way from a worker process to the one that waits for it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from impact_control.planning import ANTE, InfeasibleTaskError, Quantity, Use
from impact_control.references import UnreachableReferenceError
from impact_control.util.errors import (
    ImpactControlError,
    InvalidInputError,
    MissingDependencyError,
    ScenarioError,
    words_of,
)

ERRORS = [
    ImpactControlError("it failed"),
    InvalidInputError("mass", -1.0, "above 0"),
    ScenarioError("file.yaml", "task.duration", "2 kg", "a time"),
    MissingDependencyError("install drake"),
    UnreachableReferenceError(0.5, "joint_1", 3.0, "below 2 rad"),
    InfeasibleTaskError((Use(Quantity.TORQUE, ANTE, "joint_1", 0.5, -90.0, -87.0, 87.0, 1.03, "task.impact.speed"),)),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_is_the_same_on_the_other_side(error):
    received = pickle.loads(pickle.dumps(error))
    assert type(received) is type(error)
    assert str(received) == str(error)
    assert vars(received) == vars(error)


def test_what_was_noted_on_the_way_comes_along_and_is_told():
    error = InvalidInputError("mu", -1.0, "at least 0")
    error.add_note("in the trial 7")
    received = pickle.loads(pickle.dumps(error))
    assert words_of(received) == "mu = -1.0; allowed: at least 0\nin the trial 7"
    assert words_of(ValueError("odd")) == "odd"


def test_a_long_value_or_key_is_cut():
    """It may be a whole file, which a client must not get by naming it."""
    for error in (
        InvalidInputError("joint_position", list(range(5000)), "7 numbers"),
        ScenarioError("file.yaml", "task", "x" * 5000, "a section"),
        ScenarioError("file.yaml", "x" * 5000, None, "an entry"),
    ):
        assert len(str(error)) < 500
        assert "...; allowed: " in str(error) or "...: nothing is given" in str(error)
    path = Path("/" + 60 * "directory/" + "file.yaml")
    assert str(InvalidInputError("file", path, "a file")) == f"file = '{path}'; allowed: a file"
