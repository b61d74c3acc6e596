"""End-effectors with several contact points: numbers from their geometry, and how the points move."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.robots import Cover, Dynamics, EndEffector, contact_jacobians, load_robot, lowest_points
from impact_control.util.errors import InvalidInputError

DENSITY, ROD_RADIUS, ROD_LENGTH = 2700.0, 0.010, 0.100


def solid(inside, box, count=2_000_000):
    """Mass, centre and inertia about it of the solid `inside` the box (2, 3), by Monte Carlo."""
    points = np.random.default_rng(0).uniform(box[0], box[1], (count, 3))
    volume = np.prod(np.subtract(box[1], box[0])) / count
    points = points[inside(points)]
    mass = DENSITY * volume * len(points)
    centre = points.mean(axis=0)
    second = DENSITY * volume * (points - centre).T @ (points - centre)
    return mass, centre, np.trace(second) * np.eye(3) - second


def half_capsule(points):
    """Points with z > 0 at most 0.02 m from the segment between the contact points of the edge."""
    x, y, z = points.T
    beyond = np.maximum(np.abs(x) - 0.1, 0.0)
    return (z > 0.0) & (beyond**2 + y**2 + z**2 < 0.02**2)


def rod_and(mass, centre, inertia):
    """The rod on the flange and a body combined: mass, centre, inertia about it."""
    rod_mass = DENSITY * np.pi * ROD_RADIUS**2 * ROD_LENGTH
    across = rod_mass * (ROD_RADIUS**2 / 4 + ROD_LENGTH**2 / 12)
    rod = pin.Inertia(
        rod_mass, np.array([0.0, 0.0, ROD_LENGTH / 2]), np.diag([across, across, rod_mass * ROD_RADIUS**2 / 2])
    )
    both = rod + pin.Inertia(mass, centre, inertia)
    return both.mass, both.lever, both.inertia


def test_edges_follow_from_their_geometry():
    mass, centre, inertia = solid(half_capsule, ([-0.12, -0.02, 0.0], [0.12, 0.02, 0.02]))
    planar = load_robot("planar_rrr", "planar_edge").end_effector
    # The relative error of this many samples is about 1e-3.
    assert planar.mass == pytest.approx(mass, rel=3e-3)
    np.testing.assert_allclose(planar.com, centre, atol=2e-4)
    np.testing.assert_allclose(planar.inertia, inertia, rtol=5e-3, atol=5e-6)
    edge = load_robot("panda", "edge").end_effector
    mass, centre, inertia = rod_and(planar.mass, planar.com + np.array([0.0, 0.0, ROD_LENGTH]), planar.inertia)
    assert edge.mass == pytest.approx(mass, rel=1e-6)
    np.testing.assert_allclose(edge.com, centre, rtol=1e-6)
    np.testing.assert_allclose(edge.inertia, inertia, rtol=1e-6)


def test_plate_follows_from_its_geometry():
    side, thickness = 0.100, 0.010
    mass = DENSITY * side**2 * thickness
    across = mass * (side**2 + thickness**2) / 12
    tool = load_robot("panda", "plate").end_effector
    expected = rod_and(
        mass, np.array([0.0, 0.0, ROD_LENGTH + thickness / 2]), np.diag([across, across, mass * side**2 / 6])
    )
    assert tool.mass == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(tool.com, expected[1], rtol=1e-6)
    np.testing.assert_allclose(tool.inertia, expected[2], rtol=1e-6)
    np.testing.assert_array_equal(tool.contact_frame_offset, [0.0, 0.0, ROD_LENGTH + thickness])
    np.testing.assert_array_equal(np.abs(tool.contact_points), [[side / 2, side / 2, 0.0]] * 4)


def test_the_covered_plate_follows_from_its_geometry():
    side, plate, cover, silicone = 0.140, 0.005, 0.010, 1100.0
    tool = load_robot("panda", "silicone_plate").end_effector

    def slab(density, thickness, start):
        mass = density * side**2 * thickness
        across = mass * (side**2 + thickness**2) / 12
        centre = np.array([0.0, 0.0, start + thickness / 2])
        return pin.Inertia(mass, centre, np.diag([across, across, mass * side**2 / 6]))

    face = ROD_LENGTH + plate
    flat = slab(DENSITY, plate, ROD_LENGTH) + slab(silicone, cover, face)
    expected = rod_and(flat.mass, flat.lever, flat.inertia)
    assert tool.mass == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(tool.com, expected[1], rtol=1e-6)
    np.testing.assert_allclose(tool.inertia, expected[2], rtol=1e-6)
    np.testing.assert_allclose(tool.contact_frame_offset, [0.0, 0.0, face + cover])
    np.testing.assert_array_equal(np.abs(tool.contact_points), [[side / 2, side / 2, 0.0]] * 4)
    # E A / s of silicone, a quarter at each corner; a quarter of 0.5 m/s comes back.
    assert 4 * tool.cover.stiffness == pytest.approx(0.5e6 * side**2 / cover)
    law = ExponentialHuntCrossley(tool.cover.stiffness, tool.cover.damping, tool.cover.exponent)
    assert law.restitution(1.0, 0.5) == pytest.approx(0.25, rel=1e-3)
    assert load_robot("panda", "plate").end_effector.cover is None


@pytest.mark.parametrize("robot", ["panda", "fr3"])
def test_the_franka_hand_is_what_desk_states_and_touches_where_its_pads_end(robot):
    tool = load_robot(robot, "franka_hand").end_effector
    assert tool.mass == 0.73
    np.testing.assert_array_equal(tool.com, [-0.01, 0.0, 0.03])
    np.testing.assert_array_equal(tool.inertia, np.diag([1e-3, 2.5e-3, 1.7e-3]))
    # franka_hand.xacro: finger joint, centre of the pad's box, half its height.
    assert tool.contact_frame_offset[2] + tool.radius == pytest.approx(0.0584 + 0.04525 + 0.00925)


@pytest.mark.parametrize("values", [(0.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, 1.0, 0.0), (np.nan, 1.0, 1.0)])
def test_a_cover_that_is_none_is_refused(values):
    with pytest.raises(InvalidInputError):
        Cover(*values)


def test_contact_points_of_the_data_files():
    # Proper 2021, Table 3.3: r = r_c = 0.02 m, w = 0.2 m, n_c = 2.
    for robot in ("panda", "planar_rrr"):
        tool = load_robot(robot, "edge" if robot == "panda" else "planar_edge").end_effector
        np.testing.assert_array_equal(tool.contact_points, [[-0.1, 0.0, 0.0], [0.1, 0.0, 0.0]])
        assert tool.radius == 0.02
        np.testing.assert_array_equal(load_robot(robot).end_effector.contact_points, [[0.0, 0.0, 0.0]])
        assert load_robot(robot).end_effector.radius == 0.02


@pytest.mark.parametrize(("robot", "tool"), [("planar_rrr", "planar_edge"), ("panda", "edge"), ("panda", "plate")])
def test_contact_points_move_as_their_jacobians_say(robot, tool):
    arm = load_robot(robot, tool)
    end_effector = arm.end_effector
    middle = 0.5 * (arm.limits.position_lower + arm.limits.position_upper)
    dq = np.linspace(-1.0, 1.0, middle.size)
    normal = np.array([0.1, 0.0, 1.0]) / np.hypot(0.1, 1.0)
    dynamics = Dynamics(arm)

    def centres(q):
        dynamics.compute(q, dq)
        return dynamics.position + end_effector.contact_points @ dynamics.rotation.T

    step = 1e-6
    rate = (centres(middle + step * dq) - centres(middle - step * dq)) / (2.0 * step)
    at = centres(middle)
    offsets = lowest_points(end_effector.contact_points, end_effector.radius, dynamics.rotation, normal)
    np.testing.assert_allclose(dynamics.position + offsets, at - end_effector.radius * normal, atol=1e-12)
    jacobians = contact_jacobians(dynamics.jacobian, offsets)
    assert jacobians.shape == (len(end_effector.contact_points), 3, middle.size)
    velocities = jacobians @ dq
    # Along the normal the lowest point moves as the centre does; the body's turn adds along the surface only.
    np.testing.assert_allclose(velocities @ normal, rate @ normal, atol=1e-8)
    turn = np.cross(dynamics.twist[3:], -end_effector.radius * normal)
    np.testing.assert_allclose(velocities, rate + turn, atol=1e-8)


@pytest.mark.parametrize("points", [np.zeros((0, 3)), np.zeros(3), np.zeros((2, 2)), [[0.0, 0.0, np.nan]]])
def test_contact_points_without_meaning_are_refused(points):
    with pytest.raises(InvalidInputError) as caught:
        EndEffector("own", 0.0, 1.0, np.zeros(3), np.eye(3), np.zeros(3), points)
    assert caught.value.name == "contact_points"


def test_contact_points_are_a_read_only_copy():
    given = np.ones((2, 3))
    tool = EndEffector("own", 0.0, 1.0, np.zeros(3), np.eye(3), np.zeros(3), given)
    given[0, 0] = 5.0
    assert tool.contact_points[0, 0] == 1.0 and not tool.contact_points.flags.writeable
    np.testing.assert_array_equal(
        EndEffector("own", 0.0, 1.0, np.zeros(3), np.eye(3), np.zeros(3)).contact_points, [[0.0, 0.0, 0.0]]
    )
