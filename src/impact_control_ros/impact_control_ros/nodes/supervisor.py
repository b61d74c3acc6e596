"""Supervisor: keeps commands from the arm when controller or robot fall silent, until it is reset."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from impact_msgs.msg import ControllerStatus, SupervisorStatus
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control_ros.bridge import qos, runtime, topics
from impact_control_ros.bridge.diagnostics import Diagnostics
from impact_control_ros.bridge.joint_states import impossible_torque, is_copy
from impact_control_ros.bridge.lifecycle import Configuration, ConfiguredNode, arms_in, declare, declare_setting
from impact_control_ros.bridge.messages import answered, serialised_stamp
from impact_control_ros.bridge.rclpy_internals import Inbox, Slot
from impact_control_ros.bridge.settings import UNNAMED
from impact_control_ros.bridge.supervision import (
    LIMITS,
    Cause,
    Finding,
    Supervision,
    SupervisionLimits,
    Watch,
)
from impact_control_ros.robot_side.franka_state import FrankaState, franka_robot_state
from impact_control_ros.robot_side.robot_switch import RobotSwitch, SwitchKind, robot_switches

LOOK_INTERVAL = 0.004
"""[s] between two looks at what has arrived."""

STATUS_INTERVAL = 0.1
"""[s] between two messages of the status, which is the supervisor's own sign of life."""

ASK_AGAIN = 0.1
"""[s] without an answer of the robot side after which it is asked again."""

SIGNS_PATIENCE = 10.0
"""[s] that the first command, joint state and status may take at activation."""

NOTHING = Finding(Cause.NONE, "", math.nan)


class WatchedArm:
    """Signs of life of one arm and its controller, from topics whose messages wait to be taken."""

    def __init__(self, inbox: Inbox, name: str, limits: SupervisionLimits, franka: Any | None) -> None:
        """Subscribe to the topics of the arm `name`; "": of the only one. franka: type of the state of a Franka."""
        self.name = name
        self.watch = Watch(limits, LOOK_INTERVAL)
        kinds = {topics.COMMANDS: Float64MultiArray, topics.JOINT_STATES: JointState, topics.STATUS: ControllerStatus}
        self._commands, self._states, self._answers = (
            inbox.subscribe(kind, topics.of_arm(name, topic), qos.STREAM, raw=True) for topic, kind in kinds.items()
        )
        self.franka = FrankaState(inbox, name, franka) if franka is not None else None
        self._last_state, self._odd_torque = b"", 0.0
        self._unheard: dict[str, Slot] = {}

    def look(self, now: float) -> Finding | None:
        """Take what has arrived by `now` [s]; return what is wrong, None if nothing is."""
        watch = self.watch
        watch.look(now)
        if self._take(self._commands) is not None:
            watch.see_command()
        state = self._take(self._states)
        if state is not None and (stamp := _seconds(state)) is not None and not is_copy(state, self._last_state):
            self._last_state = state
            self._odd_torque = impossible_torque(state)
            if not self._odd_torque:
                watch.see_state(stamp)
        if (stamp := _seconds(self._take(self._answers))) is not None:
            watch.see_answer(stamp)
        if self.franka is not None:
            watch.see_mode(self.franka.look(now))
        finding = watch.finding(self._commands.publishers, self._states.publishers)
        if finding is None:
            return None
        reason = f"{self.name}: {finding.reason}" if self.name else finding.reason
        if finding.cause is Cause.SECOND_SOURCE:
            reason += f": {', '.join(self._states.publisher_names())}"
        if finding.cause is Cause.ROBOT_SILENT and self._odd_torque:
            reason += f"; the last one had a torque of {self._odd_torque:.4g} Nm"
        return replace(finding, reason=reason)

    def _take(self, slot: Slot) -> bytes | None:
        data: bytes | None = slot.take()
        if data is not None:
            self._unheard.pop(slot.topic, None)
        return data

    def expect_signs(self) -> None:
        """Wait from now on for a message of each kind."""
        slots = (self._states, self._commands, self._answers)
        for slot in slots:
            slot.take()  # may be old
        self._unheard = {slot.topic: slot for slot in slots}

    def missing(self) -> list[str]:
        """Return the topics of which no message has come since."""
        for slot in list(self._unheard.values()):
            self._take(slot)
        return list(self._unheard)


