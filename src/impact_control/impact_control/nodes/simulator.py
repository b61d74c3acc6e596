"""Simulator node: stands where ros2_control stands, with the plant behind it."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from impact_control.errors import ImpactControlError
from impact_control.graph import LARGEST_FACTOR
from impact_control.nodes import qos, real_time, runtime, topics
from impact_control.nodes.inbox import Inbox
from impact_control.nodes.object_pose import ObjectPose
from impact_control.nodes.simulated_arm import ArmSide
from impact_control.scenario import Scenario, SceneScenario, load_any
from impact_control.simulation import build_world, rehearse

PERIOD_NS = 1_000_000
SERVICE_PERIOD = 10
"""Periods between two looks at services and parameters."""

OBJECT_PERIOD = 10
"""Periods between two messages of where the objects are."""

LOCKSTEP_POLL = 1e-4
"""[s] between two looks for the command of a sample."""

LOCKSTEP_REPEAT = 0.5
"""Seconds after which a lockstep sample that got no command is sent again."""

LOCKSTEP_PATIENCE = 5.0
"""Seconds a lockstep sample waits for its command before the arm goes on without."""


class SimulatorNode(LifecycleNode):
    """Publishes joint_states at 1 kHz and applies effort_controller/commands, of each arm in its own namespace.

    Real time by default, or `real_time_factor` of it: simulated seconds to a second of the wall clock; stamps are
    simulated time. With `lockstep` each sample waits for the command computed from it. Without a fresh command for
    longer than the scenario's limit the joints are damped, gravity stays compensated, and a warning says so. Both
    parameters hold at once when they are set, so that time can go on after whoever sent the commands has died.

    A period that starts late by its own length sets the clock anew from there: the time is lost, because samples sent
    in a burst to catch up would reach the loop as no robot sends them.
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
            "real_time_factor",
            1.0,
            ParameterDescriptor(
                description="simulated seconds to a second of the wall clock, without lockstep",
                floating_point_range=[FloatingPointRange(from_value=0.01, to_value=LARGEST_FACTOR)],
            ),
        )
        self.declare_parameter(
            "start_paused",
            False,
            ParameterDescriptor(description="send no sample before simulation/pause is called"),
        )
        self.declare_parameter(
            "ros2_control",
            False,
            ParameterDescriptor(
                description="take commands as topic_based_ros2_control sends them: the effort of a JointState"
            ),
        )
        self._active = False
        self._paused = False
        self.unanswered = 0
        self._set_clock([])
        self.add_post_set_parameters_callback(self._set_clock)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Build the plant of the scenario."""
        self._inbox = self.open_inbox()
        self._sides: dict[str, ArmSide] = {}
        self._objects: dict[str, ObjectPose] = {}
        try:
            rehearse(self._scenario())
            self._build()
        except ImpactControlError as error:
            self.get_logger().error(str(error))
            self._close()
            return TransitionCallbackReturn.FAILURE
        self._diagnostics = self.create_publisher(DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS)
        self._reset_service = self.create_service(Trigger, topics.RESET, self._on_reset)
        self._pause_service = self.create_service(SetBool, topics.PAUSE, self._on_pause)
        self._accept_service = self.create_service(SetBool, topics.ACCEPT, self._on_accept)
        self._diagnostics_timer = self.create_timer(1.0, self._diagnose)
        # The first line a process logs takes it tens of milliseconds: not when the clock runs.
        self.get_logger().info(f"ready, {len(self._sides)} arm(s)")
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start the clock."""
        self._paused = bool(self.get_parameter("start_paused").value)
        real_time.still_heap()
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
        for service in (self._reset_service, self._pause_service, self._accept_service):
            self.destroy_service(service)
        self.destroy_publisher(self._diagnostics)
        self._close()
        real_time.thaw_heap()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop sending samples."""
        self._active = False
        return TransitionCallbackReturn.SUCCESS

    def open_inbox(self) -> Inbox:
        """Return the inbox that commands come into."""
        return Inbox(self)

    def _set_clock(self, changed: list[Parameter]) -> None:
        """Let time pass as the parameters say."""
        self._lockstep = bool(self.get_parameter("lockstep").value)
        self._wall_period_ns = round(PERIOD_NS / float(self.get_parameter("real_time_factor").value))

    def _close(self) -> None:
        parts: list[ArmSide | ObjectPose] = [*self._sides.values(), *self._objects.values()]
        for part in parts:
            part.destroy()
        self._inbox.close()

    def _scenario(self) -> Scenario | SceneScenario:
        seed = int(self.get_parameter("seed").value)
        overrides = {"simulation.seed": seed} if seed >= 0 else {}
        return load_any(str(self.get_parameter("scenario").value)).with_overrides(overrides)

    def _build(self) -> None:
        scenario = self._scenario()
        self._world = world = build_world(scenario)
        self._epoch = self.get_clock().now().nanoseconds
        self._cycles = 0
        self._late = 0
        self._lost_ns = 0
        self._told_lost_ns = 0
        self._worst_lag = 0
        if self._sides and (list(self._sides), list(self._objects)) != (list(world.arms), list(world.objects)):
            raise ImpactControlError(f"scenario {scenario.name} has other arms or objects than the one before it")
        if not self._sides:
            behind = bool(self.get_parameter("ros2_control").value)
            self._sides = {
                name: ArmSide(self, self._inbox, name, PERIOD_NS * 1e-9, lockstep=self._lockstep, ros2_control=behind)
                for name in world.arms
            }
            self._objects = {name: ObjectPose(self, name) for name in world.objects}
        for side in self._sides.values():
            side.attach(world)
        for name, box in world.objects.items():
            self._objects[name].attach(box)

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._build()
        except ImpactControlError as error:
            response.success = False
            response.message = str(error)
            return response
        # Reading and building leave behind what refers to itself, and the collector is off.
        gc.collect()
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

    def _on_accept(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        for side in self._sides.values():
            side.stopped = not request.data
        response.success = True
        response.message = "commands are taken" if request.data else "no command is taken, the joints are damped"
        self.get_logger().warning(response.message)
        return response

    def spin(self, executor: runtime.NodeExecutor, stop: runtime.StopRequest) -> None:
        """Run the clock of the plant until a stop is requested."""
        while not stop.requested:
            if not self._active or self._paused:
                executor.spin_once(timeout_sec=0.02)
                continue
            if self._lockstep:
                for side in self._sides.values():
                    side.forget_commands()
            self._publish()
            if self._lockstep and self._answer(executor, stop):
                continue
            if self._cycles % SERVICE_PERIOD == 0:
                executor.spin_once(timeout_sec=0.0)
            self._deadline += self._wall_period_ns
            left = self._deadline - time.monotonic_ns()
            if left > 0:
                time.sleep(left * 1e-9)
            self._account()
            self._advance()

    def _answer(self, executor: runtime.NodeExecutor, stop: runtime.StopRequest) -> bool:
        """Advance once the samples just sent have their commands, and were seen by the detectors if there are any.

        False when nobody is there to send a command to an arm.
        """
        sides = list(self._sides.values())
        if not all(side.commanded for side in sides):
            return False
        now = time.monotonic()
        end, again = now + LOCKSTEP_PATIENCE, now + LOCKSTEP_REPEAT
        for side in sides:
            side.expect_answer()
        while waiting := [side for side in sides if not side.answered()]:
            executor.spin_once(timeout_sec=LOCKSTEP_POLL)
            if stop.requested or not self._active or self._paused or not self._lockstep:
                break
            now = time.monotonic()
            if now > again:
                for side in waiting:
                    side.send_state()  # lost on the way, as a best-effort message may be
                again = now + LOCKSTEP_REPEAT
            if now > end:
                self.unanswered += 1
                self.get_logger().warning(
                    f"lockstep: sample {self._cycles} was not answered within {LOCKSTEP_PATIENCE:g} s; going on"
                )
                break
        self._advance()
        self._deadline = time.monotonic_ns()
        return True

    def _account(self) -> None:
        lag = time.monotonic_ns() - self._deadline
        self._worst_lag = max(self._worst_lag, lag)
        if lag > self._wall_period_ns:
            self._late += 1
            self._lost_ns += lag
            self._deadline += lag

    def _advance(self) -> None:
        self._world.step([side.torque() for side in self._sides.values()])
        self._cycles += 1

    def _publish(self) -> None:
        stamp = self._epoch + self._cycles * PERIOD_NS
        # All samples first: they are waited for.
        for side in self._sides.values():
            side.measure(stamp)
        for side in self._sides.values():
            side.send_truth(stamp, self._world.time, self._late, self._cycles)
        if self._cycles % OBJECT_PERIOD == 0:
            for box in self._objects.values():
                box.send(stamp)

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
                KeyValue(key="periods without a new command", value=self._of_arms(lambda side: str(side.held))),
                KeyValue(key="command", value=self._of_arms(lambda side: side.gate.state.name.lower())),
                KeyValue(key="unanswered lockstep samples", value=str(self.unanswered)),
            ],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)
        self._worst_lag = 0

    def _of_arms(self, value: Callable[[ArmSide], str]) -> str:
        """Return what each arm has to say, in one text."""
        return ", ".join(f"{name}: {value(side)}" if name else value(side) for name, side in self._sides.items())


def main(node: type[SimulatorNode] = SimulatorNode) -> int:
    """Entry point of the process."""

    def spin(node: SimulatorNode, executor: runtime.NodeExecutor, stop: runtime.StopRequest) -> None:
        node.spin(executor, stop)

    return runtime.run(node, spin, priority=runtime.ROBOT_PRIORITY, cores=real_time.ROBOT_CORES)


if __name__ == "__main__":
    sys.exit(main())
