"""Predictor service: joint velocities after an impact at one contact, under Coulomb's law."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
from impact_msgs.msg import ImpactBelief
from impact_msgs.srv import PredictPostImpact

from impact_control.impacts import predict_post_impact_velocity
from impact_control.pipeline.impact_learning import ImpactLearner, Lesson
from impact_control.robots import CONTACT_FRAME, Dynamics, InertiaModel, contact_point_jacobian
from impact_control.scenario import load_scenario, robot_of
from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control.util.settings import SCENARIO
from impact_control.util.types import Matrix, Vector
from impact_control_ros.bridge import qos, runtime, topics
from impact_control_ros.bridge.lessons import LessonInbox, PlannedContact
from impact_control_ros.bridge.lifecycle import Configuration, ConfiguredNode, declare_setting
from impact_control_ros.bridge.messages import set_xyz, to_stamp, xyz
from impact_control_ros.bridge.paced_responses import PacedResponses

LESSON_PERIOD = 0.1
"""[s] between two looks for an impact to learn from."""


def _lost() -> PredictPostImpact.Response:
    reason = "the request was lost: more were sent at once than the queue of the client keeps, ten by default"
    return PredictPostImpact.Response(success=False, reason=reason)


class Prediction(Configuration):
    """Predictor of one robot, and what it has learned since its configuration; the service is there while active."""

    def __init__(self, node: PredictorNode) -> None:
        """Load the robot."""
        super().__init__(node)
        self._scenario = load_scenario(node.value("scenario")).arm()
        self._robot = robot_of(self._scenario.robot)
        self._dynamics = Dynamics(self._robot)
        self._learner = ImpactLearner(self._scenario, self._robot) if self._scenario.prediction.adapt else None
        self._belief = node.belief
        self._lessons: LessonInbox | None = None
        self._last_lesson: tuple[int, Lesson] | None = None
        self._while_active = Configuration(node)
        self.when_closed(self._while_active.close)  # when the node ends while it is active

    def activate(self) -> None:
        """Offer the service; listen, if it learns."""
        if self._learner is not None:
            self._lessons = LessonInbox(self.node, self._learner, self._robot.joint_names)
            self._while_active.when_closed(self._lessons.close)
            self._while_active.timer(LESSON_PERIOD, self._learn)
            self._publish(self._learner)
        service = self._while_active.service(PredictPostImpact, topics.PREDICT, self._on_request, qos.CALLS)
        self._while_active.when_closed(PacedResponses(self.node, service, _lost).close)

    def deactivate(self) -> None:
        """Withdraw the service, stop listening."""
        self._while_active.close()
        self._lessons = None

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
        self._dynamics.compute(q, dq)
        jacobian = contact_point_jacobian(self._frame_jacobian(request.frame, q), offset)
        inertia, friction, scale = self._dynamics.inertia(inertia_model), request.friction, 1.0
        if request.learned and self._learner is not None:
            self._learn()
            self._plan(request, offset)
            self._publish(self._learner)  # for the recording of the task that is planned
            friction = self._learner.friction(request.friction)
            if inertia_model is InertiaModel.REDUCED_MOTORS:
                inertia, scale = self._learner.inertia(self._dynamics.mass_matrix), self._learner.inertia_scale
        prediction = predict_post_impact_velocity(
            inertia, jacobian, xyz(request.normal), dq, friction, request.restitution
        )
        if not (math.isfinite(prediction.normal_impulse) and np.all(np.isfinite(prediction.velocity))):
            raise InvalidInputError("contact_offset", offset.tolist(), "a point for which the velocity after is finite")
        response.success = True
        response.joint_names = list(self._robot.joint_names)
        response.joint_velocity = prediction.velocity.tolist()
        response.slip = int(prediction.slip)
        for vector in ("impulse", "contact_velocity_before", "contact_velocity_after"):
            set_xyz(getattr(response, vector), getattr(prediction, vector))
        for scalar in ("normal_impulse", "jammed", "kinetic_energy_change"):
            setattr(response, scalar, getattr(prediction, scalar))
        response.used_friction = friction
        response.used_inertia_scale = scale

    # ------------------------------------------------------------------ learning

    def _plan(self, request: PredictPostImpact.Request, offset: Vector) -> None:
        """Take a request as the plan of the next impact, if it is on the surface that is learned."""
        if self._lessons is not None:
            there = request.friction == self._scenario.expected_environment.surface.friction
            planned = PlannedContact(offset, xyz(request.normal)) if there and not request.frame else None
            self._lessons.planned = planned

    def _learn(self) -> None:
        if self._lessons is None or self._learner is None:
            return
        try:
            lesson = self._lessons.take()
        except InvalidInputError as error:
            self.node.get_logger().warning(f"nothing learned from an impact: {error}")
            return
        if lesson is not None:
            self._last_lesson = lesson
            self._publish(self._learner)

    def _publish(self, learner: ImpactLearner) -> None:
        """Publish the belief, and the lesson of the last impact."""
        message = ImpactBelief(
            scenario=self._scenario.name,
            impacts=learner.impacts,
            covariance=learner.belief.covariance.ravel(),
            joint_names=self._robot.joint_names,
            prediction_error=math.nan,
        )
        message.friction, message.restitution, message.inertia_scale = learner.belief.estimate.tolist()
        if self._last_lesson is not None:
            stamp, lesson = self._last_lesson
            to_stamp(stamp, message.header.stamp)
            message.predicted_velocity, message.observed_velocity = lesson.predicted.tolist(), lesson.observed.tolist()
            message.prediction_error = lesson.error
        self._belief.publish(message)

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


class PredictorNode(ConfiguredNode[Prediction]):
    """Answers predict_post_impact for the robot of its scenario; refuses with a reason.

    Where the scenario lets it adapt it learns from each impact at the expected time and place, and publishes the belief
    on `impact/belief`. A new configuration forgets.

    Attributes: belief, its publisher, which keeps the last message for late joiners also after a clean-up.
    """

    def __init__(self) -> None:
        super().__init__("predictor", Prediction)
        declare_setting(self, SCENARIO)
        self.belief = self.create_publisher(ImpactBelief, topics.BELIEF, qos.LATCHED)


def main() -> int:
    """Entry point of the process."""
    return runtime.run(PredictorNode, runtime.spin_until_stopped)
