"""Proper 2021, chapter 4: sweeps over approach, place and tilt; tuned classifiers and their gray areas.

Trials are simulated once and kept, see `trials`; a tuner finds the parameters on one set of noise, another is judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from impact_control.studies.study import Progress, Study, StudyFigure, StudyResult, part

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    """Simulate, tune, judge. The noise of the trials tuned on has the seed 2 seed, that of the others 2 seed + 1."""
    from impact_control.classification import Algorithm
    from impact_control.studies.classification.comparisons import comparisons
    from impact_control.studies.classification.evaluation import EXPERIMENTS, GRID, NO_RESERVE
    from impact_control.studies.classification.judging import Judging, run_judgings
    from impact_control.studies.classification.statements import ASSUMPTIONS, completions, findings, verdict
    from impact_control.studies.classification.sweep import (
        EDGE,
        QUICK_REPORTED,
        QUICK_TUNED,
        REPORTED,
        SPHERE,
        TUNED,
        run_sweep,
    )
    from impact_control.studies.classification.tables import (
        completion_table,
        gray_table,
        parts_table,
        shares_tables,
        times_table,
        tuning_table,
    )
    from impact_control.studies.classification.targets import targets

    tools, tuned, reported = (SPHERE, EDGE), QUICK_TUNED if quick else TUNED, QUICK_REPORTED if quick else REPORTED
    training = [point for tool in tools for point in tuned.points(tool, 2 * seed)]
    others = [point for tool in tools for point in reported.points(tool, 2 * seed + 1)]
    trials = run_sweep([*training, *others], part(progress, 0.0, 0.8))
    reported_on = [trial for trial in trials if trial.point.seed != 2 * seed]
    printed = [e for e in EXPERIMENTS if e.end_effector == EDGE and e.algorithm is Algorithm.SIMULTANEOUS]
    tunings = [(experiment, GRID) for experiment in EXPERIMENTS] + [(experiment, NO_RESERVE) for experiment in printed]
    judged = run_judgings(
        [Judging(*tuning, tuned, 2 * seed, reported, 2 * seed + 1) for tuning in tunings],
        part(progress, 0.8, 0.2, "tuning"),
    )
    outcomes, unreserved = judged[: len(EXPERIMENTS)], judged[len(EXPERIMENTS) :]
    told = completions(reported_on)
    compared = (*comparisons(outcomes), *targets(outcomes))
    holds, sentence = verdict(compared)

    def shares_figure() -> Figure:
        from impact_control.studies.classification.drawing import draw_shares

        return draw_shares(outcomes)

    def times_figure() -> Figure:
        from impact_control.studies.classification.drawing import draw_times

        return draw_times([outcome for outcome in outcomes if outcome.experiment.acceptable == (-2.0, 2.0)])

    return StudyResult(
        tables=(
            gray_table(outcomes),
            parts_table(outcomes, unreserved),
            tuning_table(outcomes),
            *shares_tables(outcomes),
            times_table(outcomes),
            completion_table(told),
        ),
        figures=(
            StudyFigure(
                "shares",
                "Share of trials that is called expected (Figs 4.12 to 4.20)",
                "Over all approach angles and places, by time and place of the impacts, by the behaviour after them, "
                "and by both. Shaded: acceptable tilts. Dotted: end of the gray area of both.",
                shares_figure,
            ),
            StudyFigure(
                "times",
                "When an unexpected trial is named",
                "Tuned for tilts of -2 to 2 deg; from the detection of the first impact.",
                times_figure,
            ),
        ),
        findings=findings(outcomes, unreserved, told),
        verdict=sentence,
        holds=holds,
        assumptions=ASSUMPTIONS,
        comparisons=compared,
    )


STUDY = Study(
    name="proper_classification",
    title="What can be told of a surface by hitting it: sweeps of the impact classifiers",
    source="Proper 2021, chapter 4, Figs 4.12 to 4.20, and 5.2",
    shows=(
        "The planar arm hits surfaces with a tilt that it does not expect, under 31 approach angles at 11 places, with "
        "a sphere and with an edge. Classifiers tuned on other trials say whether that was expected."
    ),
    run=_run,
    minutes=3.5,
)
