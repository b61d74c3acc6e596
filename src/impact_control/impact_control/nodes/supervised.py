"""What a controller knows of its supervisor: whether it is there, and whether it has stopped the robot side."""

from __future__ import annotations

import time
from collections.abc import Callable

from impact_msgs.msg import SupervisorStatus

from impact_control.control import Fault
from impact_control.supervision import Supervision


class Supervised:
    """Takes the supervisor's status; says which fault follows from it, and why.

    That of a supervisor which does not watch is a sign of life as long as no task runs: while the clock of a simulator
    stands still it must not watch, and tasks are armed then.

    Attributes: patience: seconds between two signs of life, at most; 0: there need not be a supervisor. reason: of the
    last fault told. released: whether a supervisor that had stopped the robot has let it go since and watches it, which
    it does only when its user resets it.
    """

    def __init__(self, task_runs: Callable[[], bool]) -> None:
        """task_runs: says whether a task is under way that was not only armed."""
        self.patience = 0.0
        self.reason = ""
        self.released = False
        self._task_runs = task_runs
        self._heard = time.monotonic()
        self._lack = "no sign of life"
        self._stop = ""

    def take(self, status: SupervisorStatus) -> None:
        """Note a status."""
        watches = status.state != Supervision.INACTIVE
        self._lack = "no sign of life" if watches else "nobody watches the task"
        if watches or not self._task_runs():
            self._heard = time.monotonic()
        self.released = status.state == Supervision.WATCHING and (bool(self._stop) or self.released)
        stopped = status.state in (Supervision.STOPPING, Supervision.STOPPED)
        self._stop = status.reason if stopped else ""

    def fault(self) -> Fault:
        """Return the fault that is there now, NONE if there is none."""
        silent = time.monotonic() - self._heard
        if self._stop:
            self.reason = self._stop
            return Fault.SUPERVISOR_STOP
        if 0.0 < self.patience < silent:
            self.reason = f"{self._lack} for {silent:.2f} s (limit {self.patience:g} s)"
            return Fault.SUPERVISOR_LOST
        return Fault.NONE
