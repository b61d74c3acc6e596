"""Tables II and III of van Steen 2024 again, the targets, and what the errors depend on."""

from __future__ import annotations

import numpy as np

from impact_control.identification.net_feedback import AFTER
from impact_control.studies.net_feedback import published
from impact_control.studies.net_feedback.outcome import MODEL_NAMES, SETTLED, TARGET, WINDOW_ENDS, CaseResult, Outcome
from impact_control.studies.net_feedback.plan import GRAB, PUSH, SceneCase
from impact_control.studies.study import Cell, Column, Mark, Table, columns

OBJECT_NAMES = {"parcel": "Parcel", "catfood": "Cat food", "juice": "Juice"}
SCENE_NAMES = {PUSH: "hit-and-push", GRAB: "grabbing"}
PRINTED_TABLE = {PUSH: "II", GRAB: "III"}
_TITLES = ("nominal\nprediction", "prediction\nwith B_rho", "prediction\nwith B = 0")


def case_name(case: SceneCase) -> str:
    """Return the name of a case as the source prints it."""
    return f"{OBJECT_NAMES[case.object]}: case {case.number}"


def errors_table(outcome: Outcome, scene: str) -> Table:
    """Table II (push) or III (grab), the published numbers beside ours."""
    rows: list[tuple[Cell, ...]] = []
    for result in outcome.of(scene):
        printed, estimate = published.ROWS[result.case], result.estimate
        rows.append(
            (
                case_name(result.case),
                result.before,
                estimate.velocity,
                printed.estimate,
                1e3 * estimate.standard_error,
                *_beside(result.errors, printed.errors),
            )
        )
    errors = outcome.errors(scene)
    averages = (
        ("Average error", errors.mean(axis=0), published.MEAN_ERROR[scene]),
        ("Absolute error", outcome.absolute(scene), published.ABSOLUTE_ERROR[scene]),
    )
    rows += [(name, None, None, None, None, *_beside(own, printed)) for name, own, printed in averages]
    good = Mark.of(outcome.meets(scene))
    return Table(
        name=f"table_{PRINTED_TABLE[scene].lower()}",
        title=f"Table {PRINTED_TABLE[scene]}, {SCENE_NAMES[scene]}: errors of predicted post-impact velocities",
        columns=(
            Column("case"),
            Column("before", "m/s", 3),
            *columns(("estimate", "published"), "m/s", 3),
            Column("standard\nerror", "mm/s", 1),
            *(Column(name, "%", 2) for model in _TITLES for name in (model, "published")),
        ),
        rows=tuple(rows),
        marks={(len(rows) - 1, 5): good},
        note=(
            "Estimate: post-impact velocity at which the net feedback is 0. Errors are positive for a prediction above "
            "it. The velocities before the impact are ours, see docs/scenes.md."
        ),
    )


def targets_table(outcome: Outcome) -> Table:
    """What is asked for, and what came out."""
    rows: list[tuple[Cell, ...]] = []
    marks = {}
    for scene in (PUSH, GRAB):
        marks[len(rows), 3] = Mark.of(outcome.meets(scene))
        rows.append((f"mean absolute error, {SCENE_NAMES[scene]}, B_theta", f"at most {TARGET[scene]:g}",
                     published.ABSOLUTE_ERROR[scene][0], float(outcome.absolute(scene)[0])))  # fmt: skip
    printed = np.mean([published.ABSOLUTE_ERROR[scene] for scene in (PUSH, GRAB)], axis=0)
    asked = ("the smallest", "", "")
    for name, target, theirs, own in zip(MODEL_NAMES, asked, printed, outcome.absolute(), strict=True):
        if target:
            marks[len(rows), 3] = Mark.of(outcome.reduced_motors_are_best)
        rows.append((f"mean absolute error, all cases, {name}", target, float(theirs), float(own)))
    return Table(
        name="targets",
        title="Targets",
        columns=(Column("what"), Column("target"), *columns(("published", "ours"), "%", 2)),
        rows=tuple(rows),
        marks=marks,
    )


