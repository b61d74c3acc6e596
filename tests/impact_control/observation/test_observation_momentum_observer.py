"""Momentum observer against the exact filter of a known external torque, on independent simulations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.observation import MomentumObserver
from impact_control.observation.momentum_observer import _advance
from impact_control.util.errors import InvalidInputError
from impact_control.util.memory import named_memory
from kernels import peak_memory, python_form

PERIOD = 1e-3
SUBSTEPS = 8
CONTACT_START = 0.05


def runge_kutta(derivative: Callable, state: np.ndarray, time: float, step: float) -> np.ndarray:
    a = derivative(time, state)
    b = derivative(time + step / 2, state + step / 2 * a)
    c = derivative(time + step / 2, state + step / 2 * b)
    d = derivative(time + step, state + step * c)
    return state + step / 6 * (a + 2 * b + 2 * c + d)


@dataclass(frozen=True)
class Sample:
    time: float
    mass_matrix: np.ndarray
    velocity: np.ndarray
    torque: np.ndarray
    coriolis_transposed_velocity: np.ndarray
    gravity: np.ndarray

    def feed(self, observer: MomentumObserver, time: float | None = None) -> np.ndarray:
        return observer.observe(
            self.mass_matrix,
            self.velocity,
            self.torque,
            self.coriolis_transposed_velocity,
            self.gravity,
            self.time if time is None else time,
        )


def two_link_matrices(q: np.ndarray, dq: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass matrix, Coriolis matrix (Christoffel) and gravity of a 2R arm of 1 m links, 2 kg and 1.5 kg."""
    coupling = 1.5 * 0.5 * np.cos(q[1])
    inner = 2.0 * 0.25 + 0.17 + 1.5 * 1.25 + 0.125
    mass = np.array([[inner + 2 * coupling, 0.5 + coupling], [0.5 + coupling, 0.5]])
    h = -1.5 * 0.5 * np.sin(q[1])
    coriolis = np.array([[h * dq[1], h * (dq[0] + dq[1])], [-h * dq[0], 0.0]])
    outer_weight = 9.81 * 1.5 * 0.5 * np.cos(q[0] + q[1])
    gravity = np.array([9.81 * (2.0 * 0.5 + 1.5) * np.cos(q[0]) + outer_weight, outer_weight])
    return mass, coriolis, gravity


def simulate_two_link(external: Callable[[float], np.ndarray], duration: float) -> list[Sample]:
    def torque(time: float) -> np.ndarray:
        return np.array([15.0 * np.sin(20.0 * time) + 10.0, -8.0 * np.cos(31.0 * time)])

    def derivative(time: float, state: np.ndarray) -> np.ndarray:
        dq = state[2:]
        mass, coriolis, gravity = two_link_matrices(state[:2], dq)
        drive = torque(time) + external(time) - coriolis @ dq - gravity
        return np.concatenate([dq, np.linalg.solve(mass, drive)])

    state = np.array([0.4, 0.9, 2.5, -4.0])
    samples = []
    for k in range(round(duration / PERIOD) + 1):
        time = k * PERIOD
        mass, coriolis, gravity = two_link_matrices(state[:2], state[2:])
        samples.append(Sample(time, mass, state[2:].copy(), torque(time), coriolis.T @ state[2:], gravity))
        for i in range(SUBSTEPS):
            state = runge_kutta(derivative, state, time + i * PERIOD / SUBSTEPS, PERIOD / SUBSTEPS)
    return samples


CONTACT_TORQUE = np.array([6.0, -4.0])


@pytest.fixture(scope="module")
def contact() -> list[Sample]:
    """The arm in fast motion, with a step of external torque just after the sample at CONTACT_START."""
    start = CONTACT_START + 1e-9
    return simulate_two_link(lambda t: CONTACT_TORQUE if t > start else np.zeros(2), 0.2)


def exact_filter(gain: np.ndarray, time: float) -> np.ndarray:
    return CONTACT_TORQUE * (1.0 - np.exp(-gain * max(time - CONTACT_START, 0.0)))


