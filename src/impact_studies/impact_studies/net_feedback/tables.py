"""Tables II and III of van Steen 2024 again, the targets, and what the errors depend on."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from impact_control.recording.net_feedback import AFTER
from impact_studies.frame.study import Cell, Column, Judged, Table, columns
from impact_studies.net_feedback import published
from impact_studies.net_feedback.outcome import (
    MODEL_NAMES,
    SETTLED,
    TARGET,
    WINDOW_ENDS,
    CaseResult,
    Experiment,
    Outcome,
)
from impact_studies.net_feedback.plan import GRAB, PUSH, SceneCase

OBJECT_NAMES = {"parcel": "Parcel", "catfood": "Cat food", "juice": "Juice"}
SCENE_NAMES = {PUSH: "hit-and-push", GRAB: "grabbing"}
PRINTED_TABLE = {PUSH: "II", GRAB: "III"}
_TITLES = ("nominal\nprediction", "prediction\nwith B_rho", "prediction\nwith B = 0")


def case_name(case: SceneCase) -> str:
    """Return the name of a case as the source prints it."""
    return f"{OBJECT_NAMES[case.object]}: case {case.number}"


def errors_table(outcome: Outcome, scene: str) -> Table:
    """Table II (push) or III (grab), the published numbers beside ours."""

    def rows() -> Iterable[Iterable[Cell | Judged]]:
        for result in outcome.of(scene):
            printed, estimate = published.ROWS[result.case], result.estimate
            yield (
                *(case_name(result.case), result.before, estimate.velocity, printed.estimate),
                *(1e3 * estimate.standard_error, *_beside(result.errors, printed.errors)),
            )
        average, absolute = outcome.errors(scene).mean(axis=0), outcome.absolute(scene)
        yield ("Average error", *(None,) * 4, *_beside(average, published.MEAN_ERROR[scene]))
        reduced, *others = _beside(absolute, published.ABSOLUTE_ERROR[scene])
        yield ("Absolute error", *(None,) * 4, Judged(reduced, outcome.meets(scene)), *others)

    return Table.of(
        f"table_{PRINTED_TABLE[scene].lower()}",
        f"Table {PRINTED_TABLE[scene]}, {SCENE_NAMES[scene]}: errors of predicted post-impact velocities",
        (
            Column("case"),
            Column("before", "m/s", 3),
            *columns(("estimate", "published"), "m/s", 3),
            Column("standard\nerror", "mm/s", 1),
            *columns((name for model in _TITLES for name in (model, "published")), "%", 2),
        ),
        rows(),
        "Estimate: post-impact velocity at which the net feedback is 0. Errors are positive for a prediction above "
        "it. The velocities before the impact are ours, see docs/lab/scenes.md.",
    )


def targets_table(outcome: Outcome) -> Table:
    """Targets of our own beside the published and our errors."""

    def rows() -> Iterable[Iterable[Cell | Judged]]:
        for scene in (PUSH, GRAB):
            yield (
                *(f"mean absolute error, {SCENE_NAMES[scene]}, B_theta", f"at most {TARGET[scene]:g}"),
                published.ABSOLUTE_ERROR[scene][0],
                Judged(float(outcome.absolute(scene)[0]), outcome.meets(scene)),
            )
        printed = np.mean([published.ABSOLUTE_ERROR[scene] for scene in (PUSH, GRAB)], axis=0)
        for i, (name, theirs, own) in enumerate(zip(MODEL_NAMES, printed, outcome.absolute(), strict=True)):
            ours = Judged(float(own), outcome.reduced_motors_are_best) if i == 0 else float(own)
            yield (f"mean absolute error, all cases, {name}", "" if i else "the smallest", float(theirs), ours)

    head = (*columns(("what", "target")), *columns(("published", "ours"), "%", 2))
    return Table.of("targets", "Targets", head, rows())


def course_table(outcome: Outcome) -> Table:
    """Slope, scatter and times of the trials of each case."""
    return Table.of(
        "courses",
        "Slope of the fit, scatter, feedback before the switch, detection, torque rate",
        (
            *columns(("scene", "case", "trials")),
            Column("slope", "-", 2),
            *columns(("scatter", "before\nthe switch"), "mm/s", 1),
            *columns(("contact\nafter T_nom", "detected\nafter contact", "at the\nrate limit"), "ms", 1),
            Column("not in the\npost mode"),
        ),
        map(_course, outcome.results),
        "Scatter: of the net feedback about the line. Before the switch: the part of the net feedback until the "
        "ante-impact mode ends. Times are means over trials and arms. Not in the post mode: trials that did not "
        "reach the end of the window in it.",
    )


def _course(result: CaseResult) -> Iterable[Cell | np.generic]:
    signals = [signals for _, signals in result.trials]
    contact = np.array([one.contact_time - result.nominal for one in signals])
    delay = np.array([one.detection_time - one.contact_time for one in signals])
    yield from (result.case.scene, case_name(result.case), len(signals), result.estimate.slope)
    yield from (1e3 * result.estimate.residual_rms, 1e3 * result.before_the_switch)
    yield from (1e3 * float(np.nanmean(times)) for times in (contact, delay))
    yield np.mean([one.rate_limited.sum(axis=1).mean() for one in signals])
    yield sum(not one.followed for one in signals)


def window_table(outcome: Outcome) -> Table:
    """Mean errors with a window that ends earlier."""
    return Table.of(
        "windows",
        "Errors with other ends t_2 of the window",
        (
            Column("scene"),
            Column("t_2 - T_nom", "s", 1),
            *columns((f"{mean},\n{model}" for mean in ("average", "absolute") for model in MODEL_NAMES), "%", 2),
        ),
        (
            (scene, end, *errors.mean(axis=0), *np.abs(errors).mean(axis=0))
            for scene in (PUSH, GRAB)
            for end in WINDOW_ENDS
            for errors in [np.array([result.errors_until(end) for result in outcome.of(scene)])]
        ),
        "The window of the source ends at 0.6 s.",
    )


def experiments_table(outcome: Outcome) -> Table:
    """Changes of the error of the prediction with B_theta with one condition, without noise and errors."""
    cases = list(outcome.experiments[0].results) if outcome.experiments else []

    def row(experiment: Experiment) -> Iterable[Cell]:
        yield experiment.name
        for result in map(experiment.results.get, cases):
            for end in (SETTLED, AFTER):
                yield None if result is None else float(result.errors_until(end)[0])

    heads = (f"{case.scene},\n{case_name(case).lower()},\nt_2 {end:g} s" for case in cases for end in (SETTLED, AFTER))
    return Table.of(
        "experiments",
        "Error of the nominal prediction when one thing is changed, without noise and parameter errors",
        (Column("change"), *columns(heads, "%", 2)),
        map(row, outcome.experiments),
        "One trial at each of three velocities of the reference: nothing in them is random.",
    )


def _beside(own: object, printed: tuple[float, ...]) -> tuple[Cell, ...]:
    """Return own and printed numbers in turns."""
    return tuple(float(value) for pair in zip(np.asarray(own), printed, strict=True) for value in pair)
