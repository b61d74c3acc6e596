"""Where the bodies of a scene are, and how fast its state changes: arms, pushers, boxes.

Arrays: see `SceneArrays`. Over one interval the rigid-body terms of the arms are constants, see `plant_kernel`.
"""

from __future__ import annotations

import math

from impact_control.compiled import compiled
from impact_control.simulation.contact_kernel import resolve_contact
from impact_control.simulation.joint_kernel import FILTER_RATE, MOTOR_INERTIA, joint_friction, transmission
from impact_control.simulation.scene_arrays import (
    ACCELERATION,
    ACTIVE,
    ACTUATION,
    ARM,
    BASE,
    BOX,
    FORCE,
    INVERSE_MASS,
    JACOBIAN,
    JOINT_COUNT,
    KIND,
    LOAD,
    LOAD_TORQUE,
    MASS,
    MIDDLE,
    MIDDLE_POSITION,
    MIDDLE_ROTATION,
    MOMENTS,
    NEAR,
    NONLINEAR,
    POSITION,
    ROTATION,
    SPIN,
    TORQUE,
    TOUCHED,
    TRUTH_PEAK,
    VELOCITY,
    WEIGHT,
    Indices,
)
from impact_control.types import Matrix, Vector


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
def place_bodies(state: Vector, layout: Indices, terms: Matrix, bodies: Matrix, everything: bool) -> None:
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
def derivative(
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
    place_bodies(state, layout, terms, bodies, False)
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
def normalise_orientations(state: Vector, layout: Indices) -> None:
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
def note_acceleration(slope: Vector, layout: Indices, terms: Matrix, bodies: Matrix) -> None:
    """Note the accelerations of the links at the end of an interval; zero after an impact, whose do not go on."""
    for arm in range(terms.shape[0]):
        base, n = layout[arm, BASE], layout[arm, JOINT_COUNT]
        for j in range(n):
            terms[arm, ACCELERATION, j] = slope[base + n + j] if bodies[arm, TRUTH_PEAK] == 0.0 else 0.0
