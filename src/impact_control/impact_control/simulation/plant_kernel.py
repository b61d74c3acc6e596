"""The stiff part of a scene: flexible joints, torque loops, free boxes and contacts, in one integration scheme.

Over one refresh interval (a multiple of the period of the torque loops) the rigid-body terms of the arms, mass
matrix, nonlinear torques, gravity and Jacobian, are constants taken at the middle of the interval. What is stiff,
transmissions, torque filters and contacts, and the boxes, whose equations are short, are integrated here by the
classical Runge-Kutta scheme with a step that shrinks with the contacts' own rate.
"""

from __future__ import annotations

import math

from impact_control.compiled import compiled
from impact_control.simulation.contact_kernel import contact_rates, find_mobility, resolve_contact
from impact_control.simulation.joint_kernel import (
    BACKLASH,
    FILTER_RATE,
    MOTOR_INERTIA,
    joint_friction,
    time_to_backlash_edge,
    torque_loop,
    transmission,
)
from impact_control.simulation.scene_arrays import (
    ACCELERATION,
    ACTIVE,
    ACTUATION,
    ARM,
    BASE,
    BOX,
    CLOSING,
    COMMAND,
    COMPENSATION,
    CONTACT_FORCE,
    EXTERNAL,
    FIRST_BODY,
    FIRST_TOUCH,
    FORCE,
    GAP,
    INVERSE_MASS,
    JACOBIAN,
    JOINT_COUNT,
    KIND,
    LAW_EXPONENT,
    LOAD,
    LOAD_TORQUE,
    MASS,
    MIDDLE,
    MIDDLE_POSITION,
    MIDDLE_RATE,
    MIDDLE_ROTATION,
    MOBILITY,
    MOMENTS,
    NEAR,
    NONLINEAR,
    NORMAL_FORCE,
    POSITION,
    ROTATION,
    SECOND_BODY,
    SPIN,
    TORQUE,
    TOUCHED,
    TRUTH_FIRST,
    TRUTH_FORCE,
    TRUTH_GAP,
    TRUTH_NORMAL,
    TRUTH_PEAK,
    TRUTH_SUM,
    VELOCITY,
    WEIGHT,
    Indices,
)
from impact_control.types import Matrix, Vector

REACH = 0.005
"""[m] A pair farther apart than this, and than it closes in two intervals, is left out for one interval."""

LANDING = 0.005
"""Steps that end at an event overshoot it by this part of the largest step: the force starts from zero depth."""


@compiled
def invert_mass_matrix(mass: Matrix, terms: Matrix, arm: int) -> None:
    """Write the inverse of a symmetric positive definite matrix (n, n) to the rows INVERSE_MASS of an arm's terms.

    By the inverse of its Cholesky factor, M = L L^T, M^-1 = L^-T L^-1, in place: what is overwritten is not needed
    any more.
    """
    size = mass.shape[0]
    first = INVERSE_MASS
    for j in range(size):
        for i in range(j, size):
            entry = mass[i, j]
            for k in range(j):
                entry -= terms[arm, first + i, k] * terms[arm, first + j, k]
            terms[arm, first + i, j] = math.sqrt(entry) if i == j else entry / terms[arm, first + j, j]
    for j in range(size):
        terms[arm, first + j, j] = 1.0 / terms[arm, first + j, j]
        for i in range(j + 1, size):
            entry = 0.0
            for k in range(j, i):
                entry -= terms[arm, first + i, k] * terms[arm, first + k, j]
            terms[arm, first + i, j] = entry / terms[arm, first + i, i]
    for i in range(size):
        for j in range(i + 1):
            entry = 0.0
            for k in range(i, size):
                entry += terms[arm, first + k, i] * terms[arm, first + k, j]
            terms[arm, first + i, j] = entry
            terms[arm, first + j, i] = entry


@compiled
def predict_middle(
    arm: int, interval: float, predict_velocity: bool, state: Vector, layout: Indices, terms: Matrix
) -> None:
    """Write configuration and velocity of an arm at the middle of the next interval [s] to its terms.

    The middle makes the frozen terms and the linearised gaps second-order accurate. The velocity there is that of
    now, or with predict_velocity what the acceleration at the end of the last interval makes of it.
    """
    base, n = layout[arm, BASE], layout[arm, JOINT_COUNT]
    for j in range(n):
        terms[arm, MIDDLE, j] = 0.5 * interval * state[base + n + j] + state[base + j]
        terms[arm, MIDDLE_RATE, j] = state[base + n + j]
        if predict_velocity:
            terms[arm, MIDDLE_RATE, j] += 0.5 * interval * terms[arm, ACCELERATION, j]


