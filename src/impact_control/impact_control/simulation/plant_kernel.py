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

MONITOR_SIZE = 8
"""monitor = [fx, fy, fz, normal force, peak normal force, first contact time, gap, number of steps]."""


@compiled
def contact_force(
    gap: float,
    velocity: Vector,
    normal: Vector,
    stiffness: float,
    damping: float,
    exponent: float,
    friction: float,
    slip_scale: float,
    force: Vector,
) -> float:
    """Force of the surface on the robot at the contact point; returns its normal component [N].

    Exponentially extended Hunt-Crossley along the normal, smoothed Coulomb friction along the surface: see
    `impacts.contact_laws`.

    gap [m]; velocity (3,) of the contact point [m/s]; normal (3,) unit, out of the surface;
    force (3,) [N] is overwritten. World frame A.
    """
    force[:] = 0.0
    if gap >= 0.0:
        return 0.0
    rate = -(velocity[0] * normal[0] + velocity[1] * normal[1] + velocity[2] * normal[2])
    normal_force = exponential_hunt_crossley_force(-gap, rate, stiffness, damping, exponent)
    slip_speed = 0.0
    for i in range(3):
        slip = velocity[i] + rate * normal[i]
        slip_speed += slip * slip
    gain = regularised_coulomb_gain(math.sqrt(slip_speed), friction, slip_scale)
    for i in range(3):
        slip = velocity[i] + rate * normal[i]
        force[i] = normal_force * (normal[i] - gain * slip)
    return normal_force


@compiled
def _derivative(
    state: Matrix,
    derivative: Matrix,
    actuation: Vector,
    inverse_mass: Matrix,
    nonlinear: Vector,
    jacobian: Matrix,
    normal: Vector,
    gap_offset: float,
    joint_stiffness: Vector,
    joint_damping: Vector,
    motor_inertia: Vector,
    friction_parameters: Matrix,
    filter_rate: float,
    surface: Vector,
    work: Matrix,
    force: Vector,
) -> float:
    """Right-hand side of Rey Arias 2024 (1)-(3) with the torque filter; returns the normal force [N]."""
    n = actuation.shape[0]
    has_surface = surface[0] > 0.0
    normal_force = 0.0
    if has_surface:
        gap = gap_offset
        for i in range(3):
            speed = 0.0
            reach = 0.0
            for j in range(n):
                speed += jacobian[i, j] * state[1, j]
                reach += jacobian[i, j] * state[0, j]
            work[1, i] = speed
            gap += normal[i] * reach
        normal_force = contact_force(
            gap, work[1], normal, surface[0], surface[1], surface[2], surface[3], surface[4], force
        )
    for j in range(n):
        spring = joint_stiffness[j] * (state[2, j] - state[0, j])
        transmitted = spring + joint_damping[j] * (state[3, j] - state[1, j])
        amplitude, slope, offset = friction_parameters[0, j], friction_parameters[1, j], friction_parameters[2, j]
        friction = amplitude / (1.0 + math.exp(-slope * (state[1, j] + offset)))
        friction -= amplitude / (1.0 + math.exp(-slope * offset))
        torque = transmitted - nonlinear[j] - friction
        if normal_force > 0.0:
            torque += jacobian[0, j] * force[0] + jacobian[1, j] * force[1] + jacobian[2, j] * force[2]
        work[0, j] = torque
        derivative[0, j] = state[1, j]
        derivative[2, j] = state[3, j]
        derivative[3, j] = (actuation[j] - transmitted) / motor_inertia[j]
        derivative[4, j] = filter_rate * (spring - state[4, j])
    for j in range(n):
        acceleration = 0.0
        for k in range(n):
            acceleration += inverse_mass[j, k] * work[0, k]
        derivative[1, j] = acceleration
    return normal_force


