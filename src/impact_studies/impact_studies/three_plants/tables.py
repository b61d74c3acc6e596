"""Tables of the three plants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from impact_control.robots import InertiaModel
from impact_control.util.types import Vector
from impact_studies.frame.study import Cell, Column, Judged, Table, columns
from impact_studies.three_plants.measures import (
    WINDOWS,
    Responses,
    bounce_heights,
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
from impact_studies.three_plants.response import BOUNCE_HEIGHT, OBSERVED, PlantModel, Response, Scenario

SAME = 1.0
"""[deg/s] Velocities of plant and map that are nearer than this are marked as equal."""


def velocities_table(cases: Mapping[Scenario, Responses]) -> Table:
    """Joint velocities before and right after the first impact, of plants and maps."""

    def rows() -> Iterable[Iterable[Cell | Judged]]:
        for scenario, responses in cases.items():
            flexible, rigid = responses[PlantModel.B], responses[PlantModel.C]
            velocities = (
                rigid.at_impact[1],
                map_velocity(rigid, InertiaModel.REDUCED_MOTORS),
                right_after(rigid),
                map_velocity(flexible, InertiaModel.LINKS),
                right_after(flexible),
            )
            for j, joint in enumerate(np.degrees(np.array(velocities)).T):
                before, with_motors, after_c, links, after_b = map(float, joint)
                yield (
                    *(scenario.name, j + 1, before, with_motors, Judged(after_c, abs(with_motors - after_c) < SAME)),
                    *(links, Judged(after_b, abs(links - after_b) < SAME)),
                )

    heads = ("before", "map,\nM + B_theta", "plant C,\nright after", "map, M", "plant B,\nright after")
    return Table.of(
        "velocities",
        "Joint velocities at the first impact",
        (*columns(("scenario", "joint")), *columns(heads, "deg/s", 2)),
        rows(),
        "Maps from the configuration and velocity of the plant they stand beside, for the points that touch first. "
        f"Green: plant within {SAME:g} deg/s of its map.",
    )


def convergence_table(cases: Mapping[Scenario, Responses]) -> Table:
    """Distance of the joint velocities of A and B from those of C over time, and of A from B."""
    pairs = ((PlantModel.A, PlantModel.C), (PlantModel.B, PlantModel.C), (PlantModel.A, PlantModel.B))
    return Table.of(
        "convergence",
        "How far the joint velocities of two plants are from each other, in parts of plant C's first jump",
        (
            *columns(("scenario", "plants", "distance")),
            *columns((f"{1e3 * start:g} to\n{1e3 * end:g} ms" for start, end in WINDOWS), "%", 1),
        ),
        (
            (
                *(scenario.name, f"{one} from {other}", name),
                *(percent * measure(responses[one], responses[other], window) for window in WINDOWS),
            )
            for scenario, responses in cases.items()
            for percent in [100.0 / jump_size(responses[PlantModel.C])]
            for one, other in pairs
            for name, measure in (("all", distance), ("mean of the window", offset))
        ),
        "Root mean square over joints and samples; of the mean over the window: the ringing cancels. From the "
        "first contact of each plant on.",
    )


def contacts_table(cases: Mapping[Scenario, Responses]) -> Table:
    """Touch, bounces and final closure of each contact point."""

    def row(scenario: Scenario, model: PlantModel, response: Response, point: int) -> Iterable[Cell]:
        found, touch = bounces(response, point), float(response.touches[point])
        yield from (scenario.name, str(model), point + 1, _milliseconds(touch), len(found))
        yield from (_milliseconds(found[0].opens), _milliseconds(found[0].closes)) if found else (None, None)
        yield 1e6 * max(bounce.height for bounce in found) if found else None
        yield _milliseconds(found[-1].closes if found else touch)

    return Table.of(
        "contacts",
        "Contact points: touch, bounces, and when they stay on the surface (after first contact)",
        (
            *columns(("scenario", "plant", "point")),
            Column("first\ntouch", "ms", 3),
            Column("bounces"),
            *columns(("first bounce\nopens", "and\ncloses"), "ms", 1),
            Column("highest\nbounce", "um", 0),
            Column("last\nclosing", "ms", 1),
        ),
        (
            row(scenario, model, response, point)
            for scenario, responses in cases.items()
            for model, response in responses.items()
            for point in range(response.gaps.shape[1])
        ),
        f"Bounces higher than {1e6 * BOUNCE_HEIGHT:g} um, to 0.25 ms, within {1e3 * OBSERVED:g} ms.",
    )


def tilt_table(tilts: Mapping[float, Responses]) -> Table:
    """Time between the touches of both ends of the edge over the tilt of the surface."""
    return Table.of(
        "tilt",
        "The edge on a tilted surface: time between the two touches, and until both points stay closed",
        (
            Column("tilt", "deg", 2),
            *columns((f"between\ntouches, {name}" for name in (*PlantModel, "map")), "ms", 3),
            *columns((f"both stay\nclosed, {model}" for model in PlantModel), "ms", 1),
        ),
        (
            (
                tilt,
                *(_milliseconds(contact_interval(response)) for response in responses.values()),
                _milliseconds(estimated_interval(responses[PlantModel.C])),
                *(_milliseconds(settled(response)) for response in responses.values()),
            )
            for tilt, responses in tilts.items()
        ),
        "Map: gap of the other point at first contact over its speed after the rigid map with M + B_theta.",
    )


def gains_table(gains: Mapping[float, Response]) -> Table:
    """Bounces of plant A with the edge as expected, by the gain of the pose task [1/s^2]."""

    def row(gain: float, response: Response) -> Iterable[Cell]:
        heights = bounce_heights(response)
        height = 1e6 * max(heights) if heights else None
        return gain, _milliseconds(first_return(response)), height, _milliseconds(settled(response))

    return Table.of(
        "gains",
        "The edge as expected, plant A: bounces over the gain of the pose task",
        (
            Column("gain", "1/s^2", 0),
            Column("first bounce\ncloses", "ms", 1),
            Column("highest\nbounce", "um", 0),
            Column("both stay\nclosed", "ms", 1),
        ),
        (row(gain, response) for gain, response in gains.items()),
        "The source does not give its gain. With critical damping, but none in the interim phase.",
    )


def _milliseconds(time: float) -> float | None:
    return 1e3 * time if np.isfinite(time) else None


def largest_difference(first: Vector, second: Vector) -> float:
    """Return the largest difference over the joints [deg/s] of two velocities [rad/s]."""
    return float(np.degrees(np.abs(first - second)).max())
