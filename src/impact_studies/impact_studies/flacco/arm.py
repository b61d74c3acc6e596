"""Dynamics of links driven through a backlash, with the friction of Flacco 2016 (6).

The plants of `simulation` carry the friction of a Panda, which is not that of (6); therefore this one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

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


class Terms(NamedTuple):
    """Rigid-body terms of n links: M (n, n) [kg m^2], C dq, C^T dq and g (n,) [Nm], new arrays."""

    mass_matrix: Matrix
    coriolis: Vector
    coriolis_transposed_velocity: Vector
    gravity: Vector


LOOP_RATE = 40.0
"""[1/s] Both poles of each motor's position loop."""


class Mechanism(ABC):
    """Links, and the motors that move them.

    Attributes: motor_inertia (n,) [kg m^2] behind the gear; position_gain (n,) [Nm/rad] and velocity_gain (n,)
    [Nm s/rad] of the position loop.
    """

    def __init__(self, motor_inertia: Vector, q: Vector) -> None:
        """q (n,) [rad]: where the poles of the loop are those of `LOOP_RATE`."""
        inertia = np.diag(self.terms(q, np.zeros_like(q)).mass_matrix) + motor_inertia
        self.motor_inertia = motor_inertia
        self.position_gain: Vector = inertia * LOOP_RATE**2
        self.velocity_gain: Vector = 2.0 * inertia * LOOP_RATE

    @abstractmethod
    def terms(self, q: Vector, dq: Vector) -> Terms:
        """Return the terms of the links at q (n,) [rad], dq (n,) [rad/s]."""


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
        measured[k] = sample
        masses[k], _, transposed[k], weights[k] = mechanism.terms(sample[0], sample[2])
        desired, rate = motion(time)
        torques[k] = mechanism.position_gain * (desired - sample[1]) + mechanism.velocity_gain * (rate - sample[3])
        torques[k] += mechanism.terms(desired, rate).gravity
        if watch is not None:
            watch(recording.sample(k))
        external[k] = load(time, state[0], state[1])
        recording.deflection[k] = state[0] - state[1]
        true = mechanism.terms(state[0] + 0.5 * PERIOD * state[2], state[2])
        advance_joints(
            transmission,
            mechanism.motor_inertia,
            np.asarray(np.linalg.inv(true.mass_matrix), dtype=np.float64),
            external[k] - true.coriolis - true.gravity,
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


class HangingArm(Mechanism):
    """The arm that hangs, so that gravity has the other sign."""

    def __init__(self, robot: RobotDescription | None = None) -> None:
        """robot: whose links hang, by default a Panda's."""
        self._dynamics = Dynamics(robot or load_robot())
        super().__init__(MOTOR_INERTIA, POSTURE)

    def terms(self, q: Vector, dq: Vector) -> Terms:
        """Return the terms of the links at q (n,) [rad], dq (n,) [rad/s]."""
        dynamics = self._dynamics
        dynamics.compute(q, dq)
        dynamics.compute_momentum_terms()
        coriolis, transposed = dynamics.coriolis, dynamics.coriolis_transposed_velocity
        found = (dynamics.mass_matrix, coriolis, transposed, -dynamics.gravity)
        return Terms(*(MASS_SCALE * term for term in found))
