"""Observer and detector in series on the Panda: a contact on link 4, in fast motion."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.detection import ImpactDetector
from impact_control.observation import MomentumObserver
from impact_control.robots import Dynamics, load_robot

PERIOD = 1e-3
SUBSTEPS = 3
GAIN = 40.0
# A contact on link 4 leaves joints 5 to 7 alone.
CONTACT_TORQUE = np.array([12.0, -15.0, 9.0, 10.0, 0.0, 0.0, 0.0])
FIRST_CONTACT, SECOND_CONTACT = 0.0604, 0.0904  # between two samples

Record = tuple[np.ndarray, np.ndarray]  # positions (k, 7), velocities (k, 7)


def motor_torque(time: float) -> np.ndarray:
    return np.array([20.0, -40.0, 15.0, 20.0, 3.0, -2.0, 1.0]) * np.cos(25.0 * time + np.arange(7))


def external_torque(time: float) -> np.ndarray:
    return CONTACT_TORQUE * (float(time > FIRST_CONTACT) + float(time > SECOND_CONTACT))


@pytest.fixture(scope="module")
def dynamics() -> Dynamics:
    return Dynamics(load_robot("panda"))


@pytest.fixture(scope="module")
def record(dynamics: Dynamics) -> Record:
    """The rigid arm, integrated by the midpoint rule; gravity is compensated at the start only."""
    q = np.array([0.1, 0.4, -0.2, -1.8, 0.3, 2.2, 0.7])
    dq = np.array([1.0, -1.2, 0.8, 1.5, -1.0, 1.2, 2.0])
    dynamics.compute(q, dq)
    hold = dynamics.gravity.copy()

    def acceleration(time: float, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        dynamics.compute(q, dq)
        torque = hold + motor_torque(time) + external_torque(time)
        return np.linalg.solve(dynamics.mass_matrix, torque - dynamics.nonlinear)

    positions, velocities = [], []
    step = PERIOD / SUBSTEPS
    for k in range(130 * SUBSTEPS):
        if k % SUBSTEPS == 0:
            positions.append(q)
            velocities.append(dq)
        middle = k * step + step / 2
        half_dq = dq + step / 2 * acceleration(k * step, q, dq)
        ddq = acceleration(middle, q + step / 2 * dq, half_dq)
        q, dq = q + step * half_dq, dq + step * ddq
    return np.array(positions), np.array(velocities)


def exact_residual(time: float) -> np.ndarray:
    since = np.maximum(time - np.array([FIRST_CONTACT, SECOND_CONTACT]), 0.0)
    return CONTACT_TORQUE * (1.0 - np.exp(-GAIN * since)).sum()


def test_contact_on_a_link_is_estimated_detected_twice_and_isolated(dynamics: Dynamics, record: Record) -> None:
    lost = {20, 21, 47, 61, 75, 92, 93}
    positions, velocities = record
    dynamics.compute(positions[0], velocities[0])
    hold = dynamics.gravity.copy()
    observer = MomentumObserver(np.full(7, GAIN), np.zeros(7))
    detector = ImpactDetector(np.full(7, 100.0), 0.01)
    events = []
    for k in range(len(positions)):
        if k in lost:
            continue
        time = k * PERIOD
        dynamics.compute(positions[k], velocities[k])
        dynamics.compute_momentum_terms()
        residual = observer.observe(
            dynamics.mass_matrix,
            velocities[k],
            hold + motor_torque(time),
            dynamics.coriolis_transposed_velocity,
            dynamics.gravity,
            time,
        )
        assert np.abs(residual - exact_residual(time)).max() < 0.01 * np.abs(CONTACT_TORQUE).max()
        if detector.detect(observer.residual_rate, time):
            events.append((time, detector.impact_time, detector.isolated_link))
    assert np.abs(velocities).max() > 2.0
    assert [event[0] for event in events] == pytest.approx([0.062, 0.091])  # sample 61 was lost
    assert [event[1] for event in events] == pytest.approx([0.061, 0.0905])
    assert abs(events[0][1] - FIRST_CONTACT) <= PERIOD and abs(events[1][1] - SECOND_CONTACT) <= PERIOD / 2
    assert [event[2] for event in events] == [4, 4]
