"""The springs of flexible joints as whole arms see them; the kernels have their own, `joint_kernel.transmission`."""

from __future__ import annotations

import numpy as np

from impact_control.robots import Transmission
from impact_control.types import Vector


def spring_torque(transmission: Transmission, backlash: Vector, twist: Vector) -> Vector:
    """Return tau (n,) [Nm] at the twist theta - q (n,) [rad]: K times what of it lies beyond the backlash (n,) [rad].

    Rey Arias 2024 (1), Flacco 2016 (5): what the torque sensors see. A new array.
    """
    torque: Vector = transmission.stiffness * (twist - np.clip(twist, -backlash, backlash))
    return torque


def holding_twist(transmission: Transmission, backlash: Vector, torque: Vector) -> Vector:
    """Return the twist theta - q (n,) [rad] at which the springs carry a torque (n,) [Nm]; `spring_torque` inverted."""
    twist: Vector = torque / transmission.stiffness + np.sign(torque) * backlash
    return twist