@compiled
def freeze_arm(
    arm: int,
    mass_matrix: Matrix,
    nonlinear: Vector,
    gravity: Vector,
    jacobian: Matrix,
    position: Vector,
    rotation: Matrix,
    compensation: float,
    terms: Matrix,
    bodies: Matrix,
) -> None:
    """Take over the rigid-body terms of an arm for one interval; those of `robots.Dynamics` at row MIDDLE of terms.

    compensation: 1 when the arm adds its gravity torque to the command, 0 when not. terms, bodies: see `SceneArrays`.
    """
    n = nonlinear.shape[0]
    for j in range(n):
        outside = terms[arm, EXTERNAL, j]
        for i in range(6):
            terms[arm, JACOBIAN + i, j] = jacobian[i, j]
            outside += jacobian[i, j] * bodies[arm, LOAD + i]
        terms[arm, NONLINEAR, j] = nonlinear[j] - outside
        terms[arm, COMPENSATION, j] = compensation * gravity[j]
    for i in range(3):
        bodies[arm, MIDDLE_POSITION + i] = position[i]
        for j in range(3):
            bodies[arm, MIDDLE_ROTATION + 3 * i + j] = rotation[i, j]
    invert_mass_matrix(mass_matrix, terms, arm)
    for h in range(6):
        for i in range(6):
            bodies[arm, MOBILITY + 6 * h + i] = 0.0
        for j in range(n):
            answer = 0.0
            for k in range(n):
                answer += jacobian[h, k] * terms[arm, INVERSE_MASS + k, j]
            for i in range(6):
                bodies[arm, MOBILITY + 6 * h + i] += answer * jacobian[i, j]


@compiled
def _place_arm(state: Vector, base: int, n: int, terms: Matrix, bodies: Matrix, arm: int) -> None:
    """Write pose and twist of an end-effector, linearised at the middle of the interval."""
    for i in range(3):
        moved = 0.0
        turned = 0.0
        speed = 0.0
        spin = 0.0
        for j in range(n):
            change = state[base + j] - terms[arm, MIDDLE, j]
            rate = state[base + n + j]
            moved += terms[arm, JACOBIAN + i, j] * change
            turned += terms[arm, JACOBIAN + 3 + i, j] * change
            speed += terms[arm, JACOBIAN + i, j] * rate
            spin += terms[arm, JACOBIAN + 3 + i, j] * rate
        bodies[arm, POSITION + i] = bodies[arm, MIDDLE_POSITION + i] + moved
        bodies[arm, VELOCITY + i] = speed
        bodies[arm, SPIN + i] = spin
        bodies[arm, FORCE + i] = turned
    x, y, z = bodies[arm, FORCE], bodies[arm, FORCE + 1], bodies[arm, FORCE + 2]
    for j in range(3):
        a = bodies[arm, MIDDLE_ROTATION + j]
        b = bodies[arm, MIDDLE_ROTATION + 3 + j]
        c = bodies[arm, MIDDLE_ROTATION + 6 + j]
        bodies[arm, ROTATION + j] = a + y * c - z * b
        bodies[arm, ROTATION + 3 + j] = b + z * a - x * c
        bodies[arm, ROTATION + 6 + j] = c + x * b - y * a


@compiled
def _place_box(state: Vector, base: int, bodies: Matrix, body: int) -> None:
    """Write pose and twist of a box; its quaternion need not have length 1."""
    x, y, z, w = state[base + 3], state[base + 4], state[base + 5], state[base + 6]
    s = 2.0 / (x * x + y * y + z * z + w * w)
    bodies[body, ROTATION] = 1.0 - s * (y * y + z * z)
    bodies[body, ROTATION + 1] = s * (x * y - z * w)
    bodies[body, ROTATION + 2] = s * (x * z + y * w)
    bodies[body, ROTATION + 3] = s * (x * y + z * w)
    bodies[body, ROTATION + 4] = 1.0 - s * (x * x + z * z)
    bodies[body, ROTATION + 5] = s * (y * z - x * w)
    bodies[body, ROTATION + 6] = s * (x * z - y * w)
    bodies[body, ROTATION + 7] = s * (y * z + x * w)
    bodies[body, ROTATION + 8] = 1.0 - s * (x * x + y * y)
    for i in range(3):
        bodies[body, POSITION + i] = state[base + i]
        bodies[body, VELOCITY + i] = state[base + 7 + i]
        spin = 0.0
        for j in range(3):
            spin += bodies[body, ROTATION + 3 * i + j] * state[base + 10 + j]
        bodies[body, SPIN + i] = spin


