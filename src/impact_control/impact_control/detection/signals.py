"""Signals of one sample for the detectors, in preallocated arrays."""

from __future__ import annotations

import numpy as np

from impact_control.util.checks import checked_count
from impact_control.util.types import Vector


class DetectionSignals:
    """The signals of one sample, each (n,). The caller makes it once and overwrites the arrays before each call.

    A detector reads what it needs and leaves the rest alone: what no detector in use reads may stay zero.

    Attributes:
        position: q [rad].
        velocity: dq [rad/s].
        joint_torque: tau_J [Nm], measured in the transmission, with what carries the arm against gravity.
        commanded_torque: tau* [Nm] the transmission is to give, gravity included, so that tau_J - tau* is the
            error of the torque control.
        residual: r [Nm] of the momentum observer, Proper 2021 (2.89).
        residual_rate: its rate [Nm/s], Proper 2021 (3.4).
    """

    __slots__ = ("commanded_torque", "joint_torque", "position", "residual", "residual_rate", "velocity")

    def __init__(self, size: int) -> None:
        """Make zeros for `size` joints. Raises InvalidInputError below 1."""
        n = checked_count("size", size, 1)
        self.position: Vector = np.zeros(n)
        self.velocity: Vector = np.zeros(n)
        self.joint_torque: Vector = np.zeros(n)
        self.commanded_torque: Vector = np.zeros(n)
        self.residual: Vector = np.zeros(n)
        self.residual_rate: Vector = np.zeros(n)
