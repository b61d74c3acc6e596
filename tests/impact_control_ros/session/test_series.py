"""`impact-control run`: a task again and again on one graph, in lockstep, and what stops it before it starts."""

from __future__ import annotations

import errno
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_control.control import Mode
from impact_control.pipeline import MoveOutcome, Outcome
from impact_control.recording.series import read_bag
from impact_control.replay.evaluation import evaluate
from impact_control.util.errors import ImpactControlError
from impact_control_ros.bridge import topics
from impact_control_ros.session import series
from impact_control_ros.session.processes import Death, NodeDiedError
from impact_control_ros.session.series import planned_series
from recorded_courses import write_bag

LARGEST_FILE = 2_500_000
"""[bytes] Between the bags of a task of 1.5 s and of one of 4 s; a write beyond it fails like one to a full disk."""


@pytest.mark.node
def test_trials_follow_each_other_on_one_graph_with_one_report(tmp_path):
    vary = tmp_path / "vary.yaml"
    brief = "task.duration: [1.5 s]\ntask.post.duration: [0.5 s]\ntask.post.slide: [3 cm]\n"
    # The last one expects the table 2 cm lower than it is.
    varied = ["task.impact.speed: [0.2 m/s, 0.15 m/s, 0.2 m/s]", "task.impact.approach_angle: [60 deg, 75 deg, 60 deg]"]
    places = "['0.5, 0, 0.2 m', '0.5, 0, 0.2 m', '0.5, 0, 0.18 m']"
    varied += [f"{key}: {places}" for key in ("task.impact.position", "expected_environment.surface.point")]
    vary.write_text("\n".join([*varied, brief]))
    words = ["run", "tabletop", "--times", "3", "--vary", str(vary), "--lockstep", "--output", str(tmp_path / "runs")]
    command = [sys.executable, "-m", "impact_control.cli.main", *words]
    told = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "All 3 trials were begun." in told.stdout and "2 succeeded, 1 impact unexpected" in told.stdout
    (run,) = (tmp_path / "runs").iterdir()
    page = (run / "report.html").read_text()
    assert page.count("0.15 m/s") == 1 and page.count("<td>0.2 m/s</td>") == 2 and "M + B_theta" in page
    for number, speed, angle in ((1, 0.2, 60.0), (2, 0.15, 75.0), (3, 0.2, 60.0)):
        evaluation = evaluate(run / f"trial_{number}" / "bag")
        assert 0.0 <= evaluation.analysis.detection_delay < 0.02
        assert [interval.mode for interval in evaluation.analysis.modes][-1] == "stopped"
        # The motion before the impact is that of the trial.
        followed = read_bag(run / f"trial_{number}" / "bag").series(topics.REFERENCE)
        x, y, z = followed["velocity"][followed["mode"] == Mode.ANTE][-1]
        assert (np.hypot(x, z), y) == pytest.approx((speed, 0.0), rel=0.03, abs=1e-3)
        assert np.degrees(np.arctan2(-z, x)) == pytest.approx(angle, abs=0.5)
    assert len({log.name for log in (run / "log").glob("simulator*")}) == 1, "no relaunch"


@pytest.mark.node
def test_a_full_disk_ends_the_series_with_a_report_of_the_trials_before(tmp_path):
    vary = tmp_path / "vary.yaml"
    vary.write_text("task.duration: [1.5 s, 4 s]\ntask.post.duration: [0.5 s]\ntask.post.slide: [3 cm]\n")
    words = ["run", "tabletop", "--times", "3", "--vary", str(vary), "--lockstep", "--output", str(tmp_path / "runs")]
    told = subprocess.run(
        [sys.executable, "-m", "impact_control.cli.main", *words],
        capture_output=True,
        text=True,
        timeout=400,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE)),
        check=False,
    )
    assert told.returncode == 1 and "Traceback" not in told.stderr, told.stdout + told.stderr
    printed = " ".join(told.stdout.split())
    assert "1 of 3 reported" in printed and "1 succeeded" in printed
    (run,) = (tmp_path / "runs").iterdir()
    assert len(evaluate(run / "trial_1" / "bag").analysis.modes) > 3
    assert not (run / "trial_3").exists()
    page = (run / "report.html").read_text()
    assert page.count("<td>1.5 s</td>") == 1 and "<td>4 s</td>" not in page
    for text in (printed, page):
        assert re.search(r"NOT AS EXPECTED: trial 2 \(succeeded\) is not in this report: .* was cut off", text)


@dataclass
class Stage:
    """Stand-in for a session: each trial writes a bag, succeeds and calls `then` with its number."""

    then: Callable[[int], None]
    trial: int = 0

    def __call__(self, *_, **__):
        return nullcontext(self)

    def start(self):
        pass

    def pause(self, paused):
        pass

    def move_to(self, scenario):
        self.trial += 1
        return {"": SimpleNamespace(outcome=MoveOutcome.REACHED)}

    def record(self, bag, text=""):
        if bag is not None:
            bag.mkdir()
            write_bag(bag.parent)

    def run_tasks(self, scenario, **_):
        self.then(self.trial)
        return {"": SimpleNamespace(outcome=Outcome.SUCCEEDED, summary="")}


DEATH = NodeDiedError(Death("simulator", -9), "")


@pytest.mark.parametrize("error", [DEATH, OSError(errno.ENOSPC, "No space left on device")], ids=["death", "disk"])
def test_whatever_ends_a_series_leaves_the_report_of_the_trials_before(tmp_path, monkeypatch, error):
    def fail(trial):
        if trial == failing:
            raise error

    monkeypatch.setattr(series, "isolate", lambda _: None)
    monkeypatch.setattr(series, "Session", Stage(fail))
    failing = 3
    summary = series.run_series(planned_series("tabletop", 4), tmp_path)
    assert not summary.good and summary.verdict == f"NOT AS EXPECTED: trial 3 is not in this report: {error}."
    assert {row.label: row.value for row in summary.rows}["Trials"] == "2 of 4 reported"
    monkeypatch.setattr(series, "Session", Stage(fail))
    failing = 1
    (tmp_path / "again").mkdir()
    with pytest.raises(type(error)):
        series.run_series(planned_series("tabletop", 4), tmp_path / "again")


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