class Watching(Configuration):
    """Watched arms, the switches that keep commands from them, and the topics of the supervisor."""

    def __init__(self, node: SupervisorNode) -> None:
        super().__init__(node)
        self.when_closed(node.carry_over)
        names = arms_in(node.value("arms"))
        limits = SupervisionLimits(**{limit.name: node.value(limit.name) for limit in LIMITS})
        kind = _kind(node.value("robot_side"))
        self.switches: list[RobotSwitch] = robot_switches(self, kind, names)
        inbox = Inbox(node)
        self.when_closed(inbox.close)
        franka = franka_robot_state() if kind is SwitchKind.ROS2_CONTROL else None
        self.arms = [WatchedArm(inbox, name, limits, franka) for name in names]
        self.status = SupervisorStatus()
        self.statuses = [
            self.publisher(SupervisorStatus, topics.of_arm(name, topics.SUPERVISOR), qos.LATCHED) for name in names
        ]
        self.diagnostics = Diagnostics(self, "supervision")
        for name in names:
            self.service(Trigger, topics.of_arm(name, topics.STOP), node.on_stop)
            self.service(Trigger, topics.of_arm(name, topics.RESUME), node.on_reset)
        self.timer(STATUS_INTERVAL, node.publish_status)
        self.timer(1.0, node.diagnose)
        # The first line a process logs takes it tens of milliseconds: not when it has to react.
        node.get_logger().info(f"ready, robot side {kind.value}, {limits}")

    def prepare(self) -> float:
        """Wait for signs of life of all arms."""
        for arm in self.arms:
            arm.expect_signs()
        return SIGNS_PATIENCE

    def missing(self) -> str:
        """Return the topics that are still silent."""
        return ", ".join(topic for arm in self.arms for topic in arm.missing())

    def activate(self) -> None:
        """Start watching."""
        if silent := self.missing():
            raise ImpactControlError(f"nothing came on {silent} within {SIGNS_PATIENCE:g} s")
        now = time.monotonic()
        for arm in self.arms:
            arm.watch.start(now)
        self.node.begin()

    def deactivate(self) -> None:
        """Stop watching; a stopped robot stays stopped."""
        self.node.end()


