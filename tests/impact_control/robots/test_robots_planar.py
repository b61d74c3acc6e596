"""The planar arm against Lagrange's equations written down by hand from Rey Arias 2024, Table I."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from impact_control.robots import Dynamics, InertiaModel, load_robot

# Rey Arias 2024, Table I; link 3 with the end-effector. c is measured from the far end of the link, and so is I.
LENGTH = np.array([0.327, 0.393, 0.167])
MASS = np.array([3.8755, 4.8138, 2.7481])
INERTIA = np.array([0.0977, 0.3804, 0.0490])
CENTRE = np.array([[-0.1152, 0.0320], [-0.2173, 0.0274], [-0.0928, 0.0408]])
BASE_HEIGHT, GRAVITY = 0.333, 9.81

ROBOT = load_robot("planar_rrr")
STATES = np.random.default_rng(1).uniform(-1.0, 1.0, (12, 2, 3)) * np.array([[[1.5], [2.0]]])


def unit(angle):
    """Along a link at `angle` from x of A, in (x, z)."""
    return np.array([np.cos(angle), np.sin(angle)])


def positions(q):
    """Far ends of the links and their centres of mass, each (3, 2), in (x, z) of A."""
    angle = np.cumsum(q)
    links = np.array([length * unit(a) for length, a in zip(LENGTH, angle, strict=True)])
    ends = np.array([0.0, BASE_HEIGHT]) + np.cumsum(links, axis=0)
    centres = [end + c[0] * unit(a) + c[1] * unit(a + np.pi / 2) for end, c, a in zip(ends, CENTRE, angle, strict=True)]
    return ends, np.array(centres)


def position_jacobians(q):
    """Of the ends and the centres, each (3, 2, 3): a turn of joint j moves what lies behind it about that joint."""
    ends, centres = positions(q)
    joints = np.vstack(([[0.0, BASE_HEIGHT]], ends[:2]))

    def about_joints(points):
        jacobians = np.zeros((3, 2, 3))
        for i in range(3):
            for j in range(i + 1):
                x, z = points[i] - joints[j]
                jacobians[i, :, j] = (-z, x)
        return jacobians

    return about_joints(ends), about_joints(centres)


def mass_matrix(q):
    centres = position_jacobians(q)[1]
    total = np.zeros((3, 3))
    for i in range(3):
        turning = (np.arange(3) <= i).astype(float)
        about_centre = INERTIA[i] - MASS[i] * CENTRE[i] @ CENTRE[i]
        total += MASS[i] * centres[i].T @ centres[i] + about_centre * np.outer(turning, turning)
    return total


def potential(q):
    return GRAVITY * MASS @ positions(q)[1][:, 1]


def slope(function, q, step=1e-5):
    """Central difference of `function` along every joint, last axis."""
    columns = [(function(q + step * e) - function(q - step * e)) / (2.0 * step) for e in np.eye(3)]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("state", STATES)
def test_dynamics_are_those_of_lagrange(state):
    q, dq = state
    dynamics = Dynamics(ROBOT)
    dynamics.compute(q, dq)
    np.testing.assert_allclose(dynamics.mass_matrix, mass_matrix(q), rtol=1e-9, atol=1e-10)
    # d/dt dL/d(dq) - dL/dq, with L = 1/2 dq M dq - V and ddq = 0.
    rate = slope(mass_matrix, q)
    coriolis = np.einsum("ijk,j,k->i", rate, dq, dq) - 0.5 * np.einsum("jki,j,k->i", rate, dq, dq)
    gravity = slope(potential, q)
    np.testing.assert_allclose(dynamics.gravity, gravity, atol=1e-7)
    np.testing.assert_allclose(dynamics.nonlinear, coriolis + gravity, atol=1e-7)


@pytest.mark.parametrize("state", STATES)
def test_kinematics_are_those_of_three_rods(state):
    q, dq = state
    dynamics = Dynamics(ROBOT)
    dynamics.compute(q, dq)
    ends, _ = positions(q)
    np.testing.assert_allclose(dynamics.position, [ends[2, 0], 0.0, ends[2, 1]], atol=1e-12)
    expected = np.zeros((6, 3))
    expected[[0, 2]] = position_jacobians(q)[0][2]
    expected[4] = -1.0
    np.testing.assert_allclose(dynamics.jacobian, expected, atol=1e-12)
    along = unit(q.sum())
    np.testing.assert_allclose(dynamics.rotation[:, 2], [along[0], 0.0, along[1]], atol=1e-12)
    np.testing.assert_allclose(dynamics.rotation[:, 1], [0.0, -1.0, 0.0], atol=1e-12)
    tip = slope(lambda configuration: position_jacobians(configuration)[0][2], q)
    drift = np.einsum("ijk,j,k->i", tip, dq, dq)
    np.testing.assert_allclose(dynamics.jacobian_rate_velocity[[0, 2]], drift, atol=1e-8)


def test_joints_are_those_of_table_one():
    joints = ROBOT.transmission
    np.testing.assert_array_equal(joints.stiffness, [15e3, 15e3, 10e3])
    np.testing.assert_array_equal(joints.damping, [15.0, 15.0, 10.0])
    np.testing.assert_array_equal(joints.motor_inertia, [0.6, 0.45, 0.2])
    np.testing.assert_array_equal(joints.reduced_motor_inertia, [0.15, 0.1125, 0.05])
    dynamics = Dynamics(ROBOT)
    for model, added in (
        (InertiaModel.LINKS, np.zeros(3)),
        (InertiaModel.REDUCED_MOTORS, joints.reduced_motor_inertia),
        (InertiaModel.MOTORS, joints.motor_inertia),
    ):
        np.testing.assert_allclose(dynamics.inertia(model) - dynamics.mass_matrix, np.diag(added), atol=1e-12)


def panda_in_the_plane(q):
    """The Panda with joints 2, 4 and 6 where the planar arm is at q, the others at 0; limits.* in planar_rrr.urdf."""
    return np.array([0.0, 1.315421 - q[0], 0.0, q[1] - 0.467002, 0.0, q[2] + 2.798216, 0.0])


@pytest.mark.parametrize("state", STATES)
def test_arm_and_limits_are_those_of_the_panda_in_its_plane(state):
    q = np.clip(state[0], ROBOT.limits.position_lower, ROBOT.limits.position_upper)
    panda = load_robot()
    model = panda.pinocchio_model
    data = model.createData()
    full = panda_in_the_plane(q)
    assert np.all(full >= panda.limits.position_lower - 1e-5) and np.all(full <= panda.limits.position_upper + 1e-5)
    pin.forwardKinematics(model, data, full)
    ends, _ = positions(q)
    # Lengths of Table I are rounded to 1 mm.
    for joint, end in ((4, ends[0]), (6, ends[1])):
        np.testing.assert_allclose(data.oMi[joint].translation, [end[0], 0.0, end[1]], atol=1e-3)
    picked = [1, 3, 5]
    for name in ("velocity", "torque", "torque_rate"):
        np.testing.assert_array_equal(getattr(ROBOT.limits, name), getattr(panda.limits, name)[picked])
    lower = panda_in_the_plane(np.where([True, False, False], ROBOT.limits.position_upper, ROBOT.limits.position_lower))
    upper = panda_in_the_plane(np.where([True, False, False], ROBOT.limits.position_lower, ROBOT.limits.position_upper))
    np.testing.assert_allclose(lower[picked], panda.limits.position_lower[picked], atol=2e-6)
    np.testing.assert_allclose(upper[picked], panda.limits.position_upper[picked], atol=2e-6)


def test_links_one_and_two_are_the_lumped_links_of_the_panda():
    # What settles that Table I measures centres of mass from the far end, with y to the left.
    panda = load_robot().pinocchio_model
    data = panda.createData()
    pin.forwardKinematics(panda, data, np.zeros(7))
    for link, (joints, start, end) in enumerate((((2, 3), 2, 4), ((4, 5), 4, 6))):
        lumped = pin.Inertia.Zero()
        for joint in joints:
            lumped += data.oMi[joint].act(panda.inertias[joint])
        along = data.oMi[end].translation - data.oMi[start].translation
        along /= np.linalg.norm(along)
        left = np.cross([0.0, -1.0, 0.0], along)
        offset = lumped.lever - data.oMi[end].translation
        assert lumped.mass == pytest.approx(MASS[link], abs=5e-5)
        np.testing.assert_allclose([offset @ along, offset @ left], CENTRE[link], atol=5e-5)


def test_friction_of_joint_one_is_that_of_the_panda_seen_from_the_other_side():
    panda = load_robot().friction
    dq = np.array([0.3, -0.2, 0.1])
    planar = ROBOT.friction.torque(dq, np.empty(3))
    seen = np.zeros(7)
    seen[[1, 3, 5]] = [-dq[0], dq[1], dq[2]]
    torque = panda.torque(seen, np.empty(7))
    np.testing.assert_allclose(planar, [-torque[1], torque[3], torque[5]], rtol=1e-12)


def test_initial_configuration_of_proper_is_above_the_surface():
    # Proper 2021, Tables 3.1 and 3.2: surface z = 0, q_0 = [45, -90, -45] deg, sphere of 0.02 m.
    dynamics = Dynamics(ROBOT)
    q = np.radians([45.0, -90.0, -45.0])
    dynamics.compute(q, np.zeros(3))
    assert dynamics.position[2] > ROBOT.end_effector.radius > dynamics.position[2] - BASE_HEIGHT
    assert np.all(q > ROBOT.limits.position_lower) and np.all(q < ROBOT.limits.position_upper)
