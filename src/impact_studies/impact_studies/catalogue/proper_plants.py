"""Proper 2021, 3.5: the same impact in plants A, B and C, single and simultaneous, expected and on a tilted surface.

Joint velocities, gaps and bounces of the three plants under one course, and the rigid map beside them.
"""

from __future__ import annotations

from impact_studies.frame.study import Progress, Study, StudyFigure, StudyResult
from impact_studies.frame.trials import run_trials, trials_directory
from impact_studies.three_plants import tables
from impact_studies.three_plants.claims import (
    EDGE,
    EDGE_TILTED,
    MATCHING_GAIN,
    SecondImpact,
    claims,
    claims_table,
    comparisons,
    second_impact_claims,
    second_impact_finding,
    second_impact_table,
    verdict,
)
from impact_studies.three_plants.course import STIFFNESS
from impact_studies.three_plants.measures import Responses
from impact_studies.three_plants.references import reference
from impact_studies.three_plants.response import SCENARIOS, PlantCase, PlantModel, Scenario, response_of, run_case
from impact_studies.three_plants.statements import ASSUMPTIONS, findings

TILTS = (0.25, 0.5, 1.0, 2.0)
"""[deg] of the surface under the edge, beside that of the scenario."""


GAINS = (100.0, MATCHING_GAIN)
"""[1/s^2] of the pose task, beside the one that the responses of tables and pictures have."""


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    """Compute the study; nothing in it is random, so that `seed` changes nothing."""
    del seed
    chosen = TILTS[-1:] if quick else TILTS
    tilted = {tilt: Scenario(f"simultaneous, {tilt:g} deg", EDGE_TILTED.end_effector, tilt) for tilt in chosen}
    plants = [PlantCase(scenario, model) for scenario in (*SCENARIOS, *tilted.values()) for model in PlantModel]
    main_gains = (STIFFNESS,) if quick else (STIFFNESS, MATCHING_GAIN)
    compared = [PlantCase(one, model, gain) for gain in main_gains for one in SCENARIOS for model in PlantModel]
    flexible = (PlantModel.A, PlantModel.B)
    returning = [PlantCase(EDGE, model, gain, returns=True) for gain in main_gains for model in flexible]
    other_gains = [PlantCase(EDGE, PlantModel.A, gain) for gain in GAINS]
    needed = list(dict.fromkeys([*plants, *compared, *returning, *other_gains]))
    found = run_trials(run_case, needed, trials_directory("proper_plants"), progress)
    every = {case: response_of(case, arrays) for case, arrays in zip(needed, found, strict=True)}

    edge_reference = reference(EDGE.end_effector, followed=True)

    def of(scenario: Scenario, gain: float = STIFFNESS) -> Responses:
        return {model: every[PlantCase(scenario, model, gain)] for model in PlantModel}

    def second_impact(gain: float) -> SecondImpact:
        plain = of(EDGE, gain)
        returned, other = (every[PlantCase(EDGE, model, gain, returns=True)] for model in flexible)
        return SecondImpact({**plain, PlantModel.A: returned}, plain[PlantModel.A], other, edge_reference)

    cases = {scenario: of(scenario) for scenario in SCENARIOS}
    tilts = {tilt: of(scenario) for tilt, scenario in tilted.items()} | {EDGE_TILTED.tilt: cases[EDGE_TILTED]}
    gains = {case.stiffness: every[case] for case in other_gains} | {STIFFNESS: cases[EDGE][PlantModel.A]}
    second = {gain: second_impact(gain) for gain in main_gains}
    said = {
        gain: claims({scenario: of(scenario, gain) for scenario in SCENARIOS}) + second_impact_claims(second[gain])
        for gain in main_gains
    }
    holds, sentence = verdict(said)

    # Late, so that listing the studies does not load the drawing library.
    from impact_studies.three_plants import drawing

    return StudyResult(
        tables=(
            claims_table(said),
            tables.velocities_table(cases),
            tables.convergence_table(cases),
            tables.contacts_table(cases),
            tables.tilt_table(tilts),
            tables.gains_table(gains),
            second_impact_table(second),
        ),
        figures=(
            StudyFigure(
                "velocities",
                "Joint velocities around the impact (Figs 3.17, 3.18, 3.21, 3.22)",
                "A column for each of these figures. Time from the first contact of each plant.",
                lambda: drawing.draw_velocities(cases),
            ),
            StudyFigure(
                "gaps",
                "Gaps of the contact points (Figs 3.19, 3.23, 3.24)",
                "Distance of each point to the surface; below zero it is pressed in. The edge has two points, nearly "
                "the same where it comes down level.",
                lambda: drawing.draw_gaps(cases),
            ),
            StudyFigure(
                "second_impact",
                "The edge as expected, its return in A detected (Fig. 3.20)",
                "Joints and end-effector of the three plants and of both references, gain of the pose task "
                f"{main_gains[-1]:g} 1/s^2. Time from the expected impact. As in the source, B and C count one impact.",
                lambda: drawing.draw_second_impact(second[main_gains[-1]]),
            ),
        ),
        findings=(*findings(cases, tilts, gains), second_impact_finding(second)),
        verdict=sentence,
        holds=holds,
        assumptions=ASSUMPTIONS,
        comparisons=comparisons(said),
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
    minutes=0.1,
)
