"""Goals of execute_impact_task: begun, or refused with a reason, and then the next one is served."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable

from builtin_interfaces.msg import Time
from impact_msgs.action import ExecuteImpactTask, MoveTo
from rclpy.action import GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.serialization import serialize_message
from rclpy.task import Future
from source import Source, chance, choice

from impact_control.pipeline import Outcome
from impact_control.planning.assignment import assigned
from impact_control.scenario import available_scenarios, available_scenes, config_directory
from impact_control_ros.bridge import topics
from impact_control_ros.bridge.impact_task import ImpactTaskServer
from impact_control_ros.bridge.rclpy_internals import accept_goal, cancel_goal
from impact_control_ros.nodes.loop import LoopNode
from impact_control_ros.nodes.predictor import PredictorNode
from surfaces import BrokenPromiseError
from surfaces.command_watch import CommandWatch
from surfaces.graph import EPOCH, MILLISECOND, GraphTarget, JointStates
from surfaces.watched_loop import WatchedLoop

PATIENCE = 10.0
"""[s] that a reference may take."""

KEPT_GOALS = 100
"""Goals after which all begins anew: the loop's server keeps each for a quarter of an hour, in every status."""

PLACES = ("/", ".", "..", "/dev/null", "~", "/etc/passwd", "%s", "a" * 5000, "a" * 300 + ".yaml")
"""Names that are something else to a file system."""

ENDINGS = (".yaml", ".yml", "/", "~", "~x/y.yaml", "\0", "..")


def accept(tasks: ImpactTaskServer, goal: ExecuteImpactTask.Goal | MoveTo.Goal) -> tuple[ServerGoalHandle, Future]:
    """Let a goal be accepted as the server does for one that came over DDS; return its handle and its answer."""
    handle, answer = accept_goal(tasks._move_server if isinstance(goal, MoveTo.Goal) else tasks._server, goal)
    tasks._on_accepted(handle)
    return handle, answer


def cancel(tasks: ImpactTaskServer, handle: ServerGoalHandle) -> None:
    """Cancel a goal as the server does when a client asks for it."""
    if handle.is_active and not handle.is_cancel_requested:
        tasks._on_cancel(handle)
        cancel_goal(handle)


