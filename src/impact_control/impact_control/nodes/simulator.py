"""Simulator node: stands where ros2_control stands, with the plant behind it."""

from __future__ import annotations

import sys
import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from impact_msgs.msg import ExternalTorque, GroundTruth
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.experimental import EventsExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from impact_control.errors import ImpactControlError
from impact_control.nodes import qos, runtime, topics
from impact_control.nodes.fields import float_field
from impact_control.nodes.inbox import Inbox
from impact_control.nodes.messages import set_xyz, to_stamp
from impact_control.robots import RobotDescription
from impact_control.scenario import Scenario, load_scenario
from impact_control.simulation import CommandState, build_simulation

PERIOD_NS = 1_000_000
LATE_NS = PERIOD_NS
"""A period that starts later than this is late, and the clock is set anew from it: the time is lost, because
samples sent in a burst to catch up would reach the loop as no robot sends them."""
SERVICE_PERIOD = 10
"""Periods between two looks at services and parameters."""

LOCKSTEP_POLL = 1e-4
"""[s] between two looks for the command of a sample."""

LOCKSTEP_REPEAT = 0.5
"""Seconds after which a lockstep sample that got no command is sent again."""

LOCKSTEP_PATIENCE = 5.0
"""Seconds a lockstep sample waits for its command before the arm goes on without."""


