"""What stands where in the world of a scenario, and where arm, contact points and force are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import load_scenario
from impact_control.view.frame import ArmFrame
from impact_control.view.signals import Signal
from impact_control.view.stage import ArmPlacer, ShownArm, force_arrow, stage_of

Q = np.array([0.1, -0.5, 0.2, -2.1, 0.3, 1.9, 0.6])


def surfaces(name, **options):
    return [(s.point.tolist(), s.expected) for s in stage_of(load_scenario(name), **options).surfaces]


def test_a_surface_that_is_as_expected_is_shown_once():
    assert surfaces("tabletop") == [([0.5, 0.0, 0.2], False)]


def test_a_surface_that_is_elsewhere_is_shown_beside_the_expected_one():
    assert surfaces("tabletop_raised") == [([0.5, 0.0, 0.23], False), ([0.5, 0.0, 0.2], True)]
    tilted = stage_of(load_scenario("tabletop_tilted")).surfaces
    assert [s.expected for s in tilted] == [False, True] and tilted[0].normal[0] < -0.1


def test_of_a_surface_that_is_not_there_or_not_known_only_the_expectation_is_shown():
    assert surfaces("tabletop_absent") == [([0.5, 0.0, 0.2], True)]
    assert surfaces("tabletop_raised", simulated=False) == [([0.5, 0.0, 0.2], True)]


@pytest.mark.parametrize(("name", "expected"), [("grab_parcel_1", {"box": False}), ("grab_missing", {"box": True})])
def test_the_objects_of_a_scene_are_boxes(name, expected):
    scene = load_scenario(name)
    stage = stage_of(scene)
    assert {name: box.expected for name, box in stage.boxes.items()} == expected
    assert list(stage.arms) == list(scene.arms)
    box, thing = stage.boxes["box"], scene.expected_environment.objects["box"]
    np.testing.assert_array_equal(box.size, thing.size)
    assert box.pose[2] == pytest.approx(thing.position[2] + 0.5 * thing.size[2])
    assert np.linalg.norm(box.pose[3:]) == pytest.approx(1.0)


def test_an_object_that_is_elsewhere_is_shown_at_both_places():
    scene = load_scenario("grab_parcel_1").with_overrides(
        {"actual_environment.objects.box.position": "0.55, 0.03, 0.45 m"}
    )
    boxes = stage_of(scene).boxes
    assert {name: (box.expected, box.pose[1]) for name, box in boxes.items()} == {
        "box": (False, 0.03),
        "box (expected)": (True, 0.0),
    }


def placer(tool="sphere"):
    robot = load_robot("panda", tool, "van_steen_2024")
    dynamics = Dynamics(robot)
    dynamics.compute(Q, np.zeros(7))
    return ArmPlacer(ShownArm(robot, Q, np.array([0.0, 0.0, 1.0]))), dynamics, robot


def test_the_last_link_carries_the_end_effector():
    place, dynamics, robot = placer()
    placed = place.place(ArmFrame(position=Q))
    contact = robot.pinocchio_model.frames[robot.contact_frame_id].placement
    end = placed.position[-1] + placed.rotation[-1] @ contact.translation
    np.testing.assert_allclose(end, dynamics.position, atol=1e-12)
    assert len(placed.position) == 8 and placed.arrow is None and len(placed.points) == 0
    np.testing.assert_array_equal(placed.position, place.place(ArmFrame()).position)


def test_the_true_force_stands_on_the_contact_point():
    place, dynamics, _ = placer()
    force = np.array([-3.0, 0.0, 30.0])
    placed = place.place(ArmFrame(position=Q, contact_force=force, residual=np.zeros(7)))
    np.testing.assert_allclose(placed.points, [dynamics.position - [0.0, 0.0, 0.02]], atol=1e-12)
    np.testing.assert_allclose(placed.arrow[0], placed.points[0])
    np.testing.assert_allclose(np.cross(placed.arrow[1] - placed.arrow[0], force), 0.0, atol=1e-12)
    assert placed.force == pytest.approx(np.linalg.norm(force)) and not placed.estimated


def test_only_the_points_that_touch_are_marked():
    place, dynamics, _ = placer("edge")
    frame = ArmFrame(position=Q, contact_force=np.array([0.0, 0.0, 30.0]), point_forces=np.array([0.0, 30.0]))
    end = dynamics.position + dynamics.rotation @ np.array([0.1, 0.0, 0.0])
    np.testing.assert_allclose(place.place(frame).points, [end - [0.0, 0.0, 0.02]], atol=1e-12)


def test_without_the_truth_the_force_is_that_which_explains_the_external_torque():
    """A force at E, J^T (f, 0): the residual it makes gives it back, as the wrench of seven joints is unique."""
    place, dynamics, _ = placer()
    force = np.array([5.0, -8.0, 40.0])
    placed = place.place(ArmFrame(position=Q, residual=dynamics.jacobian[:3].T @ force))
    assert placed.estimated and placed.force == pytest.approx(np.linalg.norm(force), rel=1e-9)
    np.testing.assert_allclose(np.cross(placed.arrow[1] - placed.arrow[0], force), 0.0, atol=1e-9)


@pytest.mark.parametrize("known", [{"contact_force": np.array([0.0, 0.5, 0.0])}, {"residual": np.full(7, 1e-3)}])
def test_next_to_no_force_is_not_shown(known):
    assert placer()[0].place(ArmFrame(position=Q, **known)).arrow is None


def test_arrows_grow_with_the_force_and_stay_on_the_page():
    lengths = [
        np.linalg.norm(np.diff(force_arrow(np.zeros(3), np.array([0.0, 0.0, f])), axis=0)) for f in (1, 30, 9000)
    ]
    assert 0.0 < lengths[0] < lengths[1] < lengths[2] <= 0.45


def test_the_way_of_the_end_effector_ends_where_it_is():
    place, dynamics, _ = placer()
    way = place.way(Signal(np.arange(500) * 1e-3, np.linspace(Q - 0.1, Q, 500)), 20)
    assert way.shape == (20, 3)
    np.testing.assert_allclose(way[-1], dynamics.position, atol=1e-12)
    assert place.way(Signal(np.empty(0), np.empty((0, 7))), 20).shape == (0, 3)
