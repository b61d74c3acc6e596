"""The scenario: one arm that hits a surface.

Frames and symbols as in van Steen 2024 section IV and Proper 2021 sections 3.1, 3.4 and 4.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from impact_control.robots import RobotDescription
from impact_control.scenario.environment import ActualEnvironment, ExpectedEnvironment, Touch
from impact_control.scenario.fields import Refusal, Section
from impact_control.scenario.objects import Target
from impact_control.scenario.prediction import Prediction
from impact_control.scenario.robot import robot_of
from impact_control.scenario.scene import Scene, require_inside_limits, require_known_links
from impact_control.scenario.task import Task

PLANE_TOLERANCE = 1e-5
"""[m] distance within which the impact position counts as lying on the expected surface."""

HEADING_TOLERANCE = 1e-3
"""Smallest length of the heading's projection onto the expected surface."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Scenario(Scene):
    """A scene with one arm, which hits a surface; or one arm of a scene, and what it hits is a face of its `target`."""

    task: Annotated[Task, Section(Task), "motion and impact of the arm"]
    expected_environment: Annotated[ExpectedEnvironment, Section(ExpectedEnvironment), "what the robot believes"]
    actual_environment: Annotated[ActualEnvironment, Section(ActualEnvironment), "what is really there"]
    prediction: Annotated[Prediction, Section(Prediction), "what may be learned from impacts", {}]
    target: Target | None = None

    @property
    def arm_names(self) -> tuple[str, ...]:
        """The only arm, which has no name."""
        return ("",)

    def arm(self, name: str = "") -> Scenario:
        """Return this scenario: it has one arm."""
        return self

    def robots(self) -> dict[str, RobotDescription]:
        """Return the robot, with its base at the origin of A. Raises ScenarioError."""
        return {"": robot_of(self.robot)}

    def touches_of(self, arm: str) -> Sequence[Touch]:
        """Return the touches of the arm, beside the impact."""
        return self.actual_environment.touches

    def check(self) -> None:
        """Require that robot, task, surface and sampling fit together."""
        robot = robot_of(self.robot)
        self.require_sampling()
        require_inside_limits("task", self.task, robot)
        impact, surface = self.task.impact, self.expected_environment.surface
        distance = float(surface.normal @ (impact.position - surface.point))
        if abs(distance) > PLANE_TOLERANCE:
            side = "above" if distance > 0.0 else "below"
            words = f"a point on expected_environment.surface; it lies {1e3 * abs(distance):.4g} mm {side} it"
            raise Refusal("task.impact.position", impact.position.tolist(), words)
        if np.linalg.norm(np.cross(impact.heading, surface.normal)) < HEADING_TOLERANCE:
            raise Refusal("task.impact.heading", impact.heading.tolist(), "a direction off the surface's normal")
        require_known_links(self.actual_environment.touches, robot)
        contacts = len(robot.end_effector.contact_points)
        if self.prediction.adapt and contacts > 1:
            raise Refusal("prediction.adapt", True, f"false with an end-effector of {contacts} contact points")