class SimulatorNode(LifecycleNode):
    """Publishes joint_states at 1 kHz and applies effort_controller/commands.

    Real time by default; with `lockstep` each sample waits for the command computed from it. Without a fresh
    command for longer than the scenario's limit the joints are damped, gravity stays compensated, and a
    warning says so.
    """

    def __init__(self) -> None:
        super().__init__("simulator")
        self.declare_parameter(
            "scenario", "tabletop", ParameterDescriptor(description="name or path of the scenario file")
        )
        self.declare_parameter(
            "seed", -1, ParameterDescriptor(description="seed of the sensor noise; -1: the scenario's own")
        )
        self.declare_parameter(
            "lockstep", False, ParameterDescriptor(description="wait for the command of each sample")
        )
        self.declare_parameter(
            "start_paused",
            False,
            ParameterDescriptor(description="send no sample before simulation/pause is called"),
        )
        self._active = False
        self._paused = False
        self._told_lost = False
        self._told_refused = 0
        self.unanswered = 0

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Build the plant of the scenario."""
        try:
            self._build()
        except ImpactControlError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._states = self.create_publisher(JointState, topics.JOINT_STATES, qos.STREAM)
        self._truths = self.create_publisher(GroundTruth, topics.TRUTH, qos.STREAM)
        self._diagnostics = self.create_publisher(DiagnosticArray, topics.DIAGNOSTICS, 10)
        self._inbox = Inbox(self)
        self._commands = self._inbox.subscribe(Float64MultiArray, topics.COMMANDS, qos.COMMAND)
        self._lockstep = bool(self.get_parameter("lockstep").value)
        self._torques = (
            self._inbox.subscribe(ExternalTorque, topics.EXTERNAL_TORQUE, qos.RECORD) if self._lockstep else None
        )
        self._reset_service = self.create_service(Trigger, topics.RESET, self._on_reset)
        self._pause_service = self.create_service(SetBool, topics.PAUSE, self._on_pause)
        self._diagnostics_timer = self.create_timer(1.0, self._diagnose)
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start the clock."""
        self._paused = bool(self.get_parameter("start_paused").value)
        runtime.still_heap()
        self._deadline = time.monotonic_ns()
        self._active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop sending samples; the arm stays where it is."""
        self._active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back that on_configure made."""
        self.destroy_timer(self._diagnostics_timer)
        for service in (self._reset_service, self._pause_service):
            self.destroy_service(service)
        self._inbox.close()
        for publisher in (self._states, self._truths, self._diagnostics):
            self.destroy_publisher(publisher)
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop sending samples."""
        self._active = False
        return TransitionCallbackReturn.SUCCESS

    def _build(self) -> None:
        overrides = {}
        seed = int(self.get_parameter("seed").value)
        if seed >= 0:
            overrides["simulation.seed"] = seed
        scenario: Scenario = load_scenario(str(self.get_parameter("scenario").value)).with_overrides(overrides)
        self.plant, self.sensors, self.gate = build_simulation(scenario)
        robot: RobotDescription = self.plant.robot
        n = len(robot.joint_names)
        self._damped_since: float | None = None
        self._epoch = self.get_clock().now().nanoseconds
        self._cycles = 0
        self._late = 0
        self._lost_ns = 0
        self._told_lost_ns = 0
        self._worst_lag = 0
        self._state = JointState(name=list(robot.joint_names))
        self._position, self._velocity, self._effort = (
            float_field(self._state, name, n) for name in ("position", "velocity", "effort")
        )
        self._truth = GroundTruth()
        self._true_position, self._true_velocity, self._motor_position, self._motor_velocity, self._applied = (
            float_field(self._truth, name, n)
            for name in ("joint_position", "joint_velocity", "motor_position", "motor_velocity", "applied_torque")
        )
        self._touch_torque = float_field(self._truth, "external_torque", n)
        self._gaps, self._normal_forces, self._contact_times = (
            float_field(self._truth, name, self.plant.gaps.size)
            for name in ("contact_gaps", "contact_normal_forces", "contact_times")
        )
        self._held = 0
        self._zeros = np.zeros(n)

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._build()
        except ImpactControlError as error:
            response.success = False
            response.message = str(error)
            return response
        self._forget_commands()
        self._deadline = time.monotonic_ns()
        response.success = True
        response.message = "the arm is back at its initial configuration"
        return response

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._paused = bool(request.data)
        self._deadline = time.monotonic_ns()
        response.success = True
        response.message = "paused" if self._paused else "running"
        return response

    def spin(self, executor: EventsExecutor, stop: runtime.StopRequest) -> None:
        """Run the clock of the plant until a stop is requested."""
        while not stop.requested:
            if not self._active or self._paused:
                executor.spin_once(timeout_sec=0.02)
                continue
            if self._lockstep:
                self._forget_commands()  # second answers to a sample that was sent twice
            self._publish()
            if self._lockstep and self._answer(executor, stop):
                continue
            if self._cycles % SERVICE_PERIOD == 0:
                executor.spin_once(timeout_sec=0.0)
            self._deadline += PERIOD_NS
            left = self._deadline - time.monotonic_ns()
            if left > 0:
                time.sleep(left * 1e-9)
            self._account()
            self._advance(self._commands.take())

    def _forget_commands(self) -> None:
        while self._commands.take() is not None:
            pass

    def _answer(self, executor: EventsExecutor, stop: runtime.StopRequest) -> bool:
        """Advance once the sample just sent has its command, and was seen by the detector if there is one.

        False when nobody is there to send a command.
        """
        if self._commands.publishers == 0:
            return False
        now = time.monotonic()
        end, again = now + LOCKSTEP_PATIENCE, now + LOCKSTEP_REPEAT
        command = None
        torques = self._torques
        observed = torques is None or torques.publishers == 0
        while command is None or not observed:
            command = command or self._commands.take()
            while torques is not None and (torque := torques.take()) is not None:
                observed = observed or torque.header.stamp == self._state.header.stamp
            if command is not None and observed:
                break
            executor.spin_once(timeout_sec=LOCKSTEP_POLL)
            if stop.requested or not self._active or self._paused:
                break
            now = time.monotonic()
            if now > again:
                self._publish_state()  # lost on the way, as a best-effort message may be
                again = now + LOCKSTEP_REPEAT
            if now > end:
                self.unanswered += 1
                self.get_logger().warning(
                    f"lockstep: sample {self._cycles} was not answered within {LOCKSTEP_PATIENCE:g} s; going on"
                )
                break
        self._advance(command)
        self._deadline = time.monotonic_ns()
        return True

    def _account(self) -> None:
        lag = time.monotonic_ns() - self._deadline
        self._worst_lag = max(self._worst_lag, lag)
        if lag > LATE_NS:
            self._late += 1
            self._lost_ns += lag
            self._deadline += lag

    def _advance(self, command: Float64MultiArray | None) -> None:
        if command is not None and not self.gate.offer(np.asarray(command.data, dtype=float)):
            self._tell_refused(len(command.data))
        torque = self.gate.select(self.plant.link_velocity, PERIOD_NS * 1e-9)
        self._tell_command_state()
        self.plant.step(torque)
        self._cycles += 1

    def _tell_refused(self, size: int) -> None:
        # The first, then ever more seldom: a sender that is wrong is wrong a thousand times a second.
        if self.gate.refused > self._told_refused:
            self.get_logger().error(f"command refused: {size} values, need {self._zeros.size} finite torques")
            self._told_refused = self.gate.refused * 10

    def _tell_command_state(self) -> None:
        if self.gate.state is CommandState.HELD:
            self._held += 1
        lost = self.gate.state is CommandState.LOST
        if lost and not self._told_lost and self.gate.seen_command:
            self.get_logger().warning(
                f"no command for {self.gate.timeout * 1e3:.0f} ms: joints damped, gravity compensated, until one comes"
            )
        self._told_lost = lost

    def _publish(self) -> None:
        stamp = self._epoch + self._cycles * PERIOD_NS
        sample = self.sensors.measure(self.plant)
        to_stamp(stamp, self._state.header.stamp)
        self._position[:] = sample.position
        self._velocity[:] = sample.velocity
        self._effort[:] = sample.torque
        self._publish_state()
        self._publish_truth(stamp)

    def _publish_state(self) -> None:
        self._states.publish(self._state)

    def _publish_truth(self, stamp: int) -> None:
        plant = self.plant
        truth = self._truth
        to_stamp(stamp, truth.header.stamp)
        truth.in_contact = plant.normal_force > 0.0
        truth.gap = plant.gap
        set_xyz(truth.contact_force, plant.contact_force)
        truth.normal_force = plant.normal_force
        truth.peak_normal_force = plant.peak_normal_force
        truth.impact_time = plant.first_contact_time
        truth.time = plant.time
        self._true_position[:] = plant.link_position
        self._true_velocity[:] = plant.link_velocity
        self._motor_position[:] = plant.motor_position
        self._motor_velocity[:] = plant.motor_velocity
        self._applied[:] = self.gate.torque
        self._touch_torque[:] = plant.external_torque
        self._gaps[:] = plant.gaps
        self._normal_forces[:] = plant.normal_forces
        self._contact_times[:] = plant.first_contact_times
        truth.command_state = int(self.gate.state)
        truth.late_cycles = self._late
        truth.cycles = self._cycles
        self._truths.publish(truth)

    def _diagnose(self) -> None:
        lost = self._lost_ns - self._told_lost_ns
        if lost > 0.05e9:
            self.get_logger().warning(f"the simulation fell {lost * 1e-6:.0f} ms behind the wall clock since last told")
            self._told_lost_ns = self._lost_ns
        late = self._late / max(1, self._cycles)
        status = DiagnosticStatus(
            name=f"{self.get_fully_qualified_name()}: clock",
            level=DiagnosticStatus.OK if late <= 0.01 else DiagnosticStatus.WARN,
            message="in lockstep" if self.get_parameter("lockstep").value else f"{late:.2%} of the periods late",
            values=[
                KeyValue(key="periods", value=str(self._cycles)),
                KeyValue(key="late periods", value=str(self._late)),
                KeyValue(key="worst lag [ms]", value=f"{self._worst_lag * 1e-6:.3f}"),
                KeyValue(key="time lost [ms]", value=f"{self._lost_ns * 1e-6:.1f}"),
                KeyValue(key="periods without a new command", value=str(self._held)),
                KeyValue(key="command", value=self.gate.state.name.lower()),
                KeyValue(key="unanswered lockstep samples", value=str(self.unanswered)),
            ],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)
        self._worst_lag = 0


def main() -> int:
    """Entry point of the process."""

    def spin(node: SimulatorNode, executor: EventsExecutor, stop: runtime.StopRequest) -> None:
        node.spin(executor, stop)

    return runtime.run(SimulatorNode, spin, priority=runtime.ROBOT_PRIORITY, cores=runtime.ROBOT_CORES)


if __name__ == "__main__":
    sys.exit(main())
