"""The task QP: optimal, inside all limits, and what it answers when there is no solution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qpsolvers.exceptions import SolverError
from scipy.optimize import linprog, minimize, nnls

from impact_control.control import AccelerationQP, Limit, QPStatus
from impact_control.control.limits import ControlLimits, limit_command
from impact_control.robots import Dynamics, load_robot
from impact_control.util.errors import InvalidInputError

ROBOT = load_robot()
LIMITS = ROBOT.limits
PERIOD = 1e-3
INFEASIBLE = 2
"""Status of SciPy's linear programs."""
ACCELERATION = np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0])
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


def make_qp(cutoff_frequency=np.inf):
    return AccelerationQP(ROBOT, PERIOD, ACCELERATION, np.full(7, 10.0), cutoff_frequency)


def prepared(q=HOME, dq=None, cutoff_frequency=np.inf):
    qp = make_qp(cutoff_frequency)
    dynamics = Dynamics(ROBOT)
    dq = np.zeros(7) if dq is None else dq
    dynamics.compute(q, dq)
    return qp, dynamics, q, dq


def last_command(qp, torque):
    """Let the last command be a torque (7,) [Nm] that has stood for long."""
    qp._memory["command"] = qp._memory["halfway"] = torque


def solve(qp, dynamics, q, dq, target, weights=None, matrix=None):
    matrix = np.eye(7) if matrix is None else matrix
    weights = np.ones(7) if weights is None else weights
    qp.solve(dynamics, matrix, target, weights, dynamics.coriolis, np.zeros(7))


def inertia_of(dynamics):
    return dynamics.mass_matrix + np.diag(ROBOT.transmission.reduced_motor_inertia)


def test_without_active_limits_it_is_the_inverse_dynamics_of_the_target():
    """Van Steen 2024 (22) with M + B_theta and without gravity."""
    qp, dynamics, q, dq = prepared(dq=np.full(7, 0.1))
    target = np.array([0.2, -0.1, 0.3, 0.1, -0.2, 0.4, 0.5])
    solve(qp, dynamics, q, dq, target)
    assert qp.status is QPStatus.SOLVED
    np.testing.assert_allclose(qp.acceleration, target, rtol=1e-4, atol=1e-5)
    inertia = dynamics.mass_matrix + np.diag(ROBOT.transmission.reduced_motor_inertia)
    np.testing.assert_allclose(qp.torque, inertia @ qp.acceleration + dynamics.coriolis, atol=1e-9)
    assert not qp.limited


