"""Rigid impact map: laws of mechanics, an independent solution of the same equations, and the Panda."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from impact_control.impacts import (
    FrictionLaw,
    ImpactPrediction,
    SlipOutcome,
    predict_contact_impact,
    predict_post_impact_velocity,
    rigid_map,
)
from impact_control.robots import Dynamics, InertiaModel, contact_point_jacobian, load_robot
from impact_control.util.errors import InvalidInputError

UP = np.array([0.0, 0.0, 1.0])
PANDA = load_robot()
predict_as_printed = partial(predict_post_impact_velocity, law=FrictionLaw.FIXED_DIRECTION)
"""Rey Arias 2024 (16)."""

seeds = st.integers(0, 2**32 - 1)
quick = settings(deadline=None, max_examples=60)


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Inertia, contact Jacobian, normal and a joint velocity that moves the contact into the surface."""
    random = np.random.default_rng(seed)
    size = int(random.integers(3, 8))
    root = random.normal(size=(size, size))
    inertia = root @ root.T + 0.1 * np.eye(size)
    jacobian = random.normal(size=(3, size))
    normal = random.normal(size=3)
    normal /= np.linalg.norm(normal)
    velocity = random.normal(size=size)
    if normal @ jacobian @ velocity > 0.0:
        velocity = -velocity
    return inertia, jacobian, normal, velocity


def predict_or_discard(inertia, jacobian, normal, velocity, friction) -> ImpactPrediction:
    """The prediction as printed; examples that jam are discarded."""
    try:
        return predict_as_printed(inertia, jacobian, normal, velocity, friction)
    except InvalidInputError as error:
        assume(error.name != "friction")
        raise


def rotation_of(seed: int) -> np.ndarray:
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


@quick
@given(seeds, st.floats(0.0, 1.0))
def test_balance_of_momentum_and_inelastic_law_hold(seed, friction):
    inertia, jacobian, normal, velocity = random_case(seed)
    result = predict_or_discard(inertia, jacobian, normal, velocity, friction)
    scale = np.linalg.norm(inertia @ velocity) + np.linalg.norm(result.impulse)
    # (9): the change of momentum is what the impulse does.
    np.testing.assert_allclose(inertia @ (result.velocity - velocity), jacobian.T @ result.impulse, atol=1e-9 * scale)
    # (14): no normal velocity is left. (10): friction is mu times the normal impulse against the slip.
    speed = np.linalg.norm(result.contact_velocity_before)
    assert abs(normal @ result.contact_velocity_after) < 1e-8 * speed * max(1.0, result.normal_impulse)
    assert result.normal_impulse > 0.0
    assert normal @ result.impulse == pytest.approx(result.normal_impulse, rel=1e-9)
    tangential = result.impulse - result.normal_impulse * normal
    expected = -friction * result.normal_impulse * result.slip_direction
    np.testing.assert_allclose(tangential, expected, atol=1e-9 * result.normal_impulse)
    np.testing.assert_allclose(result.contact_velocity_before, jacobian @ velocity, atol=1e-12)
    np.testing.assert_allclose(result.contact_velocity_after, jacobian @ result.velocity, atol=1e-12)
    assert abs(result.slip_direction @ normal) < 1e-6
    turned_around = result.slip_direction @ result.contact_velocity_after < 0.0
    assert result.slip is (SlipOutcome.REVERSES if turned_around else SlipOutcome.SLIPS)


@quick
@given(seeds, st.floats(0.0, 1.0))
def test_kinetic_energy_does_not_grow_unless_the_slip_is_reversed(seed, friction):
    inertia, jacobian, normal, velocity = random_case(seed)
    result = predict_or_discard(inertia, jacobian, normal, velocity, friction)
    before = 0.5 * velocity @ inertia @ velocity
    after = 0.5 * result.velocity @ inertia @ result.velocity
    assert result.kinetic_energy_change == pytest.approx(after - before, abs=1e-9 * (before + after))
    if friction == 0.0 or result.slip is SlipOutcome.SLIPS:
        assert result.kinetic_energy_change <= 1e-12 * before


