"""Tables II and III of van Steen 2024 beside ours, number by number, and what its text says of Figs 6 to 9."""

from __future__ import annotations

from impact_control.studies.net_feedback import published
from impact_control.studies.net_feedback.figure_comparisons import figure_comparisons
from impact_control.studies.net_feedback.outcome import MODEL_NAMES, Outcome
from impact_control.studies.net_feedback.plan import GRAB, PUSH
from impact_control.studies.net_feedback.tables import PRINTED_TABLE, SCENE_NAMES, case_name
from impact_control.studies.study import Comparison, Mark


def comparisons(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return means of the errors with their targets, the figures, then estimates and errors of each case."""
    means, rows = [], []
    for scene in (PUSH, GRAB):
        table, name = f"Table {PRINTED_TABLE[scene]}", SCENE_NAMES[scene]
        absolute, average = outcome.absolute(scene), outcome.errors(scene).mean(axis=0)
        for i, model in enumerate(MODEL_NAMES):
            mark = Mark.of(outcome.meets(scene)) if i == 0 else Mark.PLAIN
            printed = published.ABSOLUTE_ERROR[scene][i], published.MEAN_ERROR[scene][i]
            means.append(
                Comparison(table, f"absolute error, {name}, {model}", printed[0], float(absolute[i]), "%", mark)
            )
            means.append(Comparison(table, f"average error, {name}, {model}", printed[1], float(average[i]), "%"))
        for result in outcome.of(scene):
            row, case = published.ROWS[result.case], f"{name}, {case_name(result.case).lower()}"
            rows.append(Comparison(table, f"estimate, {case}", row.estimate, result.estimate.velocity, "m/s"))
            rows += [
                Comparison(table, f"error with {model}, {case}", printed, float(own), "%")
                for model, printed, own in zip(MODEL_NAMES, row.errors, result.errors, strict=True)
            ]
    best = Comparison(
        "Tables II and III",
        "smallest absolute error over all cases",
        MODEL_NAMES[0],
        MODEL_NAMES[int(outcome.absolute().argmin())],
        mark=Mark.of(outcome.reduced_motors_are_best),
    )
    return (*means, best, *figure_comparisons(outcome), *rows)