class Actions(GraphTarget):
    """A loop with its action server and the predictor it asks; goals through the server's own handles."""

    def __init__(self) -> None:
        super().__init__()
        graph = self._graph
        self._loop: LoopNode = graph.add_loop("impact_loop", served=True)
        self._predictor = graph.add(PredictorNode, served=True, configured=True)
        self._predictor.on_activate(None)
        task = assigned("tabletop")
        self._watched = WatchedLoop(graph, self._loop, CommandWatch(task.robot, task.scenario.control.period))
        self._states = JointStates(task.robot.joint_names, task.plan().reference.initial_configuration)
        self._names = (*available_scenarios(), *available_scenes())
        self._goals = 0
        self._directory = str(config_directory() / "scenarios")

    def __call__(self, source: Source) -> bool:
        """Send a goal to a loop that holds an arm, see it through the beginning; cancel or end it before at times."""
        loop = self._loop
        self._goals += 1
        if self._goals % KEPT_GOALS == 0:
            self._begin_anew()
        self._watched.renew()
        tasks = loop.built.tasks
        stamp = EPOCH
        for _ in range(source.integer(0, 2)):
            stamp += MILLISECOND
            self._watched.sample(self._states.good(stamp))
        goal = ExecuteImpactTask.Goal(scenario=self._scenario(source), begin=self._begin(source, stamp))
        serialize_message(goal)
        if tasks._on_goal(goal) is not GoalResponse.ACCEPT:
            raise BrokenPromiseError(f"an active loop accepts no goal: {tasks._refusal()}")
        handle, answered = accept(tasks, goal)
        if tasks._on_goal(goal) is GoalResponse.ACCEPT:
            raise BrokenPromiseError("a second goal was accepted beside the first")
        if chance(source, 8):
            cancel(tasks, handle)
        end = time.monotonic() + PATIENCE
        built = not chance(source, 8)
        while built and tasks._building and time.monotonic() < end:
            self._graph.executor.spin_once(timeout_sec=0.001)
            tasks.advance()
        if built and tasks._building:
            raise BrokenPromiseError(f"no answer within {PATIENCE:g} s")
        begun = tasks._goal is not None and not tasks._building
        for _ in range(source.integer(0, 4) if begun else 0):
            stamp += MILLISECOND
            self._watched.sample(self._states.made(source, stamp) if chance(source, 4) else self._states.good(stamp))
            if chance(source, 8):
                cancel(tasks, handle)
            tasks.advance()
        loop.on_deactivate(None)
        while not answered.done() and time.monotonic() < end:
            self._graph.executor.spin_once(timeout_sec=0.001)
        result = answered.result().result
        if not begun and result.outcome not in (Outcome.REFUSED, Outcome.CANCELLED, Outcome.FAULT):
            raise BrokenPromiseError(f"a task that was not begun ended as {Outcome(result.outcome).name}")
        if result.outcome == Outcome.REFUSED and not result.summary:
            raise BrokenPromiseError("refused without a reason")
        if re.match(r"\w+Error: ", result.summary):
            raise BrokenPromiseError(f"refused by an error that is none of ours: {result.summary}")
        return begun

    def _begin_anew(self) -> None:
        """Configure the loop again, and let the predictor offer a new service.

        In a process with the one that answers a new client gets no answer at first from a service that has given more
        than 5000: Fast DDS takes all before for messages that are still to come, more than a reader has room for.
        """
        self._await("references that nobody waits for are still built", self._references)
        self._loop.on_deactivate(None)
        self._loop.on_cleanup(None)
        self._predictor.on_deactivate(None)
        # An activation would take publishers of which the executor has not let go for those of a rival.
        self._await("a loop that was cleaned up still publishes commands", self._publishers)
        self._loop.on_configure(None)
        self._predictor.on_activate(None)

    def _references(self) -> bool:
        """Return whether one is still built: its thread may ask the predictor, which is to answer before it goes."""
        return any(thread.name == "reference" for thread in threading.enumerate())

    def _publishers(self) -> bool:
        return self._loop.count_publishers(topics.COMMANDS) > 0

    def _await(self, wrong: str, lasts: Callable[[], bool]) -> None:
        """Let the executor run as long as something lasts, and once after it."""
        end = time.monotonic() + PATIENCE
        while lasts():
            self._graph.executor.spin_once(timeout_sec=0.01)
            if time.monotonic() > end:
                raise BrokenPromiseError(wrong)
        self._graph.executor.spin_once(timeout_sec=0.01)

    def _scenario(self, source: Source) -> str:
        """Return what names a scenario, seldom one there is: to plan its task takes thirty times as long."""
        kind = source.integer(0, 127)
        if kind > 125:
            return choice(source, ("", "tabletop", choice(source, self._names)))
        if kind == 125:
            return f"{self._directory}/{choice(source, self._names)}.yaml"
        name = choice(source, self._names)
        if kind < 32:
            return source.text(24)
        if kind < 64:
            return source.text(6) + choice(source, ENDINGS)
        if kind < 80:
            return choice(source, PLACES)
        place = source.integer(0, len(name))
        return name[:place] + source.text(3) + name[place + source.integer(0, 2) :]

    def _begin(self, source: Source, stamp: int) -> Time:
        kind = source.integer(0, 3)
        if kind == 0:
            return Time()
        if kind == 1:
            return Time(sec=source.integer(-(2**31), 2**31 - 1), nanosec=source.integer(0, 2**32 - 1))
        seconds, rest = divmod(stamp + source.integer(-2000, 2000) * MILLISECOND, 10**9)
        return Time(sec=seconds, nanosec=rest)
