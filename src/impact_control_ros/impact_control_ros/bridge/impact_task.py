"""Server of the action `execute_impact_task`: goals, references built beside the loop, results."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import numpy as np
from impact_msgs.action import ExecuteImpactTask
from impact_msgs.msg import ImpactClassification
from impact_msgs.srv import PredictPostImpact
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.task import Future

from impact_control.control import Mode, ReferenceSpreadingController
from impact_control.impacts import SlipOutcome
from impact_control.pipeline import Outcome, Pipeline
from impact_control.planning import ArmPlan, proposals_text
from impact_control.planning.assignment import Assignment, assigned
from impact_control.references import UnreachableReferenceError
from impact_control.robots import InertiaModel, stand_alike
from impact_control.scenario import Scenario
from impact_control.util.errors import ImpactControlError, words_of
from impact_control.util.types import Vector
from impact_control.util.words import in_words
from impact_control_ros.bridge import real_time, topics
from impact_control_ros.bridge.diagnostics import QueuedLog
from impact_control_ros.bridge.loop_output import ClassificationWriter
from impact_control_ros.bridge.messages import nanoseconds, set_xyz

PREDICTION_PATIENCE = 5.0
"""[s] an impact task waits for the predictor service."""

PREDICTION_REPEAT = 1.0
"""[s] after which it asks again."""

CANCELLED_BEFORE, DEACTIVATED = "cancelled before it began", "the node was deactivated"
"""Ends of a task in words."""


@dataclass(frozen=True)
class PredictedByService:
    """Answer of the predictor: velocity (n,) [rad/s] after the impact, normal impulse [Ns], outcome of the slip."""

    velocity: Vector
    normal_impulse: float
    slip: SlipOutcome


@dataclass(frozen=True)
class PreparedTask:
    """A task whose reference is built: all that the loop needs to start it. begin: stamp [ns], 0 for immediately."""

    plan: ArmPlan
    writer: ClassificationWriter
    begin: int


@dataclass
class Building:
    """The reference of one goal while a thread builds it. built: its task, or why there is none; None until it is done.

    The thread writes here and nowhere else: its result for a goal that has ended meanwhile is dropped.
    """

    built: PreparedTask | str | None = None


class Arm(Protocol):
    """The loop as the action server sees it; it closes what is opened here."""

    node: Node
    log: QueuedLog
    pipeline: Pipeline
    built_in: tuple[str, ...]

    def start_task(self, task: PreparedTask) -> str:
        """Start a task with the next sample; return the reason of a refusal, "" without one."""

    def classification(self) -> ImpactClassification:
        """Return the verdicts of the last task."""

    def fault_reason(self) -> str:
        """Return the fault in words, "" without one."""

    def client(self, kind: type, name: str) -> Any:
        """Return the client of a service."""

    def when_closed(self, close: Callable[[], object]) -> None:
        """Call `close` at clean-up."""


BUILT_IN = (
    "robot",
    "control",
    "detection",
    "classification.method",
    "classification.completion",
    "classification.held_force",
)
"""Entries of a scenario that the node is built for when it is configured: a goal has to agree with them."""


def _entry(scenario: Scenario, key: str) -> Any:
    """Return the value at a dotted key of a scenario, None without one."""
    value = scenario.document.plain()
    for name in key.split("."):
        value = value.get(name)
    return value


def not_begun(outcome: Outcome, reason: str) -> ExecuteImpactTask.Result:
    """Return the result of a goal whose task was not begun, with no data of the task before."""
    return ExecuteImpactTask.Result(outcome=int(outcome), summary=reason)


class ImpactTaskServer:
    """One task at a time."""

    def __init__(self, arm: Arm, assignment: Assignment, source: str, name: str) -> None:
        """Offer the action.

        assignment: that the loop is built for, from the scenario `source`, a name or a path, and of the arm `name` in
        its scene, "" for the only one.
        """
        self._log = arm.log
        self._arm = arm
        self._source = source
        self._name = name
        self._pipeline = arm.pipeline
        self._robot = assignment.robot
        self._scenario = assignment.scenario
        self._open = False
        self._goal: ServerGoalHandle | None = None
        self._building: Building | None = None
        self._results: dict[bytes, ExecuteImpactTask.Result] = {}
        self._predictor = arm.client(PredictPostImpact, topics.PREDICT)
        self._server = ActionServer(
            arm.node,
            ExecuteImpactTask,
            topics.EXECUTE,
            execute_callback=self._on_execute,
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
        )
        arm.when_closed(self._server.destroy)

    def open(self) -> None:
        """Accept goals from now on."""
        self._open = True

    def close(self) -> None:
        """Accept no goal any more; a running task ends, and one whose reference is being built is not begun."""
        self._open = False
        goal = self._goal
        if goal is None:
            return
        if self._building is None:
            self._end_goal(self._result())
        elif goal.is_cancel_requested:
            self._end_goal(not_begun(Outcome.CANCELLED, CANCELLED_BEFORE))
        else:
            self._end_goal(not_begun(Outcome.FAULT, DEACTIVATED))

    def advance(self) -> None:
        """Start a task that is prepared, report progress, end a task that is over. To be called regularly."""
        if self._building is not None and self._building.built is not None:
            self._begin(self._building.built)
        goal = self._goal
        if goal is not None and self._building is not None and goal.is_cancel_requested:
            self._end_goal(not_begun(Outcome.CANCELLED, CANCELLED_BEFORE))
            return
        if goal is None or self._building is not None:
            return
        pipeline, controller = self._pipeline, self._controller
        if not pipeline.task_active:
            self._end_goal(self._result())
            return
        goal.publish_feedback(
            ExecuteImpactTask.Feedback(
                mode=int(Mode.ANTE if pipeline.armed else controller.mode),
                task_time=controller.task_time,
                duration=pipeline.scenario.task.duration,
                position_error=float(np.linalg.norm(controller.position_error)),
                velocity_error=float(np.linalg.norm(controller.velocity_error)),
                impacts=pipeline.judge.impacts,
            )
        )

    @property
    def _controller(self) -> ReferenceSpreadingController:
        return self._pipeline.controller

    # ------------------------------------------------------------------ goals

    def _on_goal(self, request: ExecuteImpactTask.Goal) -> GoalResponse:
        refusal = self._refusal()
        if refusal:
            self._log.error(f"impact task refused: {refusal}")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _refusal(self) -> str:
        """Return why no goal is accepted now, "" if one is. The scenario of a goal is read beside the loop."""
        if not self._open:
            return "the controller is not active"
        if self._goal is not None:
            return "another task is running"
        if self._controller.mode is Mode.FAULT:
            return f"fault {self._controller.fault.name}; deactivate and activate to clear it"
        return ""

    def _on_cancel(self, goal: ServerGoalHandle) -> CancelResponse:
        self._pipeline.cancel()
        return CancelResponse.ACCEPT

    def _on_accepted(self, goal: ServerGoalHandle) -> None:
        """Build the reference beside the loop; the task starts when it is there.

        The goal is executed, in the sense of rclpy, only when the task is over: a coroutine that waits for the
        end keeps the events executor busy all the time.
        """
        self._goal = goal
        self._building = Building()
        # The first message of a kind is slow to send: better now than when the task runs.
        goal.publish_feedback(ExecuteImpactTask.Feedback(mode=int(Mode.IDLE)))
        real_time.run_beside("reference", self._build, goal.request, self._building)

    # ------------------------------------------------------------------ the reference, in a thread of its own

    def _build(self, request: ExecuteImpactTask.Goal, building: Building) -> None:
        """Prepare a task; the loop goes on holding meanwhile."""
        try:
            assignment = assigned(request.scenario or self._source, self._name)
            self._require_what_is_built_in(assignment)
            for departure in assignment.departures:
                self._log.warning(f"impact task: {departure}")
            plan = self._plan(assignment)
            writer = ClassificationWriter(plan.scenario, len(self._robot.joint_names))
            building.built = PreparedTask(plan, writer, nanoseconds(request.begin))
        except ImpactControlError as error:
            building.built = str(error)
        except Exception as error:  # a thread that dies would leave this goal waiting, and refuse all others, for ever
            building.built = f"{type(error).__name__}: {error}"

    def _plan(self, assignment: Assignment) -> ArmPlan:
        """Plan a task; the ImpactControlError for an infeasible one proposes feasible ones."""
        try:
            return assignment.plan(self._predict)
        except UnreachableReferenceError as error:
            raise ImpactControlError(f"{words_of(error)}\n{proposals_text(assignment.proposals(error))}") from error

    def _require_what_is_built_in(self, assignment: Assignment) -> None:
        """Raise ImpactControlError when a task asks for another arm or other parts than this node has."""
        scenario = assignment.scenario
        for key in self._arm.built_in:
            here, there = (_entry(one, key) for one in (self._scenario, scenario))
            if here != there:
                raise ImpactControlError(
                    f"scenario {scenario.name!r} needs another {key} than this node was configured with"
                )
        if not stand_alike(assignment.robot, self._robot):
            raise ImpactControlError(
                f"in scenario {scenario.name!r} the arm stands elsewhere than this node was configured for"
            )

    def _predict(self, q: Vector, dq: Vector, offset: Vector, normal: Vector, friction: float) -> PredictedByService:
        """Ask the predictor service."""
        request = PredictPostImpact.Request(
            joint_position=q.tolist(),
            joint_velocity=dq.tolist(),
            friction=float(friction),
            inertia_model=int(InertiaModel.REDUCED_MOTORS),
            learned=True,
        )
        set_xyz(request.contact_offset, offset)
        set_xyz(request.normal, normal)
        response = self._ask_predictor(request)
        if response is None or not response.success:
            raise ImpactControlError(f"{topics.PREDICT} refused: {response.reason if response else 'no answer'}")
        return PredictedByService(
            np.asarray(response.joint_velocity, dtype=float), response.normal_impulse, SlipOutcome(response.slip)
        )

    def _ask_predictor(self, request: PredictPostImpact.Request) -> PredictPostImpact.Response | None:
        """Return the answer to a request, which is sent again as long as none comes: either may get lost."""
        give_up = time.monotonic() + PREDICTION_PATIENCE
        answers: SimpleQueue[Future] = SimpleQueue()
        asked: list[Future] = []
        try:
            while self._predictor.wait_for_service(timeout_sec=max(0.0, give_up - time.monotonic())):
                asked.append(self._predictor.call_async(request))
                asked[-1].add_done_callback(answers.put)
                with suppress(Empty):
                    return answers.get(timeout=PREDICTION_REPEAT).result()
                if time.monotonic() > give_up:
                    break
        finally:
            for future in asked:
                self._predictor.remove_pending_request(future)
        raise ImpactControlError(f"service {topics.PREDICT} did not answer within {PREDICTION_PATIENCE:g} s")

    # ------------------------------------------------------------------ begin and end

    def _begin(self, built: PreparedTask | str) -> None:
        self._building = None
        if isinstance(built, str):
            self._end_goal(not_begun(Outcome.REFUSED, built))
        elif self._goal is not None and self._goal.is_cancel_requested:
            self._end_goal(not_begun(Outcome.CANCELLED, CANCELLED_BEFORE))
        elif refusal := self._arm.start_task(built):
            self._end_goal(not_begun(Outcome.REFUSED, refusal))
        else:
            reference = built.plan.reference
            self._log.info(f"impact planned: contact {in_words(reference.slip)}, {reference.normal_impulse:.3g} Ns")

    def _end_goal(self, result: ExecuteImpactTask.Result) -> None:
        """End the goal with a result that is made now: the pipeline may be at the next task when rclpy asks for it."""
        goal, self._goal = self._goal, None
        self._building = None
        if result.outcome == Outcome.REFUSED:
            self._log.error(f"impact task refused: {result.summary}")
        if goal is not None:
            self._results[bytes(goal.goal_id.uuid)] = result
            goal.execute()

    def _on_execute(self, goal: ServerGoalHandle) -> ExecuteImpactTask.Result:
        """Report how the task ended."""
        result = self._results.pop(bytes(goal.goal_id.uuid))
        end: dict[int, Callable[[], None]] = {
            Outcome.CANCELLED: goal.canceled,
            Outcome.FAULT: goal.abort,
            Outcome.REFUSED: goal.abort,
        }
        end.get(result.outcome, goal.succeed)()
        return result

    def _result(self) -> ExecuteImpactTask.Result:
        """Return how a task ended that was begun, or ends now."""
        pipeline, controller = self._pipeline, self._controller
        outcome, reason = pipeline.outcome, ""
        if not pipeline.finished and outcome is not Outcome.CANCELLED:
            outcome, reason = Outcome.FAULT, DEACTIVATED
        if outcome is Outcome.REFUSED:
            return not_begun(outcome, pipeline.start_defect())
        result = ExecuteImpactTask.Result(
            outcome=int(outcome),
            impacts=pipeline.judge.impacts,
            duration=controller.task_time,
            final_position_error=float(np.linalg.norm(controller.position_error)),
            peak_torque_rate=controller.peak_torque_rate,
            classification=self._arm.classification(),
        )
        if outcome is Outcome.FAULT and not reason:
            reason = self._arm.fault_reason()
        result.summary = reason or pipeline.stop_reason() or result.classification.reason
        if pipeline.reaction.interruptions:
            result.summary += f"; interrupted {pipeline.reaction.interruptions} time(s)"
        return result
