"""Proper 2021, chapter 4: sweeps over approach, place and tilt; tuned classifiers and their gray areas.

Trials are simulated once and kept, see `trials`; a tuner finds the parameters on one set of noise, another is judged.
"""

from __future__ import annotations

from impact_studies.frame.study import Progress, Study, StudyFigure, StudyResult, part


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    """Simulate, tune, judge. The noise of the trials tuned on has the seed 2 seed, that of the others 2 seed + 1."""
    from impact_control.classification import Algorithm
    from impact_studies.classification import tables
    from impact_studies.classification.comparisons import comparisons
    from impact_studies.classification.evaluation import EXPERIMENTS, GRID, NO_RESERVE, Judging, run_judgings, targets
    from impact_studies.classification.statements import ASSUMPTIONS, completions, findings, verdict
    from impact_studies.classification.sweep import (
        EDGE,
        QUICK_REPORTED,
        QUICK_TUNED,
        REPORTED,
        SPHERE,
        TUNED,
        run_sweep,
    )

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
    completed = completions(reported_on)
    compared = (*comparisons(outcomes), *targets(outcomes))

    # Late, so that listing the studies does not load the drawing library.
    from impact_studies.classification import drawing

    return StudyResult(
        tables=(
            tables.gray_table(outcomes),
            tables.parts_table(outcomes, unreserved),
            tables.tuning_table(outcomes),
            *tables.shares_tables(outcomes),
            tables.times_table(outcomes),
            tables.completion_table(completed),
        ),
        figures=(
            StudyFigure(
                "shares",
                "Share of trials that is called expected (Figs 4.12 to 4.20)",
                "Over all approach angles and places, by time and place of the impacts, by the behaviour after them, "
                "and by both. Shaded: acceptable tilts. Dotted: end of the gray area of both.",
                lambda: drawing.draw_shares(outcomes),
            ),
            StudyFigure(
                "times",
                "When an unexpected trial is named",
                "Tuned for tilts of -2 to 2 deg; from the detection of the first impact.",
                lambda: drawing.draw_times(
                    [outcome for outcome in outcomes if outcome.experiment.acceptable == (-2.0, 2.0)]
                ),
            ),
        ),
        findings=findings(outcomes, unreserved, completed),
        verdict=verdict(compared),
        assumptions=ASSUMPTIONS,
        comparisons=compared,
    )


STUDY = Study(
    name="proper_classification",
    title="Surface tilt inferred from an impact: sweeps of the impact classifiers",
    source="Proper 2021, chapter 4, Figs 4.12 to 4.20, and 5.2",
    shows=(
        "The planar arm hits surfaces with a tilt that it does not expect, under 31 approach angles at 11 places, with "
        "a sphere and with an edge. Classifiers tuned on other trials say whether that was expected."
    ),
    run=_run,
    minutes=3.5,
)
