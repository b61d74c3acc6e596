"""Simulator node: takes the place of ros2_control, with the plant behind it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from diagnostic_msgs.msg import DiagnosticStatus
from impact_msgs.msg import GroundTruth
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock as ClockMessage
from std_srvs.srv import SetBool, Trigger

from impact_control.scenario import Scene, load_scenario
from impact_control.simulation import World, build_world, rehearse
from impact_control.util.errors import ImpactControlError, SimulationError
from impact_control.util.settings import SCENARIO
from impact_control.util.types import Vector
from impact_control_ros.bridge import qos, real_time, runtime, topics
from impact_control_ros.bridge.diagnostics import Diagnostics
from impact_control_ros.bridge.lifecycle import Configuration, ConfiguredNode, declare, declare_setting
from impact_control_ros.bridge.messages import answered, to_stamp
from impact_control_ros.bridge.rclpy_internals import Inbox, NodeExecutor
from impact_control_ros.bridge.settings import REAL_TIME_FACTOR, SEED
from impact_control_ros.robot_side.shared_exchange import SharedExchange, segment_of
from impact_control_ros.robot_side.simulated_arm import ArmSide, ArmTopics, ObjectPose, SharedArmSide, TopicArmSide

SERVICE_PERIOD = 10
"""Periods between two looks at services and parameters."""

OBJECT_PERIOD = 10
"""Periods between two messages of the poses of objects."""

LOCKSTEP_POLL = 1e-4
"""[s] between two looks for the command of a sample."""

LOCKSTEP_REPEAT = 0.5
"""[s] after which a lockstep sample that got no command is sent again."""

LOCKSTEP_PATIENCE = 5.0
"""[s] a lockstep sample waits for its command before the arm goes on without."""

EXCHANGE_WAIT = 0.02
"""[s] to wait for the answer to a sample in shared memory before services and parameters are looked at again."""

REPEATED_CLOCKS = 5
"""Such waits in which the published time, which may be lost, is repeated. Then it goes on: a manager without a sample
needs cycles to come to one."""

SILENT_WAITS = 50
"""Such waits without an answer before the warning that the arm stands still."""


@dataclass
class Clock:
    """Simulated time since the last reset, and how it keeps up with the wall clock; all but counts in [ns].

    Attributes: epoch, stamp of the first sample; period; restamped, whether joint states are stamped anew behind the
    simulator, by the wall clock, which the stamps of the true state then follow; deadline, of the present period, on
    the steady clock; cycles, periods so far; late, those that started late by their own length; lost, time lost by
    them, and reported, the part of it that was logged; worst_lag, since the last diagnostics.
    """

    epoch: int
    period: int
    restamped: bool = False
    deadline: int = field(default_factory=time.monotonic_ns)
    cycles: int = 0
    late: int = 0
    lost: int = 0
    reported: int = 0
    worst_lag: int = 0

    @property
    def stamp(self) -> int:
        """Stamp of the present sample."""
        return self.epoch + self.cycles * self.period

    def restart(self) -> None:
        """Start the present period now."""
        now = time.monotonic_ns()
        self._lose(now - self.deadline)
        self.deadline = now

    def _lose(self, passed: int) -> None:
        """Account for time that has passed on the wall clock alone."""
        if self.restamped:
            self.epoch += passed

    def await_next(self, speed: float) -> None:
        """Sleep until the next period, at this many simulated seconds to a second, and account for lateness.

        A period that starts late by its own length restarts the clock there: the time is lost, because samples
        sent in a burst to catch up would reach the loop as no robot sends them.
        """
        period = round(self.period / speed)
        self.deadline += period
        left = self.deadline - time.monotonic_ns()
        if left > 0:
            time.sleep(left * 1e-9)
        lag = time.monotonic_ns() - self.deadline
        self.worst_lag = max(self.worst_lag, lag)
        if lag > period:
            self.late += 1
            self.lost += lag
            self.deadline += lag
            self._lose(lag)


class PublishedClock:
    """Simulated time on `/clock`: controller managers with `use_sim_time` begin a cycle with each message."""

    def __init__(self, configuration: Configuration) -> None:
        """Open the topic; raise ImpactControlError where there is a clock already."""
        if others := configuration.node.count_publishers(topics.CLOCK):
            raise ImpactControlError(f"{others} other publisher(s) of {topics.CLOCK}; allowed: one simulated time")
        self._publisher = configuration.publisher(ClockMessage, topics.CLOCK, qos.STREAM)
        self._message = ClockMessage()

    def send(self, stamp: int) -> None:
        """Publish the time [ns]."""
        to_stamp(stamp, self._message.clock)
        self._publisher.publish(self._message)


class Simulation(Configuration):
    """A world whose arms are on the topics of a robot side, or exchange with ros2_control through shared memory.

    Attributes: sides, the arms by name; sides_on_topics, those on topics: all or none; paused; unanswered, number of
    lockstep samples without a command in time.
    """

    def __init__(self, node: SimulatorNode) -> None:
        """Build the world of the scenario, open the topics."""
        super().__init__(node)
        self.when_closed(real_time.thaw_heap)  # gives the world back to the collector
        scenario = self._scenario()
        rehearse(scenario)
        self._world: World = build_world(scenario)
        self._clock = self._clock_of(scenario)
        self.paused = False
        self.unanswered = 0
        self._silent_waits = 0
        shared = node.value("shared_memory")
        self._published_clock = PublishedClock(self) if shared else None
        self._exchanges = {name: self._exchange_of(name, shared) for name in self._world.arms if shared}
        inbox = node.open_inbox()
        self.when_closed(inbox.close)
        behind = node.value("ros2_control")
        self._topics = {
            name: ArmTopics.open(self, inbox, name, lockstep=node.lockstep, ros2_control=behind)
            for name in self._world.arms
            if not shared
        }
        self._truths = {
            name: self.publisher(GroundTruth, topics.of_arm(name, topics.TRUTH), qos.STREAM)
            for name in self._world.arms
        }
        self._sides_exchanging, self.sides_on_topics = self._sides()
        self._objects = {name: ObjectPose(self, name, box) for name, box in self._world.objects.items()}
        self._diagnostics = Diagnostics(self, "clock")
        self.service(Trigger, topics.RESET, self._on_reset)
        self.service(SetBool, topics.PAUSE, self._on_pause)
        self.service(SetBool, topics.ACCEPT, self._on_accept)
        self.timer(1.0, self._diagnose)
        # The first line a process logs takes it tens of milliseconds: not when the clock runs.
        node.get_logger().info(f"ready, {len(self.sides)} arm(s)")

    def activate(self) -> None:
        """Start the clock."""
        self.paused = bool(self.node.value("start_paused"))
        real_time.still_heap()
        # Only now: with its first sample a hardware waits for the next.
        for side in self._sides_exchanging:
            side.begin()
        self._clock.restart()

    def _scenario(self) -> Scene:
        seed = self.node.value("seed")
        return load_scenario(self.node.value("scenario")).with_overrides({"simulation.seed": seed} if seed >= 0 else {})

    def _clock_of(self, scenario: Scene) -> Clock:
        """Return the clock of a scenario from now on."""
        period = round(scenario.control.period * 1e9)
        restamped = self.node.value("ros2_control") and not self.node.value("shared_memory")
        return Clock(int(self.node.get_clock().now().nanoseconds), period, restamped)

    def _exchange_of(self, arm: str, name: str) -> SharedExchange:
        """Open the exchange with the hardware of an arm; name: see `segment_of`."""
        exchange = SharedExchange(segment_of(name, arm), self._world.arms[arm].robot.joint_names)
        self.when_closed(exchange.close)
        return exchange

    def _sides(self) -> tuple[list[SharedArmSide], list[TopicArmSide]]:
        """Put the arms of the world into their exchanges, or on their topics."""
        common = self._world, self._clock.period * 1e-9, self.node.get_logger()
        return (
            [SharedArmSide(exchange, name, self._truths[name], *common) for name, exchange in self._exchanges.items()],
            [TopicArmSide(of_arm, name, self._truths[name], *common) for name, of_arm in self._topics.items()],
        )

    @property
    def sides(self) -> dict[str, ArmSide]:
        """The arms by name."""
        return {side.name: side for side in (*self._sides_exchanging, *self.sides_on_topics)}

    # ------------------------------------------------------------------ services

    def _reset(self) -> None:
        """Put world and clock back to the start; raise ImpactControlError for a scenario with other arms or objects."""
        scenario = self._scenario()
        world = build_world(scenario)
        if (list(self.sides), list(self._objects)) != (list(world.arms), list(world.objects)):
            raise ImpactControlError(f"scenario {scenario.name!r}: other arms or objects than in the one before")
        self._clock, self._world = self._clock_of(scenario), world
        before = self.sides
        self._sides_exchanging, self.sides_on_topics = self._sides()
        for name, side in self.sides.items():
            side.stopped = before[name].stopped
        for name, box in world.objects.items():
            self._objects[name].box = box

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._reset()
        except ImpactControlError as error:
            return answered(response, False, str(error))
        # Loading and building leave reference cycles behind, and the collector is off.
        gc.collect()
        self._clock.restart()
        return answered(response, True, "the arm is back at its initial configuration")

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.paused = bool(request.data)
        self._clock.restart()
        return answered(response, True, "paused" if self.paused else "running")

    def _on_accept(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        for side in self.sides.values():
            side.stopped = not request.data
        message = "commands are taken" if request.data else "no command is taken, the joints are damped"
        self.node.get_logger().warning(message)
        return answered(response, True, message)

    # ------------------------------------------------------------------ one period

    @property
    def running(self) -> bool:
        """True while the clock runs."""
        return self.active and not self.paused

    def cycle(self, executor: NodeExecutor, stop: runtime.StopRequest) -> None:
        """Publish a sample, wait for the next period or, in lockstep, for the command, and step the world."""
        if self._published_clock is not None:
            self._exchange(executor, self._published_clock)
            return
        lockstep = self.node.lockstep
        if lockstep:
            for side in self.sides_on_topics:
                side.forget_commands()
        self._publish()
        if lockstep and all(side.commanded for side in self.sides_on_topics):
            self._await_answers(executor, stop)
            self._step([side.torque() for side in self.sides_on_topics])
            self._clock.restart()
            return
        if self._clock.cycles % SERVICE_PERIOD == 0:
            executor.spin_once(timeout_sec=0.0)
        self._clock.await_next(self.node.speed)
        self._step([side.torque() for side in self.sides_on_topics])

    def _exchange(self, executor: NodeExecutor, published: PublishedClock) -> None:
        """Step the world once the hardware of every arm has answered its sample, and the period is over."""
        if self._silent_waits or self._clock.cycles % SERVICE_PERIOD == 0:
            executor.spin_once(timeout_sec=0.0)
            if not self.running:
                return
        sides, clock = self._sides_exchanging, self._clock
        answered = all(side.exchange.await_command(EXCHANGE_WAIT) for side in sides)
        self._silent_waits = 0 if answered else self._silent_waits + 1
        if self._silent_waits == SILENT_WAITS:
            self.node.get_logger().warning("no hardware reads the samples: the arm stands still until one does")
        if not answered:
            clock.restart()
            if self._silent_waits > REPEATED_CLOCKS:
                clock.epoch += clock.period
            published.send(clock.stamp)
            return
        clock.await_next(self.node.speed)
        for side in sides:
            side.note_truth(self._world.time, clock.late, clock.cycles)
        stamp = clock.stamp
        self._step([side.torque() for side in sides])
        # Before all else: they are waited for.
        for side in sides:
            side.exchange.put(side.measure())
        published.send(clock.stamp)
        for side in sides:
            side.send_truth(stamp)
        self._send_objects(stamp)

    def _await_answers(self, executor: NodeExecutor, stop: runtime.StopRequest) -> None:
        """Wait until the samples just sent have their commands, and were seen by the detectors if there are any."""
        now = time.monotonic()
        end, again = now + LOCKSTEP_PATIENCE, now + LOCKSTEP_REPEAT
        for side in self.sides_on_topics:
            side.expect_answer()
        while waiting := [side for side in self.sides_on_topics if not side.answered()]:
            executor.spin_once(timeout_sec=LOCKSTEP_POLL)
            if stop.requested or not self.running or not self.node.lockstep:
                return
            now = time.monotonic()
            if now > again:
                for side in waiting:
                    side.send_state()  # lost on the way, as a best-effort message may be
                again = now + LOCKSTEP_REPEAT
            if now > end:
                self.unanswered += 1
                sample = f"sample {self._clock.cycles}"
                self.node.get_logger().warning(
                    f"lockstep: {sample} was not answered within {LOCKSTEP_PATIENCE:g} s; going on"
                )
                return

    def _step(self, torques: Sequence[Vector]) -> None:
        self._world.step(torques)
        self._clock.cycles += 1

    def _publish(self) -> None:
        clock = self._clock
        # All samples first: they are waited for.
        for side in self.sides_on_topics:
            side.measure(clock.stamp)
        for side in self.sides_on_topics:
            side.note_truth(self._world.time, clock.late, clock.cycles)
            side.send_truth(clock.stamp)
        self._send_objects(clock.stamp)

    def _send_objects(self, stamp: int) -> None:
        if self._clock.cycles % OBJECT_PERIOD == 0:
            for box in self._objects.values():
                box.send(stamp)

    def _diagnose(self) -> None:
        clock = self._clock
        lost = clock.lost - clock.reported
        if lost > 0.05e9:
            self.node.get_logger().warning(
                f"the simulation fell {lost * 1e-6:.0f} ms behind the wall clock since the last warning"
            )
            clock.reported = clock.lost
        late = clock.late / max(1, clock.cycles)
        self._diagnostics.publish(
            DiagnosticStatus.OK if late <= 0.01 else DiagnosticStatus.WARN,
            self._pace(late),
            {
                "periods": str(clock.cycles),
                "late periods": str(clock.late),
                "worst lag [ms]": f"{clock.worst_lag * 1e-6:.3f}",
                "time lost [ms]": f"{clock.lost * 1e-6:.1f}",
                "periods without a new command": self._of_arms(lambda side: str(side.held)),
                "command": self._of_arms(lambda side: side.gate.state.name.lower()),
                "unanswered lockstep samples": str(self.unanswered),
            },
        )
        clock.worst_lag = 0

    def _pace(self, late: float) -> str:
        return "in lockstep" if self.node.lockstep else f"{late:.2%} of the periods late"

    def _of_arms(self, value: Callable[[ArmSide], str]) -> str:
        """Return a value of each arm, in one text."""
        return ", ".join(f"{name}: {value(side)}" if name else value(side) for name, side in self.sides.items())


class SimulatorNode(ConfiguredNode[Simulation]):
    """Publishes joint_states and applies effort_controller/commands, of each arm in its own namespace.

    With `shared_memory` a ros2_control hardware takes the place of both topics, and time is published for its manager.
    The period is that of the scenario. Real time by default, or `real_time_factor` of it: simulated seconds to a second
    of the wall clock; stamps are simulated time. With `lockstep` each sample waits for the command computed from it.
    Without a fresh command for longer than the scenario's limit the joints are damped, gravity stays compensated, and a
    warning is logged. Both parameters hold at once when they are set, so that time can go on after the sender of the
    commands has died.

    Attributes: lockstep; speed, the real-time factor.
    """

    def __init__(self) -> None:
        super().__init__("simulator", Simulation)
        declare_setting(self, SCENARIO)
        declare_setting(self, SEED, unset=-1)
        declare(self, "lockstep", False, "wait for the command of each sample")
        declare_setting(self, REAL_TIME_FACTOR, 1.0)
        declare(self, "start_paused", False, "send no sample before simulation/pause is called")
        behind = "take commands as topic_based_ros2_control sends them: the effort of a JointState"
        declare(self, "ros2_control", False, behind)
        shared = "name of the shared memory for a hardware of impact_sim_hardware, with time on /clock; empty: topics"
        declare(self, "shared_memory", "", shared)
        self.lockstep = False
        self.speed = 1.0
        self._set_clock([])
        self.add_post_set_parameters_callback(self._set_clock)

    def open_inbox(self) -> Inbox:
        """Return the inbox that commands come into."""
        return Inbox(self)

    def _set_clock(self, changed: list[Parameter]) -> None:
        """Set the clock by the parameters."""
        self.lockstep = self.value("lockstep")
        self.speed = self.value("real_time_factor")

    def spin(self, executor: NodeExecutor, stop: runtime.StopRequest) -> None:
        """Run the clock of the plant until a stop is requested; a SimulationError ends the process with code 1."""
        try:
            while not stop.requested:
                if self.configured is not None and self.configured.running:
                    self.configured.cycle(executor, stop)
                else:
                    executor.spin_once(timeout_sec=0.02)
        except SimulationError as error:
            self.get_logger().error(f"{error}; ends here")
            raise SystemExit(1) from error


def main(node: type[SimulatorNode] = SimulatorNode) -> int:
    """Entry point of the process."""
    return runtime.run(node, node.spin, priority=runtime.ROBOT_PRIORITY, cores=real_time.ROBOT_CORES)
