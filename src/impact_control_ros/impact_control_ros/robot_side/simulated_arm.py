"""Simulated arms and objects as the graph sees them: their topics, and the messages on these."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from impact_msgs.msg import ExternalTorque, GroundTruth
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_control.robots.urdf import WORLD
from impact_control.simulation import CommandState, Measurement, SimulatedBox, World
from impact_control.util.types import Vector
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.lifecycle import Configuration
from impact_control_ros.bridge.loop_output import joint_label
from impact_control_ros.bridge.messages import set_xyz, to_stamp
from impact_control_ros.bridge.rclpy_internals import Inbox, Slot, float_field
from impact_control_ros.robot_side.shared_exchange import SharedExchange


def commanded_torque(command: Float64MultiArray | JointState, joint_names: list[str]) -> Vector | None:
    """Return the torques (n,) [Nm] of a command; an empty array if it names other joints, or in another order.

    None instead of an array: no controller is active yet; until then ros2_control sends nothing but NaN.
    """
    if isinstance(command, Float64MultiArray):
        label = command.layout.dim[0].label if command.layout.dim else ""
        return np.asarray(command.data if label in ("", joint_label(joint_names)) else (), dtype=float)
    return _unless_all_nan(np.asarray(command.effort if list(command.name) == list(joint_names) else (), dtype=float))


def _unless_all_nan(effort: Vector) -> Vector | None:
    return None if effort.size and np.all(np.isnan(effort)) else effort


SEPARATION = 0.1
"""[s] without a touch after which the next one begins a new contact, and is no bounce of the last."""


@dataclass(frozen=True)
class ArmTopics:
    """Topics of one arm: publisher of its samples, slots for commands and, in lockstep, torques."""

    states: Any
    commands: Slot
    torques: Slot | None

    @classmethod
    def open(
        cls, configuration: Configuration, inbox: Inbox, name: str, *, lockstep: bool, ros2_control: bool
    ) -> ArmTopics:
        """Open the topics in the namespace `name` below that of the node; "": in the node's own.

        ros2_control: commands come as the effort of a JointState, which has to name the joints in our order.
        """
        observed = topics.of_arm(name, topics.EXTERNAL_TORQUE)
        kind = JointState if ros2_control else Float64MultiArray
        return cls(
            configuration.publisher(JointState, topics.of_arm(name, topics.JOINT_STATES), qos.STREAM),
            inbox.subscribe(kind, topics.of_arm(name, topics.COMMANDS), qos.COMMAND),
            inbox.subscribe(ExternalTorque, observed, qos.RECORD) if lockstep else None,
        )


class ArmSide:
    """One arm of a world as the graph sees it: publishes its true state, takes commands through its gate.

    Attributes: name; gate, of the commands; held, number of periods without a new command; stopped, True while commands
    are refused by order; released, while no controller commands the arm.
    """

    def __init__(self, name: str, truths: Any, world: World, period: float, log: Any) -> None:
        """truths: publisher of the true state; period: of the samples [s]."""
        self.name = name
        self.stopped = self.released = False
        self.held = 0
        self.gate = world.gates[name]
        self._arm = world.arms[name]
        self._sensors = world.sensors[name]
        self._truths = truths
        self._period = period
        self._log = log
        self._who = f"{name}: " if name else ""
        self._names = list(self._arm.robot.joint_names)
        n = len(self._names)
        self._truth = GroundTruth()
        self._truth.header.frame_id = WORLD
        self._true_position, self._true_velocity, self._motor_position, self._motor_velocity, self._applied = (
            float_field(self._truth, field, n)
            for field in ("joint_position", "joint_velocity", "motor_position", "motor_velocity", "applied_torque")
        )
        self._contact_torque = float_field(self._truth, "external_torque", n)
        self._gaps, self._normal_forces, self._contact_times = (
            float_field(self._truth, field, self._arm.gaps.size)
            for field in ("contact_gaps", "contact_normal_forces", "contact_times")
        )
        self._contact_began, self._last_touch = np.nan, -np.inf
        self._reported_lost = False

    def note_truth(self, time: float, late: int, cycles: int) -> None:
        """Note the true state of now: simulated time [s], number of late periods, and of all periods."""
        arm, truth = self._arm, self._truth
        truth.in_contact = arm.normal_force > 0.0
        self._note_contact(time, truth.in_contact)
        truth.gap = arm.gap
        set_xyz(truth.contact_force, arm.contact_force)
        truth.normal_force = arm.normal_force
        truth.peak_normal_force = arm.peak_normal_force
        truth.impact_time = self._contact_began
        truth.time = time
        self._true_position[:] = arm.link_position
        self._true_velocity[:] = arm.link_velocity
        self._motor_position[:] = arm.motor_position
        self._motor_velocity[:] = arm.motor_velocity
        self._applied[:] = self.gate.torque
        self._contact_torque[:] = arm.external_torque
        self._gaps[:] = arm.gaps
        self._normal_forces[:] = arm.normal_forces
        self._contact_times[:] = arm.first_contact_times
        truth.command_state = int(self.gate.state)
        truth.late_cycles = late
        truth.cycles = cycles

    def _note_contact(self, time: float, touching: bool) -> None:
        """Note when the present or last contact began: the first to a fraction of a period, later ones to a period."""
        if touching and time - self._last_touch > SEPARATION:
            self._contact_began = time
        if np.isfinite(self._arm.first_contact_time) and self._last_touch == -np.inf:
            self._contact_began, touching = self._arm.first_contact_time, True
        if touching:
            self._last_touch = time

    def send_truth(self, stamp: int) -> None:
        """Publish the noted state, stamped [ns]."""
        to_stamp(stamp, self._truth.header.stamp)
        self._truths.publish(self._truth)

    def _select(self, torques: Vector | None, age: float) -> Vector:
        """Return the torque (n,) [Nm] for the next period, from a command sent `age` [s] ago or from none."""
        if torques is not None and not self.gate.closed and not self.gate.offer(torques, age):
            self._report_refused(torques)
        torque = self.gate.select(self._arm.link_velocity, self._period)
        self._report_command_state(came=torques is not None)
        return torque

    def _report_refused(self, torques: Vector) -> None:
        found, joints = f"{torques.size} values" if torques.size else "no values, or for other joints", len(self._names)
        if torques.size == joints:
            joint = int(np.flatnonzero(~np.isfinite(torques))[0])
            found = f"{torques[joint]} for {self._names[joint]}"
        # A sender that is wrong is wrong a thousand times a second.
        self._log.error(f"{self._who}command refused: {found}, need {joints} finite torques", throttle_duration_sec=1.0)

    def _report_command_state(self, *, came: bool) -> None:
        if self.gate.state is CommandState.HELD:
            self.held += 1
        lost = self.gate.state is CommandState.LOST
        if lost and not self._reported_lost and self.gate.seen_command:
            limit = f"{self.gate.timeout * 1e3:.0f} ms"
            if came:
                found = f"commands come more than {limit} after they were sent"
            else:
                found = "no controller commands the arm" if self.released else f"no command for {limit}"
            self._log.warning(f"{self._who}{found}: joints damped, gravity compensated, until one comes in time")
        self._reported_lost = lost and self.gate.seen_command


class SharedArmSide(ArmSide):
    """Arm whose samples and commands are exchanged with a ros2_control hardware through shared memory.

    Attribute: exchange, with the hardware.
    """

    def __init__(self, exchange: SharedExchange, name: str, truths: Any, world: World, period: float, log: Any) -> None:
        """exchange: open; the rest as for every arm."""
        super().__init__(name, truths, world, period, log)
        self.exchange = exchange

    def begin(self) -> None:
        """Leave the first sample, unless there was one."""
        if not self.exchange.begun:
            self.exchange.put(self.measure())

    def measure(self) -> Measurement:
        """Measure the arm, once a period."""
        return self._sensors.measure(self._arm)

    def torque(self) -> Vector:
        """Return the torque (n,) [Nm] for the next period, from the answer to the last sample."""
        self.gate.closed = self.stopped
        torques = self.exchange.torque()
        if torques is not None:
            torques = _unless_all_nan(torques)
        self.released = torques is None
        if self.released:
            self.gate.release()  # an FR3 is stopped by its hardware then
        return self._select(torques, 0.0)


class TopicArmSide(ArmSide):
    """Arm whose samples and commands are on topics."""

    def __init__(self, arm_topics: ArmTopics, name: str, truths: Any, world: World, period: float, log: Any) -> None:
        """arm_topics: open; the rest as for every arm."""
        super().__init__(name, truths, world, period, log)
        self.topics = arm_topics
        n = len(self._names)
        self._state = JointState(name=self._names)
        self._position, self._velocity, self._effort = (
            float_field(self._state, field, n) for field in ("position", "velocity", "effort")
        )
        self._reported_rivals = False
        self._command: Float64MultiArray | JointState | None = None
        self._observed = True
        self._sent_samples: deque[int] = deque(maxlen=round(self.gate.timeout / period) + 2)
        self.forget_commands()

    # ------------------------------------------------------------------ samples

    def measure(self, stamp: int) -> None:
        """Measure the arm and publish the sample, stamped [ns], unless it is lost."""
        sample = self._sensors.measure(self._arm)
        to_stamp(stamp + round(1e9 * self._sensors.late), self._state.header.stamp)
        self._position[:] = sample.position
        self._velocity[:] = sample.velocity
        self._effort[:] = sample.torque
        self._sent_samples.append(time.time_ns())
        if not self._sensors.lost:
            self.send_state()

    def send_state(self) -> None:
        """Publish the last sample, again if it was published before."""
        self.topics.states.publish(self._state)

    # ------------------------------------------------------------------ commands

    @property
    def commanded(self) -> bool:
        """True when a publisher of commands was found."""
        return self.topics.commands.publishers > 0

    def forget_commands(self) -> None:
        """Drop waiting commands, as second answers to a sample that was sent twice."""
        self._command = None
        while self.topics.commands.take() is not None:
            pass

    def expect_answer(self) -> None:
        """Wait for the command to the sample just sent, and for the torque of the detector if there is one."""
        self._observed = self.topics.torques is None or self.topics.torques.publishers == 0

    def answered(self) -> bool:
        """Take what has arrived; return True when the answer to the last sample is complete."""
        self._command = self._command or self.topics.commands.take()
        torques = self.topics.torques
        while torques is not None and (torque := torques.take()) is not None:
            self._observed = self._observed or torque.header.stamp == self._state.header.stamp
        return self._sensors.lost or (self._command is not None and self._observed)

    def torque(self) -> Vector:
        """Return the torque (n,) [Nm] for the next period, from the newest command."""
        command, self._command = self._command or self.topics.commands.take(), None
        rivals = self.topics.commands.publishers > 1
        self.gate.closed = self.stopped or rivals
        self._report_rivals(rivals)
        torques = None if command is None else commanded_torque(command, self._names)
        return self._select(torques, self._command_age())

    def _command_age(self) -> float:
        """Return how long ago [s] the last command was sent, in periods that began since.

        Counted so, it does not grow where the clock of the plant stands still or is slow; both times are those of the
        system clock, which two hosts have to agree on. Ages above the limit of the gate are not distinguished.
        """
        sent, later = self.topics.commands.sent, 0
        for sample_sent in reversed(self._sent_samples):
            if sample_sent <= sent:
                break
            later += 1
        return later * self._period

    def _report_rivals(self, rivals: bool) -> None:
        if rivals and not self._reported_rivals:
            self._log.error(f"{self._who}several command publishers: joints damped, commands ignored until one is left")
        self._reported_rivals = rivals


class ObjectPose:
    """Publishes the pose of a box in the world frame A of its scene, on `simulation/objects/<name>`.

    Attribute: box, that is shown.
    """

    def __init__(self, configuration: Configuration, name: str, box: SimulatedBox) -> None:
        """Open the topic of the object `name`."""
        self.box = box
        self._publisher = configuration.publisher(PoseStamped, f"{topics.OBJECTS}/{name}", qos.STREAM)
        self._message = PoseStamped()
        self._message.header.frame_id = WORLD

    def send(self, stamp: int) -> None:
        """Publish the pose, stamped [ns]."""
        to_stamp(stamp, self._message.header.stamp)
        set_xyz(self._message.pose.position, self.box.position)
        turn = self._message.pose.orientation
        turn.x, turn.y, turn.z, turn.w = self.box.orientation.tolist()
        self._publisher.publish(self._message)
