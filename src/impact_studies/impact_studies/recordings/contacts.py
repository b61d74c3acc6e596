"""Contacts added to recorded free motion: the response of an arm with elastic joints to a force on its end-effector."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from impact_control.recording.defects import CheckedSamples
from impact_control.robots import Dynamics, RobotDescription
from impact_control.util.types import Matrix, Vector

STEP = 1e-4
"""[s] of the integration, exact for a force that is constant over it."""

VELOCITY_FILTER = 2.3e-3
"""[s] time constant of a first-order low-pass on the velocity: that between d(position)/dt and velocity of the FR3."""

IMPACT_DURATION = 1.5e-3
"""[s] of an impact on steel, a half sine."""

STIFF_STIFFNESS, STIFF_RATE = 1000.0, 40.0
"""[Nm/rad], [1/s] of a stiff position control of the motors: its damping is inertia x rate + 2 sqrt(stiffness)."""


@dataclass(frozen=True)
class Contact:
    """A kind of contact: force over time, and the delay within which it is to be found.

    speed [m/s] of an impact, whose impulse stops the reflected inertia of the links; 0: a push of force [N] for
    duration [s]. limit [s]; target: share that is to be found within it.
    """

    name: str
    speed: float
    force: float
    duration: float
    limit: float
    target: float

    def force_law(self, reflected_mass: float) -> Callable[[float], float]:
        """Return the force [N] over the time [s] since it began; reflected_mass [kg]."""
        if not self.speed:
            return lambda since: self.force if since < self.duration else 0.0
        peak = 0.5 * math.pi * reflected_mass * self.speed / self.duration
        return lambda since: peak * math.sin(math.pi * since / self.duration) if since < self.duration else 0.0


CONTACTS = (
    Contact("impact of 0.1 m/s on steel", 0.1, 0.0, IMPACT_DURATION, 3e-3, 0.95),
    Contact("push of 60 N for 10 ms", 0.0, 60.0, 10e-3, 10e-3, 0.90),
    Contact("push of 30 N for 50 ms", 0.0, 30.0, 50e-3, 60e-3, 0.90),
)


def with_contact(
    samples: CheckedSamples,
    robot: RobotDescription,
    contact: Contact,
    start: float,
    direction: Vector,
    *,
    stiff: bool,
) -> CheckedSamples:
    """Return samples with a contact at `start` [s], later than the first of them, added to position, velocity, torque.

    The links M(q), the springs and dampers of the transmission and the motors, with the reduced inertia B_theta that
    the torque loop leaves, as they are at the last sample before: linear, 4 n states. direction (3,): of the force,
    frame A. stiff: whether the motors are held in position; else the controller adds no torque. Measured are the
    position of the links, their velocity through VELOCITY_FILTER, and the torque of the transmission through the
    low-pass of the robot's torque loop.
    """
    before = int(np.flatnonzero(samples.time < start)[-1])
    dynamics = Dynamics(robot)
    dynamics.compute(samples.position[before], samples.velocity[before])
    lever: Vector = np.asarray(dynamics.jacobian[:3].T @ direction, dtype=np.float64)
    inverse: Matrix = np.asarray(np.linalg.inv(dynamics.mass_matrix), dtype=np.float64)
    law = contact.force_law(1.0 / float(lever @ inverse @ lever))
    change = _response(robot, inverse, lever, law, samples.time[before:] - start, stiff)
    moved = {name: getattr(samples, name).copy() for name in ("position", "velocity", "torque")}
    for values, added in zip(moved.values(), change, strict=True):
        values[before:] += added
    return CheckedSamples(samples.names, samples.time, **moved, usable=samples.usable, defects=samples.defects)


def _response(
    robot: RobotDescription,
    inverse: Matrix,
    lever: Vector,
    law: Callable[[float], float],
    since: Vector,
    stiff: bool,
) -> tuple[Matrix, Matrix, Matrix]:
    """Return the change of position, velocity and torque (k, n) at times (k,) [s] since the force began."""
    n, parts = lever.size, robot.transmission
    stiffness, damping = np.diag(parts.stiffness), np.diag(parts.damping)
    motors = np.diag(1.0 / parts.reduced_motor_inertia)
    one, none = np.eye(n), np.zeros((n, n))
    held = STIFF_STIFFNESS * one if stiff else none
    rate = np.diag(parts.reduced_motor_inertia) * STIFF_RATE + 2.0 * math.sqrt(STIFF_STIFFNESS) * one
    braked = rate if stiff else none
    cutoff = 2.0 * math.pi * robot.torque_loop.filter_cutoff
    slow = 1.0 / VELOCITY_FILTER
    system = np.block(
        [  # link position and velocity, motor position and velocity, measured velocity, measured torque
            [none, one, none, none, none, none],
            [-inverse @ stiffness, -inverse @ damping, inverse @ stiffness, inverse @ damping, none, none],
            [none, none, none, one, none, none],
            [
                motors @ stiffness,
                motors @ damping,
                -motors @ (stiffness + held),
                -motors @ (damping + braked),
                none,
                none,
            ],
            [none, slow * one, none, none, -slow * one, none],
            [-cutoff * stiffness, -cutoff * damping, cutoff * stiffness, cutoff * damping, none, -cutoff * one],
        ]
    )
    size = 6 * n
    whole = np.zeros((size + 1, size + 1))
    whole[:size, :size], whole[n : 2 * n, size] = system, inverse @ lever
    step = expm(whole * STEP)
    steps = max(0, math.ceil(float(since[-1]) / STEP))
    states = np.zeros((steps + 1, size))
    for k in range(steps):
        states[k + 1] = step[:size, :size] @ states[k] + step[:size, size] * law((k + 0.5) * STEP)
    rows = states[np.clip(np.floor(since / STEP).astype(int), 0, steps)]
    return rows[:, :n], rows[:, 4 * n : 5 * n], rows[:, 5 * n :]
