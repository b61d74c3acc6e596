"""Dynamics of links driven through a backlash, with the friction of Flacco 2016 (6).

The plants of `simulation` carry the friction of a Panda, which is not that of (6); therefore this one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from impact_control.robots import Dynamics, RobotDescription, load_robot
from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector
from impact_studies.models.observation.backlash_model import (
    DEFLECTION,
    LINK_VELOCITY,
    LINK_VISCOUS,
    MOTOR_VELOCITY,
    BacklashModel,
    Transmission,
    transmitted_torque,
)

PERIOD = 1e-3
"""[s] of the samples and of the control."""

_STEPS = 50
"""Integration steps in a period: 20 us, a fifteenth of the shortest time constant, the dry friction of joint 7."""


@compiled
def advance_joints(
    joints: Transmission,
    motor_inertia: Vector,
    inverse_inertia: Matrix,
    load: Vector,
    motor_torque: Vector,
    state: Matrix,
) -> None:
    """Advance state (4, n), rows q, theta, dq, dtheta, by a period with the symplectic Euler scheme.

    inverse_inertia: M^-1 (n, n); load: external torque less C dq + g (n,) [Nm]; both held. The link gets what the
    transmission gives it. The motor feels spring and damper, and in the gap the friction between the two, but neither
    the friction on the link there nor that of (6) beyond the gap, which (7) lets act on the link.
    """
    gap, coefficients, slip_speed = joints
    n = gap.size
    step = PERIOD / _STEPS
    q, theta, dq, dtheta = state
    transmitted, reaction = np.zeros((2, n))
    sample = np.zeros((4, n))
    mutual = coefficients.copy()
    mutual[LINK_VISCOUS:] = 0.0
    for _ in range(_STEPS):
        for i in range(n):
            sample[DEFLECTION, i] = q[i] - theta[i]
            sample[LINK_VELOCITY, i], sample[MOTOR_VELOCITY, i] = dq[i], dtheta[i]
        transmitted_torque(joints, sample, transmitted)
        transmitted_torque((gap, mutual, slip_speed), sample, reaction)
        for i in range(n):
            acceleration = 0.0
            for j in range(n):
                acceleration += inverse_inertia[i, j] * (transmitted[j] + load[j])
            dq[i] += step * acceleration
            dtheta[i] += step * (motor_torque[i] - reaction[i]) / motor_inertia[i]
        for i in range(n):
            q[i] += step * dq[i]
            theta[i] += step * dtheta[i]


POSITION_NOISE, LINK_VELOCITY_NOISE, MOTOR_VELOCITY_NOISE = 2e-5, 1.7e-3, 6.7e-3
"""[rad], [rad/s] standard deviations: encoders of 17 bit; velocities as in Proper 2021 (3.5), a third of its widths."""

Motion = Callable[[float], tuple[Vector, Vector]]
"""Time [s] to desired motor position [rad] and velocity [rad/s], each (n,)."""

Load = Callable[[float, Vector, Vector], Vector]
"""Time [s], link position [rad] and motor position [rad] to external joint torque (n,) [Nm]."""


class Sample(NamedTuple):
    """Measurements at a time [s], each (n,): see `Recording`; mass_matrix (n, n)."""

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
    """Measurements of a run, sample by sample, and the truth.

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
        return Sample(*(getattr(self, name)[k] for name in Sample._fields))


class Mechanism(Protocol):
    """The rigid-body terms of n links, and the motors with their position loop.

    motor_inertia (n,) [kg m^2] behind the gear; position_gain (n,) [Nm/rad] and velocity_gain (n,) [Nm s/rad].
    """

    motor_inertia: Vector
    position_gain: Vector
    velocity_gain: Vector

    def compute(self, q: Vector, dq: Vector) -> None:
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

    The motors carry the weight of the desired posture and correct the rest. Links start at the motors. noise: of the
    sensors, 1 as stated above.
    """
    count = round(duration / PERIOD) + 1
    desired, rate = motion(0.0)
    n = desired.size
    state = np.vstack([desired, desired, rate, rate])
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
    transmission = joints.transmission
    for k in range(count):
        time = k * PERIOD
        sample = state + scatter * random.standard_normal((4, n))
        mechanism.compute(sample[0], sample[2])
        measured[k], masses[k], weights[k] = sample, mechanism.mass_matrix, mechanism.gravity
        transposed[k] = mechanism.coriolis_transposed_velocity
        desired, rate = motion(time)
        torques[k] = mechanism.position_gain * (desired - sample[1]) + mechanism.velocity_gain * (rate - sample[3])
        mechanism.compute(desired, rate)
        torques[k] += mechanism.gravity
        if watch is not None:
            watch(recording.sample(k))
        external[k] = load(time, state[0], state[1])
        recording.deflection[k] = state[0] - state[1]
        mechanism.compute(state[0] + 0.5 * PERIOD * state[2], state[2])
        advance_joints(
            transmission,
            mechanism.motor_inertia,
            np.asarray(np.linalg.inv(mechanism.mass_matrix), dtype=np.float64),
            external[k] - mechanism.coriolis - mechanism.gravity,
            torques[k],
            state,
        )
    return recording


MASS_SCALE = 0.25
"""Scale of the masses of the Panda's links, whose kinematics the arm has."""

