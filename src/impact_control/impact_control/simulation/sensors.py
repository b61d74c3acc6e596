"""Joint measurements as a Franka reports them: noisy samples at 1 kHz."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from impact_control.robots import SensorNoise
from impact_control.scenario import Simulation
from impact_control.simulation.scene_bodies import SimulatedArm
from impact_control.util.checks import checked_count
from impact_control.util.types import Vector

_RUNS = np.repeat((1, 2, 3, 4, 6, 7, 11), (1785, 80, 35, 9, 1, 1, 1))
"""Lengths of the runs of repeated samples in 20 s of a Panda (Gaz et al. 2019) and 11 s of a teleoperated FR3."""


@dataclass(frozen=True)
class Measurement:
    """One sample: position [rad], velocity [rad/s] and torque [Nm] of the joints, each (n,)."""

    position: Vector
    velocity: Vector
    torque: Vector


class Sensors:
    """Adds the measured noise of a Panda, Proper 2021 (3.5), to the state of an arm.

    Zero-mean Gaussian with three standard deviations equal to the published half-width, clipped at it
    (see Errata). The torque noise is not in (3.5): see the robot's data file.
    """

    def __init__(self, noise: SensorNoise, scale: float, seed: int, delay: int = 0, repeats: float = 0.0) -> None:
        """Scale 0 gives exact samples, 1 the published noise. The seed makes a run repeatable.

        delay: whole samples by which the measurements lag behind; until then the first one is repeated. It also
        delays the detection of impacts, as the processing of the measurements does in Proper 2021, section 3.3.1.
        repeats: share of the samples that repeat the one before, in runs as recordings have them. Raises
        InvalidInputError.
        """
        Simulation.require(noise=scale, repeats=repeats)
        past = checked_count("measurement delay", delay, 0)
        self._past: deque[tuple[Vector, Vector, Vector]] = deque(maxlen=past + 1)
        self._half_widths = (noise.position * scale, noise.velocity * scale, noise.torque * scale)
        self._random = np.random.default_rng(seed)
        # A stream of its own: repeats change no noise.
        self._repeating = np.random.default_rng((seed, 1))
        self._begins = repeats / (1.0 - repeats) / float(np.mean(_RUNS))
        self._left = 0
        self._last: Measurement | None = None

    def measure(self, arm: SimulatedArm) -> Measurement:
        """Sample an arm, once a period; all arrays are new, but in a repeated sample."""
        self._past.append((arm.link_position.copy(), arm.link_velocity.copy(), arm.joint_torque))
        if self._left > 0 and self._last is not None:
            self._left -= 1
            return self._last
        exact = self._past[0]
        standard = self._random.standard_normal((3, exact[0].size))
        np.clip(standard, -3.0, 3.0, out=standard)
        self._last = Measurement(
            *(
                values + half_width / 3.0 * noise
                for values, half_width, noise in zip(exact, self._half_widths, standard, strict=True)
            )
        )
        if self._begins > 0.0 and self._repeating.random() < self._begins:
            self._left = int(self._repeating.choice(_RUNS))
        return self._last
