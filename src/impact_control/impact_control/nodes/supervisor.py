"""Supervisor: keeps commands from the arm when controller or robot fall silent, until somebody resets it."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import fields, replace
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from impact_msgs.msg import ControllerStatus, SupervisorStatus
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from impact_control.errors import ImpactControlError, InvalidInputError
from impact_control.nodes import qos, runtime, topics
from impact_control.nodes.fixed_parameters import judge_change
from impact_control.nodes.franka_state import FrankaState, franka_robot_state
from impact_control.nodes.inbox import Inbox, Slot
from impact_control.nodes.messages import serialised_stamp
from impact_control.nodes.names import names_in
from impact_control.nodes.robot_switch import SwitchKind, robot_switches
from impact_control.supervision import Cause, Finding, Supervision, SupervisionLimits, Watch

LOOK_INTERVAL = 0.004
"""[s] between two looks at what has come."""

STATUS_INTERVAL = 0.1
"""[s] between two messages of the status, which is the supervisor's own sign of life."""

ASK_AGAIN = 0.1
"""[s] without an answer of the robot side after which it is asked again."""

SIGNS_PATIENCE = 10.0
"""[s] that the first command, joint state and status may take at activation."""


LIMITS = tuple(limit.name for limit in fields(SupervisionLimits))
"""Parameters that say what is tolerated."""

FIXED = ("arms", "robot_side", *LIMITS)
"""Parameters that the node is built from: fixed from its configuration to its clean-up."""


class WatchedArm:
    """One arm with its controller: topics whose messages wait to be taken, and the signs of life they are."""

    def __init__(self, inbox: Inbox, name: str, limits: SupervisionLimits, franka: Any | None) -> None:
        """Subscribe to the topics of the arm `name`; "": of the only one. franka: type of the state of a Franka."""
        self.name = name
        self.watch = Watch(limits, LOOK_INTERVAL)
        kinds = {topics.COMMANDS: Float64MultiArray, topics.JOINT_STATES: JointState, topics.STATUS: ControllerStatus}
        self._commands, self._states, self._answers = (
            inbox.subscribe(kind, topics.of_arm(name, topic), qos.STREAM, raw=True) for topic, kind in kinds.items()
        )

        self.franka = FrankaState(inbox, name, franka) if franka is not None else None

    def look(self, now: float) -> Finding | None:
        """Take what has come by `now` [s]; return what is wrong, None if nothing is."""
        watch = self.watch
        watch.look(now)
        if self._commands.take() is not None:
            watch.see_command()
        if (stamp := self._stamp(self._states)) is not None:
            watch.see_state(stamp)
        if (stamp := self._stamp(self._answers)) is not None:
            watch.see_answer(stamp)
        if self.franka is not None:
            watch.see_mode(self.franka.look(now))
        finding = watch.finding(self._commands.publishers)
        if finding is None or not self.name:
            return finding
        return replace(finding, reason=f"{self.name}: {finding.reason}")

    @staticmethod
    def _stamp(slot: Slot) -> float | None:
        """Return the stamp [s] of a message that came, None without one; bytes that are none are no sign of life."""
        data = slot.take()
        stamp = None if data is None else serialised_stamp(data)
        return None if stamp is None else stamp * 1e-9

    def await_signs(self, end: float) -> str:
        """Wait until a message of each kind came from now on, at most to `end` [s]; return which of them did not."""
        missing = {slot.topic: slot for slot in (self._states, self._commands, self._answers)}
        for slot in missing.values():
            slot.take()  # may be old
        while missing and time.monotonic() < end:
            missing = {topic: slot for topic, slot in missing.items() if slot.take() is None}
            time.sleep(LOOK_INTERVAL)
        return ", ".join(missing)


