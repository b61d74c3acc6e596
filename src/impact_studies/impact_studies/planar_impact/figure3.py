"""The impact of Rey Arias 2024, Fig. 3: its numbers, its surface and approach, and what may be chosen otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.robots import RobotDescription, load_robot
from impact_control.simulation import Surface
from impact_studies.frame.trials import from_arrays
from impact_studies.planar_impact.response import (
    AfterImpact,
    FlexibleResponse,
    StraightApproach,
    flexible_response,
    planar_approach,
)

CONTACT_STIFFNESS, CONTACT_DAMPING, CONTACT_EXPONENT = 3.2e9, 3.2e12, 1.5
"""k_c [N/m^eta], d_c [N s/m^(eta+1)], eta of Rey Arias 2024, Table I."""

DISTANCE, HEIGHT = 0.3, 0.02
"""x_imp, y_imp [m] of Proper 2021, Table 3.2, with phi_imp = -90 deg."""

ANGLE, SPEED = 30.0, 0.1
"""The impact of Fig. 3: [deg], [m/s]."""

ANGLES = (15.0, 30.0, 45.0, 60.0, 75.0, 90.0)
SPEEDS = (0.05, 0.1, 0.2, 0.3, 0.5)

STIFFNESS_SCALES = (1.0, 10.0, 100.0)
PRESSING_FORCE = 300.0
"""[N] that keeps the contact closed in the limit of stiff joints: springs 100 times stiffer pull with less."""

INERTIA_ABOUT_END = (0.0977, 0.3804, 0.0490)
"""I_i [kg m^2] of Rey Arias 2024, Table I."""


@dataclass(frozen=True, eq=False)
class Ending:
    """One way to end an impact in the limit of stiff joints: its name, the torque, the force that presses [N]."""

    name: str
    after: AfterImpact
    pressing_force: float


ENDINGS = (
    Ending("held and pressed", AfterImpact.HOLD, PRESSING_FORCE),
    Ending("held, free", AfterImpact.HOLD, 0.0),
    Ending("controller goes on", AfterImpact.FOLLOW, 0.0),
)


def surface(stiffening: float = 1.0) -> Surface:
    """Return the horizontal, frictionless surface of Rey Arias 2024, Table I, its law scaled by a factor."""
    return Surface(
        point=np.zeros(3),
        normal=np.array([0.0, 0.0, 1.0]),
        law=ExponentialHuntCrossley(stiffening * CONTACT_STIFFNESS, stiffening * CONTACT_DAMPING, CONTACT_EXPONENT),
        friction=0.0,
    )


def approach(angle: float = ANGLE, speed: float = SPEED, distance: float = DISTANCE) -> StraightApproach:
    """Return the approach at `angle` [deg] with `speed` [m/s] to the impact `distance` [m] from the base."""
    return planar_approach(angle, speed, distance, HEIGHT)


def stiff_robot(robot: RobotDescription, scale: float) -> RobotDescription:
    """Return the arm with joints `scale` times as stiff, at the same damping ratio, and an ideal torque loop.

    B_rho = B_theta: then the torque loop has nothing to do, and (5) holds without its delay, which would not let it
    be stable on joints this fast.
    """
    joints = robot.transmission
    stiff = replace(
        joints,
        stiffness=scale * joints.stiffness,
        damping=np.sqrt(scale) * joints.damping,
        motor_inertia=joints.reduced_motor_inertia,
    )
    return replace(robot, transmission=stiff)


def with_inertia_about_centre(robot: RobotDescription) -> RobotDescription:
    """Return the arm with I_i of Table I read as about the centre of mass; see robots/data/planar_rrr.urdf."""
    model = robot.pinocchio_model.copy()
    for joint, printed in enumerate(INERTIA_ABOUT_END, 1):
        link = model.inertias[joint]
        model.inertias[joint] = pin.Inertia(
            link.mass, link.lever, link.inertia + (printed - link.inertia[2, 2]) * np.eye(3)
        )
    return replace(robot, pinocchio_model=model)


class Arm(StrEnum):
    """Planar arm of a variant."""

    FIGURE = "as in the figure"
    OTHER_MOTORS = "B_theta of van Steen 2024"
    ABOUT_CENTRE = "I_i about the centre of mass"
    STIFF = "stiff joints, ideal torque loop"


@dataclass(frozen=True)
class PlanarImpact:
    """One impact: what follows it, approach angle [deg], velocity [m/s], distance from the base [m], which arm.

    stiffening: of joints and surface, with Arm.STIFF; pressing_force [N]: see `flexible_response`.
    """

    after: AfterImpact
    angle: float = ANGLE
    speed: float = SPEED
    distance: float = DISTANCE
    arm: Arm = Arm.FIGURE
    stiffening: float = 1.0
    pressing_force: float = 0.0


def stiff_impact(stiffening: float, ending: Ending) -> PlanarImpact:
    """Return the impact of Fig. 3 with joints and surface `stiffening` times as stiff."""
    return PlanarImpact(ending.after, arm=Arm.STIFF, stiffening=stiffening, pressing_force=ending.pressing_force)


def variants(quick: bool) -> dict[str, dict[AfterImpact, PlanarImpact]]:
    """Return Fig. 3's impact with what the source leaves open chosen otherwise."""
    away = {after: PlanarImpact(after, angle=180.0 - ANGLE) for after in AfterImpact}
    if quick:
        return {"away from the base": away}
    return {
        Arm.FIGURE.value: {after: PlanarImpact(after) for after in AfterImpact},
        "away from the base": away,
        "0.55 m from the base": {after: PlanarImpact(after, distance=0.55) for after in AfterImpact},
    } | {
        arm.value: {after: PlanarImpact(after, arm=arm) for after in AfterImpact}
        for arm in (Arm.OTHER_MOTORS, Arm.ABOUT_CENTRE)
    }


def run_impact(impact: PlanarImpact) -> Mapping[str, NDArray[Any]]:
    """Simulate an impact; arrays by the name of the attribute of `FlexibleResponse`."""
    response = flexible_response(
        **_given(impact),
        after=impact.after,
        pressing_force=impact.pressing_force,
        largest_step=50e-6 / np.sqrt(impact.stiffening),
    )
    return {name: value for name, value in vars(response).items() if name not in _given(impact)}


def response_of(impact: PlanarImpact, arrays: Mapping[str, NDArray[Any]]) -> FlexibleResponse:
    """Return what `run_impact` found."""
    return from_arrays(FlexibleResponse, arrays, **_given(impact))


def _given(impact: PlanarImpact) -> dict[str, Any]:
    """Return robot, surface and approach by these names."""
    return {
        "robot": _robot(impact.arm, impact.stiffening),
        "surface": surface(impact.stiffening),
        "approach": approach(impact.angle, impact.speed, impact.distance),
    }


@lru_cache
def _robot(arm: Arm, stiffening: float) -> RobotDescription:
    robot = load_robot("planar_rrr")
    if arm is Arm.OTHER_MOTORS:
        return load_robot("planar_rrr", motor_inertia="van_steen_2024")
    if arm is Arm.ABOUT_CENTRE:
        return with_inertia_about_centre(robot)
    return stiff_robot(robot, stiffening) if arm is Arm.STIFF else robot
