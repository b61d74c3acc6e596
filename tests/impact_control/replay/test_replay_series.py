"""Summary of a series: counts over all trials, a line for each, and why a trial came to no verdict."""

from __future__ import annotations

from impact_control.replay.series import SeriesTrial, summarise_series

CUT_SHORT = "stopped: 52.0 ms without a joint state (allowed: 20 ms)"


def test_a_trial_without_a_verdict_is_counted_and_says_why(evaluation):
    speed = {"task.impact.speed": "0.2 m/s"}
    trials = [
        SeriesTrial(speed, "succeeded", evaluation),
        SeriesTrial(speed, "undecided", evaluation, reason=CUT_SHORT),
    ]
    summary = summarise_series("tabletop", 2, trials)
    rows = {row.label: row.value for row in summary.rows}
    assert rows["Trials"] == "2 of 2 reported" and rows["Outcome"] == "1 succeeded, 1 undecided"
    lines, without = summary.grids
    assert [line[:3] for line in lines.rows] == [("1", "0.2 m/s", "succeeded"), ("2", "0.2 m/s", "undecided")]
    assert without.rows == (("2", CUT_SHORT),)
    two = [SeriesTrial({}, "undecided", evaluation, arm, CUT_SHORT) for arm in ("left", "right")]
    assert summarise_series("grab", 1, two).grids[-1].rows == (("1 left", CUT_SHORT), ("1 right", CUT_SHORT))
    assert [grid.title for grid in summarise_series("tabletop", 1, trials[:1]).grids] == ["Trials"]