class SupervisorNode(LifecycleNode):
    """Watches commands, joint states and status of each arm; on a finding it keeps commands from all of them.

    With the simulator as the robot side commands are refused there and the joints damped; with ros2_control the effort
    controller is deactivated. Where franka_msgs is installed, an arm that says that it follows no commands is such a
    finding, too. That stays so until `supervisor/reset` is called and everything is right again; a
    deactivation of this node does not end it. `supervisor/stop` is the operator's own finding.
    """

    def __init__(self) -> None:
        super().__init__("supervisor")
        self.declare_parameter(
            "arms", "", ParameterDescriptor(description="arms of a scene, separated by commas; empty: one arm")
        )
        self.declare_parameter(
            "robot_side",
            SwitchKind.SIMULATOR.value,
            ParameterDescriptor(description=f"who takes the commands: {', '.join(kind.value for kind in SwitchKind)}"),
        )
        limits = SupervisionLimits()
        self.declare_parameter("command_limit", limits.command_limit, _limit("without a command"))
        self.declare_parameter("state_limit", limits.state_limit, _limit("without a joint state"))
        self.declare_parameter("lag_limit", limits.lag_limit, _limit("the controller may be behind the joint states"))
        self.add_on_set_parameters_callback(self._on_parameters)
        self._state = Supervision.INACTIVE
        self._active = False
        self._finding = Finding(Cause.NONE, "", math.nan)
        self._now = time.monotonic()
        self._present: Finding | None = None
        self._allow = True
        self._asked = -math.inf
        self._reaction = math.nan
        self._arms: list[WatchedArm] = []

    # ------------------------------------------------------------------ life

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the topics, find the switch of the robot side."""
        try:
            names = names_in("arms", str(self.get_parameter("arms").value)) or [""]
            limits = SupervisionLimits(**{name: float(self.get_parameter(name).value) for name in LIMITS})
            self._switches = robot_switches(self, self._kind(), names)
        except ImpactControlError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._inbox = Inbox(self)
        franka = franka_robot_state() if self._kind() is SwitchKind.ROS2_CONTROL else None
        self._arms = [WatchedArm(self._inbox, name, limits, franka) for name in names]
        self._status = SupervisorStatus()
        self._statuses = [
            self.create_publisher(SupervisorStatus, topics.of_arm(name, topics.SUPERVISOR), qos.LATCHED)
            for name in names
        ]
        self._diagnostics = self.create_publisher(DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS)
        self._services_here = [
            self.create_service(Trigger, topics.of_arm(name, topic), answer)
            for name in names
            for topic, answer in ((topics.STOP, self._on_stop), (topics.RESUME, self._on_reset))
        ]
        self._timers_here = [
            self.create_timer(STATUS_INTERVAL, self._tell),
            self.create_timer(1.0, self._diagnose),
        ]
        # The first line a process logs takes it tens of milliseconds: not when it has to react.
        self.get_logger().info(f"ready, robot side {self._kind().value}, {limits}")
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start watching, once there is something to watch."""
        end = time.monotonic() + SIGNS_PATIENCE
        for arm in self._arms:
            if missing := arm.await_signs(end):
                self.get_logger().error(f"nothing came on {missing} within {SIGNS_PATIENCE:g} s")
                return TransitionCallbackReturn.FAILURE
        now = time.monotonic()
        for arm in self._arms:
            arm.watch.start(now)
        self._active = True
        if self._state is Supervision.INACTIVE:
            self._state = Supervision.WATCHING
        self._tell()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Watch no more; what was stopped stays so."""
        self._active = False
        if self._state is Supervision.WATCHING:
            self._state = Supervision.INACTIVE
        self._tell()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back that on_configure made."""
        for timer in self._timers_here:
            self.destroy_timer(timer)
        for service in self._services_here:
            self.destroy_service(service)
        for publisher in (*self._statuses, self._diagnostics):
            self.destroy_publisher(publisher)
        for switch in self._switches:
            for step in switch.steps:
                self.destroy_client(step.client)
        self._arms = []
        self._inbox.close()
        if self._state is Supervision.STOPPED:
            # The next configuration may have other switches: they have to be asked.
            self._state, self._allow = Supervision.STOPPING, False
            self._finding = replace(self._finding, since=time.monotonic())
        return TransitionCallbackReturn.SUCCESS

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        return judge_change(parameters, FIXED, configured=bool(self._arms))

    def _kind(self) -> SwitchKind:
        value = str(self.get_parameter("robot_side").value)
        try:
            return SwitchKind(value)
        except ValueError:
            raise InvalidInputError(
                "robot_side", value, f"one of {', '.join(kind.value for kind in SwitchKind)}"
            ) from None

    # ------------------------------------------------------------------ watching

    def look(self) -> None:
        """Look at every arm once, and act on what is wrong."""
        if self._state is Supervision.INACTIVE or not self._arms:
            return
        self._now = time.monotonic()
        findings = [finding for arm in self._arms if (finding := arm.look(self._now)) is not None]
        self._present = findings[0] if findings else None
        # A reset that is not obeyed yet is taken back, too.
        if self._present is not None and self._allow and self._active:
            self._stop(self._present)
        self._see_to_switches()

    def _stop(self, finding: Finding) -> None:
        self._finding = finding
        self._reaction = math.nan
        self._state = Supervision.STOPPING
        self._ask(allow=False)
        self.get_logger().error(f"{finding.reason}: commands are kept from the robot until {topics.RESUME} is called")
        self._tell()

    def _ask(self, *, allow: bool) -> None:
        self._allow = allow
        self._asked = time.monotonic()
        for switch in self._switches:
            switch.ask(allow)

    def _see_to_switches(self) -> None:
        """Wait for the robot side to obey; ask again when it does not."""
        # A reset may be obeyed when nobody is to watch any more.
        free = Supervision.WATCHING if self._active else Supervision.INACTIVE
        settled = free if self._allow else Supervision.STOPPED
        if self._state is settled:
            return
        if all(switch.done for switch in self._switches):
            self._state = settled
            if not self._allow:
                self._reaction = time.monotonic() - self._finding.since
                self.get_logger().warning(f"the robot takes no commands, {self._reaction * 1e3:.0f} ms after the cause")
            else:
                self._finding = Finding(Cause.NONE, "", math.nan)
                self._reaction = math.nan
                self.get_logger().info("the robot takes commands again")
            self._tell()
        elif time.monotonic() - self._asked > ASK_AGAIN:
            self.get_logger().warning("the robot side did not obey: asking again", throttle_duration_sec=1.0)
            self._ask(allow=self._allow)

    # ------------------------------------------------------------------ what others ask for

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = True
        if not self._allow:
            response.message = f"was stopped before: {self._finding.reason}"
            return response
        self._stop(Finding(Cause.OPERATOR, "stopped by the operator", time.monotonic()))
        response.message = f"the robot side is told to take no more commands; {topics.SUPERVISOR} says when it obeyed"
        return response

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._state is not Supervision.STOPPED:
            response.success = False
            response.message = f"nothing to reset: the supervisor is {self._state.name.lower()}"
        elif self._present is not None:
            response.success = False
            response.message = f"still wrong: {self._present.reason}"
        else:
            self._ask(allow=True)
            response.success = True
            response.message = f"the robot side is told to take commands; {topics.SUPERVISOR} says when it does"
        return response

    # ------------------------------------------------------------------ what it tells

    def _tell(self) -> None:
        status = self._status
        status.header.stamp = self.get_clock().now().to_msg()
        status.state = int(self._state)
        status.cause = int(self._finding.cause)
        status.reason = self._finding.reason
        status.reaction_time = self._reaction
        status.command_age = max((arm.watch.command_age for arm in self._arms), default=math.nan)
        status.state_age = max((arm.watch.state_age for arm in self._arms), default=math.nan)
        for publisher in self._statuses:
            publisher.publish(status)

    def _diagnose(self) -> None:
        stopped = self._state in (Supervision.STOPPING, Supervision.STOPPED)
        status = DiagnosticStatus(
            name=f"{self.get_fully_qualified_name()}: supervision",
            level=DiagnosticStatus.ERROR if stopped else DiagnosticStatus.OK,
            message=f"{self._state.name.lower()}{': ' if stopped else ''}{self._finding.reason}",
            values=[
                KeyValue(key="age of the last command [ms]", value=f"{self._status.command_age * 1e3:.1f}"),
                KeyValue(key="age of the last joint state [ms]", value=f"{self._status.state_age * 1e3:.1f}"),
                KeyValue(key="reaction time [ms]", value=f"{self._reaction * 1e3:.1f}"),
            ],
        )
        for arm in self._arms:
            if arm.franka is not None and arm.franka.mode is not None:
                name = f"{arm.name}: " if arm.name else ""
                status.values += [
                    KeyValue(key=f"{name}robot mode", value=arm.franka.mode.name),
                    KeyValue(key=f"{name}commands that reached the robot [-]", value=f"{arm.franka.success_rate:.3f}"),
                ]
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)


def _limit(words: str) -> ParameterDescriptor:
    return ParameterDescriptor(
        description=f"seconds of wall time {words}, before commands are kept from the robot",
        floating_point_range=[FloatingPointRange(from_value=0.005, to_value=10.0)],
    )


def _spin(node: SupervisorNode, executor: runtime.NodeExecutor, stop: runtime.StopRequest) -> None:
    due = time.monotonic()
    while not stop.requested:
        node.look()
        due = max(due + LOOK_INTERVAL, time.monotonic())
        while (left := due - time.monotonic()) > 0.0 and not stop.requested:
            executor.spin_once(timeout_sec=left)


def main() -> int:
    """Entry point of the process."""
    return runtime.run(SupervisorNode, _spin, priority=runtime.SUPERVISOR_PRIORITY)


if __name__ == "__main__":
    sys.exit(main())
