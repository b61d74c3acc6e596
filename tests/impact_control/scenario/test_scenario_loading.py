"""Scenario files: what is read, what is inherited, what is refused and how it is said."""

import dataclasses
import math
import os
import shutil
from collections.abc import Iterator
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from impact_control.robots.data_file import DATA_DIRECTORY
from impact_control.scenario import (
    Scenario,
    available_scenarios,
    config_directory,
    describe_schema,
    load_scenario,
    robot_of,
    scenario_digest,
    scenario_from_text,
    shipped,
)
from impact_control.scenario.document import load_document
from impact_control.scenario.fields import REQUIRED, Count, Direction, Entry, Flag, Kind, Number, Numbers, Section
from impact_control.scenario.settings import entries
from impact_control.util.errors import ScenarioError

SCENARIOS = config_directory() / "scenarios"
TABLETOP = load_scenario("tabletop")
ROBOT = TABLETOP.document.plain()["robot"]
EVERYTHING = TABLETOP.with_overrides(
    {
        "robot.joint_friction": {
            "amplitude": "0.5 Nm",
            "slope": "9 s/rad",
            "offset": "0.01 rad/s",
            "deviation": [0.1] * 7,
        },
        "detection.residual": {"threshold": "5 Nm"},
        "detection.velocity_jump": {"threshold": "0.1 rad/s", "window": 8},
        "detection.torque_error": {"threshold": "1.8 Nm", "joints": [5, 6]},
        "detection.whitened": {
            "threshold": [15.0] * 5,
            "friction": {
                "amplitude": "1, 1, 1, 1, 1, 1, 1 Nm",
                "slope": "9, 9, 9, 9, 9, 9, 9 s/rad",
                "offset": "0, 0, 0, 0, 0, 0, 0 rad/s",
                "viscous": "0, 0, 0, 0, 0, 0, 0 Nm*s/rad",
            },
            "known_speed": "1, 1, 1, 1, 1, 1, 1 rad/s",
            "deviations": ["1, 1, 1, 1, 1, 1, 1 Nm"],
            "correlations": [[1.0] * 7],
        },
        "detection.own": {"score": "of_somebody", "threshold": 1.0},
        "detection.isolation": {"threshold": "1 Nm", "velocity_slope": "1 Nm*s/rad", "motion_slope": "0.1 Nm*s/rad"},
        "classification.method": "simultaneous",
        "classification.completion": {"window": 15, "largest_speed": "1 cm/s", "least_force": "5 N"},
        "classification.held_force": {"after": "0.5 s", "window": "0.1 s", "limit": "3 N"},
    }
)
"""With every section that may be none."""


def schema_entries(section: type = Scenario, prefix: str = "") -> Iterator[tuple[str, Entry]]:
    for name, entry in entries(section).items():
        yield prefix + name, entry
        if isinstance(entry.kind, Section):
            yield from schema_entries(entry.kind.type, f"{prefix}{name}.")


def keys_of(*kinds: type[Kind]) -> list[str]:
    return [key for key, entry in schema_entries() if isinstance(entry.kind, kinds)]


def value_at(scenario: Scenario, key: str) -> Any:
    value: Any = scenario
    for part in key.split("."):
        value = getattr(value, part)
    return value


def refused(overrides: dict[str, Any]) -> ScenarioError:
    with pytest.raises(ScenarioError) as caught:
        EVERYTHING.with_overrides(overrides)
    return caught.value


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def dump(document: dict[str, Any]) -> str:
    stream = StringIO()
    YAML(typ="safe", pure=True).dump(document, stream)
    return stream.getvalue()


def without(document: dict[str, Any], key: str) -> dict[str, Any]:
    head, _, rest = key.partition(".")
    if rest:
        return document | {head: without(document[head], rest)}
    return {name: value for name, value in document.items() if name != head}


