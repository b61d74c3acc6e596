"""Does what a drawn fault says to a running graph, and undoes what can be undone."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from threading import Timer

from endurance.faults import NODES, Fault
from impact_control_ros.bridge.task_messages import Progress
from impact_control_ros.session.session import Session

SIMULATOR = "simulator"


class Injection:
    """A fault that happens once, when its time in the task has come; a process is stopped for as long as it says."""

    def __init__(self, session: Session, fault: Fault) -> None:
        self._session = session
        self._fault = fault
        self._timer: Timer | None = None
        self._pid = 0
        self.begun = False

    def look(self, progress: Progress) -> None:
        """Begin the fault when it is time."""
        if not self.begun and progress.task_time >= self._fault.at:
            self.begun = True
            self._begin()

    def _begin(self) -> None:
        # Kept: a session that has given up knows its processes no more.
        self._pid = self._session.processes.pid(self._process)
        match self._fault.kind.name:
            case "kill":
                self._signal(signal.SIGKILL)
            case "stop":
                self._signal(signal.SIGSTOP)
                self._timer = Timer(self._fault.size, self._signal, [signal.SIGCONT])
                self._timer.start()
            case "disk full":
                self._limit_file(int(self._fault.size))
            case _:
                self._session.set_parameters(SIMULATOR, disturb=self._fault.disturbance)

    def end(self) -> None:
        """Let a stopped process go on, make room on the disk, mend the lines; what is dead stays so.

        Raises ImpactControlError where the robot side does not say that its lines are mended.
        """
        self.let_go()
        if not self.begun:
            return
        match self._fault.kind.name:
            case "kill" | "stop":
                pass
            case "disk full":
                self._limit_file(resource.RLIM_INFINITY)
            case _:
                self._session.set_parameters(SIMULATOR, disturb="")

    def let_go(self) -> None:
        """Let a stopped process go on, whatever has become of the session. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._signal(signal.SIGCONT)

    @property
    def _process(self) -> str:
        """The node that it happens to: the simulator is behind the lines."""
        target = self._fault.target
        return target if target in NODES else SIMULATOR

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, number)

    def _limit_file(self, size: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(self._pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
