"""Arms that work at the same object: one pipeline each, coordinated.

Each arm keeps its own observer, detector, classifier and controller. What they share is the plan, made for one impact
at one nominal time, and three facts: an impact of any of them makes all leave the ante-impact mode, an arm that stops
stops all, and so does a fault. A fact that one arm finds in a sample holds for the others from the next sample on, as
it would between two processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from impact_control.control import RUNNING, DesiredForce, Mode, ObjectForce
from impact_control.errors import InvalidInputError
from impact_control.pipeline import Outcome, Pipeline
from impact_control.references import ImpactReference, SceneReference, build_scene_reference, scene_robots
from impact_control.robots import RobotDescription
from impact_control.scenario import Scenario, SceneScenario, arm_scenario
from impact_control.types import Vector

_WORST_FIRST = (
    Outcome.FAULT,
    Outcome.CANCELLED,
    Outcome.IMPACT_UNEXPECTED,
    Outcome.POST_IMPACT_UNEXPECTED,
    Outcome.NO_IMPACT,
    Outcome.UNDECIDED,
)
"""How a task of several arms ended: as that of the arm that comes first here; it succeeded if all did."""


@dataclass(frozen=True, eq=False)
class ArmPlan:
    """What one arm is to do: its robot, its own scenario, its reference, the force that it exerts after the impact.

    hold: whether it goes on with the end of the reference and with the force when the task is over.
    """

    robot: RobotDescription
    scenario: Scenario
    reference: ImpactReference
    force: DesiredForce
    hold: bool = False


@dataclass(frozen=True, eq=False)
class TeamPlan:
    """What a team is to do: each arm by its name, and the references with the impact they were made for."""

    scene: SceneScenario
    arms: Mapping[str, ArmPlan]
    reference: SceneReference


def plan_scene(scene: SceneScenario) -> TeamPlan:
    """Plan what the arms of a scene do.

    Raises UnreachableReferenceError, ContactSolverError, InvalidInputError, ScenarioError.
    """
    robots = scene_robots(scene)
    reference = build_scene_reference(scene, robots)
    arms = {
        name: ArmPlan(
            robot,
            arm_scenario(scene, name),
            reference.arms[name],
            object_force(scene, name, robot.gravity, reference.arms[name].geometry.contact_offset),
            scene.task.post.hold,
        )
        for name, robot in robots.items()
    }
    return TeamPlan(scene, arms, reference)


def object_force(scene: SceneScenario, arm: str, gravity: Vector, offset: Vector) -> ObjectForce:
    """Return what one arm has to exert on its object: van Steen 2024 (26), gravity and friction of the object.

    The arms at an object share its inertia, and its weight if it is lifted off the table or has none, or else the
    friction that the table resists with. gravity (3,) [m/s^2]; offset (3,) [m]: from the origin of E to the middle of
    the contact points, axes of A.
    """
    target, table, post = scene.target(arm), scene.expected_environment.table, scene.task.post
    part = target.mass / len(scene.arms_at(scene.arms[arm].impact.object))
    lifted = table is None or float(post.displacement @ table.normal) > 0.0
    pressed = 0.0 if lifted or table is None else max(0.0, -float(gravity @ table.normal))
    return ObjectForce(
        clamping=-post.force * scene.normal(arm),
        mass=part,
        support=-part * gravity if lifted else np.zeros(3),
        drag=0.0 if table is None else table.friction * part * pressed,
        offset=offset,
    )


class Team:
    """The pipelines of arms that work at the same object, by name, in `pipelines`."""

    def __init__(self, plan: TeamPlan) -> None:
        """Make a pipeline for each arm. Raises InvalidInputError for reactions that arms cannot do together."""
        for key in ("on_unexpected_impact", "on_unexpected_post_impact"):
            if getattr(plan.scene.reaction, key) == "admittance":
                raise InvalidInputError(
                    f"reaction.{key}", "admittance", "stop, continue or pull_back, with several arms"
                )
        self.plan = plan
        self.pipelines = {name: Pipeline(arm.scenario, arm.robot) for name, arm in plan.arms.items()}
        self._several = len(self.pipelines) > 1

    def reset(self) -> None:
        """Clear every buffer: for activation."""
        for pipeline in self.pipelines.values():
            pipeline.reset()

    def start(self) -> None:
        """Arm the task of every arm: it begins with the next sample."""
        for name, pipeline in self.pipelines.items():
            arm = self.plan.arms[name]
            pipeline.start(arm.reference, arm.scenario, arm.force, hold=arm.hold)

    def cancel(self) -> None:
        """Stop the task of every arm."""
        for pipeline in self.pipelines.values():
            pipeline.cancel()

    def tick(self, time: float, samples: Mapping[str, tuple[Vector, Vector, Vector]]) -> None:
        """Handle one sample of each arm: position [rad], velocity [rad/s], joint torque [Nm], each (n,), by name."""
        for name, pipeline in self.pipelines.items():
            pipeline.tick(time, *samples[name])
        if self._several:
            self._tell_partners()

    def _tell_partners(self) -> None:
        """Share what was found in this sample."""
        for name, pipeline in self.pipelines.items():
            controller = pipeline.controller
            if controller is None:
                continue
            stopped = controller.mode is not Mode.IDLE and controller.mode not in RUNNING
            for other, partner in self.pipelines.items():
                if other == name or not partner.exerts:
                    continue
                if pipeline.impact_now and pipeline.detector is not None:
                    partner.partner_touched(pipeline.detector.impact_time)
                if stopped and (partner.armed or partner.follows):
                    partner.stop_with_partner()

    @property
    def finished(self) -> bool:
        """Whether the task of every arm has ended."""
        return all(pipeline.finished for pipeline in self.pipelines.values())

    @property
    def outcome(self) -> Outcome:
        """How the task of the team stands; final once `finished`."""
        outcomes = {pipeline.outcome for pipeline in self.pipelines.values()}
        return next((worst for worst in _WORST_FIRST if worst in outcomes), Outcome.SUCCEEDED)