def course_table(outcome: Outcome) -> Table:
    """What else was measured in the trials of each case."""
    return Table(
        name="courses",
        title="Slope of the fit, scatter, feedback before the switch, detection, torque rate",
        columns=(
            Column("scene"),
            Column("case"),
            Column("trials"),
            Column("slope", "-", 2),
            Column("scatter", "mm/s", 1),
            Column("before\nthe switch", "mm/s", 1),
            Column("contact\nafter T_nom", "ms", 1),
            Column("detected\nafter contact", "ms", 1),
            Column("at the\nrate limit", "ms", 1),
            Column("not in the\npost mode"),
        ),
        rows=tuple(_course(result) for result in outcome.results),
        note=(
            "Scatter: of the net feedback about the line. Before the switch: the part of the net feedback until the "
            "ante-impact mode ends. Times are means over trials and arms. Not in the post mode: trials that did not "
            "reach the end of the window in it."
        ),
    )


def _course(result: CaseResult) -> tuple[Cell, ...]:
    signals = [signals for _, signals in result.trials]
    contact = np.array([one.contact_time - result.nominal for one in signals])
    delay = np.array([one.detection_time - one.contact_time for one in signals])
    limited = np.mean([one.rate_limited.sum(axis=1).mean() for one in signals])
    estimate = result.estimate
    return (
        result.case.scene,
        case_name(result.case),
        len(signals),
        estimate.slope,
        1e3 * estimate.residual_rms,
        1e3 * result.before_the_switch,
        1e3 * float(np.nanmean(contact)),
        1e3 * float(np.nanmean(delay)),
        float(limited),
        sum(not one.followed for one in signals),
    )


def window_table(outcome: Outcome) -> Table:
    """Mean errors with a window that ends earlier."""
    rows: list[tuple[Cell, ...]] = []
    for scene in (PUSH, GRAB):
        for end in WINDOW_ENDS:
            errors = np.array([result.errors_until(end) for result in outcome.of(scene)])
            rows.append((scene, end, *map(float, errors.mean(axis=0)), *map(float, np.abs(errors).mean(axis=0))))
    return Table(
        name="windows",
        title="Errors with other ends t_2 of the window",
        columns=(
            Column("scene"),
            Column("t_2 - T_nom", "s", 1),
            *columns((f"average,\n{model}" for model in MODEL_NAMES), "%", 2),
            *columns((f"absolute,\n{model}" for model in MODEL_NAMES), "%", 2),
        ),
        rows=tuple(rows),
        note="The window of the source ends at 0.6 s.",
    )


def experiments_table(outcome: Outcome) -> Table:
    """What changes of one thing do to the error of the prediction with B_theta, without noise and errors."""
    cases = list(outcome.experiments[0].results) if outcome.experiments else []
    rows: list[tuple[Cell, ...]] = []
    for experiment in outcome.experiments:
        row: list[Cell] = [experiment.name]
        for case in cases:
            result = experiment.results.get(case)
            row += [None] * 2 if result is None else [float(result.errors_until(t)[0]) for t in (SETTLED, AFTER)]
        rows.append(tuple(row))
    return Table(
        name="experiments",
        title="Error of the nominal prediction when one thing is changed, without noise and parameter errors",
        columns=(
            Column("change"),
            *(
                Column(f"{case.scene},\n{case_name(case).lower()},\nt_2 {end:g} s", "%", 2)
                for case in cases
                for end in (SETTLED, AFTER)
            ),
        ),
        rows=tuple(rows),
        note="One trial at each of three velocities of the reference: nothing in them is random.",
    )


def _beside(own: object, printed: tuple[float, ...]) -> tuple[Cell, ...]:
    """Return own and printed numbers in turns."""
    return tuple(float(value) for pair in zip(np.asarray(own), printed, strict=True) for value in pair)
