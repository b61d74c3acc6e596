"""Scenes as files: what they say, what is refused, and the one-arm scenarios made from them."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest

from impact_control.references import impact_geometry
from impact_control.scenario import available_scenes, config_directory, flat_orientation, load_scenario
from impact_control.simulation import build_world
from impact_control.util.errors import ScenarioError
from impact_control.util.yaml_text import yaml_of

PUSH, GRAB = load_scenario("push_parcel_1"), load_scenario("grab_parcel_1")
UNEXPECTED = {"mass": "1 kg", "size": "1, 1, 1 m", "position": "0, 0, 0 m", "friction": 0.5}
TOUCH = {"arm": "left", "link": "panda_link4", "force": "9, 0, 0 N", "start": "0.1 s", "duration": "20 ms"}


@pytest.mark.parametrize("name", available_scenes())
def test_scenes_of_the_package_load_and_keep_what_they_say(name):
    scene = load_scenario(name)
    assert scene.name == name
    again = scene.with_overrides({})
    assert again.to_yaml() == scene.to_yaml()
    for arm in scene.arms:
        assert scene.arm(arm).task.impact.time == scene.impact_time


def test_what_is_left_out_of_an_actual_object_is_as_expected():
    scene = PUSH.with_overrides({"expected_environment.objects.box.mass": "1.5 kg"})
    assert scene.actual_environment.objects["box"].mass == 1.5
    scene = PUSH.with_overrides({"actual_environment.objects.box.mass": "1.5 kg"})
    assert scene.expected_environment.objects["box"].mass == 0.6
    assert scene.actual_environment.objects["box"].mass == 1.5
    assert scene.actual_environment.objects["box"].contact is None
    assert PUSH.with_overrides({"actual_environment.objects.box": "none"}).actual_environment.objects["box"] is None


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        ({"arms.left.impact.object": "bottle"}, "arms.left.impact.object"),
        ({"arms.left.impact.face": "+z"}, "arms.left.impact.face"),
        ({"arms.left.impact.velocity": "0, 0.5, 0 m/s"}, "arms.left.impact.velocity"),
        ({"arms.left.joint_1": "3 rad"}, "arms.left.joint_1"),
        ({"arms.left.home_configuration": "0, 0, 0, 0.5, 0, 1, 0 rad"}, "arms.left.home_configuration"),
        ({"arms.left.base.position": "1, 2 m"}, "arms.left.base.position"),
        ({"task.post.force": "20 N"}, "task.post.force"),
        ({"task.post.velocity_scale": 2.0}, "task.post.velocity_scale"),
        ({"task.post.lead": "1 s"}, "task.post.lead"),
        ({"task.duration": "1 s"}, "task.duration"),
        ({"task.duration": "101 s"}, "task.duration"),
        ({"task.impact.inertia": "none"}, "task.impact.inertia"),
        ({"actual_environment.objects.bottle": {"mass": "1 kg"}}, "actual_environment.objects"),
        ({"expected_environment.objects.box.mass": "0 kg"}, "expected_environment.objects.box.mass"),
        ({"expected_environment.objects.box.colour": "red"}, "expected_environment.objects.box.colour"),
        ({"actual_environment.objects.bottle": UNEXPECTED}, "actual_environment.objects"),
        ({"actual_environment.touches": [TOUCH, TOUCH | {"arm": "right"}]}, "actual_environment.touches[1].arm"),
        ({"actual_environment.touches": [TOUCH, TOUCH | {"link": "link9"}]}, "actual_environment.touches[1].link"),
        ({"actual_environment.touches": [TOUCH, TOUCH | {"force": "1 N"}]}, "actual_environment.touches[1].force"),
    ],
)
def test_a_mistake_is_named_by_its_key(overrides, key):
    with pytest.raises(ScenarioError) as caught:
        PUSH.with_overrides(overrides)
    assert caught.value.key == key


def test_a_touch_acts_on_its_arm_alone():
    """As the joint torques J^T F of the middle of a step, once the arm has left where it stood."""
    scene = GRAB.with_overrides({"actual_environment.touches": [{**TOUCH, "arm": "right", "start": "0 s"}]})
    robots = scene.robots()
    starts = {name: arm.home_configuration for name, arm in scene.arms.items()}
    simulation = build_world(scene, robots, starts)
    for arm in simulation.arms.values():
        arm.link_velocity[:] = arm.motor_velocity[:] = 0.5
    for _ in range(14):
        place = simulation.arms["right"].link_position.copy()
        simulation.plant.step([np.zeros(7)] * 2)
    left, right = simulation.arms["left"], simulation.arms["right"]
    assert not left.external_torque.any()
    model = robots["right"].pinocchio_model
    jacobian = pin.computeFrameJacobian(
        model, model.createData(), place, model.getFrameId("panda_link4"), pin.LOCAL_WORLD_ALIGNED
    )
    whole = jacobian[:3].T @ [9.0, 0.0, 0.0]
    share = float(right.external_torque @ whole / (whole @ whole))
    np.testing.assert_allclose(right.external_torque, share * whole, atol=1e-12)
    assert 0.9 < share <= 1.0, "half of 20 ms, within three samples, after the arm began to move"


def test_a_mistake_in_a_file_has_its_line(tmp_path):
    base = config_directory() / "scenarios" / "scenes" / "push_parcel_1.yaml"
    path = tmp_path / "wrong.yaml"
    path.write_text(f"extends: {base}\narms:\n  left:\n    impact:\n      face: up\n")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert caught.value.file == f"{path}:5"
    with pytest.raises(ScenarioError, match="nearest: push_juice_1"):
        load_scenario("push_juice1")
    with pytest.raises(ScenarioError, match="without the section `arms`"):
        load_scenario(base).arm()
    with pytest.raises(ScenarioError, match="allowed: one of the name right"):
        load_scenario(base).arm("right")


def test_a_section_that_is_missing_is_so_in_the_file(tmp_path):
    path = tmp_path / "short.yaml"
    path.write_text(yaml_of({key: value for key, value in PUSH.document.plain().items() if key != "reaction"}))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert (caught.value.file, caught.value.key) == (f"{path}:1", "reaction")


def test_an_arm_says_what_it_hits():
    assert load_scenario("tabletop").arm().target is None
    for name, sign in (("left", 1.0), ("right", -1.0)):
        target = GRAB.arm(name).target
        assert (target.name, target.arms, target.motion) == ("box", 2, GRAB.task.post)
        assert target.box is GRAB.expected_objects["box"]
        np.testing.assert_allclose(target.normal, [0.0, sign, 0.0], atol=1e-12)
        np.testing.assert_array_equal(target.velocity, GRAB.arms[name].impact.velocity)
    assert PUSH.arm("left").target.arms == 1


@pytest.mark.parametrize("yaw", [0.0, 0.4])
def test_the_one_arm_scenario_meets_the_face_flat_where_it_is_hit(yaw):
    """Position, normal, velocity and orientation against the geometry of a turned box, done by hand."""
    scene = GRAB.with_overrides({"expected_environment.objects.box.yaw": f"{yaw} rad"})
    box = scene.expected_environment.objects["box"]
    robots = scene.robots()
    for arm, sign in (("left", 1.0), ("right", -1.0)):
        normal = sign * np.array([-math.sin(yaw), math.cos(yaw), 0.0])
        point = box.position + np.array([0.0, 0.0, 0.5 * box.size[2] + 0.04]) + 0.5 * box.size[1] * normal
        np.testing.assert_allclose(scene.impact_point(arm), point, atol=1e-12)
        scenario = scene.arm(arm)
        np.testing.assert_allclose(scenario.expected_environment.surface.normal, normal, atol=1e-12)
        geometry = impact_geometry(scenario, robots[arm])
        np.testing.assert_allclose(geometry.approach_velocity, scene.arms[arm].impact.velocity, atol=1e-12)
        np.testing.assert_allclose(geometry.orientation[:, 2], -normal, atol=1e-7)
        np.testing.assert_allclose(geometry.contact_offsets @ normal, 0.0, atol=1e-7)
        np.testing.assert_allclose(geometry.contact_point, point, atol=1e-12)


@pytest.mark.parametrize("turn", [0.0, 0.3, math.pi / 2, math.pi])
def test_the_flat_orientation_is_a_rotation_with_z_into_the_face(turn):
    normal = np.array([0.6, -0.8, 0.0])
    rotation = flat_orientation(normal, turn)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(rotation) == pytest.approx(1.0)
    np.testing.assert_allclose(rotation[:, 2], -normal, atol=1e-12)
    assert rotation[2, 1] == pytest.approx(math.cos(turn), abs=1e-12)


def test_the_hands_of_two_arms_that_face_each_other_are_one_turned_by_half_a_turn():
    half_turn = np.diag([-1.0, -1.0, 1.0])
    left, right = (impact_geometry(GRAB.arm(arm), GRAB.robots()[arm]) for arm in ("left", "right"))
    np.testing.assert_allclose(half_turn @ left.orientation, right.orientation, atol=1e-7)
