"""Who touches the arm, and how the robot side is simulated, as a scenario file says it."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from impact_control.scenario import TouchProfile, config_directory, describe_schema, load_scenario, parse_overrides
from impact_control.simulation import PlantOptions, build_world
from impact_control.util.errors import ScenarioError

TABLETOP = load_scenario("tabletop")
TOUCH = {"link": "panda_link4", "force": "0.0, 20.0, 0.0 N", "start": "300 ms", "duration": "0.1 s"}
TOUCHES = "actual_environment.touches"

FILE = """extends: {base}
description: two touches
actual_environment:
  touches:
    - link: panda_link4
      force: 0.0, 20.0, 0.0 N
      start: 0.3 s
      duration: 0.1 s
    - {{link: panda_link6, point: "1, 2, 3 cm", force: "5, 0, 0 N", start: 0 s, duration: 1 s, profile: raised_cosine}}
"""


@pytest.fixture
def two(tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(FILE.format(base=config_directory() / "scenarios" / "tabletop.yaml"))
    return path


def refused(overrides):
    with pytest.raises(ScenarioError) as caught:
        TABLETOP.with_overrides(overrides)
    return caught.value


def test_touches_are_a_list_of_sections_with_defaults(two):
    first, second = load_scenario(two).actual_environment.touches
    assert (first.link, first.start, first.duration, first.profile) == ("panda_link4", 0.3, 0.1, "half_sine")
    np.testing.assert_array_equal(first.point, np.zeros(3))
    np.testing.assert_array_equal(first.force, [0.0, 20.0, 0.0])
    np.testing.assert_allclose(second.point, [0.01, 0.02, 0.03])
    assert second.profile == "raised_cosine"
    assert TABLETOP.actual_environment.touches == ()
    assert "| `actual_environment.touches[].link` |" in describe_schema()


def test_a_list_is_replaced_as_a_whole(two, tmp_path):
    child = tmp_path / "child.yaml"
    child.write_text("extends: two.yaml\ndescription: none\nactual_environment: {touches: []}\n")
    assert load_scenario(child).actual_environment.touches == ()
    given = load_scenario(two).with_overrides({TOUCHES: [TOUCH]}).actual_environment.touches
    assert [touch.start for touch in given] == [0.3]


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "allowed"),
    [
        ("force: 0.0, 20.0, 0.0 N", "force: 0.0, 20.0, 0.0", 6, "[0].force", "3 finite numbers in N, kN"),
        ("duration: 0.1 s", "duration: 0 s", 8, "[0].duration", "above 0 s"),
        ("link: panda_link6", "link: panda_link0", 9, "[1].link", "one of panda_joint1, panda_link1"),
        ("profile: raised_cosine", "profile: step", 9, "[1].profile", "one of half_sine, raised_cosine"),
        ("link: panda_link6", "lnk: panda_link6", 9, "[1].lnk", "; nearest: link"),
        ("start: 0 s,", "", 9, "[1].start", "a finite number in s"),
    ],
)
def test_errors_in_a_list_name_line_and_place(two, old, new, line, key, allowed):
    two.write_text(two.read_text().replace(old, new))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(two)
    assert (caught.value.file, caught.value.key) == (f"{two}:{line}", TOUCHES + key)
    assert allowed in caught.value.allowed


@pytest.mark.parametrize("value", ["none", TOUCH, 3])
def test_what_is_no_list_is_refused(value):
    error = refused({TOUCHES: value})
    assert error.key == TOUCHES
    assert "a list of sections" in error.allowed


def test_an_item_that_is_no_section_is_refused_with_its_place():
    assert refused({TOUCHES: [TOUCH, "panda_link4"]}).key == f"{TOUCHES}[1]"


def test_touches_reach_the_plant():
    world = build_world(TABLETOP.with_overrides({TOUCHES: [{**TOUCH, "profile": "raised_cosine"}]}))
    ((_, acting),) = world.plant._touching
    (touch,) = acting.touches
    assert (touch.link, touch.start, touch.duration) == ("panda_link4", 0.3, 0.1)
    assert touch.profile is TouchProfile.RAISED_COSINE
    np.testing.assert_array_equal(touch.force, [0.0, 20.0, 0.0])


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("joint_friction", "false", False),
        ("torque_loop", "false", False),
        ("torque_filter", "false", False),
        ("largest_step", "20 us", 2e-5),
    ],
)
def test_an_option_of_the_plant_is_chosen_in_the_scenario_and_else_as_the_plant_says(name, written, value):
    options = build_world(TABLETOP.with_overrides(parse_overrides([f"simulation.{name}={written}"]))).plant.options
    defaults = PlantOptions()
    assert getattr(defaults, name) != value
    expected = {field.name: getattr(defaults, field.name) for field in fields(PlantOptions)} | {name: value}
    del expected["backlash"]
    assert {key: getattr(options, key) for key in expected} == pytest.approx(expected)
    assert not options.backlash.gap.any()


def test_backlash_is_free_play_of_the_simulated_joints():
    gap = "0.001, 0.001, 0.001, 0.001, 0.002, 0.002, 0.002 rad"
    play = {"gap": gap, "damping": "0.5 Nm*s/rad", "dry_friction": "0.1 Nm"}
    world = build_world(TABLETOP.with_overrides({"simulation.backlash": play}))
    plant, _, _ = world.single
    rigid, _, _ = build_world(TABLETOP).single
    np.testing.assert_array_equal(world.plant.options.backlash.gap, [1e-3] * 4 + [2e-3] * 3)
    np.testing.assert_array_equal(world.plant.options.backlash.damping, np.full(7, 0.5))
    np.testing.assert_array_equal(world.plant.options.backlash.dry_friction, np.full(7, 0.1))
    # Held against the same gravity, the motors stand further from the links by the gap, to the side of the load.
    twist = (plant.motor_position - plant.link_position) - (rigid.motor_position - rigid.link_position)
    loaded = np.abs(rigid.joint_torque) > 1e-6
    np.testing.assert_allclose(np.abs(twist[loaded]), world.plant.options.backlash.gap[loaded], rtol=1e-9)


def test_gravity_is_compensated_where_the_robot_does_it():
    world = build_world(TABLETOP)
    assert world.plant.options.gravity_compensation is TABLETOP.robot.gravity_compensated_by_robot
    assert np.abs(world.plant.arrays.joints["compensation"][0]).max() > 10.0


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("measurement_delay", "1.5 ms", "a multiple of control.period = 0.001 s"),
        ("measurement_delay", "0.2 s", "at most 0.1 s"),
        ("backlash.gap", "-1 mrad", "at least 0 rad"),
        ("backlash.gap", "1, 2 mrad", "there are 2"),
        ("torque_loop", "off", "true or false"),
    ],
)
def test_wrong_options_are_refused(key, value, allowed):
    error = refused({f"simulation.{key}": value})
    assert error.key == f"simulation.{key}"
    assert allowed in error.allowed


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_measurements_lag_by_whole_samples(delay):
    exact = {"simulation.noise": 0.0, "simulation.measurement_delay": f"{delay} ms"}
    world = build_world(TABLETOP.with_overrides(exact))
    plant, sensors, _ = world.single
    positions, torques, measured = [], [], []
    for k in range(8):
        positions.append(plant.link_position.copy())
        torques.append(plant.joint_torque)
        measured.append(sensors.measure(plant))
        world.step([np.full(7, 0.5 * (k % 3))])
    for k, sample in enumerate(measured):
        np.testing.assert_array_equal(sample.position, positions[max(0, k - delay)])
        np.testing.assert_array_equal(sample.torque, torques[max(0, k - delay)])
