"""Backlash residual: the torque that reaches a link, and the filter it makes of a contact on simulated joints."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.observation import MomentumObserver
from impact_control.util.errors import InvalidInputError
from impact_studies.models.observation.backlash_model import BacklashModel, missed_torque, torque_of, transmitted_torque
from impact_studies.models.observation.backlash_observer import (
    BacklashObserver,
    JointSample,
    least_residual,
)

PERIOD = 1e-3
MODEL = BacklashModel(
    gap=np.array([0.02, 0.003, 0.0]),
    stiffness=np.array([800.0, 500.0, 300.0]),
    damping=np.array([4.0, 2.0, 1.0]),
    gap_viscous=np.array([0.05, 0.04, 0.0]),
    gap_dry=np.array([0.1, 0.08, 0.0]),
    link_viscous=np.array([0.06, 0.03, 0.0]),
    link_dry=np.array([0.07, 0.05, 0.0]),
    motor_viscous=np.array([0.3, 0.2, 0.1]),
    motor_dry=np.array([0.4, 0.3, 0.2]),
)

number = st.floats(-1.0, 1.0, allow_nan=False)
triples = st.lists(number, min_size=3, max_size=3).map(np.array)


def transmitted(model: BacklashModel, phi, dq, dtheta, motor) -> np.ndarray:
    return torque_of(model.transmission, np.array([phi, dq, dtheta, motor]))


def stiff_sign(speed: float) -> float:
    return math.tanh(speed / MODEL.slip_speed)


@settings(deadline=None, max_examples=60)
@given(triples, triples, triples, triples)
def test_torque_is_that_of_equations_5_and_6(deflection, dq, dtheta, motor):
    phi = 0.03 * deflection
    found = transmitted(MODEL, phi, dq, dtheta, motor)
    for i in range(3):
        m = {name: getattr(MODEL, name)[i] for name in ("gap", "stiffness", "damping", "gap_viscous", "gap_dry")}
        twist = dq[i] - dtheta[i]
        if phi[i] >= m["gap"] or phi[i] <= -m["gap"]:
            beyond = phi[i] - m["gap"] if phi[i] >= m["gap"] else phi[i] + m["gap"]
            push = motor[i] - m["stiffness"] * beyond - m["damping"] * twist
            friction = MODEL.motor_viscous[i] * dtheta[i] + MODEL.motor_dry[i] * stiff_sign(dtheta[i])
        else:
            push = 0.0
            friction = m["gap_viscous"] * twist + m["gap_dry"] * stiff_sign(twist)
            friction += MODEL.link_viscous[i] * dq[i] + MODEL.link_dry[i] * stiff_sign(dq[i])
        assert found[i] == pytest.approx(push - friction, abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(triples, triples, triples, triples)
def test_torque_is_odd(deflection, dq, dtheta, motor):
    # A gap has two equal sides. At phi = 0 of a joint without gap the side has no meaning, and no effect.
    phi = 0.03 * deflection
    there, mirrored = transmitted(MODEL, phi, dq, dtheta, motor), transmitted(MODEL, -phi, -dq, -dtheta, -motor)
    np.testing.assert_allclose(there, -mirrored, atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(triples, triples)
def test_friction_between_link_and_motor_and_on_the_link_takes_energy(dq, dtheta):
    # Inside the gap the link gets -friction; the motor the reaction of the mutual part. Power into both is negative.
    wide = BacklashModel(np.full(3, 1.0), *MODEL.coefficients)
    on_link = transmitted(wide, np.zeros(3), dq, dtheta, np.zeros(3))
    mutual = wide.gap_viscous * (dq - dtheta) + wide.gap_dry * np.tanh((dq - dtheta) / wide.slip_speed)
    assert np.all(on_link * dq + mutual * dtheta <= 1e-12)


def test_spring_starts_at_zero_at_the_edge_and_pushes_back():
    # Errata: the deflection is zero at the edge of the gap. Without motion only the spring is left.
    zero, tiny = np.zeros(3), 1e-9
    for side in (-1.0, 1.0):
        at_edge = transmitted(MODEL, side * (MODEL.gap + tiny), zero, zero, zero)
        assert np.all(np.abs(at_edge) < 1e-5)
        beyond = transmitted(MODEL, side * (MODEL.gap + 0.01), zero, zero, zero)
        np.testing.assert_allclose(beyond, -side * 0.01 * MODEL.stiffness, rtol=1e-9)
    # The motor's torque does not pass the gap, (9).
    inside = transmitted(MODEL, 0.5 * MODEL.gap, zero, zero, np.full(3, 7.0))
    np.testing.assert_allclose(inside, [0.0, 0.0, 7.0], atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10000))
def test_missed_torque_completes_the_trapezoid_to_the_mean(seed):
    random = np.random.default_rng(seed)
    before, state = random.normal(size=(2, 4, 3)) * np.array([0.03, 0.3, 0.3, 1.0])[:, None]
    joints = (MODEL.gap, MODEL.coefficients, 10.0)  # with a slow sign, so that all is nearly linear on each side
    missed = missed_torque(joints, before, state)
    ends = np.array([torque_of(joints, before), torque_of(joints, state)])
    parts = (np.arange(4000) + 0.5) / 4000
    fine = np.array([torque_of(joints, before + part * (state - before)) for part in parts])
    jump = np.ptp(fine, axis=0)
    np.testing.assert_array_less(np.abs(ends.mean(axis=0) + missed - fine.mean(axis=0)), 2e-3 * jump + 1e-9)
    passed = [
        len({np.sign(x) * (abs(x) >= g) for x in (a, b)}) > 1
        for a, b, g in zip(before[0], state[0], MODEL.gap, strict=True)
    ]
    assert not missed[~np.array(passed)].any()


def test_observer_is_a_momentum_observer_of_the_transmitted_torque():
    random = np.random.default_rng(0)
    gain = np.array([20.0, 60.0, 100.0])
    observer, reference = BacklashObserver(gain, MODEL), MomentumObserver(gain, np.zeros(3))
    mass = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.5]])
    before = np.zeros((4, 3))
    for k in range(200):
        q, theta, dq, dtheta, motor, coriolis, gravity = 0.02 * random.normal(size=(7, 3))
        observer.observe(mass, coriolis, gravity, k * PERIOD, JointSample(q, dq, theta, dtheta, motor))
        state = np.array([q - theta, dq, dtheta, motor])
        missed = missed_torque(MODEL.transmission, before, state)
        torque = transmitted(MODEL, *state)
        reference.missed_torque[:] = missed
        reference.observe(mass, dq, torque, coriolis, gravity, k * PERIOD)
        before = state
        # A sample that is ignored leaves no trace.
        observer.observe(mass, coriolis, gravity, k * PERIOD, JointSample(-q, dq, theta, dtheta, motor))
        np.testing.assert_array_equal(observer.residual, reference.residual)
        np.testing.assert_array_equal(observer.residual_rate, reference.residual_rate)
    observer.reset()
    assert not observer.residual.any() and not observer.residual_rate.any() and not observer.advanced


MARGIN = 5e-5


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10000))
def test_at_an_edge_the_residual_is_the_least_that_any_torque_between_both_sides_leaves(seed):
    """Against a search over torques between that of the gap and that beyond it."""
    random = np.random.default_rng(seed)
    before, state = random.normal(size=(2, 4, 3)) * np.array([0.03, 0.3, 0.3, 1.0])[:, None]
    at_edge = random.uniform(size=3) < 0.7
    side = random.choice([-1.0, 1.0], 3)
    for sample in (before, state):
        sample[0] = np.where(at_edge, side * MODEL.gap + 0.9 * MARGIN * random.uniform(-1.0, 1.0, 3), sample[0])
    weight, mean, residual = random.uniform(0.01, 0.1, 3), random.normal(size=3), 0.05 * random.normal(size=3)
    found = least_residual(MODEL.transmission, MARGIN, before, state, mean, weight, residual)
    ends = np.zeros((2, 3))
    for sample in (before, state):
        for k, deflection in enumerate((np.zeros(3), np.copysign(MODEL.gap, sample[0]))):
            ends[k] += 0.5 * transmitted(MODEL, deflection, sample[1], sample[2], sample[3])
    for i in range(3):
        if not at_edge[i] or MODEL.gap[i] == 0.0:
            assert found[i] == residual[i]
            continue
        torques = np.linspace(ends[0, i], ends[1, i], 2001)
        possible = residual[i] + weight[i] * (mean[i] - torques)
        assert abs(found[i]) <= np.abs(possible).min() + 1e-12
        assert np.abs(possible - found[i]).min() <= weight[i] * abs(torques[1] - torques[0]) + 1e-12


def test_there_is_no_doubt_on_the_way_from_one_edge_to_the_other_or_off_it():
    zero, residual = np.zeros((4, 3)), np.full(3, 0.3)
    for start, end in ((1.0, -1.0), (1.0, 0.5), (0.5, 1.0), (1.1, 1.0), (0.0, 0.0)):
        before, state = zero.copy(), zero.copy()
        before[0], state[0] = start * MODEL.gap, end * MODEL.gap
        before[1], state[1] = 0.5, 0.5
        before[3], state[3] = 2.0, 2.0
        found = least_residual(MODEL.transmission, MARGIN, before, state, np.zeros(3), np.full(3, 0.1), residual)
        assert np.all(found == 0.3)


CONTACT = 0.8
"""[s] start of a push on the link, late enough for some crossings before it."""

PUSH = 1.0


def pendulum(duration: float) -> list[dict[str, float]]:
    """A hanging link, 0.3 kg m^2, behind a gap of 0.02 rad; the motor, 0.1 kg m^2, swings by a torque.

    Own integration with small steps, the torques written out. A push on the link steps at CONTACT.
    """
    link, motor, step = 0.3, 0.1, 2e-5
    q = theta = dq = dtheta = 0.0
    samples = []
    for k in range(round(duration / step)):
        time = k * step
        torque = 20.0 * (0.5 * math.sin(9.0 * time) - theta) + 1.5 * (4.5 * math.cos(9.0 * time) - dtheta)
        phi, twist = q - theta, dq - dtheta
        weight = 2.0 * math.sin(q)
        if k % round(PERIOD / step) == 0:
            samples.append({"time": time, "q": q, "theta": theta, "dq": dq, "dtheta": dtheta, "torque": torque})
            samples[-1] |= {"gravity": weight, "phi": phi}
        if abs(phi) < 0.02:
            spring, mutual = 0.0, 0.05 * twist + 0.1 * stiff_sign(twist)
            other = 0.06 * dq + 0.07 * stiff_sign(dq)
        else:
            spring, mutual = -800.0 * (phi - math.copysign(0.02, phi)) - 4.0 * twist, 0.0
            other = 0.3 * dtheta + 0.4 * stiff_sign(dtheta)
        push = PUSH if time >= CONTACT else 0.0
        dq += step * (spring - mutual - other - weight + push) / link
        dtheta += step * (torque - spring + mutual) / motor
        q += step * dq
        theta += step * dtheta
    return samples


@pytest.fixture(scope="module")
def swing() -> list[dict[str, float]]:
    return pendulum(1.7)


def follow(swing: list[dict[str, float]], gain: float) -> tuple[np.ndarray, np.ndarray]:
    """Residuals of the backlash observer and of a classical one that knows motor inertia and friction."""
    single = BacklashModel(MODEL.gap[:1], *MODEL.coefficients[:, :1])
    new, classical = BacklashObserver(np.array([gain]), single), MomentumObserver(np.array([gain]), np.zeros(1))
    found = np.zeros((2, len(swing)))
    zero = np.zeros(1)
    for k, sample in enumerate(swing):
        s = {name: np.array([value]) for name, value in sample.items()}
        time = sample["time"]
        joints = JointSample(s["q"], s["dq"], s["theta"], s["dtheta"], zero)
        found[0, k] = new.observe(np.eye(1) * 0.3, zero, s["gravity"], time, joints)[0]
        torque = s["torque"] - 0.3 * s["dtheta"] - 0.4 * stiff_sign(sample["dtheta"])
        found[1, k] = classical.observe(np.eye(1) * 0.4, s["dq"], torque, zero, s["gravity"], time)[0]
    return found[0], found[1]


@pytest.mark.parametrize("gain", [30.0, 100.0])
def test_residual_filters_the_contact_and_does_not_see_the_gap(swing, gain):
    residual, classical = follow(swing, gain)
    time = np.array([sample["time"] for sample in swing])
    for start, end in ((0.0, CONTACT), (CONTACT, time[-1])):
        sides = [np.sign(s["phi"]) for s in swing if start <= s["time"] < end and abs(s["phi"]) >= 0.02]
        assert np.count_nonzero(np.diff(sides)) >= 2  # it does cross, before the push and after it
    exact = PUSH * (1.0 - np.exp(-gain * np.maximum(time - CONTACT, 0.0)))
    # Edges are passed between samples: the trapezoid would miss half a period of the damper's jump, 4 Nm s/rad at up
    # to 2 rad/s. Less than a third of that is left.
    assert np.abs(residual - exact).max() < 0.5 * PERIOD * gain * 8.0 / 3.0
    before = time < CONTACT
    assert np.abs(classical[before]).max() > 10.0 * np.abs(residual[before]).max()


def test_a_sample_that_is_not_finite_is_ignored(swing):
    single = BacklashModel(MODEL.gap[:1], *MODEL.coefficients[:, :1])
    observer = BacklashObserver(np.array([30.0]), single)
    one, zero = np.ones(1), np.zeros(1)
    still = JointSample(zero, one, zero, zero, zero)
    observer.observe(np.eye(1), zero, zero, 0.0, still)
    for bad in ("position", "motor_position", "motor_velocity"):
        observer.observe(np.eye(1), zero, zero, 1e-3, still._replace(**{bad: np.array([np.nan])}))
        assert not observer.advanced and not observer.residual.any()
    observer.observe(np.eye(1), zero, zero, 2e-3, still)
    assert observer.advanced


def test_the_compiled_kernel_equals_its_python_form():
    random = np.random.default_rng(1)
    for _ in range(20):
        state, out = 0.03 * random.normal(size=(4, 3)), np.empty(3)
        getattr(transmitted_torque, "py_func", transmitted_torque)(MODEL.transmission, state, out)
        np.testing.assert_allclose(torque_of(MODEL.transmission, state), out, rtol=1e-12, atol=1e-15)


def test_models_that_cannot_be_are_refused():
    good = np.ones((9, 2))
    for row, name in ((0, "gap"), (3, "gap_viscous"), (8, "motor_dry")):
        for bad in (np.nan, np.inf):
            wrong = good.copy()
            wrong[row, 1] = bad
            with pytest.raises(InvalidInputError, match=name):
                BacklashModel(*wrong)
    with pytest.raises(InvalidInputError, match="gap"):
        BacklashModel(-good[0], *good[1:])
    with pytest.raises(InvalidInputError, match="stiffness"):
        BacklashModel(good[0], good[1, :1], *good[2:])
    with pytest.raises(InvalidInputError, match="slip_speed"):
        BacklashModel(*good, slip_speed=0.0)
    with pytest.raises(InvalidInputError, match="edge_margin"):
        BacklashObserver(np.ones(3), MODEL, edge_margin=-1e-6)
