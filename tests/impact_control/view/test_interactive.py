"""Signals and slow motion in the report: the numbers of the bag, the kinematics of the robot, gaps, one small file."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_control.recording.measures import measured_joints
from impact_control.robots import Dynamics, load_robot
from impact_control.view.interactive import AFTER, BEFORE, interactive_section, run_content
from impact_control.view.recorded import record_of_bag
from impact_control.view.signals import RecordedSignals, Signal

LARGEST = 4_000_000
"""Bytes of a report."""


@pytest.fixture(scope="module")
def content(evaluation, bag):
    return run_content(evaluation, *record_of_bag(bag), "")


def numbers(text, kind="<f4"):
    return np.frombuffer(base64.b64decode(text), dtype=kind).astype(float)


def plot(content, title):
    (found,) = (each for each in content["plots"] if each["title"].startswith(title))
    return np.array([numbers(line["values"]) for line in found["lines"]]).T


def test_it_shows_what_the_bag_holds_and_every_sample_around_the_impact(content, evaluation):
    measured, impact = measured_joints(evaluation.recording), evaluation.analysis.impact_time
    time = numbers(content["time"], "<f8")
    rows = np.searchsorted(measured.time, time - 1e-9)
    np.testing.assert_allclose(measured.time[rows], time, atol=1e-9)
    velocity = plot(content, "Joint velocity")[:, :7]
    np.testing.assert_allclose(velocity, measured.velocity[rows], rtol=1e-6, atol=1e-7)
    position = np.array([numbers(column) for column in content["arms"][0]["position"]]).T
    np.testing.assert_allclose(position, measured.position[rows], rtol=1e-6)
    near = (measured.time >= impact - BEFORE) & (measured.time <= impact + AFTER)
    assert near.sum() > 500 and np.isin(np.flatnonzero(near), rows).all()
    assert content["impact"] == impact
    assert [mark["label"] for mark in content["marks"]][-1].startswith("detected")


@pytest.mark.parametrize(("model", "tool"), [("panda", "sphere"), ("fr3", "plate")])
def test_its_kinematics_are_those_of_the_robot(model, tool, bag, evaluation):
    robot = load_robot(model, tool)
    stage, record = record_of_bag(bag)
    arm = replace(stage.arms[""], robot=robot)
    (described,) = run_content(evaluation, replace(stage, arms={"": arm}), record, "")["arms"]
    dynamics, random = Dynamics(robot), np.random.default_rng(4)
    for _ in range(20):
        q = random.uniform(robot.limits.position_lower, robot.limits.position_upper)
        rotation, origin = np.eye(3), np.zeros(3)
        for joint, angle in zip(described["joints"], q, strict=True):
            origin = origin + rotation @ joint["translation"]
            turn = pin.exp3(angle * np.array(joint["axis"]))
            rotation = rotation @ np.reshape(joint["rotation"], (3, 3)) @ turn
        dynamics.compute(q, np.zeros(7))
        np.testing.assert_allclose(origin + rotation @ described["contact"], dynamics.position, atol=1e-8)


def test_a_gap_is_shown_as_one(bag, evaluation):
    stage, record = record_of_bag(bag)
    signals, impact = record.arms[""], evaluation.analysis.impact_time
    lost = (impact + 0.1, impact + 0.2)
    holed = RecordedSignals(
        {
            name: Signal(each.time[keep], each.value[keep])
            for name, each in signals.items()
            for keep in [~within(each, lost)]
        }
    )
    shown = run_content(evaluation, stage, replace(record, arms={"": holed}), "")
    time, velocity = numbers(shown["time"], "<f8"), plot(shown, "Joint velocity")
    inside = (time > lost[0]) & (time < lost[1])
    assert inside.any() and np.isnan(velocity[inside]).all()
    assert np.isfinite(velocity[~inside][:, :7]).all()


def within(signal, ends):
    return (signal.time > ends[0]) & (signal.time < ends[1])


def test_the_report_is_one_file_that_needs_no_network_and_is_small(bag, tmp_path):
    result = CliRunner().invoke(app, ["report", str(bag), "-o", str(tmp_path)])
    assert result.exit_code in (0, 1) and not isinstance(result.exception, Exception), result.output
    page = (tmp_path / "report.html").read_text()
    assert len(page.encode()) < LARGEST
    assert not re.search(r"""(src|href)=["'](https?:)?//""", page) and "@import" not in page
    assert page.index('id="run"') < page.index("<h2>Joint velocities</h2>")


def test_no_text_of_a_run_ends_its_script(bag, evaluation, monkeypatch):
    wicked = replace(
        evaluation.analysis,
        joint_names=("<!--<script></script><script>alert(1)</script>", *evaluation.analysis.joint_names[1:]),
    )
    page = interactive_section(replace(evaluation, analysis=wicked))
    inside = re.search(r'id="run-content">(.*?)</script>', page, re.DOTALL)[1]
    assert "<" not in inside and "alert(1)" in json.loads(inside)["joints"][0]["name"]
