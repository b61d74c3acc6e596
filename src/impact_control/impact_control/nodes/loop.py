"""The 1 kHz loop as a node: observer, detector, classifier and controller, whole or in parts."""

from __future__ import annotations

import functools
import math
import sys
import time
from collections.abc import Sequence

import numpy as np
from impact_msgs.msg import ImpactClassification, ImpactEvent, SupervisorStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from impact_control.assignment import assigned
from impact_control.classification import Verdict
from impact_control.control import Fault, Mode, QPStatus
from impact_control.errors import ImpactControlError
from impact_control.nodes import loop_parameters, qos, real_time, runtime, topics
from impact_control.nodes.diagnostics import LoopDiagnostics
from impact_control.nodes.fixed_parameters import judge_change
from impact_control.nodes.impact_task import ImpactTaskServer, PreparedTask
from impact_control.nodes.joint_states import JointStateReader
from impact_control.nodes.loop_output import ControlOutput, DetectionOutput
from impact_control.nodes.messages import FirstOfEvent, nanoseconds, to_stamp
from impact_control.nodes.names import names_in
from impact_control.nodes.partners import Partners
from impact_control.nodes.queued_log import QueuedLog
from impact_control.nodes.supervised import Supervised
from impact_control.nodes.writers import ClassificationWriter
from impact_control.parts import rate_threshold
from impact_control.pipeline import Pipeline, StartPose, warm_up

SWITCH_INTERVAL = 2e-4
"""[s] the thread that builds a reference may keep the interpreter before the loop gets its turn."""


