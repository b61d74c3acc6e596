"""Server of the actions `execute_impact_task` and `move_to`: goals, references built beside the loop, results."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from impact_msgs.action import ExecuteImpactTask, MoveTo
from impact_msgs.srv import PredictPostImpact
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.client import Client
from rclpy.task import Future

from impact_control.control import Fault, Mode, ReferenceSpreadingController
from impact_control.impacts import SlipOutcome
from impact_control.pipeline import MoveOutcome, Outcome
from impact_control.planning import ArmPlan, impact_signal, proposals_text
from impact_control.planning.assignment import Assignment
from impact_control.planning.joint_move import DEFAULT_SPEED, plan_move
from impact_control.references import ReferenceTable, UnreachableReferenceError, initial_configuration
from impact_control.robots import InertiaModel, stand_alike
from impact_control.scenario import Scenario
from impact_control.util.errors import ImpactControlError, InvalidInputError, words_of
from impact_control.util.types import Vector
from impact_control.util.words import in_words
from impact_control_ros.bridge import real_time, topics
from impact_control_ros.bridge.goal_file import GoalFiles, robot_section
from impact_control_ros.bridge.loop_output import ClassificationWriter
from impact_control_ros.bridge.messages import nanoseconds, set_xyz

if TYPE_CHECKING:  # the loop imports this module
    from impact_control_ros.bridge.control_loop import ControlLoop

PATIENCE = 5.0
"""[s] an impact task waits for the answer of a service."""

REPEAT = 1.0
"""[s] after which it asks again."""

NOWHERE = np.empty(0)
"""In place of a configuration that is not known, and not needed."""

CANCELLED_BEFORE, DEACTIVATED = "cancelled before it began", "the node was deactivated"
"""Ends of a task in words."""


@dataclass(frozen=True)
class PredictedByService:
    """Answer of the predictor: velocity (n,) [rad/s] after the impact, normal impulse [Ns], outcome of the slip."""

    velocity: Vector
    normal_impulse: float
    slip: SlipOutcome


@dataclass(frozen=True)
class PreparedMove:
    """A motion outside of a task that is planned. held: configuration (n,) [rad] from which."""

    motion: ReferenceTable
    held: Vector


@dataclass(frozen=True)
class PreparedTask:
    """A task whose reference is built: all that the loop needs to start it.

    begin: stamp [ns], 0 for immediately. approach: motion to its start, None where the arm has to be there.
    """

    plan: ArmPlan
    writer: ClassificationWriter
    begin: int
    approach: PreparedMove | None = None


@dataclass
class Building:
    """The reference of one goal while a thread builds it.

    built: its task or motion, or why there is none; None until it is done. awaits: the goal, as long as it waits for a
    joint state that says where the arm is. The thread writes `built` and nothing else: its result for a goal that has
    ended meanwhile is dropped.
    """

    built: PreparedTask | PreparedMove | str | None = None
    awaits: Any = None


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


KINDS = {ExecuteImpactTask: "impact task", MoveTo: "motion"}
"""Goals in words, by their action."""

ABORTED = {
    ExecuteImpactTask: (Outcome.FAULT, Outcome.REFUSED),
    MoveTo: tuple(outcome for outcome in MoveOutcome if outcome is not MoveOutcome.REACHED),
}
"""Outcomes that abort a goal of an action."""


def action_of(request: Any) -> Any:
    """Return the action of a goal's request."""
    return MoveTo if isinstance(request, MoveTo.Goal) else ExecuteImpactTask


def not_begun(request: Any, outcome: Outcome, reason: str) -> Any:
    """Return the result of a goal whose task or motion was not begun, with no data of the one before."""
    action = action_of(request)
    number = MoveOutcome[outcome.name] if action is MoveTo else outcome
    return action.Result(outcome=int(number), summary=reason)


