"""Backlash and friction from recordings whose torques are known exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.util.errors import InvalidInputError
from impact_studies.models.observation.backlash_identification import (
    backlash_regressors,
    identify_backlash,
    mean_regressors,
    measure_gap,
)
from impact_studies.models.observation.backlash_model import BacklashModel, transmitted_torque
from impact_studies.models.observation.first_order_filter import low_pass_series

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


def motion(stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Deflections, link and motor velocities (m, 2) from sums of sines.

    Not the motion of any arm: the regression does not ask where a motion comes from.
    """
    rates = np.array([3.1, 7.7, 17.3])
    size = np.array([0.02, 0.007, 0.003])
    deflection, twist_rate, link = np.zeros((3, stamps.size, 2))
    for j in range(2):
        for rate, amplitude, phase in zip(rates * (1.0 + 0.1 * j), size, (0.3, 1.1, 2.0 + j), strict=True):
            deflection[:, j] += amplitude * np.sin(rate * stamps + phase)
            twist_rate[:, j] += amplitude * rate * np.cos(rate * stamps + phase)
            link[:, j] += 20.0 * amplitude * np.cos(0.61 * rate * stamps + 2.0 * phase)
    return deflection, link, link - twist_rate


def torque(model: BacklashModel, deflection: np.ndarray, link: np.ndarray, motor: np.ndarray) -> np.ndarray:
    """tau_L - tau_mu (m, n) of Flacco 2016 (5), (6), corrected, written down on its own."""
    twist = link - motor
    free = model.gap_viscous * twist + model.gap_dry * np.tanh(twist / model.slip_speed)
    free = free + model.link_viscous * link + model.link_dry * np.tanh(link / model.slip_speed)
    held = model.stiffness * (deflection - np.clip(deflection, -model.gap, model.gap)) + model.damping * twist
    held = held + model.motor_viscous * motor + model.motor_dry * np.tanh(motor / model.slip_speed)
    return -np.where(np.abs(deflection) < model.gap, free, held)


def recording(model: BacklashModel = MODEL, duration: float = 6.0, offset: float = 0.0) -> dict[str, np.ndarray]:
    """What is sampled of the motion, and the torque it makes, filtered; offset [rad]: of the measured deflection.

    The torque is integrated in 200 parts of each period, by its middles.
    """
    time = np.arange(round(duration / PERIOD)) * PERIOD
    parts = (np.arange(200) + 0.5) / 200
    means = np.zeros((time.size - 1, 2))
    for part in parts:
        means += torque(model, *motion(time[:-1] + part * PERIOD)) / parts.size
    deflection, link, motor = motion(time)
    return {
        "time": time,
        "deflection": deflection + offset,
        "link_velocity": link,
        "motor_velocity": motor,
        "residual": low_pass_series(time, means, GAIN),
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
        transmitted_torque(MODEL.transmission, state, torque[k])
    for j in range(2):
        columns = backlash_regressors(phi[:, j], dq[:, j], dtheta[:, j], MODEL.gap[j], MODEL.slip_speed)
        np.testing.assert_allclose(columns[:, :8] @ MODEL.coefficients[:, j], torque[:, j], atol=1e-12)


def test_last_regressors_are_the_derivatives_by_gap_and_centre():
    # d/d_alpha of -K (phi -+ alpha), at samples that stay beyond the edge.
    phi = np.array([-0.05, -0.03, 0.03, 0.05])
    zero, step = np.zeros(4), 1e-6

    def spring(gap: float, centre: float) -> np.ndarray:
        return backlash_regressors(phi - centre, zero, zero, gap, 0.01)[:, 0]

    by_gap = (spring(0.02 + step, 0.0) - spring(0.02 - step, 0.0)) / (2.0 * step)
    by_centre = (spring(0.02, step) - spring(0.02, -step)) / (2.0 * step)
    columns = backlash_regressors(phi, zero, zero, 0.02, 0.01)
    np.testing.assert_allclose(columns[:, 8], by_gap, rtol=1e-8)
    np.testing.assert_allclose(columns[:, 9], by_centre, rtol=1e-8)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10000), st.sampled_from([0.02, 0.003, 0.0]))
def test_means_are_those_of_the_motion_between_the_samples(seed, gap):
    """Against the mean of 4000 points of a cubic deflection with velocities that change evenly."""
    random = np.random.default_rng(seed)
    phi = 1.5 * max(gap, 0.005) * random.uniform(-1.0, 1.0, 2)
    dq, dtheta = random.normal(size=(2, 2))
    found = mean_regressors(np.array([0.0, PERIOD]), phi, dq, dtheta, gap, 5.0)[0]
    part = (np.arange(4000) + 0.5) / 4000
    rest, rate = 1.0 - part, PERIOD * (dq - dtheta)
    cubic = rest**2 * (1.0 + 2.0 * part) * phi[0] + part**2 * (1.0 + 2.0 * rest) * phi[1]
    cubic = cubic + rest**2 * part * rate[0] - part**2 * rest * rate[1]
    fine = backlash_regressors(cubic, rest * dq[0] + part * dq[1], rest * dtheta[0] + part * dtheta[1], gap, 5.0)
    np.testing.assert_allclose(found, fine.mean(axis=0), atol=2e-3 * np.ptp(fine, axis=0).max() + 1e-6)


