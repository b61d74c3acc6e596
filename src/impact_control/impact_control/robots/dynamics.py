"""The rigid-body terms of one robot at one state, computed once a tick into arrays made at start-up."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from impact_control.robots.coriolis_transposed import body_rows, coriolis_transposed_velocity, joint_motions
from impact_control.robots.description import RobotDescription
from impact_control.robots.frame_motion import frame_motion
from impact_control.robots.reflected_inertia import InertiaModel, reflected_motor_inertia
from impact_control.util.memory import named_memory
from impact_control.util.types import Matrix, Vector

_WORLD = pin.Convention.WORLD


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
        frame_motion(
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
