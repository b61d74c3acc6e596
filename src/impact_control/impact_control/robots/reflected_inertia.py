"""Inertia at the joints: of the links alone, or with the motors reflected through the gears."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from impact_control.robots.joints import Transmission
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix


class InertiaModel(IntEnum):
    """Motor inertia that is added to the mass matrix M of the links; constants of impact_msgs/srv/PredictPostImpact.

    Which one an impact meets depends on the control mode. A stiffly velocity-controlled arm has none of them: it
    meets an impact as one rigid body, see impacts.CompositeRigidBody.
    """

    LINKS = 0
    """M: nothing. The motors stay behind the flexible joints: the first instant of any impact, Proper 2021 (2.55)."""

    REDUCED_MOTORS = 1
    """M + B_theta: a torque-controlled arm, whose loop reduces the motor inertia. Rey Arias 2024 (8)."""

    MOTORS = 2
    """M + B_rho: motors free of a torque loop, with their full inertia after the gear."""


def reflected_motor_inertia(transmission: Transmission, model: InertiaModel) -> Matrix:
    """Return what the motors add to the mass matrix: (n, n) [kg m^2], diagonal. Raises InvalidInputError."""
    if model == InertiaModel.LINKS:
        return np.zeros((transmission.motor_inertia.size,) * 2)
    if model == InertiaModel.REDUCED_MOTORS:
        return np.diag(transmission.reduced_motor_inertia)
    if model == InertiaModel.MOTORS:
        return np.diag(transmission.motor_inertia)
    known = ", ".join(f"{member.name} ({member.value})" for member in InertiaModel)
    raise InvalidInputError("inertia model", model, f"one of {known}")
