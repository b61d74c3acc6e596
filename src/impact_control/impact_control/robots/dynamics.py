"""The rigid-body terms of one robot at one state, computed once a tick into arrays made at start-up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from impact_control.robots.description import RobotDescription
from impact_control.robots.reflected_inertia import InertiaModel, reflected_motor_inertia
from impact_control.util.compiled import compiled, compiled_in_place
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Matrix, Vector

_WORLD = pin.Convention.WORLD


@compiled_in_place
def _move_frame(
    frame: Memory, columns: Matrix, position: Vector, rotation: Matrix, velocity: Vector, acceleration: Vector
) -> None:
    """Write J (6, n), J dq (6,) and dJ dq (6,) of frame E, mixed frame E[A]; van Steen 2024 (1), (2).

    frame: memory in which they are written (jacobian, twist, jacobian_rate_velocity), with dq (n,) [rad/s] and place
    (3,) [m], the origin of E in the frame of the last joint.
    columns (6, n): Jacobian of the last link at the origin of A, axes of A. position (3,) [m]: origin of E in A.
    rotation (3, 3): axes of the last joint as columns, in A.
    velocity, acceleration (6,): twist and spatial acceleration at ddq = 0 of the last link in the frame of its joint.

    The acceleration of the origin of E as a point is a + alpha x r + omega x (v + omega x r). In one compiled call: the
    bindings make a new array for each of these terms, which takes several times as long as the numbers.
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


@compiled
def coriolis_transposed_velocity(motions: Matrix, twists: Matrix, momenta: Matrix, out: Vector) -> None:
    """Write C^T dq (n,) [Nm] of a chain or tree of joints in O(n), without the matrix C. Flacco 2016, section IV.

    The generalized momentum of joint i is p_i = S_i . H_i: its motion S_i at unit rate on the momentum H_i of all links
    that hang on it. With dq held, its derivative is (dM dq)_i, and it has two parts: S_i . dH_i, which is the torque
    (C dq)_i of Newton and Euler, and that of the joint's own motion with its twist V_i, dS_i = V_i x S_i. As
    dM dq = C dq + C^T dq, the second is the desired term:

        (C^T dq)_i = (V_i x S_i) . H_i = -S_i . (V_i x* H_i)

    It is the gradient of the kinetic energy, and the same for every C with dM = C + C^T.

    motions (n, 6): S_i, twist of the link at unit rate of its joint; twists (n + 1, 6): V_i [m/s, rad/s]; momenta
    (n + 1, 6): H_i [kg m/s, kg m^2/s] of all links from i on. Each row in the frame of its joint, linear part first;
    row 0 of the last two is the base.
    """
    for i in range(out.size):
        vx, vy, vz, wx, wy, wz = twists[i + 1]
        lx, ly, lz, kx, ky, kz = momenta[i + 1]
        sx, sy, sz, tx, ty, tz = motions[i]
        # V x* H: w x l, and w x k + v x l.
        out[i] = -(
            sx * (wy * lz - wz * ly)
            + sy * (wz * lx - wx * lz)
            + sz * (wx * ly - wy * lx)
            + tx * (wy * kz - wz * ky + vy * lz - vz * ly)
            + ty * (wz * kx - wx * kz + vz * lx - vx * lz)
            + tz * (wx * ky - wy * kx + vx * ly - vy * lx)
        )


def joint_motions(model: pin.Model, data: pin.Data) -> Matrix:
    """Return S_i (n, 6) of a model of joints with one degree of freedom, linear part first."""
    pin.forwardKinematics(model, data, pin.neutral(model))
    return np.array([np.asarray(data.joints[i + 1].S).reshape(6) for i in range(model.nv)])


def body_rows(vectors: Any) -> Matrix:
    """Return a view (n + 1, 6) of Pinocchio's vector of twists or momenta, which it keeps in one block."""
    first = vectors[0].vector
    stride = vectors[1].vector.ctypes.data - first.ctypes.data
    return np.lib.stride_tricks.as_strided(first, (len(vectors), 6), (stride, first.itemsize))


