"""Explanations of runs without a verdict."""

from __future__ import annotations

from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_control.recording.summary import summarise
from impact_control.replay.evaluation import evaluate
from impact_control.replay.explanation import explain
from recorded_courses import write_bag


def test_a_task_that_never_began_is_no_task_without_an_impact(tmp_path):
    evaluation = evaluate(write_bag(tmp_path, idle=400, rows=slice(0, 400)))
    assert evaluation.analysis.outcome == "not begun" and not summarise(evaluation.analysis).good
    assert explain(evaluation)[:2] == [
        "tabletop ended: not begun, and was meant to end otherwise: succeeded.",
        "The controller was idle from the first to the last sample: no task was executed. `impact-control plan` says "
        "whether the task would be refused, and why.",
    ]


def test_the_command_names_the_one_that_draws_figures_where_there_are_none(tmp_path):
    bag = write_bag(tmp_path, idle=400, rows=slice(0, 400))

    def said():
        return CliRunner().invoke(app, ["explain", str(bag)]).output

    assert f"Figures: impact-control report {bag}\n" in said()
    (bag.parent / "figures").mkdir()
    assert "Figures:" not in said()
