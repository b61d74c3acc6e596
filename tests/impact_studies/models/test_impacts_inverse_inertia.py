"""Inverse inertia matrices of Wang 2022: energies, momenta summed link by link, one free body, printed Table I."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.impacts import predict_contact_impact
from impact_control.robots import Dynamics, InertiaModel, contact_point_jacobian, load_robot
from impact_control.util.errors import InvalidInputError
from impact_studies.models.impacts.composite_rigid_body import composite_rigid_body
from impact_studies.models.impacts.inverse_inertia import (
    ContactVelocityTable,
    composite_rigid_body_inverse_inertia,
    effective_mass,
    end_of_compression_impulse,
    generalized_momentum_inverse_inertia,
    joint_motion_inverse_inertia,
    projected_impulse,
    projected_mass,
)
from impact_studies.wang import published

UP = np.array([0.0, 0.0, 1.0])
ROBOT = load_robot()
MODEL = ROBOT.pinocchio_model
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
seeds = st.integers(0, 2**32 - 1)
quick = settings(deadline=None, max_examples=60)


def cross(vector):
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def configuration(seed):
    random = np.random.default_rng(seed)
    return random.uniform(ROBOT.limits.position_lower, ROBOT.limits.position_upper)


def spatial_jacobian(dynamics):
    """Jacobian (6, n) of the material point at the bottom of the sphere, and where it is."""
    offset = -ROBOT.end_effector.radius * UP
    jacobian = np.vstack([contact_point_jacobian(dynamics.jacobian, offset), dynamics.jacobian[3:]])
    return jacobian, dynamics.position + offset


def momentum_of_links(q, velocity, about):
    """Linear and angular momentum about a point, link by link from their own velocities."""
    data = MODEL.createData()
    pin.forwardKinematics(MODEL, data, q, velocity)
    linear, angular = np.zeros(3), np.zeros(3)
    for joint in range(1, MODEL.njoints):
        body, placement = MODEL.inertias[joint], data.oMi[joint]
        motion = data.v[joint]  # in axes of the link
        centre = placement.act(body.lever)
        spin = placement.rotation @ motion.angular
        momentum = body.mass * placement.rotation @ (motion.linear + np.cross(motion.angular, body.lever))
        linear += momentum
        angular += placement.rotation @ body.inertia @ placement.rotation.T @ spin
        angular += np.cross(centre - about, momentum)
    return linear, angular


# ---------------------------------------------------------------------- (6), (7): joint space


@quick
@given(seeds)
def test_generalized_momentum_is_the_jump_of_the_contact_velocity(seed):
    dynamics = Dynamics(ROBOT)
    dynamics.compute(configuration(seed), np.zeros(7))
    jacobian, _ = spatial_jacobian(dynamics)
    inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
    mobility = generalized_momentum_inverse_inertia(inertia, jacobian[:3])
    corner = (jacobian @ np.linalg.inv(inertia) @ jacobian.T)[:3, :3]
    np.testing.assert_allclose(mobility, corner, atol=1e-9 * np.max(mobility))
    # (22): dq = M^-1 J^T iota, here from the momentum balance.
    impulse = np.random.default_rng(seed).normal(size=3)
    jump = jacobian[:3] @ np.linalg.lstsq(inertia, jacobian[:3].T @ impulse, rcond=None)[0]
    np.testing.assert_allclose(mobility @ impulse, jump, atol=1e-8 * np.linalg.norm(jump))
    # The energy an impulse brings to an arm at rest: 1/2 dq^T M dq = 1/2 iota^T W iota.
    velocity = np.linalg.solve(inertia, jacobian[:3].T @ impulse)
    assert impulse @ mobility @ impulse == pytest.approx(velocity @ inertia @ velocity, rel=1e-9)


@quick
@given(seeds)
def test_more_inertia_weighs_more_and_the_projected_mass_most(seed):
    dynamics = Dynamics(ROBOT)
    dynamics.compute(configuration(seed), np.zeros(7))
    jacobian, _ = spatial_jacobian(dynamics)
    normal = np.random.default_rng(seed).normal(size=3)
    normal /= np.linalg.norm(normal)
    masses = [
        effective_mass(generalized_momentum_inverse_inertia(dynamics.inertia(model), jacobian[:3]), normal)
        for model in InertiaModel
    ]
    assert masses[0] < masses[1] < masses[2]
    # Kept from turning, W_vv - W_vw W_ww^-1 W_wv, a contact weighs more: why (8) overestimates, Wang 2022 VII-B.
    inertia = dynamics.inertia(InertiaModel.MOTORS)
    whole = jacobian @ np.linalg.inv(inertia) @ jacobian.T
    blocked = whole[:3, :3] - whole[:3, 3:] @ np.linalg.solve(whole[3:, 3:], whole[3:, :3])
    mass = projected_mass(inertia, jacobian)
    np.testing.assert_allclose(mass @ blocked, np.eye(3), atol=1e-6)
    gap = mass - np.linalg.inv(generalized_momentum_inverse_inertia(inertia, jacobian[:3]))
    assert np.linalg.eigvalsh(0.5 * (gap + gap.T))[0] > -1e-9 * np.max(mass)


@quick
@given(seeds)
def test_the_equality_of_energies_holds_for_the_least_motion_only(seed):
    # Wang 2022 (5) as printed, for any dq: with seven joints the arm can also move without moving the contact.
    dynamics = Dynamics(ROBOT)
    dynamics.compute(configuration(seed), np.zeros(7))
    jacobian, _ = spatial_jacobian(dynamics)
    inertia = dynamics.inertia(InertiaModel.LINKS)
    random = np.random.default_rng(seed)
    equivalent = np.linalg.inv(jacobian @ np.linalg.solve(inertia, jacobian.T))
    least = np.linalg.solve(inertia, jacobian.T @ random.normal(size=6))
    twist = jacobian @ least
    assert least @ inertia @ least == pytest.approx(twist @ equivalent @ twist, rel=1e-6)
    null = np.linalg.svd(jacobian)[2][-1]
    other = least + null * np.linalg.norm(least)
    assert other @ inertia @ other > (1.0 + 1e-6) * (twist @ equivalent @ twist)


def test_the_projected_impulse_opposes_the_velocity():
    mass = np.diag([2.0, 3.0, 4.0])
    velocity = np.array([0.1, 0.0, -0.2])
    np.testing.assert_allclose(projected_impulse(mass, velocity), [-0.2, 0.0, 0.8])
    np.testing.assert_allclose(projected_impulse(mass, velocity, 0.5), [-0.3, 0.0, 1.2])


# ---------------------------------------------------------------------- (17), (20): the composite rigid body


@quick
@given(seeds)
def test_one_free_body_has_one_inverse_inertia(seed):
    # Velocity coordinates: of the centre of mass, and angular. M = diag(m, I), J = [1, -[r]x].
    random = np.random.default_rng(seed)
    root = random.normal(size=(3, 3))
    rotational, mass, offset = root @ root.T + 0.1 * np.eye(3), random.uniform(0.1, 10.0), random.normal(size=3)
    inertia = np.block([[mass * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), rotational]])
    jacobian = np.hstack([np.eye(3), -cross(offset)])
    free = composite_rigid_body_inverse_inertia(mass, rotational, offset)
    np.testing.assert_allclose(free, free.T)
    scale = np.max(np.abs(free))
    np.testing.assert_allclose(generalized_momentum_inverse_inertia(inertia, jacobian), free, atol=1e-9 * scale)
    # All of its motion is that of a rigid body: nothing to add.
    np.testing.assert_allclose(joint_motion_inverse_inertia(free, inertia, jacobian, jacobian), free)
    # Euler: the impulse moves the centre by iota / m, and turns by I^-1 (r x iota).
    impulse = random.normal(size=3)
    expected = impulse / mass + np.cross(np.linalg.solve(rotational, np.cross(offset, impulse)), offset)
    np.testing.assert_allclose(free @ impulse, expected, atol=1e-9 * np.linalg.norm(expected))
    at_centre = composite_rigid_body_inverse_inertia(mass, rotational, np.zeros(3))
    assert effective_mass(at_centre, UP) == pytest.approx(mass)


@quick
@given(seeds)
def test_the_composite_body_is_all_links_by_steiner(seed):
    q = configuration(seed)
    body = composite_rigid_body(MODEL, q)
    data = MODEL.createData()
    pin.forwardKinematics(MODEL, data, q)
    placed = [(MODEL.inertias[j], data.oMi[j]) for j in range(1, MODEL.njoints)]
    mass = sum(link.mass for link, _ in placed)
    centre = sum(link.mass * placement.act(link.lever) for link, placement in placed) / mass
    rotational = np.zeros((3, 3))
    for link, placement in placed:
        lever = placement.act(link.lever) - centre
        rotational += placement.rotation @ link.inertia @ placement.rotation.T
        rotational -= link.mass * cross(lever) @ cross(lever)
    assert body.mass == pytest.approx(mass, rel=1e-12)
    np.testing.assert_allclose(body.centre, centre, atol=1e-12)
    np.testing.assert_allclose(body.rotational_inertia, rotational, atol=1e-11)
    # What Pinocchio's composite rigid body algorithm sums up for the joint that carries all links.
    pin.crba(MODEL, data, q, pin.Convention.LOCAL)
    whole = data.Ycrb[1]
    assert whole.mass == pytest.approx(body.mass, rel=1e-12)
    np.testing.assert_allclose(data.oMi[1].act(whole.lever), body.centre, atol=1e-12)
    turned = data.oMi[1].rotation @ whole.inertia @ data.oMi[1].rotation.T
    np.testing.assert_allclose(turned, body.rotational_inertia, atol=1e-11)


@quick
@given(seeds)
def test_the_average_velocity_carries_the_momentum_of_the_links(seed):
    q, velocity = configuration(seed), np.random.default_rng(seed).normal(size=7)
    body = composite_rigid_body(MODEL, q)
    linear, angular = momentum_of_links(q, velocity, body.centre)
    point = np.array([0.5, 0.1, 0.2])
    expected = linear / body.mass + np.cross(np.linalg.solve(body.rotational_inertia, angular), point - body.centre)
    average = body.velocity_jacobian(point) @ velocity
    np.testing.assert_allclose(average, expected, atol=1e-9 * np.linalg.norm(velocity))


@quick
@given(seeds)
def test_joint_motion_adds_what_the_joints_give_way_beyond_the_average(seed):
    q = configuration(seed)
    dynamics = Dynamics(ROBOT)
    dynamics.compute(q, np.zeros(7))
    jacobian, point = spatial_jacobian(dynamics)
    body = composite_rigid_body(MODEL, q)
    composite = body.inverse_inertia(point)
    result = joint_motion_inverse_inertia(composite, dynamics.mass_matrix, jacobian[:3], body.velocity_jacobian(point))
    impulse = np.random.default_rng(seed).normal(size=3)
    # Second way, step by step: (22), the momentum of the links after it, their average velocity, (14), (16).
    joints = np.linalg.solve(dynamics.mass_matrix, jacobian[:3].T @ impulse)
    linear, angular = momentum_of_links(q, joints, body.centre)
    average = linear / body.mass + np.cross(np.linalg.solve(body.rotational_inertia, angular), point - body.centre)
    rigid = impulse / body.mass + np.cross(
        np.linalg.solve(body.rotational_inertia, np.cross(point - body.centre, impulse)), point - body.centre
    )
    expected = rigid + jacobian[:3] @ joints - average
    np.testing.assert_allclose(result @ impulse, expected, atol=1e-7 * np.linalg.norm(expected))


# ---------------------------------------------------------------------- (29)-(32)


@quick
@given(seeds)
def test_the_end_of_compression_is_where_the_frictionless_inelastic_impact_ends(seed):
    random = np.random.default_rng(seed)
    root = random.normal(size=(3, 3))
    mobility, normal = root @ root.T + 0.05 * np.eye(3), random.normal(size=3)
    normal /= np.linalg.norm(normal)
    velocity = random.normal(size=3)
    velocity *= -np.sign(normal @ velocity)
    impulse = end_of_compression_impulse(mobility, normal, velocity)
    assert normal @ (velocity + mobility @ normal * impulse) == pytest.approx(0.0, abs=1e-12)
    assert predict_contact_impact(mobility, normal, velocity).normal_impulse == pytest.approx(impulse, rel=1e-9)
    assert impulse == pytest.approx(-effective_mass(mobility, normal) * (normal @ velocity), rel=1e-12)


def test_the_ratio_is_that_of_table_1():
    # The speeds are rounded to 5e-5 m/s, the ratios to 5e-5.
    table = ContactVelocityTable(published.EXACT, published.APPROXIMATION)
    assert np.all(np.abs(table.ratio - published.RATIO) <= 5e-5 + 5e-5 * (1.0 + table.ratio) / table.exact)


def test_an_arm_that_turns_about_one_joint_as_a_whole_is_a_rigid_body():
    # Joint 1 alone carries all links rigidly: (15) is exact.
    body = composite_rigid_body(MODEL, HOME)
    dynamics = Dynamics(ROBOT)
    dynamics.compute(HOME, np.zeros(7))
    jacobian, point = spatial_jacobian(dynamics)
    np.testing.assert_allclose(body.velocity_jacobian(point)[:, 0], jacobian[:3, 0], atol=1e-12)


# ---------------------------------------------------------------------- wrong input

SPD, NOT_SPD, NAN = np.eye(3), np.diag([1.0, 1.0, -1.0]), np.full((3, 3), np.nan)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: generalized_momentum_inverse_inertia(NOT_SPD, SPD), "inertia"),
        (lambda: generalized_momentum_inverse_inertia(NAN, SPD), "inertia"),
        (lambda: generalized_momentum_inverse_inertia(SPD, np.eye(3, 4)), "inertia"),
        (lambda: generalized_momentum_inverse_inertia(SPD, NAN), "contact_jacobian"),
        (lambda: generalized_momentum_inverse_inertia(SPD, 1.0), "inertia"),
        (lambda: projected_mass(np.eye(7), np.zeros((6, 7))), "jacobian"),
        (lambda: projected_mass(SPD, np.zeros((6, 3))), "jacobian"),
        (lambda: composite_rigid_body_inverse_inertia(0.0, SPD, np.zeros(3)), "mass"),
        (lambda: composite_rigid_body_inverse_inertia(1.0, NOT_SPD, np.zeros(3)), "rotational_inertia"),
        (lambda: composite_rigid_body_inverse_inertia(1.0, SPD, np.zeros(2)), "offset"),
        (lambda: joint_motion_inverse_inertia(NAN, SPD, SPD, SPD), "composite"),
        (lambda: joint_motion_inverse_inertia(SPD, SPD, SPD, np.eye(2)), "average_jacobian"),
        (lambda: effective_mass(NOT_SPD, UP), "inverse_inertia"),
        (lambda: effective_mass(SPD, 2.0 * UP), "normal"),
        (lambda: effective_mass(SPD, np.zeros(3)), "normal"),
        (lambda: end_of_compression_impulse(SPD, UP, 0.1 * UP), "contact_velocity"),
        (lambda: end_of_compression_impulse(SPD, UP, np.full(3, np.nan)), "contact_velocity"),
        (lambda: projected_impulse(NOT_SPD, -UP), "mass_matrix"),
        (lambda: projected_impulse(SPD, -UP, 1.5), "restitution"),
        (lambda: composite_rigid_body(MODEL, np.zeros(6)), "q"),
        (lambda: composite_rigid_body(MODEL, HOME).inverse_inertia([np.nan, 0.0, 0.0]), "point"),
    ],
)
def test_wrong_input_is_refused_with_its_value(call, name):
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert caught.value.name == name
