"""The stiff part of the plant: flexible joints, torque loop and contact, for frozen rigid-body coefficients.

Over one refresh interval (a multiple of the period of the torque loop) the mass matrix, the nonlinear
torques, the contact Jacobian and gravity are constants taken at the middle of the interval; what is
stiff, the transmission, the torque filter and the contact, is integrated here by the classical
Runge-Kutta scheme with a step that shrinks with the contact's own rate.
"""

from __future__ import annotations

import math

import numpy as np

from impact_control.compiled import compiled
from impact_control.impacts.contact_laws import exponential_hunt_crossley_force, regularised_coulomb_gain
from impact_control.types import Matrix, Vector

JOINT_ROWS = 9
"""Rows of `joints` (9, n): K, D, B_rho, K_T, K_S of Rey Arias 2024 (1)-(4), phi_1, phi_2, phi_3 of the friction
of Gaz et al. 2019, and the value of that friction's sigmoid at rest."""

SURFACE_SIZE = 12
"""surface = [k_c, d_c, eta, mu, slip scale, normal (3), point (3), radius of the sphere]; k_c = 0: there is none."""

MONITOR_SIZE = 8
"""monitor = [force (3), normal force, peak normal force, first contact time, gap, number of steps]."""


@compiled
def contact_force(gap: float, velocity: Vector, surface: Vector, force: Vector) -> float:
    """Force of the surface on the robot at the contact point; returns its normal component [N].

    Exponentially extended Hunt-Crossley along the normal, smoothed Coulomb friction along the surface: see
    `impacts.contact_laws`. gap [m]; velocity (3,) of the contact point [m/s]; surface: see SURFACE_SIZE;
    force (3,) [N] is overwritten. World frame A.
    """
    force[:3] = 0.0
    if gap >= 0.0:
        return 0.0
    normal = surface[5:8]
    rate = -(velocity[0] * normal[0] + velocity[1] * normal[1] + velocity[2] * normal[2])
    normal_force = exponential_hunt_crossley_force(-gap, rate, surface[0], surface[1], surface[2])
    slip_speed = 0.0
    for i in range(3):
        slip = velocity[i] + rate * normal[i]
        slip_speed += slip * slip
    gain = regularised_coulomb_gain(math.sqrt(slip_speed), surface[3], surface[4])
    for i in range(3):
        slip = velocity[i] + rate * normal[i]
        force[i] = normal_force * (normal[i] - gain * slip)
    return normal_force


@compiled
def _contact_point(
    jacobian: Matrix, position: Vector, middle: Vector, surface: Vector, point_jacobian: Matrix
) -> float:
    """Write the contact point's Jacobian (3, n), return the gap at q = 0 of the plane linearised at `middle`.

    The lowest point of the sphere is at r = -radius n from the centre: J_v - [r]x J_w. Along the normal it
    moves as the centre does, because n . (omega x n) = 0.
    """
    n = middle.shape[0]
    x, y, z = -surface[11] * surface[5], -surface[11] * surface[6], -surface[11] * surface[7]
    gap: float = -surface[11]
    for i in range(3):
        gap += surface[5 + i] * (position[i] - surface[8 + i])
    for j in range(n):
        a, b, c = jacobian[3, j], jacobian[4, j], jacobian[5, j]
        point_jacobian[0, j] = jacobian[0, j] + b * z - c * y
        point_jacobian[1, j] = jacobian[1, j] + c * x - a * z
        point_jacobian[2, j] = jacobian[2, j] + a * y - b * x
        for i in range(3):
            gap -= surface[5 + i] * point_jacobian[i, j] * middle[j]
    return gap


@compiled
def _gap_and_closing(state: Matrix, point_jacobian: Matrix, surface: Vector, gap_offset: float) -> tuple[float, float]:
    """Return the gap [m] and the speed at which it closes [m/s]."""
    gap = gap_offset
    closing = 0.0
    for i in range(3):
        for j in range(state.shape[1]):
            along = surface[5 + i] * point_jacobian[i, j]
            gap += along * state[0, j]
            closing -= along * state[1, j]
    return gap, closing


@compiled
def _derivative(
    state: Matrix,
    derivative: Matrix,
    actuation: Vector,
    inverse_mass: Matrix,
    nonlinear: Vector,
    point_jacobian: Matrix,
    gap_offset: float,
    joints: Matrix,
    filter_rate: float,
    surface: Vector,
    torque: Vector,
    velocity: Vector,
    force: Vector,
) -> float:
    """Right-hand side of Rey Arias 2024 (1)-(3) with the torque filter; returns the normal force [N]."""
    n = state.shape[1]
    normal_force = 0.0
    if surface[0] > 0.0:
        gap = gap_offset
        for i in range(3):
            speed = 0.0
            for j in range(n):
                speed += point_jacobian[i, j] * state[1, j]
                gap += surface[5 + i] * point_jacobian[i, j] * state[0, j]
            velocity[i] = speed
        normal_force = contact_force(gap, velocity, surface, force)
    for j in range(n):
        spring = joints[0, j] * (state[2, j] - state[0, j])
        transmitted = spring + joints[1, j] * (state[3, j] - state[1, j])
        friction = joints[5, j] * (1.0 / (1.0 + math.exp(-joints[6, j] * (state[1, j] + joints[7, j]))) - joints[8, j])
        torque[j] = transmitted - nonlinear[j] - friction
        if normal_force > 0.0:
            for i in range(3):
                torque[j] += point_jacobian[i, j] * force[i]
        derivative[0, j] = state[1, j]
        derivative[2, j] = state[3, j]
        derivative[3, j] = (actuation[j] - transmitted) / joints[2, j]
        derivative[4, j] = filter_rate * (spring - state[4, j])
    for j in range(n):
        acceleration = 0.0
        for k in range(n):
            acceleration += inverse_mass[j, k] * torque[k]
        derivative[1, j] = acceleration
    return normal_force


