"""Verdict on the contact force after the impact: measured against desired."""

from __future__ import annotations

import math

import numpy as np

from impact_control.classification.classifier import Verdict
from impact_control.scenario import HeldForceSettings
from impact_control.util.types import Vector


class HeldForce:
    """Compares the external force with the opposite of the force that the arm means to exert, van Steen 2024 (26).

    An object of another mass that two arms clamp leaves the impact nearly as fast as the expected one: its mass adds
    little to theirs, and what they do to each other does not depend on it. Its weight is what they feel then. With
    f_ext the force that explains the momentum residual, Proper 2021 (2.30), (2.31), (2.89), and f the force exerted
    on the object, the verdict is EXPECTED when

        |mean of (f_ext + f)| <= limit    over t_1 + after < t <= t_1 + after + window.

    Attributes: verdict, UNKNOWN before; error, the mean (3,) [N], axes of A, so far, from the weight that is too much
    for instance (0, 0, -m g).
    """

    def __init__(self, settings: HeldForceSettings) -> None:
        self.settings = settings
        self.error: Vector = np.zeros(3)
        self._sample = np.zeros(3)
        self.reset()

    def reset(self) -> None:
        """Wait for the next impact."""
        self.verdict = Verdict.UNKNOWN
        self.error[:] = 0.0
        self._count = 0

    def due(self, since_impact: float) -> bool:
        """Return whether a sample so long after the impact [s] is to be shown to `compare`."""
        return self.verdict is Verdict.UNKNOWN and since_impact > self.settings.after

    def compare(self, since_impact: float, external_force: Vector, exerted: Vector) -> bool:
        """Take a sample that is `due`, forces (3,) [N], axes of A; return whether the verdict fell with it."""
        np.add(external_force, exerted, out=self._sample)
        np.subtract(self._sample, self.error, out=self._sample)
        self._count += 1
        np.divide(self._sample, self._count, out=self._sample)
        np.add(self.error, self._sample, out=self.error)
        if since_impact <= self.settings.after + self.settings.window:
            return False
        x, y, z = self.error
        # Not a number is unexpected too.
        held = math.sqrt(x * x + y * y + z * z) <= self.settings.limit
        self.verdict = Verdict.EXPECTED if held else Verdict.UNEXPECTED
        return True

    @property
    def reason(self) -> str:
        """Reason of the verdict, in words with its numbers. Builds a string: not for every tick."""
        x, y, z = self.error
        limits = self.settings
        return (
            f"held force {self.verdict.name.lower()}: from {limits.after:g} s after the impact the external force "
            f"differs in the mean by {x:.1f}, {y:.1f}, {z:.1f} N from what is exerted (limit {limits.limit:g} N)"
        )
