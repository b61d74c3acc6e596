"""The force that explains a torque: against a wrench that made it, NumPy's least squares, and without a rank."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.classification import ExternalForce, external_force
from impact_control.classification.external_force import explain_torque
from impact_control.robots import Dynamics, load_robot
from impact_control.util.errors import InvalidInputError
from kernels import peak_memory, python_form

GAIN = np.array([40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0])


def planar_jacobian(random):
    jacobian = np.zeros((6, 3))
    jacobian[[0, 2, 4]] = random.normal(size=(3, 3)) + 3.0 * np.eye(3)
    return jacobian


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), planar=st.booleans())
def test_the_force_is_that_which_makes_the_torque(seed, planar) -> None:
    random = np.random.default_rng(seed)
    jacobian, wrench = random.normal(size=(6, 7)), random.normal(size=6)
    if planar:
        jacobian = planar_jacobian(random)
        wrench[[1, 3, 5]] = 0.0
    assert np.allclose(external_force(jacobian, jacobian.T @ wrench), wrench[:3], rtol=1e-6, atol=1e-6)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), planar=st.booleans())
def test_the_form_for_the_loop_says_what_least_squares_say(seed, planar) -> None:
    """Also for torques that no wrench explains whole. A rounding eps moves F by eps cond(J)^2 |F|."""
    random = np.random.default_rng(seed)
    jacobian = planar_jacobian(random) if planar else random.normal(size=(6, 7))
    n = jacobian.shape[1]
    residual, rate = random.normal(size=n), 100.0 * random.normal(size=n)
    found = ExternalForce(GAIN[:n]).estimate(jacobian, residual, rate)
    torque = residual + rate / GAIN[:n]
    wrench = np.linalg.lstsq(jacobian.T, torque, rcond=None)[0]
    singular = np.linalg.svd(jacobian, compute_uv=False)
    condition = singular[0] / singular[min(n, 6) - 1]
    tolerance = 1e-14 * condition**2 * max(np.linalg.norm(wrench), np.linalg.norm(torque) / singular[0])
    assert np.linalg.norm(found - external_force(jacobian, torque)) <= 100.0 * tolerance


@pytest.mark.parametrize("end_effector", ["sphere", "plate"])
def test_on_the_panda_it_is_exact(end_effector) -> None:
    robot = load_robot("panda", end_effector)
    dynamics, random = Dynamics(robot), np.random.default_rng(3)
    force = ExternalForce(GAIN)
    for _ in range(50):
        q = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8]) + 0.3 * random.normal(size=7)
        dynamics.compute(q, np.zeros(7))
        residual, rate = random.normal(size=7), random.normal(size=7)
        expected = external_force(dynamics.jacobian, residual + rate / GAIN)
        found = force.estimate(dynamics.jacobian, residual, rate)
        assert np.allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


def test_directions_that_no_joint_moves_get_no_force() -> None:
    """At rank five: the force along the lost direction is not seen, and zero, as in the least wrench."""
    random = np.random.default_rng(5)
    jacobian = random.normal(size=(6, 7))
    jacobian[1] = 0.0
    torque = jacobian.T @ np.array([1.0, 7.0, 2.0, 0.1, 0.2, 0.3])
    found = ExternalForce(GAIN).estimate(jacobian, torque, np.zeros(7))
    assert np.allclose(found, [1.0, 0.0, 2.0], rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_number_stays_none_and_is_forgotten(bad) -> None:
    force = ExternalForce(GAIN)
    jacobian = np.random.default_rng(2).normal(size=(6, 7))
    assert not np.any(np.isfinite(force.estimate(jacobian, np.full(7, bad), np.zeros(7))))
    assert np.all(force.estimate(jacobian, np.zeros(7), np.zeros(7)) == 0.0)
    assert np.all(np.isfinite(force.estimate(jacobian, np.ones(7), np.ones(7))))


def test_compiled_kernel_equals_its_python_form() -> None:
    jacobian, torque = np.random.default_rng(4).normal(size=(6, 7)), np.arange(7.0)
    results = []
    for function in (explain_torque, python_form(explain_torque)):
        wrench = np.zeros(6)
        function(jacobian, torque.copy(), np.zeros(7), np.zeros(6), np.zeros(6), wrench)
        results.append(wrench)
    assert np.allclose(*results, rtol=1e-9, atol=1e-12)


def test_update_allocates_no_arrays() -> None:
    n = 400
    force, jacobian = ExternalForce(np.full(n, 50.0)), np.random.default_rng(6).normal(size=(6, n))
    residual = np.ones(n)
    force.estimate(jacobian, residual, residual)
    assert peak_memory(lambda _: force.estimate(jacobian, residual, residual), range(50)) < residual.nbytes


def test_a_gain_that_is_no_gain_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="observer_gain"):
        ExternalForce(np.array([1.0, 0.0]))