GAPS = np.array([0.018, 0.025, 0.003, 0.011, 0.0, 0.0, 0.023])
"""[rad] half-widths of Romeo's left arm, Flacco 2016, V-A."""

SHOWN_GAP = 1
"""Index of the joint in Fig. 5; the gaps of the others are a list in the text."""

JOINTS = BacklashModel(
    gap=GAPS,
    stiffness=np.array([1500.0, 2500.0, 700.0, 900.0, 120.0, 120.0, 60.0]),
    damping=np.array([6.0, 12.0, 2.5, 3.5, 0.5, 0.5, 0.13]),
    gap_viscous=np.array([0.3, 0.4, 0.2, 0.2, 0.0, 0.0, 0.02]),
    gap_dry=np.array([0.15, 0.15, 0.08, 0.08, 0.0, 0.0, 0.02]),
    link_viscous=np.array([0.2, 0.2, 0.1, 0.1, 0.0, 0.0, 0.02]),
    link_dry=np.array([0.2, 0.2, 0.1, 0.1, 0.0, 0.0, 0.02]),
    motor_viscous=np.array([0.5, 0.5, 0.25, 0.25, 0.06, 0.06, 0.02]),
    motor_dry=np.array([0.6, 0.6, 0.3, 0.3, 0.08, 0.08, 0.03]),
)
"""The simulated joints. Joints 5 and 6 have no gap, and so no friction in it."""

MOTOR_INERTIA = np.array([0.1, 0.2, 0.05, 0.05, 0.008, 0.008, 0.002])
"""[kg m^2] behind the gear."""

POSTURE = np.array([0.0, 0.0, 0.3, -0.3, 0.3, 0.3, 0.0])
"""[rad] about which it moves: hanging, so that gravity changes sign there in most joints."""


class HangingArm:
    """Rigid-body terms of the arm, with its motors under a position loop: a `Mechanism`."""

    def __init__(self, robot: RobotDescription | None = None, loop_rate: float = 40.0) -> None:
        """robot: whose links hang, by default a Panda's; loop_rate [1/s]: both poles of each motor's position loop."""
        self._dynamics = Dynamics(robot or load_robot())
        self.compute(POSTURE, np.zeros_like(POSTURE))
        inertia = np.diag(self.mass_matrix) + MOTOR_INERTIA
        self.motor_inertia: Vector = MOTOR_INERTIA
        self.position_gain: Vector = inertia * loop_rate**2
        self.velocity_gain: Vector = 2.0 * inertia * loop_rate

    def compute(self, q: Vector, dq: Vector) -> None:
        """Compute the terms below at q (n,) [rad], dq (n,) [rad/s]."""
        self._dynamics.compute(q, dq)
        self._dynamics.compute_momentum_terms()

    @property
    def mass_matrix(self) -> Matrix:
        """M (n, n) [kg m^2] of the links, a new array."""
        return MASS_SCALE * self._dynamics.mass_matrix

    @property
    def coriolis(self) -> Vector:
        """C dq (n,) [Nm], a new array."""
        return MASS_SCALE * self._dynamics.coriolis

    @property
    def coriolis_transposed_velocity(self) -> Vector:
        """C^T dq (n,) [Nm], a new array."""
        return MASS_SCALE * self._dynamics.coriolis_transposed_velocity

    @property
    def gravity(self) -> Vector:
        """g (n,) [Nm], a new array: hanging, so that it has the other sign."""
        return -MASS_SCALE * self._dynamics.gravity

    def run(
        self,
        motion: Motion,
        load: Load,
        duration: float,
        random: np.random.Generator,
        joints: BacklashModel = JOINTS,
        *,
        noise: float = 1.0,
        watch: Watch | None = None,
    ) -> Recording:
        """Return what `simulate` records of the arm."""
        return simulate(self, joints, motion, load, duration, random, noise=noise, watch=watch)
