"""The ranges in which tasks were tried: their file, what of a task lies outside them, and that the planner says so."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_control.planning import departures, load_envelope, outlook_of, planned_values, verified_envelope
from impact_control.planning.assignment import assigned
from impact_control.scenario import config_directory, load_scenario
from impact_control.util.errors import ScenarioError

SHORT = load_scenario("tabletop").with_overrides({"task.post.slide": "5 cm"})
"""A task inside all ranges."""


def written(tmp_path, text):
    path = tmp_path / "ranges.yaml"
    path.write_text(f"extends: {config_directory() / 'operating_envelope.yaml'}\n{text}")
    return path


def tilted(degrees):
    normal = [np.sin(np.radians(degrees)), 0.0, np.cos(np.radians(degrees))]
    return {"expected_environment.surface.normal": [float(value) for value in normal]}


def test_a_task_inside_all_ranges_is_not_warned_of():
    assert departures(SHORT) == ()
    assert outlook_of(SHORT).departures == ()


@pytest.mark.parametrize(
    ("changes", "key", "value", "verified"),
    [
        ({"task.impact.speed": "0.45 m/s"}, "task.impact.speed", "0.45 m/s", "0.05 to 0.4 m/s"),
        ({"task.impact.approach_angle": "30 deg"}, "task.impact.approach_angle", "30 deg", "35 to 90 deg"),
        ({"task.post.force": "2 N"}, "task.post.force", "2 N", "5 to 45 N"),
        ({"task.post.slide": "81 mm"}, "task.post.slide", "0.081 m", "0 to 0.08 m"),
        (
            {"expected_environment.surface.friction": 0.6},
            "expected_environment.surface.friction",
            "0.6",
            "0.05 to 0.5",
        ),
        (tilted(40.0), "expected_environment.surface.normal, tilt", "40 deg", "0 to 35 deg"),
        (
            {
                "task.impact.position": "0.5, -0.3, 0.2 m",
                "expected_environment.surface.point": "0.5, -0.3, 0.2 m",
            },
            "task.impact.position, y",
            "-0.3 m",
            "-0.25 to 0.25 m",
        ),
        ({"robot.end_effector": "plate"}, "robot.end_effector", "plate", "sphere"),
        ({"control.gains.position": "800 1/s^2"}, "control.gains.position", "800 1/s^2", "400 1/s^2"),
        ({"control.feedback": "joint_space"}, "control.feedback", "joint_space", "task_space"),
        ({"classification.contact_path": "none"}, "classification.contact_path", "left out", "given"),
        (
            {"detection.observer_gain": "20 1/s"},
            "detection.observer_gain",
            "20, 20, 20, 20, 20, 20, 20 1/s",
            "30, 30, 30, 30, 30, 30, 30 1/s",
        ),
    ],
)
def test_what_lies_outside_is_named_with_value_and_range(changes, key, value, verified):
    [departure] = departures(SHORT.with_overrides(changes))
    assert (departure.key, departure.value, departure.verified) == (key, value, verified)
    assert all(text in str(departure) for text in (key, value, verified))


@pytest.mark.parametrize("end", [0, 1])
def test_the_ends_of_a_range_are_inside_it(end):
    ranges = verified_envelope().ranges
    changes = {
        "task.impact.speed": f"{ranges.speed[end]} m/s",
        "task.impact.approach_angle": f"{np.degrees(ranges.approach_angle[end]):.12g} deg",
        "task.post.force": f"{ranges.force[end]} N",
        "task.post.slide": f"{1e3 * ranges.slide[end]} mm",
        "expected_environment.surface.friction": float(ranges.friction[end]),
        **tilted(np.degrees(ranges.tilt[end])),
    }
    assert departures(SHORT.with_overrides(changes)) == ()


def test_every_range_but_the_stiffness_is_looked_at():
    names = {name for name, value in vars(verified_envelope().ranges).items() if isinstance(value, np.ndarray)}
    assert names - set(planned_values(SHORT)) == {"stiffness"}
    assert set(planned_values(SHORT)) <= names


def test_the_plan_is_printed_with_a_warning_and_can_be_begun():
    arguments = ["plan", "tabletop", "--set", "task.impact.speed=0.45 m/s"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    lines = [line for line in result.output.splitlines() if line.startswith("warning: ")]
    assert len(lines) == 2
    assert "task.impact.speed is 0.45 m/s, outside what was verified: 0.05 to 0.4 m/s" in lines[0]
    values = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert [one["key"] for one in values["not_verified"]] == ["task.impact.speed", "task.post.slide"]


def test_a_task_that_is_refused_is_warned_of_as_well():
    point = "1.2, 0, 0.2 m"
    changes = {"task.impact.position": point, "expected_environment.surface.point": point}
    outlook = outlook_of(SHORT.with_overrides(changes))
    assert not outlook.feasible
    assert [departure.key for departure in outlook.departures] == ["task.impact.position, x"]


def test_goals_know_of_it_and_scenes_do_not():
    assert [departure.key for departure in assigned("tabletop").departures] == ["task.post.slide"]
    assert assigned("push_parcel_1", next(iter(load_scenario("push_parcel_1").arms))).departures == ()


def test_another_file_says_only_what_differs(tmp_path):
    own = load_envelope(written(tmp_path, "ranges:\n  speed: 0.3, 0.5 m/s\nrobots: panda\n"))
    assert own.ranges.speed == pytest.approx([0.3, 0.5])
    assert own.robots == ("panda",)
    assert own.ranges.force == pytest.approx(verified_envelope().ranges.force)
    assert [departure.key for departure in departures(SHORT, own)] == ["task.impact.speed"]


@pytest.mark.parametrize(
    ("text", "line", "key", "allowed"),
    [
        ("ranges:\n  speed: 0.3 m/s\n", 3, "ranges.speed", "2 finite numbers in m/s"),
        ("ranges:\n  speed: 0.3, 0.5\n", 3, "ranges.speed", "the unit is missing"),
        ("ranges:\n  speed: 0.5, 0.3 m/s\n", 3, "ranges.speed", "the smallest value before the largest"),
        ("ranges:\n  speed: 0, 0.3 m/s\n", 3, "ranges.speed", "above 0 m/s"),
        ("ranges:\n  approach_angle: 40, 100 deg\n", 3, "ranges.approach_angle", "at most"),
        ("ranges:\n  haste: 1, 2 m/s\n", 3, "ranges.haste", "this key is unknown"),
        ("deviations:\n  tilt: 80 deg\n", 3, "deviations.tilt", "at most"),
        ("robots: []\n", 2, "robots", "at least one"),
        ("robots: [panda, panda]\n", 2, "robots", "different"),
        ("robots: [ur5]\n", 2, "robots", "one of"),
        ("robots: [planar_rrr]\n", 2, "robots", ""),
        ("end_effector: hammer\n", 2, "end_effector", "one of"),
        ("scenario: nowhere\n", 2, "scenario", "one of"),
        ("scenario: tabletop_absent\n", 2, "scenario", "a surface that is there"),
    ],
    ids=lambda value: value if isinstance(value, str) and ":" in value else "",
)
def test_a_wrong_file_is_refused_with_line_key_and_what_is_allowed(tmp_path, text, line, key, allowed):
    path = written(tmp_path, text)
    with pytest.raises(ScenarioError) as refused:
        load_envelope(path)
    assert refused.value.file == f"{path.resolve()}:{line}"
    assert refused.value.key == key
    assert allowed in refused.value.allowed


def test_a_file_without_a_key_names_it(tmp_path):
    path = tmp_path / "empty.yaml"
    path.write_text("scenario: tabletop\n")
    with pytest.raises(ScenarioError, match="robots: nothing is given; allowed: "):
        load_envelope(path)
