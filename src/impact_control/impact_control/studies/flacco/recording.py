"""Links behind motors under a position loop, simulated and recorded as they are measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from impact_control.observation import BacklashModel
from impact_control.studies.flacco.joint_kernel import advance_joints
from impact_control.types import Matrix, Vector

PERIOD = 1e-3
"""[s] of the samples and of the control."""

_STEPS = 50
"""Integration steps in a period: 20 us, a fifteenth of the shortest time constant, the dry friction of joint 7."""

POSITION_NOISE, LINK_VELOCITY_NOISE, MOTOR_VELOCITY_NOISE = 2e-5, 1.7e-3, 6.7e-3
"""[rad], [rad/s] standard deviations: encoders of 17 bit; velocities as in Proper 2021 (3.5), a third of its widths."""

Motion = Callable[[float], tuple[Vector, Vector]]
"""Time [s] to wanted motor position [rad] and velocity [rad/s], each (n,)."""

Load = Callable[[float, Vector, Vector], Vector]
"""Time [s], link position [rad] and motor position [rad] to external joint torque (n,) [Nm]."""


class Sample(NamedTuple):
    """What is measured at a time [s], each (n,): see `Recording`; mass_matrix (n, n)."""

    time: float
    position: Vector
    motor_position: Vector
    velocity: Vector
    motor_velocity: Vector
    motor_torque: Vector
    mass_matrix: Matrix
    coriolis_transposed_velocity: Vector
    gravity: Vector


Watch = Callable[[Sample], None]
"""Is given each sample once the motors have their torques for it: what it changes in the motion counts in the next."""


@dataclass(frozen=True, eq=False)
class Recording:
    """What is measured of a run, sample by sample, and the truth.

    time (m,) [s]; position, motor_position [rad], velocity, motor_velocity [rad/s]: q, theta, dq, dtheta (m, n),
    noisy; motor_torque (m, n) [Nm], constant from a sample to the next. At the measured state mass_matrix (m, n, n)
    [kg m^2], coriolis_transposed_velocity and gravity (m, n) [Nm]. True: deflection q - theta (m, n) [rad] and
    external_torque (m, n) [Nm].
    """

    time: Vector
    position: Matrix
    motor_position: Matrix
    velocity: Matrix
    motor_velocity: Matrix
    motor_torque: Matrix
    mass_matrix: Matrix
    coriolis_transposed_velocity: Matrix
    gravity: Matrix
    deflection: Matrix
    external_torque: Matrix

    def sample(self, k: int) -> Sample:
        """Return what was measured in sample k."""
        return Sample(
            self.time[k],
            self.position[k],
            self.motor_position[k],
            self.velocity[k],
            self.motor_velocity[k],
            self.motor_torque[k],
            self.mass_matrix[k],
            self.coriolis_transposed_velocity[k],
            self.gravity[k],
        )


class Mechanism(Protocol):
    """The rigid-body terms of n links, and the motors with their position loop.

    motor_inertia (n,) [kg m^2] behind the gear; position_gain (n,) [Nm/rad] and velocity_gain (n,) [Nm s/rad].
    """

    motor_inertia: Vector
    position_gain: Vector
    velocity_gain: Vector

    def update(self, q: Vector, dq: Vector) -> None:
        """Compute the terms below at q (n,) [rad], dq (n,) [rad/s]."""

    @property
    def mass_matrix(self) -> Matrix:
        """M (n, n) [kg m^2] of the links, a new array."""

    @property
    def coriolis(self) -> Vector:
        """C dq (n,) [Nm], a new array."""

    @property
    def coriolis_transposed_velocity(self) -> Vector:
        """C^T dq (n,) [Nm], a new array."""

    @property
    def gravity(self) -> Vector:
        """g (n,) [Nm], a new array."""


def simulate(
    mechanism: Mechanism,
    joints: BacklashModel,
    motion: Motion,
    load: Load,
    duration: float,
    random: np.random.Generator,
    *,
    noise: float = 1.0,
    watch: Watch | None = None,
) -> Recording:
    """Return what is recorded while the motors follow `motion` for `duration` [s] under the external torque `load`.

    The motors carry the weight of the wanted posture and correct the rest. Links start at the motors. noise: of the
    sensors, 1 as stated above.
    """
    count = round(duration / PERIOD) + 1
    wanted, rate = motion(0.0)
    n = wanted.size
    state = np.vstack([wanted, wanted, rate, rate])
    scatter = noise * np.array([POSITION_NOISE, POSITION_NOISE, LINK_VELOCITY_NOISE, MOTOR_VELOCITY_NOISE])[:, None]
    measured, torques, external = np.zeros((count, 4, n)), np.zeros((count, n)), np.zeros((count, n))
    masses, transposed, weights = np.zeros((count, n, n)), np.zeros((count, n)), np.zeros((count, n))
    recording = Recording(
        time=np.arange(count, dtype=np.float64) * PERIOD,
        position=measured[:, 0],
        motor_position=measured[:, 1],
        velocity=measured[:, 2],
        motor_velocity=measured[:, 3],
        motor_torque=torques,
        mass_matrix=masses,
        coriolis_transposed_velocity=transposed,
        gravity=weights,
        deflection=np.zeros((count, n)),
        external_torque=external,
    )
    for k in range(count):
        time = k * PERIOD
        sample = state + scatter * random.standard_normal((4, n))
        mechanism.update(sample[0], sample[2])
        measured[k], masses[k], weights[k] = sample, mechanism.mass_matrix, mechanism.gravity
        transposed[k] = mechanism.coriolis_transposed_velocity
        wanted, rate = motion(time)
        torques[k] = mechanism.position_gain * (wanted - sample[1]) + mechanism.velocity_gain * (rate - sample[3])
        mechanism.update(wanted, rate)
        torques[k] += mechanism.gravity
        if watch is not None:
            watch(recording.sample(k))
        external[k] = load(time, state[0], state[1])
        recording.deflection[k] = state[0] - state[1]
        mechanism.update(state[0] + 0.5 * PERIOD * state[2], state[2])
        advance_joints(
            joints.gap,
            joints.coefficients,
            joints.slip_speed,
            mechanism.motor_inertia,
            np.asarray(np.linalg.inv(mechanism.mass_matrix), dtype=np.float64),
            external[k] - mechanism.coriolis - mechanism.gravity,
            torques[k],
            state,
            PERIOD / _STEPS,
            _STEPS,
        )
    return recording
