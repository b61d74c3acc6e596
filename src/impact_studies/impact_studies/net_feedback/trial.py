"""One trial: plan, run, feedback of each arm and what it adds up to. van Steen 2024 (28), (29)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.control import Mode
from impact_control.planning import Plan, plan_scenario
from impact_control.recording.net_feedback import AFTER, BEFORE, Track, feedback_signal, net_feedback
from impact_control.references import plan_approach, predict_object_impact
from impact_control.robots import InertiaModel
from impact_control.scenario import Scene
from impact_control.simulation.scenario_run import ArmCourse, Course, run_scenario
from impact_control.util.types import Matrix, Vector
from impact_studies.net_feedback.plan import (
    PUSH,
    Override,
    SceneCase,
    TrialCase,
    met_scene,
    planned_scene,
    real_robots,
    scene_of,
)

MODELS = (InertiaModel.REDUCED_MOTORS, InertiaModel.MOTORS, InertiaModel.LINKS)
"""B_theta, B_rho and 0."""

_MARGIN = 2
"""Samples kept before and after the window."""


@dataclass(frozen=True, eq=False)
class TrialSignals:
    """Signals of a trial: k samples around the window of (29), a arms, frame A.

    time (k,) [s] since the start of the task. position, velocity, ante_position, ante_velocity, post_position,
    post_velocity (a, k, 3) [m, m/s]: of E as measured, and the references. feedback (a, k, 3) [m/s^2]: (28).
    gamma (a, k): of the controller. normal_force (a, k) [N]. rate_limited (a, k): whether a torque rate was at its
    limit. net (a, 3) [m/s]: (29). detection_time, switch_time, contact_time (a,) [s]: first impact detected by the
    arm, end of its ante-impact mode, first contact; NaN without. object_position, object_velocity (k, 3),
    object_orientation (k, 4), quaternion. noise_seed: of the sensors. followed: whether every arm is in the
    post-impact mode at the end of the window.
    """

    time: Vector
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    ante_position: NDArray[np.float64]
    ante_velocity: NDArray[np.float64]
    post_position: NDArray[np.float64]
    post_velocity: NDArray[np.float64]
    feedback: NDArray[np.float64]
    gamma: Matrix
    normal_force: Matrix
    rate_limited: Matrix
    net: Matrix
    detection_time: Vector
    switch_time: Vector
    contact_time: Vector
    object_position: Matrix
    object_velocity: Matrix
    object_orientation: Matrix
    noise_seed: int
    followed: bool


_KEPT = (
    "position",
    "velocity",
    "ante_position",
    "ante_velocity",
    "post_position",
    "post_velocity",
    "gamma",
    "normal_force",
)


def direction(case: SceneCase) -> Vector:
    """Return along what the feedback is taken (3,), frame A: the way of the motion, y of a push and z of a grab."""
    return np.array([0.0, -1.0, 0.0] if case.scene == PUSH else [0.0, 0.0, 1.0])


@dataclass(frozen=True)
class PredictionCase:
    """The scene of a case whose impact is predicted; changes as of a trial."""

    case: SceneCase
    changes: tuple[Override, ...] = ()


def run_prediction(prediction: PredictionCase) -> Mapping[str, NDArray[Any]]:
    """Return before () and after (3,) [m/s]: mean velocity of the arms with each of MODELS."""
    scene = scene_of(prediction.case).with_overrides(dict(prediction.changes))
    robots = scene.robots()
    approaches = {name: plan_approach(scene.arm(name), robots[name]) for name in scene.arm_names}
    along = direction(prediction.case)
    impacts = [predict_object_impact(scene, robots, approaches, model) for model in MODELS]
    after = [np.mean([arm.velocity @ along for arm in impact.arms.values()]) for impact in impacts]
    before = np.mean([arm.velocity_before @ along for arm in impacts[0].arms.values()])
    return {"before": np.asarray(before), "after": np.array(after)}


@lru_cache(maxsize=2)
def _plan(case: SceneCase, planned: TrialCase) -> Plan:
    return plan_scenario(planned_scene(scene_of(case), planned))


def run_trial(trial: TrialCase) -> Mapping[str, NDArray[Any]]:
    """Simulate one trial up to the end of the window; the arrays are the attributes of `TrialSignals`."""
    planned = replace(trial, repetition=0, seed=None)
    plan = _plan(trial.case, planned)
    scene = met_scene(planned_scene(scene_of(trial.case), planned), trial)
    robots = real_robots({name: arm.robot for name, arm in plan.arms.items()}, trial)
    end = scene.impact_time + AFTER + (_MARGIN + 1) * scene.control.period
    course = run_scenario(scene, end, plan, robots)
    rates = np.array([robot.limits.torque_rate for robot in robots.values()])
    return {name: np.asarray(value) for name, value in vars(_signals(scene, course, rates)).items()}


def _signals(scene: Scene, course: Course, torque_rates: Matrix) -> TrialSignals:
    nominal, period = scene.impact_time, scene.control.period
    kept = slice(course.at(nominal - BEFORE) - _MARGIN, None)
    arms = list(course.arms.values())
    switches = np.array([_switch_time(arm, course.time) for arm in arms])
    feedback = np.array([_feedback(scene, course, arm, time) for arm, time in zip(arms, switches, strict=True)])
    change = [np.abs(np.diff(arm.signals.torque, axis=0, prepend=np.nan)) / period for arm in arms]
    limited = np.array(
        [(one >= rate * (1.0 - 1e-6)).any(axis=1) for one, rate in zip(change, torque_rates, strict=True)]
    )
    box = next(iter(course.objects.values()))
    return TrialSignals(
        time=course.time[kept],
        **{name: np.array([getattr(arm.signals, name)[kept] for arm in arms]) for name in _KEPT},
        feedback=feedback[:, kept],
        rate_limited=limited[:, kept],
        net=np.array([net_feedback(course.time, one, nominal - BEFORE, nominal + AFTER) for one in feedback]),
        detection_time=np.array([arm.detection_time for arm in arms]),
        switch_time=switches,
        contact_time=np.array([arm.first_contact_time for arm in arms]),
        object_position=box.position[kept],
        object_velocity=box.velocity[kept],
        object_orientation=box.orientation[kept],
        noise_seed=scene.simulation.seed,
        followed=all(arm.signals.mode[-1] == Mode.POST for arm in arms),
    )


def _switch_time(arm: ArmCourse, time: Vector) -> float:
    """Return when the arm left the ante-impact mode [s], by an impact of its own or of its partner; NaN if never."""
    after = np.flatnonzero(arm.signals.mode == Mode.INTERIM)
    return float(time[after[0]]) if after.size else np.nan


def _feedback(scene: Scene, course: Course, arm: ArmCourse, switch: float) -> Matrix:
    """Return (28) over the whole run (N, 3) [m/s^2]."""
    signals = arm.signals
    return feedback_signal(
        course.time,
        Track(signals.position, signals.velocity),
        Track(signals.ante_position, signals.ante_velocity),
        Track(signals.post_position, signals.post_velocity),
        stiffness=scene.control.gains.position,
        impact_time=switch if np.isfinite(switch) else float(course.time[-1]) + 1.0,
        interim_duration=scene.control.interim_duration,
    )
