"""Starts nodes by forking a process that has loaded what they need, which takes 2 to 4 s of processor time a node.

`python -m impact_control_ros.session.fork_server SOCKET` is that process. It ends when its socket does, and its nodes
with it. That of `multiprocessing` would run the main module of the caller again in every node.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NoReturn

from impact_control.util.errors import ImpactControlError
from impact_control_ros.session.graph import NODE_ENVIRONMENT

LOADED = ("loop", "simulator", "supervisor", "predictor", "recorder")
"""Nodes whose modules the server imports; those of the others come on top in their own process."""

LARGEST_MESSAGE = 200_000
"""[bytes] A request has the arguments and the environment of a node."""

LONGEST_COMMAND = 1000
"""[bytes] of the command line that a node has for `ps`; a longer one is cut."""

END_INTERVAL = 0.005
"""[s] between two looks whether a process has ended."""

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


class ForkedNode:
    """A node that a server has forked, with the methods of `subprocess.Popen` that are needed here."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server = server
        self.pid = pid

    def poll(self) -> int | None:
        """Exit code, below 0 of the signal that ended it; None while it runs."""
        return self._server.exit_code(self.pid)

    def send_signal(self, sig: int) -> None:
        """Send a signal; without effect on one that has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # ended, and the server has not said so yet
                os.kill(self.pid, sig)

    def kill(self) -> None:
        """End it at once; without effect on one that has ended."""
        self.send_signal(signal.SIGKILL)

    def wait(self) -> int:
        """Wait for its end and return the exit code."""
        while (code := self.poll()) is None:
            time.sleep(END_INTERVAL)
        return code


class ForkServerError(ImpactControlError):
    """The process that nodes are forked from has ended."""


class ForkServer:
    """The requesting side of the server, whose process it starts. For any number of sessions and threads."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(other.fileno()), " " * LONGEST_COMMAND],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
                env={**os.environ, **NODE_ENVIRONMENT},
            )
        self._loaded = False
        self._reason = ""
        self._codes: dict[int, int] = {}
        self._lock = threading.Lock()
        atexit.register(self.close)

    def ready(self) -> bool:
        """True once nodes start without delay. Raises ForkServerError where that cannot be, with the reason."""
        with self._lock:
            self._take_answers()
            return self._loaded

    def fork(self, module: str, arguments: Sequence[str], log: IO[bytes], environment: Mapping[str, str]) -> ForkedNode:
        """Return a new process that calls `main()` of a module, with its output in a file.

        Waits until `ready`. Raises ForkServerError.
        """
        request = {"module": module, "arguments": arguments, "directory": os.getcwd(), "environment": {**environment}}
        with self._lock:
            try:
                socket.send_fds(self._socket, [json.dumps(request).encode()], [log.fileno()])
            except ConnectionError:
                self._raise_ended()
            while (pid := self._take_answer()) is None:
                pass
        return ForkedNode(self, pid)

    def exit_code(self, pid: int) -> int | None:
        """Exit code of a forked process; None while it runs."""
        with self._lock:
            with suppress(ForkServerError):
                self._take_answers()
                return self._codes.get(pid)
            # Its nodes end with the server.
            return self._codes.get(pid, -signal.SIGTERM)

    @property
    def lost(self) -> bool:
        """True where its process has ended: after its first answer, or with a reason that a caller was given."""
        return self._process.poll() is not None and (self._loaded or self._reason != "")

    def close(self) -> None:
        """End the server, and with it what it has forked."""
        self._socket.close()
        self._process.terminate()
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def _take_answers(self) -> None:
        while select.select([self._socket], [], [], 0.0)[0]:
            self._take_answer()

    def _take_answer(self) -> int | None:
        """Wait for an answer. Returns the process id where it is that of a start."""
        try:
            message = self._socket.recv(LARGEST_MESSAGE)
        except ConnectionError:
            message = b""
        if not message:
            self._raise_ended()
        answer: dict[str, int] = json.loads(message)
        if "ended" in answer:
            self._codes[answer["ended"]] = answer["code"]
        self._loaded = True
        return answer.get("started")

    def _raise_ended(self) -> NoReturn:
        if not self._reason:
            lines = self._process.communicate()[1].split("\n")
            self._reason = next((line for line in reversed(lines) if line.strip()), "its process was ended")
        raise ForkServerError(f"no node can be started: {self._reason}")


def end_with(parent: int) -> None:
    """Have this process asked to end as soon as its parent, of this process id, has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


_servers: list[ForkServer] = []
"""That of this process, once there is one."""


def server() -> ForkServer:
    """Return the process that nodes are forked from, a new one where there is none or the last has ended.

    Its loading takes seconds, beside what the caller imports.
    """
    if not _servers or _servers[0].lost:
        _servers[:] = [ForkServer()]
    return _servers[0]


def main() -> int:
    """Serve requests until the other end of the socket closes; in a process that was forked: run the node."""
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        _load()
        requests.send(json.dumps({}).encode())
        request = _serve(requests)
    if request is None:
        return 0
    node: int = importlib.import_module(request["module"]).main()
    return node


def _load() -> None:
    """Import the modules of the nodes and load the compiled functions of the loop and of the simulator."""
    for name in LOADED:
        importlib.import_module(f"impact_control_ros.nodes.{name}")
    # Not for the process that asks.
    from impact_control.pipeline import warm_up
    from impact_control.planning.assignment import assigned
    from impact_control.simulation import rehearse

    assignment = assigned("tabletop", "")
    warm_up(assignment.scenario, assignment.robot)
    rehearse(assignment.scene)
    # What is loaded stays out of the sight of each node's garbage collector, which would copy its pages.
    gc.collect()
    gc.freeze()


def _serve(requests: socket.socket) -> dict[str, Any] | None:
    """Fork for each request, report each end. Returns the request in the fork, None once the socket is closed."""
    server, (woken, ended) = os.getpid(), os.pipe()
    for end in (woken, ended):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(ended)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([requests.fileno(), woken], [], [])
        try:
            if woken in ready:
                os.read(woken, 4096)
                _report_ended(requests)
            if requests.fileno() not in ready:
                continue
            message, (log,), *_ = socket.recv_fds(requests, LARGEST_MESSAGE, 1)
        except (OSError, ValueError):  # closed: no answer is taken, no request comes
            return None
        if (pid := os.fork()) == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for end in (woken, ended):
                os.close(end)
            request: dict[str, Any] = json.loads(message)
            _become(request, log, server)
            return request
        os.close(log)
        requests.send(json.dumps({"started": pid}).encode())


def _report_ended(requests: socket.socket) -> None:
    """Report the processes that have ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        requests.send(json.dumps({"ended": pid, "code": os.waitstatus_to_exitcode(status)}).encode())


def _become(request: dict[str, Any], log: int, server: int) -> None:
    """Take over arguments, environment, directory and output of a node, and its names for `ps` and `top`."""
    os.setsid()
    end_with(server)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [request["module"], *request["arguments"]]
    _take_names(request["module"])


def _take_names(module: str) -> None:
    """Have the command line of this process, which is that of the server, name the module and `sys.argv`: for display.

    The system reads it from the memory of the process, between two addresses, the fields 48 and 49 of proc(5).
    """
    ctypes.CDLL(None).prctl(_PR_SET_NAME, module.rpartition(".")[2].encode())
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])
    command = "\0".join([sys.executable, "-m", module, *sys.argv[1:]]).encode()
    ctypes.memmove(begin, command[: end - begin - 1].ljust(end - begin, b"\0"), end - begin)


if __name__ == "__main__":
    sys.exit(main())
