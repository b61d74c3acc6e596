"""Check of the commands of a controller against the limits of its arm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from impact_control.robots import RobotDescription
from impact_control.util.types import Vector
from surfaces import BrokenPromiseError

ROUNDING = 1e-9
"""Part of a limit by which a sum may be off."""


class CommandWatch:
    """Holds commands against torque and torque-rate limits: one look after each sample."""

    def __init__(self, robot: RobotDescription, period: float) -> None:
        """period [s]: of the samples."""
        self._limit = robot.limits.torque * (1.0 + ROUNDING)
        self._step = robot.limits.torque_rate * period * (1.0 + ROUNDING)
        self.start()

    def start(self) -> None:
        """A new activation: the arm had no torque before."""
        self._last: Vector = np.zeros(self._limit.size)

    def look(self, commanded: Sequence[float] | Vector) -> None:
        """Raise BrokenPromiseError when a torque (n,) [Nm] is outside the limits, after the one of the look before."""
        torque = np.array(commanded)
        if torque.shape != self._limit.shape:
            raise BrokenPromiseError(f"{torque.size} torques for {self._limit.size} joints")
        if not np.all(np.isfinite(torque)):
            raise BrokenPromiseError(f"torque {torque} is not finite")
        if np.any(np.abs(torque) > self._limit):
            raise BrokenPromiseError(f"torque {torque} is above its limit {self._limit}")
        if np.any(np.abs(torque - self._last) > self._step):
            raise BrokenPromiseError(f"torque {torque} after {self._last} changes by more than {self._step}")
        self._last = torque
