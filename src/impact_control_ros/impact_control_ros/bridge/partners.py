"""Supervisor and other arms of a scene, as the loop of one arm sees them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from impact_msgs.msg import ControllerStatus, ImpactEvent, SupervisorStatus
from std_msgs.msg import UInt8

from impact_control.control import RUNNING, Fault, Mode
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.lifecycle import Configuration
from impact_control_ros.bridge.messages import FirstOfEvent, nanoseconds
from impact_control_ros.bridge.supervision import Supervision

_AT_WORK = (Mode.IDLE, *RUNNING)
"""Modes of an arm that does not keep the others from their work."""

GUARD_ACTIVE = 1
"""State of an `impact_guard` that follows commands."""


class Partners:
    """Subscriptions to arms in namespaces beside that of a node.

    on_impact(time [ns]) is called when one of them detects an impact, on_stop(cause, time [ns]) with each status of
    one that has stopped.

    Attributes: events, the subscriptions to their impacts by topic.
    """

    def __init__(
        self,
        configuration: Configuration,
        names: Sequence[str],
        now: Callable[[], int],
        on_impact: Callable[[int], None],
        on_stop: Callable[[str, int], None],
    ) -> None:
        """Subscribe to the partners `names`. now: returns the stamp [ns] of the own arm's last sample."""
        self._on_impact = on_impact
        self._on_stop = on_stop
        self._now = now
        self._guarded: dict[str, int] = {}
        beside = configuration.node.get_namespace().rsplit("/", 1)[0]
        self.events: dict[str, Any] = {}
        for name in names:
            events, states, guard = (
                f"{beside}/{topics.of_arm(name, topic)}" for topic in (topics.EVENTS, topics.STATUS, topics.GUARD)
            )
            take_event = partial(self._take_event, FirstOfEvent())
            self.events[events] = configuration.subscription(ImpactEvent, events, take_event, qos.EVENT)
            configuration.subscription(ControllerStatus, states, partial(self._take_status, name), qos.STREAM)
            configuration.subscription(UInt8, guard, partial(self._take_guard, name), qos.LATCHED)

    def inactive(self, longest: int) -> str:
        """Return whose guard has followed no command for longer than `longest` [ns], in words; "" if each follows them.

        Shorter times are gaps that every loop tolerates. Arms without a guard are never named.
        """
        now = self._now()
        # Backwards: late samples, or a clock that was set back.
        names = [name for name, since in self._guarded.items() if abs(now - since) > longest]
        return f"the guard of {' and '.join(names)} follows no commands" if names else ""

    def _take_event(self, is_new: FirstOfEvent, event: ImpactEvent) -> None:
        if is_new(event):
            self._on_impact(nanoseconds(event.impact_time))

    def _take_guard(self, name: str, state: UInt8) -> None:
        if state.data == GUARD_ACTIVE:
            self._guarded.pop(name, None)
        else:
            self._guarded.setdefault(name, self._now())

    def _take_status(self, name: str, status: ControllerStatus) -> None:
        # Also a mode that is unknown here: of a partner that may have stopped.
        if status.mode not in _AT_WORK:
            self._on_stop(f"{name} stopped", nanoseconds(status.header.stamp))


class Supervised:
    """State of the supervisor by its status, and the fault that follows.

    The status of a supervisor that does not watch is a sign of life as long as no task runs: while the clock of a
    simulator stands still it must not watch, and tasks are armed then.

    Attributes: patience: seconds between two signs of life, at most; 0: there need not be a supervisor. reason: of the
    last fault returned. released: True when a supervisor that had stopped the robot has let it go since and watches it,
    which it does only when its user resets it.
    """

    def __init__(self, task_runs: Callable[[], bool]) -> None:
        """task_runs: returns True while a task is under way that was not only armed."""
        self.patience = 0.0
        self.reason = ""
        self.released = False
        self._task_runs = task_runs
        self._heard = time.monotonic()
        self._lack = "no sign of life"
        self._stop = ""

    def take(self, status: SupervisorStatus) -> None:
        """Take a status."""
        watches = status.state != Supervision.INACTIVE
        self._lack = "no sign of life" if watches else "supervisor inactive"
        if watches or not self._task_runs():
            self._heard = time.monotonic()
        self.released = status.state == Supervision.WATCHING and (bool(self._stop) or self.released)
        stopped = status.state in (Supervision.STOPPING, Supervision.STOPPED)
        self._stop = status.reason if stopped else ""

    def fault(self) -> Fault:
        """Return the present fault, NONE without one."""
        silent = time.monotonic() - self._heard
        if self._stop:
            self.reason = self._stop
            return Fault.SUPERVISOR_STOP
        if 0.0 < self.patience < silent:
            self.reason = f"{self._lack} for {silent:.2f} s (limit {self.patience:g} s)"
            return Fault.SUPERVISOR_LOST
        return Fault.NONE
