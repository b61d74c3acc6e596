"""Does what a drawn fault says to a running graph, and undoes what can be undone."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time

from impact_control.endurance import Fault
from impact_control.nodes.session import Session
from impact_control.nodes.task_messages import Progress


class Injection:
    """A fault that happens once, when its time in the task has come."""

    def __init__(self, session: Session, fault: Fault) -> None:
        self._session = session
        self._fault = fault
        self._begun = self._ended = False
        self._end = 0.0

    @property
    def begun(self) -> bool:
        """Whether it has happened."""
        return self._begun

    def look(self, progress: Progress) -> None:
        """Begin and end the fault when it is time."""
        if not self._begun and progress.task_time >= self._fault.at:
            self._begun = True
            self._end = time.monotonic() + self._fault.size
            self._begin()
        elif self._begun and time.monotonic() >= self._end:
            self.end()

    def _begin(self) -> None:
        match self._fault.kind.name:
            case "kill":
                self._signal(signal.SIGKILL)
            case "stop":
                self._signal(signal.SIGSTOP)
            case "disk full":
                self._limit_file(int(self._fault.size))
            case _:
                self._session.set_parameters("simulator", disturb=self._fault.disturbance)

    def end(self) -> None:
        """Let a stopped process go on, make room on the disk again; what is dead stays so. Idempotent."""
        if self._ended or not self._begun:
            return
        self._ended = True
        match self._fault.kind.name:
            case "stop":
                self._signal(signal.SIGCONT)
            case "disk full":
                self._limit_file(resource.RLIM_INFINITY)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._session.processes.pid(self._fault.target), number)

    def _limit_file(self, size: int) -> None:
        pid = self._session.processes.pid(self._fault.target)
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