class SupervisorNode(ConfiguredNode[Watching]):
    """Watches commands, joint states and status of each arm; on a finding it keeps commands from all of them.

    With the simulator as the robot side commands are refused there and the joints damped; with ros2_control the effort
    controller is deactivated; with a simulator on topics behind ros2_control both. Where franka_msgs is installed, the
    report of an arm that it follows no commands is such a finding, too. The stop lasts until `supervisor/reset` is
    called and everything is right again; a deactivation of this node does not end it. `supervisor/stop` is the
    operator's own finding.
    """

    FIXED = ("arms", "robot_side", *(limit.name for limit in LIMITS))

    def __init__(self) -> None:
        super().__init__("supervisor", Watching)
        declare(self, "arms", list(UNNAMED), "arms of a scene")
        kinds = ", ".join(kind.value for kind in SwitchKind)
        declare(self, "robot_side", SwitchKind.SIMULATOR.value, f"receiver of the commands: {kinds}")
        for limit in LIMITS:
            declare_setting(self, limit)
        # Beyond a configuration: a stop outlasts it.
        self._state = Supervision.INACTIVE
        self._finding = NOTHING
        self._present: Finding | None = None
        self._allow = True
        self._asked = -math.inf
        self._reaction = math.nan

    # ------------------------------------------------------------------ life

    def begin(self) -> None:
        """Watch from now on, unless commands are blocked already."""
        if self._state is Supervision.INACTIVE:
            self._state = Supervision.WATCHING
        self.publish_status()

    def end(self) -> None:
        """Stop watching."""
        if self._state is Supervision.WATCHING:
            self._state = Supervision.INACTIVE
        self.publish_status()

    def carry_over(self) -> None:
        """Make a stop unsettled: the next configuration may have other switches, which have to be asked."""
        if self._state is Supervision.STOPPED:
            self._state, self._allow = Supervision.STOPPING, False
            self._finding = replace(self._finding, since=time.monotonic())

    # ------------------------------------------------------------------ watching

    def look(self) -> None:
        """Look at every arm once, and act on what is wrong."""
        if self._state is Supervision.INACTIVE or self.configured is None:
            return
        now = time.monotonic()
        findings = [finding for arm in self.configured.arms if (finding := arm.look(now)) is not None]
        self._present = findings[0] if findings else None
        # A reset that is not obeyed yet is taken back, too.
        if self._present is not None and self._allow and self.active:
            self._stop(self._present)
        self._follow_switches(self.configured)

    def _stop(self, finding: Finding) -> None:
        self._finding = finding
        self._reaction = math.nan
        self._state = Supervision.STOPPING
        self._ask(allow=False)
        self.get_logger().error(f"{finding.reason}: commands are blocked until {topics.RESUME} is called")
        self.publish_status()

    def _ask(self, *, allow: bool) -> None:
        self._allow = allow
        self._asked = time.monotonic()
        for switch in self.built.switches:
            switch.ask(allow)

    def _follow_switches(self, watching: Watching) -> None:
        """Wait for the robot side to obey; ask again when it does not."""
        # A reset may be obeyed after the end of watching.
        free = Supervision.WATCHING if self.active else Supervision.INACTIVE
        settled = free if self._allow else Supervision.STOPPED
        if self._state is settled:
            return
        if all(switch.done for switch in watching.switches):
            self._state = settled
            if not self._allow:
                self._reaction = time.monotonic() - self._finding.since
                self.get_logger().warning(f"the robot takes no commands, {self._reaction * 1e3:.0f} ms after the cause")
            else:
                self._finding = NOTHING
                self._reaction = math.nan
                self.get_logger().info("the robot takes commands again")
            self.publish_status()
        elif time.monotonic() - self._asked > ASK_AGAIN:
            self.get_logger().warning("the robot side did not obey: asking again", throttle_duration_sec=1.0)
            self._ask(allow=self._allow)

    # ------------------------------------------------------------------ services

    def on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Serve `supervisor/stop`."""
        if not self._allow:
            return answered(response, True, f"was stopped before: {self._finding.reason}")
        self._stop(Finding(Cause.OPERATOR, "stopped by the operator", time.monotonic()))
        message = f"the robot side is asked to refuse commands; {topics.SUPERVISOR} reports when it does"
        return answered(response, True, message)

    def on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Serve `supervisor/reset`."""
        if self._state is not Supervision.STOPPED:
            return answered(response, False, f"nothing to reset: the supervisor is {self._state.name.lower()}")
        if self._present is not None:
            return answered(response, False, f"still wrong: {self._present.reason}")
        self._ask(allow=True)
        message = f"the robot side is asked to take commands; {topics.SUPERVISOR} reports when it does"
        return answered(response, True, message)

    # ------------------------------------------------------------------ status

    def publish_status(self) -> None:
        """Publish state, cause and ages."""
        watching = self.built
        status = watching.status
        status.header.stamp = self.get_clock().now().to_msg()
        status.state = int(self._state)
        status.cause = int(self._finding.cause)
        status.reason = self._finding.reason
        status.reaction_time = self._reaction
        status.command_age = max((arm.watch.command_age for arm in watching.arms), default=math.nan)
        status.state_age = max((arm.watch.state_age for arm in watching.arms), default=math.nan)
        for publisher in watching.statuses:
            publisher.publish(status)

    def diagnose(self) -> None:
        """Publish diagnostics."""
        watching = self.built
        stopped = self._state in (Supervision.STOPPING, Supervision.STOPPED)
        values = {
            "age of the last command [ms]": f"{watching.status.command_age * 1e3:.1f}",
            "age of the last joint state [ms]": f"{watching.status.state_age * 1e3:.1f}",
            "reaction time [ms]": f"{self._reaction * 1e3:.1f}",
        }
        for arm in watching.arms:
            if arm.franka is not None and arm.franka.mode is not None:
                name = f"{arm.name}: " if arm.name else ""
                values[f"{name}robot mode"] = arm.franka.mode.name
                values[f"{name}commands that reached the robot [-]"] = f"{arm.franka.success_rate:.3f}"
        watching.diagnostics.publish(
            DiagnosticStatus.ERROR if stopped else DiagnosticStatus.OK,
            f"{self._state.name.lower()}{': ' if stopped else ''}{self._finding.reason}",
            values,
        )


def _seconds(data: bytes | None) -> float | None:
    """Return the stamp [s] of a message, None without one; bytes that are no message are no sign of life."""
    stamp = None if data is None else serialised_stamp(data)
    return None if stamp is None else stamp * 1e-9


def _kind(value: str) -> SwitchKind:
    try:
        return SwitchKind(value)
    except ValueError:
        raise InvalidInputError("robot_side", value, f"one of {', '.join(kind.value for kind in SwitchKind)}") from None


def main() -> int:
    """Entry point of the process."""
    spin = runtime.spin_every(LOOK_INTERVAL, lambda watching: watching.node.look())
    return runtime.run(SupervisorNode, spin, priority=runtime.SUPERVISOR_PRIORITY)
