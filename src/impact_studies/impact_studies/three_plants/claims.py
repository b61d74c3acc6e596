"""Statements of Proper 2021, 3.5, on the three plants, beside our numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from impact_control.robots import Dynamics
from impact_control.util.types import Matrix
from impact_studies.frame.study import Cell, Column, Comparison, Finding, Judged, Table, all_hold, columns, held
from impact_studies.planar_impact.response import PLANAR_TASK
from impact_studies.three_plants.course import DETECTION_DELAY, LONGEST_INTERIM, SPEED
from impact_studies.three_plants.measures import (
    RINGING,
    WINDOWS,
    Responses,
    bounce_heights,
    bounces,
    contact_interval,
    distance,
    expected_time,
    first_return,
    jump_size,
    jump_time,
    percent_from_rigid,
    ringing,
    root_mean_square,
    slide_error,
    turn_difference,
)
from impact_studies.three_plants.plan import measured_pose
from impact_studies.three_plants.references import Reference
from impact_studies.three_plants.response import OBSERVED, SCENARIOS, PlantModel, Response, Scenario

A, B, C = PlantModel
EDGE, EDGE_TILTED = SCENARIOS[2:]

BACK = 0.07
"""[s] after the impact: when the return of plant A to the surface is detected, 1.07 s less t_1,d = 1 s (Fig. 3.20)."""

MATCHING_GAIN = 200.0
"""[1/s^2] of the pose task: with it plant A is back then. The source does not give its gain."""

CONVERGED = 2.0
"""[% of plant C's first jump] Responses that are nearer than this in the last window have become the same."""


def _claim(where: str, published: str, own: str, agrees: bool | None) -> Comparison:
    """Return a statement of the source beside ours in numbers; agrees: None where ours is so by choice."""
    return Comparison(where, "", published, own, holds=agrees)


def claims(cases: Mapping[Scenario, Responses]) -> tuple[Comparison, ...]:
    """Return the statements of Proper 2021, 3.5.1 and 3.5.2, beside our numbers."""
    single, tilted, edge, edge_tilted = (cases[scenario] for scenario in SCENARIOS)
    rest = [percent_from_rigid(single, model, WINDOWS[-1]) for model in (A, B)]
    rings = [float(np.degrees(ringing(single[model]))) for model in PlantModel]
    first = jump_time(single[A], single[B])
    hops = bounce_heights(single[A])
    tracks = slide_error(single[C], RINGING[1])
    turn = max(turn_difference(single[model], single[C]) for model in (A, B))
    other = 100.0 * distance(tilted[C], single[C], WINDOWS[0]) / jump_size(single[C])
    early = [bounces(edge[A], point) for point in (0, 1)]
    back = first_return(edge[A])
    rest_edge = [percent_from_rigid(edge, model, WINDOWS[-1]) for model in (A, B)]
    switch = [response.post_time for response in edge_tilted.values()]
    opened = [bounce_heights(edge_tilted[model]) for model in (A, B)]
    return (
        _claim(
            "Fig. 3.17",
            "all models converge to the same response",
            f"{WINDOWS[-1][0] * 1e3:g} to {OBSERVED * 1e3:g} ms after contact A and B are {rest[0]:.2f} and "
            f"{rest[1]:.2f} % of the jump from C",
            max(rest) < CONVERGED,
        ),
        _claim(
            "Fig. 3.17",
            "A and B oscillate, C does not",
            f"ringing {rings[0]:.2f}, {rings[1]:.2f}, {rings[2]:.4f} deg/s in A, B, C",
            rings[2] < 0.01 * min(rings[:2]),
        ),
        _claim(
            "Fig. 3.17",
            "the velocity of B and C jumps, that of A changes fast",
            f"A has made 90 % of the jump of B in its first sample, {1e3 * first:.2f} ms after contact",
            0.0 < first < 1e-3,
        ),
        _claim(
            "Fig. 3.19 (a)",
            "in A the contact opens for a brief period",
            f"{len(hops)} bounces, up to {1e6 * max(hops, default=0.0):.0f} um",
            bool(hops),
        ),
        _claim(
            "Fig. 3.17",
            "C follows the trajectory that starts with the prediction of the rigid map",
            f"velocity of the end-effector within {1e3 * tracks:.2f} mm/s of it for {1e3 * RINGING[1]:g} ms",
            tracks < 0.01 * SPEED,
        ),
        _claim(
            "Fig. 3.17",
            "orientations differ in the order of 1e-4 rad",
            f"largest difference from C {1e4 * turn:.1f}e-4 rad",
            1e-5 < turn < 1e-3,
        ),
        _claim(
            "Fig. 3.18",
            "on the tilted surface the response of each model is different from the expected one",
            f"C differs from the expected C by {other:.0f} % of the jump in the first {1e3 * WINDOWS[0][1]:g} ms",
            other > 10.0,
        ),
        _claim(
            "Fig. 3.20, 3.23",
            "edge: one impact is detected; in A contact is lost briefly and found again",
            f"both ends touch within {1e6 * contact_interval(edge[A]):.0f} us; "
            f"{len(bounce_heights(edge[A]))} bounces in A, both ends together",
            contact_interval(edge[A]) < DETECTION_DELAY and all(early),
        ),
        _claim(
            "Fig. 3.20, 3.23",
            f"edge: that is detected about {1e3 * BACK:g} ms after the impact",
            f"A is back {1e3 * back:.0f} ms after the impact, which is detected {1e3 * DETECTION_DELAY:g} ms later",
            abs(back + DETECTION_DELAY - BACK) < 0.25 * BACK,
        ),
        _claim(
            "Fig. 3.21",
            "edge: without that detection the three responses converge",
            f"from {WINDOWS[-1][0] * 1e3:g} ms on A and B are {rest_edge[0]:.2f} and {rest_edge[1]:.2f} % from C",
            max(rest_edge) < CONVERGED,
        ),
        _claim(
            "Fig. 3.22",
            "edge, tilted: all models switch to the phases at the same time",
            f"the post phase begins {', '.join(f'{1e3 * time:.1f}' for time in switch)} ms after contact in A, B, C",
            max(switch) - min(switch) < 5e-3,
        ),
        _claim(
            "Fig. 3.24",
            "edge, tilted: contact is lost briefly after each impact",
            f"{len(opened[0])} bounces in A, {len(opened[1])} in B, both points together",
            all(bool(bounces(edge_tilted[A], point)) for point in (0, 1)),
        ),
    )


def claims_table(by_gain: Mapping[float, tuple[Comparison, ...]]) -> Table:
    """The claims as a table, ours by the gain [1/s^2]; the figures of the source have no numbers in its text."""
    return Table.of(
        "claims",
        "What sections 3.5.1 and 3.5.2 say, and what comes out",
        columns(("where", "published", *(f"ours, gain {gain:g} 1/s^2" for gain in by_gain))),
        (
            (same[0].where, same[0].published, *(Judged(claim.own, claim.holds) for claim in same))
            for same in zip(*by_gain.values(), strict=True)
        ),
        "The figures themselves are not in the text of the source; only what the text says of them is compared.",
    )


def comparisons(by_gain: Mapping[float, tuple[Comparison, ...]]) -> tuple[Comparison, ...]:
    """Return the claims with each gain [1/s^2]."""
    return tuple(replace(claim, what=f"gain {gain:g} 1/s^2") for gain, said in by_gain.items() for claim in said)


def verdict(by_gain: Mapping[float, tuple[Comparison, ...]]) -> tuple[bool, str]:
    """Return whether all claims that are judged agree with one of the gains [1/s^2], and how many do with which."""
    texts = [f"{held(said)} with the gain {gain:g} 1/s^2" for gain, said in by_gain.items()]
    chosen = ", which is chosen by one of them" if MATCHING_GAIN in by_gain else ""
    return any(map(all_hold, by_gain.values())), (
        f"Statements of the source on its three models that hold for our three plants: {', '.join(texts)}{chosen}."
    )


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
        desired = post_velocity(response, self.reference)[inside]
        return 100.0 * root_mean_square(response.velocity[inside] - desired) / jump_size(self.plants[C])


def post_velocity(response: Response, reference: Reference) -> Matrix:
    """Return the joint velocities (m, 3) [rad/s] of the post-impact reference at the samples of a response."""
    time = expected_time(response)
    return np.column_stack([np.interp(time, reference.time, column) for column in reference.post.joints[:, 1].T])


def task_motion(response: Response) -> tuple[Matrix, Matrix]:
    """Return x, z [m] and turn about y [rad] of E (m, 3) and their rates (m, 3), the turn from pointing down."""
    dynamics = Dynamics(response.robot)
    poses, rates = [], []
    for q, dq in zip(response.position, response.velocity, strict=True):
        dynamics.compute(q, dq)
        poses.append(measured_pose(dynamics))
        rates.append(dynamics.twist[list(PLANAR_TASK)])
    return np.array(poses), np.array(rates)


def second_impact_claims(found: SecondImpact) -> tuple[Comparison, ...]:
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
        _claim(
            "Fig. 3.20",
            "A is significantly different from B and C, which are similar",
            "between the switches A is "
            f"{apart[A, B]:.1f} and {apart[A, C]:.1f} % of the jump from B and C, B is {apart[B, C]:.1f} % from C",
            None,
        ),
        _claim(
            "Fig. 3.20",
            "B oscillates, C does not",
            f"ringing {rings[0]:.2f} and {rings[1]:.4f} deg/s in B and C",
            rings[1] < QUIET * rings[0],
        ),
        _claim(
            "Fig. 3.20",
            "A comes to the post-impact trajectory sooner than B and C",
            f"in the last {1e3 * LAST:g} ms before B switches A, B, C are "
            f"{', '.join(f'{value:.1f}' for value in left)} % of the jump from it",
            None,
        ),
        _claim(
            "Fig. 3.20",
            f"A switches when its return is detected, B and C {1e3 * LONGEST_INTERIM:g} ms after the impact",
            f"A after {1e3 * switches[0]:.0f} ms, {1e3 * (switches[0] - first_return(plants[A])):.1f} ms after its "
            f"return, B and C after {1e3 * switches[1]:.0f} and {1e3 * switches[2]:.0f} ms; B after "
            f"{1e3 * found.detected.post_time:.0f} ms if its return is detected, too",
            None,
        ),
    )