def test_a_desired_force_is_its_torque_whatever_the_acceleration_limits():
    """Van Steen 2024 (26), (27) without the bound of a motion in free air: 50 N need 8.9 of 7.5 rad/s^2 there."""
    qp, dynamics, _, _ = prepared()
    wrench = np.array([3.0, -1.0, -50.0, 0.2, 0.1, -0.1])
    force_torque = dynamics.jacobian.T @ wrench
    for _ in range(100):
        qp.solve(dynamics, np.eye(7), np.zeros(7), np.ones(7), np.zeros(7), force_torque)
        assert qp.status is QPStatus.SOLVED
    assert np.max(np.abs(np.linalg.solve(qp.inertia, force_torque)) / ACCELERATION) > 1.0
    np.testing.assert_allclose(qp.torque, force_torque)
    np.testing.assert_allclose(qp.acceleration, 0.0, atol=1e-9)
    assert qp.force_share == 1.0


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_the_force_comes_as_fast_as_the_torque_rate_lets_it_and_leaves_the_motion_alone(seed):
    random = np.random.default_rng(seed)
    qp, dynamics, _, _ = prepared(q=HOME + random.uniform(-0.2, 0.2, 7), dq=random.uniform(-0.3, 0.3, 7))
    target = random.uniform(-1.0, 1.0, 7)
    wrench = np.append(random.uniform(-1.0, 1.0, 3) * 25.0, np.zeros(3))
    force_torque = dynamics.jacobian.T @ wrench
    motion = inertia_of(dynamics) @ target + dynamics.coriolis
    last_command(qp, motion)
    shares = []
    for _ in range(40):
        qp.solve(dynamics, np.eye(7), target, np.ones(7), dynamics.coriolis, force_torque)
        np.testing.assert_allclose(qp.acceleration, target, atol=1e-4)
        np.testing.assert_allclose(qp.torque, motion + qp.force_share * force_torque, atol=1e-3)
        shares.append(qp.force_share)
    ramp = np.max(np.abs(force_torque) / (LIMITS.torque_rate * PERIOD))
    expected = np.minimum(np.arange(1, 41) / ramp, 1.0)
    np.testing.assert_allclose(shares, expected, atol=1e-3)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_with_limits_in_both_ways_force_and_motion_are_optimal(seed):
    """Conditions of Karush, Kuhn and Tucker for the problem over (ddq, share), written down independently."""
    random = np.random.default_rng(seed)
    qp, dynamics, _, _ = prepared(q=HOME + random.uniform(-0.2, 0.2, 7), dq=random.uniform(-0.3, 0.3, 7))
    last_command(qp, random.uniform(-5.0, 5.0, 7))
    target = random.uniform(-1.0, 1.0, 7) * random.choice([5.0, 40.0])
    weights = random.uniform(0.05, 2.0, 7)
    force_torque = dynamics.jacobian.T @ random.uniform(-40.0, 40.0, 6) * random.choice([0.0, 1.0])
    qp.solve(dynamics, np.eye(7), target, weights, dynamics.coriolis, force_torque)
    inertia, n = qp.inertia, 7
    alone = np.linalg.solve(inertia, force_torque)
    step = LIMITS.torque_rate * PERIOD
    memory = qp._memory
    assert (memory["torque_upper"] - memory["torque_lower"] <= 2.0 * step + 1e-12).all()
    rows = np.vstack(
        [np.hstack([inertia, force_torque[:, None]]), np.hstack([np.eye(n), alone[:, None]]), np.eye(n + 1)]
    )
    low, high = (
        np.concatenate(
            [memory[f"torque_{side}"], memory[f"unanswered_{side}"], memory[f"acceleration_{side}"], [share]]
        )
        for side, share in (("lower", 0.0), ("upper", 1.0))
    )
    sides, bounds = np.vstack([rows, -rows]), np.append(high, -low)
    finite = np.isfinite(bounds)
    if linprog(np.zeros(n + 1), sides[finite], bounds[finite], bounds=(None, None)).status == INFEASIBLE:
        assert qp.force_share == 0.0  # nothing within all limits: the stretched bounds have a test of their own
        return
    found = np.append(qp.acceleration, qp.force_share)
    over = sides @ found - bounds
    assert over.max() < 1e-5
    gradient = np.append(2.0 * weights * (found[:n] - target), -2e-3 * (1.0 - found[n]))
    tight = over > -1e-6
    left = nnls(-sides[tight].T, gradient)[1] if tight.any() else np.linalg.norm(gradient)
    assert left < 2e-4  # the regularisation of the accelerations


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(-1e6, 1e6), min_size=7, max_size=7), st.integers(0, 2**32 - 1))
def test_no_target_breaks_a_torque_or_torque_rate_limit(target, seed):
    random = np.random.default_rng(seed)
    qp, dynamics, q, dq = prepared(dq=random.uniform(-1.0, 1.0, 7))
    previous = np.zeros(7)
    for _ in range(150):
        solve(qp, dynamics, q, dq, np.array(target) * random.uniform(-1.0, 1.0))
        assert np.isfinite(qp.torque).all()
        assert (np.abs(qp.torque) <= LIMITS.torque).all()
        assert (np.abs(qp.torque - previous) <= LIMITS.torque_rate * PERIOD * (1.0 + 1e-9)).all()
        previous = qp.torque.copy()


@pytest.mark.parametrize("friction", [0.0, -1.3])
def test_motor_torque_with_gravity_stays_inside_its_limit(friction):
    """Van Steen 2024 (21) bounds the motor torque, which carries gravity; the command, with friction, does not."""
    stretched = np.array([0.0, 1.2, 0.0, -0.5, 0.0, 1.6, 0.0])
    qp = AccelerationQP(ROBOT, PERIOD, np.full(7, 30.0), np.full(7, 10.0))
    _, dynamics, _, _ = prepared(q=stretched)
    assert dynamics.gravity[1] < -30.0
    feedforward = dynamics.coriolis + np.array([0.0, friction, 0.0, 0.0, 0.0, 0.0, 0.0])
    for _ in range(200):
        qp.solve(dynamics, np.eye(7), np.full(7, -1e4), np.ones(7), feedforward, np.zeros(7))
    assert qp.torque[1] + dynamics.gravity[1] == pytest.approx(-LIMITS.torque[1])


def test_relaxes_position_and_velocity_bounds_when_they_contradict_the_torque_limits():
    q = HOME.copy()
    q[1] = LIMITS.position_upper[1] - 0.001
    qp, dynamics, q, dq = prepared(q=q, dq=np.array([0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0]))
    solve(qp, dynamics, q, dq, np.zeros(7))
    assert qp.status is QPStatus.RELAXED
    # Braking begins at once, as hard as the torque rate allows.
    assert np.isfinite(qp.torque).all()
    solve(qp, dynamics, q, dq, np.full(7, -5.0))
    assert qp.status is QPStatus.RELAXED
    assert qp.torque[1] < 0.0


