"""Contact solver: the contact law itself, a QP and Pinocchio's solvers as second methods, singular problems."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qpsolvers import solve_qp

from impact_control.impacts import ContactSolverError, solve_contacts
from impact_control.impacts.contact_system import assemble
from multi_contact_samples import FAMILIES, arm_without_geometry, contact_impulses, plate_on_the_ground

seeds = st.integers(0, 2**32 - 1)
quick = settings(deadline=None, max_examples=60)


def random_problem(family, random, friction):
    """The system, its Delassus matrix and free velocity."""
    system = assemble(*family(random, friction, 0.0))
    W = system.jacobian @ np.linalg.solve(system.inertia, system.jacobian.T)
    return system, 0.5 * (W + W.T), system.jacobian @ system.velocity


def assert_contact_law(W, c, mu, p, tolerance):
    """Signorini and Coulomb, written down independently of the solver; tolerance relative to the largest speed."""
    v = (W @ p + c).reshape(-1, 3)
    p = p.reshape(-1, 3)
    mobility = np.diag(W).reshape(-1, 3).mean(axis=1)
    speed = tolerance * np.abs(c).max()
    slip, friction = np.linalg.norm(v[:, 1:], axis=1), np.linalg.norm(p[:, 1:], axis=1)
    assert np.all(p[:, 0] >= 0.0)
    assert np.all(friction <= mu * p[:, 0] * (1.0 + 1e-12))
    assert np.all(v[:, 0] >= -speed)
    assert np.all(np.minimum(v[:, 0], mobility * p[:, 0]) <= speed)
    # The most that friction can dissipate is mu p_N |v_T|, and it does; the right side is what the residual allows.
    power = np.einsum("ij,ij->i", p[:, 1:], v[:, 1:])
    assert np.all(power + mu * p[:, 0] * slip <= speed * (slip / mobility + 2.0 * mu * p[:, 0]))


@pytest.mark.parametrize("family", FAMILIES)
def test_contact_law_holds_in_thousands_of_problems(family):
    random = np.random.default_rng(0)
    for _ in range(1000):
        system, W, c = random_problem(family, random, 1.0)
        assert_contact_law(W, c, system.friction, contact_impulses(W, c, system.friction), 1e-8)


@quick
@given(seeds, st.sampled_from(FAMILIES))
def test_without_friction_velocities_are_those_of_a_quadratic_programme(seed, family):
    # Gauss: of all velocities that do not penetrate, the nearest one in the metric of the kinetic energy.
    system, W, c = random_problem(family, np.random.default_rng(seed), 0.0)
    M, normal = system.inertia, system.jacobian[::3]
    expected = solve_qp(M, -M @ system.velocity, -normal, np.zeros(len(normal)), solver="daqp")
    impulse = contact_impulses(W, c, np.zeros(len(normal)))
    velocity = system.velocity + np.linalg.solve(M, system.jacobian.T @ impulse)
    np.testing.assert_allclose(velocity, expected, atol=1e-6 * np.abs(system.velocity).max())


def pinocchio_impulses(W, c, mu):
    """By Pinocchio's ADMM on Coulomb's law, its axes in the order tangent, tangent, normal; None if not converged."""
    order = np.arange(c.size).reshape(-1, 3)[:, [1, 2, 0]].ravel()
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for friction in mu:
        point = pin.PointContactConstraintModel(model, joint, pin.SE3.Identity(), 0, pin.SE3.Identity())
        point.setFriction(float(friction))
        models.append(pin.ConstraintModel(point))
        datas.append(models[-1].createData())
    options, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
    options.solve_ncp, options.max_iterations = True, 20000
    for kind in ("absolute", "relative"):
        for what in ("feasibility", "complementarity"):
            setattr(options, f"{kind}_{what}_tol", 1e-10)
    delassus = pin.DelassusOperatorDense(np.asfortranarray(W[np.ix_(order, order)]))
    if not pin.ADMMConstraintSolver(c.size).solve(delassus, c[order], models, datas, options, result):
        return None
    impulse = np.empty_like(c)
    impulse[order] = np.ravel(result.retrieveConstraintImpulses())
    return impulse


@pytest.mark.skipif(not hasattr(pin, "ADMMConstraintSolver"), reason="this solver is new in Pinocchio 4")
@pytest.mark.parametrize("family", FAMILIES)
def test_the_law_is_the_one_of_pinocchio(family):
    random = np.random.default_rng(1)
    solved = 0
    for _ in range(60):
        system, W, c = random_problem(family, random, 0.2)
        theirs = pinocchio_impulses(W, c, system.friction)
        if theirs is not None:
            assert_contact_law(W, c, system.friction, np.where(np.abs(theirs) < 1e-9, 0.0, theirs), 1e-7)
            solved += 1
            # Where contacts depend on each other, friction depends on how they share the load: not unique.
            if family is arm_without_geometry:
                ours = contact_impulses(W, c, system.friction)
                np.testing.assert_allclose(W @ ours, W @ theirs, atol=1e-6 * np.abs(c).max())
    assert solved > 50


@quick
@given(seeds, st.sampled_from(FAMILIES))
def test_order_of_the_contacts_does_not_matter(seed, family):
    random = np.random.default_rng(seed)
    system, W, c = random_problem(family, random, 0.8)
    order = random.permutation(c.size // 3)
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    impulse = contact_impulses(W, c, system.friction)
    permuted = contact_impulses(np.ascontiguousarray(W[np.ix_(rows, rows)]), c[rows], system.friction[order])
    np.testing.assert_allclose(W[np.ix_(rows, rows)] @ permuted, (W @ impulse)[rows], atol=1e-6 * np.abs(c).max())


def test_impulses_that_stick_are_the_shortest_ones():
    random = np.random.default_rng(4)
    stuck = 0
    for _ in range(300):
        system, W, _ = random_problem(plate_on_the_ground, random, 0.0)
        c = system.jacobian @ (system.velocity * np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1]))
        shortest = -np.linalg.pinv(W, rcond=1e-10) @ c
        if np.all(np.hypot(shortest[1::3], shortest[2::3]) <= 0.5 * shortest[::3]):
            p = contact_impulses(W, c, np.full(c.size // 3, 0.5))
            np.testing.assert_allclose(p, shortest, atol=1e-6 * np.abs(shortest).max())
            stuck += c.size // 3 > 3
    assert stuck > 10


def test_a_plate_that_falls_flat_is_stopped_by_equal_impulses_however_many_points_it_has():
    mass, speed = 2.0, 0.5
    for count in (3, 4, 6, 12):
        angles = 2.0 * np.pi * np.arange(count) / count
        normal = np.zeros((count, 6))
        jacobian = np.zeros((3 * count, 6))
        for i, (x, y) in enumerate(zip(0.1 * np.cos(angles), 0.1 * np.sin(angles), strict=True)):
            cross = np.array([[0.0, 0.0, y], [0.0, 0.0, -x], [-y, x, 0.0]])
            jacobian[3 * i : 3 * i + 3] = np.hstack([np.eye(3), -cross])[[2, 0, 1]]
            normal[i] = jacobian[3 * i]
        assert np.linalg.matrix_rank(normal) == 3
        W = jacobian @ np.diag([1 / mass] * 3 + [50.0, 60.0, 70.0]) @ jacobian.T
        c = jacobian @ np.array([0.0, 0.0, -speed, 0.0, 0.0, 0.0])
        p = contact_impulses(W, c, np.full(count, 0.4)).reshape(-1, 3)
        np.testing.assert_allclose(p[:, 0], mass * speed / count, rtol=1e-6)
        np.testing.assert_allclose(p[:, 1:], 0.0, atol=1e-6 * mass * speed)


@quick
@given(st.floats(0.0, 2.0), st.floats(0.01, 1.0), st.floats(-1.0, 1.0), st.floats(0.1, 10.0))
def test_a_point_mass_sticks_or_slips_as_coulomb_says(friction, approach, slip, mass):
    p = contact_impulses(np.eye(3) / mass, np.array([-approach, slip, 0.0]), np.array([friction]))
    tangential = min(friction * approach, abs(slip))
    expected = mass * np.array([approach, -math.copysign(tangential, slip), 0.0])
    np.testing.assert_allclose(p, expected, atol=1e-8 * mass)


def test_a_slip_too_small_for_its_inverse_is_no_trouble():
    p = contact_impulses(np.eye(3), np.array([-1.0, 2.3e-308, -1e-310]), np.zeros(1))
    np.testing.assert_allclose(p, [1.0, 0.0, 0.0], atol=1e-9)


@quick
@given(seeds, st.sampled_from(FAMILIES))
def test_the_result_is_a_first_guess_that_needs_no_search(seed, family):
    system, W, c = random_problem(family, np.random.default_rng(seed), 0.5)
    impulse = contact_impulses(W, c, system.friction)
    again = impulse.copy()
    _, iterations = solve_contacts(W, c, system.friction, again, 1e-9 * np.abs(c).max(), 1000)
    assert iterations == 0
    np.testing.assert_allclose(again, impulse, rtol=1e-14)


def test_it_runs_the_same_compiled_and_as_python():
    plain = getattr(solve_contacts, "py_func", solve_contacts)
    random = np.random.default_rng(3)
    for family in FAMILIES:
        system, W, c = random_problem(family, random, 1.0)
        compiled, interpreted = np.zeros_like(c), np.zeros_like(c)
        tolerance = 1e-10 * np.abs(c).max()
        solve_contacts(W, c, system.friction, compiled, tolerance, 200)
        residual, _ = plain(W, c, system.friction, interpreted, tolerance, 200)
        assert residual <= tolerance
        np.testing.assert_allclose(interpreted, compiled, atol=1e-9 * np.abs(compiled).max())


def test_walls_that_close_in_have_no_solution_and_say_so():
    # One point mass between two walls that both move towards it.
    jacobian = np.vstack([np.eye(3), np.diag([-1.0, 1.0, -1.0])])
    with pytest.raises(ContactSolverError) as caught:
        contact_impulses(jacobian @ jacobian.T, np.array([-1.0, 0.0, 0.0, -1.0, 0.0, 0.0]), np.zeros(2))
    assert caught.value.residual > caught.value.tolerance
    assert caught.value.impulse.shape == (6,)
