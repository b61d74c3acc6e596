"""What is to be known before the arms of a scene start: can the plan be followed, does the object go with them.

The contact is judged for the object as expected: by what its contacts do in the predicted impact, and by the forces
that the planned motion needs, against the friction cone. Nothing is simulated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

import numpy as np

from impact_control.control import SLIDING_SPEED
from impact_control.impacts import ContactMode, ContactSolverError
from impact_control.references import ReferenceColumns, UnreachableReferenceError, task_jacobian
from impact_control.robots import Dynamics, InertiaModel
from impact_control.scenario import SceneScenario
from impact_control.team import ArmPlan, TeamPlan, plan_scene
from impact_control.types import Matrix, Vector

SMALLEST_SINGULAR_VALUE = 0.05
"""Of the task Jacobian [m/rad, -]: 0.1 m/s ask no joint for more than 2 rad/s, which all joints of a Panda can do."""

_SPACING = 0.01
"""[s] between the samples of a reference that are looked at."""


class Obstacle(Enum):
    """Why a scene does not go as planned."""

    UNREACHABLE = "the reference leaves the workspace or the limits of a joint"
    UNPREDICTED = "the impact cannot be predicted"
    SINGULAR = "the arm comes near a singular configuration"
    TORQUE = "the motion and its force need more than a joint can give"
    TABLE = "the end-effector would go through the table"
    MEETING = "without the object two end-effectors would meet"
    SLIPS = "the end-effector slips on the object"
    SEPARATES = "the end-effector leaves the object"


@dataclass(frozen=True)
class Finding:
    """One reason, the worst of its kind: which arm (empty: no single one), when [s], the value, what is allowed."""

    obstacle: Obstacle
    arm: str
    time: float
    value: float
    allowed: str

    def __str__(self) -> str:
        """Say it in words."""
        who = f"arm {self.arm}, " if self.arm else ""
        return f"{self.obstacle.value}: {who}at {self.time:.3f} s {self.value:.4g}, allowed: {self.allowed}"


def check_scene(scene: SceneScenario) -> tuple[Finding, ...]:
    """Plan a scene and return what stands against it; nothing when it can be started.

    Raises InvalidInputError, ScenarioError for a scene that says what cannot be, as a plan of it does.
    """
    try:
        plan = plan_scene(scene)
    except UnreachableReferenceError as error:
        return (Finding(Obstacle.UNREACHABLE, "", error.time, error.value, error.allowed),)
    except ContactSolverError as error:
        return (Finding(Obstacle.UNPREDICTED, "", scene.task.impact_time, math.nan, str(error)),)
    return check_plan(plan)


def check_plan(plan: TeamPlan) -> tuple[Finding, ...]:
    """Return what stands against a plan; nothing when it can be started."""
    found: list[Finding] = []
    for name, arm in plan.arms.items():
        found += _impact(plan, name)
        for columns, after in ((arm.reference.ante.columns, False), (arm.reference.post.columns, True)):
            times = _times(plan, columns)
            found += _way(plan, name, arm, columns, times, after)
            found += _clearance(plan, name, arm, columns, times)
        found += _grip(plan, name, arm)
    return (*found, *_meetings(plan))


def _times(plan: TeamPlan, columns: ReferenceColumns) -> list[int]:
    """Return which samples of a reference are looked at: evenly, the last and the one of the impact too."""
    period, count = plan.scene.control.period, columns.data.shape[0]
    impact = round(plan.scene.task.impact_time / period)
    return sorted({*range(0, count, max(1, round(_SPACING / period))), impact, count - 1})


def _impact(plan: TeamPlan, name: str) -> list[Finding]:
    """Judge the contacts of an arm in the predicted impact."""
    modes, time = plan.reference.impact.arms[name].modes, plan.scene.task.impact_time
    slipping = sum(mode is ContactMode.SLIPS for mode in modes)
    if slipping:
        return [Finding(Obstacle.SLIPS, name, time, slipping, "no contact that slips in the impact")]
    if all(mode is ContactMode.SEPARATES for mode in modes):
        return [Finding(Obstacle.SEPARATES, name, time, len(modes), "a contact that takes part in the impact")]
    return []


def _way(
    plan: TeamPlan, name: str, arm: ArmPlan, columns: ReferenceColumns, samples: list[int], after: bool
) -> list[Finding]:
    """Judge singularity and torque on the way; after: with the force on the object, from the impact on."""
    period, impact = plan.scene.control.period, plan.scene.task.impact_time
    dynamics, wanted = Dynamics(arm.robot), ReferenceColumns.one_sample(columns.joints)
    wrench, pressing, limit = np.zeros(6), np.zeros(columns.joints), arm.robot.limits.torque
    weakest, strongest = (np.inf, 0.0), (0.0, 0.0)
    for k in samples:
        wanted.data[:] = columns.data[k]
        dynamics.update(wanted.joint_position, wanted.joint_velocity)
        value = float(np.linalg.svd(task_jacobian(dynamics.jacobian), compute_uv=False)[-1])
        weakest = min(weakest, (value, k * period))
        inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
        torque = inertia @ wanted.joint_acceleration + dynamics.nonlinear
        if after and k * period >= impact:
            arm.force.exert(1.0, wanted, dynamics.jacobian, wrench, pressing)
            torque = torque + pressing
        strongest = max(strongest, (float(np.max(np.abs(torque) / limit)), k * period))
    found = []
    if weakest[0] < SMALLEST_SINGULAR_VALUE:
        allowed = f"a smallest singular value of at least {SMALLEST_SINGULAR_VALUE:g}"
        found.append(Finding(Obstacle.SINGULAR, name, weakest[1], weakest[0], allowed))
    if strongest[0] > 1.0:
        found.append(Finding(Obstacle.TORQUE, name, strongest[1], strongest[0], "at most 1, as part of the limit"))
    return found


def _clearance(plan: TeamPlan, name: str, arm: ArmPlan, columns: ReferenceColumns, samples: list[int]) -> list[Finding]:
    """Judge the height of the contact points over the table."""
    table = plan.scene.expected_environment.table
    if table is None:
        return []
    tool = arm.robot.end_effector
    points = tool.contact_points @ arm.reference.geometry.orientation.T
    heights: Matrix = (columns.position[samples, None] + points - table.point) @ table.normal - tool.radius
    lowest = heights.min(axis=1)
    worst = int(np.argmin(lowest))
    if lowest[worst] >= 0.0:
        return []
    time = samples[worst] * plan.scene.control.period
    return [Finding(Obstacle.TABLE, name, time, float(lowest[worst]), "at least 0 m over the table")]


def _grip(plan: TeamPlan, name: str, arm: ArmPlan) -> list[Finding]:
    """Judge the force on the object after the impact against the friction cone of the face.

    An object that hardly moves is left out: the table holds it.
    """
    period, columns, normal = plan.scene.control.period, arm.reference.post.columns, arm.reference.geometry.normal
    wanted, wrench, torque = ReferenceColumns.one_sample(columns.joints), np.zeros(6), np.zeros(columns.joints)
    jacobian, friction = np.zeros((6, columns.joints)), plan.scene.target(name).friction
    clamped = plan.scene.task.post.force > 0.0
    loosest, steepest = (np.inf, 0.0), (0.0, 0.0)
    for k in _times(plan, columns):
        if k * period < plan.scene.task.impact_time:
            continue
        wanted.data[:] = columns.data[k]
        if not clamped and np.linalg.norm(wanted.velocity) < SLIDING_SPEED:
            continue
        arm.force.exert(1.0, wanted, jacobian, wrench, torque)
        pressed, tangential = _split(wrench[:3], normal)
        loosest = min(loosest, (pressed, k * period))
        if pressed > 0.0:
            steepest = max(steepest, (tangential / pressed, k * period))
    if loosest[0] <= 0.0:
        return [Finding(Obstacle.SEPARATES, name, loosest[1], loosest[0], "a force on the object above 0 N")]
    if steepest[0] > friction:
        return [Finding(Obstacle.SLIPS, name, steepest[1], steepest[0], f"at most the friction {friction:g}")]
    return []


def _split(force: Vector, normal: Vector) -> tuple[float, float]:
    """Return the parts of a force on the object into its face and along it [N]; normal (3,) out of the face."""
    pressed = -float(force @ normal)
    return pressed, float(np.linalg.norm(force + pressed * normal))


def _meetings(plan: TeamPlan) -> list[Finding]:
    """Judge whether two end-effectors at one object would meet if it were not there."""
    found = []
    for first, second in combinations(plan.arms, 2):
        one, other = plan.arms[first].reference, plan.arms[second].reference
        if plan.scene.arms[first].impact.object != plan.scene.arms[second].impact.object:
            continue
        gaps = (one.ante.columns.position - other.ante.columns.position) @ one.geometry.normal
        least = int(np.argmin(gaps))
        if one.geometry.normal @ other.geometry.normal < 0.0 and gaps[least] <= 0.0:
            time = least * plan.scene.control.period
            found.append(Finding(Obstacle.MEETING, f"{first}, {second}", time, float(gaps[least]), "a gap above 0 m"))
    return found