@settings(deadline=None, max_examples=10)
@given(st.floats(0.5, 2.0), st.lists(st.floats(-0.9, 0.9), min_size=7, max_size=7), st.floats(-80.0, 80.0))
def test_bounds_that_the_torques_cannot_keep_are_kept_as_nearly_as_they_allow(speed, previous, push):
    """Whatever the tasks want: the least squares of what is missed, by a second method over the torques alone."""
    q, dq = HOME.copy(), np.zeros(7)
    q[1], dq[1] = LIMITS.position_upper[1] - 0.002, speed
    qp, dynamics, q, dq = prepared(q=q, dq=dq)
    last_command(qp, previous)
    solve(qp, dynamics, q, dq, np.full(7, push))
    assert qp.status is QPStatus.RELAXED
    assert Limit.POSITION in qp.relaxed
    low, high = qp._memory["acceleration_lower"], qp._memory["acceleration_upper"]

    def missed(torque):
        x = np.linalg.solve(qp.inertia, torque)
        beyond = np.maximum(x - high, 0.0) - np.maximum(low - x, 0.0)
        return beyond @ beyond, 2.0 * np.linalg.solve(qp.inertia, beyond)

    box = list(zip(qp._memory["torque_lower"], qp._memory["torque_upper"], strict=True))
    best = minimize(missed, np.mean(box, axis=1), jac=True, bounds=box, method="L-BFGS-B", options={"ftol": 1e-15})
    found = missed(qp.torque - dynamics.coriolis)[0]
    assert found <= best.fun * (1.0 + 1e-3) + 1e-3


@pytest.mark.parametrize("seed", [1, 2, 7])
@pytest.mark.parametrize("force", [0.0, 60.0])
@pytest.mark.parametrize("cutoff_frequency", [np.inf, 50.0, 8.0])
def test_no_adversary_drives_the_arm_out_of_its_limits(seed, force, cutoff_frequency):
    """The arm moves as its torques make it, 2 s of whole pushes for random times: all limits hold, none relaxed.

    With one period as the horizon of the limits the same pushes lead up to 0.09 rad beyond them: the torque rate.
    A force [N] that meets nothing accelerates the arm, some 1e-3 rad/s beyond a limit of velocity.
    """
    random = np.random.default_rng(seed)
    qp, dynamics, q, dq = prepared(cutoff_frequency=cutoff_frequency)
    push, direction = random.choice([-1.0, 1.0], 7), random.normal(size=3)
    for _ in range(2000):
        dynamics.compute(q, dq)
        turned = random.random(7) < 0.004
        push[turned] = random.choice([-1.0, 0.0, 1.0], int(turned.sum()))
        if random.random() < 0.004:
            direction = random.normal(size=3)
        target = np.where(push == 0.0, -20.0 * dq, push * random.choice([5.0, 50.0, 500.0]))
        force_torque = force * dynamics.jacobian[:3].T @ (direction / np.linalg.norm(direction))
        qp.solve(dynamics, np.eye(7), target, np.ones(7), dynamics.coriolis, force_torque)
        if force == 0.0:
            assert qp.status is QPStatus.SOLVED
            assert qp.relaxed is Limit.NONE
        ddq = np.linalg.solve(qp.inertia, qp.torque - dynamics.coriolis)
        q, dq = q + PERIOD * dq + 0.5 * PERIOD**2 * ddq, dq + PERIOD * ddq
        assert (q <= LIMITS.position_upper + 1e-6).all() and (q >= LIMITS.position_lower - 1e-6).all()
        assert (np.abs(dq) <= LIMITS.velocity + (1e-6 if force == 0.0 else 5e-3)).all()


@pytest.mark.parametrize("cutoff_frequency", [np.inf, 50.0])
def test_extreme_states_have_a_solution(cutoff_frequency):
    """Near and beyond the limits of position and velocity, any torque before: 1000 states, none without a solution."""
    random = np.random.default_rng(11)
    qp, dynamics, _, _ = prepared(cutoff_frequency=cutoff_frequency)
    for _ in range(1000):
        q = random.uniform(LIMITS.position_lower - 0.1, LIMITS.position_upper + 0.1)
        dynamics.compute(q, random.uniform(-1.25, 1.25, 7) * LIMITS.velocity)
        last_command(qp, random.uniform(-1.0, 1.0, 7) * LIMITS.torque)
        rows, force = np.vstack([dynamics.jacobian, np.eye(7)[0]]), random.normal(0.0, 20.0, 6)
        feedforward = dynamics.coriolis + random.normal(0.0, 1.0, 7)
        qp.solve(dynamics, rows, random.normal(0.0, 50.0, 7), np.ones(7), feedforward, dynamics.jacobian.T @ force)
        assert qp.status in (QPStatus.SOLVED, QPStatus.RELAXED), qp.cause


