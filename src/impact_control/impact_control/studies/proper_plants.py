"""Proper 2021, 3.5: the same impact in plants A, B and C, single and simultaneous, expected and on a tilted surface.

Joint velocities, gaps and bounces of the three plants under one course, and the rigid map beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from impact_control.studies.study import Progress, Study, StudyFigure, StudyResult
from impact_control.studies.three_plants.course import STIFFNESS
from impact_control.studies.three_plants.measures import Responses
from impact_control.studies.three_plants.response import SCENARIOS, PlantModel, Scenario, respond
from impact_control.studies.three_plants.statements import (
    ASSUMPTIONS,
    EDGE,
    EDGE_TILTED,
    claims,
    claims_table,
    findings,
)
from impact_control.studies.three_plants.tables import (
    contacts_table,
    convergence_table,
    gains_table,
    tilt_table,
    velocities_table,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TILTS = (0.25, 0.5, 1.0, 2.0)
"""[deg] of the surface under the edge, beside that of the scenario."""


GAINS = (100.0, 200.0)
"""[1/s^2] of the pose task, beside the one that all other responses have."""


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    """Compute the study; nothing in it is random, so that `seed` changes nothing."""
    del seed
    cases: dict[Scenario, Responses] = {}
    for i, scenario in enumerate(SCENARIOS):
        progress(0.15 * i, scenario.name)
        cases[scenario] = {model: respond(scenario, model) for model in PlantModel}
    tilts: dict[float, Responses] = {}
    for i, tilt in enumerate(TILTS[-1:] if quick else TILTS):
        progress(0.6 + 0.1 * i, f"edge, tilt {tilt:g} deg")
        scenario = Scenario(f"simultaneous, {tilt:g} deg", EDGE_TILTED.end_effector, tilt)
        tilts[tilt] = {model: respond(scenario, model) for model in PlantModel}
    tilts[EDGE_TILTED.tilt] = cases[EDGE_TILTED]
    progress(0.95, "gains")
    gains = {gain: respond(EDGE, PlantModel.A, gain) for gain in GAINS}
    gains[STIFFNESS] = cases[EDGE][PlantModel.A]
    said = claims(cases)
    agree = sum(claim.agrees for claim in said)

    def velocities_figure() -> Figure:
        from impact_control.studies.three_plants.drawing import draw_velocities

        return draw_velocities(cases)

    def gaps_figure() -> Figure:
        from impact_control.studies.three_plants.drawing import draw_gaps

        return draw_gaps(cases)

    return StudyResult(
        tables=(
            claims_table(said),
            velocities_table(cases),
            convergence_table(cases),
            contacts_table(cases),
            tilt_table(tilts),
            gains_table(gains),
        ),
        figures=(
            StudyFigure(
                "velocities",
                "Joint velocities around the impact (Figs 3.17, 3.18, 3.20 to 3.22)",
                "Time from the first contact of each plant.",
                velocities_figure,
            ),
            StudyFigure(
                "gaps",
                "Gaps of the contact points (Figs 3.19, 3.23, 3.24)",
                "Distance of each point to the surface; below zero it is pressed in. The edge has two points.",
                gaps_figure,
            ),
        ),
        findings=findings(cases, tilts, gains),
        verdict=f"{agree} of {len(said)} statements of the source on its three models hold for our three plants.",
        holds=agree == len(said),
        assumptions=ASSUMPTIONS,
    )


STUDY = Study(
    name="proper_plants",
    title="One impact in three plants: flexible or rigid joints, compliant or rigid contact",
    source="Proper 2021, sections 3.1, 3.4 and 3.5, Figs 3.17 to 3.24",
    shows=(
        "A planar arm with a sphere, then with an edge, hits a surface as expected and one tilted by 5 degrees. "
        "Plants A, B and C under the same course, against each other and against the rigid map."
    ),
    run=_run,
)
