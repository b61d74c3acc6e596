"""`impact-control run`: a task again and again on one graph, in lockstep, and what stops it before it starts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_control.replay.evaluation import evaluate
from impact_control.util.errors import ImpactControlError
from impact_control_ros.session.series import planned_series


@pytest.mark.node
def test_trials_follow_each_other_on_one_graph_with_one_report(tmp_path):
    vary = tmp_path / "vary.yaml"
    brief = "task.duration: [1.5 s]\ntask.post.duration: [0.5 s]\ntask.post.slide: [3 cm]\n"
    vary.write_text(f"task.impact.speed: [0.2 m/s, 0.15 m/s]\n{brief}")
    words = ["run", "tabletop", "--times", "2", "--vary", str(vary), "--lockstep", "--output", str(tmp_path / "runs")]
    command = [sys.executable, "-m", "impact_control.cli.main", *words]
    told = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "All 2 trials were begun." in told.stdout and "2 succeeded" in told.stdout
    (run,) = (tmp_path / "runs").iterdir()
    page = (run / "report.html").read_text()
    assert page.count("0.15 m/s") == 1 and page.count("<td>0.2 m/s</td>") == 1 and "M + B_theta" in page
    delays = []
    for number in (1, 2):
        evaluation = evaluate(run / f"trial_{number}" / "bag")
        delays.append(evaluation.analysis.detection_delay)
        assert evaluation.scenario.task.impact.speed == (0.15 if number == 2 else 0.2)
        assert [interval.mode for interval in evaluation.analysis.modes][-1] == "stopped"
    assert all(0.0 <= delay < 0.02 for delay in delays), delays
    assert len({log.name for log in (run / "log").glob("simulator*")}) == 1, "no relaunch"


def test_nothing_is_started_for_a_trial_that_cannot_be_followed(tmp_path):
    vary = tmp_path / "vary.yaml"
    vary.write_text("task.impact.speed: [0.2 m/s, 9 m/s]\n")
    with pytest.raises(ImpactControlError, match=r"trial 2 \(task\.impact\.speed = 9 m/s\): reference cannot"):
        planned_series("tabletop", 2, vary)


def test_scenes_with_objects_and_wrong_files_are_answered_in_one_line(tmp_path):
    vary = tmp_path / "vary.yaml"
    vary.write_text("task.impact.speed: [quick]\n")
    for words, expected in (
        (["run", "grab_juice_1", "--times", "2"], "1 for grab_juice_1, whose objects stay"),
        (["run", "tabletop", "--vary", str(vary)], rf"{re.escape(str(vary))}:1: task\.impact\.speed: 'quick'"),
    ):
        told = CliRunner().invoke(app, [*words, "--output", str(tmp_path / "runs")])
        assert told.exit_code != 0
        assert re.search(expected, f"{told.output}{told.exception}")
    assert not (tmp_path / "runs").exists()
    shutil.rmtree(tmp_path)
