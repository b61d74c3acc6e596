"""Van Steen 2024, Tables II and III, Figs 2, 5 to 9: impact maps judged by the net feedback that their references need.

One arm pushes and two arms grab three objects in three cases each, with post-impact references of 80 to 120 % of the
predicted velocity, five trials each: noise, joint friction, arms and objects that differ from what is expected.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from impact_studies.frame.study import Progress, Study, StudyData, StudyFigure, StudyResult, part, tally

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impact_studies.net_feedback.outcome import CaseResult, Experiment
    from impact_studies.net_feedback.plan import SceneCase

QUICK_SCALES = (0.8, 1.0, 1.2)
"""References of the quick version, and of the experiments without noise."""

_NAME = "van_steen_net_feedback"


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    from impact_studies.net_feedback import tables
    from impact_studies.net_feedback.comparisons import comparisons
    from impact_studies.net_feedback.outcome import Outcome
    from impact_studies.net_feedback.plan import ALL_CASES, GRAB, PUSH, SHOWN
    from impact_studies.net_feedback.statements import ASSUMPTIONS, findings, verdict

    results = _measure(SHOWN if quick else ALL_CASES, seed, quick, part(progress, 0.0, 1.0 if quick else 0.8))
    outcome = Outcome(results, [] if quick else _experiments(part(progress, 0.8, 0.2)))
    compared = comparisons(outcome)
    figures = (*_pose_figures(), *_figures([result for result in results if result.case in SHOWN]))
    return StudyResult(
        tables=(
            *(tables.errors_table(outcome, scene) for scene in (PUSH, GRAB)),
            *(tables.targets_table(outcome), tables.course_table(outcome), tables.window_table(outcome)),
            *([tables.experiments_table(outcome)] if outcome.experiments else []),
        ),
        figures=figures,
        findings=findings(outcome),
        verdict=f"{verdict(outcome)} {tally(compared)}",
        holds=outcome.holds,
        assumptions=ASSUMPTIONS,
        comparisons=compared,
        data=tuple(_data(result, seed) for result in results),
    )


def _measure(cases: tuple[SceneCase, ...], seed: int, quick: bool, progress: Progress) -> list[CaseResult]:
    """Run the trials of the study."""
    from impact_studies.net_feedback.outcome import evaluate
    from impact_studies.net_feedback.plan import REPETITIONS, trial_cases
    from impact_studies.net_feedback.velocity_fit import REFERENCE_SCALES

    scales, repetitions = (QUICK_SCALES, 1) if quick else (REFERENCE_SCALES, REPETITIONS)
    return evaluate(trial_cases(cases, scales, repetitions, seed), _NAME, progress)


def _experiments(progress: Progress) -> list[Experiment]:
    """Run the experiments without noise."""
    from impact_studies.net_feedback.outcome import run_experiments

    return run_experiments(_NAME, QUICK_SCALES, progress)


def _pose_figures() -> tuple[StudyFigure, ...]:
    """Return the pictures of the arms."""
    from impact_studies.frame.trials import run_trials, trials_directory
    from impact_studies.net_feedback.plan import GRABBED, PUSHED, run_poses
    from impact_studies.net_feedback.tables import case_name

    (grab,) = run_trials(run_poses, [GRABBED], trials_directory(_NAME), lambda *_: None)

    # Late, so that listing the studies does not load the drawing library.
    from impact_studies.net_feedback import drawing

    return (
        StudyFigure(
            "figure_2",
            f"As Fig. 2: {GRABBED.scene}, {case_name(GRABBED)}",
            "Without noise, as simulated here; times after the nominal impact. The links are the capsules that Franka "
            "gives for collisions. Which grab the source shows it does not say.",
            lambda: drawing.draw_motion(GRABBED, grab),
        ),
        StudyFigure(
            "figure_5",
            "As Fig. 5: how the arm stands when it hits, case 1 to 3",
            "Planned configurations: in case 3 joint 1 is elsewhere, the plate is not.",
            lambda: drawing.draw_configurations(PUSHED),
        ),
    )


def _figures(shown: list[CaseResult]) -> tuple[StudyFigure, ...]:
    """Return the pictures of a push and of a grab."""
    from impact_studies.net_feedback.tables import case_name

    figures = []
    for result, (signals, fit) in zip(shown, ((6, 7), (8, 9)), strict=True):
        what = f"{result.case.scene}, {case_name(result.case)}"
        figures.append(
            StudyFigure(
                f"figure_{signals}",
                f"As Fig. {signals}: {what}",
                "Means of the trials with each reference, along the motion; dashed: the post-impact references.",
                partial(_drawn, "draw_signals", result),
            )
        )
        figures.append(
            StudyFigure(
                f"figure_{fit}",
                f"As Fig. {fit}: {what}",
                "Net feedback of each trial over the velocity with which its post-impact reference begins.",
                partial(_drawn, "draw_fit", result),
            )
        )
    return tuple(figures)


def _drawn(name: str, result: CaseResult) -> Figure:
    from impact_studies.net_feedback import drawing

    draw: Callable[[CaseResult], Figure] = getattr(drawing, name)
    return draw(result)


def _data(result: CaseResult, seed: int) -> StudyData:
    def write(path: Path) -> None:
        from impact_studies.net_feedback.data import write_case

        write_case(result, seed, path)

    return StudyData(f"{result.case.name}.h5", write)


STUDY = Study(
    name=_NAME,
    title="Impact maps of pushes and grabs, judged by the net feedback",
    source="van Steen 2024, sections V and VI, Tables II and III, Figs 2 and 5 to 9",
    shows=(
        "One arm pushes and two arms grab three objects in three cases each, 25 noisy trials of each with references "
        "of 80 to 120 % of the predicted post-impact velocity. Where the net feedback would be 0 is the velocity that "
        "the impact really left; predictions with B_theta, B_rho and no motors are held against it."
    ),
    run=_run,
    minutes=2.1,
)