class LoopNode(LifecycleNode):
    """Runs a `Pipeline` on every joint state. Parameters `detect`, `classify`, `control` choose its parts."""

    def __init__(self, name: str = "impact_loop", *, detect: bool = True, classify: bool = True, control: bool = True):
        super().__init__(name)
        loop_parameters.declare(self, detect=detect, classify=classify, control=control)
        self.add_on_set_parameters_callback(self._on_parameters)
        self.add_post_set_parameters_callback(self._on_parameters_set)
        self._active = False
        self._pipeline: Pipeline | None = None
        self._supervision = Supervised(self._task_runs)
        self._log = QueuedLog(self.get_logger())

    # ------------------------------------------------------------------ life

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the scenario, build the pipeline, open the topics."""
        try:
            partners = names_in("partners", self._text("partners"))
            assignment = assigned(self._text("scenario"), self._text("arm"))
            self._scenario, self._robot = assignment.scenario, assignment.robot
            self._detects, self._classifies, self._controls = (
                bool(self.get_parameter(part).value) for part in ("detect", "classify", "control")
            )
            pipeline = Pipeline(
                self._scenario,
                self._robot,
                detect=self._detects,
                classify=self._classifies,
                control=self._controls,
            )
            warm_up(self._scenario, self._robot)
        except ImpactControlError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._pipeline = pipeline
        self._reader = JointStateReader(self._robot.joint_names)
        self._base: int | None = None
        self._verdicts = ClassificationWriter(self._scenario, len(self._robot.joint_names))
        self._is_new = FirstOfEvent()
        self._open(pipeline, partners)
        parts = [part for part in ("detect", "classify", "control") if self.get_parameter(part).value]
        self.get_logger().info(f"ready to {', '.join(parts)} for {self._robot.name}, scenario {self._scenario.name}")
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start with cleared buffers, once a robot is there; a controller holds the pose of the first sample."""
        states = self._subscriptions_here[0]
        end = time.monotonic() + float(self.get_parameter("robot_patience").value)
        while states.get_publisher_count() == 0:
            if time.monotonic() > end:
                self.get_logger().error(f"nobody publishes {states.topic_name}: is the robot side running?")
                return TransitionCallbackReturn.FAILURE
            time.sleep(0.01)
        if self._control_output is not None and (rivals := self._control_output.rivals()) > 0:
            self.get_logger().error(f"{rivals} other publisher(s) on {topics.COMMANDS}: end them")
            return TransitionCallbackReturn.FAILURE
        required(self._pipeline).reset()
        for output in (self._detection_output, self._control_output):
            if output is not None:
                output.reset()
        self._base = None
        self._samples = 0
        self._missed = 0
        self._last_stamp = 0
        self._last_arrival = time.monotonic()
        self._told = (Mode.IDLE, Fault.NONE, 0)
        self._take_parameters()
        self._active = True
        if self._controls:
            self._tasks.open()
        sys.setswitchinterval(SWITCH_INTERVAL)
        real_time.still_heap()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send nothing more. A running task ends."""
        self._active = False
        if self._controls:
            self._tasks.close()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close the topics."""
        for timer in (self._slow_timer, self._diagnostics_timer):
            self.destroy_timer(timer)
        for subscription in self._subscriptions_here:
            self.destroy_subscription(subscription)
        for publisher in self._publishers_here:
            self.destroy_publisher(publisher)
        self._partners.destroy()
        if self._controls:
            self._tasks.destroy()
        self._pipeline = None
        real_time.thaw_heap()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send nothing more."""
        self._active = False
        return TransitionCallbackReturn.SUCCESS

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        return judge_change(parameters, loop_parameters.MODEL, configured=self._pipeline is not None)

    def _on_parameters_set(self, parameters: list[Parameter]) -> None:
        if self._active:
            self._take_parameters()

    def _take_parameters(self) -> None:
        """Use what may change while the node runs. Between two samples: the executor serves one at a time."""
        self._patience = float(self.get_parameter("state_patience").value)
        self._supervision.patience = float(self.get_parameter("supervisor_patience").value)
        controller = required(self._pipeline).controller
        if controller is not None:
            controller.change_gains(**loop_parameters.gains(self, self._scenario))

    def _text(self, name: str) -> str:
        return str(self.get_parameter(name).value)

    def _open(self, pipeline: Pipeline, partners: Sequence[str]) -> None:
        publish = self.create_publisher
        subscribe = self.create_subscription
        self._publishers_here = []
        self._subscriptions_here = [subscribe(JointState, topics.JOINT_STATES, self._on_state, qos.STREAM, raw=True)]
        self._diagnostics = LoopDiagnostics(self, self._scenario.control.period)
        self._publishers_here.append(self._diagnostics.publisher)
        names = self._robot.joint_names
        self._detection_output = (
            DetectionOutput(self, names, rate_threshold(self._scenario, len(names))) if self._detects else None
        )
        self._control_output = ControlOutput(self, names) if self._controls else None
        for output in (self._detection_output, self._control_output):
            if output is not None:
                self._publishers_here += output.publishers
        if not self._detects:
            self._subscriptions_here.append(subscribe(ImpactEvent, topics.EVENTS, self._on_event, qos.EVENT))
        if self._classifies:
            self._classification_publisher = publish(ImpactClassification, topics.CLASSIFICATION, qos.EVENT)
            self._publishers_here.append(self._classification_publisher)
        elif self._controls:
            self._subscriptions_here.append(
                subscribe(ImpactClassification, topics.CLASSIFICATION, self._on_classification, qos.EVENT)
            )
        self._last_classification = ImpactClassification()
        if self._controls:
            source, name = self._text("scenario"), self._text("arm")
            self._tasks = ImpactTaskServer(self, self, self._log, pipeline, self._robot, self._scenario, source, name)
            self._subscriptions_here.append(
                subscribe(SupervisorStatus, topics.SUPERVISOR, self._supervision.take, qos.LATCHED)
            )
        self._partners = Partners(self, partners, self._on_partner_impact, self._on_partner_stop)
        self._told_partner = ""
        self._slow_timer = self.create_timer(0.05, self._on_slow_timer)
        self._diagnostics_timer = self.create_timer(1.0, self._on_diagnostics)

    # ------------------------------------------------------------------ the loop

    def _on_state(self, data: bytes) -> None:
        if not self._active:
            return
        started = time.perf_counter()
        pipeline = required(self._pipeline)
        reader = self._reader
        usable = reader.read(data)
        stamp = reader.stamp
        if self._base is None:
            self._base = stamp
        if usable:
            pipeline.tick((stamp - self._base) * 1e-9, reader.position, reader.velocity, reader.effort)
        else:
            pipeline.refuse(reader.fault, reader.velocity)
        control = self._control_output
        if control is not None:
            control.command(pipeline.torque)
        elapsed = time.perf_counter() - started
        passed_over = self._count(stamp)
        if self._detection_output is not None:
            self._detection_output.publish(pipeline, reader, self._base)
        if control is not None and pipeline.controller is not None:
            control.publish(pipeline.controller, reader, elapsed, self._samples, self._missed)
        self._tell_verdicts(pipeline)
        qp_status = QPStatus.NOT_USED if pipeline.controller is None else pipeline.controller.qp.status
        self._diagnostics.sample(stamp, elapsed, passed_over, qp_status)

    def _tell_verdicts(self, pipeline: Pipeline) -> None:
        if pipeline.judge.changed and self._classifies:
            self._classification_publisher.publish(self.classification())

    def _count(self, stamp: int) -> int:
        """Count a sample; return how many were missed just before it, by the stamps."""
        self._samples += 1
        if stamp != self._last_stamp:  # a state that only comes again is no sign of life
            self._last_arrival = time.monotonic()
        passed_over = 0
        if self._last_stamp:
            passed_over = max(0, round((stamp - self._last_stamp) * 1e-9 / self._scenario.control.period) - 1)
            self._missed += passed_over
        self._last_stamp = stamp
        return passed_over

    # ------------------------------------------------------------------ results of parts that run elsewhere

    def _on_event(self, event: ImpactEvent) -> None:
        pipeline = self._pipeline
        if not self._active or pipeline is None or not self._is_new(event):
            return
        # Events of before the task are kept by the publisher for late joiners; others are of another arm.
        seconds = self._since_start(nanoseconds(event.impact_time))
        if seconds is not None and len(event.joint_position) == len(self._robot.joint_names):
            pipeline.impact_detected(seconds, np.asarray(event.joint_position))
            # Here: the next sample asks only whether it has changed them itself.
            self._tell_verdicts(pipeline)

    def _on_classification(self, message: ImpactClassification) -> None:
        pipeline = self._pipeline
        if not self._active or pipeline is None:
            return
        # Verdicts of before the task are kept by the publisher for late joiners.
        of_task = self._since_start(nanoseconds(message.header.stamp)) is not None
        if of_task and message.scenario == pipeline.scenario.name:
            try:
                verdicts = Verdict(message.impact), Verdict(message.post_impact)
            except ValueError:
                self._log.warning(f"a verdict that is none: {message.impact}, {message.post_impact}")
                return
            self._last_classification = message
            pipeline.verdict(*verdicts)

    # ------------------------------------------------------------------ other arms at the same object

    def _on_partner_impact(self, time: int) -> None:
        seconds = self._in_task(time)
        if seconds is not None:
            required(self._pipeline).partner_touched(seconds)

    def _on_partner_stop(self, name: str, time: int) -> None:
        # A stop of before this task is none of it.
        if self._in_task(time) is not None and required(self._pipeline).controller is not None:
            required(self._pipeline).stop_with_partner()
            self._told_partner = name

    def _in_task(self, time: int) -> float | None:
        """Return a time [ns] in seconds of the pipeline's clock, None when it is in no task that is followed."""
        pipeline = self._pipeline
        follows = self._active and pipeline is not None and pipeline.follows
        return self._since_start(time) if follows else None

    def _since_start(self, time: int) -> float | None:
        """Return a time [ns] in seconds of the pipeline's clock, None when it is of before the task.

        Not of before the activation: the clock may have been set back since.
        """
        pipeline = required(self._pipeline)
        waits = pipeline.armed and not pipeline.follows  # an arm may hold on to one task until the next begins
        if self._base is None or pipeline.controller is None or waits:
            return None
        seconds = (time - self._base) * 1e-9
        return seconds if seconds >= pipeline.controller.start_time else None

    # ------------------------------------------------------------------ what the action asks for

    def start_task(self, task: PreparedTask) -> str:
        """Start a task with the next sample, or at its begin. Returns why that is refused, else nothing."""
        pipeline = required(self._pipeline)
        if (fault := self._supervision.fault()) is not Fault.NONE:
            return f"{fault.name}: {self._supervision.reason}"
        reference, begin = task.plan.reference, -math.inf
        if task.begin:
            if self._base is None:
                return "no joint state has come yet whose clock could tell when the task is to begin"
            begin = (task.begin - self._base) * 1e-9
            late = (self._reader.stamp - task.begin) * 1e-9
            if late > 0.0:
                return f"the reference was ready {late:.2f} s after the task was to begin: let it begin later"
        start_pose = StartPose(self._robot.joint_names, reference.initial_configuration)
        if self._samples > 0 and not start_pose.compare(self._reader.position):
            return start_pose.reason()
        self._verdicts = task.writer
        self._last_classification = ImpactClassification()
        if self._control_output is not None:
            self._control_output.references.start(task.plan.scenario, reference)
        pipeline.start(
            reference,
            task.plan.scenario,
            task.plan.force,
            hold=task.plan.hold,
            begin=begin,
            start_pose=start_pose,
        )
        if pipeline.judge.classifier is not None:
            self._classification_publisher.publish(self.classification())
        return ""

    def classification(self) -> ImpactClassification:
        """Return the verdicts of the last task, with the stamp of the last sample."""
        pipeline = required(self._pipeline)
        if pipeline.judge.classifier is None:
            return self._last_classification
        judge = pipeline.judge
        message = self._verdicts.write(pipeline.judge.classifier, judge.impacts)
        message.post_impact = int(judge.post_impact)
        message.reason = judge.reason
        message.decision_time = judge.decision_time
        to_stamp(self._reader.stamp, message.header.stamp)
        return message

    def fault_reason(self) -> str:
        """Return the fault in words; nothing when there is none."""
        if self._pipeline is None or self._pipeline.controller is None:
            return ""
        fault = self._pipeline.controller.fault
        if fault is Fault.NONE:
            return ""
        if fault in (Fault.STATE_JOINT_NAMES, Fault.STATE_WRONG_SIZE):
            reason = self._reader.reason
        elif fault in (Fault.SUPERVISOR_STOP, Fault.SUPERVISOR_LOST):
            reason = self._supervision.reason
        else:
            reason = self._pipeline.sample_defect()
        return f"{fault.name}: {reason}" if reason else fault.name

    # ------------------------------------------------------------------ beside the loop

    def _on_slow_timer(self) -> None:
        pipeline = self._pipeline
        if pipeline is None or not self._active:
            return
        self._watch_arrival(pipeline)
        self._watch_supervisor(pipeline)
        controller = pipeline.controller
        if controller is None:
            return
        self._tell(controller.mode, controller.fault, pipeline.judge.impacts)
        self._tasks.advance()

    def _watch_arrival(self, pipeline: Pipeline) -> None:
        patience = self._patience
        silent = time.monotonic() - self._last_arrival
        if patience == 0.0 or silent <= patience or not pipeline.task_active or pipeline.armed:
            return
        if pipeline.controller is not None and pipeline.controller.mode is not Mode.FAULT:
            self._log.error(f"no joint state for {silent:.2f} s (limit {patience:g} s)")
            pipeline.fail(Fault.STATE_STALE)
            pipeline.end_after_fault()

    def _task_runs(self) -> bool:
        pipeline = self._pipeline
        return pipeline is not None and pipeline.task_active and not pipeline.armed

    def _watch_supervisor(self, pipeline: Pipeline) -> None:
        controller = pipeline.controller
        if controller is None:
            return
        fault = self._supervision.fault()
        if controller.mode is Mode.FAULT:
            # Not by a deactivation, as other faults: a supervisor that watches takes the silence for a fault again.
            if controller.fault is Fault.SUPERVISOR_STOP and self._supervision.released and not pipeline.task_active:
                pipeline.clear_fault()
            return
        if fault is Fault.NONE:
            return
        # An arm that exerts nothing is only held; but a robot that takes commands again must not find a pulling one.
        if pipeline.exerts or fault is Fault.SUPERVISOR_STOP:
            pipeline.fail(fault)
            pipeline.end_after_fault()

    def _tell(self, mode: Mode, fault: Fault, impacts: int) -> None:
        if self._told_partner:
            self._log.warning(f"stopped, because {self._told_partner} did")
            self._told_partner = ""
        if (mode, fault, impacts) == self._told:
            return
        told_mode, told_fault, _ = self._told
        if mode is not told_mode:
            self._log.info(f"mode {told_mode.name} -> {mode.name}")
        if fault is not told_fault:
            reason = self.fault_reason()
            if reason:
                step = "" if fault is Fault.SUPERVISOR_STOP else "deactivate and activate this node, then "
                self._log.error(f"fault {reason}: joints are damped; to clear it, {step}reset the supervisor")
            if self._control_output is not None:
                self._control_output.statuses.fault_reason = reason
        self._told = (mode, fault, impacts)

    def _on_diagnostics(self) -> None:
        if not self._active:
            return
        for output in (self._detection_output, self._control_output):
            if output is not None:
                output.look_for_listeners()
        self._diagnostics.publish(self._missed, self._samples, self._log.waiting)


def required(pipeline: Pipeline | None) -> Pipeline:
    """Return the pipeline that on_configure made."""
    if pipeline is None:
        raise ImpactControlError("the node is not configured")
    return pipeline


def _main(name: str, cores: slice = slice(None), **parts: bool) -> int:
    make = functools.partial(LoopNode, name, **parts)
    return runtime.run(make, runtime.spin_until_stopped, priority=runtime.LOOP_PRIORITY, cores=cores)


def main() -> int:
    """Entry point: everything in one process."""
    return _main("impact_loop", real_time.LOOP_CORES)


def main_detector() -> int:
    """Entry point: observer and detector only."""
    return _main("detector", classify=False, control=False)


def main_controller() -> int:
    """Entry point: controller only."""
    return _main("controller", detect=False, classify=False)


if __name__ == "__main__":
    sys.exit(main())