def flat(document: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for name, value in document.items():
        pairs |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return pairs


def test_quantities_are_si_and_arrays_cannot_be_written() -> None:
    assert TABLETOP.task.impact.approach_angle == pytest.approx(math.radians(60.0))
    assert TABLETOP.control.period == pytest.approx(1e-3)
    np.testing.assert_allclose(TABLETOP.task.impact.orientation, np.radians([180.0, 0.0, -45.0]))
    np.testing.assert_array_equal(TABLETOP.detection.observer_gain, np.full(7, 30.0))
    assert TABLETOP.detection.residual_rate.threshold.shape == (7,)
    surface = TABLETOP.actual_environment.surface
    assert surface is not None
    assert (surface.contact.exponent, surface.contact.stiffness) == (1.5, 3.2e9)
    assert surface.contact.damping == 3.2e12
    with pytest.raises(ValueError, match="read-only"):
        TABLETOP.detection.observer_gain[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        TABLETOP.control.period = 2.0  # type: ignore[misc]


def test_every_entry_of_the_schema_is_loaded_and_documented() -> None:
    table = describe_schema()
    for key, entry in schema_entries():
        assert f"| `{key}` |" in table
        if entry.default is REQUIRED:
            assert value_at(EVERYTHING, key) is not None
    assert all(line.replace("\\|", "").count("|") == 5 for line in table.splitlines())


def test_variants_differ_only_in_the_surface_that_is_there() -> None:
    assert set(available_scenarios()) >= {"tabletop", "tabletop_tilted", "tabletop_raised", "tabletop_absent"}
    base = flat(TABLETOP.document.plain())
    changed = {
        name: {key for key, value in flat(load_scenario(name).document.plain()).items() if base.get(key) != value}
        for name in ("tabletop_tilted", "tabletop_raised", "tabletop_absent")
    }
    said = {"name", "description", "expected_outcome"}
    assert changed["tabletop_tilted"] == said | {"actual_environment.surface.normal"}
    assert changed["tabletop_raised"] == said | {"actual_environment.surface.point"}
    assert changed["tabletop_absent"] == said | {"actual_environment.surface"}


def test_variants_are_what_they_say() -> None:
    impact = TABLETOP.task.impact.position
    tilted = load_scenario("tabletop_tilted").actual_environment.surface
    raised = load_scenario("tabletop_raised").actual_environment.surface
    assert tilted is not None and raised is not None
    assert math.degrees(math.acos(tilted.normal[2])) == pytest.approx(8.0, abs=1e-4)
    assert tilted.normal @ TABLETOP.task.impact.heading < 0.0
    assert tilted.normal @ (impact - tilted.point) == pytest.approx(0.0, abs=1e-12)
    assert raised.normal @ (raised.point - impact) == pytest.approx(0.03)
    assert load_scenario("tabletop_absent").actual_environment.surface is None


@pytest.mark.parametrize("name", available_scenarios())
def test_a_scenario_written_out_loads_to_the_same(name: str, tmp_path: Path) -> None:
    scenario = load_scenario(name).with_overrides({"simulation.seed": 77})
    path = write(tmp_path / "copy.yaml", scenario.to_yaml())
    for copy in (load_scenario(path), scenario_from_text(scenario.to_yaml(), "bag")):
        assert copy.document.plain() == scenario.document.plain()
        assert (copy.name, copy.simulation.seed) == (name, 77)


def test_overrides_leave_the_original_alone() -> None:
    changed = TABLETOP.with_overrides(
        {
            "simulation.seed": np.int64(3),
            "task.impact.speed": "30 cm/s",
            "task.impact.heading": np.array([0.0, 1.0, 0.0]),
            "actual_environment.surface": "none",
            "task.joint_1": "0.1 rad",
        }
    )
    assert (changed.simulation.seed, changed.task.impact.speed, changed.task.posture) == (3, 0.3, 0.1)
    assert changed.actual_environment.surface is None
    np.testing.assert_array_equal(changed.task.impact.heading, [0.0, 1.0, 0.0])
    assert (TABLETOP.simulation.seed, TABLETOP.task.impact.speed, TABLETOP.task.posture) == (1, 0.2, 0.0)
    assert TABLETOP.actual_environment.surface is not None


def test_contact_units_follow_the_exponent() -> None:
    prefix = "actual_environment.surface.contact"
    law = {"exponent": 1, "stiffness": "2e5 N/m", "damping": "40 N*s/m^2"}
    surface = TABLETOP.with_overrides({prefix: law}).actual_environment.surface
    assert surface is not None
    assert (surface.contact.stiffness, surface.contact.damping) == (2e5, 40.0)
    assert refused({f"{prefix}.exponent": 2.0}).key == f"{prefix}.stiffness"
    law = {"exponent": 1.4142135, "stiffness": "2e5 N/m^1.4142135", "damping": "40 N*s/m^2.4142135"}
    assert TABLETOP.with_overrides({prefix: law}).actual_environment.surface.contact.exponent == 1.4142135


def test_left_out_contact_takes_the_published_values(tmp_path: Path) -> None:
    document = without(TABLETOP.document.plain(), "actual_environment.surface.contact")
    path = write(tmp_path / "bare.yaml", dump(document))
    surface = load_scenario(path).actual_environment.surface
    assert surface is not None
    contact = surface.contact
    assert (contact.exponent, contact.stiffness, contact.damping) == (1.5, 3.2e9, 3.2e12)


@pytest.mark.parametrize(
    "key",
    [key for key, entry in schema_entries() if entry.default is REQUIRED and key not in ("name", "description")],
)
def test_a_missing_key_is_named(key: str, tmp_path: Path) -> None:
    path = write(tmp_path / "incomplete.yaml", dump(without(EVERYTHING.document.plain(), key)))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert (caught.value.key, caught.value.value) == (key, None)
    assert f"{key}: nothing is given; allowed: {caught.value.allowed}" in str(caught.value)
    assert caught.value.file.startswith(str(path))


@pytest.mark.parametrize("key", keys_of(Number, Numbers, Direction, Count))
@pytest.mark.parametrize("value", [math.nan, math.inf, 10**310, True, "some", None, "1 furlong", "nan m", {"a": 1}])
def test_what_is_no_finite_number_of_the_right_unit_is_refused(key: str, value: object) -> None:
    assert refused({key: value}).key == key


@pytest.mark.parametrize("key", keys_of(Numbers))
def test_arrays_of_the_wrong_size_are_refused(key: str) -> None:
    entry = dict(schema_entries())[key]
    assert isinstance(entry.kind, Numbers)
    error = refused({key: f"1, 2, 3, 4 {entry.kind.unit}" if entry.kind.unit else [1.0, 2.0, 3.0, 4.0]})
    assert error.key == key
    assert "there are 4" in error.allowed


@pytest.mark.parametrize("key", keys_of(Flag))
@pytest.mark.parametrize("value", [1, 0, "true", None])
def test_only_truth_values_are_flags(key: str, value: object) -> None:
    assert refused({key: value}).allowed == "true or false"


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("task.impact.speed", 0.2, "m/s, cm/s, mm/s"),
        ("task.impact.speed", "0.2 m", "m/s, cm/s, mm/s"),
        ("task.impact.speed", "-0.2 m/s", "above 0 m/s"),
        ("task.impact.speed", "0.2, 0.3 m/s", "more than one"),
        ("task.impact.approach_angle", "0 deg", "above 0 rad"),
        ("task.impact.approach_angle", "90.1 deg", "at most 1.5708 rad"),
        ("task.impact.heading", [1.0, 1.0, 0.0], "length 1"),
        ("task.impact.heading", [0.0, 0.0, 1.0], "off the surface's normal"),
        ("task.impact.position", "0.5, 0.0, 0.21 m", "10 mm above"),
        ("task.duration", "1.9 s", "at least 2 s"),
        ("task.post.lead", "1.1 s", "impact.time = 1 s"),
        ("task.joint_1", "2.9 rad", "panda_joint1 from -2.8973"),
        ("task.home_configuration", "0, 0, 0, 0, 0, 1, 0 rad", "panda_joint4 from -3.0718 to -0.0698"),
        ("expected_environment.surface.normal", [0.0, 0.0, 0.9], "length 1"),
        ("expected_environment.surface.friction", -0.1, "at least 0"),
        ("actual_environment.surface.friction", -0.1, "at least 0"),
        ("actual_environment.surface", "nothing", "or none"),
        ("control.friction_compensation", 1.01, "at most 1"),
        ("control.state_timeout", "0.5 ms", "control.period = 0.001 s"),
        ("classification.window_length", 0, "from 1 to"),
        ("classification.window_length", 2.0, "whole number"),
        ("classification.decay_rate", "1000 1/s", "below 1/control.period"),
        ("simulation.largest_step", "2 ms", "at most 0.001 s"),
        ("task.duration", "101 s", "at most 100000 times control.period, 100 s"),
        ("simulation.seed", -1, "from 0 to"),
        ("reaction.on_unexpected_impact", "flee", "one of stop, continue"),
        ("robot.model", "pandar", "one of fr3, panda"),
        ("robot.end_effector", "hammer", "plate, sphere"),
        ("robot.motor_inertia", "secret", "van_steen_2024, rey_arias_2024"),
        ("robot", "panda", "section"),
        ("name", "  ", "not empty"),
        ("robot.gravity_compensated_by_robot", False, "not supported"),
        ("simulation.sed", 1, "; nearest: seed"),
        ("task.impact.sped", 1, "; nearest: speed"),
        ("detektion", 1, "; nearest: detection"),
    ],
)
def test_wrong_values_are_refused_with_key_and_what_is_allowed(key: str, value: object, allowed: str) -> None:
    error = refused({key: value})
    assert error.key == key
    assert error.file == "override"
    assert allowed in error.allowed
    assert key in str(error)


