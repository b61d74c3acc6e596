"""Tables of the three plants."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from impact_control.robots import InertiaModel
from impact_control.studies.study import Cell, Column, Mark, Table, columns
from impact_control.studies.three_plants.measures import (
    WINDOWS,
    Responses,
    bounces,
    contact_interval,
    distance,
    estimated_interval,
    first_return,
    jump_size,
    map_velocity,
    offset,
    right_after,
    settled,
)
from impact_control.studies.three_plants.response import OBSERVED, PlantModel, Response, Scenario
from impact_control.studies.three_plants.returns import BOUNCE_HEIGHT
from impact_control.types import Vector

SAME = 1.0
"""[deg/s] Velocities of plant and map that are nearer than this are marked as equal."""


def velocities_table(cases: Mapping[Scenario, Responses]) -> Table:
    """Joint velocities before and right after the first impact, of plants and maps."""
    rows: list[tuple[Cell, ...]] = []
    marks: dict[tuple[int, int], Mark] = {}
    for scenario, responses in cases.items():
        flexible, rigid = responses[PlantModel.B], responses[PlantModel.C]
        velocities = (
            rigid.at_impact[1],
            map_velocity(rigid, InertiaModel.REDUCED_MOTORS),
            right_after(rigid),
            map_velocity(flexible, InertiaModel.LINKS),
            right_after(flexible),
        )
        degrees = np.degrees(np.array(velocities))
        for j in range(degrees.shape[1]):
            for first in (1, 3):
                near = abs(degrees[first, j] - degrees[first + 1, j]) < SAME
                marks[len(rows), 3 + first] = Mark.of(near)
            rows.append((scenario.name, j + 1, *map(float, degrees[:, j])))
    return Table(
        name="velocities",
        title="Joint velocities at the first impact",
        columns=(
            *columns(("scenario", "joint")),
            *columns(
                ("before", "map,\nM + B_theta", "plant C,\nright after", "map, M", "plant B,\nright after"), "deg/s", 2
            ),
        ),
        rows=tuple(rows),
        marks=marks,
        note=(
            "Maps from the configuration and velocity of the plant they stand beside, for the points that touch first. "
            f"Green: plant within {SAME:g} deg/s of its map."
        ),
    )


def convergence_table(cases: Mapping[Scenario, Responses]) -> Table:
    """Distance of the joint velocities of A and B from those of C over time, and of A from B."""
    rows: list[tuple[Cell, ...]] = []
    pairs = ((PlantModel.A, PlantModel.C), (PlantModel.B, PlantModel.C), (PlantModel.A, PlantModel.B))
    for scenario, responses in cases.items():
        percent = 100.0 / jump_size(responses[PlantModel.C])
        for one, other in pairs:
            for name, measure in (("all", distance), ("mean of the window", offset)):
                values = (percent * measure(responses[one], responses[other], window) for window in WINDOWS)
                rows.append((scenario.name, f"{one} from {other}", name, *values))
    return Table(
        name="convergence",
        title="How far the joint velocities of two plants are from each other, in parts of plant C's first jump",
        columns=(
            *columns(("scenario", "plants", "distance")),
            *columns((f"{1e3 * start:g} to\n{1e3 * end:g} ms" for start, end in WINDOWS), "%", 1),
        ),
        rows=tuple(rows),
        note="Root mean square over joints and samples; of the mean over the window: the ringing cancels. From the "
        "first contact of each plant on.",
    )


def contacts_table(cases: Mapping[Scenario, Responses]) -> Table:
    """When each contact point touches, leaves and comes back."""
    rows: list[tuple[Cell, ...]] = []
    for scenario, responses in cases.items():
        for model, response in responses.items():
            for point in range(response.gaps.shape[1]):
                found = bounces(response, point)
                first = found[0] if found else None
                rows.append(
                    (
                        scenario.name,
                        str(model),
                        point + 1,
                        _milliseconds(float(response.touches[point])),
                        len(found),
                        _milliseconds(first.opens) if first else None,
                        _milliseconds(first.closes) if first else None,
                        1e6 * max(bounce.height for bounce in found) if found else None,
                        _milliseconds(found[-1].closes if found else float(response.touches[point])),
                    )
                )
    return Table(
        name="contacts",
        title="Contact points: touch, bounces, and when they stay on the surface (after first contact)",
        columns=(
            *columns(("scenario", "plant", "point")),
            Column("first\ntouch", "ms", 3),
            Column("bounces"),
            *columns(("first bounce\nopens", "and\ncloses"), "ms", 1),
            Column("highest\nbounce", "um", 0),
            Column("closed\nfor good", "ms", 1),
        ),
        rows=tuple(rows),
        note=f"Bounces higher than {1e6 * BOUNCE_HEIGHT:g} um, to 0.25 ms, within {1e3 * OBSERVED:g} ms.",
    )


def tilt_table(tilts: Mapping[float, Responses]) -> Table:
    """Time between the touches of both ends of the edge over the tilt of the surface."""
    rows: list[tuple[Cell, ...]] = []
    for tilt, responses in tilts.items():
        rows.append(
            (
                tilt,
                *(_milliseconds(contact_interval(response)) for response in responses.values()),
                _milliseconds(estimated_interval(responses[PlantModel.C])),
                *(_milliseconds(settled(response)) for response in responses.values()),
            )
        )
    return Table(
        name="tilt",
        title="The edge on a tilted surface: time between the two touches, and until both points stay closed",
        columns=(
            Column("tilt", "deg", 2),
            *columns((f"between\ntouches, {name}" for name in (*PlantModel, "map")), "ms", 3),
            *columns((f"both stay\nclosed, {model}" for model in PlantModel), "ms", 1),
        ),
        rows=tuple(rows),
        note="Map: gap of the other point at first contact over its speed after the rigid map with M + B_theta.",
    )


def gains_table(gains: Mapping[float, Response]) -> Table:
    """Bounces of plant A with the edge as expected, by the gain of the pose task [1/s^2]."""
    rows: list[tuple[Cell, ...]] = []
    for gain, response in gains.items():
        found = [bounce for point in range(response.gaps.shape[1]) for bounce in bounces(response, point)]
        height = 1e6 * max(bounce.height for bounce in found) if found else None
        rows.append((gain, _milliseconds(first_return(response)), height, _milliseconds(settled(response))))
    return Table(
        name="gains",
        title="The edge as expected, plant A: bounces over the gain of the pose task",
        columns=(
            Column("gain", "1/s^2", 0),
            Column("first bounce\ncloses", "ms", 1),
            Column("highest\nbounce", "um", 0),
            Column("both stay\nclosed", "ms", 1),
        ),
        rows=tuple(rows),
        note="The source does not give its gain. With critical damping, but none in the interim phase.",
    )


def _milliseconds(time: float) -> float | None:
    return 1e3 * time if np.isfinite(time) else None


def largest_difference(first: Vector, second: Vector) -> float:
    """Return the largest difference over the joints [deg/s] of two velocities [rad/s]."""
    return float(np.degrees(np.abs(first - second)).max())