def test_reversed_slip_can_gain_energy_and_is_flagged():
    # Unit point mass, nearly straight down: friction above 1 throws it back faster than it came.
    velocity = np.array([0.01, 0.0, -1.0])
    result = predict_as_printed(np.eye(3), np.eye(3), UP, velocity, 1.5)
    assert result.slip is SlipOutcome.REVERSES
    np.testing.assert_allclose(result.velocity, [0.01 - 1.5, 0.0, 0.0], atol=1e-12)
    assert result.kinetic_energy_change == pytest.approx(0.5 * (1.49**2 - 0.01**2 - 1.0), rel=1e-12)
    assert result.kinetic_energy_change > 0.0
    assert predict_as_printed(np.eye(3), np.eye(3), UP, velocity, 0.005).slip is SlipOutcome.SLIPS
    # Coulomb's law, which is the default, lets it stick instead.
    real = predict_post_impact_velocity(np.eye(3), np.eye(3), UP, velocity, 1.5)
    assert real.slip is SlipOutcome.STICKS
    assert real.kinetic_energy_change == pytest.approx(-0.5 * (1.0 + 0.01**2), rel=1e-9)


@quick
@given(seeds)
def test_without_friction_it_solves_the_constrained_momentum_equations(seed):
    # Proper 2021 (2.51): velocity and impulse from one linear system, another way than (16).
    inertia, jacobian, normal, velocity = random_case(seed)
    size = velocity.size
    row = normal @ jacobian
    system = np.block([[inertia, -row[:, None]], [row[None, :], np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(inertia @ velocity, 0.0))
    result = predict_post_impact_velocity(inertia, jacobian, normal, velocity, 0.0)
    np.testing.assert_allclose(result.velocity, solution[:size], rtol=1e-6, atol=1e-8)
    assert result.normal_impulse == pytest.approx(solution[size], rel=1e-6)


@quick
@given(seeds, st.floats(0.0, 1.0), st.floats(1e-3, 1e3))
def test_scaling_the_inertia_scales_only_the_impulse(seed, friction, factor):
    inertia, jacobian, normal, velocity = random_case(seed)
    result = predict_or_discard(inertia, jacobian, normal, velocity, friction)
    scaled = predict_or_discard(factor * inertia, jacobian, normal, velocity, friction)
    size = np.linalg.norm(result.velocity)
    np.testing.assert_allclose(scaled.velocity, result.velocity, atol=1e-8 * size)
    np.testing.assert_allclose(
        scaled.impulse, factor * result.impulse, atol=1e-8 * factor * np.linalg.norm(result.impulse)
    )


@quick
@given(seeds, st.floats(0.0, 1.0))
def test_the_contact_axes_do_not_matter(seed, friction):
    inertia, jacobian, normal, velocity = random_case(seed)
    turn = rotation_of(seed)
    result = predict_or_discard(inertia, jacobian, normal, velocity, friction)
    turned = predict_or_discard(inertia, turn @ jacobian, turn @ normal, velocity, friction)
    np.testing.assert_allclose(turned.velocity, result.velocity, atol=1e-7 * np.linalg.norm(result.velocity))
    np.testing.assert_allclose(turned.impulse, turn @ result.impulse, atol=1e-7 * np.linalg.norm(result.impulse))


def panda_impact(friction: float, model: InertiaModel) -> tuple[ImpactPrediction, np.ndarray, np.ndarray]:
    """A forward and downward impact of the sphere on a horizontal plate as printed, with the inertia and Jacobian."""
    robot = load_robot()
    dynamics = Dynamics(robot)
    q = np.array([0.0, -0.4, 0.0, -2.4, 0.0, 2.0, 0.785])
    dynamics.compute(q, np.zeros(7))
    jacobian = contact_point_jacobian(dynamics.jacobian, -robot.end_effector.radius * UP)
    velocity = np.linalg.pinv(dynamics.jacobian) @ [0.1, 0.0, -0.2, 0.0, 0.0, 0.0]
    inertia = dynamics.inertia(model)
    return predict_as_printed(inertia, jacobian, UP, velocity, friction), inertia, jacobian


@pytest.mark.parametrize("friction", [0.0, 0.1, 0.3])
def test_panda_matches_equation_16_as_printed(friction):
    # Horizontal plate: J_N is the row of z, J_T the rows of x and y, u_T the direction of v_xy.
    result, inertia, jacobian = panda_impact(friction, InertiaModel.REDUCED_MOTORS)
    before = result.contact_velocity_before
    u_T = before[:2] / np.linalg.norm(before[:2])
    J_N, J_T = jacobian[2:3], jacobian[:2]
    J_mu = J_N - friction * u_T[None, :] @ J_T
    inverse = np.linalg.inv(inertia)
    projector = np.eye(7) - inverse @ J_mu.T @ np.linalg.inv(J_N @ inverse @ J_mu.T) @ J_N
    velocity = np.linalg.pinv(jacobian) @ before
    # Any joint velocity with this contact velocity may be added to: compare the jump.
    jump = (projector - np.eye(7)) @ velocity
    old = result.velocity - np.linalg.solve(inertia, jacobian.T @ result.impulse)
    np.testing.assert_allclose(result.velocity - old, jump, atol=1e-12)


def test_panda_motors_make_the_impact_heavier():
    impulses = [panda_impact(0.2, model)[0].normal_impulse for model in InertiaModel]
    assert impulses[0] < impulses[1] < impulses[2]
    # The sphere feels a mass of a few kilograms at 0.2 m/s: the scale of a Panda.
    assert 0.2 * 1.0 < impulses[1] < 0.2 * 10.0


def test_without_slip_there_is_no_friction():
    result = predict_as_printed(np.diag([1.0, 2.0, 3.0]), np.eye(3), UP, -0.3 * UP, 0.8)
    np.testing.assert_array_equal(result.slip_direction, np.zeros(3))
    np.testing.assert_allclose(result.impulse, [0.0, 0.0, 0.9], atol=1e-15)
    assert result.slip is SlipOutcome.SLIPS


def test_jamming_is_refused_and_the_limit_named():
    # Coupling of slip and normal, G = [[1, b], [b, 1]]: the impact jams from mu = 1 / b on.
    b = 0.8
    mobility = np.array([[1.0, 0.0, b], [0.0, 1.0, 0.0], [b, 0.0, 1.0]])
    inertia = np.linalg.inv(mobility)
    inertia = 0.5 * (inertia + inertia.T)
    velocity = np.array([0.1, 0.0, -0.2])
    fine = predict_as_printed(inertia, np.eye(3), UP, velocity, 0.99 / b)
    assert fine.normal_impulse > 0.0
    for friction in (1.0 / b, 1.5 / b):
        with pytest.raises(InvalidInputError, match=r"below 1\.25.*jams") as caught:
            predict_as_printed(inertia, np.eye(3), UP, velocity, friction)
        assert caught.value.name == "friction"
    # Slipping the other way, friction presses out instead and nothing jams.
    back = predict_as_printed(inertia, np.eye(3), UP, np.array([-0.1, 0.0, -0.2]), 1.5 / b)
    assert back.normal_impulse > 0.0


@quick
@given(seeds, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_restitution_as_printed_is_newtons(seed, friction, restitution):
    # Proper 2021 (2.49), sign of the Errata; the impulse is (1 + e) times the inelastic one.
    inertia, jacobian, normal, velocity = random_case(seed)
    dull = predict_or_discard(inertia, jacobian, normal, velocity, friction)
    lively = predict_as_printed(inertia, jacobian, normal, velocity, friction, restitution)
    speed = np.linalg.norm(dull.contact_velocity_before)
    expected = -restitution * (normal @ dull.contact_velocity_before)
    assert normal @ lively.contact_velocity_after == pytest.approx(
        expected, abs=1e-8 * speed * max(1.0, dull.normal_impulse)
    )
    assert lively.normal_impulse == pytest.approx((1.0 + restitution) * dull.normal_impulse, rel=1e-12)


@quick
@given(seeds)
def test_elastic_impact_without_friction_keeps_the_energy(seed):
    inertia, jacobian, normal, velocity = random_case(seed)
    before = 0.5 * velocity @ inertia @ velocity
    for law in FrictionLaw:
        result = predict_post_impact_velocity(inertia, jacobian, normal, velocity, 0.0, 1.0, law)
        assert 0.5 * result.velocity @ inertia @ result.velocity == pytest.approx(before, rel=1e-9)


@quick
@given(seeds, st.floats(0.0, 2.0), st.sampled_from([0.0, 0.4, 1.0]))
def test_coulombs_law_never_gains_energy_and_balances_momentum(seed, friction, restitution):
    inertia, jacobian, normal, velocity = random_case(seed)
    result = predict_post_impact_velocity(inertia, jacobian, normal, velocity, friction, restitution)
    before, after = (0.5 * v @ inertia @ v for v in (velocity, result.velocity))
    assert result.kinetic_energy_change <= 1e-12 * before
    assert after - before == pytest.approx(result.kinetic_energy_change, abs=1e-9 * before)
    scale = np.linalg.norm(inertia @ velocity) + np.linalg.norm(result.impulse)
    np.testing.assert_allclose(inertia @ (result.velocity - velocity), jacobian.T @ result.impulse, atol=1e-9 * scale)
    tangential = result.impulse - result.normal_impulse * normal
    assert result.normal_impulse > 0.0
    assert np.linalg.norm(tangential) <= (friction + 1e-9) * result.normal_impulse
    assert normal @ result.contact_velocity_after >= -1e-9 * np.linalg.norm(result.contact_velocity_before)


@quick
@given(seeds, st.floats(0.0, 1.0), st.sampled_from([0.0, 0.4]), st.sampled_from(FrictionLaw))
def test_joints_and_contact_tell_the_same(seed, friction, restitution, law):
    # The mobility G = J M^-1 J^T, formed in another way, is all that the contact needs to know of the joints.
    inertia, jacobian, normal, velocity = random_case(seed)
    mobility = jacobian @ np.linalg.inv(inertia) @ jacobian.T
    assume(np.linalg.cond(mobility) < 1e4)
    try:
        joints = predict_post_impact_velocity(inertia, jacobian, normal, velocity, friction, restitution, law)
    except InvalidInputError as error:
        assume(error.name != "friction")
        raise
    mobility = 0.5 * (mobility + mobility.T)
    contact = predict_contact_impact(mobility, normal, jacobian @ velocity, friction, restitution, law)
    np.testing.assert_allclose(contact.impulse, joints.impulse, atol=1e-6 * np.linalg.norm(joints.impulse))
    assert contact.kinetic_energy_change == pytest.approx(joints.kinetic_energy_change, rel=1e-6, abs=1e-12)


def test_planar_arm_moves_in_its_plane():
    # Two links of unit length and point masses at their ends: no mobility along y.
    jacobian = np.array([[-1.2, -0.4], [0.0, 0.0], [0.3, 0.9]])
    inertia = np.array([[3.0, 1.2], [1.2, 1.0]])
    velocity = np.array([0.5, -1.0])
    for friction in (0.1, 0.5, 5.0):
        result = predict_post_impact_velocity(inertia, jacobian, UP, velocity, friction, 0.3)
        assert result.kinetic_energy_change < 0.0
        assert result.contact_velocity_after[2] >= 0.0
        assert abs(result.contact_velocity_after[1]) < 1e-15


@settings(deadline=None, max_examples=60)
@given(seeds, st.sampled_from(InertiaModel), st.floats(0.0, 1.5), st.sampled_from([0.0, 0.5, 1.0]))
def test_panda_anywhere_in_its_limits_keeps_the_laws(seed, model, friction, restitution):
    robot = PANDA
    random = np.random.default_rng(seed)
    q = random.uniform(robot.limits.position_lower, robot.limits.position_upper)
    dynamics = Dynamics(robot)
    velocity = random.uniform(-0.5, 0.5, 7) * robot.limits.velocity
    dynamics.compute(q, velocity)
    normal = random.normal(size=3)
    normal /= np.linalg.norm(normal)
    jacobian = contact_point_jacobian(dynamics.jacobian, -robot.end_effector.radius * normal)
    velocity = velocity if normal @ jacobian @ velocity < 0.0 else -velocity
    inertia = dynamics.inertia(model)
    result = predict_post_impact_velocity(inertia, jacobian, normal, velocity, friction, restitution)
    before, after = (0.5 * v @ inertia @ v for v in (velocity, result.velocity))
    assert after <= before * (1.0 + 1e-9)
    assert result.kinetic_energy_change <= 1e-12 * before
    assert normal @ result.contact_velocity_after >= -1e-9 * np.linalg.norm(result.contact_velocity_before)
    tangential = np.linalg.norm(result.impulse - result.normal_impulse * normal)
    assert tangential <= (friction + 1e-9) * result.normal_impulse
    if result.slip is SlipOutcome.STICKS:
        slip = result.contact_velocity_after - (normal @ result.contact_velocity_after) * normal
        assert np.linalg.norm(slip) < 1e-8 * np.linalg.norm(result.contact_velocity_before)


@settings(deadline=None, max_examples=10)
@given(seeds, st.floats(0.0, 1.0), st.sampled_from([0.0, 0.5]), st.booleans())
def test_compiled_and_plain_kernels_agree(seed, friction, restitution, coulomb):
    kernel = rigid_map._joint_impact
    plain = getattr(kernel, "py_func", None)
    assume(plain is not None)
    inertia, jacobian, normal, velocity = random_case(seed)
    outputs, law = [], (friction, restitution, coulomb)
    for function in (kernel, plain):
        after, mobility, vectors = np.zeros(velocity.size), np.zeros((3, 3)), np.zeros((4, 3))
        result = function(inertia, jacobian, normal, velocity, law, (after, mobility, vectors))
        outputs.append((result, after, mobility, vectors))
    (fast, *fast_arrays), (slow, *slow_arrays) = outputs
    assert fast[0] == slow[0] and fast[2:4] == slow[2:4]
    assert fast[1] == pytest.approx(slow[1], rel=1e-9)
    for one, other in zip(fast_arrays, slow_arrays, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("law", FrictionLaw)
@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"inertia": np.eye(4)}, "inertia"),
        ({"inertia": np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])}, "inertia"),
        ({"inertia": np.diag([1.0, -1.0, 1.0])}, "inertia"),
        ({"inertia": np.full((3, 3), np.nan)}, "inertia"),
        ({"contact_jacobian": np.eye(2, 3)}, "contact_jacobian"),
        ({"normal": 1.001 * UP}, "normal"),
        ({"normal": np.array([0.0, 1.0])}, "normal"),
        ({"velocity": np.array([0.1, 0.0, 0.2])}, "velocity"),
        ({"velocity": np.array([0.1, 0.0, 0.0])}, "velocity"),
        ({"velocity": np.array([np.inf, 0.0, -0.2])}, "velocity"),
        ({"friction": -0.1}, "friction"),
        ({"friction": float("nan")}, "friction"),
        ({"friction": "rough"}, "friction"),
        ({"inertia": np.ones((3, 3))}, "inertia"),
        ({"inertia": "heavy"}, "inertia"),
        ({"normal": np.zeros(3)}, "normal"),
        ({"normal": np.array([0.0, np.nan, 1.0])}, "normal"),
        ({"contact_jacobian": np.full((3, 3), np.inf)}, "contact_jacobian"),
        ({"velocity": np.zeros(3)}, "velocity"),
        ({"velocity": np.zeros((3, 1))}, "velocity"),
        ({"restitution": 1.1}, "restitution"),
        ({"restitution": -0.1}, "restitution"),
        ({"restitution": float("nan")}, "restitution"),
        ({"law": "coulomb"}, "law"),
    ],
)
def test_inputs_without_meaning_are_refused(changed, name, law):
    arguments = {
        "law": law,
        "restitution": 0.0,
        "inertia": np.eye(3),
        "contact_jacobian": np.eye(3),
        "normal": UP,
        "velocity": np.array([0.1, 0.0, -0.2]),
        "friction": 0.2,
    }
    predict_post_impact_velocity(**arguments)
    with pytest.raises(InvalidInputError) as caught:
        predict_post_impact_velocity(**{**arguments, **changed})
    assert caught.value.name == name