def test_unknown_names_are_refused_with_the_nearest() -> None:
    for name, nearest in (("table_top", "; nearest: tabletop"), ("../scenarios/tabletop", "")):
        with pytest.raises(ScenarioError) as caught:
            load_scenario(name)
        assert caught.value.allowed == f"a .yaml file, or a name that `impact-control scenarios` lists{nearest}"


def test_errors_name_the_file_and_line_where_the_value_stands(tmp_path: Path) -> None:
    base = write(tmp_path / "base.yaml", (SCENARIOS / "tabletop.yaml").read_text(encoding="utf-8"))
    lines = base.read_text(encoding="utf-8").splitlines()
    at = next(k for k, line in enumerate(lines) if "speed:" in line)
    lines[at] = "    speed: 0.2"
    base.write_text("\n".join(lines), encoding="utf-8")
    child = write(tmp_path / "child.yaml", "extends: base.yaml\ndescription: child\ncontrol:\n  period: 1 m\n")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(child)
    assert (caught.value.file, caught.value.key) == (f"{base}:{at + 1}", "task.impact.speed")
    base.write_text("\n".join(lines).replace("speed: 0.2\n", "speed: 0.2 m/s\n"), encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(child)
    assert (caught.value.file, caught.value.key) == (f"{child}:4", "control.period")


def test_files_of_a_robot_lie_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    write(tools / "mine.yaml", (DATA_DIRECTORY / "end_effectors" / "sphere.yaml").read_text(encoding="utf-8"))
    base = write(
        tools / "base.yaml", dump(TABLETOP.document.plain() | {"robot": ROBOT | {"end_effector": "mine.yaml"}})
    )
    child = write(tmp_path / "child.yaml", "extends: tools/base.yaml\n")
    for file in (base, child):
        scenario = load_scenario(file)
        assert scenario.robot.end_effector == str(tools / "mine.yaml")
        # What a recorder keeps loads elsewhere.
        assert scenario_from_text(scenario.to_yaml(), "bag").robot.end_effector == scenario.robot.end_effector
    missing = write(tmp_path / "missing.yaml", "extends: tools/base.yaml\nrobot:\n  model: mine.yaml\n")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(missing)
    assert (caught.value.key, caught.value.value) == ("robot.model", str(tmp_path / "mine.yaml"))


@pytest.mark.parametrize("name", ["tabletop_tilted", "grab_juice_1"])
def test_a_shipped_scenario_is_extended_by_its_name_from_anywhere(tmp_path: Path, name: str) -> None:
    child = load_scenario(write(tmp_path / "child.yaml", f"extends: {name}\nsimulation: {{seed: 5}}\n"))
    assert child.to_yaml() == load_scenario(name).with_overrides({"name": "child", "simulation.seed": 5}).to_yaml()


def test_names_are_not_inherited(tmp_path: Path) -> None:
    write(tmp_path / "base.yaml", TABLETOP.to_yaml())
    write(tmp_path / "middle.yaml", "extends: base.yaml\nsimulation: {seed: 5}\n")
    child = write(tmp_path / "child.yaml", "extends: middle.yaml\nreaction: {on_unexpected_impact: continue}\n")
    scenario = load_scenario(child)
    assert scenario.name == "child"
    assert scenario.simulation.seed == 5
    assert scenario.reaction.on_unexpected_impact == "continue"
    assert scenario.reaction.on_unexpected_post_impact == TABLETOP.reaction.on_unexpected_post_impact


def test_an_included_file_holds_over_what_is_extended_and_under_what_is_said(tmp_path: Path) -> None:
    write(tmp_path / "base.yaml", TABLETOP.to_yaml())
    write(tmp_path / "one.yaml", "detection: {observer_gain: 40 1/s, residual: {threshold: 9 Nm}}\n")
    write(tmp_path / "two.yaml", "detection: {observer_gain: 50 1/s, refractory_time: 70 ms}\n")
    said = "detection: {refractory_time: 80 ms}\n"
    child = write(tmp_path / "child.yaml", f"extends: base.yaml\ninclude: [one.yaml, two.yaml]\n{said}")
    found = load_scenario(child)
    assert found.name == "child"
    assert found.detection.observer_gain[0] == 50.0
    assert found.detection.refractory_time == 0.08
    assert found.detection.residual is not None and found.detection.residual.threshold[0] == 9.0
    assert found.detection.residual_rate is not None  # of the extended one
    # Who extends it gets the same, and may say something else again.
    last = write(tmp_path / "last.yaml", "extends: child.yaml\ninclude: one.yaml\n")
    assert load_scenario(last).detection.observer_gain[0] == 40.0


@pytest.mark.parametrize(
    ("include", "text", "place", "key", "complaint"),
    [
        ("nowhere.yaml", "", "child.yaml:2", "include", "a file relative to this one: base.yaml, part.yaml"),
        ("{a: part.yaml}", "", "child.yaml:2", "include", "the name of a file, or a list of them"),
        ("[1]", "", "child.yaml:2", "include", "a file relative to this one"),
        ("part.yaml", "extends: base.yaml\n", "part.yaml:1", "extends", "sections only"),
        ("part.yaml", "a: 1\ninclude: base.yaml\n", "part.yaml:2", "include", "sections only"),
        ("part.yaml", "name: mine\n", "part.yaml:1", "name", "sections only"),
        (
            "part.yaml",
            "detection:\n  observer_gian: 3 1/s\n",
            "part.yaml:2",
            "detection.observer_gian",
            "nearest: observer_gain",
        ),
        ("part.yaml", "detection: {observer_gain: 3}\n", "part.yaml:1", "detection.observer_gain", "unit is missing"),
    ],
)
def test_what_cannot_be_included_is_refused(
    tmp_path: Path, include: str, text: str, place: str, key: str, complaint: str
) -> None:
    write(tmp_path / "base.yaml", TABLETOP.to_yaml())
    write(tmp_path / "part.yaml", text or "{}")
    child = write(tmp_path / "child.yaml", f"extends: base.yaml\ninclude: {include}\n")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(child)
    assert caught.value.file.endswith(place)
    assert caught.value.key == key
    assert complaint in caught.value.allowed


def test_joint_friction_of_ones_own_is_that_of_controller_and_simulator() -> None:
    own = {"amplitude": "0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7 Nm", "slope": "9 s/rad", "offset": "0.01 rad/s"}
    friction = robot_of(TABLETOP.with_overrides({"robot.joint_friction": own}).robot).friction
    np.testing.assert_allclose(friction.amplitude, 0.1 * np.arange(1, 8))
    np.testing.assert_allclose(friction.slope, 9.0)
    np.testing.assert_allclose(friction.offset, 0.01)
    for side in ("link", "motor"):
        there = robot_of(TABLETOP.with_overrides({"robot.joint_friction": own | {"side": side}}).robot).friction
        assert there.on_motor == (side == "motor")
    assert robot_of(TABLETOP.robot).friction.amplitude[0] == pytest.approx(0.54615)  # Gaz et al. 2019
    refused = own | {"amplitude": "1, 2 Nm"}
    with pytest.raises(ScenarioError, match=r"robot\.joint_friction\.amplitude.*7 finite numbers"):
        TABLETOP.with_overrides({"robot.joint_friction": refused})
    with pytest.raises(ScenarioError, match=r"robot\.joint_friction\.slope.*above 0"):
        TABLETOP.with_overrides({"robot.joint_friction": own | {"slope": "0 s/rad"}})


def test_how_well_that_friction_is_known_is_ones_own_too() -> None:
    own = {"amplitude": "0.1 Nm", "slope": "9 s/rad", "offset": "0.01 rad/s"}
    here = robot_of(TABLETOP.with_overrides({"robot.joint_friction": own}).robot).deviation
    np.testing.assert_array_equal(here.joint_friction, robot_of(TABLETOP.robot).deviation.joint_friction)
    given = TABLETOP.with_overrides({"robot.joint_friction": own | {"deviation": 0.07}})
    np.testing.assert_array_equal(robot_of(given.robot).deviation.joint_friction, np.full(7, 0.07))
    with pytest.raises(ScenarioError, match=r"robot\.joint_friction\.deviation.*at least 0"):
        TABLETOP.with_overrides({"robot.joint_friction": own | {"deviation": -0.1}})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("extends: there.yaml\n", "here.yaml -> there.yaml -> here.yaml"),
        ("extends: nowhere.yaml\n", "a file relative to this one: there.yaml"),
        (
            "extends: tabletp\n",
            "a file relative to this one: there.yaml, or the name of a shipped scenario; nearest: tabletop",
        ),
        ("extends: [there.yaml]\n", "a file relative to this one"),
        ("name: a\nname: b\n", "duplicate"),
        ("position: [1, 2] m\n", "no brackets"),
        ("- a\n- b\n", "a mapping of sections"),
        ("", "a mapping of sections"),
        ("&a\nb: *a\n", "an alias inside its own value"),
        ("1: 2\n", "keys that are words"),
        ("[a]: b\n", "a key that is no word"),
        (16 * "? ", "a key that is no word"),  # 2^16 times as long as one without
        ("a: {b: c\n", "YAML 1.2"),
        ("robot: !!python/object:os.system x\n", "section"),
        ("a: !!bool x\n", "YAML 1.2"),
        ("a: 2001-13-45\n", "month must be in 1..12"),
        ("a: " + 5000 * "[", "more than 20 values in each other"),
        ("a: &a " + 20 * "[" + 20 * "]" + "\n", "more than 20 values in each other"),
        ("a: &a " + 18 * "[" + 18 * "]" + "\n", "this key is unknown"),
        (f"extends: {300 * 'a'}\n", "a file relative to this one: there.yaml"),
        ('extends: "\\0"\n', "a file relative to this one: there.yaml"),
    ],
)
def test_broken_files_are_refused(text: str, complaint: str, tmp_path: Path) -> None:
    write(tmp_path / "there.yaml", "extends: here.yaml\n")
    path = write(tmp_path / "here.yaml", text)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("opening", ["[", "{", "[x, ", "- ", "? "])