@compiled
def _contact_rate(gap: float, normal_force: float, surface: Vector, mobility: Vector) -> float:
    """Bound of the contact's own rate [1/s] at penetration -gap: the faster of its two directions.

    mobility (2,) [1/kg]: of the contact point along the normal, and the trace of it along the surface. Along the
    normal damping and stiffness act, along the surface the smoothed friction.
    """
    depth = -gap
    damping = surface[1] * depth ** surface[2]
    stiffness = surface[2] / depth * normal_force
    friction = surface[3] * normal_force / surface[4]
    along_normal: float = damping * mobility[0] + math.sqrt(stiffness * mobility[0])
    along_surface: float = friction * mobility[1]
    return max(along_normal, along_surface)


@compiled
def advance_interval(
    state: Matrix,
    ticks: int,
    tick_period: float,
    largest_step: float,
    step_safety: float,
    start_time: float,
    command: Vector,
    mass_matrix: Matrix,
    nonlinear: Vector,
    gravity: Vector,
    jacobian: Matrix,
    position: Vector,
    middle: Vector,
    joints: Matrix,
    filter_rate: float,
    surface: Vector,
    scratch: Matrix,
    monitor: Vector,
) -> None:
    """Integrate `ticks` periods of the low-level torque loop; `state` is advanced in place.

    state (5, n): link position [rad], link velocity, motor position, motor velocity, filtered torque [Nm].
    command (n,): commanded torque [Nm] without gravity. mass_matrix (n, n), nonlinear (n,), gravity (n,),
    jacobian (6, n), position (3,): terms of the links at the configuration `middle` (n,).
    With u = command + gravity, the actuation torque (4b), u + K_T (u - tau) - K_S dtau, is computed from the
    filtered torque and its derivative at the start of each tick and held (zero-order hold).
    joints, surface, monitor: see JOINT_ROWS, SURFACE_SIZE, MONITOR_SIZE. scratch (23 + n, max(n, 3)).
    """
    n = state.shape[1]
    touches = surface[0] > 0.0
    slope, total, trial = scratch[0:5, :n], scratch[5:10, :n], scratch[10:15, :n]
    actuation, torque, velocity, force, mobility = scratch[15], scratch[16], scratch[17], scratch[18], scratch[19]
    point_jacobian, inverse_mass = scratch[20:23, :n], scratch[23 : 23 + n, :n]
    inverse_mass[:, :] = np.linalg.inv(mass_matrix)
    gap_offset = 0.0
    mobility[:2] = 0.0
    if touches:
        gap_offset = _contact_point(jacobian, position, middle, surface, point_jacobian)
        # J M^-1 J^T: how fast the contact point answers a force.
        for i in range(3):
            for h in range(3):
                entry = 0.0
                for j in range(n):
                    for k in range(n):
                        entry += point_jacobian[i, j] * inverse_mass[j, k] * point_jacobian[h, k]
                mobility[0] += surface[5 + i] * entry * surface[5 + h]
                if i == h:
                    mobility[1] += entry
        mobility[1] -= mobility[0]
    time = start_time
    for _ in range(ticks):
        for j in range(n):
            wanted = command[j] + gravity[j]
            torque_rate = filter_rate * (joints[0, j] * (state[2, j] - state[0, j]) - state[4, j])
            actuation[j] = wanted + joints[3, j] * (wanted - state[4, j]) - joints[4, j] * torque_rate
        remaining = tick_period
        while remaining > 1e-12:
            normal_force = _derivative(
                state, slope, actuation, inverse_mass, nonlinear, point_jacobian, gap_offset, joints, filter_rate,
                surface, torque, velocity, force,
            )  # fmt: skip
            step = largest_step
            if touches:
                gap, closing = _gap_and_closing(state, point_jacobian, surface, gap_offset)
                if gap < 0.0:
                    step = min(step, step_safety / _contact_rate(gap, normal_force, surface, mobility))
                    if closing > 0.0:
                        # The depth may not outrun the force that it calls up.
                        step = min(step, max(0.1 * -gap / closing, 0.005 * largest_step))
                    if math.isnan(monitor[5]):
                        monitor[5] = time + gap / closing if closing > 0.0 else time
                elif closing > 0.0 and gap < closing * step:
                    # Land just inside the surface: the force starts from zero depth.
                    step = min(step, gap / closing + 0.005 * largest_step)
                if normal_force > monitor[4]:
                    monitor[4] = normal_force
            step = min(step, remaining)
            total[:] = slope
            for stage in range(3):
                reach = step if stage == 2 else 0.5 * step
                for r in range(5):
                    for j in range(n):
                        trial[r, j] = state[r, j] + reach * slope[r, j]
                _derivative(
                    trial, slope, actuation, inverse_mass, nonlinear, point_jacobian, gap_offset, joints,
                    filter_rate, surface, torque, velocity, force,
                )  # fmt: skip
                weight = 1.0 if stage == 2 else 2.0
                for r in range(5):
                    for j in range(n):
                        total[r, j] += weight * slope[r, j]
            for r in range(5):
                for j in range(n):
                    state[r, j] += step / 6.0 * total[r, j]
            time += step
            remaining -= step
            monitor[7] += 1.0
    # What holds at the end of the interval, for the record.
    monitor[3] = _derivative(
        state, slope, actuation, inverse_mass, nonlinear, point_jacobian, gap_offset, joints, filter_rate, surface,
        torque, velocity, force,
    )  # fmt: skip
    if touches:
        monitor[0:3] = force[0:3]
        monitor[6] = _gap_and_closing(state, point_jacobian, surface, gap_offset)[0]
