"""Responses of the three plants, and the return of an edge to the surface, its second impact."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.robots import RobotDescription, load_robot
from impact_control.simulation import FlexibleJointPlant, PlantOptions, Surface
from impact_control.util.types import Matrix, Vector
from impact_studies.frame.trials import from_arrays
from impact_studies.models.rigid_contact.contact import RigidSurface
from impact_studies.models.rigid_contact.options import RigidContactOptions
from impact_studies.models.rigid_contact.plant import (
    FlexibleJointRigidContactPlant,
    Impact,
    RigidJointRigidContactPlant,
)
from impact_studies.planar_impact.response import is_observed, state_at_contact
from impact_studies.three_plants.course import STIFFNESS, Course, tilted_surface

BOUNCE_HEIGHT = 1e-6
"""[m] A point that comes no higher than this stayed on the surface."""


class ReturnWatch:
    """Follows the contact points of an end-effector sample by sample.

    Attributes:
        first: when the first of them was back on the surface [s], infinite until then. The first touch of a point is
            no return.
    """

    def __init__(self, points: int) -> None:
        """Begin before any of the points has touched."""
        self.first = math.inf
        self._touched = np.zeros(points, dtype=bool)
        self._height = np.zeros(points)

    def observe(self, time: float, gaps: Vector, closed: NDArray[np.bool_]) -> None:
        """Take a sample at `time` [s]: gaps (n_c,) [m], and which points touch (n_c,)."""
        if np.any(closed & (self._height > BOUNCE_HEIGHT)):
            self.first = min(self.first, time)
        off = self._touched & ~closed
        self._height = np.where(off, np.maximum(self._height, gaps), 0.0)
        self._touched |= closed


SAMPLE = 0.25e-3
"""[s] A period of the torque loop: bounces shorter than this are not seen."""

CONTROL_SAMPLES = 4
"""Samples between two torques: 1 kHz."""

OBSERVED = 0.3
"""[s] after the first contact."""

CONTACT_STIFFNESS, CONTACT_DAMPING, CONTACT_EXPONENT = 1.9657e9, 1.9657e13, 1.5
"""k_c, d_c of Proper 2021, Table 3.1; eta of a sphere on a plane."""


class PlantModel(StrEnum):
    """Models of Proper 2021, 3.1."""

    A = "A"
    """Flexible joints, compliant contact."""

    B = "B"
    """Flexible joints, rigid contact."""

    C = "C"
    """Rigid joints, rigid contact."""


@dataclass(frozen=True)
class Scenario:
    """One kind of impact: its name, end-effector, and the tilt of the surface [deg] that nobody expects."""

    name: str
    end_effector: str
    tilt: float


SCENARIOS = (
    Scenario("single, expected", "planar_sphere", 0.0),
    Scenario("single, tilted", "planar_sphere", 5.0),
    Scenario("simultaneous, expected", "planar_edge", 0.0),
    Scenario("simultaneous, tilted", "planar_edge", 5.0),
)


@dataclass(frozen=True)
class PlantCase:
    """One response to be simulated.

    stiffness [1/s^2]: see `Course`. returns: whether a point that comes back after a bounce is detected as another
    impact.
    """

    scenario: Scenario
    model: PlantModel
    stiffness: float = STIFFNESS
    returns: bool = False


@dataclass(frozen=True, eq=False)
class Response:
    """Samples of one plant around the impact.

    time (m,) [s] after first contact; position, velocity (m, n) [rad, rad/s] of the links; gaps (m, n_c) [m];
    closed (m, n_c); normal (3,): of the surface, frame A; phases (m,): of the torque; touches (n_c,) [s] after
    first contact: first touch of each point, infinite if there was none; impacts: of the rigid contact, their times
    from the start; start_time [s]: of the first contact, from the start.
    """

    robot: RobotDescription
    model: PlantModel
    normal: Vector
    time: Vector
    position: Matrix
    velocity: Matrix
    gaps: Matrix
    closed: NDArray[np.bool_]
    phases: NDArray[np.str_]
    touches: Vector
    impacts: tuple[Impact, ...]
    start_time: float

    @property
    def at_impact(self) -> tuple[Vector, Vector]:
        """q^- (n,) [rad] and dq^- (n,) [rad/s] at first contact."""
        return state_at_contact(self.time, self.position, self.velocity)

    @property
    def post_time(self) -> float:
        """Start of the post phase [s] after first contact; NaN without it."""
        post = np.flatnonzero(self.phases == "post")
        return float(self.time[post[0]]) if post.size else math.nan


_Plant = FlexibleJointPlant | FlexibleJointRigidContactPlant | RigidJointRigidContactPlant


def respond(case: PlantCase) -> Response:
    """Simulate one plant from rest to OBSERVED after the first contact. Raises ImpactControlError without contact."""
    robot = load_robot("planar_rrr", case.scenario.end_effector)
    course = Course(robot, case.stiffness)
    point, normal = tilted_surface(case.scenario.tilt)
    start = course.approach.configuration(robot, course.approach.at(0.0)[0])
    plant = _plant(robot, case.model, start, point, normal)
    rows: list[tuple[NDArray[Any], ...]] = []
    phases: list[str] = []
    torque, phase = np.zeros_like(start), "ante"
    watch = ReturnWatch(course.points)
    while not is_observed(plant.time, plant.first_contact_time, course.approach.impact_time, OBSERVED):
        q, dq, gaps, closed = plant.link_position.copy(), plant.link_velocity.copy(), plant.gaps.copy(), _closed(plant)
        watch.observe(plant.time, gaps, closed)
        if len(rows) % CONTROL_SAMPLES == 0:
            phase = course.phase(plant.time, _touches(plant), watch.first if case.returns else math.inf)
            torque = course.torque(phase, plant.time, q, dq)
        rows.append((np.array([plant.time]), q, dq, gaps, closed))
        phases.append(phase)
        plant.step(torque)
    time, position, velocity, all_gaps, all_closed = map(np.array, zip(*rows, strict=True))
    first = plant.first_contact_time
    return Response(
        robot=robot,
        model=case.model,
        normal=normal,
        time=time[:, 0] - first,
        position=position,
        velocity=velocity,
        gaps=all_gaps,
        closed=all_closed,
        phases=np.array(phases),
        touches=_touches(plant) - first,
        impacts=() if isinstance(plant, FlexibleJointPlant) else tuple(plant.impacts),
        start_time=first,
    )


def run_case(case: PlantCase) -> Mapping[str, NDArray[Any]]:
    """Simulate a response; arrays by the name of the attribute of `Response`, and of `Impact` after "impact "."""
    response = respond(case)
    samples = ("time", "position", "velocity", "gaps", "closed", "phases", "touches", "start_time")
    impacts = {
        f"impact {entry.name}": np.array([getattr(impact, entry.name) for impact in response.impacts])
        for entry in fields(Impact)
    }
    return {name: getattr(response, name) for name in samples} | impacts


def response_of(case: PlantCase, arrays: Mapping[str, NDArray[Any]]) -> Response:
    """Return what `run_case` found."""
    columns = {entry.name: arrays[f"impact {entry.name}"] for entry in fields(Impact)}
    impacts = tuple(
        from_arrays(Impact, {name: column[i] for name, column in columns.items()}) for i in range(columns["time"].size)
    )
    robot = load_robot("planar_rrr", case.scenario.end_effector)
    normal = tilted_surface(case.scenario.tilt)[1]
    return from_arrays(Response, arrays, robot=robot, model=case.model, normal=normal, impacts=impacts)


def _plant(robot: RobotDescription, model: PlantModel, start: Vector, point: Vector, normal: Vector) -> _Plant:
    options = PlantOptions.of(sample_period=SAMPLE, refresh_ticks=1, joint_friction=False)
    if model is PlantModel.A:
        law = ExponentialHuntCrossley(CONTACT_STIFFNESS, CONTACT_DAMPING, CONTACT_EXPONENT)
        return FlexibleJointPlant(robot, start, Surface(point, normal, law, friction=0.0), options)
    kind = FlexibleJointRigidContactPlant if model is PlantModel.B else RigidJointRigidContactPlant
    return kind(robot, start, RigidSurface(point, normal), RigidContactOptions(joints=options))


def _touches(plant: _Plant) -> Vector:
    """Return the time of the first touch of each point (n_c,) [s], infinite before it."""
    if isinstance(plant, FlexibleJointPlant):
        return plant.first_contact_times.copy()
    touches = np.full(plant.gaps.size, math.inf)
    for impact in reversed(plant.impacts):
        touches[np.any(impact.impulse != 0.0, axis=1)] = impact.time
    return touches


def _closed(plant: _Plant) -> NDArray[np.bool_]:
    """Return which points touch the surface (n_c,)."""
    if isinstance(plant, FlexibleJointPlant):
        return np.asarray(plant.gaps <= 0.0)
    return plant.closed.copy()