def test_deep_trees_are_refused_before_they_are_read(opening: str) -> None:
    """The library takes 10 s for 2000 brackets, and more than the stack for as many dashes."""
    for depth in (21, 400, 4000):
        with pytest.raises(ScenarioError, match=r"more than 20 values in each other|a key that is no word"):
            scenario_from_text(depth * opening, "deep.yaml")


def test_aliases_that_stand_for_more_than_fits_anywhere_are_refused(tmp_path: Path) -> None:
    lines = ["a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"{new}: &{new} [{', '.join(10 * [f'*{old}'])}]" for old, new in pairwise("abcdefghij")]
    path = write(tmp_path / "bomb.yaml", "\n".join(lines) + "\n")
    with pytest.raises(ScenarioError, match="aliases written out"):
        load_scenario(path)


def test_what_is_no_file_or_none_that_can_be_read_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\xff")
    impossible = ["\0.yaml", "~nobody-known/a.yaml", "~nobody-known", "~\0", f"{300 * 'a'}.yaml"]
    for path in (tmp_path / "absent.yaml", binary, tmp_path, *impossible):
        with pytest.raises(ScenarioError):
            load_scenario(path)


def test_yaml_1_2_words_stay_words(tmp_path: Path) -> None:
    text = TABLETOP.to_yaml().replace("joint_friction: true", "joint_friction: yes")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(tmp_path / "old.yaml", text))
    assert caught.value.key == "simulation.joint_friction"


