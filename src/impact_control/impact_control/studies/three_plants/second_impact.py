"""Proper 2021, Fig. 3.20: plant A comes off the surface, and its return is detected as another impact of the edge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from impact_control.robots import Dynamics
from impact_control.studies.classification.plan import measured_pose
from impact_control.studies.planar_impact.approach import PLANAR_TASK
from impact_control.studies.study import Cell, Column, Finding, Table, columns
from impact_control.studies.three_plants.claims import Claim
from impact_control.studies.three_plants.course import LONGEST_INTERIM
from impact_control.studies.three_plants.measures import (
    Responses,
    distance,
    expected_time,
    first_return,
    jump_size,
    ringing,
    root_mean_square,
)
from impact_control.studies.three_plants.references import Reference
from impact_control.studies.three_plants.response import PlantModel, Response
from impact_control.types import Matrix

A, B, C = PlantModel

LAST = 0.05
"""[s] before B and C switch in which it is seen who has come to the post-impact reference; our choice."""

QUIET = 0.01
"""Part of the ringing of B below which C does not oscillate, as for Fig. 3.17."""


@dataclass(frozen=True, eq=False)
class SecondImpact:
    """An edge on the surface that is expected, with and without its return as an impact.

    plants: as in the source, where only A can come off the surface: its return is detected, those of B are not.
    undetected: A without that, as in Fig. 3.21; detected: B with it. reference: that they follow.
    """

    plants: Responses
    undetected: Response
    detected: Response
    reference: Reference

    @property
    def between(self) -> tuple[float, float]:
        """Return from A's switch to the post phase until B's [s] after first contact."""
        return self.plants[A].post_time, self.plants[B].post_time

    @property
    def last(self) -> tuple[float, float]:
        """Return the end of that time [s], LAST long."""
        return self.between[1] - LAST, self.between[1]

    def percent(self, one: PlantModel, other: PlantModel) -> float:
        """Return how far two plants are from each other between the switches, in percent of C's first jump."""
        return 100.0 * distance(self.plants[one], self.plants[other], self.between) / jump_size(self.plants[C])

    def percent_from_reference(self, response: Response, window: tuple[float, float]) -> float:
        """Return how far the joint velocities are from the post-impact reference, in percent of C's first jump.

        Root mean square over joints and samples in a window [s] after first contact.
        """
        inside = (response.time > window[0]) & (response.time <= window[1])
        wanted = post_velocity(response, self.reference)[inside]
        return 100.0 * root_mean_square(response.velocity[inside] - wanted) / jump_size(self.plants[C])


def post_velocity(response: Response, reference: Reference) -> Matrix:
    """Return the joint velocities (m, 3) [rad/s] of the post-impact reference at the samples of a response."""
    time = expected_time(response)
    return np.column_stack([np.interp(time, reference.time, column) for column in reference.joint_rates_post.T])


def task_motion(response: Response) -> tuple[Matrix, Matrix]:
    """Return x, z [m] and turn about y [rad] of E (m, 3) and their rates (m, 3), the turn from pointing down."""
    dynamics = Dynamics(response.robot)
    poses, rates = [], []
    for q, dq in zip(response.position, response.velocity, strict=True):
        dynamics.update(q, dq)
        poses.append(measured_pose(dynamics))
        rates.append(dynamics.twist[list(PLANAR_TASK)])
    return np.array(poses), np.array(rates)


def second_impact_claims(found: SecondImpact) -> tuple[Claim, ...]:
    """Return what Proper 2021, 3.5.2, says of the responses of Fig. 3.20, beside our numbers.

    That A switches before B and C is so because the return of our B is not detected, by choice. What follows from that
    has no verdict.
    """
    plants = found.plants
    apart = {pair: found.percent(*pair) for pair in ((A, B), (A, C), (B, C))}
    rings = [float(np.degrees(ringing(plants[model]))) for model in (B, C)]
    left = [found.percent_from_reference(plants[model], found.last) for model in PlantModel]
    switches = [plants[model].post_time for model in PlantModel]
    return (
        Claim(
            "Fig. 3.20",
            "A is significantly different from B and C, which are similar",
            "between the switches A is "
            f"{apart[A, B]:.1f} and {apart[A, C]:.1f} % of the jump from B and C, B is {apart[B, C]:.1f} % from C",
            None,
        ),
        Claim(
            "Fig. 3.20",
            "B oscillates, C does not",
            f"ringing {rings[0]:.2f} and {rings[1]:.4f} deg/s in B and C",
            rings[1] < QUIET * rings[0],
        ),
        Claim(
            "Fig. 3.20",
            "A comes to the post-impact trajectory sooner than B and C",
            f"in the last {1e3 * LAST:g} ms before B switches A, B, C are "
            f"{', '.join(f'{value:.1f}' for value in left)} % of the jump from it",
            None,
        ),
        Claim(
            "Fig. 3.20",
            f"A switches when its return is detected, B and C {1e3 * LONGEST_INTERIM:g} ms after the impact",
            f"A after {1e3 * switches[0]:.0f} ms, {1e3 * (switches[0] - first_return(plants[A])):.1f} ms after its "
            f"return, B and C after {1e3 * switches[1]:.0f} and {1e3 * switches[2]:.0f} ms; B after "
            f"{1e3 * found.detected.post_time:.0f} ms if its return is detected, too",
            None,
        ),
    )


def second_impact_table(by_gain: Mapping[float, SecondImpact]) -> Table:
    """When each plant switches, with its return as an impact and without, and how near it is to the reference then."""
    rows: list[tuple[Cell, ...]] = []
    for gain, found in by_gain.items():
        cases = (
            ("A", "yes", found.plants[A]),
            ("A", "no", found.undetected),
            ("B", "yes", found.detected),
            ("B", "no", found.plants[B]),
            ("C", "none", found.plants[C]),
        )
        for plant, detected, response in cases:
            errors = (found.percent_from_reference(response, window) for window in (found.between, found.last))
            rows.append((gain, plant, detected, 1e3 * response.post_time, *errors))
    return Table(
        name="second_impact",
        title="The edge as expected: the return to the surface as a second impact (Fig. 3.20)",
        columns=(
            Column("gain", "1/s^2", 0),
            *columns(("plant", "return\ndetected")),
            Column("post phase\nbegins", "ms", 1),
            *columns(("from the reference,\nbetween the switches", f"the same, last\n{1e3 * LAST:g} ms"), "%", 1),
        ),
        rows=tuple(rows),
        note="Distance of the joint velocities from the post-impact reference, root mean square in parts of plant C's "
        "first jump; between the switches of A and B as in the picture.",
    )


def second_impact_finding(by_gain: Mapping[float, SecondImpact]) -> Finding:
    """Say what our B does when its return is detected, too; in the source its contact cannot open."""
    times = ", ".join(
        f"{1e3 * found.detected.post_time:.0f} ms after the impact with the gain {gain:g} 1/s^2 "
        f"(A after {1e3 * found.plants[A].post_time:.0f} ms)"
        for gain, found in by_gain.items()
    )
    return Finding(
        "Fig. 3.20: in the source B and C cannot come off the surface, so that the return of A alone is detected. Ours "
        f"does the same by choice: our B comes off, too, and with its return detected it switches {times}."
    )
