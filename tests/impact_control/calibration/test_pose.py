"""A pose taught by hand: the impact of a scenario there succeeds, whatever the tremor of the hand; home is the pose."""

from __future__ import annotations

import numpy as np
import pytest

from calibration_recordings import HOME, TABLETOP, called, including, refused, write_guided
from impact_control.pipeline import Outcome
from impact_control.planning import plan_scenario
from impact_control.scenario import load_scenario
from impact_control.simulation.scenario_run import run_scenario


def impact_of(seed):
    """Place, yaw and configuration of an impact somewhere on a table, with joint 1 turned."""
    random = np.random.default_rng(seed)
    place = [random.uniform(0.42, 0.56), random.uniform(-0.15, 0.15), random.uniform(0.15, 0.3)]
    there = f"{', '.join(map(str, place))} m"
    changes = {
        "task.impact.position": there,
        "expected_environment.surface.point": there,
        "task.impact.orientation": f"180, 0, {random.uniform(-60.0, -30.0)} deg",
        "task.joint_1": f"{random.uniform(-0.3, 0.3)} rad",
    }
    plan = plan_scenario(load_scenario("tabletop").with_overrides(changes))
    return np.array(place), next(iter(plan.arms.values())).reference.impact_configuration


@pytest.mark.parametrize("seed", [71, *(pytest.param(seed, marks=pytest.mark.long) for seed in (72, 73))])
def test_a_task_succeeds_where_the_arm_was_guided_to_the_surface(tmp_path, seed):
    place, touching = impact_of(seed)
    log = write_guided(tmp_path / "guided.csv", [HOME, touching + 0.2, touching], seed)
    output = tmp_path / "pose.yaml"
    called("calibrate", "pose", log, "-s", "tabletop", "--columns", tmp_path / "columns.yaml", "--output", output)
    there = f"actual_environment: {{surface: {{point: '{', '.join(map(str, place))} m'}}}}\n"
    scenario, _ = including(output, there)
    assert np.linalg.norm(scenario.task.impact.position - place) < 2e-3
    plan = next(iter(plan_scenario(scenario).arms.values()))
    assert np.abs(plan.reference.impact_configuration - touching).max() < 5e-3
    assert run_scenario(scenario).outcome is Outcome.SUCCEEDED


def test_as_home_it_is_the_pose_that_was_held_last(tmp_path):
    home = np.array([0.1, -0.7, 0.05, -2.3, 0.0, 1.6, 0.8])
    log = write_guided(tmp_path / "guided.csv", [HOME, home], 7)
    output = tmp_path / "home.yaml"
    said = called(
        *("calibrate", "pose", log, "--home", "-s", "tabletop"),
        *("--columns", tmp_path / "columns.yaml", "--output", output),
    )
    assert "held still from 1.4" in said or "held still from 1.5" in said
    scenario, _ = including(output)
    np.testing.assert_allclose(scenario.task.home_configuration, home, atol=1e-3)


def test_a_pose_that_the_task_cannot_begin_from_is_an_objection(tmp_path):
    stretched = np.array([0.0, 1.2, 0.0, -0.2, 0.0, 1.6, 0.8])
    log = write_guided(tmp_path / "guided.csv", [HOME, stretched], 8)
    options = ("-s", "tabletop", "--columns", tmp_path / "columns.yaml", "--output", tmp_path / "pose.yaml")
    said = refused("calibrate", "pose", log, *options)
    assert "cannot be planned" in said and "--force" in said
    assert not (tmp_path / "pose.yaml").exists()


def test_an_arm_that_is_held_nowhere_is_refused(tmp_path):
    log = write_guided(tmp_path / "guided.csv", [HOME, HOME + 0.3, HOME], 9, tremor=20e-3)
    said = refused("calibrate", "pose", log, "-s", TABLETOP, "--columns", tmp_path / "columns.yaml")
    assert "held still nowhere" in said and "0.02 rad/s for 0.3 s" in said


def test_two_poses_on_the_sides_of_a_gap_are_not_mixed(tmp_path):
    home = np.array([0.1, -0.7, 0.05, -2.3, 0.0, 1.6, 0.8])
    log = write_guided(tmp_path / "guided.csv", [HOME, home], 10)
    lines = (tmp_path / "guided.csv").read_text().splitlines(keepends=True)
    (tmp_path / "guided.csv").write_text("".join(lines[:550] + lines[1550:]))
    output = tmp_path / "home.yaml"
    options = ("-s", "tabletop", "--columns", tmp_path / "columns.yaml", "--output", output)
    called("calibrate", "pose", log, "--home", *options)
    np.testing.assert_allclose(including(output)[0].task.home_configuration, home, atol=1e-3)
