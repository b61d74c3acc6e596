"""Arms that differ from a known one by factors."""

from __future__ import annotations

from dataclasses import replace

import pinocchio as pin

from impact_control.robots.description import RobotDescription
from impact_control.util.types import Vector


def scaled_robot(known: RobotDescription, links: Vector, motors: Vector, friction: Vector) -> RobotDescription:
    """Return an arm with other links, motors and joint friction: those of `known` times factors (n,), above 0.

    links: on mass and inertia of each link, the last with the end-effector. motors: on B_rho and B_theta. friction: on
    the amplitude phi_1.
    """
    model = known.pinocchio_model.copy()
    for body, factor in enumerate(links, start=1):
        link = model.inertias[body]
        model.inertias[body] = pin.Inertia(factor * link.mass, link.lever, factor * link.inertia)
    drive = known.transmission
    return replace(
        known,
        pinocchio_model=model,
        transmission=replace(
            drive,
            motor_inertia=drive.motor_inertia * motors,
            reduced_motor_inertia=drive.reduced_motor_inertia * motors,
        ),
        friction=replace(known.friction, amplitude=known.friction.amplitude * friction),
    )
