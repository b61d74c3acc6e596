"""Pose and twist of the bodies of a scene, and the rate of its state: arms, pushers, boxes.

`scene`, `body`, `joints`: see `SceneArrays`. Over one interval the rigid-body terms of the arms are constants, see
`plant_kernel`.
"""

from __future__ import annotations

import math

import numpy as np

from impact_control.simulation.contact_kernel import resolve_contact
from impact_control.simulation.joint_kernel import joint_friction, joint_state, transmission
from impact_control.simulation.scene_arrays import ARM, BOX, SceneArrays
from impact_control.util.compiled import compiled_in_place
from impact_control.util.types import Matrix, Records, Vector


@compiled_in_place
def _place_arm(state: Vector, body: np.record, joints: Records) -> None:
    """Write pose and twist of an end-effector, linearised at the middle of the interval."""
    base, n = body.start, body.joint_count
    for i in range(3):
        moved = 0.0
        turned = 0.0
        speed = 0.0
        spin = 0.0
        for j in range(n):
            joint = joints[j]
            change = state[base + j] - joint.middle
            rate = state[base + n + j]
            moved += joint.twist[i] * change
            turned += joint.twist[3 + i] * change
            speed += joint.twist[i] * rate
            spin += joint.twist[3 + i] * rate
        body.position[i] = body.middle_position[i] + moved
        body.velocity[i] = speed
        body.spin[i] = spin
        body.force[i] = turned
    x, y, z = body.force[0], body.force[1], body.force[2]
    for j in range(3):
        a, b, c = body.middle_rotation[0, j], body.middle_rotation[1, j], body.middle_rotation[2, j]
        body.rotation[0, j] = a + y * c - z * b
        body.rotation[1, j] = b + z * a - x * c
        body.rotation[2, j] = c + x * b - y * a


@compiled_in_place
def _place_box(state: Vector, body: np.record) -> None:
    """Write pose and twist of a box; its quaternion need not have length 1."""
    base, R = body.start, body.rotation
    x, y, z, w = state[base + 3], state[base + 4], state[base + 5], state[base + 6]
    s = 2.0 / (x * x + y * y + z * z + w * w)
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)
    R[1, 0], R[1, 1], R[1, 2] = s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)
    R[2, 0], R[2, 1], R[2, 2] = s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)
    for i in range(3):
        body.position[i] = state[base + i]
        body.velocity[i] = state[base + 7 + i]
        spin = 0.0
        for j in range(3):
            spin += R[i, j] * state[base + 10 + j]
        body.spin[i] = spin


@compiled_in_place
def place_bodies(scene: SceneArrays, state: Vector, everything: bool) -> None:
    """Write pose and twist of the bodies, without contact force; of arms far from all others only on request."""
    for index in range(scene.bodies.shape[0]):
        body = scene.bodies[index]
        if body.kind == ARM:
            if everything or body.near:
                _place_arm(state, body, scene.joints[index])
        elif body.kind == BOX:
            _place_box(state, body)
        else:
            for i in range(3):
                body.position[i] = state[body.start + i]
                body.velocity[i] = body.weight[i]
        for i in range(3):
            body.force[i] = 0.0
            body.torque[i] = 0.0
        body.touched = False


@compiled_in_place
def _arm_derivative(state: Vector, slope: Vector, body: np.record, joints: Records, inverse_mass: Matrix) -> None:
    """Right-hand side of Rey Arias 2024 (1)-(3) with the torque filter."""
    base, n = body.start, body.joint_count
    touched = body.touched
    for j in range(n):
        joint = joints[j]
        q, velocity, theta, motor_velocity, filtered = joint_state(state, body, j)
        spring, transmitted = transmission(joint, theta - q, motor_velocity - velocity)
        friction = joint_friction(joint, motor_velocity if joint.friction_on_motor else velocity)
        torque = transmitted - joint.nonlinear
        driving = joint.actuation - transmitted
        if joint.friction_on_motor:
            driving -= friction
        else:
            torque -= friction
        if touched:
            for i in range(3):
                torque += joint.twist[i] * body.force[i]
            for i in range(3):
                torque += joint.twist[3 + i] * body.torque[i]
        joint.link_torque = torque
        slope[base + j] = velocity
        slope[base + 2 * n + j] = motor_velocity
        slope[base + 3 * n + j] = driving / joint.motor_inertia
        slope[base + 4 * n + j] = joint.filter_rate * (spring - filtered)
    for j in range(n):
        acceleration = 0.0
        for k in range(n):
            acceleration += inverse_mass[j, k] * joints[k].link_torque
        slope[base + n + j] = acceleration


@compiled_in_place
def _box_derivative(state: Vector, slope: Vector, body: np.record) -> None:
    """Newton's and Euler's equations of a box, the latter in its principal axes."""
    base = body.start
    x, y, z, w = state[base + 3], state[base + 4], state[base + 5], state[base + 6]
    a, b, c = state[base + 10], state[base + 11], state[base + 12]
    slope[base + 3] = 0.5 * (w * a + y * c - z * b)
    slope[base + 4] = 0.5 * (w * b + z * a - x * c)
    slope[base + 5] = 0.5 * (w * c + x * b - y * a)
    slope[base + 6] = -0.5 * (x * a + y * b + z * c)
    for i in range(3):
        slope[base + i] = state[base + 7 + i]
        slope[base + 7 + i] = (body.force[i] + body.load[i]) / body.mass + body.weight[i]
        about = 0.0
        for j in range(3):
            about += body.rotation[j, i] * (body.torque[j] + body.load[3 + j])
        slope[base + 10 + i] = about
    first, second, third = body.moments[0], body.moments[1], body.moments[2]
    slope[base + 10] = (slope[base + 10] + (second - third) * b * c) / first
    slope[base + 11] = (slope[base + 11] + (third - first) * c * a) / second
    slope[base + 12] = (slope[base + 12] + (first - second) * a * b) / third


@compiled_in_place
def derivative(scene: SceneArrays, state: Vector, slope: Vector) -> None:
    """Write the rate of a state of the whole scene, and poses, twists and forces of bodies and contacts at it."""
    place_bodies(scene, state, False)
    for pair in range(scene.contacts.shape[0]):
        if scene.contacts[pair].active:
            resolve_contact(scene.bodies, scene.contacts[pair])
    for index in range(scene.bodies.shape[0]):
        body = scene.bodies[index]
        if body.kind == ARM:
            _arm_derivative(state, slope, body, scene.joints[index], scene.inverse_mass[index])
        elif body.kind == BOX:
            _box_derivative(state, slope, body)
        else:
            for i in range(3):
                slope[body.start + i] = body.weight[i]


@compiled_in_place
def normalise_orientations(scene: SceneArrays) -> None:
    """Give the quaternions of the boxes length 1 again."""
    state = scene.state
    for index in range(scene.bodies.shape[0]):
        if scene.bodies[index].kind == BOX:
            base = scene.bodies[index].start + 3
            square = 0.0
            for i in range(4):
                square += state[base + i] * state[base + i]
            for i in range(4):
                state[base + i] /= math.sqrt(square)


@compiled_in_place
def store_accelerations(scene: SceneArrays, slope: Vector) -> None:
    """Store the accelerations of the links at the end of an interval; zero after an impact, as they do not last."""
    for arm in range(scene.joints.shape[0]):
        body = scene.bodies[arm]
        for j in range(body.joint_count):
            continues = body.peak_normal_force == 0.0
            scene.joints[arm, j].acceleration = slope[body.start + body.joint_count + j] if continues else 0.0
