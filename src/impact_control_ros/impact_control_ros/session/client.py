"""A running graph from a few lines of Python: run a scenario, wait for a verdict, ask the predictor."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from action_msgs.msg import GoalStatus
from impact_msgs.action import ExecuteImpactTask, MoveTo
from impact_msgs.msg import ControllerStatus, ImpactClassification
from impact_msgs.srv import PredictPostImpact
from sensor_msgs.msg import JointState

from impact_control.classification import Verdict
from impact_control.control import Mode
from impact_control.impacts import SlipOutcome
from impact_control.pipeline import MoveOutcome, Outcome
from impact_control.robots import InertiaModel
from impact_control.util.checks import checked_count, finite_array, require_positive
from impact_control.util.errors import MissingDependencyError
from impact_control.util.types import Vector
from impact_control.util.words import in_words
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.calls import CALL_PATIENCE, NoAnswerError
from impact_control_ros.bridge.messages import nanoseconds, set_xyz, taken, xyz
from impact_control_ros.bridge.rclpy_internals import Inbox
from impact_control_ros.bridge.task_messages import (
    MOTION_ATTEMPTS,
    NOT_READY,
    MoveResult,
    Progress,
    TaskResult,
    move,
    progress_of,
    task_result,
)
from impact_control_ros.session.operator import Operator
from impact_control_ros.session.processes import GraphError

RUN_PATIENCE = 120.0
"""[s] of the wall clock a task may take."""

QUIET_TIME = 0.1
"""[s] without a further message after which the last verdict is the newest: late joiners get those before it first."""


LISTEN_INTERVAL = 0.1
"""[s] between two checks for a stop request."""

RECOVERY = "action_server/error_recovery"
"""Action of franka_hardware, in the namespace of its controller manager."""

RECOVERY_PATIENCE = 60.0
"""[s] an arm may take to leave its reflex; users report up to 16."""

STATE_PERIOD = 0.02
"""[s] between two states of a stream."""

OnProgress = Callable[[Progress], None]
"""Function that is called with the progress of a task."""


@dataclass(frozen=True)
class ImpactVerdict:
    """Last verdict of the classifier on an impact, see impact_msgs/ImpactClassification.

    scenario: that was judged. impact: on time and place; post_impact: on the behaviour after it; reason in words.
    impact_time [s] of the task and its error time_error [s], configuration_error [rad]; NaN before an impact.
    """

    scenario: str
    impact: Verdict
    post_impact: Verdict
    reason: str
    impact_time: float
    time_error: float
    configuration_error: float

    @property
    def decided(self) -> bool:
        """True when both verdicts are final."""
        return self.post_impact in (Verdict.EXPECTED, Verdict.UNEXPECTED)

    def __str__(self) -> str:
        """Return one line."""
        impact, post = map(in_words, (self.impact, self.post_impact))
        return f"{self.scenario}: impact {impact}, behaviour after it {post}: {self.reason}"


@dataclass(frozen=True, eq=False)
class PredictedImpact:
    """Answer of the predictor.

    joint_velocity (n,) [rad/s] after the impact, in the order of joint_names; normal_impulse [Ns]; impulse on the robot
    (3,) [Ns], contact velocities before and after it (3,) [m/s], world axes; slip, jammed and kinetic_energy_change
    [J]: see `impacts.ContactImpact`; friction and inertia_scale, the factor on B_theta: with which it was predicted.
    """

    joint_names: tuple[str, ...]
    joint_velocity: Vector
    normal_impulse: float
    impulse: Vector
    contact_velocity_before: Vector
    contact_velocity_after: Vector
    slip: SlipOutcome
    jammed: bool
    kinetic_energy_change: float
    friction: float
    inertia_scale: float


@dataclass(frozen=True, eq=False)
class ArmState:
    """Latest state of an arm and its controller.

    time [s]: stamp of the joint state. position, velocity, torque (n,) [rad, rad/s, Nm] as measured, in the order of
    joint_names. mode: of the controller, with the reason of its fault, "" without one; None before its first status.
    verdict: the last one, None before the first.
    """

    time: float
    joint_names: tuple[str, ...]
    position: Vector
    velocity: Vector
    torque: Vector
    mode: Mode | None
    fault_reason: str
    verdict: ImpactVerdict | None


class ImpactClient(Operator):
    """A client of one arm: an operator who runs tasks, too. Use as a context manager.

    Attributes: verdict, the last one that came while one of the methods waited, decided or not; None before the first.
    results, of the trials of the last `run` that ended, whatever became of the others.
    """

    def __init__(self, namespace: str = "", *, patience: float = CALL_PATIENCE) -> None:
        """Join the graph. namespace: of the arm. patience: seconds that nodes may take to be found and to answer."""
        super().__init__(namespace, patience=patience)
        self.verdict: ImpactVerdict | None = None
        self.results: list[TaskResult] = []
        self._heard = -math.inf
        # As many as a late joiner gets at once.
        self._unread: deque[ImpactVerdict] = deque(maxlen=qos.EVENT.depth)
        self._node.create_subscription(ImpactClassification, topics.CLASSIFICATION, self._on_verdict, qos.EVENT)

    # ------------------------------------------------------------------ tasks, verdicts, predictions

    @overload
    def run(
        self, scenario: str = "", *, timeout: float = RUN_PATIENCE, on_progress: OnProgress | None = None
    ) -> TaskResult: ...

    @overload
    def run(
        self, scenario: str = "", *, times: int, timeout: float = RUN_PATIENCE, on_progress: OnProgress | None = None
    ) -> list[TaskResult]: ...

    def run(
        self,
        scenario: str = "",
        *,
        times: int | None = None,
        timeout: float = RUN_PATIENCE,
        on_progress: OnProgress | None = None,
    ) -> TaskResult | list[TaskResult]:
        """Run the task of a scenario to its end, and return its result; with `times`, a list of so many results.

        Args:
            scenario: name, or path on the machine of the controller; "" for the one it was started with.
            times: number of trials, before each of which the arm moves to the start. None: one, from where the arm is.
            timeout: [s] for each task and each motion, which is then cancelled.
            on_progress: called with the progress of each task.

        Raises:
            GraphError: the controller refuses the task, or, with `times`, the arm does not come to the start, or a task
                faults or is cancelled.
            NoAnswerError: one takes too long.
            InvalidInputError: `times` is not a whole number of at least 1.

        A series ends with its first error, and with Ctrl-C; `results` has the trials that ended before.
        """
        self.results = []
        if times is None:
            return self._run_once(scenario, timeout, on_progress)
        for number in range(1, checked_count("times", times, 1) + 1):
            try:
                self._run_from_start(scenario, timeout, on_progress)
            except BaseException as error:  # Ctrl-C, too
                error.add_note(f"in trial {number} of {times}; the results so far are in `results` of the client")
                raise
        return list(self.results)

    def _run_from_start(self, scenario: str, timeout: float, on_progress: OnProgress | None) -> None:
        """Bring the arm to the start and run the task; raises GraphError, too, where it faults or is cancelled."""
        for _ in range(MOTION_ATTEMPTS):
            moved = self.home(scenario, timeout=timeout)
            if moved.outcome is not MoveOutcome.NOT_REACHED:
                break
        if moved.outcome is not MoveOutcome.REACHED:
            raise GraphError(f"the way to the start ended {in_words(moved.outcome)}: {moved.summary}")
        result = self._run_once(scenario, timeout, on_progress)
        if result.outcome in (Outcome.FAULT, Outcome.CANCELLED):
            raise GraphError(f"the task ended {in_words(result.outcome)}: {result.summary}")

    def _run_once(self, scenario: str, timeout: float, on_progress: OnProgress | None) -> TaskResult:
        def report(message: Any) -> None:
            if on_progress is not None:
                on_progress(progress_of(message.feedback))

        answer = self._caller.run(
            ExecuteImpactTask,
            topics.EXECUTE,
            ExecuteImpactTask.Goal(scenario=scenario),
            end="the end of the task",
            find=self._patience,
            timeout=timeout,
            on_feedback=report,
        )
        if answer is None:
            raise GraphError(f"the controller refused scenario {scenario!r}: {NOT_READY}")
        result = task_result(answer)
        if result.outcome is Outcome.REFUSED:
            raise GraphError(f"the controller refused scenario {scenario!r}: {result.summary}")
        self.results.append(result)
        return result

    def move_to(
        self,
        joint_position: Sequence[float] | Vector,
        *,
        speed: float = 0.0,
        timeout: float = RUN_PATIENCE,
        scenario: str = "",
    ) -> MoveResult:
        """Bring the arm to a configuration (n,) [rad] and return the result; at a contact it stops.

        speed [rad/s]: of the fastest joint; 0: 0.5 rad/s. timeout: [s], after which the motion is cancelled. scenario:
        with the surface near the goal; "": the configured one. Raises GraphError when nothing is moved.
        """
        goal = MoveTo.Goal(joint_position=np.asarray(joint_position, dtype=float).tolist(), speed=float(speed))
        goal.scenario = scenario
        result = move(self._caller, goal, self._patience, timeout)
        if result.outcome is MoveOutcome.REFUSED:
            raise GraphError(f"the controller refused to move: {result.summary}")
        return result

    def home(self, scenario: str = "", *, speed: float = 0.0, timeout: float = RUN_PATIENCE) -> MoveResult:
        """Bring the arm to the start of a scenario, "" for the configured one; else as `move_to`."""
        return self.move_to(np.empty(0), speed=speed, timeout=timeout, scenario=scenario)

    def wait_for_verdict(self, timeout: float = RUN_PATIENCE) -> ImpactVerdict:
        """Return the verdict on the present task, or on the last one if none runs, once it is decided.

        Raises NoAnswerError when there is none within `timeout` [s]: without an impact nothing is decided.
        """
        self._caller.wait(self._has_decided, timeout, "a decided verdict")
        if self.verdict is None:
            raise GraphError("no verdict came")
        return self.verdict

    def verdicts(self, stop_requested: Callable[[], bool] = lambda: False) -> Iterator[ImpactVerdict]:
        """Yield every verdict as it comes, those that were sent before first, until a stop is requested."""
        while not stop_requested():
            while self._unread:
                yield self._unread.popleft()
            self._spin(LISTEN_INTERVAL)

    def states(
        self, period: float = STATE_PERIOD, stop_requested: Callable[[], bool] = lambda: False
    ) -> Generator[ArmState, None, None]:
        """Yield the latest state every `period` [s] of the wall clock, until a stop is requested or the loop is left.

        A joint state is yielded once; samples between two periods are not taken, so that reading costs little. Raises
        InvalidInputError for a period that is not positive, NoAnswerError when no joint state comes in time.
        """
        require_positive("period", period)
        inbox = Inbox(self._node)
        try:
            joints = inbox.subscribe(JointState, topics.JOINT_STATES, qos.STREAM)
            status = inbox.subscribe(ControllerStatus, topics.STATUS, qos.STREAM)
            latest, heard = None, time.monotonic()
            while not stop_requested():
                self._spin_for(period)
                latest = status.take() or latest
                sample = joints.take()
                if sample is not None:
                    heard = time.monotonic()
                    yield _arm_state(sample, latest, self.verdict)
                elif time.monotonic() - heard > self._patience:
                    raise NoAnswerError(f"no joint state within {self._patience:g} s on {joints.topic}")
        finally:
            inbox.close()

    def predict(
        self,
        position: Vector,
        velocity: Vector,
        normal: Vector,
        *,
        contact_offset: Vector | None = None,
        friction: float = 0.0,
        restitution: float = 0.0,
        inertia_model: InertiaModel = InertiaModel.REDUCED_MOTORS,
        frame: str = "",
        learned: bool = False,
    ) -> PredictedImpact:
        """Ask for the joint velocity after an impact, under Coulomb's law.

        Args:
            position, velocity: (n,) [rad, rad/s] before the impact.
            normal: (3,) unit normal of the surface, towards the robot, world axes.
            contact_offset: (3,) [m] contact point from the origin of the frame, world axes; None for the origin.
            friction: Coulomb coefficient, at least 0.
            restitution: part of the speed along the normal that comes back, in terms of energy, from 0 to 1.
            inertia_model: see `InertiaModel`.
            frame: of the robot model; "" for the end-effector.
            learned: with what the predictor has learned from impacts, where its scenario lets it.

        Raises:
            GraphError: refused, with the reason.
            InvalidInputError: arrays of other sizes.
        """
        request = PredictPostImpact.Request(
            frame=frame,
            friction=float(friction),
            restitution=float(restitution),
            inertia_model=int(inertia_model),
            learned=learned,
            joint_position=np.asarray(position, dtype=float).tolist(),
            joint_velocity=np.asarray(velocity, dtype=float).tolist(),
        )
        set_xyz(request.normal, finite_array("normal", normal, (3,)))
        offset = np.zeros(3) if contact_offset is None else contact_offset
        set_xyz(request.contact_offset, finite_array("contact_offset", offset, (3,)))
        answer = self._caller.call(PredictPostImpact, topics.PREDICT, request, self._patience)
        if not answer.success:
            raise GraphError(f"the predictor refused: {answer.reason}")
        vectors = ("impulse", "contact_velocity_before", "contact_velocity_after")
        return taken(
            PredictedImpact,
            answer,
            joint_names=tuple(answer.joint_names),
            joint_velocity=np.array(answer.joint_velocity),
            slip=SlipOutcome(answer.slip),
            friction=answer.used_friction,
            inertia_scale=answer.used_inertia_scale,
            **{name: xyz(getattr(answer, name)) for name in vectors},
        )

    def recover(self) -> bool:
        """Have a Franka leave its reflex, by the action ErrorRecovery of franka_ros2; return whether its state comes.

        Only when an operator has seen that the arm is free. Nothing moves: the supervisor lets commands through after
        `reset` only. Without a state the controller manager has given the hardware up, and has to be started again.
        Raises GraphError when the arm refuses, MissingDependencyError without franka_msgs.
        """
        try:
            from franka_msgs.action import ErrorRecovery
        except ImportError as error:
            raise MissingDependencyError(f"franka_msgs is missing, install franka_ros2: {error}") from error
        answer = self._caller.run(
            ErrorRecovery,
            RECOVERY,
            ErrorRecovery.Goal(),
            end="the recovery of the arm",
            find=self._patience,
            timeout=RECOVERY_PATIENCE,
        )
        if answer is None or answer.status != GoalStatus.STATUS_SUCCEEDED:
            raise GraphError("the arm did not recover: free it, release the user stop, look into Desk; then ask again")
        with closing(self.states()) as states, suppress(NoAnswerError):
            next(states)
            return True
        return False

    # ------------------------------------------------------------------ waiting

    def _has_decided(self) -> bool:
        decided = self.verdict is not None and self.verdict.decided
        return decided and time.monotonic() - self._heard >= QUIET_TIME

    def _on_verdict(self, message: ImpactClassification) -> None:
        self._heard = time.monotonic()
        verdicts = {"impact": Verdict(message.impact), "post_impact": Verdict(message.post_impact)}
        self.verdict = taken(ImpactVerdict, message, **verdicts)
        self._unread.append(self.verdict)


def _arm_state(sample: JointState, status: ControllerStatus | None, verdict: ImpactVerdict | None) -> ArmState:
    return ArmState(
        time=nanoseconds(sample.header.stamp) * 1e-9,
        joint_names=tuple(sample.name),
        position=np.array(sample.position),
        velocity=np.array(sample.velocity),
        torque=np.array(sample.effort),
        mode=None if status is None else Mode(status.mode),
        fault_reason="" if status is None else status.fault_reason,
        verdict=verdict,
    )
