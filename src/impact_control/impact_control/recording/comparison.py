"""Predicted against observed joint velocity after the impact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from impact_control.errors import InvalidInputError
from impact_control.types import Vector


@dataclass(frozen=True)
class PostImpactComparison:
    """Predicted against observed joint velocity after the impact, in deg/s as in Rey Arias 2024, tables III
    and IV.

    Attributes:
        joint_names: (n,) order of the arrays.
        ante: (n,) [deg/s] before the impact.
        gross_post: (n,) [deg/s] observed after it, without oscillation.
        predictions: by name of the inertia model, each (n,) [deg/s].
    """

    joint_names: tuple[str, ...]
    ante: Vector
    gross_post: Vector
    predictions: Mapping[str, Vector]

    def __post_init__(self) -> None:
        """Refuse arrays of unequal length."""
        shape = (len(self.joint_names),)
        arrays = {"ante": self.ante, "gross_post": self.gross_post, **self.predictions}
        for name, array in arrays.items():
            if np.shape(array) != shape:
                raise InvalidInputError(name, np.shape(array), f"shape {shape}, one entry a joint")

    @classmethod
    def from_radians(
        cls, joint_names: tuple[str, ...], ante: Vector, gross_post: Vector, predictions: Mapping[str, Vector]
    ) -> PostImpactComparison:
        """The same from rad/s."""
        degrees = {name: np.rad2deg(prediction) for name, prediction in predictions.items()}
        return cls(joint_names, np.rad2deg(ante), np.rad2deg(gross_post), degrees)

    def errors(self) -> dict[str, Vector]:
        """(n,) [deg/s] absolute error of each prediction, Rey Arias 2024 (17)."""
        return {name: np.abs(prediction - self.gross_post) for name, prediction in self.predictions.items()}

    def best(self) -> str | None:
        """Name of the prediction with the smallest mean absolute error."""
        errors = self.errors()
        return min(errors, key=lambda name: float(errors[name].mean())) if errors else None
