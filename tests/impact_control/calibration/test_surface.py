"""A surface from touches: its plane within the stated deviations, and a task that succeeds on it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from calibration_recordings import TABLETOP, called, including, motion, refused, write_log, write_touch
from impact_control.calibration.surface import fit_plane
from impact_control.pipeline import Outcome
from impact_control.scenario import load_scenario
from impact_control.simulation.scenario_run import run_scenario
from impact_control.util.errors import InvalidInputError

NORMAL = np.array([0.06, -0.04, 1.0]) / np.linalg.norm([0.06, -0.04, 1.0])
POINT = np.array([0.5, 0.0, 0.212])
REAL = {
    "actual_environment.surface.point": "0.5, 0, 0.212 m",
    "actual_environment.surface.normal": NORMAL.tolist(),
}
PLACES = ((0.46, -0.06), (0.56, -0.04), (0.50, 0.08), (0.54, 0.06))


@pytest.fixture(scope="module")
def touches(tmp_path_factory):
    """Logs of touches of the real surface, each where the tabletop is expected 12 mm below and level."""
    directory = tmp_path_factory.mktemp("touches")
    logs = [write_touch(directory / f"touch{k}.csv", place, REAL, seed=40 + k) for k, place in enumerate(PLACES)]
    return logs, ("-s", "tabletop", "--columns", directory / "columns.yaml")


def test_a_task_succeeds_on_a_surface_that_was_found_by_three_touches(touches, tmp_path):
    logs, options = touches
    assert run_scenario(load_scenario("tabletop").with_overrides(REAL)).outcome is Outcome.IMPACT_UNEXPECTED
    output = tmp_path / "surface.yaml"
    text = called("calibrate", "surface", *logs[:3], *options, "--output", output)
    there = f"actual_environment: {{surface: {{point: '0.5, 0, 0.212 m', normal: {NORMAL.tolist()}}}}}\n"
    found, _ = including(output, there)
    surface, deviation = found.expected_environment.surface, found.classification.uncertainty.normal
    angle = np.arccos(surface.normal @ NORMAL)
    height = (found.task.impact.position - POINT) @ NORMAL
    print(
        f"normal off by {np.degrees(angle):.3f} deg, {np.degrees(deviation):.2g} deg stated; {1e3 * height:.3f} mm high"
    )
    assert angle < 3.0 * deviation < np.radians(1.0)
    known = float(re.search(r"mm at the point of impact, known to ([\d.]+) mm", text)[1])
    assert abs(1e3 * height) < 3.0 * known < 1.0
    assert run_scenario(found).outcome is Outcome.SUCCEEDED


def test_the_corner_of_a_plate_that_touches_first_counts(tmp_path):
    tool = {"robot.end_effector": "plate"}
    logs = [write_touch(tmp_path / f"touch{k}.csv", place, REAL | tool, seed=60 + k) for k, place in enumerate(PLACES)]
    scenario = tmp_path / "plate.yaml"
    scenario.write_text(f"extends: {TABLETOP}\nrobot: {{end_effector: plate}}\n")
    output = tmp_path / "surface.yaml"
    called("calibrate", "surface", *logs, "-s", scenario, "--columns", tmp_path / "columns.yaml", "--output", output)
    found, _ = including(output, "robot: {end_effector: plate}\n")
    angle = np.arccos(found.expected_environment.surface.normal @ NORMAL)
    height = (found.task.impact.position - POINT) @ NORMAL
    print(f"normal off by {np.degrees(angle):.3f} deg, {1e3 * height:.3f} mm high")
    assert angle < 3.0 * found.classification.uncertainty.normal < np.radians(1.0)
    assert abs(height) < 0.5e-3


def test_a_touch_of_something_else_and_touches_on_one_line_are_objections(touches, tmp_path):
    logs, options = touches
    higher = REAL | {"actual_environment.surface.point": "0.5, 0, 0.217 m"}
    other = write_touch(tmp_path / "other.csv", (0.48, 0.02), higher)
    said = refused("calibrate", "surface", *logs, other, *options, "--output", tmp_path / "surface.yaml")
    assert "other.csv: +" in said and "mm off the plane" in said and "--force" in said
    assert not (tmp_path / "surface.yaml").exists()
    said = refused("calibrate", "surface", logs[0], logs[1], logs[1], *options)
    assert "three that are not on one line" in said


def test_a_recording_with_several_impacts_is_told(touches, tmp_path):
    """As of an arm in free motion whose thresholds give false alarms: the first impact need not be a touch."""
    logs, options = touches
    nervous = tmp_path / "nervous.yaml"
    rate = "{residual_rate: {threshold: '80, 100, 80, 80, 6, 12, 3 Nm/s'}}"
    nervous.write_text(f"extends: {TABLETOP}\ndetection: {rate}\n")
    said = called("calibrate", "surface", *logs[:3], "-s", nervous, *options[2:], "--output", tmp_path / "surface.yaml")
    assert re.search(r"the first of \d+ impacts: contacts or false alarms\?", said)
    plain = called("calibrate", "surface", *logs[:3], *options, "--output", tmp_path / "surface.yaml")
    assert "false alarms" not in plain


def test_what_cannot_be_a_surface_is_refused(touches, tmp_path):
    logs, options = touches
    assert "2; allowed: at least 3" in refused("calibrate", "surface", *logs[:2], *options)
    free = write_log(tmp_path / "free.csv", *motion(11, 2.0))
    said = refused("calibrate", "surface", *logs, free, *options)
    assert "free.csv: no impact is detected in it; allowed: a recording of a contact" in said
    wall = tmp_path / "wall.yaml"
    wall.write_text(
        f"extends: {TABLETOP}\ntask: {{impact: {{heading: [0, 0, -1]}}}}\n"
        "expected_environment: {surface: {normal: [-1, 0, 0]}}\n"
    )
    assert "a surface turned by 87 deg from the one that wall expects" in refused(
        "calibrate", "surface", *logs, "-s", wall, *options[2:]
    )


@pytest.mark.parametrize("count", [3, 4, 8])
def test_the_deviations_of_a_plane_are_those_of_many_fits(count):
    random = np.random.default_rng(count)
    normal = random.normal(size=3)
    normal /= np.linalg.norm(normal)
    across = np.linalg.svd(normal[None])[2][1:]
    flat = random.uniform(-0.1, 0.1, (count, 2)) @ across
    errors, stated = [], []
    for _ in range(2000):
        plane = fit_plane(flat + random.normal(0.0, 1e-4, (count, 1)) * normal, np.full(count, 1e-4), normal)
        errors.append((across @ plane.normal, (plane.centre - flat.mean(axis=0)) @ normal))
        stated.append((plane.normal_deviation, plane.height_deviation))
    slopes = np.array([slope for slope, _ in errors])
    worst = np.sqrt(np.linalg.eigvalsh(slopes.T @ slopes / len(slopes))[-1])
    slope, height = np.mean(stated, axis=0)
    assert 0.9 * worst < slope < 1.35 * worst
    off = np.std([centre for _, centre in errors])
    assert 0.9 * off < height < 1.35 * off
    apart = 0.3 * across[0]
    assert plane.deviation_at(plane.centre + apart) == pytest.approx(np.hypot(stated[-1][1], 0.3 * stated[-1][0]))


def test_points_on_a_line_are_no_plane():
    with pytest.raises(InvalidInputError, match="three that are not on one line"):
        fit_plane(
            np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.2, 1e-5, 0.0]]), np.full(3, 1e-4), np.array([0, 0, 1.0])
        )
