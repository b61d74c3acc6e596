"""Plans that the arms can follow inside their limits; a task that breaks a limit is refused before anything moves."""

from __future__ import annotations

import numpy as np

from impact_control.control import ContactForce, ObjectForce
from impact_control.planning.arm_plan import ArmPlan, Plan
from impact_control.planning.budget import budget_of
from impact_control.planning.limit_use import Use
from impact_control.references import FINE, ImpactMap, Sampling, UnreachableReferenceError, build_references
from impact_control.scenario import Scene, Target
from impact_control.util.types import Vector


class InfeasibleTaskError(UnreachableReferenceError):
    """A task asks an arm for more than a limit allows.

    Attributes: those of UnreachableReferenceError, of the first of the violations, and
        violations: at least one, in the order of `Quantity`, of each the worst first.
        arm: its name in a scene, else "".
    """

    def __init__(self, violations: tuple[Use, ...], arm: str = "") -> None:
        first = violations[0]
        super().__init__(first.time, first.joint, first.value, first.allowed)
        self.violations = violations
        self.arm = arm

    def __str__(self) -> str:
        """Name every limit that is violated, in a line of its own."""
        who = f"arm {self.arm}: " if self.arm else ""
        return "\n".join(f"{who}reference cannot be followed: {violation}" for violation in self.violations)


def plan_scenario(scene: Scene, predict: ImpactMap | None = None) -> Plan:
    """Plan the task of every arm.

    predict: the impact map of one contact, see `build_references`. Raises InfeasibleTaskError for the first arm that
    cannot follow its plan; what `draft_plan` raises.
    """
    plan = draft_plan(scene, predict)
    for arm in plan.arms.values():
        require_limits(arm)
    return plan


def draft_plan(scene: Scene, predict: ImpactMap | None = None, sampling: Sampling = FINE) -> Plan:
    """Plan the task of every arm, whether or not it can be followed inside the limits.

    sampling: how finely; coarse plans are to be judged only. Raises UnreachableReferenceError, ContactSolverError,
    InvalidInputError, ScenarioError.
    """
    robots = scene.robots()
    references = build_references(scene, robots, predict, sampling)
    arms = {}
    for name, reference in references.arms.items():
        scenario, robot = scene.arm(name), robots[name]
        target, offset = scenario.target, reference.geometry.contact_offset
        if target is None:
            arms[name] = ArmPlan(robot, scenario, reference, ContactForce.of(scenario, reference), name=name)
        else:
            force = object_force(target, robot.gravity, offset)
            arms[name] = ArmPlan(robot, scenario, reference, force, target.motion.hold, name)
    return Plan(scene, arms, references.impact)


def object_force(target: Target, gravity: Vector, offset: Vector) -> ObjectForce:
    """Return the force that one arm exerts on its object: van Steen 2024 (26), gravity and friction of the object.

    The arms at an object share its inertia, and its weight if it is lifted off the table or has none, or else the
    friction that the table resists with. gravity (3,) [m/s^2]; offset (3,) [m]: from the origin of E to the middle of
    the contact points, axes of A.
    """
    table, motion, part = target.table, target.motion, target.box.mass / target.arms
    lifted = table is None or float(motion.displacement @ table.normal) > 0.0
    pressed = 0.0 if lifted or table is None else max(0.0, -float(gravity @ table.normal))
    return ObjectForce(
        clamping=-motion.force * target.normal,
        mass=part,
        support=-part * gravity if lifted else np.zeros(3),
        drag=0.0 if table is None else table.friction * part * pressed,
        offset=offset,
    )


def require_limits(plan: ArmPlan) -> None:
    """Raise InfeasibleTaskError for a plan that breaks a limit."""
    violations = budget_of(plan).violations
    if violations:
        raise InfeasibleTaskError(violations, plan.name)
