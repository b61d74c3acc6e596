"""What a controller knows of its supervisor: whether it is there, and whether it has stopped the robot side."""

from __future__ import annotations

import time

from impact_msgs.msg import SupervisorStatus

from impact_control.control import Fault
from impact_control.supervision import Supervision


class Supervised:
    """Takes the supervisor's status; says which fault follows from it, and why.

    Attributes: reason, of the last fault told.
    """

    def __init__(self) -> None:
        self._patience = 0.0
        self._heard = time.monotonic()
        self._stop = ""
        self.reason = ""

    def start(self, patience: float) -> None:
        """Expect a sign of life at least every `patience` seconds from now on; 0: there need not be a supervisor."""
        self._patience = patience
        self._heard = time.monotonic()

    def take(self, status: SupervisorStatus) -> None:
        """Note a status."""
        self._heard = time.monotonic()
        stopped = status.state in (Supervision.STOPPING, Supervision.STOPPED)
        self._stop = status.reason if stopped else ""

    def fault(self) -> Fault:
        """Return the fault that is there now, NONE if there is none."""
        silent = time.monotonic() - self._heard
        if self._stop:
            self.reason = self._stop
            return Fault.SUPERVISOR_STOP
        if 0.0 < self._patience < silent:
            self.reason = f"no sign of life for {silent:.2f} s (limit {self._patience:g} s)"
            return Fault.SUPERVISOR_LOST
        return Fault.NONE
