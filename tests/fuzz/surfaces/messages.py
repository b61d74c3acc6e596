"""Messages: whatever joint states, events, verdicts, commands and stamps come, what leaves keeps the limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from impact_msgs.msg import ControllerReference, ControllerStatus, ImpactClassification, ImpactEvent, SupervisorStatus
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from source import Source, chance, choice, edited, number, numbers
from std_msgs.msg import Float64MultiArray

from impact_control.assignment import assigned
from impact_control.control import Fault
from impact_control.nodes.classifier import ClassifierNode
from impact_control.nodes.impact_task import PreparedTask
from impact_control.nodes.messages import serialised_stamp, to_stamp
from impact_control.nodes.simulator import SimulatorNode
from impact_control.nodes.writers import ClassificationWriter
from surfaces import BrokenPromiseError
from surfaces.command_watch import CommandWatch
from surfaces.graph import EPOCH, Graph, JointStates, fill, renew
from surfaces.watched_loop import WatchedLoop

MILLISECOND = 1_000_000
STEPS = (0, 1, 500_000, 10_000_000, 20_000_000, 21_000_000, 10**9, 10**15, -1, -MILLISECOND)
"""[ns] other than a period that a stamp may be after the one before."""


class Messages:
    """Joint states and all else that loop and controller hear; the classifier; the simulator's commands; stamps."""

    def __init__(self) -> None:
        self._graph = graph = Graph()
        task = assigned("tabletop")
        self._plan = task.plan()
        robot, period = task.robot, task.scenario.control.period
        self._loops = [
            WatchedLoop(graph, graph.add_loop(name, **parts), CommandWatch(robot, period))
            for name, parts in (("impact_loop", {}), ("controller", {"detect": False, "classify": False}))
        ]
        self._writer = ClassificationWriter(task.scenario, 7)
        self._classifier: ClassifierNode = graph.add(ClassifierNode)
        self._classifier.trigger_configure()
        self._simulator: SimulatorNode = graph.add(SimulatorNode)
        self._simulator.trigger_configure()
        self._torque_limit = robot.limits.torque
        self._states = JointStates(robot.joint_names, self._plan.reference.initial_configuration)
        self._configuration = self._plan.reference.impact_configuration.tolist()
        self._names = list(robot.joint_names)

    def close(self) -> None:
        """End the nodes."""
        self._graph.close()

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
        loop._supervision.take(SupervisorStatus(state=SupervisorStatus.WATCHING))
        loop._is_new(ImpactEvent())
        watched.renew()
        self._stamp = source.integer(0, 2**31) * 10**9 if chance(source, 8) else EPOCH

        sample(self._states.made(source, self._stamp) if chance(source, 8) else self._states.good(self._stamp))
        if not chance(source, 4):
            loop.start_task(PreparedTask(self._plan, self._writer, 0))
        others: tuple[Callable[[Source], None], ...] = (
            lambda source: loop._on_event(self._event(source)),
            lambda source: loop._on_classification(self._verdict(source)),
            lambda source: loop._partners._take_event(loop._is_new, self._event(source)),
            lambda source: loop._partners._take_status("other", self._status(source)),
            lambda source: loop._supervision.take(fill(SupervisorStatus(), source)),
            lambda _: loop._on_slow_timer(),
            lambda _: loop._on_diagnostics(),
            lambda _: loop._pipeline.cancel() if loop._pipeline is not None else None,
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
        controller = loop._pipeline.controller if loop._pipeline is not None else None
        return controller is not None and controller.fault is Fault.NONE

    def _to_classifier(self, source: Source) -> bool:
        node = self._classifier
        node._is_new(ImpactEvent())
        renew(node)
        self._stamp = EPOCH
        for _ in range(source.integer(1, 10)):
            kind = source.integer(0, 3)
            if kind == 0:
                self._stamp += choice(source, STEPS) if chance(source, 4) else MILLISECOND
                node._on_state(self._states.made(source, self._stamp))
            elif kind == 1:
                self._stamp += MILLISECOND
                node._on_state(self._states.good(self._stamp))
                node._on_reference(self._reference(source))
            elif kind == 2:
                node._on_reference(self._reference(source))
            else:
                node._on_event(self._event(source))
        node._on_timer()
        return node._start_stamp is not None

    def _to_simulator(self, source: Source) -> bool:
        """Offer commands to the gate of the simulated arm."""
        (side,) = self._simulator._sides.values()
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
            side._commands.sent = source.integer(0, 40)
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
        )
        to_stamp(self._stamp, reference.header.stamp)
        filled: ControllerReference = fill(reference, source)
        serialize_message(filled)
        return filled
