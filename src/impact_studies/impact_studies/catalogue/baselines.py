"""Reference spreading against plain tracking, against itself without interim mode, and against a slow approach."""

from __future__ import annotations

from impact_studies.frame.study import Progress, Study, StudyFigure, StudyResult

TRIALS, QUICK_TRIALS = 100, 3
"""Surfaces that each method meets."""


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    from impact_studies.frame.trials import from_arrays, run_trials, trials_directory
    from impact_studies.impact_baselines.statements import (
        ASSUMPTIONS,
        Outcome,
        comparisons,
        findings,
        medians_table,
        target_table,
        verdict,
        worst_table,
    )
    from impact_studies.impact_baselines.trial import METHODS, Measured, cases, run_case

    every = cases(QUICK_TRIALS if quick else TRIALS, seed)
    found = run_trials(run_case, every, trials_directory("baselines"), progress)
    outcome = Outcome({method: [] for method in METHODS}, {method: [] for method in METHODS})
    for case, arrays in zip(every, found, strict=True):
        outcome.cases[case.method].append(case)
        outcome.trials[case.method].append(from_arrays(Measured, arrays))

    # Late, so that listing the studies does not load the drawing library.
    from impact_studies.impact_baselines import drawing

    return StudyResult(
        tables=(target_table(outcome), medians_table(outcome), worst_table(outcome)),
        figures=(
            StudyFigure(
                "peaks",
                "Peak feedback torque over early and late impacts",
                "A dot for each trial; the slow approach meets the same surfaces at other times.",
                lambda: drawing.draw_peaks(outcome),
            ),
            StudyFigure(
                "courses",
                "Feedback torque around the impact",
                "The largest of all joints. From above: the highest surface (early), one in the middle, the lowest.",
                lambda: drawing.draw_courses(outcome),
            ),
        ),
        findings=findings(outcome),
        verdict=verdict(outcome),
        assumptions=ASSUMPTIONS,
        comparisons=comparisons(outcome),
    )


STUDY = Study(
    name="baselines",
    title="Ways to meet an impact, side by side",
    source="van Steen 2024, section IV; Proper 2021, 2.4; a comparison of our own",
    shows=(
        "A Panda hits a table whose height and tilt it does not know, 100 times with each method: reference spreading "
        "in task and joint space, without interim mode, plain tracking, a slow approach, impedance control. Torques, "
        "errors, time."
    ),
    run=_run,
    minutes=3.0,
)
