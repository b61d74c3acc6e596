"""Which trials are run, and what in them is not as the controllers expect. van Steen 2024, section VI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from impact_control.identification.net_feedback import REFERENCE_SCALES
from impact_control.robots import RobotDescription
from impact_control.scenario import SceneScenario
from impact_control.studies.model_errors import erring_links

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
"""[m] Place of the object along x and y, in each trial anew."""

YAW_ERROR = 0.01
"""[rad] Turn of the object about the vertical, in each trial anew."""

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


def planned_scene(scene: SceneScenario, trial: TrialCase) -> SceneScenario:
    """Return the scene as the controllers know it; the task goes on whatever the classifiers say."""
    return scene.with_overrides({**dict(_GOES_ON), **dict(trial.changes), "task.post.velocity_scale": trial.scale})


def met_scene(scene: SceneScenario, trial: TrialCase) -> SceneScenario:
    """Return the scene as it really is in a trial: objects and friction within the errors above, noise of its own."""
    if trial.seed is None:
        return scene.with_overrides({"simulation.noise": 0.0})
    own, here = _of_case(trial, 0), _of_trial(trial)
    changes: dict[str, str | float] = {"simulation.seed": int(here.integers(2**31))}
    if scene.actual_environment.table is not None:
        changes["actual_environment.table.friction"] = scene.actual_environment.table.friction * _about(
            own, COULOMB_ERROR
        )
    for name, box in scene.expected_environment.objects.items():
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
    model = erring_links(robot.pinocchio_model, random, LINK_ERROR)
    joints = len(robot.joint_names)
    motors, friction = (1.0 + random.uniform(-width, width, joints) for width in (MOTOR_ERROR, FRICTION_ERROR))
    drive = robot.transmission
    return replace(
        robot,
        pinocchio_model=model,
        transmission=replace(
            drive,
            motor_inertia=drive.motor_inertia * motors,
            reduced_motor_inertia=drive.reduced_motor_inertia * motors,
        ),
        friction=replace(robot.friction, amplitude=robot.friction.amplitude * friction),
    )


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
