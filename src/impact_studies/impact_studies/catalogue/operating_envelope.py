"""Random tasks all over the workspace, as expected and not: where the verdicts of the stack can be trusted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from impact_studies.frame.study import Progress, Study, StudyData, StudyFigure, StudyResult

TASKS, QUICK_TASKS = 400, 3
"""For each robot, each run in every variant."""


def _run(seed: int, quick: bool, progress: Progress, file: Path | None = None) -> StudyResult:
    from impact_control.classification import FALL, GROWTH, HIDDEN, MISTAKEN
    from impact_control.planning import load_envelope
    from impact_studies.envelope import tables
    from impact_studies.envelope.outcome import Law, Runs, fit, reliability, write_runs
    from impact_studies.envelope.statements import assumptions, findings, targets, verdict
    from impact_studies.envelope.tasks import cases, run_case
    from impact_studies.frame.trials import run_trials, trials_directory

    envelope = load_envelope(file)
    every = cases(envelope, QUICK_TASKS if quick else TASKS, seed)
    runs = Runs.of(every, run_trials(run_case, every, trials_directory("operating_envelope"), progress))
    certain = runs.certain
    bins = reliability(certain["probability"], certain.as_expected)
    fitted, judged = (certain.select(certain["number"] % 2 == part) for part in (0, 1))
    of_classifier = Law(HIDDEN, GROWTH, MISTAKEN, FALL)
    fits = fit(fitted["deviation"], fitted.as_expected, of_classifier)
    laws = [("that of the classifier", of_classifier), ("fitted", fits)]
    found = targets(runs, bins)

    # Late, so that listing the studies does not load the drawing library.
    from impact_studies.envelope import drawing

    return StudyResult(
        tables=(
            tables.robots_table(found),
            tables.verdicts_table(runs),
            tables.friction_table(runs),
            tables.delays_table(runs),
            tables.limits_table(runs),
            tables.refusals_table(runs),
            tables.reliability_table(bins),
            tables.laws_table(laws, fitted, judged),
            tables.wrong_table(runs),
        ),
        figures=(
            StudyFigure(
                "operating_envelope",
                "Where it can be trusted",
                "Maps: share of right verdicts of all variants and robots. Bars: intervals that hold the true share "
                "with 95 %. Dashed: the target. Last: runs by probability, with their number; band: 5 points.",
                lambda: drawing.draw_envelope(runs, bins),
            ),
            StudyFigure(
                "refusals", "Where tasks are refused", "Before anything moves.", lambda: drawing.draw_refusals(runs)
            ),
            StudyFigure(
                "delays", "From contact to detection", "A dot for each contact.", lambda: drawing.draw_delays(runs)
            ),
        ),
        findings=findings(runs, found),
        verdict=verdict(runs, found),
        assumptions=assumptions(envelope),
        data=(StudyData("tasks.h5", partial(write_runs, runs)),),
        comparisons=tables.comparisons(found),
    )


def _with_file(file: Path) -> Study:
    from impact_control.planning import load_envelope

    load_envelope(file)
    return replace(STUDY, run=partial(_run, file=file))


STUDY = Study(
    name="operating_envelope",
    title="Where the verdicts can be trusted",
    source="targets of our own",
    shows=(
        "Random tasks for a Panda and an FR3: place, tilt, heading, speed, angle, friction, force, slide, stiffness; "
        "each with everything as expected, with a surface that is tilted, early, late, missing, of another friction "
        "or stiffness, and with an arm of other inertia or joint friction. Right verdicts, delays, limits, refusals, "
        "and what the probability of a verdict is worth."
    ),
    run=_run,
    minutes=10.0,
    from_file=_with_file,
)
