"""What Proper 2021, 3.5, says of the three plants, statement by statement, beside our numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from impact_control.studies.study import Cell, Comparison, Mark, Table, columns
from impact_control.studies.three_plants.course import DETECTION_DELAY, SPEED
from impact_control.studies.three_plants.measures import (
    RINGING,
    WINDOWS,
    Responses,
    bounce_heights,
    bounces,
    contact_interval,
    distance,
    first_return,
    jump_size,
    jump_time,
    percent_from_rigid,
    ringing,
    slide_error,
    turn_difference,
)
from impact_control.studies.three_plants.response import OBSERVED, SCENARIOS, PlantModel, Scenario

A, B, C = PlantModel
EDGE, EDGE_TILTED = SCENARIOS[2:]

BACK = 0.07
"""[s] after the impact: when the return of plant A to the surface is detected, 1.07 s less t_1,d = 1 s (Fig. 3.20)."""

MATCHING_GAIN = 200.0
"""[1/s^2] of the pose task: with it plant A is back then. The source does not give its gain."""

CONVERGED = 2.0
"""[% of plant C's first jump] Responses that are nearer than this in the last window have become the same."""


@dataclass(frozen=True)
class Claim:
    """A statement of the source, ours in numbers, and whether they agree: None where ours is so by choice."""

    source: str
    published: str
    ours: str
    agrees: bool | None

    @property
    def mark(self) -> Mark:
        """Verdict."""
        return Mark.PLAIN if self.agrees is None else Mark.of(self.agrees)


def claims(cases: Mapping[Scenario, Responses]) -> tuple[Claim, ...]:
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
        Claim(
            "Fig. 3.17",
            "all models converge to the same response",
            f"{WINDOWS[-1][0] * 1e3:g} to {OBSERVED * 1e3:g} ms after contact A and B are {rest[0]:.2f} and "
            f"{rest[1]:.2f} % of the jump from C",
            max(rest) < CONVERGED,
        ),
        Claim(
            "Fig. 3.17",
            "A and B oscillate, C does not",
            f"ringing {rings[0]:.2f}, {rings[1]:.2f}, {rings[2]:.4f} deg/s in A, B, C",
            rings[2] < 0.01 * min(rings[:2]),
        ),
        Claim(
            "Fig. 3.17",
            "the velocity of B and C jumps, that of A changes fast",
            f"A has made 90 % of the jump of B in its first sample, {1e3 * first:.2f} ms after contact",
            0.0 < first < 1e-3,
        ),
        Claim(
            "Fig. 3.19 (a)",
            "in A the contact opens for a brief period",
            f"{len(hops)} bounces, up to {1e6 * max(hops, default=0.0):.0f} um",
            bool(hops),
        ),
        Claim(
            "Fig. 3.17",
            "C follows the trajectory that starts with the prediction of the rigid map",
            f"velocity of the end-effector within {1e3 * tracks:.2f} mm/s of it for {1e3 * RINGING[1]:g} ms",
            tracks < 0.01 * SPEED,
        ),
        Claim(
            "Fig. 3.17",
            "orientations differ in the order of 1e-4 rad",
            f"largest difference from C {1e4 * turn:.1f}e-4 rad",
            1e-5 < turn < 1e-3,
        ),
        Claim(
            "Fig. 3.18",
            "on the tilted surface the response of each model is different from the expected one",
            f"C differs from the expected C by {other:.0f} % of the jump in the first {1e3 * WINDOWS[0][1]:g} ms",
            other > 10.0,
        ),
        Claim(
            "Fig. 3.20, 3.23",
            "edge: one impact is detected; in A contact is lost briefly and found again",
            f"both ends touch within {1e6 * contact_interval(edge[A]):.0f} us; "
            f"{len(bounce_heights(edge[A]))} bounces in A, both ends together",
            contact_interval(edge[A]) < DETECTION_DELAY and all(early),
        ),
        Claim(
            "Fig. 3.20, 3.23",
            f"edge: that is detected about {1e3 * BACK:g} ms after the impact",
            f"A is back {1e3 * back:.0f} ms after the impact, which is detected {1e3 * DETECTION_DELAY:g} ms later",
            abs(back + DETECTION_DELAY - BACK) < 0.25 * BACK,
        ),
        Claim(
            "Fig. 3.21",
            "edge: without that detection the three responses converge",
            f"from {WINDOWS[-1][0] * 1e3:g} ms on A and B are {rest_edge[0]:.2f} and {rest_edge[1]:.2f} % from C",
            max(rest_edge) < CONVERGED,
        ),
        Claim(
            "Fig. 3.22",
            "edge, tilted: all models switch to the phases at the same time",
            f"the post phase begins {', '.join(f'{1e3 * time:.1f}' for time in switch)} ms after contact in A, B, C",
            max(switch) - min(switch) < 5e-3,
        ),
        Claim(
            "Fig. 3.24",
            "edge, tilted: contact is lost briefly after each impact",
            f"{len(opened[0])} bounces in A, {len(opened[1])} in B, both points together",
            all(bool(bounces(edge_tilted[A], point)) for point in (0, 1)),
        ),
    )


def claims_table(by_gain: Mapping[float, tuple[Claim, ...]]) -> Table:
    """The claims as a table, ours by the gain [1/s^2]; the figures of the source have no numbers in its text."""
    rows: list[tuple[Cell, ...]] = []
    marks = {}
    for i, same in enumerate(zip(*by_gain.values(), strict=True)):
        rows.append((same[0].source, same[0].published, *(claim.ours for claim in same)))
        marks.update({(i, 2 + j): claim.mark for j, claim in enumerate(same)})
    return Table(
        "claims",
        "What sections 3.5.1 and 3.5.2 say, and what comes out",
        columns(("where", "published", *(f"ours, gain {gain:g} 1/s^2" for gain in by_gain))),
        tuple(rows),
        marks,
        "The figures themselves are not in the text of the source; only what the text says of them is compared.",
    )


def comparisons(by_gain: Mapping[float, tuple[Claim, ...]]) -> tuple[Comparison, ...]:
    """Return the claims with each gain [1/s^2]."""
    return tuple(
        Comparison(claim.source, f"gain {gain:g} 1/s^2", claim.published, claim.ours, mark=claim.mark)
        for gain, said in by_gain.items()
        for claim in said
    )


def verdict(by_gain: Mapping[float, tuple[Claim, ...]]) -> tuple[bool, str]:
    """Return whether all claims that are judged agree with one of the gains [1/s^2], and how many do with which."""
    agree = {gain: sum(claim.mark is Mark.GOOD for claim in said) for gain, said in by_gain.items()}
    count = sum(claim.mark is not Mark.PLAIN for claim in next(iter(by_gain.values())))
    texts = [f"{number} of {count} with the gain {gain:g} 1/s^2" for gain, number in agree.items()]
    chosen = ", which is chosen by one of them" if MATCHING_GAIN in by_gain else ""
    return count in agree.values(), (
        f"Statements of the source on its three models that hold for our three plants: {', '.join(texts)}{chosen}."
    )