@compiled
def _place_bodies(state: Vector, layout: Indices, terms: Matrix, bodies: Matrix, everything: bool) -> None:
    """Write where the bodies are and how they move, with no contact force; arms far from all others only if asked."""
    for body in range(layout.shape[0]):
        kind, base = layout[body, KIND], layout[body, BASE]
        if kind == ARM:
            if everything or bodies[body, NEAR] > 0.0:
                _place_arm(state, base, layout[body, JOINT_COUNT], terms, bodies, body)
        elif kind == BOX:
            _place_box(state, base, bodies, body)
        else:
            for i in range(3):
                bodies[body, POSITION + i] = state[base + i]
                bodies[body, VELOCITY + i] = bodies[body, WEIGHT + i]
        for i in range(FORCE, TOUCHED + 1):
            bodies[body, i] = 0.0


@compiled
def _arm_derivative(
    state: Vector,
    slope: Vector,
    torque: Vector,
    base: int,
    n: int,
    joints: Matrix,
    terms: Matrix,
    bodies: Matrix,
    arm: int,
) -> None:
    """Right-hand side of Rey Arias 2024 (1)-(3) with the torque filter. torque (n,): scratch."""
    touched = bodies[arm, TOUCHED] > 0.0
    for j in range(n):
        velocity = state[base + n + j]
        motor_velocity = state[base + 3 * n + j]
        twist = state[base + 2 * n + j] - state[base + j]
        spring, transmitted = transmission(joints, arm, j, twist, motor_velocity - velocity)
        torque[j] = transmitted - terms[arm, NONLINEAR, j] - joint_friction(joints, arm, j, velocity)
        if touched:
            for i in range(6):
                torque[j] += terms[arm, JACOBIAN + i, j] * bodies[arm, FORCE + i]
        slope[base + j] = velocity
        slope[base + 2 * n + j] = motor_velocity
        slope[base + 3 * n + j] = (terms[arm, ACTUATION, j] - transmitted) / joints[arm, MOTOR_INERTIA, j]
        slope[base + 4 * n + j] = joints[arm, FILTER_RATE, j] * (spring - state[base + 4 * n + j])
    for j in range(n):
        acceleration = 0.0
        for k in range(n):
            acceleration += terms[arm, INVERSE_MASS + j, k] * torque[k]
        slope[base + n + j] = acceleration


@compiled
def _box_derivative(state: Vector, slope: Vector, base: int, bodies: Matrix, body: int) -> None:
    """Newton's and Euler's equations of a box, the latter in its principal axes."""
    x, y, z, w = state[base + 3], state[base + 4], state[base + 5], state[base + 6]
    a, b, c = state[base + 10], state[base + 11], state[base + 12]
    slope[base + 3] = 0.5 * (w * a + y * c - z * b)
    slope[base + 4] = 0.5 * (w * b + z * a - x * c)
    slope[base + 5] = 0.5 * (w * c + x * b - y * a)
    slope[base + 6] = -0.5 * (x * a + y * b + z * c)
    for i in range(3):
        force = bodies[body, FORCE + i] + bodies[body, LOAD + i]
        slope[base + i] = state[base + 7 + i]
        slope[base + 7 + i] = force / bodies[body, MASS] + bodies[body, WEIGHT + i]
        about = 0.0
        for j in range(3):
            about += bodies[body, ROTATION + 3 * j + i] * (bodies[body, TORQUE + j] + bodies[body, LOAD_TORQUE + j])
        slope[base + 10 + i] = about
    first, second, third = bodies[body, MOMENTS], bodies[body, MOMENTS + 1], bodies[body, MOMENTS + 2]
    slope[base + 10] = (slope[base + 10] + (second - third) * b * c) / first
    slope[base + 11] = (slope[base + 11] + (third - first) * c * a) / second
    slope[base + 12] = (slope[base + 12] + (first - second) * a * b) / third


