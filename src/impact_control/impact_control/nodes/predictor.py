"""Predictor service: the joint velocity after a single inelastic impact, Rey Arias 2024 (16)."""

from __future__ import annotations

import math
import sys

import numpy as np
import pinocchio as pin
from impact_msgs.srv import PredictPostImpact
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from impact_control.errors import ImpactControlError, InvalidInputError
from impact_control.impacts import predict_post_impact_velocity
from impact_control.nodes import runtime, topics
from impact_control.nodes.messages import set_xyz, xyz
from impact_control.robots import CONTACT_FRAME, Dynamics, InertiaModel, contact_point_jacobian
from impact_control.scenario import load_scenario, robot_of
from impact_control.types import Matrix, Vector


class PredictorNode(LifecycleNode):
    """Answers predict_post_impact for the robot of its scenario; refuses with a reason."""

    def __init__(self) -> None:
        super().__init__("predictor")
        self.declare_parameter(
            "scenario",
            "tabletop",
            ParameterDescriptor(description="name or path of the scenario file: its robot"),
        )

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot."""
        try:
            self._robot = robot_of(load_scenario(str(self.get_parameter("scenario").value)).robot)
        except ImpactControlError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._dynamics = Dynamics(self._robot)
        self._service = None
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Offer the service."""
        self._service = self.create_service(PredictPostImpact, topics.PREDICT, self._on_request)
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Withdraw the service."""
        if self._service is not None:
            self.destroy_service(self._service)
            self._service = None
        return super().on_deactivate(state)

    def _on_request(
        self, request: PredictPostImpact.Request, response: PredictPostImpact.Response
    ) -> PredictPostImpact.Response:
        try:
            self._predict(request, response)
        except ImpactControlError as error:
            response.success = False
            response.reason = str(error)
        return response

    def _predict(self, request: PredictPostImpact.Request, response: PredictPostImpact.Response) -> None:
        q = self._joint_vector("joint_position", request.joint_position)
        dq = self._joint_vector("joint_velocity", request.joint_velocity)
        limits = self._robot.limits
        if np.any(q < limits.position_lower) or np.any(q > limits.position_upper):
            raise InvalidInputError("joint_position", q.tolist(), "inside the position limits of the robot")
        if np.any(np.abs(dq) > limits.velocity):
            raise InvalidInputError("joint_velocity", dq.tolist(), "inside the velocity limits of the robot")
        try:
            inertia_model = InertiaModel(request.inertia_model)
        except ValueError:
            names = ", ".join(f"{model.value} {model.name}" for model in InertiaModel)
            raise InvalidInputError("inertia_model", request.inertia_model, names) from None
        offset = xyz(request.contact_offset)
        if not np.all(np.isfinite(offset)):
            raise InvalidInputError("contact_offset", offset.tolist(), "three finite numbers in m")
        self._dynamics.update(q, dq)
        jacobian = contact_point_jacobian(self._frame_jacobian(request.frame, q), offset)
        prediction = predict_post_impact_velocity(
            self._dynamics.inertia(inertia_model), jacobian, xyz(request.normal), dq, request.friction
        )
        if not (math.isfinite(prediction.normal_impulse) and np.all(np.isfinite(prediction.velocity))):
            raise InvalidInputError("contact_offset", offset.tolist(), "a point for which the velocity after is finite")
        response.success = True
        response.joint_names = list(self._robot.joint_names)
        response.joint_velocity = prediction.velocity.tolist()
        response.normal_impulse = prediction.normal_impulse
        set_xyz(response.impulse, prediction.impulse)
        set_xyz(response.contact_velocity_before, prediction.contact_velocity_before)
        set_xyz(response.contact_velocity_after, prediction.contact_velocity_after)

    def _joint_vector(self, name: str, values: object) -> Vector:
        array = np.asarray(values, dtype=float)
        n = len(self._robot.joint_names)
        if array.shape != (n,) or not np.all(np.isfinite(array)):
            raise InvalidInputError(name, array.tolist(), f"{n} finite numbers")
        return array

    def _frame_jacobian(self, frame: str, q: Vector) -> Matrix:
        """Return the Jacobian (6, n), mixed frame, of the named frame; empty: the end-effector."""
        if frame in ("", CONTACT_FRAME):
            return self._dynamics.jacobian
        model = self._robot.pinocchio_model
        if not model.existFrame(frame):
            names = ", ".join(f.name for f in model.frames if f.name != "universe")
            raise InvalidInputError("frame", frame, f"one of {names}")
        data = model.createData()
        jacobian: Matrix = pin.computeFrameJacobian(model, data, q, model.getFrameId(frame), pin.LOCAL_WORLD_ALIGNED)
        return jacobian


def main() -> int:
    """Entry point of the process."""
    return runtime.run(PredictorNode, runtime.spin_until_stopped)


if __name__ == "__main__":
    sys.exit(main())