@pytest.mark.parametrize("name", ["tabletop.yaml", "scenes/grab_juice_3.yaml"])
def test_the_digest_of_all_files_is_another_one_when_one_of_them_changes(tmp_path, monkeypatch, name):
    original = scenario_digest()
    monkeypatch.setattr(shipped, "_directory", lambda: tmp_path / "scenarios")
    shutil.copytree(SCENARIOS, tmp_path / "scenarios")
    assert scenario_digest() == original
    file = tmp_path / "scenarios" / name
    file.write_text(file.read_text() + "# changed\n")
    assert scenario_digest() != original


@pytest.mark.parametrize(
    ("base", "allowed"),
    [
        ("large.yaml", "it has 262145 bytes, more than 262144"),
        ("pipe.yaml", "a file"),
        ("secret", "the ending .yaml"),
    ],
)
def test_only_a_regular_file_of_256_kb_is_read(tmp_path, base, allowed):
    (tmp_path / "large.yaml").write_text("#" * 262_145)
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "secret").write_text("root:x:0:0")
    with pytest.raises(ScenarioError) as raised:
        load_scenario(write(tmp_path / "mine.yaml", f"extends: {base}"))
    assert allowed in str(raised.value) and "root:x" not in str(raised.value)


def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(ScenarioError, match="no regular file"):
        load_document(tmp_path / "pipe.yaml")


