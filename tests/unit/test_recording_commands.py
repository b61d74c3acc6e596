"""Rates of the commanded torque."""

from __future__ import annotations

import numpy as np

from impact_control.recording.commands import torque_rate


def test_a_step_counts_as_whole_periods_whatever_its_jitter() -> None:
    sent = np.array([0.0, 1.0, 2.0, 4.0, 5.0])
    torque = 3.0 * sent[:, None]
    for jitter in (0.0, 0.4):
        received = sent + jitter * np.array([1.0, -1.0, 0.2, 0.0, -0.5]) / 2.0
        time, rate = torque_rate(received, torque, 1.0)
        np.testing.assert_array_equal(time, received[1:])
        np.testing.assert_allclose(rate, 3.0)


def test_two_commands_received_at_once_are_one_period_apart() -> None:
    _, rate = torque_rate(np.array([0.0, 0.002, 0.002]), np.array([[0.0], [1.0], [2.0]]), 0.001)
    np.testing.assert_allclose(rate, [[500.0], [1000.0]])