@pytest.mark.parametrize("gain", [np.array([30.0, 30.0]), np.array([20.0, 150.0])])
def test_residual_is_the_first_order_filter_of_each_joint(contact: list[Sample], gain: np.ndarray) -> None:
    observer = MomentumObserver(gain, np.zeros(2))
    for sample in contact:
        residual = sample.feed(observer)
        assert np.all(np.abs(residual - exact_filter(gain, sample.time)) < 0.01 * np.abs(CONTACT_TORQUE))
    # The comparison means something: it ended near the torque, by different amounts for different gains.
    assert np.allclose(residual, CONTACT_TORQUE * (1 - np.exp(-gain * 0.15)), rtol=0.01)


@settings(deadline=None, max_examples=20)
@given(lost=st.sets(st.integers(1, 199), max_size=80), gain=st.floats(10.0, 60.0))
def test_lost_samples_do_not_change_the_filter(contact: list[Sample], lost: set[int], gain: float) -> None:
    observer = MomentumObserver(np.full(2, gain), np.zeros(2), maximum_gap=1.0)
    longest = PERIOD
    previous = 0.0
    for k, sample in enumerate(contact):
        if k in lost:
            continue
        longest = max(longest, sample.time - previous)
        previous = sample.time
        residual = sample.feed(observer)
        # Trapezoid: of second order in the longest period, for the residual and for the arm (about 30 rad/s).
        tolerance = (0.01 + ((gain + 30.0) * longest) ** 2 / 8.0) * np.abs(CONTACT_TORQUE)
        assert np.all(np.abs(residual - exact_filter(np.full(2, gain), sample.time)) < tolerance)


def test_residual_is_zero_without_contact(contact: list[Sample]) -> None:
    observer = MomentumObserver(np.array([50.0, 50.0]), np.zeros(2))
    before = [np.abs(sample.feed(observer)).max() for sample in contact if sample.time <= CONTACT_START]
    assert max(before) < 5e-3
    assert contact[0].velocity @ contact[0].velocity > 1.0  # it moves while the residual is zero


def test_equals_the_recursion_as_printed_with_running_integrals(contact: list[Sample]) -> None:
    """Flacco 2016 (13), constant period, in the published form: I_tau, r_bar, r."""
    gain = np.array([30.0, 100.0])
    observer = MomentumObserver(gain, np.zeros(2))
    integral, filtered, drive_before, bar_before = np.zeros((4, 2))
    for k, sample in enumerate(contact):
        drive = sample.torque + sample.coriolis_transposed_velocity - sample.gravity
        if k:
            integral = integral + (drive + drive_before) / 2 * PERIOD
        bar = gain * (sample.mass_matrix @ sample.velocity - integral)
        if k:
            factor = 2 + PERIOD * gain
            filtered = (2 - PERIOD * gain) / factor * filtered + 2 * (bar - bar_before) / factor
        drive_before, bar_before = drive, bar
        assert np.allclose(sample.feed(observer), filtered, atol=1e-9)


def test_rate_is_the_difference_quotient_over_the_actual_period(contact: list[Sample]) -> None:
    observer = MomentumObserver(np.array([30.0, 30.0]), np.zeros(2))
    before, time = np.zeros(2), -1.0
    for sample in contact[::2] + contact[-1:]:
        residual = sample.feed(observer).copy()
        if time >= 0.0 and sample.time > time:
            assert observer.advanced
            assert np.allclose(observer.residual_rate, (residual - before) / (sample.time - time))
        before, time = residual, sample.time
    assert np.abs(observer.residual_rate).max() > 0.0


def test_a_stamp_soon_after_a_late_one_makes_no_large_rate_of_the_noise(contact: list[Sample]) -> None:
    gain, noise, period = np.full(2, 30.0), np.random.default_rng(4), 1e-3
    late = np.where(np.arange(len(contact)) % 10 == 5, 0.9e-3, 0.0)
    largest = []
    for shortest in (0.0, period):
        observer, rates, residuals = MomentumObserver(gain, np.zeros(2), shortest_period=shortest), [], []
        for sample, delay in zip(contact, late, strict=True):
            velocity = sample.velocity + noise.normal(0.0, 1e-3, 2)
            arrays = (sample.coriolis_transposed_velocity, sample.gravity, sample.time + delay)
            residuals.append(observer.observe(sample.mass_matrix, velocity, sample.torque, *arrays).copy())
            rates.append(observer.residual_rate.copy())
        change = np.abs(np.diff(residuals, axis=0))
        largest.append(np.max(rates))
        if shortest:
            assert np.all(np.abs(rates[1:]) <= change / period * (1.0 + 1e-9))
    assert largest[0] > 3.0 * largest[1]