class Dynamics:
    """Workspace: `compute` overwrites the attributes in place; copy what has to outlive a tick.

    World frame A; E is the contact frame of the end-effector; twists and Jacobians in the mixed frame E[A]
    (origin of E, axes of A), linear part first. Not to be shared between threads, not to be written to.

    Attributes:
        q, dq: configuration and velocity (n,) [rad, rad/s] of the last `compute`.
        mass_matrix: M (n, n) [kg m^2], links only, symmetric; see `inertia` for the motors.
        nonlinear: h = C dq + g (n,) [Nm].
        gravity: g (n,) [Nm], the torque that holds the arm.
        jacobian: J (6, n), rad/s -> m/s, rad/s; van Steen 2024 (1), Proper 2021 (2.23).
        jacobian_rate_velocity: dJ dq (6,) [m/s^2, rad/s^2]; van Steen 2024 (2), Proper 2021 (2.24).
        position: origin of E (3,) [m].
        rotation: R (3, 3), axes of E as columns in A.
        twist: J dq (6,) [m/s, rad/s].
        frame: named memory of q, dq, jacobian, twist and jacobian_rate_velocity, for kernels.
        coriolis_transposed_velocity: C^T dq (n,) [Nm] of `compute_momentum_terms`, for the momentum residual.
    """

    def __init__(self, robot: RobotDescription) -> None:
        """Make the workspace of `robot` and fill it with the state q = 0, dq = 0."""
        self.robot = robot
        self._model = robot.pinocchio_model
        self._data = self._model.createData()
        self._frame = robot.contact_frame_id
        size = self._model.nv
        self._zero = np.zeros(size)
        self.frame = named_memory(
            q=(size,), dq=(size,), place=(3,), jacobian=(6, size), twist=(6,), jacobian_rate_velocity=(6,)
        )
        self.q: Vector = self.frame["q"]
        self.dq: Vector = self.frame["dq"]
        self._motors = {model: reflected_motor_inertia(robot.transmission, model) for model in InertiaModel}
        # Views on memory that Pinocchio allocates once with `data` and overwrites in place.
        self.mass_matrix: Matrix = self._data.M
        self.nonlinear: Vector = self._data.nle
        self.gravity: Vector = self._data.g
        frame = self._model.frames[self._frame]
        self._joint = int(frame.parentJoint)
        self._joint_rotation: Matrix = self._data.oMi[self._joint].rotation
        self.frame["place"] = frame.placement.translation
        self._placement = self._data.oMf[self._frame]
        self.position: Vector = self._placement.translation
        self.rotation: Matrix = self._placement.rotation
        self._columns: Matrix = self._data.J
        self.jacobian: Matrix = self.frame["jacobian"]
        self.jacobian_rate_velocity: Vector = self.frame["jacobian_rate_velocity"]
        self.twist: Vector = self.frame["twist"]
        self.coriolis_transposed_velocity: Vector = np.zeros(size)
        self._joint_motions = joint_motions(self._model, self._data)
        self._twists = body_rows(self._data.v)
        self._accelerations = body_rows(self._data.a)
        self._momenta = body_rows(self._data.h)
        self.compute(self.q, self.dq)
        self.compute_momentum_terms()

    def compute(self, q: Vector, dq: Vector) -> None:
        """Compute everything but the momentum terms at q (n,) [rad], dq (n,) [rad/s]. Does not check them."""
        model, data, frame = self._model, self._data, self._frame
        self.q[:] = q
        self.dq[:] = dq
        # Separate calls: computeAllTerms also does energies and the centre of mass, and leaves out gravity
        # and accelerations. forwardKinematics with zero ddq leaves dJ dq as the acceleration of the frame, and
        # the mass matrix in the axes of A comes with the columns of the Jacobian.
        pin.forwardKinematics(model, data, self.q, self.dq, self._zero)
        pin.crba(model, data, self.q, _WORLD)
        pin.nonLinearEffects(model, data, self.q, self.dq)
        pin.computeGeneralizedGravity(model, data, self.q)
        pin.updateFramePlacement(model, data, frame)
        _move_frame(
            self.frame,
            self._columns,
            self.position,
            self._joint_rotation,
            self._twists[self._joint],
            self._accelerations[self._joint],
        )

    @property
    def coriolis(self) -> Vector:
        """C dq = h - g (n,) [Nm], a new array."""
        return self.nonlinear - self.gravity

    def compute_momentum_terms(self) -> None:
        """Compute C^T dq at the state of the last `compute`, in O(n) without the matrix C; Flacco 2016, IV."""
        pin.computeCentroidalMomentum(self._model, self._data)
        coriolis_transposed_velocity(
            self._joint_motions, self._twists, self._momenta, self.coriolis_transposed_velocity
        )

    def inertia(self, model: InertiaModel, out: Matrix | None = None) -> Matrix:
        """Return M, M + B_theta or M + B_rho (n, n) [kg m^2], new or in `out`. Rey Arias 2024 (8)."""
        return np.add(self.mass_matrix, self._motors[model], out=out)
