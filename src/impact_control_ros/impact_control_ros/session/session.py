"""A session: starts the graph, orders start-up by readiness, runs tasks, watches the nodes, stops everything."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from impact_msgs.action import ExecuteImpactTask, MoveTo
from impact_msgs.msg import ControllerStatus, SupervisorStatus
from lifecycle_msgs.msg import State, Transition
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger

from impact_control.control import Mode
from impact_control.pipeline import MoveOutcome, Outcome
from impact_control.recording.bag import METADATA_FILE, recover
from impact_control.util.errors import ImpactControlError, InterruptedByUserError
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.calls import CALL_PATIENCE, START_PATIENCE, TARGETS
from impact_control_ros.bridge.messages import answered, nanoseconds, to_stamp
from impact_control_ros.bridge.rclpy_internals import EventsExecutor
from impact_control_ros.bridge.real_time import LEAVE_MACHINE
from impact_control_ros.bridge.settings import REAL_TIME_FACTOR
from impact_control_ros.bridge.supervision import Cause, Supervision
from impact_control_ros.bridge.task_messages import (
    NOT_READY,
    MoveResult,
    Progress,
    TaskResult,
    move,
    progress_of,
    task_result,
)
from impact_control_ros.session.fork_server import server
from impact_control_ros.session.graph import ALONE, OPERATOR, Duty, NodeSpec, full_name
from impact_control_ros.session.occupants import Visitor
from impact_control_ros.session.processes import (
    Death,
    GraphError,
    NodeDiedError,
    Processes,
    RecordingCutOffError,
    RobotStoppedError,
)

END_PATIENCE = 0.3
"""[s] after a stop by the supervisor in which a controller that lives ends its task."""

HASTE = 0.3
"""[s] until remaining processes are killed after the loss of a node: the bag has to be complete within 1 s.

