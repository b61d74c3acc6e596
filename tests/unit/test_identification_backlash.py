"""Backlash and friction from recordings whose torques are known exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.errors import InvalidInputError
from impact_control.identification.backlash import backlash_regressors, identify_backlash, measure_gap
from impact_control.observation import BacklashModel
from impact_control.observation.backlash_model import missed_torque, transmitted_torque
from impact_control.observation.first_order_filter import low_pass_series

PERIOD, GAIN = 1e-3, 100.0
MODEL = BacklashModel(
    gap=np.array([0.02, 0.0]),
    stiffness=np.array([900.0, 400.0]),
    damping=np.array([5.0, 2.0]),
    gap_viscous=np.array([0.08, 0.0]),
    gap_dry=np.array([0.1, 0.0]),
    link_viscous=np.array([0.15, 0.0]),
    link_dry=np.array([0.12, 0.0]),
    motor_viscous=np.array([0.4, 0.2]),
    motor_dry=np.array([0.5, 0.1]),
)


def recording(model: BacklashModel = MODEL, duration: float = 8.0) -> dict[str, np.ndarray]:
    """Deflections and velocities of two joints from sums of sines, and the torque they make, filtered.

    Not the motion of any arm: the regression does not ask where a motion comes from.
    """
    time = np.arange(round(duration / PERIOD)) * PERIOD
    rates = np.array([3.1, 7.7, 17.3])
    size = np.array([0.02, 0.007, 0.003])
    deflection, twist_rate, link = np.zeros((3, time.size, 2))
    for j in range(2):
        for rate, amplitude, phase in zip(rates * (1.0 + 0.1 * j), size, (0.3, 1.1, 2.0 + j), strict=True):
            deflection[:, j] += amplitude * np.sin(rate * time + phase)
            twist_rate[:, j] += amplitude * rate * np.cos(rate * time + phase)
            link[:, j] += 20.0 * amplitude * np.cos(0.61 * rate * time + 2.0 * phase)
    motor = link - twist_rate
    torque, missed = np.zeros((2, time.size, 2))
    states = np.stack([deflection, link, motor, np.zeros_like(link)], axis=1)
    for k in range(time.size):
        joints = (model.gap, model.coefficients, model.slip_speed)
        transmitted_torque(*joints, states[k], torque[k])
        missed_torque(*joints, states[k - 1], states[k], missed[k])
    residual = low_pass_series(time, 0.5 * (torque[1:] + torque[:-1]) + missed[1:], GAIN)
    return {
        "time": time,
        "deflection": deflection,
        "link_velocity": link,
        "motor_velocity": motor,
        "residual": residual,
    }


@pytest.fixture(scope="module")
def record() -> dict[str, np.ndarray]:
    return recording()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10000))
def test_regressors_times_coefficients_are_the_torque_of_the_model(seed):
    random = np.random.default_rng(seed)
    phi, dq, dtheta = 0.03 * random.normal(size=(3, 40, 2))
    torque = np.empty((40, 2))
    for k in range(40):
        state = np.array([phi[k], dq[k], dtheta[k], np.zeros(2)])
        transmitted_torque(MODEL.gap, MODEL.coefficients, MODEL.slip_speed, state, torque[k])
    for j in range(2):
        columns = backlash_regressors(phi[:, j], dq[:, j], dtheta[:, j], MODEL.gap[j], MODEL.slip_speed)
        np.testing.assert_allclose(columns[:, :8] @ MODEL.coefficients[:, j], torque[:, j], atol=1e-12)


def test_last_regressor_is_the_derivative_by_the_gap():
    # d/d_alpha of -K (phi -+ alpha), at samples that stay beyond the edge.
    phi = np.array([-0.05, -0.03, 0.03, 0.05])
    zero, step = np.zeros(4), 1e-6

    def spring(gap: float) -> np.ndarray:
        return backlash_regressors(phi, zero, zero, gap, 0.01)[:, 0]

    slope = (spring(0.02 + step) - spring(0.02 - step)) / (2.0 * step)
    np.testing.assert_allclose(backlash_regressors(phi, zero, zero, 0.02, 0.01)[:, 8], slope, rtol=1e-8)


def test_coefficients_come_back(record):
    fit = identify_backlash(**record, gain=GAIN, gap=MODEL.gap)
    np.testing.assert_allclose(fit.model.coefficients, MODEL.coefficients, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fit.model.gap, MODEL.gap, atol=1e-9)
    np.testing.assert_allclose(fit.reconstructed, record["residual"], atol=1e-7)
    np.testing.assert_allclose(fit.explained, 1.0)
    # A joint without a gap has none of the four coefficients that belong to it.
    assert not fit.model.coefficients[2:6, 1].any() and not fit.standard_error[2:6, 1].any()


@settings(deadline=None, max_examples=8)
@given(st.floats(-5e-4, 5e-4))
def test_a_measured_gap_is_corrected(record, error):
    wrong = MODEL.gap + np.array([error, 0.0])
    fit = identify_backlash(**record, gain=GAIN, gap=wrong)
    assert fit.model.gap[0] == pytest.approx(MODEL.gap[0], abs=2e-6)
    assert fit.model.stiffness[0] == pytest.approx(MODEL.stiffness[0], rel=5e-3)
    kept = identify_backlash(**record, gain=GAIN, gap=wrong, refine_gap=False)
    assert kept.model.gap[0] == wrong[0]


def test_standard_errors_are_those_of_the_noise(record):
    random = np.random.default_rng(0)
    found = []
    for _ in range(25):
        noisy = record | {"residual": record["residual"] + 0.05 * random.normal(size=record["residual"].shape)}
        fit = identify_backlash(**noisy, gain=GAIN, gap=MODEL.gap, refine_gap=False)
        found.append(fit.model.coefficients)
    spread = np.std(found, axis=0, ddof=1)
    present = MODEL.coefficients > 0.0
    # 25 draws know a standard deviation to within 14 %.
    np.testing.assert_allclose(spread[present] / fit.standard_error[present], 1.0, atol=0.6)
    mean = np.mean(found, axis=0)
    assert np.all(np.abs(mean - MODEL.coefficients)[present] < 5.0 * fit.standard_error[present] / np.sqrt(25))


def test_regressors_have_to_pass_the_filter_of_the_residual(record):
    # Errata to (10), (11): with a filter of another rate the same data give other coefficients.
    fit = identify_backlash(**record, gain=1e4, gap=MODEL.gap, refine_gap=False)
    assert np.abs(fit.model.coefficients[:, 0] / MODEL.coefficients[:, 0] - 1.0).max() > 0.1


def test_motor_torque_alone_leaves_friction_to_be_found():
    soft = BacklashModel(MODEL.gap, *(MODEL.coefficients * np.array([0, 0, 1, 1, 1, 1, 1, 1])[:, None]))
    fit = identify_backlash(**recording(soft), gain=GAIN, gap=MODEL.gap, spring=False)
    np.testing.assert_allclose(fit.model.coefficients, soft.coefficients, rtol=1e-6, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(
    st.floats(1e-3, 0.05), st.floats(-0.1, 0.1), st.floats(0.0, 5e-5), st.integers(0, 1000), st.sampled_from([1, 20])
)
def test_gap_is_half_the_range_by_hand(gap, centre, noise, seed, average):
    random = np.random.default_rng(seed)
    time = np.arange(6000) * PERIOD
    motor = 0.3 + 1e-3 * np.sin(time)
    # Pushed further than the gap goes: it stays at its edges for a while.
    free = np.clip(1.3 * gap * np.sin(2.0 * time), -gap, gap)
    link = motor + centre + free
    noisy = noise * random.normal(size=(2, time.size, 1))
    found = measure_gap(link[:, None] + noisy[0], motor[:, None] + noisy[1], average=average)
    # Each edge is passed by the largest of thousands of averages: some 4 standard deviations.
    tolerance = 5.0 * np.sqrt(2.0 / average) * noise + 1e-12
    assert found.gap[0] == pytest.approx(gap, abs=tolerance)
    assert found.centre[0] == pytest.approx(centre, abs=tolerance)


def test_motions_that_do_not_tell_are_refused(record):
    inside = record | {"deflection": 0.1 * record["deflection"]}
    with pytest.raises(InvalidInputError, match="joint 1"):
        identify_backlash(**inside, gain=GAIN, gap=MODEL.gap)
    still = record | {"motor_velocity": np.zeros_like(record["motor_velocity"])}
    with pytest.raises(InvalidInputError, match="motion"):
        identify_backlash(**still, gain=GAIN, gap=MODEL.gap)


@pytest.mark.parametrize("name", ["deflection", "link_velocity", "motor_velocity", "residual"])
def test_recordings_that_do_not_fit_are_refused(record, name):
    for wrong in (record[name][:-1], np.full_like(record[name], np.nan)):
        with pytest.raises(InvalidInputError, match=name):
            identify_backlash(**(record | {name: wrong}), gain=GAIN, gap=MODEL.gap)
    with pytest.raises(InvalidInputError, match="average"):
        measure_gap(record["deflection"], record["deflection"], average=0)
    with pytest.raises(InvalidInputError, match="positions"):
        measure_gap(record["deflection"] * np.nan, record["deflection"])
