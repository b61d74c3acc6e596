"""Van Steen 2024, Tables II and III, Figs 2, 5 to 9: impact maps judged by the net feedback that their references need.

One arm pushes and two arms grab three objects in three cases each, with post-impact references of 80 to 120 % of the
predicted velocity, five trials each: noise, joint friction, arms and objects that differ from what is expected.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from impact_studies.frame.study import Progress, Study, StudyData, StudyFigure, StudyResult, part, tally

if TYPE_CHECKING:
    from impact_studies.net_feedback.outcome import CaseResult

QUICK_SCALES = (0.8, 1.0, 1.2)
"""References of the quick version, and of the experiments without noise."""

_NAME = "van_steen_net_feedback"


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    from impact_studies.net_feedback import tables
    from impact_studies.net_feedback.comparisons import comparisons
    from impact_studies.net_feedback.data import write_case
    from impact_studies.net_feedback.outcome import Outcome, evaluate, run_experiments
    from impact_studies.net_feedback.plan import ALL_CASES, GRAB, PUSH, REPETITIONS, SHOWN, trial_cases
    from impact_studies.net_feedback.statements import ASSUMPTIONS, findings, verdict
    from impact_studies.net_feedback.velocity_fit import REFERENCE_SCALES

    if quick:
        results = evaluate(trial_cases(SHOWN, QUICK_SCALES, 1, seed), _NAME, progress)
        outcome = Outcome(results, [])
    else:
        trials = trial_cases(ALL_CASES, REFERENCE_SCALES, REPETITIONS, seed)
        results = evaluate(trials, _NAME, part(progress, 0.0, 0.8))
        outcome = Outcome(results, run_experiments(_NAME, QUICK_SCALES, part(progress, 0.8, 0.2)))
    compared = comparisons(outcome)
    return StudyResult(
        tables=(
            *(tables.errors_table(outcome, scene) for scene in (PUSH, GRAB)),
            *(tables.targets_table(outcome), tables.course_table(outcome), tables.window_table(outcome)),
            *([tables.experiments_table(outcome)] if outcome.experiments else []),
        ),
        figures=(*_pose_figures(), *_figures([result for result in results if result.case in SHOWN])),
        findings=findings(outcome),
        verdict=f"{verdict(outcome)} {tally(compared)}",
        holds=outcome.holds,
        assumptions=ASSUMPTIONS,
        comparisons=compared,
        data=tuple(StudyData(f"{result.case.name}.h5", partial(write_case, result, seed)) for result in results),
    )


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
    from impact_studies.net_feedback import drawing
    from impact_studies.net_feedback.tables import case_name

    figures = []
    for result, (signals, fit) in zip(shown, ((6, 7), (8, 9)), strict=True):
        what = f"{result.case.scene}, {case_name(result.case)}"
        figures += [
            StudyFigure(
                f"figure_{signals}",
                f"As Fig. {signals}: {what}",
                "Means of the trials with each reference, along the motion; dashed: the post-impact references.",
                partial(drawing.draw_signals, result),
            ),
            StudyFigure(
                f"figure_{fit}",
                f"As Fig. {fit}: {what}",
                "Net feedback of each trial over the velocity with which its post-impact reference begins.",
                partial(drawing.draw_fit, result),
            ),
        ]
    return tuple(figures)


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