@pytest.mark.parametrize(
    "content",
    [
        "robot: {0}",
        "name: [{0}]",
        "robot: {{model: [{0}]}}",
        "robot: {{end_effector: {{{0}: 1}}}}",
        "task: {{impact: {{speed: {0}}}}}",
        "task: {{impact: {{speed: {0} m/s}}}}",
        "task: {{impact: {{speed: 1 {0}}}}}",
        "task: {{impact: {{speed: '1 {1}'}}}}",
        "task: {{impact: {{speed: [[{0}]]}}}}",
        "task: {{impact: {{speed: {{of: {0}}}}}}}",
        "task: {{impact: {{position: [1, {0}, 2]}}}}",
        "expected_environment: {{surface: {{normal: [{0}, 0, 1]}}}}",
        "expected_environment: {{surface: {0}}}",
        "simulation: {{seed: {0}}}",
        "control: {{formulation: {0}}}",
        "reaction: {{{0}: 1}}",
        "{0}: 1",
        "extends: {0}",
        "include: {0}",
    ],
)
def test_an_error_shows_no_more_than_the_beginning_of_a_value(content, tmp_path):
    long, unit = "abcdefghij" * 100, "m" + "/s/m/s*m*s" * 100
    with pytest.raises(ScenarioError) as raised:
        load_scenario(
            write(tmp_path / "mine.yaml", "extends: tabletop\n" * (content[:3] != "ext") + content.format(long, unit))
        )
    text = str(raised.value)
    assert "abcdefghij" * 13 not in text and "/s/m/s*m*s" * 7 not in text and len(text) < 1500, text
