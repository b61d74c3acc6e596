"""Trials of van Steen 2024, section VI, their differences from the expectation of the controllers, and poses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.recording.net_feedback import AFTER
from impact_control.references import plan_approach
from impact_control.robots import RobotDescription, scaled_robot
from impact_control.scenario import Scene, load_scenario
from impact_control.simulation.scenario_run import run_scenario
from impact_control.util.types import Matrix, Vector
from impact_studies.net_feedback.velocity_fit import REFERENCE_SCALES

PUSH, GRAB = "push", "grab"
SCENES = (PUSH, GRAB)
OBJECTS = ("parcel", "catfood", "juice")
CASES = (1, 2, 3)
REPETITIONS = 5

LINK_ERROR = 0.03
"""Mass and inertia of each link, relative; half-width of a uniform distribution, as all errors here."""

MOTOR_ERROR = 0.1
"""B_rho and B_theta of each joint, relative: the margin that van Steen 2024, section II, gives for its Table I."""

FRICTION_ERROR = 0.05
"""Amplitude of the friction of each joint, relative: what its identification (appendix A) leaves."""

MASS_ERROR = 0.02
"""Mass of the object, relative."""

COULOMB_ERROR = 0.1
"""Friction coefficients of object and table, relative."""

PLACE_ERROR = 2e-3
"""[m] Place of the object along x and y, drawn in each trial."""

YAW_ERROR = 0.01
"""[rad] Turn of the object about the vertical, drawn in each trial."""

Override = tuple[str, str | float | bool]
"""Key of a scene and its value."""

_GOES_ON: tuple[Override, ...] = (
    ("reaction.on_unexpected_impact", "continue"),
    ("reaction.on_unexpected_post_impact", "continue"),
)


@dataclass(frozen=True)
class SceneCase:
    """One row of Table II or III: a scene, an object, and one of its three states before the impact."""

    scene: str
    object: str
    number: int

    @property
    def name(self) -> str:
        """Return the name of its file in config/scenarios/scenes."""
        return f"{self.scene}_{self.object}_{self.number}"


ALL_CASES = tuple(SceneCase(scene, name, number) for scene in SCENES for name in OBJECTS for number in CASES)


SHOWN = (SceneCase(PUSH, "catfood", 2), SceneCase(GRAB, "juice", 3))
"""Cases of Figs 6 and 7, and of Figs 8 and 9."""


@dataclass(frozen=True)
class TrialCase:
    """One trial.

    Attributes:
        case: its row.
        scale: velocity with which the post-impact reference begins, over the predicted one.
        repetition: number of the trial at this scale.
        seed: of the study; None for a trial without noise in which everything is as expected.
        changes: to the scene, for experiments; they hold for what is planned and for what is there.
    """

    case: SceneCase
    scale: float
    repetition: int
    seed: int | None
    changes: tuple[Override, ...] = ()


def trial_cases(
    cases: tuple[SceneCase, ...], scales: tuple[float, ...], repetitions: int, seed: int
) -> list[TrialCase]:
    """Return the trials of all cases, those of one case next to each other."""
    return [
        TrialCase(case, scale, repetition, seed)
        for case in cases
        for scale in scales
        for repetition in range(repetitions)
    ]


def scene_of(case: SceneCase) -> Scene:
    """Return the scene of a case. Raises ScenarioError."""
    return load_scenario(case.name)


def planned_scene(scene: Scene, trial: TrialCase) -> Scene:
    """Return the scene as the controllers know it; the task goes on whatever the classifiers say."""
    return scene.with_overrides({**dict(_GOES_ON), **dict(trial.changes), "task.post.velocity_scale": trial.scale})


def met_scene(scene: Scene, trial: TrialCase) -> Scene:
    """Return the scene as it really is in a trial: objects and friction within the errors above, noise of its own."""
    if trial.seed is None:
        return scene.with_overrides({"simulation.noise": 0.0})
    own, here = _of_case(trial, 0), _of_trial(trial)
    changes: dict[str, str | float] = {"simulation.seed": int(here.integers(2**31))}
    if scene.actual_surface is not None:
        changes["actual_environment.surface.friction"] = scene.actual_surface.friction * _about(own, COULOMB_ERROR)
    for name, box in scene.expected_objects.items():
        key = f"actual_environment.objects.{name}"
        x, y, z = box.position + np.append(here.uniform(-PLACE_ERROR, PLACE_ERROR, 2), 0.0)
        changes |= {
            f"{key}.mass": f"{box.mass * _about(own, MASS_ERROR)} kg",
            f"{key}.friction": box.friction * _about(own, COULOMB_ERROR),
            f"{key}.position": f"{x}, {y}, {z} m",
            f"{key}.yaw": f"{box.yaw + here.uniform(-YAW_ERROR, YAW_ERROR)} rad",
        }
    return scene.with_overrides(changes)


def real_robots(robots: Mapping[str, RobotDescription], trial: TrialCase) -> dict[str, RobotDescription]:
    """Return the arms that are really there, by name: the same ones in all trials of a case."""
    if trial.seed is None:
        return dict(robots)
    return {name: erring_robot(robot, _of_case(trial, 1 + k)) for k, (name, robot) in enumerate(robots.items())}


def erring_robot(robot: RobotDescription, random: np.random.Generator) -> RobotDescription:
    """Return an arm whose links, motors and joint friction differ from the known ones within the errors above."""
    widths = (LINK_ERROR, MOTOR_ERROR, FRICTION_ERROR)
    links, motors, friction = (1.0 + random.uniform(-width, width, len(robot.joint_names)) for width in widths)
    return scaled_robot(robot, links, motors, friction)


def _about(random: np.random.Generator, width: float) -> float:
    """Return a factor near 1."""
    return 1.0 + float(random.uniform(-width, width))


def _of_case(trial: TrialCase, stream: int) -> np.random.Generator:
    """Return random numbers that all trials of a case have in common."""
    return np.random.default_rng([trial.seed or 0, ALL_CASES.index(trial.case), stream])


def _of_trial(trial: TrialCase) -> np.random.Generator:
    """Return random numbers of one trial."""
    place = (ALL_CASES.index(trial.case), REFERENCE_SCALES.index(trial.scale), trial.repetition)
    return np.random.default_rng([trial.seed or 0, len(ALL_CASES), *place])


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
    planned = planned_scene(scene_of(case), trial)
    nominal = planned.impact_time
    course = run_scenario(met_scene(planned, trial), until=nominal + AFTER + 2.0 * planned.control.period)
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
    scene = load_scenario(case.name)
    ((name, robot),) = scene.robots().items()
    return robot, plan_approach(scene.arm(name), robot).impact_configuration
