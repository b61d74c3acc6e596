"""Messages: whatever joint states, events, verdicts, commands and stamps come, what leaves keeps the limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from impact_msgs.msg import ControllerReference, ControllerStatus, ImpactClassification, ImpactEvent, SupervisorStatus
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from source import Source, chance, choice, edited, number, numbers
from std_msgs.msg import Float64MultiArray

from impact_control.control import Fault
from impact_control.planning.assignment import assigned
from impact_control_ros.bridge.impact_task import PreparedTask
from impact_control_ros.bridge.loop_output import ClassificationWriter
from impact_control_ros.bridge.messages import FirstOfEvent, serialised_stamp, to_stamp
from impact_control_ros.nodes.classifier import ClassifierNode
from impact_control_ros.nodes.controller import ControllerNode
from impact_control_ros.nodes.loop import LoopNode
from impact_control_ros.nodes.simulator import SimulatorNode
from surfaces import BrokenPromiseError
from surfaces.command_watch import CommandWatch
from surfaces.graph import EPOCH, MILLISECOND, GraphTarget, JointStates, fill, renew
from surfaces.watched_loop import WatchedLoop

STEPS = (0, 1, 500_000, 10_000_000, 20_000_000, 21_000_000, 10**9, 10**15, -1, -MILLISECOND)
"""[ns] other than a period that a stamp may be after the one before."""


class Messages(GraphTarget):
    """Joint states and all else that loop and controller hear; the classifier; the simulator's commands; stamps."""

    def __init__(self) -> None:
        super().__init__()
        graph = self._graph
        task = assigned("tabletop")
        self._plan = task.plan()
        robot, period = task.robot, task.scenario.control.period
        self._loops = [
            WatchedLoop(graph, graph.add_loop(name, make), CommandWatch(robot, period))
            for name, make in (("impact_loop", LoopNode), ("controller", ControllerNode))
        ]
        self._writer = ClassificationWriter(task.scenario, 7)
        self._classifier: ClassifierNode = graph.add(ClassifierNode, configured=True)
        self._simulator: SimulatorNode = graph.add(SimulatorNode, configured=True)
        self._torque_limit = robot.limits.torque
        self._states = JointStates(robot.joint_names, self._plan.reference.initial_configuration)
        self._configuration = self._plan.reference.impact_configuration.tolist()
        self._names = list(robot.joint_names)

    def __call__(self, source: Source) -> bool:
        """Send a few messages to one of them."""
        kind = source.integer(0, 9)
        if kind < 6:
            return self._to_loop(source)
        if kind < 8:
            return self._to_classifier(source)
        if kind < 9:
            return self._to_simulator(source)
        return serialised_stamp(edited(source, self._states.good(EPOCH))) is not None

    def _to_loop(self, source: Source) -> bool:
        watched = choice(source, self._loops)
        loop, sample = watched.node, watched.sample
        # What an activation leaves as it is, because it belongs to others.
        loop.built.supervision.take(SupervisorStatus(state=SupervisorStatus.WATCHING))
        hears = isinstance(loop, ControllerNode)
        if hears:
            loop.built._is_new(ImpactEvent())
        watched.renew()
        self._stamp = source.integer(0, 2**31) * 10**9 if chance(source, 8) else EPOCH

        sample(self._states.made(source, self._stamp) if chance(source, 8) else self._states.good(self._stamp))
        if not chance(source, 4):
            loop.built.start_task(PreparedTask(self._plan, self._writer, 0))
        others: tuple[Callable[[Source], None], ...] = (
            *(self._results(loop) if hears else ()),
            lambda source: loop.built._partners._take_event(FirstOfEvent(), self._event(source)),
            lambda source: loop.built._partners._take_status("other", self._status(source)),
            lambda source: loop.built.supervision.take(fill(SupervisorStatus(), source)),
            lambda _: loop.built._on_slow_timer(),
            lambda _: loop.built._on_diagnostics(),
            lambda _: loop.built.pipeline.cancel(),
        )
        for _ in range(source.integer(1, 8)):
            kind = source.integer(0, 4)
            if kind == 0:
                step = choice(source, (1, 2, 20)) * MILLISECOND
                for _ in range(source.integer(1, 12)):
                    self._stamp += step
                    sample(self._states.good(self._stamp))
            elif kind < 3:
                self._stamp += choice(source, STEPS) if chance(source, 4) else MILLISECOND
                sample(self._states.made(source, self._stamp))
            else:
                choice(source, others)(source)
        self._stamp += MILLISECOND
        sample(self._states.good(self._stamp))
        return loop.built.pipeline.controller.fault is Fault.NONE

    def _results(self, loop: Any) -> tuple[Callable[[Source], None], ...]:
        """Return what sends a controller the results of detector and classifier."""
        return (
            lambda source: loop.built._on_event(self._event(source)),
            lambda source: loop.built._on_classification(self._verdict(source)),
        )

    def _to_classifier(self, source: Source) -> bool:
        node = self._classifier
        node.built._is_new(ImpactEvent())
        renew(node)
        self._stamp = EPOCH
        for _ in range(source.integer(1, 10)):
            kind = source.integer(0, 3)
            if kind == 0:
                self._stamp += choice(source, STEPS) if chance(source, 4) else MILLISECOND
                node.built._on_state(self._states.made(source, self._stamp))
            elif kind == 1:
                self._stamp += MILLISECOND
                node.built._on_state(self._states.good(self._stamp))
                node.built._on_reference(self._reference(source))
            elif kind == 2:
                node.built._on_reference(self._reference(source))
            else:
                node.built._on_event(self._event(source))
        node.built._on_timer()
        return not math.isnan(node.built._alone.start)

    def _to_simulator(self, source: Source) -> bool:
        """Offer commands to the gate of the simulated arm."""
        (side,) = self._simulator.built.sides_on_topics
        side.gate.reset()
        side.stopped = chance(source, 8)
        refused = side.gate.refused
        for _ in range(source.integer(1, 6)):
            values = numbers(source, 7)
            if chance(source, 2):
                names = self._names if chance(source, 2) else [source.text(8) for _ in range(source.integer(0, 8))]
                side._command = JointState(name=names, effort=values)
            else:
                side._command = Float64MultiArray(data=values)
            side._sent_samples.extend(range(30))
            side.topics.commands.sent = source.integer(0, 40)
            torque = side.torque()
            if not np.all(np.isfinite(torque)) or np.any(np.abs(torque) > self._torque_limit):
                raise BrokenPromiseError(f"the simulated arm was given {torque}")
        return side.gate.refused == refused

    # ------------------------------------------------------------------ messages

    def _near(self, source: Source) -> int:
        """Return a stamp [ns] near the last one."""
        return self._stamp + source.integer(-50, 50) * MILLISECOND

    def _event(self, source: Source) -> ImpactEvent:
        event = ImpactEvent(index=source.integer(1, 9), joint_names=self._names, joint_position=self._configuration)
        to_stamp(self._near(source), event.header.stamp)
        to_stamp(self._near(source), event.impact_time)
        return fill(event, source)

    def _verdict(self, source: Source) -> ImpactClassification:
        verdict = ImpactClassification(
            scenario="tabletop", impact=source.integer(0, 3), post_impact=source.integer(0, 3)
        )
        to_stamp(self._near(source), verdict.header.stamp)
        return fill(verdict, source)

    def _status(self, source: Source) -> ControllerStatus:
        status = ControllerStatus(mode=source.integer(0, 9))
        to_stamp(self._near(source), status.header.stamp)
        return fill(status, source)

    def _reference(self, source: Source) -> ControllerReference:
        reference = ControllerReference(
            scenario="tabletop",
            mode=source.integer(0, 4),
            task_time=source.integer(0, 4000) * 1e-3,
            nominal_impact_time=1.8,
            joint_names=self._names,
            impact_configuration=self._configuration,
            ante_joint_velocity=[0.0] * 7,
            post_joint_velocity=[number(source)] * 7,
            jump_deviation=[0.01] * 7,
            friction_deviation=[0.01] * 7,
            configuration_deviation=[0.01] * 7,
            height_deviation=number(source),
        )
        to_stamp(self._stamp, reference.header.stamp)
        filled: ControllerReference = fill(reference, source)
        serialize_message(filled)
        return filled
