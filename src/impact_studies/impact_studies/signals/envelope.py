"""The signal envelope on a sine that decays, on joint velocities after an impact, and on their error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.classification.envelope import SignalEnvelope
from impact_control.util.types import Matrix, Vector
from impact_studies.classification.sweep import SPHERE
from impact_studies.classification.trial import SweepPoint, run_point, unpack
from impact_studies.three_plants.course import ANGLE, DISTANCE

WINDOW, DECAY = 3, 7.0
"""m and a [1/s] of Fig. 4.4."""

SINE_PERIOD, SINE_TIME, SINE_RATE = 0.01, 2.0, 1.5
"""[s, s, 1/s] Samples, length and decay of our sine: the source does not give its own."""

SINE_FREQUENCY = 5.0
"""[Hz] of the sine that is shown."""

SINE_FREQUENCIES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0)
"""[Hz] of those that are tried."""

JOINT_WINDOW, JOINT_DECAY, MARGIN = 20, 40.0, 0.03
"""m, a [1/s], e_eta [rad/s] of Figs 4.6 and 4.8: inside pictures there; our choice, made before the first run."""

BEFORE, AFTER = 0.02, 0.1
"""[s] of the velocities that are shown and judged, about the detection of the impact."""


@dataclass(frozen=True)
class EnvelopeCase:
    """An impact of the sphere on a surface with a tilt [deg] that is not expected; seed of the noise."""

    tilt: float
    seed: int


@dataclass(frozen=True, eq=False)
class Enveloped:
    """Samples (m,) about the detection of the impact; time (m,) [s] from it.

    velocity, reference (m, 3) [rad/s]: measured and (4.11); lower, upper (m, 3): envelope of the velocity (4.22);
    error_lower, error_upper (m, 3): of the error (4.26).
    """

    time: Vector
    velocity: Matrix
    reference: Matrix
    lower: Matrix
    upper: Matrix
    error_lower: Matrix
    error_upper: Matrix

    @property
    def outside(self) -> NDArray[np.bool_]:
        """Violation of (4.23) by joint: the reference leaves the envelope of the velocity; (m, 3)."""
        return np.asarray((self.reference < self.lower) | (self.reference > self.upper)) & self._after

    @property
    def unexpected(self) -> NDArray[np.bool_]:
        """Violation of (4.27) by joint: the envelope of the error and its margin leave zero; (m, 3)."""
        return np.asarray((self.error_lower - MARGIN > 0.0) | (self.error_upper + MARGIN < 0.0)) & self._after

    @property
    def _after(self) -> NDArray[np.bool_]:
        return np.asarray(self.time >= 0.0)[:, None]


def envelope(signal: Matrix, window: int, decay: float, period: float) -> tuple[Matrix, Matrix]:
    """Return the bounds (m, n) of a signal (m, n): Proper 2021 (4.20)."""
    filtered = SignalEnvelope(window, decay, signal.shape[1])
    bounds = np.empty((2, *signal.shape))
    for k, sample in enumerate(signal):
        filtered.filter(sample, period)
        bounds[0, k], bounds[1, k] = filtered.lower, filtered.upper
    return bounds[0], bounds[1]


def decaying_sine(frequency: float = SINE_FREQUENCY) -> tuple[Vector, Vector, Vector, Vector]:
    """Return time [s], an underdamped response to a step of 1 with a frequency [Hz], and its envelope, each (m,)."""
    time = np.arange(0.0, SINE_TIME, SINE_PERIOD)
    signal = 1.0 - np.exp(-SINE_RATE * time) * np.cos(2.0 * np.pi * frequency * time)
    lower, upper = envelope(signal[:, None], WINDOW, DECAY, SINE_PERIOD)
    return time, signal, lower[:, 0], upper[:, 0]


def encloses(frequency: float) -> tuple[bool, bool]:
    """Check that the envelope of a sine [Hz] holds the sine, and from its first overshoot on its centre."""
    _, signal, lower, upper = decaying_sine(frequency)
    after = slice(int(np.argmax(signal >= 1.0)), None)
    holds_signal = np.all((lower <= signal) & (signal <= upper))
    return bool(holds_signal), bool(np.all((lower[after] <= 1.0) & (upper[after] >= 1.0)))


def impact(case: EnvelopeCase) -> Mapping[str, NDArray[Any]]:
    """Simulate an impact and return the arrays of `Enveloped`."""
    point = SweepPoint(SPHERE, ANGLE, DISTANCE, (case.tilt,), case.seed)
    (trial,) = unpack(point, run_point(point))
    period = float(np.median(np.diff(trial.time)))
    lower, upper = envelope(trial.velocity, JOINT_WINDOW, JOINT_DECAY, period)
    error_lower, error_upper = envelope(trial.velocity - trial.reference, JOINT_WINDOW, JOINT_DECAY, period)
    time = trial.time - trial.time[trial.impact_samples[0]]
    shown = (time >= -BEFORE - 1e-9) & (time <= AFTER + 1e-9)
    arrays = {"time": time, "velocity": trial.velocity, "reference": trial.reference, "lower": lower, "upper": upper}
    arrays |= {"error_lower": error_lower, "error_upper": error_upper}
    return {name: values[shown] for name, values in arrays.items()}
