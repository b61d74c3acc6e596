"""Obstacles to a scene before its arms start: limits that the plan breaks, an object that does not go with them.

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
from impact_control.planning import (
    SMALLEST_SINGULAR_VALUE,
    ArmPlan,
    Plan,
    Quantity,
    budget_of,
    draft_plan,
    nearest_singularity,
)
from impact_control.references import ReferenceColumns, UnreachableReferenceError
from impact_control.scenario import Scene
from impact_control.util.types import Matrix, Vector

_SPACING = 0.01
"""[s] between the samples of a reference that are looked at."""


class Obstacle(Enum):
    """Reason why a scene cannot be executed as planned."""

    UNREACHABLE = "the reference leaves the workspace or the limits of a joint"
    UNPREDICTED = "the impact cannot be predicted"
    SINGULAR = "the arm comes near a singular configuration"
    TORQUE = "motion and force need more torque than a joint can give"
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
        """Return it in words."""
        who = f"arm {self.arm}, " if self.arm else ""
        return f"{self.obstacle.value}: {who}at {self.time:.3f} s {self.value:.4g}, allowed: {self.allowed}"


def check_scene(scene: Scene) -> tuple[Finding, ...]:
    """Plan a scene and return the obstacles to it, none when it can be started; contacts are judged at objects only.

    Raises InvalidInputError, ScenarioError, as a plan of the scene does.
    """
    try:
        plan = draft_plan(scene)
    except UnreachableReferenceError as error:
        return (Finding(Obstacle.UNREACHABLE, "", error.time, error.value, error.allowed),)
    except ContactSolverError as error:
        return (Finding(Obstacle.UNPREDICTED, "", scene.impact_time, math.nan, str(error)),)
    found: list[Finding] = []
    for name, arm in plan.arms.items():
        at_object = arm.scenario.target is not None
        if at_object:
            found += _impact(plan, name)
            for columns in (arm.reference.ante.columns, arm.reference.post.columns):
                found += _clearance(plan.scene, name, arm, columns, _times(plan.scene, columns))
        found += _singularity(name, arm)
        found += _limits(name, arm)
        if at_object:
            found += _grip(name, arm)
    return (*found, *_meetings(plan))


def _times(scene: Scene, columns: ReferenceColumns) -> list[int]:
    """Return which samples of a reference are looked at: evenly, the last and the one of the impact too."""
    period, count = scene.control.period, columns.data.shape[0]
    impact = round(scene.impact_time / period)
    return sorted({*range(0, count, max(1, round(_SPACING / period))), impact, count - 1})


def _impact(plan: Plan, name: str) -> list[Finding]:
    """Judge the contacts of an arm in the predicted impact."""
    modes, time = plan.impact.arms[name].modes, plan.scene.impact_time
    slipping = sum(mode is ContactMode.SLIPS for mode in modes)
    if slipping:
        return [Finding(Obstacle.SLIPS, name, time, slipping, "no contact that slips in the impact")]
    if all(mode is ContactMode.SEPARATES for mode in modes):
        return [Finding(Obstacle.SEPARATES, name, time, len(modes), "a contact that takes part in the impact")]
    return []


def _singularity(name: str, arm: ArmPlan) -> list[Finding]:
    """Check the distance of the path from singular configurations."""
    nearest = nearest_singularity(arm)
    if not nearest.too_near:
        return []
    allowed = f"a smallest singular value of at least {SMALLEST_SINGULAR_VALUE:g}"
    return [Finding(Obstacle.SINGULAR, name, nearest.time, nearest.value, allowed)]


def _limits(name: str, arm: ArmPlan) -> list[Finding]:
    """Judge the limits of the joints along what can be followed of the references."""
    found = []
    for use in budget_of(arm).violations:
        torque = use.quantity in (Quantity.TORQUE, Quantity.TORQUE_RATE)
        obstacle = Obstacle.TORQUE if torque else Obstacle.UNREACHABLE
        found.append(Finding(obstacle, name, use.time, use.value, f"{use.allowed} for the {use.quantity.words}"))
    return found


def _clearance(scene: Scene, name: str, arm: ArmPlan, columns: ReferenceColumns, samples: list[int]) -> list[Finding]:
    """Judge the height of the contact points over the table."""
    table = scene.expected_surface
    if table is None:
        return []
    tool = arm.robot.end_effector
    points = tool.contact_points @ arm.reference.geometry.orientation.T
    heights: Matrix = (columns.position[samples, None] + points - table.point) @ table.normal - tool.radius
    lowest = heights.min(axis=1)
    worst = int(np.argmin(lowest))
    if lowest[worst] >= 0.0:
        return []
    time = samples[worst] * scene.control.period
    return [Finding(Obstacle.TABLE, name, time, float(lowest[worst]), "at least 0 m over the table")]


def _grip(name: str, arm: ArmPlan) -> list[Finding]:
    """Judge the force on the object after the impact against the friction cone of the face.

    An object that hardly moves is left out: the table holds it.
    """
    scenario, reference = arm.scenario, arm.reference
    period, columns, normal = scenario.control.period, reference.post.columns, reference.geometry.normal
    desired, wrench, torque = ReferenceColumns.one_sample(columns.joints), np.zeros(6), np.zeros(columns.joints)
    jacobian, friction = np.zeros((6, columns.joints)), scenario.expected_environment.surface.friction
    clamped = scenario.task.post.force > 0.0
    loosest, steepest = (np.inf, 0.0), (0.0, 0.0)
    for k in _times(scenario, columns):
        if k * period < reference.nominal_impact_time:
            continue
        desired.data[:] = columns.data[k]
        if not clamped and np.linalg.norm(desired.velocity) < SLIDING_SPEED:
            continue
        arm.force.exert(1.0, desired, jacobian, wrench, torque)
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


def _meetings(plan: Plan) -> list[Finding]:
    """Judge whether two end-effectors at one object would meet if it were not there."""
    found = []
    for one, other in combinations(plan.arms.values(), 2):
        targets = (one.scenario.target, other.scenario.target)
        if None in targets or len({target.name for target in targets if target}) > 1:
            continue
        normal, ante = one.reference.geometry.normal, one.reference.ante.columns.position
        gaps = (ante - other.reference.ante.columns.position) @ normal
        least = int(np.argmin(gaps))
        if normal @ other.reference.geometry.normal < 0.0 and gaps[least] <= 0.0:
            time, names = least * plan.scene.control.period, f"{one.name}, {other.name}"
            found.append(Finding(Obstacle.MEETING, names, time, float(gaps[least]), "a gap above 0 m"))
    return found
