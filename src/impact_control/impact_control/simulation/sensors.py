"""Joint measurements as a Franka reports them: noisy samples at 1 kHz, some repeated, lost or stamped a little off."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_control.robots import SensorNoise
from impact_control.scenario import Simulation
from impact_control.simulation.scene_bodies import SimulatedArm
from impact_control.util.checks import checked_count
from impact_control.util.types import Vector

_REPEATED = np.repeat((1, 2, 3, 4, 6, 7, 11), (1785, 80, 35, 9, 1, 1, 1))
"""Lengths of the runs of repeated samples in 20 s of a Panda (Gaz et al. 2019) and 11 s of a teleoperated FR3."""

_LOST = np.repeat((1, 2, 3, 8), (130, 8, 2, 4))
"""The same of samples that are missing there."""


@dataclass(frozen=True)
class Measurement:
    """One sample: position [rad], velocity [rad/s] and torque [Nm] of the joints, each (n,)."""

    position: Vector
    velocity: Vector
    torque: Vector


class _Runs:
    """Runs of samples that have something in common, a share of all; their lengths are those of recordings."""

    def __init__(self, share: float, lengths: NDArray[np.int64], random: np.random.Generator) -> None:
        self._lengths, self._random = lengths, random
        self._begins = share / (1.0 - share) / float(np.mean(lengths))
        self._left = 0

    def take(self) -> bool:
        """Return whether the next sample is in a run."""
        if self._left > 0:
            self._left -= 1
            return True
        if self._begins > 0.0 and self._random.random() < self._begins:
            self._left = int(self._random.choice(self._lengths))
        return False


class Sensors:
    """Adds the measured noise of a Panda, Proper 2021 (3.5), to the state of an arm.

    Zero-mean Gaussian with three standard deviations equal to the published half-width, clipped at it
    (see Errata). The torque noise is not in (3.5): see the robot's data file. With `noise_correlation` c the noise of
    velocity and torque is n[k] = c n[k-1] + sqrt(1 - c^2) w[k], with w white and the same deviations.

    Attributes of the last measurement: lost, True for one that does not arrive; late, by which its stamp is off [s].
    """

    def __init__(
        self,
        noise: SensorNoise,
        scale: float,
        seed: int,
        delay: int = 0,
        repeats: float = 0.0,
        *,
        correlation: float = 0.0,
        gaps: float = 0.0,
        jitter: float = 0.0,
    ) -> None:
        """Scale 0 gives exact samples, 1 the published noise. The seed makes a run repeatable.

        delay: whole samples by which the measurements lag behind; until then the first one is repeated. It also
        delays the detection of impacts, as the processing of the measurements does in Proper 2021, section 3.3.1.
        repeats, gaps: shares of the samples that repeat the one before, and that are lost, in runs as recordings have
        them. correlation: c. jitter: standard deviation of the stamps [s], clipped at twice that. Raises
        InvalidInputError.
        """
        Simulation.require(noise=scale, repeats=repeats, noise_correlation=correlation, gaps=gaps, jitter=jitter)
        past = checked_count("measurement delay", delay, 0)
        self._past: deque[tuple[Vector, Vector, Vector]] = deque(maxlen=past + 1)
        self._half_widths = (noise.position * scale, noise.velocity * scale, noise.torque * scale)
        self._random = np.random.default_rng(seed)
        self._correlation, self._noise = np.array([0.0, correlation, correlation])[:, None], np.zeros((3, 1))
        # Streams of their own: they change no noise.
        self._repeated = _Runs(repeats, _REPEATED, np.random.default_rng((seed, 1)))
        self._lost = _Runs(gaps, _LOST, np.random.default_rng((seed, 2)))
        self._jitter, self._clock = jitter, np.random.default_rng((seed, 3))
        self._last: Measurement | None = None
        self.lost, self.late = False, 0.0

    def measure(self, arm: SimulatedArm) -> Measurement:
        """Sample an arm, once a period; all arrays are new, but in a repeated sample."""
        self._past.append((arm.link_position.copy(), arm.link_velocity.copy(), arm.joint_torque))
        self.lost = self._lost.take()
        if self._jitter > 0.0:
            self.late = self._jitter * float(np.clip(self._clock.standard_normal(), -2.0, 2.0))
        if self._repeated.take() and self._last is not None:
            return self._last
        exact = self._past[0]
        white = self._random.standard_normal((3, exact[0].size))
        if self._last is None:
            self._noise = white
        else:
            self._noise = self._correlation * self._noise + np.sqrt(1.0 - self._correlation**2) * white
        self._last = Measurement(
            *(
                values + half_width / 3.0 * noise
                for values, half_width, noise in zip(
                    exact, self._half_widths, np.clip(self._noise, -3.0, 3.0), strict=True
                )
            )
        )
        return self._last
