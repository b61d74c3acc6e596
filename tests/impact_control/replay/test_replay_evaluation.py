"""Comparison of a recorded impact with predictions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from impact_control.recording.analysis import analyse
from impact_control.recording.summary import summarise
from impact_control.replay import evaluation
from recorded_courses import write_bag


@pytest.mark.parametrize(("later", "compared"), [(0.0, True), (0.004, False)])
def test_an_impact_that_was_over_by_the_last_sample_before_it_is_not_compared(tmp_path, monkeypatch, later, compared):
    """Joint states behind a topic hardware come a millisecond or two late; the report ended with an error."""

    def analysed(*arguments, **more):
        found = analyse(*arguments, **more)
        return replace(found, true_impact_time=found.impact_time + later)

    monkeypatch.setattr(evaluation, "analyse", analysed)
    run = evaluation.evaluate(write_bag(tmp_path))
    rows = {row.label: row.value for row in summarise(run.analysis, run.comparison, run.not_compared).rows}
    assert (run.comparison is not None, "Comparison" not in rows) == (compared, compared)
    assert compared or rows["Comparison"].startswith("none: by the last joint state before the impact")
