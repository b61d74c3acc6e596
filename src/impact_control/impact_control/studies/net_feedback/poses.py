"""A grab without noise as a motion to look at, and how the arm stands at the impact of a push.

van Steen 2024, Figs 2 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.identification.net_feedback import AFTER
from impact_control.references import plan_approach, scene_robots
from impact_control.robots import RobotDescription
from impact_control.scenario import arm_scenario, load_scene
from impact_control.scene_run import run_scene
from impact_control.studies.net_feedback.plan import GRAB, PUSH, SceneCase, TrialCase, met_scene, planned_scene
from impact_control.team import plan_scene
from impact_control.types import Matrix, Vector

GRABBED = SceneCase(GRAB, "juice", 3)
"""The grab that is shown, that of Figs 8 and 9: of which one Fig. 2 is, the source does not say."""

PUSHED = tuple(SceneCase(PUSH, "catfood", number) for number in (1, 2, 3))
"""The cases of Fig. 5, with the object of Figs 6 and 7."""

SINCE = (0.0, 0.2, AFTER)
"""[s] after T_nom at which a grab is shown besides its start, up to the end of the window of (29)."""


@dataclass(frozen=True, eq=False)
class Poses:
    """Arms and object at k moments.

    time (k,) [s] after T_nom; joint_position (a, k, n) [rad] of the arms, in the order of the scene; object_position
    (k, 3) [m] of the centre, object_orientation (k, 4) as quaternion x, y, z, w, frame A.
    """

    time: Vector
    joint_position: NDArray[np.float64]
    object_position: Matrix
    object_orientation: Matrix


def run_poses(case: SceneCase) -> Mapping[str, NDArray[Any]]:
    """Simulate a grab without noise in which all is as expected; the arrays are the attributes of `Poses`."""
    trial = TrialCase(case, 1.0, 0, None)
    planned = planned_scene(load_scene(case.name), trial)
    nominal = planned.task.impact_time
    course = run_scene(plan_scene(met_scene(planned, trial)), until=nominal + AFTER + 2.0 * planned.control.period)
    samples = [0, *(course.at(nominal + since) for since in SINCE)]
    (box,) = course.objects.values()
    return {
        "time": course.time[samples] - nominal,
        "joint_position": np.array([arm.signals.joint_position[samples] for arm in course.arms.values()]),
        "object_position": box.position[samples],
        "object_orientation": box.orientation[samples],
    }


def impact_configuration(case: SceneCase) -> tuple[RobotDescription, Vector]:
    """Return the arm of a push at its place, and its planned configuration (n,) [rad] at the impact."""
    scene = load_scene(case.name)
    ((name, robot),) = scene_robots(scene).items()
    return robot, plan_approach(arm_scenario(scene, name), robot).impact_configuration