def second_impact_table(by_gain: Mapping[float, SecondImpact]) -> Table:
    """Switch of each plant with its return as an impact and without, and its distance from the reference then."""

    def rows() -> Iterable[Iterable[Cell]]:
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
                yield (gain, plant, detected, 1e3 * response.post_time, *errors)

    return Table.of(
        "second_impact",
        "The edge as expected: the return to the surface as a second impact (Fig. 3.20)",
        (
            Column("gain", "1/s^2", 0),
            *columns(("plant", "return\ndetected")),
            Column("post phase\nbegins", "ms", 1),
            *columns(("from the reference,\nbetween the switches", f"the same, last\n{1e3 * LAST:g} ms"), "%", 1),
        ),
        rows(),
        "Distance of the joint velocities from the post-impact reference, root mean square in parts of plant C's "
        "first jump; between the switches of A and B as in the picture.",
    )


def second_impact_finding(by_gain: Mapping[float, SecondImpact]) -> Finding:
    """Describe what our B does when its return is detected, too; in the source its contact cannot open."""
    times = ", ".join(
        f"{1e3 * found.detected.post_time:.0f} ms after the impact with the gain {gain:g} 1/s^2 "
        f"(A after {1e3 * found.plants[A].post_time:.0f} ms)"
        for gain, found in by_gain.items()
    )
    return Finding(
        "Fig. 3.20: in the source B and C cannot come off the surface, so that the return of A alone is detected. Ours "
        f"does the same by choice: our B comes off, too, and with its return detected it switches {times}."
    )