class ImpactTaskServer:
    """One task or motion at a time."""

    def __init__(self, arm: ControlLoop, assignment: Assignment, source: str, name: str) -> None:
        """Offer the actions.

        arm: its loop, which closes what is opened here. assignment: that the loop is built for, from the scenario
        `source`, a name or a path, and of the arm `name` in its scene, "" for the only one.
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
        self._turn = Lock()  # of the builders: those of goals that were cancelled have nothing to do any more
        self._files = GoalFiles(robot_section(assignment.scene))
        arm.when_closed(self._files.close)
        if real_time.is_preferred():
            real_time.run_beside("reader", self._start_reader)
        self._next: PreparedTask | None = None
        self._results: dict[bytes, Any] = {}
        self._predictor = arm.client(PredictPostImpact, topics.PREDICT)
        self._server, self._move_server = (
            ActionServer(
                arm.node,
                action,
                name,
                execute_callback=self._on_execute,
                goal_callback=self._on_goal,
                handle_accepted_callback=self._on_accepted,
                cancel_callback=self._on_cancel,
            )
            for action, name in ((ExecuteImpactTask, topics.EXECUTE), (MoveTo, topics.MOVE_TO))
        )
        arm.when_closed(self._server.destroy)
        arm.when_closed(self._move_server.destroy)

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
            self._end_goal(self._result(goal.request))
        elif goal.is_cancel_requested:
            self._end_goal(not_begun(goal.request, Outcome.CANCELLED, CANCELLED_BEFORE))
        else:
            self._end_goal(not_begun(goal.request, Outcome.FAULT, DEACTIVATED))

    def advance(self) -> None:
        """Start a task that is prepared, report progress, end a task that is over. To be called regularly."""
        if self._building is not None and self._building.awaits is not None:
            self._build_beside(self._building.awaits, self._building)
        if self._building is not None and self._building.built is not None:
            self._begin(self._building.built)
        goal = self._goal
        if goal is not None and self._building is not None and goal.is_cancel_requested:
            self._end_goal(not_begun(goal.request, Outcome.CANCELLED, CANCELLED_BEFORE))
            return
        if goal is None or self._building is not None:
            return
        pipeline, controller = self._pipeline, self._controller
        if not pipeline.task_active and self._next is not None:
            self._go_on_from_start(goal, self._next)
            return
        if not pipeline.task_active:
            self._end_goal(self._result(goal.request))
            return
        if action_of(goal.request) is MoveTo:
            goal.publish_feedback(
                MoveTo.Feedback(mode=int(controller.mode), time=controller.task_time, duration=pipeline.duration)
            )
            return
        goal.publish_feedback(
            ExecuteImpactTask.Feedback(
                mode=int(self._mode),
                task_time=controller.task_time,
                duration=pipeline.duration,
                position_error=float(np.linalg.norm(controller.position_error)),
                velocity_error=float(np.linalg.norm(controller.velocity_error)),
                impacts=pipeline.judge.impacts,
            )
        )

    @property
    def _mode(self) -> Mode:
        """Mode of the controller; of what is armed the one that it begins with."""
        if not self._pipeline.armed:
            return self._controller.mode
        return Mode.MOVE if self._pipeline.moves else Mode.ANTE

    @property
    def _controller(self) -> ReferenceSpreadingController:
        return self._pipeline.controller

    # ------------------------------------------------------------------ goals

    def _on_goal(self, request: Any) -> GoalResponse:
        refusal = self._refusal()
        if refusal:
            self._log.error(f"{KINDS[action_of(request)]} refused: {refusal}")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _refusal(self) -> str:
        """Return why no goal is accepted now, "" if one is. The scenario of a goal is read beside the loop."""
        if not self._open:
            return "the controller is not active"
        if self._goal is not None:
            return "another task is running"
        if self._controller.mode is Mode.FAULT:
            fault = self._controller.fault
            step = "reset the supervisor" if fault is Fault.SUPERVISOR_STOP else "deactivate and activate"
            return f"fault {fault.name}; {step} to clear it"
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
        goal.publish_feedback(action_of(goal.request).Feedback(mode=int(Mode.IDLE)))
        self._build_beside(goal.request, self._building)

    def _build_beside(self, request: Any, building: Building) -> None:
        """Let a thread build the reference, once it is known where the arm is if it begins with a motion from there."""
        held, moves = self._arm.held_configuration(), action_of(request) is MoveTo or request.approach_start
        building.awaits = request if moves and held is None else None
        if building.awaits is None:
            real_time.run_beside("reference", self._build, request, building, NOWHERE if held is None else held)

    def _start_reader(self) -> None:
        """Start the reader of goals' files in advance: beside loops of real-time priority its imports take long."""
        with self._turn:
            self._files.start()

    # ------------------------------------------------------------------ the reference, in a thread of its own

    def _build(self, request: Any, building: Building, held: Vector = NOWHERE) -> None:
        """Prepare a task or a motion; the loop goes on holding meanwhile. held (n,) [rad]: where, for motions."""
        with self._turn:
            if self._building is building:
                building.built = self._prepare(request, held)

    def _prepare(self, request: Any, held: Vector) -> PreparedTask | PreparedMove | str:
        """Return the task or the motion that a goal asks for, or why there is none."""
        try:
            assignment = self._files.assigned(request.scenario or self._source, self._name)
            self._require_what_is_built_in(assignment)
            if action_of(request) is MoveTo:
                return self._prepare_move(request, assignment.scenario, held)
            return self._prepare_task(request, assignment, held)
        except ImpactControlError as error:
            return str(error)
        except Exception as error:  # a thread that dies would leave this goal waiting, and refuse all others, for ever
            return f"{type(error).__name__}: {error}"

    def _prepare_task(self, request: ExecuteImpactTask.Goal, assignment: Assignment, held: Vector) -> PreparedTask:
        begin = nanoseconds(request.begin)
        if begin and request.approach_start:
            raise InvalidInputError("approach_start", True, "false with a begin: move the arms to their starts first")
        for departure in assignment.departures:
            self._log.warning(f"impact task: {departure}")
        plan = self._plan(assignment)
        self._arm.prepare_results(assignment)
        signal = impact_signal(plan)
        for warning in () if signal is None else signal.warnings:
            self._log.warning(f"impact task: {warning}")
        approach = None
        if request.approach_start:
            approach = self._move(plan.scenario, held, plan.reference.initial_configuration)
        return PreparedTask(plan, ClassificationWriter(plan.scenario, len(self._robot.joint_names)), begin, approach)

    def _prepare_move(self, request: MoveTo.Goal, scenario: Scenario, held: Vector) -> PreparedMove:
        asked = np.array(request.joint_position)
        goal = asked if asked.size else initial_configuration(scenario, self._robot)
        return self._move(scenario, held, goal, request.speed or DEFAULT_SPEED)

    def _move(self, scenario: Scenario, held: Vector, goal: Vector, speed: float = DEFAULT_SPEED) -> PreparedMove:
        """Plan a motion from where the arm is held, which is near the surface of the last task."""
        if self._pipeline.follows:
            raise ImpactControlError(
                "the arm holds the end of its last task; allowed: motions once its controller was deactivated"
            )
        motion = plan_move(self._robot, scenario, held, goal, speed=speed, before=self._pipeline.scenario)
        return PreparedMove(motion, held)

    def _plan(self, assignment: Assignment) -> ArmPlan:
        """Plan a task; the ImpactControlError for an infeasible one proposes feasible ones."""
        try:
            return assignment.plan(self._predict)
        except UnreachableReferenceError as error:
            raise ImpactControlError(f"{words_of(error)}\n{proposals_text(assignment.proposals(error))}") from error

    def _require_what_is_built_in(self, assignment: Assignment) -> None:
        """Raise ImpactControlError when a task asks for another arm or other parts than this node has."""
        scenario = assignment.scenario
        for key in BUILT_IN:
            here, there = (_entry(one, key) for one in (self._scenario, scenario))
            if here != there:
                raise ImpactControlError(
                    f"scenario {scenario.name!r}: another {key} than this node was configured with; allowed: the same"
                )
        if not stand_alike(assignment.robot, self._robot):
            raise ImpactControlError(
                f"scenario {scenario.name!r}: another place of the arm than this node was configured for"
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
        response = self.ask(self._predictor, request)
        if response is None or not response.success:
            raise ImpactControlError(f"{topics.PREDICT} refused: {response.reason if response else 'no answer'}")
        return PredictedByService(
            np.asarray(response.joint_velocity, dtype=float), response.normal_impulse, SlipOutcome(response.slip)
        )

    def ask(self, client: Client, request: Any) -> Any:
        """Return the answer of a service, which is asked again as long as none comes: either may get lost.

        From the thread of a builder. Raises ImpactControlError without an answer.
        """
        give_up = time.monotonic() + PATIENCE
        answers: SimpleQueue[Future] = SimpleQueue()
        asked: list[Future] = []
        try:
            while client.wait_for_service(timeout_sec=max(0.0, give_up - time.monotonic())):
                asked.append(client.call_async(request))
                asked[-1].add_done_callback(answers.put)
                with suppress(Empty):
                    return answers.get(timeout=REPEAT).result()
                if time.monotonic() > give_up:
                    break
        finally:
            for future in asked:
                client.remove_pending_request(future)
        raise ImpactControlError(f"service {client.service_name} did not answer within {PATIENCE:g} s")

    # ------------------------------------------------------------------ begin and end

    def _begin(self, built: PreparedTask | PreparedMove | str) -> None:
        self._building = None
        if (goal := self._goal) is None:
            return
        if isinstance(built, str):
            self._end_goal(not_begun(goal.request, Outcome.REFUSED, built))
        elif goal.is_cancel_requested:
            self._end_goal(not_begun(goal.request, Outcome.CANCELLED, CANCELLED_BEFORE))
        elif isinstance(built, PreparedMove):
            self._start_move(goal, built)
        elif built.approach is None:
            self._start_task(goal, built)
        else:
            self._next = built
            self._start_move(goal, built.approach)

    def _start_move(self, goal: ServerGoalHandle, move: PreparedMove) -> None:
        if refusal := self._arm.start_move(move):
            self._end_goal(not_begun(goal.request, Outcome.REFUSED, refusal))

    def _start_task(self, goal: ServerGoalHandle, task: PreparedTask) -> None:
        if refusal := self._arm.start_task(task):
            self._end_goal(not_begun(goal.request, Outcome.REFUSED, refusal))
        else:
            reference = task.plan.reference
            self._log.info(f"impact planned: contact {in_words(reference.slip)}, {reference.normal_impulse:.3g} Ns")

    def _go_on_from_start(self, goal: ServerGoalHandle, task: PreparedTask) -> None:
        """Start a task whose approach is over, if that has led to its start."""
        moved, self._next = self._result_of_move(), None
        if moved.outcome == MoveOutcome.CANCELLED or goal.is_cancel_requested:
            self._end_goal(not_begun(goal.request, Outcome.CANCELLED, CANCELLED_BEFORE))
        elif moved.outcome == MoveOutcome.REACHED:
            self._start_task(goal, task)
        else:
            outcome = Outcome.FAULT if moved.outcome == MoveOutcome.FAULT else Outcome.REFUSED
            self._end_goal(not_begun(goal.request, outcome, f"on the way to the start: {moved.summary}"))

    def _end_goal(self, result: Any) -> None:
        """End the goal with a result that is made now: the pipeline may be at the next task when rclpy asks for it."""
        goal, self._goal = self._goal, None
        self._building = self._next = None
        if goal is not None:
            action = action_of(goal.request)
            if result.outcome == action.Result.REFUSED:
                self._log.error(f"{KINDS[action]} refused: {result.summary}")
            self._results[bytes(goal.goal_id.uuid)] = result
            goal.execute()

    def _on_execute(self, goal: ServerGoalHandle) -> Any:
        """Report how the task or the motion ended."""
        result = self._results.pop(bytes(goal.goal_id.uuid))
        if result.outcome == result.CANCELLED:
            goal.canceled()
        elif result.outcome in ABORTED[action_of(goal.request)]:
            goal.abort()
        else:
            goal.succeed()
        return result

    def _result(self, request: Any) -> Any:
        """Return how a task or a motion ended that was begun, or ends now."""
        if action_of(request) is MoveTo:
            return self._result_of_move()
        pipeline, controller = self._pipeline, self._controller
        if self._next is not None:
            cancelled = pipeline.move_outcome is MoveOutcome.CANCELLED
            ends = (Outcome.CANCELLED, CANCELLED_BEFORE) if cancelled else (Outcome.FAULT, DEACTIVATED)
            return not_begun(request, *ends)
        outcome, reason = pipeline.outcome, ""
        if not pipeline.finished and outcome is not Outcome.CANCELLED:
            outcome, reason = Outcome.FAULT, DEACTIVATED
        if outcome is Outcome.REFUSED:
            return not_begun(request, outcome, pipeline.start_defect())
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

    def _result_of_move(self) -> MoveTo.Result:
        """Return how a motion ended that was begun, or ends now."""
        pipeline = self._pipeline
        outcome, reason = pipeline.move_outcome, ""
        if not pipeline.finished and outcome is not MoveOutcome.CANCELLED:
            outcome, reason = MoveOutcome.FAULT, DEACTIVATED
        if outcome is MoveOutcome.FAULT and not reason:
            reason = self._arm.fault_reason()
        return MoveTo.Result(
            outcome=int(outcome),
            summary=reason or pipeline.move_reason(),
            duration=self._controller.task_time,
            final_error=pipeline.move_error,
        )
