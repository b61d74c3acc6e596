"""Runs: a new directory each, at the rate that the cores sustain."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_control.pipeline import Outcome
from impact_control.recording.summary import summarise
from impact_control.replay.evaluation import evaluate
from impact_control.scenario import load_scenario, parts_of
from impact_control.util.errors import InvalidInputError
from impact_control_ros.bridge.supervision import LONGEST_LIMIT
from impact_control_ros.session import commands, runs
from impact_control_ros.session.graph import describe_graph, sustainable_real_time_factor
from impact_control_ros.session.runs import Run, new_run_directory, with_outcome
from recorded_courses import write_bag


def test_runs_of_one_second_have_directories_of_their_own(tmp_path):
    made = [new_run_directory(tmp_path / "runs", "tabletop") for _ in range(5)]
    assert len(set(made)) == 5
    assert all(directory.is_dir() and "-tabletop" in directory.name for directory in made)


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(InvalidInputError, match=r"'.*file'; allowed: a directory to write to; Not a dir"):
        new_run_directory(file, "tabletop")


@pytest.mark.parametrize(
    ("cores", "loops", "factor"),
    [(8, 1, 1.0), (2, 1, 1.0), (1, 1, 0.5), (8, 2, 1.0), (2, 2, 2 / 3), (1, 9, 0.1)],
)
def test_simulated_time_runs_at_what_cores_and_plant_carry(monkeypatch, cores, loops, factor):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)))
    assert sustainable_real_time_factor(loops) == factor


@pytest.mark.parametrize(("name", "factor"), [("tabletop", 1.0), ("push_catfood_1", 1.0), ("grab_juice_1", 2 / 3)])
def test_the_simulator_of_a_graph_gets_that_rate(monkeypatch, name, factor):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    specs = describe_graph(name, **parts_of(load_scenario(name)))
    (simulator,) = (spec for spec in specs if spec.name == "simulator")
    assert simulator.parameters["real_time_factor"] == factor


@pytest.mark.parametrize("factor", [0.01, 0.05])
def test_slow_clocks_stay_within_what_a_supervisor_may_be_set_to(factor):
    (supervisor,) = (spec for spec in describe_graph("tabletop", real_time_factor=factor) if spec.name == "supervisor")
    assert 0.3 < max(supervisor.parameters[name] for name in ("command_limit", "lag_limit")) <= LONGEST_LIMIT


def test_a_clock_faster_than_the_wall_is_refused():
    ran = CliRunner().invoke(app, ["demo", "--real-time-factor", "11"])
    assert ran.exit_code == 2 and "--real-time-factor" in ran.output


def test_a_task_that_was_cut_short_after_its_verdicts_is_not_as_expected(tmp_path):
    evaluation = evaluate(write_bag(tmp_path))
    assert evaluation.analysis.outcome == "succeeded"
    told = with_outcome(evaluation, SimpleNamespace(outcome=Outcome.UNDECIDED))
    summary = summarise(told.analysis)
    assert not summary.good and summary.verdict.startswith("NOT AS EXPECTED: undecided")
    assert with_outcome(evaluation, SimpleNamespace(outcome=Outcome.SUCCEEDED)).analysis.outcome == "succeeded"


def test_a_demo_on_a_busy_machine_says_what_to_do(tmp_path, monkeypatch):
    gap = "stopped: 23.0 ms without a joint state (allowed: 20 ms)"
    result = SimpleNamespace(outcome=Outcome.UNDECIDED, summary=gap)
    summary = summarise(with_outcome(evaluate(write_bag(tmp_path)), result).analysis)
    monkeypatch.setattr(runs, "run", lambda *_, **__: {"": Run(tmp_path, result, summary)})
    monkeypatch.setattr(commands, "print_objects", lambda bag: None)
    monkeypatch.setattr(commands, "_begin_loading", lambda: None)
    ran = CliRunner().invoke(app, ["demo", "--output", str(tmp_path / "runs")])
    assert ran.exit_code == 1
    assert "Next:   the machine was busy: run it again, or impact-control demo --real-time-factor 0.5" in ran.output
