"""Rey Arias 2024, Figs 2 and 3: which inertia predicts the velocity jump of a torque-controlled flexible-joint arm?

Planar arm, approach at 30 degrees with 0.1 m/s; then approach angles from 15 to 90 degrees and velocities from 0.05 to
0.5 m/s. The response of plant A against the rigid map with M, M + B_theta, M + B_rho: error of the gross jump.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from impact_control.robots import InertiaModel
from impact_control.util.types import Matrix, Vector
from impact_studies.frame.study import Progress, Study, StudyFigure, StudyResult, tally
from impact_studies.frame.trials import run_trials, trials_directory
from impact_studies.planar_impact import tables
from impact_studies.planar_impact.figure3 import (
    ANGLE,
    ANGLES,
    ENDINGS,
    SPEED,
    SPEEDS,
    STIFFNESS_SCALES,
    PlanarImpact,
    response_of,
    run_impact,
    stiff_impact,
    variants,
)
from impact_studies.planar_impact.jump import BEST, GrossJump, gross_jump, is_best, mean_error, relative_error
from impact_studies.planar_impact.response import AfterImpact, FlexibleResponse, rigid_response
from impact_studies.planar_impact.statements import ASSUMPTIONS, comparisons, exceptions, findings
from impact_studies.planar_impact.tables import Impacts

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    """Compute the study; nothing in it is random, so that `seed` changes nothing."""
    del seed
    angles, speeds = ((30.0, 90.0), (SPEED,)) if quick else (ANGLES, SPEEDS)
    scales = STIFFNESS_SCALES[:2] if quick else STIFFNESS_SCALES
    figure = {after: PlanarImpact(after) for after in AfterImpact}
    swept = [PlanarImpact(after, angle, speed) for after in AfterImpact for angle in angles for speed in speeds]
    varied = variants(quick)
    stiffened = {ending.name: [stiff_impact(scale, ending) for scale in scales] for ending in ENDINGS}
    chosen = chain(*(by_after.values() for by_after in varied.values()), *stiffened.values())
    # The impact of the figure is one of the sweep and one of the variants.
    cases = list(dict.fromkeys([*figure.values(), *swept, *chosen]))
    found = run_trials(run_impact, cases, trials_directory("rey_arias_fig3"), progress)
    every = {impact: response_of(impact, arrays) for impact, arrays in zip(cases, found, strict=True)}
    jump = {impact: gross_jump(response) for impact, response in every.items()}
    responses = {after: every[impact] for after, impact in figure.items()}
    shown = {after: jump[impact] for after, impact in figure.items()}
    impacts: Impacts = {
        after: {(impact.angle, impact.speed): jump[impact] for impact in swept if impact.after is after}
        for after in AfterImpact
    }
    other = {name: {after: jump[impact] for after, impact in by_after.items()} for name, by_after in varied.items()}
    stiff = {name: [jump[impact] for impact in by_scale] for name, by_scale in stiffened.items()}
    rigid = {model: rigid_response(responses[AfterImpact.FOLLOW], model) for model in InertiaModel}
    offsets = _offsets(responses[AfterImpact.FOLLOW], rigid)
    count = sum(map(len, impacts.values()))
    best = sum(is_best(jump) for by_case in impacts.values() for jump in by_case.values())
    largest = {
        after: max(relative_error(jump, BEST) for jump in by_case.values()) for after, by_case in impacts.items()
    }
    compared = comparisons(shown[AfterImpact.FOLLOW], offsets, impacts)
    return StudyResult(
        tables=(
            tables.claims_table(shown[AfterImpact.FOLLOW], offsets),
            tables.joints_table(shown),
            tables.sweep_table(impacts),
            tables.variants_table(other),
            tables.limit_table(scales, stiff),
        ),
        figures=_figures(responses, shown, rigid, impacts, scales, stiff),
        findings=(
            *findings(shown, impacts, scales, stiff, responses[AfterImpact.FOLLOW].torque_rate_use),
            exceptions(other),
        ),
        verdict=(
            f"M + B_theta has the smallest mean error in {best} of {count} impacts: at most "
            f"{largest[AfterImpact.FOLLOW]:.1f} % of the jump under a controller that goes on, "
            f"{largest[AfterImpact.LIMIT]:.1f} % within the limits of the arm, "
            f"{largest[AfterImpact.HOLD]:.1f} % when the torque is held. {tally(compared)}"
        ),
        holds=best == count,
        assumptions=ASSUMPTIONS,
        comparisons=compared,
    )


def _offsets(
    response: FlexibleResponse, rigid: Mapping[InertiaModel, tuple[Vector, Matrix, Matrix]]
) -> dict[InertiaModel, Vector]:
    """Return by model the mean over the first 30 ms of the flexible arm's velocity less the rigid arm's [rad/s]."""
    end = 0.03
    means = {}
    for model, (time, position, _) in rigid.items():
        flexible = _at(response.time, response.link_position, end) - response.at_impact[0]
        means[model] = (flexible - (_at(time, position, end) - position[0])) / end
    return means


def _at(time: Vector, values: Matrix, moment: float) -> Vector:
    return np.array([np.interp(moment, time, column) for column in values.T])


def _figures(
    responses: Mapping[AfterImpact, FlexibleResponse],
    shown: Mapping[AfterImpact, GrossJump],
    rigid: Mapping[InertiaModel, tuple[Vector, Matrix, Matrix]],
    impacts: Impacts,
    scales: tuple[float, ...],
    stiff: Mapping[str, list[GrossJump]],
) -> tuple[StudyFigure, ...]:
    # Late, so that listing the studies does not load the drawing library.
    from impact_studies.planar_impact import drawing

    def sweep_figure() -> Figure:
        errors = {
            after: {case: {model: mean_error(jump, model) for model in InertiaModel} for case, jump in by_case.items()}
            for after, by_case in impacts.items()
        }
        return drawing.draw_sweep(errors, ANGLE, SPEED)

    return (
        StudyFigure(
            "poses",
            "The motion of Fig. 2",
            f"The arm comes at {ANGLE:g} degrees with {SPEED:g} m/s and slides on under the controller that goes on; "
            "right the end-effector. Dashed: place of the impact. Where it is and how the arm stands the source shows "
            "in the picture only; ours are those of Proper 2021, Table 3.2.",
            lambda: drawing.draw_poses(responses[AfterImpact.FOLLOW]),
        ),
        StudyFigure(
            "responses",
            "The impact of Fig. 3",
            "Joint velocities of the flexible arm, the fit, and the rigid arm with three inertias. Left, as in the "
            "source, under the controller that goes on; then what changes when it keeps to the limits of the arm, and "
            "when the torque is held, with the predictions of the maps.",
            lambda: drawing.draw_responses(
                responses, shown, {model: (time, velocity) for model, (time, _, velocity) in rigid.items()}
            ),
        ),
        StudyFigure(
            "sweep",
            "Errors over approach angle and velocity",
            "Mean over the joints of the absolute error against the fit.",
            sweep_figure,
        ),
        StudyFigure(
            "limit",
            "Joints becoming stiff",
            "Error of M + B_theta against the fit. It vanishes only when the contact stays closed.",
            lambda: drawing.draw_limit(
                scales, {name: [relative_error(jump, BEST) for jump in jumps] for name, jumps in stiff.items()}
            ),
        ),
    )


STUDY = Study(
    name="rey_arias_fig3",
    title="Which inertia predicts the velocity jump of a flexible-joint arm",
    source="Rey Arias 2024, section III, Figs 2 and 3",
    shows=(
        "A planar arm with flexible joints and a torque loop hits a plane. The gross jump of its joint velocities is "
        "compared with the rigid impact map for the inertia of the links, with reduced motors, and with full motors."
    ),
    run=_run,
    minutes=0.1,
)
