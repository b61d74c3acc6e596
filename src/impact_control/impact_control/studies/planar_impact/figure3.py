"""The impact of Rey Arias 2024, Fig. 3: its numbers, its surface and approach, and what may be chosen otherwise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.robots import RobotDescription, load_robot
from impact_control.simulation import Surface
from impact_control.studies.planar_impact.approach import StraightApproach, planar_approach
from impact_control.studies.planar_impact.jump import GrossJump, gross_jump
from impact_control.studies.planar_impact.response import AfterImpact, flexible_response

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


def stiff_jump(robot: RobotDescription, scale: float, ending: Ending) -> GrossJump:
    """Return the jump of the impact of Fig. 3 with joints and surface `scale` times as stiff."""
    response = flexible_response(
        stiff_robot(robot, scale),
        surface(scale),
        approach(),
        ending.after,
        pressing_force=ending.pressing_force,
        largest_step=50e-6 / np.sqrt(scale),
    )
    return gross_jump(response)


def with_inertia_about_centre(robot: RobotDescription) -> RobotDescription:
    """Return the arm with I_i of Table I read as about the centre of mass; see robots/data/planar_rrr.urdf."""
    model = robot.pinocchio_model.copy()
    for joint, printed in enumerate(INERTIA_ABOUT_END, 1):
        link = model.inertias[joint]
        model.inertias[joint] = pin.Inertia(
            link.mass, link.lever, link.inertia + (printed - link.inertia[2, 2]) * np.eye(3)
        )
    return replace(robot, pinocchio_model=model)


def variants(quick: bool) -> dict[str, dict[AfterImpact, GrossJump]]:
    """Return the jumps of Fig. 3's impact when what the source leaves open is chosen otherwise."""
    robot = load_robot("planar_rrr")
    cases = {
        "as in the figure": (robot, approach()),
        "away from the base": (robot, approach(180.0 - ANGLE)),
        "0.55 m from the base": (robot, approach(distance=0.55)),
        "B_theta of van Steen 2024": (load_robot("planar_rrr", motor_inertia="van_steen_2024"), approach()),
        "I_i about the centre of mass": (with_inertia_about_centre(robot), approach()),
    }
    chosen = {"away from the base": cases["away from the base"]} if quick else cases
    return {
        name: {after: gross_jump(flexible_response(arm, surface(), line, after)) for after in AfterImpact}
        for name, (arm, line) in chosen.items()
    }