DDS may take seconds to drop a peer that vanished.
"""

REASON_PATIENCE = 0.1
"""[s] in which the reason of a refusal comes into the log: a loop at real-time priority leaves that to a thread."""

STANDSTILL_TIME = 0.35
"""[s] the robot side is left running without the controller, so that the arm comes to a damped rest."""

RELEASE_PATIENCE = 0.1
"""[s] a simulator may take to let its clock run."""

ARMING_TIME = 10_000_000_000
"""[ns] between the goals of several arms on a graph of others and the begin of their tasks: each is planned before."""

CANCEL_PATIENCE = 1.0
"""[s] a controller may take to confirm a cancellation when the session ends anyway."""


class Session(Visitor):
    """The running graph, from outside. Use as a context manager: leaving it stops every process.

    `stop_requested` is polled while waiting: True raises `InterruptedByUserError`. `losses`: nodes that were lost and
    without which the task goes on.
    """

    def __init__(
        self,
        specs: Iterable[NodeSpec],
        log_directory: Path,
        *,
        namespace: str = "",
        arms: Sequence[str] = ALONE,
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> None:
        """arms: those that a graph of others runs, whose loops are not among the specs."""
        enclave = full_name(namespace, OPERATOR)
        super().__init__(f"session_{os.getpid()}", namespace, EventsExecutor, ["--ros-args", "--enclave", enclave])
        self._specs = {spec.path: spec for spec in specs}
        self.processes = Processes(log_directory, namespace, measures=LEAVE_MACHINE if self._lockstep else None)
        self._stop_requested = stop_requested
        self._bag: Path | None = None
        self._started = False
        self.losses: tuple[Death, ...] = ()
        # Of simulators whose time is not that of the wall; found now, because there is no time for it in the end.
        self._clocks = {
            name: self._node.create_client(SetParameters, f"{name}/set_parameters")
            for name in self._names(Duty.ROBOT)
            if self._lockstep or self._specs[name].parameters.get("real_time_factor") != 1.0
        }
        loops = [self._specs[name].namespace for name in self._names(Duty.LOOP)]
        self._arms = list(dict.fromkeys(loops or arms))
        self._supervision = SupervisorStatus()
        self._stopped_since = math.inf
        if self._names(Duty.SUPERVISOR):
            topic = topics.of_arm(self._arms[0], topics.SUPERVISOR)
            self._node.create_subscription(SupervisorStatus, topic, self._on_supervision, qos.LATCHED)

    # ------------------------------------------------------------------ life

    def start(
        self, bag: Path | None = None, scenario_yaml: str = "", on_view: Callable[[], None] = lambda: None
    ) -> None:
        """Start all processes together, configure each as soon as it is there, then activate them in order.

        Raises GraphError, before anything is started, where a graph with the same names or arms runs.

        bag: directory for the recorder's first bag. on_view: called when a viewer serves its page, before the
        wait for a browser.
        """
        commanding = any(spec.duty is not Duty.RECORDER for spec in self._specs.values())
        self.require_free(self._specs, arms=self._arms if commanding else ())
        self._caller.wait(lambda: server().ready(), START_PATIENCE, "the process that nodes are forked from")
        for spec in self._specs.values():
            self.processes.start(spec)
        for spec in self._specs.values():
            self._caller.await_node(spec.path)
        begun = []
        for spec in self._specs.values():
            begun.append(self._caller.begin_change(spec.path, Transition.TRANSITION_CONFIGURE))
        for change in begun:
            self._require(self._caller.end_change(change), change.node, change.transition)
        # All publishers exist now: the recorder can find those it must be connected to.
        for spec in self._specs.values():
            if spec.duty is Duty.RECORDER:
                self.record(bag, scenario_yaml)
                continue
            if spec.duty is Duty.VIEWER:
                on_view()
            self._change(spec.path, Transition.TRANSITION_ACTIVATE)
        self._started = True

    def offer_end(self) -> None:
        """Let a client end the session by a service, as if its user had asked for a stop."""
        stop_requested, asked = self._stop_requested, []

        def end(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            asked.append(request)
            return answered(response, True, f"the graph in {self._node.get_namespace()} ends")

        self._stop_requested = lambda: bool(asked) or stop_requested()
        self._node.create_service(Trigger, topics.END, end)

    def close(self) -> None:
        """Stop all nodes, complete the bag, leave the graph. Idempotent."""
        self._stop_nodes()
        if self._bag is not None:
            recover(self._bag)
            self._bag = None
        super().close()

    def _stop_nodes(self, patience: float = 3.0) -> None:
        """Stop loop, services and viewer first; robot side and recorder once the arm has come to rest."""
        for duty in (Duty.LOOP, Duty.SERVICE, Duty.VIEWER):
            self.processes.request_stop(self._names(duty))
        robots = [name for name in self._names(Duty.ROBOT) if self.processes.running(name)]
        for name in set(robots) & set(self._clocks):
            self._let_time_pass(name)
        if robots:
            time.sleep(STANDSTILL_TIME)
        if patience > HASTE:
            self.processes.stop_all(patience)
            return
        # Only the recorder has something to complete, which the end of others, at real-time priority, would hold up.
        recorders = self._names(Duty.RECORDER)
        self.processes.request_stop(recorders)
        self.processes.stop(set(self._specs) - set(recorders), 0.0)
        self.processes.stop(recorders, patience, complete=self._bag_is_complete)

    def _bag_is_complete(self) -> bool:
        return self._bag is None or (self._bag / METADATA_FILE).is_file()

    def _let_time_pass(self, robot: str) -> None:
        """Let a simulator go on as fast as it can: in lockstep it waits for commands, also for those of the dead."""
        values = {"lockstep": False, "real_time_factor": REAL_TIME_FACTOR.bounds[1]}
        self._serve_until(self._clocks[robot].call_async(_request(values)), RELEASE_PATIENCE)

    def _names(self, duty: Duty) -> list[str]:
        return [name for name, spec in self._specs.items() if spec.duty is duty]

    # ------------------------------------------------------------------ recorder, arm

    def record(self, bag: Path | None, scenario_yaml: str = "") -> None:
        """Begin a bag in a new or empty directory; ends the one before. None: only end it.

        Raises RecordingCutOffError when the one before was cut off; the session goes on.
        """
        for name in self._names(Duty.RECORDER):
            if self._bag is not None:
                self._change(name, Transition.TRANSITION_DEACTIVATE)
                ended, self._bag = self._bag, None
                cut_off = f"the recording in {ended} was cut off"
                try:
                    if recover(ended):
                        raise RecordingCutOffError(f"{cut_off}{self.processes.last_words(name)}")
                except OSError as error:  # a full disk has no room for the completed bag either
                    raise RecordingCutOffError(f"{cut_off}, and cannot be completed: {error}") from error
            if bag is not None:
                self.set_parameters(name, directory=str(bag), scenario_yaml=scenario_yaml)
                self._change(name, Transition.TRANSITION_ACTIVATE)
                self._bag = bag

    def restart_arm(self, scenario: str, seed: int | None = None) -> None:
        """Put the simulated arm back to the start of a scenario and clear the buffers of the loop's nodes."""
        self.pause(True)
        for name in self._names(Duty.LOOP):
            # One that a fault or the user has deactivated is not asked to again.
            if self._caller.state(name) == State.PRIMARY_STATE_ACTIVE:
                self._change(name, Transition.TRANSITION_DEACTIVATE)
        for name in self._names(Duty.ROBOT):
            self.set_parameters(name, scenario=scenario, seed=-1 if seed is None else seed)
        answer = self._caller.call_until_answered(Trigger, topics.RESET, Trigger.Request())
        if not answer.success:
            raise GraphError(f"the simulator refused to reset: {answer.message}")
        for name in self._names(Duty.LOOP):
            self._change(name, Transition.TRANSITION_ACTIVATE)
        if not self._lockstep:
            self.pause(False)

    def _supervise(self, watching: bool) -> None:
        """Have the supervisor watch, or not. Without a supervisor: nothing."""
        transition = Transition.TRANSITION_ACTIVATE if watching else Transition.TRANSITION_DEACTIVATE
        for name in self._names(Duty.SUPERVISOR):
            if self._caller.state(name) != TARGETS[transition]:
                self._change(name, transition)

    def pause(self, paused: bool) -> None:
        """Stop or continue the simulator's clock. A supervisor watches only while it runs."""
        if paused:
            self._supervise(False)
        self._caller.call_until_answered(SetBool, topics.PAUSE, SetBool.Request(data=paused))
        if not paused:
            self._supervise(True)

    @property
    def _lockstep(self) -> bool:
        return any(bool(self._specs[name].parameters.get("lockstep")) for name in self._names(Duty.ROBOT))

    # ------------------------------------------------------------------ tasks

    def run_task(self, scenario: str = "", **options: Any) -> TaskResult:
        """Run one impact task of one arm to its end; options: see `run_tasks`."""
        (result,) = self.run_tasks(scenario, **options).values()
        return result

    def run_tasks(
        self,
        scenario: str = "",
        *,
        timeout: float = 60.0,
        begin: int = 0,
        cancel_at: float = math.inf,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> dict[str, TaskResult]:
        """Run the task of every arm to its end, all from the same sample on; results by name of the arm.

        begin: stamp of the joint states [ns] with which the tasks begin; 0: at once. In lockstep and with several
        arms our simulator stands still until all tasks are armed; several arms of another robot side begin after
        `ARMING_TIME`. When one of them does not begin, the others are cancelled. on_progress gets the progress of the
        first arm, whose task is cancelled at cancel_at [s] of its time. Raises GraphError when a goal is refused,
        `NodeDiedError` when a node dies meanwhile, and `InterruptedByUserError`.
        """
        several, foreign = len(self._arms) > 1, not self._names(Duty.ROBOT)
        resumed = foreign or not (several or self._lockstep)
        if not resumed:
            self.pause(True)
        elif several and not begin:
            begin = self._newest_stamp() + ARMING_TIME
        latest: dict[str, Any] = {}
        goals: dict[str, Any] = {}
        results: dict[str, Any] = {}
        deadline, cancelled = time.monotonic() + timeout, False
        try:
            for arm in self._arms:
                goals[arm] = self._send(arm, scenario, begin, latest)
                results[arm] = goals[arm].get_result_async()
            while not all(result.done() for result in results.values()):
                self._spin(0.05)
                if not resumed and all(arm in latest and latest[arm].mode != Mode.IDLE for arm in results):
                    self.pause(False)
                    resumed = True
                first = latest.get(next(iter(results)))
                if on_progress is not None and first is not None:
                    on_progress(progress_of(first))
                if first is not None and first.task_time >= cancel_at:
                    answer = next(iter(goals.values())).cancel_goal_async()
                    self._caller.result_of(answer, CALL_PATIENCE, "the cancellation")
                    cancel_at = math.inf
                self._heed_supervisor()
                if several and not cancelled and any(map(_was_refused, results.values())):
                    cancelled = self._cancel(goals, results)
                if time.monotonic() > deadline:
                    raise GraphError(f"the task did not end within {timeout:g} s")
        except ImpactControlError as error:
            # Nodes of ours end with the session; an arm of others would go on alone.
            if foreign or isinstance(error, InterruptedByUserError):
                self._cancel(goals, results)
            raise
        return {arm: task_result(result.result()) for arm, result in results.items()}

    def _cancel(self, goals: Mapping[str, Any], results: Mapping[str, Any]) -> bool:
        """Cancel the goals that have no result yet; True."""
        for arm, goal in goals.items():
            if not results[arm].done():
                self._serve_until(goal.cancel_goal_async(), CANCEL_PATIENCE)
        return True

    def move_to(self, scenario: str = "", timeout: float = 60.0) -> dict[str, MoveResult]:
        """Bring every arm, one after another, to the start of a scenario, "" for the configured one.

        Returns how it went by name of the arm, up to the first that is not there. Raises NoAnswerError when one takes
        longer than `timeout` [s], and as `run_tasks`.
        """
        if self._lockstep:
            self.pause(False)
        moved: dict[str, MoveResult] = {}
        for arm in self._arms:
            moved[arm] = move(self._caller, MoveTo.Goal(scenario=scenario), START_PATIENCE, timeout, arm)
            if moved[arm].outcome is not MoveOutcome.REACHED:
                break
        return moved

    def _on_supervision(self, status: SupervisorStatus) -> None:
        self._supervision = status
        if status.state not in (Supervision.STOPPING, Supervision.STOPPED):
            self._stopped_since = math.inf
        elif self._stopped_since == math.inf:
            self._stopped_since = time.monotonic()

    @property
    def robot_stopped(self) -> bool:
        """True while the supervisor keeps commands from the robot."""
        return self._stopped_since < math.inf

    @property
    def stop_reason(self) -> str:
        """Reason of the supervisor's stop, "" without one."""
        return str(self._supervision.reason) if self.robot_stopped else ""

    def _heed_supervisor(self) -> None:
        """Stop everything when the robot was stopped and its controller does not end the task by itself."""
        if time.monotonic() - self._stopped_since > END_PATIENCE:
            self._stop_nodes(HASTE)
            raise RobotStoppedError(Cause(self._supervision.cause), self._supervision.reason)

    def _newest_stamp(self) -> int:
        """Return the stamp [ns] of the last sample of the first arm: its clock need not be that of the wall."""
        topic, stamps = topics.of_arm(self._arms[0], topics.STATUS), []

        def take(status: ControllerStatus) -> None:
            stamps.append(nanoseconds(status.header.stamp))

        subscription = self._node.create_subscription(ControllerStatus, topic, take, qos.STREAM)
        try:
            self._caller.wait(lambda: bool(stamps), CALL_PATIENCE, f"the publisher of {topic}")
        finally:
            self._node.destroy_subscription(subscription)
        return stamps[-1]

    def _send(self, arm: str, scenario: str, begin: int, latest: dict[str, Any]) -> Any:
        """Send a goal to an arm; its feedback goes into `latest`. begin: stamp [ns], 0: at once."""
        request = ExecuteImpactTask.Goal(scenario=scenario)
        to_stamp(begin, request.begin)

        def remember(message: Any) -> None:
            latest[arm] = message.feedback

        name = topics.of_arm(arm, topics.EXECUTE)
        goal = self._caller.send_goal(ExecuteImpactTask, name, request, START_PATIENCE, remember)
        if not goal.accepted:
            self.watch(REASON_PATIENCE)
            own = [name for name in self._names(Duty.LOOP) if self._specs[name].namespace == arm]
            words = self.processes.last_words(own[-1]) if own else f": {NOT_READY}"
            raise GraphError(f"the controller refused the task{words}")
        return goal

    # ------------------------------------------------------------------ services

    def set_parameters(self, node: str, **values: object) -> None:
        """Set parameters of a node; raises GraphError with the node's reason when one is refused."""
        answer = self._caller.call_until_answered(SetParameters, f"{node}/set_parameters", _request(values))
        for outcome, key in zip(answer.results, values, strict=True):
            if not outcome.successful:
                raise GraphError(f"{node} refused {key} = {values[key]!r}: {outcome.reason}")

    def _change(self, node: str, transition: int) -> None:
        self._require(self._caller.change(node, transition), node, transition)

    def _require(self, made: bool, node: str, transition: int) -> None:
        """Raise GraphError when a transition was not made, with the last error the node wrote."""
        if not made:
            verbs = {
                Transition.TRANSITION_CONFIGURE: "be configured",
                Transition.TRANSITION_ACTIVATE: "be activated",
                Transition.TRANSITION_DEACTIVATE: "be deactivated",
            }
            verb = verbs.get(transition, "change")
            raise GraphError(f"node {node} could not {verb}{self.processes.last_words(node)}")

    # ------------------------------------------------------------------ waiting

    def _spin(self, timeout: float) -> None:
        self._executor.spin_once(timeout_sec=timeout)
        death = self.processes.first_death()
        # A task goes on without its viewer.
        if death is not None and self._started and self._specs[death.name].duty is Duty.VIEWER:
            self.processes.stop([death.name])
            self.losses += (death,)
        elif death is not None:
            log = self.processes.last_words(death.name)
            self._stop_nodes(HASTE)
            raise NodeDiedError(death, log)
        if self._stop_requested():
            raise InterruptedByUserError("stopped by the user")

    def _serve_until(self, future: Future, patience: float) -> None:
        """Wait until a future is done, `patience` [s] at most, whatever the nodes do meanwhile."""
        end = time.monotonic() + patience
        while not future.done() and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.01)

    def watch(self, seconds: float) -> None:
        """Wait while watching the nodes; raises as soon as one dies."""
        self.watch_until(lambda: False, seconds)

    def watch_until(self, condition: Callable[[], bool], patience: float) -> bool:
        """As `watch` until a condition holds, `patience` [s] at most; return whether it does."""
        end = time.monotonic() + patience
        while not condition() and time.monotonic() < end:
            self._spin(0.02)
        return condition()


def _was_refused(result: Future) -> bool:
    return result.done() and task_result(result.result()).outcome is Outcome.REFUSED


def _request(values: Mapping[str, object]) -> SetParameters.Request:
    return SetParameters.Request(
        parameters=[Parameter(key, value=value).to_parameter_msg() for key, value in values.items()]
    )