def test_coefficients_come_back(record):
    fit = identify_backlash(**record, gain=GAIN, gap=MODEL.gap)
    # What is left is that velocities do not change evenly between the samples.
    np.testing.assert_allclose(fit.model.coefficients, MODEL.coefficients, rtol=2e-3, atol=1e-9)
    np.testing.assert_allclose(fit.model.gap, MODEL.gap, atol=1e-7)
    np.testing.assert_allclose(fit.centre, 0.0, atol=1e-6)
    np.testing.assert_allclose(fit.reconstructed, record["residual"], atol=2e-3)
    np.testing.assert_allclose(fit.explained, 1.0, atol=1e-6)
    # A joint without a gap has none of the four coefficients that belong to it.
    assert not fit.model.coefficients[2:6, 1].any() and not fit.standard_error[2:6, 1].any()


@settings(deadline=None, max_examples=5)
@given(st.floats(-5e-4, 5e-4), st.floats(-1e-4, 1e-4))
def test_a_measured_gap_and_its_centre_are_corrected(record, error, offset):
    wrong = MODEL.gap + np.array([error, 0.0])
    moved = record | {"deflection": record["deflection"] + offset}
    fit = identify_backlash(**moved, gain=GAIN, gap=wrong)
    assert fit.model.gap[0] == pytest.approx(MODEL.gap[0], abs=2e-6)
    np.testing.assert_allclose(fit.centre, offset, atol=4e-6)
    np.testing.assert_allclose(fit.model.stiffness, MODEL.stiffness, rtol=5e-3)
    kept = identify_backlash(**moved, gain=GAIN, gap=wrong, refine=False)
    assert kept.model.gap[0] == wrong[0] and not kept.centre.any()


def test_what_happens_while_a_link_rests_at_an_edge_is_left_out(record):
    """The torque there is anything between both sides; nothing of it may reach the coefficients."""
    begin, end = 3000, 3200
    resting = {name: array.copy() for name, array in record.items()}
    resting["deflection"][begin:end, 0] = MODEL.gap[0] + 1e-6 * (-1.0) ** np.arange(end - begin)
    # What the filter remembers of an unknown torque, until the end of the recording.
    late = record["time"][begin:] - record["time"][begin]
    resting["residual"][begin:, 0] += 3.0 * np.exp(-GAIN * np.maximum(late - 0.2, 0.0))
    fit = identify_backlash(**resting, gain=GAIN, gap=MODEL.gap, refine=False)
    clean = identify_backlash(**record, gain=GAIN, gap=MODEL.gap, refine=False)
    np.testing.assert_allclose(fit.model.coefficients, clean.model.coefficients, rtol=5e-3)
    seen = identify_backlash(**resting, gain=GAIN, gap=MODEL.gap, refine=False, edge_margin=0.0)
    assert np.abs(seen.model.coefficients[:, 0] / MODEL.coefficients[:, 0] - 1.0).max() > 0.05


def test_standard_errors_are_those_of_the_noise(record):
    random = np.random.default_rng(0)
    found = []
    for _ in range(25):
        noisy = record | {"residual": record["residual"] + 0.05 * random.normal(size=record["residual"].shape)}
        fit = identify_backlash(**noisy, gain=GAIN, gap=MODEL.gap, refine=False)
        found.append(fit.model.coefficients)
    spread = np.std(found, axis=0, ddof=1)
    present = MODEL.coefficients > 0.0
    # 25 draws know a standard deviation to within 14 %.
    np.testing.assert_allclose(spread[present] / fit.standard_error[present], 1.0, atol=0.6)
    mean = np.mean(found, axis=0)
    assert np.all(np.abs(mean - MODEL.coefficients)[present] < 5.0 * fit.standard_error[present] / np.sqrt(25))


def test_regressors_have_to_pass_the_filter_of_the_residual(record):
    # Errata to (10), (11): with a filter of another rate the same data give other coefficients.
    fit = identify_backlash(**record, gain=1e4, gap=MODEL.gap, refine=False)
    assert np.abs(fit.model.coefficients[:, 0] / MODEL.coefficients[:, 0] - 1.0).max() > 0.1


def test_motor_torque_alone_leaves_friction_to_be_found():
    soft = BacklashModel(MODEL.gap, *(MODEL.coefficients * np.array([0, 0, 1, 1, 1, 1, 1, 1])[:, None]))
    fit = identify_backlash(**recording(soft), gain=GAIN, gap=MODEL.gap, spring=False)
    np.testing.assert_allclose(fit.model.coefficients, soft.coefficients, rtol=2e-3, atol=1e-9)
    assert not fit.centre.any()


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
    with pytest.raises(InvalidInputError, match="edge_margin"):
        identify_backlash(**record, gain=GAIN, gap=MODEL.gap, edge_margin=-1e-5)
    with pytest.raises(InvalidInputError, match="average"):
        measure_gap(record["deflection"], record["deflection"], average=0)
    for wrong in (record["deflection"] * np.nan, record["deflection"][:-1]):
        with pytest.raises(InvalidInputError, match="motor_position"):
            measure_gap(record["deflection"], wrong)
    with pytest.raises(InvalidInputError, match="gap"):
        identify_backlash(**record, gain=GAIN, gap=-MODEL.gap)
    with pytest.raises(InvalidInputError, match="gain"):
        identify_backlash(**record, gain=np.nan, gap=MODEL.gap)
