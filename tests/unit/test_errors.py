"""Our exceptions survive the way from a worker process to the one that waits for it."""

from __future__ import annotations

import pickle

import pytest

from impact_control.errors import ImpactControlError, InvalidInputError, MissingDependencyError, ScenarioError
from impact_control.references import UnreachableReferenceError

ERRORS = [
    ImpactControlError("it failed"),
    InvalidInputError("mass", -1.0, "above 0"),
    ScenarioError("file.yaml", "task.duration", "2 kg", "a time"),
    MissingDependencyError("install drake"),
    UnreachableReferenceError(0.5, "joint_1", 3.0, "below 2 rad"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_is_the_same_on_the_other_side(error):
    received = pickle.loads(pickle.dumps(error))
    assert type(received) is type(error)
    assert str(received) == str(error)
    assert vars(received) == vars(error)
