"""Motion of the contact frame, from the terms of Pinocchio for the joints, in one compiled call.

The bindings make a new array or object for each of these terms; that takes several times as long as the numbers.
"""

from __future__ import annotations

from impact_control.util.compiled import compiled_in_place
from impact_control.util.memory import Memory
from impact_control.util.types import Matrix, Vector


@compiled_in_place
def frame_motion(
    frame: Memory, columns: Matrix, position: Vector, rotation: Matrix, velocity: Vector, acceleration: Vector
) -> None:
    """Write J (6, n), J dq (6,) and dJ dq (6,) of frame E, mixed frame E[A]; van Steen 2024 (1), (2).

    frame: memory in which they are written (jacobian, twist, jacobian_rate_velocity), with dq (n,) [rad/s] and place
    (3,) [m], the origin of E in the frame of the last joint.
    columns (6, n): Jacobian of the last link at the origin of A, axes of A. position (3,) [m]: origin of E in A.
    rotation (3, 3): axes of the last joint as columns, in A.
    velocity, acceleration (6,): twist and spatial acceleration at ddq = 0 of the last link in the frame of its joint.

    The acceleration of the origin of E as a point is a + alpha x r + omega x (v + omega x r).
    """
    f = frame[()]
    dq, jacobian, twist = f.dq, f.jacobian, f.twist
    x, y, z = position
    for i in range(6):
        twist[i] = 0.0
    for j in range(dq.shape[0]):
        ax, ay, az = columns[3, j], columns[4, j], columns[5, j]
        jacobian[0, j] = columns[0, j] + ay * z - az * y
        jacobian[1, j] = columns[1, j] + az * x - ax * z
        jacobian[2, j] = columns[2, j] + ax * y - ay * x
        jacobian[3, j], jacobian[4, j], jacobian[5, j] = ax, ay, az
        for i in range(6):
            twist[i] += jacobian[i, j] * dq[j]
    rx, ry, rz = f.place
    wx, wy, wz = velocity[3:6]
    bx, by, bz = acceleration[3:6]
    vx, vy, vz = velocity[0] + wy * rz - wz * ry, velocity[1] + wz * rx - wx * rz, velocity[2] + wx * ry - wy * rx
    cx = acceleration[0] + by * rz - bz * ry + wy * vz - wz * vy
    cy = acceleration[1] + bz * rx - bx * rz + wz * vx - wx * vz
    cz = acceleration[2] + bx * ry - by * rx + wx * vy - wy * vx
    for i in range(3):
        a, b, c = rotation[i, 0], rotation[i, 1], rotation[i, 2]
        f.jacobian_rate_velocity[i] = a * cx + b * cy + c * cz
        f.jacobian_rate_velocity[3 + i] = a * bx + b * by + c * bz