def test_an_error_of_the_solver_is_damping_with_its_cause_and_no_other_error_is(monkeypatch):
    q = HOME.copy()
    q[1] = LIMITS.position_upper[1] - 0.001
    qp, dynamics, q, dq = prepared(q=q, dq=np.array([0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0]))

    def refuse(*_, **__):
        raise SolverError("out of range")

    def break_off(*_, **__):
        raise TypeError("a mistake of ours")

    monkeypatch.setattr("impact_control.control.qp.solve_problem", refuse)
    solve(qp, dynamics, q, dq, np.zeros(7))
    assert qp.status is QPStatus.FAILED
    assert "out of range" in qp.cause
    monkeypatch.setattr("impact_control.control.qp.solve_problem", break_off)
    with pytest.raises(TypeError, match="a mistake of ours"):
        solve(qp, dynamics, q, dq, np.zeros(7))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", ["target", "feed-forward"])
def test_a_problem_with_what_is_no_number_is_answered_by_damping(which, value):
    qp, dynamics, _, _ = prepared(dq=np.full(7, 0.2))
    odd, nothing = np.zeros((2, 7))
    odd[3] = value
    target, feedforward = (odd, nothing) if which == "target" else (nothing, odd)
    for _ in range(5):
        qp.solve(dynamics, np.eye(7), target, np.ones(7), feedforward, nothing)
        assert qp.status is QPStatus.FAILED
    np.testing.assert_allclose(qp.torque, np.full(7, -2.0))


@pytest.mark.parametrize("largest", [1e100, 1e155, 1e170, 1e300])
def test_velocities_whose_coriolis_torques_are_no_numbers_are_answered_by_damping(largest):
    """A joint state may say so; the first velocity is that of an arm at rest."""
    velocity = np.array([0.0, 1.0, -1.0, 1.0, 1.0, -1.0, 0.0]) * largest
    qp, dynamics, q, _ = prepared()
    for k in range(20):
        before = qp.torque.copy()
        dq = velocity if k % 2 else np.zeros(7)
        dynamics.compute(q, dq)
        solve(qp, dynamics, q, dq, np.full(7, 50.0))
        assert np.isfinite(qp.torque).all()
        assert (np.abs(qp.torque - before) <= LIMITS.torque_rate * PERIOD * (1.0 + 1e-9)).all()


def test_a_desired_torque_that_is_not_a_number_counts_as_zero():
    limits = ControlLimits(LIMITS, ACCELERATION, PERIOD)
    step = limits.memory["torque_step"]
    previous, torque = 0.4 * step, np.zeros(7)
    previous[1] = 5.0 * step[1]
    _, change, share = limit_command(np.full(7, np.nan), limits.memory, previous, torque)
    assert change == pytest.approx(step.max())
    assert share == pytest.approx(np.max(np.abs(torque) / limits.memory["torque"]))
    np.testing.assert_allclose(torque, [0.0, 4.0 * step[1], 0.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(previous, torque)


@pytest.mark.parametrize("velocity", [np.nan, np.inf, 1.7e308])
def test_damping_with_an_unknown_velocity_lets_the_torque_fade(velocity):
    qp, dynamics, q, dq = prepared()
    for _ in range(5):
        solve(qp, dynamics, q, dq, np.full(7, 100.0))
    start = np.abs(qp.torque).max()
    assert start > 1.0
    for _ in range(10):
        qp.damp(np.full(7, velocity))
    assert np.abs(qp.torque).max() == 0.0


def test_reset_forgets_the_last_torque():
    qp, dynamics, q, dq = prepared()
    for _ in range(20):
        solve(qp, dynamics, q, dq, np.full(7, 100.0))
    qp.reset()
    solve(qp, dynamics, q, dq, np.full(7, 100.0))
    assert (np.abs(qp.torque) <= LIMITS.torque_rate * PERIOD * (1.0 + 1e-9)).all()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0.0, ACCELERATION, np.ones(7)), "period"),
        ((1e-3, np.zeros(7), np.ones(7)), "acceleration_limit"),
        ((1e-3, ACCELERATION, np.ones(6)), "stop_damping"),
    ],
)
def test_wrong_settings_are_refused(arguments, name):
    with pytest.raises(InvalidInputError, match=name):
        AccelerationQP(ROBOT, *arguments)
