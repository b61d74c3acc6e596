"""One simulated arm as the graph sees it: its topics, in its namespace, and the messages on them."""

from __future__ import annotations

import time
from collections import deque

import numpy as np
from impact_msgs.msg import ExternalTorque, GroundTruth
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_control.nodes import qos, topics
from impact_control.nodes.fields import float_field
from impact_control.nodes.inbox import Inbox
from impact_control.nodes.messages import set_xyz, to_stamp
from impact_control.simulation import CommandGate, CommandState, Sensors, SimulatedArm, World
from impact_control.types import Vector


def commanded_torque(command: Float64MultiArray | JointState, joint_names: list[str]) -> Vector | None:
    """Return the torques (n,) [Nm] of a command; none of one that names other joints, or in another order.

    None instead of an array: nobody commands yet. Before a controller does, ros2_control sends nothing but NaN.
    """
    if isinstance(command, Float64MultiArray):
        return np.asarray(command.data, dtype=float)
    effort = np.asarray(command.effort if list(command.name) == list(joint_names) else (), dtype=float)
    return None if effort.size and np.all(np.isnan(effort)) else effort


class ArmSide:
    """Publishes the samples and the truth of one arm, takes its commands.

    Attributes: held, how many periods had no new command; stopped, whether commands are refused by order.
    """

    def __init__(
        self, node: Node, inbox: Inbox, name: str, period: float, *, lockstep: bool, ros2_control: bool = False
    ) -> None:
        """Open the topics of the arm `name`, in the namespace of that name below the node's; "": in the node's own.

        period: of the samples [s]. ros2_control: commands come as the effort of a JointState, which has to name the
        joints in our order.
        """
        self._name = name
        self._period = period
        self._log = node.get_logger()
        self._states = node.create_publisher(JointState, topics.of_arm(name, topics.JOINT_STATES), qos.STREAM)
        self._truths = node.create_publisher(GroundTruth, topics.of_arm(name, topics.TRUTH), qos.STREAM)
        kind = JointState if ros2_control else Float64MultiArray
        self._commands = inbox.subscribe(kind, topics.of_arm(name, topics.COMMANDS), qos.COMMAND)
        observed = topics.of_arm(name, topics.EXTERNAL_TORQUE)
        self._torques = inbox.subscribe(ExternalTorque, observed, qos.RECORD) if lockstep else None
        self._node = node
        self.stopped = False

    def attach(self, world: World) -> None:
        """Show this arm of a world from now on."""
        self._arm: SimulatedArm = world.arms[self._name]
        self._sensors: Sensors = world.sensors[self._name]
        self.gate: CommandGate = world.gates[self._name]
        names = self._arm.robot.joint_names
        n = len(names)
        self._state = JointState(name=list(names))
        self._position, self._velocity, self._effort = (
            float_field(self._state, field, n) for field in ("position", "velocity", "effort")
        )
        self._truth = GroundTruth()
        self._true_position, self._true_velocity, self._motor_position, self._motor_velocity, self._applied = (
            float_field(self._truth, field, n)
            for field in ("joint_position", "joint_velocity", "motor_position", "motor_velocity", "applied_torque")
        )
        self._touch_torque = float_field(self._truth, "external_torque", n)
        self._gaps, self._normal_forces, self._contact_times = (
            float_field(self._truth, field, self._arm.gaps.size)
            for field in ("contact_gaps", "contact_normal_forces", "contact_times")
        )
        self._joints = n
        self.held = 0
        self._told_lost = False
        self._told_rivals = False
        self._command: Float64MultiArray | JointState | None = None
        self._observed = True
        self._sent_samples: deque[int] = deque(maxlen=round(self.gate.timeout / self._period) + 2)
        self.forget_commands()

    def destroy(self) -> None:
        """Close the topics; the inbox is the caller's."""
        for publisher in (self._states, self._truths):
            self._node.destroy_publisher(publisher)

    # ------------------------------------------------------------------ samples

    def measure(self, stamp: int) -> None:
        """Measure the arm and publish what the sensors say, stamped [ns]."""
        sample = self._sensors.measure(self._arm)
        to_stamp(stamp, self._state.header.stamp)
        self._position[:] = sample.position
        self._velocity[:] = sample.velocity
        self._effort[:] = sample.torque
        self._sent_samples.append(time.time_ns())
        self.send_state()

    def send_state(self) -> None:
        """Publish the last sample, again if it was published before."""
        self._states.publish(self._state)

    def send_truth(self, stamp: int, time: float, late: int, cycles: int) -> None:
        """Publish what is really so: stamp [ns], simulated time [s], periods that were late, and all of them."""
        arm, truth = self._arm, self._truth
        to_stamp(stamp, truth.header.stamp)
        truth.in_contact = arm.normal_force > 0.0
        truth.gap = arm.gap
        set_xyz(truth.contact_force, arm.contact_force)
        truth.normal_force = arm.normal_force
        truth.peak_normal_force = arm.peak_normal_force
        truth.impact_time = arm.first_contact_time
        truth.time = time
        self._true_position[:] = arm.link_position
        self._true_velocity[:] = arm.link_velocity
        self._motor_position[:] = arm.motor_position
        self._motor_velocity[:] = arm.motor_velocity
        self._applied[:] = self.gate.torque
        self._touch_torque[:] = arm.external_torque
        self._gaps[:] = arm.gaps
        self._normal_forces[:] = arm.normal_forces
        self._contact_times[:] = arm.first_contact_times
        truth.command_state = int(self.gate.state)
        truth.late_cycles = late
        truth.cycles = cycles
        self._truths.publish(truth)

    # ------------------------------------------------------------------ commands

    @property
    def commanded(self) -> bool:
        """Whether anybody is there to send commands."""
        return self._commands.publishers > 0

    def forget_commands(self) -> None:
        """Drop what waits, as second answers to a sample that was sent twice."""
        self._command = None
        while self._commands.take() is not None:
            pass

    def expect_answer(self) -> None:
        """A sample was sent that waits for its command, and to be seen by the detector if there is one."""
        self._observed = self._torques is None or self._torques.publishers == 0

    def answered(self) -> bool:
        """Look for the answer to the last sample; whether it is complete."""
        self._command = self._command or self._commands.take()
        torques = self._torques
        while torques is not None and (torque := torques.take()) is not None:
            self._observed = self._observed or torque.header.stamp == self._state.header.stamp
        return self._command is not None and self._observed

    def torque(self) -> Vector:
        """Return the torque (n,) [Nm] for the next period, from the newest command."""
        command, self._command = self._command or self._commands.take(), None
        rivals = self._commands.publishers > 1
        self.gate.closed = self.stopped or rivals
        self._tell_rivals(rivals)
        torques = None if command is None else commanded_torque(command, self._state.name)
        if torques is not None and not self.gate.closed and not self.gate.offer(torques, self._command_age()):
            self._tell_refused(torques)
        torque = self.gate.select(self._arm.link_velocity, self._period)
        self._tell_command_state(came=torques is not None)
        return torque

    def _command_age(self) -> float:
        """Return how long ago [s] the last command was sent, in samples that were sent since.

        Counted so, it does not grow where the clock of the plant stands still or is slow; both times are those of the
        system clock, which two hosts have to agree on. What is older than the gate allows is not told apart.
        """
        sent, later = self._commands.sent, 0
        for sample_sent in reversed(self._sent_samples):
            if sample_sent <= sent:
                break
            later += 1
        return later * self._period

    def _tell_refused(self, torques: Vector) -> None:
        found = f"{torques.size} values"
        if torques.size == self._joints:
            joint = int(np.flatnonzero(~np.isfinite(torques))[0])
            found = f"{torques[joint]} for {self._state.name[joint]}"
        # A sender that is wrong is wrong a thousand times a second.
        self._log.error(
            f"{self._who}command refused: {found}, need {self._joints} finite torques", throttle_duration_sec=1.0
        )

    def _tell_rivals(self, rivals: bool) -> None:
        if rivals and not self._told_rivals:
            self._log.error(f"{self._who}more than one sends commands: joints damped, none is taken, until one is left")
        self._told_rivals = rivals

    def _tell_command_state(self, *, came: bool) -> None:
        if self.gate.state is CommandState.HELD:
            self.held += 1
        lost = self.gate.state is CommandState.LOST
        if lost and not self._told_lost and self.gate.seen_command:
            limit = f"{self.gate.timeout * 1e3:.0f} ms"
            found = f"commands come more than {limit} after they were sent" if came else f"no command for {limit}"
            self._log.warning(f"{self._who}{found}: joints damped, gravity compensated, until one comes in time")
        self._told_lost = lost and self.gate.seen_command

    @property
    def _who(self) -> str:
        return f"{self._name}: " if self._name else ""