def test_first_sample_and_reset_do_not_jump(contact: list[Sample]) -> None:
    observer = MomentumObserver(np.array([30.0, 30.0]), np.zeros(2))
    for start in (0, 120):
        assert np.array_equal(contact[start].feed(observer), np.zeros(2))
        assert not observer.advanced
        contact[start + 40].feed(observer)
        assert observer.advanced
        assert np.abs(observer.residual).max() > 0.0
        observer.reset()
        assert np.array_equal(observer.residual, np.zeros(2))
        assert np.array_equal(observer.residual_rate, np.zeros(2))


@pytest.mark.parametrize("shift", [0.0, -5.0])
def test_gap_or_jump_of_the_clock_starts_anew_with_the_residual_kept(contact: list[Sample], shift: float) -> None:
    gain = np.array([30.0, 30.0])
    observer = MomentumObserver(gain, np.zeros(2), maximum_gap=0.02)
    for sample in contact[:101]:
        sample.feed(observer)
    kept = observer.residual.copy()
    assert np.abs(kept).max() > 1.0
    assert np.array_equal(contact[125].feed(observer, contact[125].time + shift), kept)
    assert not observer.advanced
    assert np.array_equal(observer.residual_rate, np.zeros(2))
    # From there on it is the same filter, started from the kept residual.
    for sample in contact[126:]:
        sample.feed(observer, sample.time + shift)
    expected = CONTACT_TORQUE + (kept - CONTACT_TORQUE) * np.exp(-gain * 0.075)
    assert np.allclose(observer.residual, expected, rtol=0.01)


def test_useless_samples_are_ignored(contact: list[Sample]) -> None:
    gain = np.array([40.0, 40.0])
    clean, disturbed = MomentumObserver(gain, np.zeros(2)), MomentumObserver(gain, np.zeros(2))
    broken = Sample(0.0, np.eye(2), np.array([np.nan, 1.0]), np.ones(2), np.zeros(2), np.zeros(2))
    for sample in contact:
        sample.feed(clean)
        broken.feed(disturbed, sample.time - 0.5 * PERIOD)
        assert not disturbed.advanced
        sample.feed(disturbed)
        rate = disturbed.residual_rate.copy()
        for time in (sample.time, sample.time - 0.01, np.nan):
            contact[0].feed(disturbed, time)
            assert not disturbed.advanced
        assert np.array_equal(disturbed.residual_rate, rate)
        assert np.array_equal(disturbed.residual, clean.residual)


def simulate_flexible_pendulum(external: float, duration: float) -> tuple[list[Sample], np.ndarray]:
    """Link 0.5 kg m^2 with gravity on a motor 0.3 kg m^2 through K = 5000 Nm/rad, D = 20 Nm s/rad.

    A torque that swings at the resonance keeps the transmission oscillating. Also returns tau_J.
    """
    stiffness, damping, link, motor = 5000.0, 20.0, 0.5, 0.3

    def derivative(time: float, state: np.ndarray) -> np.ndarray:
        q, theta, dq, dtheta = state
        transmitted = stiffness * (theta - q) + damping * (dtheta - dq)
        load = external if time > CONTACT_START + 1e-9 else 0.0
        push = 20.0 * np.sin(160.0 * time)
        return np.array([dq, dtheta, (transmitted - 5.0 * np.cos(q) + load) / link, (push - transmitted) / motor])

    state = np.array([0.3, 0.3 + 5.0 / stiffness, 1.0, 1.0])
    samples = []
    for k in range(round(duration / PERIOD) + 1):
        time = k * PERIOD
        q, theta, dq, _ = state
        torque = np.array([stiffness * (theta - q)])
        gravity = np.array([5.0 * np.cos(q)])
        samples.append(Sample(time, np.array([[link]]), np.array([dq]), torque, np.zeros(1), gravity))
        for i in range(SUBSTEPS):
            state = runge_kutta(derivative, state, time + i * PERIOD / SUBSTEPS, PERIOD / SUBSTEPS)
    return samples, np.array([sample.torque[0] for sample in samples])