@compiled
def advance_interval(
    state: Matrix,
    ticks: int,
    tick_period: float,
    largest_step: float,
    step_safety: float,
    start_time: float,
    command: Vector,
    inverse_mass: Matrix,
    nonlinear: Vector,
    jacobian: Matrix,
    normal: Vector,
    gap_offset: float,
    joint_stiffness: Vector,
    joint_damping: Vector,
    motor_inertia: Vector,
    torque_gain: Vector,
    torque_rate_gain: Vector,
    friction_parameters: Matrix,
    filter_rate: float,
    surface: Vector,
    work: Matrix,
    slopes: Matrix,
    trial: Matrix,
    monitor: Vector,
) -> None:
    """Integrate `ticks` periods of the low-level torque loop; `state` is advanced in place.

    state (5, n): link position [rad], link velocity, motor position, motor velocity, filtered joint torque [Nm].
    command (n,): u of Rey Arias 2024 (4), desired link-side torque with the gravity the arm adds [Nm].
    The actuation torque (4b), u + K_T (u - tau) - K_S dtau, is computed from the filtered torque and its
    derivative at the start of each tick and held (zero-order hold).
    surface (5,): k_c, d_c, eta, mu, slip scale; k_c = 0 means there is none.
    gap = gap_offset + normal . jacobian q, the plane's gap linearised at the middle of the interval.
    work (4, max(n, 3)), slopes (10, n), trial (5, n): scratch.
    monitor: see MONITOR_SIZE.
    """
    n = command.shape[0]
    actuation = work[2]
    force = work[3]
    slope = slopes[:5]
    total = slopes[5:]
    effective_inverse_mass = 0.0
    if surface[0] > 0.0:
        # Largest eigenvalue bound of J M^-1 J^T: how fast the contact point answers a force.
        for i in range(3):
            for j in range(n):
                for k in range(n):
                    effective_inverse_mass += jacobian[i, j] * inverse_mass[j, k] * jacobian[i, k]
    time = start_time
    for _ in range(ticks):
        for j in range(n):
            spring = joint_stiffness[j] * (state[2, j] - state[0, j])
            torque_rate = filter_rate * (spring - state[4, j])
            actuation[j] = (
                command[j] + torque_gain[j] * (command[j] - state[4, j]) - torque_rate_gain[j] * torque_rate
            )
        remaining = tick_period
        while remaining > 1e-12:
            normal_force = _derivative(
                state, slope, actuation, inverse_mass, nonlinear, jacobian, normal, gap_offset,
                joint_stiffness, joint_damping, motor_inertia, friction_parameters, filter_rate, surface, work, force,
            )  # fmt: skip
            step = largest_step
            if surface[0] > 0.0:
                gap = gap_offset
                closing = 0.0
                for i in range(3):
                    for j in range(n):
                        gap += normal[i] * jacobian[i, j] * state[0, j]
                        closing -= normal[i] * jacobian[i, j] * state[1, j]
                if gap < 0.0:
                    depth = -gap
                    elastic = surface[0] * depth ** surface[2]
                    contact_damping = elastic * surface[1] / surface[0]
                    contact_stiffness = surface[2] / depth * normal_force
                    rate = contact_damping * effective_inverse_mass
                    rate += math.sqrt(contact_stiffness * effective_inverse_mass)
                    rate += surface[3] * normal_force / surface[4] * effective_inverse_mass
                    # Depth may at most grow by a fifth of what it takes the contact to act.
                    step = min(step, step_safety / rate)
                    if closing > 0.0:
                        step = min(step, max(0.1 * depth / closing, 0.005 * largest_step))
                    if monitor[5] != monitor[5]:
                        monitor[5] = time - depth / closing if closing > 0.0 else time
                elif closing > 0.0 and gap < closing * step:
                    # Land just inside the surface: the force starts from zero depth.
                    step = min(step, gap / closing + 0.005 * largest_step)
                monitor[6] = gap
                if normal_force > monitor[4]:
                    monitor[4] = normal_force
            step = min(step, remaining)
            for r in range(5):
                for j in range(n):
                    total[r, j] = slope[r, j]
                    trial[r, j] = state[r, j] + 0.5 * step * slope[r, j]
            _derivative(
                trial, slope, actuation, inverse_mass, nonlinear, jacobian, normal, gap_offset,
                joint_stiffness, joint_damping, motor_inertia, friction_parameters, filter_rate, surface, work, force,
            )  # fmt: skip
            for r in range(5):
                for j in range(n):
                    total[r, j] += 2.0 * slope[r, j]
                    trial[r, j] = state[r, j] + 0.5 * step * slope[r, j]
            _derivative(
                trial, slope, actuation, inverse_mass, nonlinear, jacobian, normal, gap_offset,
                joint_stiffness, joint_damping, motor_inertia, friction_parameters, filter_rate, surface, work, force,
            )  # fmt: skip
            for r in range(5):
                for j in range(n):
                    total[r, j] += 2.0 * slope[r, j]
                    trial[r, j] = state[r, j] + step * slope[r, j]
            _derivative(
                trial, slope, actuation, inverse_mass, nonlinear, jacobian, normal, gap_offset,
                joint_stiffness, joint_damping, motor_inertia, friction_parameters, filter_rate, surface, work, force,
            )  # fmt: skip
            for r in range(5):
                for j in range(n):
                    state[r, j] += step / 6.0 * (total[r, j] + slope[r, j])
            time += step
            remaining -= step
            monitor[7] += 1.0
    # What holds at the end of the interval, for the record.
    monitor[3] = _derivative(
        state, slope, actuation, inverse_mass, nonlinear, jacobian, normal, gap_offset,
        joint_stiffness, joint_damping, motor_inertia, friction_parameters, filter_rate, surface, work, force,
    )  # fmt: skip
    for i in range(3):
        monitor[i] = force[i] if surface[0] > 0.0 else 0.0
    if surface[0] > 0.0:
        gap = gap_offset
        for i in range(3):
            for j in range(n):
                gap += normal[i] * jacobian[i, j] * state[0, j]
        monitor[6] = gap
    else:
        monitor[6] = np.inf
