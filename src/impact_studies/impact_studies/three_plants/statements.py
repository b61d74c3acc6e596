"""Findings on the three plants, and what is assumed where Proper 2021, 3.5, leaves it open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from impact_control.robots import InertiaModel
from impact_studies.frame.study import Finding
from impact_studies.three_plants.claims import BACK
from impact_studies.three_plants.course import DETECTION_DELAY, SLIDE_TIME, STIFFNESS
from impact_studies.three_plants.measures import (
    WINDOWS,
    Bounce,
    Responses,
    bounces,
    contact_interval,
    distance,
    estimated_interval,
    first_return,
    jump_size,
    map_velocity,
    offset,
    percent_from_rigid,
    right_after,
    settled,
)
from impact_studies.three_plants.response import BOUNCE_HEIGHT, OBSERVED, SCENARIOS, PlantModel, Response, Scenario
from impact_studies.three_plants.tables import SAME, largest_difference

A, B, C = PlantModel

ASSUMPTIONS = (
    "Not the QP with contact tasks of the source but the computed torque of its pose task for the rigid model with "
    f"M + B_theta, the same in all plants, with the gain {STIFFNESS:g} 1/s^2 and critical damping, and lambda_ref as "
    "torque along the expected normal; the source gives no gains. Pose task in task space, not in joint space.",
    "Straight approach from rest over 80 mm in 0.6 s, not from q_0 over 1 s: the same place, direction and speed of "
    "impact. After the expected impact it goes on at this speed.",
    f"Slide after the impact: a quintic from the predicted twist to rest 0.1 m further, over {SLIDE_TIME:g} s; the "
    "source gives no end time. The predicted twist is that of the expected surface.",
    "Impacts are detected from the true contact, with the delay of the source of 2 ms; touches within 2 ms are one, "
    "and bounces are not detected, which is the case of Fig. 3.21. Without a second detection, the torque switches "
    "after t_switch = 0.15 s. For Fig. 3.20 the return to the surface of plant A is detected, with the same delay, "
    f"after a bounce of {1e6 * BOUNCE_HEIGHT:g} um or more.",
    "Exponent of the contact law 1.5, joints without friction, no noise. Solid aluminium edge.",
    "In the source a contact of B and C cannot open again; here it can, and it never pulls.",
)


def findings(
    cases: Mapping[Scenario, Responses], tilts: Mapping[float, Responses], gains: Mapping[float, Response]
) -> tuple[Finding, ...]:
    """Describe how B and A come to C's jump, what the tilt does to simultaneity, and how long until all stay closed.

    tilts: by tilt [deg] of the surface under the edge; gains: plant A with the edge as expected, by stiffness [1/s^2].
    """
    single, _, edge, edge_tilted = (cases[scenario] for scenario in SCENARIOS)
    size = jump_size(single[C])
    ratio = 100.0 * float(np.linalg.norm(right_after(single[B]) - right_after(single[C])) / np.sqrt(3.0)) / size
    ringing_of_b = [percent_from_rigid(single, B, window) for window in WINDOWS[:4]]
    means = [100.0 * offset(single[B], single[C], window) / size for window in WINDOWS[:4]]
    near = {scenario.name: _between_a_and_b(responses) for scenario, responses in cases.items()}
    maps = max(
        largest_difference(right_after(responses[model]), map_velocity(responses[model], inertia))
        for responses in cases.values()
        for model, inertia in ((C, InertiaModel.REDUCED_MOTORS), (B, InertiaModel.LINKS))
    )
    energy = max(
        impact.energy_change for responses in cases.values() for model in (B, C) for impact in responses[model].impacts
    )
    largest = max(tilts)
    errors = [
        abs(contact_interval(response) / estimated_interval(responses[C]) - 1.0)
        for tilt, responses in tilts.items()
        if tilt > 0.0
        for response in responses.values()
    ]
    edge_bounces = [bounce for point in (0, 1) for bounce in bounces(edge[A], point)]
    before = [bounce for bounce in edge_bounces if bounce.opens < edge[A].post_time]
    after = [bounce for bounce in edge_bounces if bounce.opens >= edge[A].post_time]
    closest = min(gains, key=lambda gain: abs(first_return(gains[gain]) + DETECTION_DELAY - BACK))
    edge_mean = 100.0 * offset(edge[B], edge[C], WINDOWS[1]) / jump_size(edge[C])
    return (
        Finding(
            f"Rigid contact is the map: right after the first impact plants B and C are {maps:.3f} deg/s or less from "
            "the rigid map, B with M and C with M + B_theta.",
            maps < SAME,
        ),
        Finding(
            f"B does not jump to where C is: right after a single impact it is {ratio:.0f} % of C's jump away, because "
            "its motors have not noticed. It then rings around C: the distance is "
            + ", ".join(f"{part:.1f}" for part in ringing_of_b)
            + " % over "
            + ", ".join(f"{1e3 * start:g} to {1e3 * end:g}" for start, end in WINDOWS[:4])
            + " ms, its mean over these windows "
            + ", ".join(f"{part:.1f}" for part in means)
            + " %.",
            max(means) < 5.0,
        ),
        Finding(
            "The compliance of the contact changes little: over the first 100 ms A is "
            + ", ".join(f"{part:.1f} % ({name})" for name, part in near.items())
            + " of the jump from B. The source puts the difference of its A and B down to the contact that opens "
            "in A only; in our B it opens as well.",
            max(near.values()) < 5.0,
        ),
        Finding(
            f"The sphere stays on the surface after {_settled(single[A])}, {_settled(single[B])} and "
            f"{_settled(single[C])} in A, B, C, the edge as expected after {_settled(edge[A])}, {_settled(edge[B])} "
            f"and {_settled(edge[C])}. In A, bounces of the edge before the post phase, without damping, end at "
            f"{_last(before):.0f} ms; {len(after)} more follow when that phase begins at "
            f"{1e3 * edge[A].post_time:.0f} ms. From "
            f"{1e3 * WINDOWS[1][0]:g} to {1e3 * WINDOWS[1][1]:g} ms the mean velocity of B is {edge_mean:.0f} % "
            "of the jump from C, which stays on the surface."
        ),
        Finding(
            f"The edge of A is back on the surface {', '.join(f'{1e3 * first_return(r):.0f}' for r in gains.values())} "
            f"ms after the impact with the gains {', '.join(f'{gain:g}' for gain in gains)} 1/s^2, nearly as one over "
            "the root of the gain: without damping it is the stiffness of the control alone that pulls the edge back. "
            f"With the delay of the detection of {1e3 * DETECTION_DELAY:g} ms the {1e3 * BACK:g} ms of the source are "
            f"nearest to {closest:g} 1/s^2. Its text does not give the gain."
        ),
        Finding(
            f"A tilt of {largest:g} deg pulls the two touches apart by "
            + ", ".join(f"{1e3 * contact_interval(response):.1f}" for response in tilts[largest].values())
            + " ms in A, B, C, and both points stay closed after "
            + ", ".join(_settled(response) for response in edge_tilted.values())
            + f". The rigid map gives {1e3 * estimated_interval(tilts[largest][C]):.1f} ms, and is within "
            f"{100.0 * max(errors):.0f} % for all tilts and plants: the time between the touches is the gap over the "
            "speed with which the edge turns after the first impact, and nearly proportional to the tilt.",
            max(errors) < 0.1,
        ),
        Finding(f"No impact gains energy: the largest change is {1e3 * energy:.2g} mJ.", energy <= 0.0),
    )


def _between_a_and_b(responses: Responses) -> float:
    return 100.0 * distance(responses[A], responses[B], (0.0, 0.1)) / jump_size(responses[C])


def _last(found: Sequence[Bounce]) -> float:
    """Return when the last of the bounces ends [ms] after first contact; 0 without one."""
    return 1e3 * max((bounce.closes for bounce in found), default=0.0)


def _settled(response: Response) -> str:
    time = settled(response)
    return f"{1e3 * time:.0f} ms" if np.isfinite(time) else f"more than {1e3 * OBSERVED:.0f} ms"
