"""Predicted against observed velocity after the impact."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.errors import InvalidInputError
from impact_control.recording.comparison import PostImpactComparison


def test_comparison_finds_the_best_prediction() -> None:
    names = ("a", "b")
    predictions = {"M": np.array([1.0, 0.0]), "M + B_theta": np.array([0.1, 0.1])}
    comparison = PostImpactComparison.from_radians(names, np.zeros(2), np.array([0.2, 0.0]), predictions)
    np.testing.assert_allclose(comparison.errors()["M"], np.rad2deg([0.8, 0.0]))
    assert comparison.best() == "M + B_theta"
    with pytest.raises(InvalidInputError, match="gross_post"):
        PostImpactComparison(names, np.zeros(2), np.zeros(3), {})
    with pytest.raises(InvalidInputError, match="M"):
        PostImpactComparison(names, np.zeros(2), np.zeros(2), {"M": np.zeros(1)})