@compiled
def _derivative(
    state: Vector,
    slope: Vector,
    torque: Vector,
    layout: Indices,
    joints: Matrix,
    terms: Matrix,
    bodies: Matrix,
    pairs: Indices,
    contacts: Matrix,
) -> None:
    """Write the rate of the state of the whole scene, and to bodies and contacts what goes with the state."""
    _place_bodies(state, layout, terms, bodies, False)
    for pair in range(pairs.shape[0]):
        if contacts[pair, ACTIVE] > 0.0:
            resolve_contact(bodies, pairs, contacts, pair)
    for body in range(layout.shape[0]):
        kind, base = layout[body, KIND], layout[body, BASE]
        if kind == ARM:
            _arm_derivative(state, slope, torque, base, layout[body, JOINT_COUNT], joints, terms, bodies, body)
        elif kind == BOX:
            _box_derivative(state, slope, base, bodies, body)
        else:
            for i in range(3):
                slope[base + i] = bodies[body, WEIGHT + i]


@compiled
def _contact_step(
    largest_step: float, step_safety: float, time: float, bodies: Matrix, pairs: Indices, contacts: Matrix
) -> float:
    """Return the largest step [s] that the contacts allow, and note first touches and peak forces.

    The rates of all contacts together are at most their sum, the trace of what they do to the bodies.
    """
    step = largest_step
    damping = 0.0
    stiffness = 0.0
    friction = 0.0
    for body in range(bodies.shape[0]):
        bodies[body, TRUTH_SUM] = 0.0
    for pair in range(pairs.shape[0]):
        if contacts[pair, ACTIVE] == 0.0:
            continue
        gap, closing = contacts[pair, GAP], contacts[pair, CLOSING]
        if gap >= 0.0:
            if closing > 0.0 and gap < closing * largest_step:
                step = min(step, gap / closing + LANDING * largest_step)
            continue
        for side in (FIRST_BODY, SECOND_BODY):
            if pairs[pair, side] >= 0:
                bodies[pairs[pair, side], TRUTH_SUM] += contacts[pair, NORMAL_FORCE]
        rates = contact_rates(pairs, contacts, pair)
        damping += rates[0]
        stiffness += rates[1]
        friction += rates[2]
        if closing > 0.0:
            # The depth may not outrun the force that it calls up.
            step = min(step, max(0.1 * -gap / closing, LANDING * largest_step))
        elif -gap < -closing * largest_step and contacts[pair, LAW_EXPONENT] < 1.5:
            # Land outside: the force of such a law ends with a kink.
            step = min(step, gap / closing + LANDING * largest_step)
        if math.isinf(contacts[pair, FIRST_TOUCH]):
            contacts[pair, FIRST_TOUCH] = time + gap / closing if closing > 0.0 else time
    for body in range(bodies.shape[0]):
        bodies[body, TRUTH_PEAK] = max(bodies[body, TRUTH_PEAK], bodies[body, TRUTH_SUM])
    rate = max(damping + math.sqrt(stiffness), friction)
    if rate > 0.0:
        step = min(step, step_safety / rate)
    return step


@compiled
def _joint_step(step: float, overshoot: float, state: Vector, layout: Indices, joints: Matrix) -> float:
    """Return the step [s], shortened so that it ends, but for the overshoot, where a backlash begins or ends."""
    for arm in range(joints.shape[0]):
        base, n = layout[arm, BASE], layout[arm, JOINT_COUNT]
        for j in range(n):
            if joints[arm, BACKLASH, j] > 0.0:
                twist = state[base + 2 * n + j] - state[base + j]
                twist_rate = state[base + 3 * n + j] - state[base + n + j]
                step = min(step, time_to_backlash_edge(joints, arm, j, twist, twist_rate) + overshoot)
    return step


@compiled
def _actuate(state: Vector, layout: Indices, joints: Matrix, terms: Matrix) -> None:
    """Compute the actuation torques (4b) with u = command + gravity; they are held for one period of the loop."""
    for arm in range(joints.shape[0]):
        base, n = layout[arm, BASE], layout[arm, JOINT_COUNT]
        for j in range(n):
            twist = state[base + 2 * n + j] - state[base + j]
            twist_rate = state[base + 3 * n + j] - state[base + n + j]
            wanted = terms[arm, COMMAND, j] + terms[arm, COMPENSATION, j]
            filtered = state[base + 4 * n + j]
            terms[arm, ACTUATION, j] = torque_loop(joints, arm, j, wanted, twist, twist_rate, filtered)


@compiled
def _normalise(state: Vector, layout: Indices) -> None:
    """Give the quaternions of the boxes length 1 again."""
    for body in range(layout.shape[0]):
        if layout[body, KIND] == BOX:
            base = layout[body, BASE] + 3
            square = 0.0
            for i in range(4):
                square += state[base + i] * state[base + i]
            for i in range(4):
                state[base + i] /= math.sqrt(square)


