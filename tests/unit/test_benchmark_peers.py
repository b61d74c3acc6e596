"""The peers of the benchmark get the course of our own controller; what they say and how they fail comes back."""

import json
import stat
from pathlib import Path

import numpy as np
import pytest

from impact_control.benchmark.figure import figure_of
from impact_control.benchmark.peers import peer_figures, write_course
from impact_control.errors import ImpactControlError
from impact_control.references import build_reference
from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import load_scenario

SCENARIO = load_scenario("tabletop")
ROBOT = load_robot()
REFERENCE = build_reference(SCENARIO, ROBOT)
STILL = np.zeros(7)
SAMPLES = [(time, REFERENCE.initial_configuration, STILL, STILL) for time in (0.0, 0.999, 1.0, 2.0)]


def interpreter(directory: Path, script: str) -> Path:
    """Return a stand-in for the interpreter of the peers."""
    path = directory / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_course_switches_reference_at_the_impact(tmp_path: Path) -> None:
    write_course(tmp_path / "course.npz", SCENARIO, ROBOT, REFERENCE, SAMPLES)
    course = np.load(tmp_path / "course.npz")
    assert course["q"].shape == (4, 7)
    dynamics = Dynamics(ROBOT)
    for row, velocity in ((1, REFERENCE.ante_impact_velocity), (2, REFERENCE.post_impact_velocity)):
        dynamics.update(REFERENCE.impact_configuration, velocity)
        # One sample before the impact the acceleration of the approach has changed the velocity a little.
        np.testing.assert_allclose(course["velocity"][row], dynamics.twist[:3], atol=2e-3)
    model = ROBOT.pinocchio_model
    here = model.frames[ROBOT.contact_frame_id]
    assert int(course["joint"]) == here.parentJoint
    np.testing.assert_array_equal(course["place"], here.placement.translation)


def test_durations_become_figures(tmp_path: Path) -> None:
    said = json.dumps({"TSID": [1e-6, 2e-6, 3e-6]})
    figures = peer_figures(SCENARIO, ROBOT, REFERENCE, SAMPLES, interpreter(tmp_path, f"echo '{said}'"))
    assert [(figure.name.strip(), figure.met) for figure in figures] == [("the same by TSID", None)]
    assert figures[0].median == pytest.approx(2.0)


def test_a_failure_is_told_and_a_missing_environment_is_none(tmp_path: Path) -> None:
    broken = interpreter(tmp_path, "echo first >&2; echo no such solver >&2; exit 3")
    with pytest.raises(ImpactControlError, match="no such solver"):
        peer_figures(SCENARIO, ROBOT, REFERENCE, SAMPLES, broken)
    assert peer_figures(SCENARIO, ROBOT, REFERENCE, SAMPLES, tmp_path / "nothing") == []


@pytest.mark.parametrize(("tail", "met"), [(4e-6, True), (2e-6, False), (None, True)])
def test_both_targets_have_to_be_met(tail: float | None, met: bool) -> None:
    figure = figure_of("step", [1e-6, 1e-6, 3e-6], 2e-6, tail)
    assert figure.met is met
    assert "2 median" in figure.target
