"""The 1 kHz loop of a node with a controller: joint states in; torques, verdicts and task results out."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

from impact_msgs.msg import ImpactClassification, SupervisorStatus

from impact_control.control import Fault, Mode, QPStatus
from impact_control.pipeline import Pipeline, StartPose, warm_up
from impact_control.planning.assignment import Assignment
from impact_control.scenario import largest_gain
from impact_control.util.errors import ImpactControlError
from impact_control.util.types import Vector
from impact_control_ros.bridge import qos, real_time, topics
from impact_control_ros.bridge.diagnostics import QueuedLog
from impact_control_ros.bridge.impact_task import ImpactTaskServer, PreparedMove, PreparedTask
from impact_control_ros.bridge.lifecycle import names_in
from impact_control_ros.bridge.loop_output import ControlOutput
from impact_control_ros.bridge.partners import Partners, Supervised
from impact_control_ros.bridge.rclpy_internals import Matches
from impact_control_ros.bridge.sample_loop import SampleLoop

SWITCH_INTERVAL = 2e-4
"""[s] the thread that builds a reference may keep the interpreter before the loop gets its turn."""

GAINS = ("position", "orientation", "posture")
"""Gains k of the tasks, van Steen 2024 (15)-(17), that may change at any time."""


class ControlLoop(SampleLoop):
    """A `Pipeline` that runs on every joint state; derived classes say where its detections and verdicts come from.

    Attributes: pipeline; log; tasks, the action server.
    """

    def __init__(self, node: Any, assignment: Assignment, pipeline: Pipeline) -> None:
        """Compile what the loop needs, open the topics that every loop has. node: a `LoopNode`."""
        partners = names_in("partners", node.value("partners"))
        source, name = node.value("scenario"), node.value("arm")
        self._scenario, self._robot = assignment.scenario, assignment.robot
        self.pipeline = pipeline
        warm_up(self._scenario, self._robot)
        super().__init__(node, self._robot, self._scenario.control.period)
        self.log: QueuedLog = node.log
        self.supervision = Supervised(self._task_runs)
        self._reported = (Mode.IDLE, Fault.NONE, 0)
        self._published_fault = Fault.NONE
        self._partner_cause = self._cause = ""
        self._patience = 0.0
        self._longest_gap = round(self._scenario.control.longest_gap * 1e9)
        self._control_output = ControlOutput(self, self._robot.joint_names)
        self._outputs.append(self._control_output)
        self.subscription(SupervisorStatus, topics.SUPERVISOR, self.supervision.take, qos.LATCHED)
        self.tasks = ImpactTaskServer(self, assignment, source, name)
        self._partners = Partners(
            self, partners, lambda: self._reader.stamp, self._on_partner_impact, self._on_partner_stop
        )
        real_time.keep_to_core_of_arm(sorted([name, *partners]).index(name))
        self._sole |= self._partners.events
        self._matches: dict[str, Matches] = {}
        self.timer(0.05, self._on_slow_timer)
        node.get_logger().info(f"ready to control {self._robot.name}, scenario {pipeline.scenario.name}")

    # ------------------------------------------------------------------ for the classes derived from this one

    def publish_results(self, base: int) -> None:
        """Publish detections and verdicts of a sample. base: see `publish`."""

    def watch_results(self) -> None:
        """Report what is wrong with detections and verdicts of others. Beside the loop."""

    def prepare_results(self, assignment: Assignment) -> None:
        """Have a task judged by its scenario. Beside the loop; raises ImpactControlError where that cannot be."""

    def begin_results(self, task: PreparedTask) -> None:
        """Expect the verdicts of a task, which is started then."""
        raise NotImplementedError

    def classification(self) -> ImpactClassification:
        """Return the verdicts of the last task."""
        raise NotImplementedError

    # ------------------------------------------------------------------ life

    def sole(self) -> list[str]:
        """Return the topics that have to have one publisher, that of the commands too."""
        return [*super().sole(), self._control_output.topic]

    def activate(self) -> None:
        """Start with cleared buffers; the controller holds the pose of the first sample."""
        if (rivals := self._control_output.rivals()) > 0:
            raise ImpactControlError(f"{rivals} other publisher(s) on {topics.COMMANDS}; allowed: none")
        super().activate()
        self._watch_results_of_others()
        self.pipeline.reset()
        self._reported = (Mode.IDLE, Fault.NONE, 0)
        self._published_fault, self._cause = Fault.NONE, ""
        self.take_parameters()
        self.tasks.open()
        sys.setswitchinterval(SWITCH_INTERVAL)

    def deactivate(self) -> None:
        """End a running task; nothing more is sent."""
        self.tasks.close()

    @property
    def largest_gain(self) -> float:
        """Largest gain [1/s^2] that the low-pass of the command leaves well damped."""
        return largest_gain(self._scenario.control.cutoff_frequency)

    def take_parameters(self) -> None:
        """Apply the parameters that may change at run time, between two samples: the executor serves one at a time."""
        self._patience = float(self.node.value("state_patience"))
        self.supervision.patience = float(self.node.value("supervisor_patience"))
        own = self._scenario.control.gains
        # A parameter of 0 leaves the gain to the scenario.
        gains = {name: float(self.node.value(f"gains.{name}")) or getattr(own, name) for name in GAINS}
        self.pipeline.controller.change_gains(**gains)

    # ------------------------------------------------------------------ the loop

    def take(self, seconds: float, *, usable: bool) -> None:
        """Answer a joint state with a command."""
        reader, pipeline = self._reader, self.pipeline
        if usable:
            pipeline.tick(seconds, reader.position, reader.velocity, reader.effort)
        else:
            pipeline.refuse(reader.fault, reader.velocity)
        self._control_output.command(pipeline.torque)

    def publish(self, base: int, elapsed: float) -> None:
        """Publish detections, verdicts, reference and status."""
        self.publish_results(base)
        if (fault := self.pipeline.controller.fault) is not self._published_fault:
            self._published_fault = fault
            self._control_output.statuses.fault_reason = self.fault_reason()
        self._control_output.publish(self.pipeline.controller, self._reader, elapsed, self._samples, self._missed)

    @property
    def repeated(self) -> bool:
        """True where the last joint state only repeats the one before."""
        return self.pipeline.repeated

    @property
    def qp_status(self) -> QPStatus:
        """How the QP of this sample ended."""
        return self.pipeline.controller.qp.status

    # ------------------------------------------------------------------ other arms at the same object

    def _on_partner_impact(self, time: int) -> None:
        seconds = self._in_task(time)
        if seconds is not None and not self._watch_sources():
            self.pipeline.partner_touched(seconds)

    def _on_partner_stop(self, cause: str, time: int) -> None:
        # A stop from before this task does not concern it.
        if self._in_task(time) is not None:
            self.pipeline.stop_with_partner(cause)
            self._partner_cause = cause

    def _in_task(self, time: int) -> float | None:
        """Return a time [ns] in seconds of the pipeline's clock, None outside of a task that is followed."""
        return self._since_start(time) if self.active and self.pipeline.follows else None

    def _since_start(self, time: int) -> float | None:
        """Return a time [ns] in seconds of the pipeline's clock, None before the task, or before the activation.

        The clock may have been set back since the activation.
        """
        pipeline = self.pipeline
        waits = pipeline.armed and not pipeline.follows  # an arm may hold on to one task until the next begins
        if self._base is None or waits:
            return None
        seconds = (time - self._base) * 1e-9
        return seconds if seconds >= pipeline.controller.start_time else None

    # ------------------------------------------------------------------ requests of the action server

    def start_task(self, task: PreparedTask) -> str:
        """Start a task with the next sample, or at its begin; return the reason of a refusal, "" without one."""
        pipeline = self.pipeline
        if (fault := self.supervision.fault()) is not Fault.NONE:
            return f"{fault.name}: {self.supervision.reason}"
        if reason := self._partners.inactive(self._longest_gap):
            return reason
        reference, begin = task.plan.reference, -math.inf
        if task.begin:
            if self._base is None:
                return "no joint state received yet: the begin of a task is a time on its clock"
            begin = (task.begin - self._base) * 1e-9
            late = (self._reader.stamp - task.begin) * 1e-9
            if late > 0.0:
                return f"the reference was ready {late:.2f} s after the task was to begin: let it begin later"
        start_pose = StartPose(self._robot.joint_names, reference.initial_configuration)
        if self._samples > 0 and not start_pose.compare(self._reader.position):
            return start_pose.reason()
        self._control_output.references.start(task.plan.scenario, reference)
        pipeline.start(
            reference, task.plan.scenario, task.plan.force, hold=task.plan.hold, begin=begin, start_pose=start_pose
        )
        for matches in self._matches.values():
            matches.take()
        self.begin_results(task)
        return ""

    def start_move(self, move: PreparedMove) -> str:
        """Start a motion with the next sample; return the reason of a refusal, "" without one."""
        if (fault := self.supervision.fault()) is not Fault.NONE:
            return f"{fault.name}: {self.supervision.reason}"
        start_pose = StartPose(self._robot.joint_names, move.held)
        if not start_pose.compare(self._reader.position):
            return start_pose.reason()
        self.pipeline.start_move(move.motion, start_pose)
        return ""

    def held_configuration(self) -> Vector | None:
        """Return where the arm is held (n,) [rad]; None before the first joint state."""
        return self.pipeline.controller.held_configuration.copy() if self._samples else None

    def fault_reason(self) -> str:
        """Return the fault in words, "" without one."""
        controller = self.pipeline.controller
        if controller.fault is Fault.NONE:
            return ""
        fault = controller.fault
        if fault in (Fault.STATE_JOINT_NAMES, Fault.STATE_WRONG_SIZE):
            reason = self._reader.reason
        elif fault in (Fault.SUPERVISOR_STOP, Fault.SUPERVISOR_LOST):
            reason = self.supervision.reason
        elif self._cause:
            reason = self._cause
        elif fault is Fault.QP_FAILED:
            reason = controller.qp.cause
        else:
            # A second publisher shows in its stamps and positions before it is found.
            reason = "; ".join(filter(None, (self.pipeline.sample_defect(), self.rival_sources())))
        return f"{fault.name}: {reason}" if reason else fault.name

    # ------------------------------------------------------------------ beside the loop

    def _on_slow_timer(self) -> None:
        if not self.active:
            return
        pipeline, controller = self.pipeline, self.pipeline.controller
        self._watch_arrival()
        self._watch_sources()
        self._watch_supervisor()
        if cause := self._partners.inactive(self._longest_gap):
            self._on_partner_stop(cause, self._reader.stamp)
        self.watch_results()
        self._report(controller.mode, controller.fault, pipeline.judge.impacts)
        self.tasks.advance()

    def _task_runs(self) -> bool:
        return self.pipeline.task_active and not self.pipeline.armed

    def _watch_arrival(self) -> None:
        silent = time.monotonic() - self._last_arrival
        if self._patience == 0.0 or silent <= self._patience or not self._task_runs():
            return
        controller = self.pipeline.controller
        if controller.mode is not Mode.FAULT:
            cause = f"no joint state for {silent:.2f} s (limit {self._patience:g} s)"
            self.log.error(cause)
            self._fail(Fault.STATE_STALE, cause)

    def _watch_results_of_others(self) -> None:
        """Count publishers of impacts and verdicts from now on; of joint states another may take over."""
        if self._matches:
            return
        for topic, subscription in self._sole.items():
            if subscription is not self._states:
                self._matches[topic] = Matches(subscription)
                self.when_closed(self._matches[topic].close)

    def _watch_sources(self) -> bool:
        """Fail when a topic has a second publisher where one is allowed, of results also in the place of the first.

        That one in a task only: a node that was restarted before it is one of the graph. Returns whether.
        """
        rivals = any(one.get_publisher_count() > 1 for one in self._sole.values())
        came = [topic for topic, matches in self._matches.items() if matches.take() and self._task_runs()]
        if (rivals or came) and self.pipeline.controller.mode is not Mode.FAULT:
            of_states = self._states.get_publisher_count() > 1
            cause = self.rival_sources() or f"another publisher of {came[0]} within the task"
            self._fail(Fault.STATE_SOURCES if of_states else Fault.RESULT_SOURCES, cause)
        return rivals or bool(came)

    def _fail(self, fault: Fault, cause: str) -> None:
        """Go to FAULT between two samples, for a cause in words."""
        self._cause = cause
        self.pipeline.fail(fault)
        self.pipeline.end_after_fault()

    def _watch_supervisor(self) -> None:
        pipeline, controller = self.pipeline, self.pipeline.controller
        fault = self.supervision.fault()
        if controller.mode is Mode.FAULT:
            # Not by a deactivation, as other faults: a supervisor that watches takes the silence for a fault again.
            if controller.fault is Fault.SUPERVISOR_STOP and self.supervision.released and not pipeline.task_active:
                pipeline.clear_fault()
            return
        if fault is Fault.NONE:
            return
        # An arm that exerts nothing is only held; but a robot that takes commands again must not find a pulling one.
        if pipeline.exerts or fault is Fault.SUPERVISOR_STOP:
            pipeline.fail(fault)
            pipeline.end_after_fault()

    def _report(self, mode: Mode, fault: Fault, impacts: int) -> None:
        """Log changes of mode and fault."""
        if self._partner_cause:
            self.log.warning(f"stopped: {self._partner_cause}")
            self._partner_cause = ""
        if (mode, fault, impacts) == self._reported:
            return
        last_mode, last_fault, _ = self._reported
        if mode is not last_mode:
            self.log.info(f"mode {last_mode.name} -> {mode.name}")
        if fault is not last_fault:
            reason = self.fault_reason()
            if reason:
                step = "" if fault is Fault.SUPERVISOR_STOP else "deactivate and activate this node, then "
                self.log.error(f"fault {reason}: joints are damped; to clear it, {step}reset the supervisor")
        self._reported = (mode, fault, impacts)