@compiled
def observe(
    interval: float,
    state: Vector,
    layout: Indices,
    terms: Matrix,
    bodies: Matrix,
    pairs: Indices,
    contacts: Matrix,
) -> None:
    """Write what holds now to contacts and bodies, and which of them are near for one interval [s]."""
    _place_bodies(state, layout, terms, bodies, True)
    for body in range(bodies.shape[0]):
        bodies[body, NEAR] = 0.0
        for i in range(3):
            bodies[body, TRUTH_FORCE + i] = 0.0
        bodies[body, TRUTH_NORMAL] = 0.0
        bodies[body, TRUTH_GAP] = math.inf
        bodies[body, TRUTH_FIRST] = math.inf
    for pair in range(pairs.shape[0]):
        resolve_contact(bodies, pairs, contacts, pair)
        near = contacts[pair, GAP] < REACH + 2.0 * interval * abs(contacts[pair, CLOSING])
        contacts[pair, ACTIVE] = 1.0 if near else 0.0
        if near:
            find_mobility(layout, bodies, pairs, contacts, pair)
        for side in (FIRST_BODY, SECOND_BODY):
            body = pairs[pair, side]
            if body >= 0:
                if near:
                    bodies[body, NEAR] = 1.0
                sign = 1.0 if side == FIRST_BODY else -1.0
                for i in range(3):
                    bodies[body, TRUTH_FORCE + i] += sign * contacts[pair, CONTACT_FORCE + i]
                bodies[body, TRUTH_NORMAL] += contacts[pair, NORMAL_FORCE]
                bodies[body, TRUTH_GAP] = min(bodies[body, TRUTH_GAP], contacts[pair, GAP])
                bodies[body, TRUTH_FIRST] = min(bodies[body, TRUTH_FIRST], contacts[pair, FIRST_TOUCH])


@compiled
def _note_acceleration(slope: Vector, layout: Indices, terms: Matrix, bodies: Matrix) -> None:
    """Note the accelerations of the links at the end of an interval; zero after an impact, whose do not go on."""
    for arm in range(terms.shape[0]):
        base, n = layout[arm, BASE], layout[arm, JOINT_COUNT]
        for j in range(n):
            terms[arm, ACCELERATION, j] = slope[base + n + j] if bodies[arm, TRUTH_PEAK] == 0.0 else 0.0


@compiled
def advance_interval(
    ticks: int,
    tick_period: float,
    largest_step: float,
    step_safety: float,
    start_time: float,
    state: Vector,
    work: Matrix,
    layout: Indices,
    joints: Matrix,
    terms: Matrix,
    bodies: Matrix,
    pairs: Indices,
    contacts: Matrix,
) -> int:
    """Integrate `ticks` periods [s] of the torque loops; the state is advanced in place. Returns the number of steps.

    largest_step [s], step_safety: see `PlantOptions`; the arrays: see `SceneArrays`. The arms have to be frozen before
    by `freeze_arm`.
    """
    size = state.shape[0]
    slope, total, trial, torque = work[0], work[1], work[2], work[3]
    observe(ticks * tick_period, state, layout, terms, bodies, pairs, contacts)
    time = start_time
    steps = 0
    for _ in range(ticks):
        _actuate(state, layout, joints, terms)
        remaining = tick_period
        while remaining > 1e-12:
            for i in range(size):
                trial[i] = state[i]
                total[i] = 0.0
            step = remaining
            for stage in range(4):
                _derivative(trial, slope, torque, layout, joints, terms, bodies, pairs, contacts)
                if stage == 0:
                    step = _contact_step(largest_step, step_safety, time, bodies, pairs, contacts)
                    step = min(_joint_step(step, LANDING * largest_step, state, layout, joints), remaining)
                reach = step if stage == 2 else 0.5 * step
                weight = 1.0 if stage == 0 or stage == 3 else 2.0
                for i in range(size):
                    total[i] += weight * slope[i]
                    trial[i] = state[i] + reach * slope[i]
            for i in range(size):
                state[i] += step / 6.0 * total[i]
            _normalise(state, layout)
            time += step
            remaining -= step
            steps += 1
    _note_acceleration(slope, layout, terms, bodies)
    # What holds at the end of the interval, for the record.
    observe(ticks * tick_period, state, layout, terms, bodies, pairs, contacts)
    return steps
