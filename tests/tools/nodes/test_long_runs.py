"""Long runs in short: tasks back to back by the wall clock, with and without faults at random."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import asdict, replace

import pytest
import yaml

from benchmark.check import STOPPED_BY_USER
from endurance.faults import FAULTS, Fault
from endurance.records import REPORT_FILE
from endurance.run import Workload, endure
from impact_control.recording.series import read_bag
from impact_control.scenario import config_directory
from machine import WatchedMachine

pytestmark = [pytest.mark.wall_clock, pytest.mark.timeout(600)]

ENOUGH = 5.0
"""[min] in which no machine is too slow for the tasks that a test waits for; it ends the run when it has them."""

SLOWED = 0.5
"""Of real time: a slow machine is busy with nothing but the six processes of a graph at full speed."""


@pytest.fixture(autouse=True)
def _what_the_machine_takes_is_known_without_real_time_priority(monkeypatch):
    monkeypatch.setattr("endurance.run.StandstillWatch", WatchedMachine)


def tasks(count, directory, **workload):
    """Run so many tasks; return the report, its directory, and what was told."""
    told = []
    report, place = endure(
        Workload(real_time_factor=SLOWED, **workload),
        ENOUGH,
        directory,
        tell=told.append,
        stop_requested=lambda: len(told) >= count,
    )
    return report, place, told


def test_tasks_back_to_back_are_as_they_should_be(tmp_path):
    report, directory, told = tasks(3, tmp_path, scenarios=("tabletop", "tabletop_raised"))
    assert not [task.complaints for task in report.bad]
    assert [task.outcome for task in report.tasks] == ["succeeded", "impact unexpected", "succeeded"]
    assert len(told) == len(report.tasks) == 3
    assert [json.loads(line)["number"] for line in (directory / "tasks.jsonl").read_text().splitlines()] == [
        task.number for task in report.tasks
    ]
    assert set(report.memory) == {"simulator", "impact_loop", "predictor", "recorder", "supervisor", "this process"}
    assert all(size > 20.0 for series in report.memory.values() for _, size in series)
    kept = json.loads((directory / REPORT_FILE).read_text())
    assert kept["kind"] == "soak" and kept["tasks"] == json.loads(json.dumps([asdict(task) for task in report.tasks]))
    assert not any((directory / f"bag-{task.number}").exists() for task in report.tasks if task.good)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_the_arm_is_safe_the_reason_is_said_and_the_next_task_is_well(seed, tmp_path):
    report, directory, _ = tasks(12, tmp_path, seed=seed, faults=True)
    assert not [task.complaints for task in report.bad], f"see {directory}"
    assert sum(bool(task.fault) for task in report.tasks) == 6


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "target", "size", "recovery"),
    [
        ("stop", "impact_loop", 1.0, "started again"),  # by then the session has given its processes up
        # More of them than the task still lasts; 0.1 s later the clock is right again; the robot side refuses them.
        ("not a number", "states", 500.0, "loop activated again"),
        ("clock back", "states", 3.0, "loop activated again"),
        ("not a number", "commands", 100.0, ""),
    ],
)
def test_a_fault_leaves_nothing_to_the_next_task(name, target, size, recovery, tmp_path, monkeypatch):
    kind = next(kind for kind in FAULTS if kind.name == name and target in kind.targets)
    monkeypatch.setattr("endurance.run.draw_fault", lambda random: Fault(kind, target, 0.6, size))
    report, directory, _ = tasks(3, tmp_path, faults=True)
    assert not [task.complaints for task in report.bad], f"see {directory}"
    assert [bool(task.fault) for task in report.tasks] == [False, True, False]
    assert report.tasks[1].recovery == recovery
    assert report.broke_off == STOPPED_BY_USER and not report.passed


@pytest.mark.long
def test_a_ctrl_c_ends_the_run_in_order_and_says_so(tmp_path):
    """As in a terminal, which sends it to all processes of the command."""
    command = [f"{sys.prefix}/bin/impact-control", "endure", "--real-time-factor", str(SLOWED), "-o", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as run:
        first = run.stdout.readline()
        os.killpg(run.pid, signal.SIGINT)
        rest = run.stdout.read()
    assert "tabletop" in first
    complaints = r"( +NOT AS IT SHOULD BE: .*\n)*"  # of the task that has ended, as a slow machine may have them
    assert f"BROKE OFF: {STOPPED_BY_USER}" in rest and re.match(rf"{complaints}\nFAILED: 1 tasks", rest)
    assert run.returncode == 1
    (file,) = tmp_path.glob(f"*/{REPORT_FILE}")
    kept = json.loads(file.read_text())
    assert (kept["kind"], kept["broke_off"]) == ("soak", STOPPED_BY_USER)


def test_a_task_that_ends_otherwise_is_a_complaint_and_its_bag_is_kept(tmp_path):
    scenario = tmp_path / "deaf.yaml"
    tabletop = config_directory() / "scenarios" / "tabletop.yaml"
    rate = {"threshold": "1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6 Nm/s"}
    never = {"missing_impact_timeout": "10 s"}  # or it would stop before it runs away
    content = {"extends": str(tabletop), "name": "deaf", "control": never, "detection": {"residual_rate": rate}}
    scenario.write_text(yaml.safe_dump(content))
    report, directory, _ = tasks(1, tmp_path / "runs", scenarios=(str(scenario),))
    (task,) = report.tasks
    complaints = " ".join(task.complaints)
    assert re.search(r"velocity at 1[23]\d\.\d % of its limit", complaints)
    assert re.search(r"fault, not succeeded: STATE_OUT_OF_LIMITS: panda_joint\d moves at", complaints)
    assert "moving at the end" not in complaints
    assert not replace(report, broke_off="").passed
    assert len(read_bag(directory / f"bag-{task.number}").series("joint_states")["stamp"]) > 100