def test_transmission_damping_is_integrated_without_a_derivative() -> None:
    gain, external = 200.0, 8.0
    samples, torque = simulate_flexible_pendulum(external, 0.2)
    assert np.ptp(torque) > 20.0  # the transmission does oscillate
    with_damping = MomentumObserver(np.array([gain]), np.array([20.0 / 5000.0]))
    without = MomentumObserver(np.array([gain]), np.zeros(1))
    error = error_without = 0.0
    for sample in samples:
        exact = external * (1.0 - np.exp(-gain * max(sample.time - CONTACT_START, 0.0)))
        error = max(error, abs(sample.feed(with_damping)[0] - exact))
        error_without = max(error_without, abs(sample.feed(without)[0] - exact))
    assert error < 0.01 * external
    assert error_without > 0.3 * external


def test_compiled_kernel_equals_its_python_form() -> None:
    random = np.random.default_rng(3)
    names = (
        "gain",
        "momentum",
        "drive",
        "previous_momentum",
        "previous_drive",
        "residual",
        "residual_rate",
        "missed_torque",
    )
    one = named_memory(**dict.fromkeys(names, (5,)))
    for name in names:
        one[name] = random.normal(size=5)
    other = one.copy()
    for period, shortest in ((1e-3, 0.0), (0.0, 0.0), (7e-3, 1e-3), (2e-4, 1e-3)):
        assert _advance(one, period, shortest) == python_form(_advance)(other, period, shortest)
        for name in names:
            assert np.allclose(one[name], other[name], rtol=1e-13)
    one["drive"][2] = np.inf
    assert _advance(one, 1e-3, 0.0) is python_form(_advance)(one, 1e-3, 0.0) is False


def test_torque_between_samples_counts_with_its_mean(contact: list[Sample]) -> None:
    # What a sample of the torque lacks in the trapezoid may come as the mean over its period.
    gain = np.array([30.0, 100.0])
    whole, split = MomentumObserver(gain, np.zeros(2)), MomentumObserver(gain, np.zeros(2))
    spike = np.array([3.0, -2.0])
    for k, sample in enumerate(contact):
        torque = sample.torque + (spike if k == 60 else 0.0)
        arrays = (sample.coriolis_transposed_velocity, sample.gravity, sample.time)
        whole.observe(sample.mass_matrix, sample.velocity, torque, *arrays)
        split.missed_torque[:] = 0.5 * spike if k in (60, 61) else 0.0
        split.observe(sample.mass_matrix, sample.velocity, sample.torque, *arrays)
        assert np.allclose(split.residual, whole.residual, atol=1e-12)


def test_update_allocates_no_arrays() -> None:
    n = 300
    observer = MomentumObserver(np.full(n, 30.0), np.full(n, 1e-3))
    mass, vector = np.eye(n), np.ones(n)
    observer.observe(mass, vector, vector, vector, vector, 0.0)
    peak = peak_memory(lambda k: observer.observe(mass, vector, vector, vector, vector, k * PERIOD), range(1, 50))
    assert observer.advanced
    assert peak < vector.nbytes


@pytest.mark.parametrize(
    ("gain", "damping_over_stiffness", "maximum_gap", "name"),
    [
        ([30.0, 0.0], [0.0, 0.0], 0.05, "gain"),
        ([30.0, -1.0], [0.0, 0.0], 0.05, "gain"),
        ([30.0, np.nan], [0.0, 0.0], 0.05, "gain"),
        ([], [], 0.05, "gain"),
        ([[30.0]], [0.0], 0.05, "gain"),
        ([30.0, 30.0], [0.0], 0.05, "damping_over_stiffness"),
        ([30.0, 30.0], [0.0, -1e-3], 0.05, "damping_over_stiffness"),
        ([30.0, 30.0], [0.0, 0.0], 0.0, "maximum_gap"),
        ([30.0, 30.0], [0.0, 0.0], np.inf, "maximum_gap"),
    ],
)
def test_tuning_outside_the_range_is_refused(
    gain: list[float], damping_over_stiffness: list[float], maximum_gap: float, name: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        MomentumObserver(np.array(gain), np.array(damping_over_stiffness), maximum_gap)
    assert caught.value.name == name
