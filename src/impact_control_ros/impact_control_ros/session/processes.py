"""Child processes of the graph: their environment, start, watch and end, and the errors of a graph."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from impact_control.util.errors import ImpactControlError
from impact_control.util.share import shared_directory
from impact_control_ros.bridge.real_time import VARIABLE
from impact_control_ros.bridge.supervision import Cause
from impact_control_ros.session.fork_server import END_INTERVAL, ForkedNode, end_with, server
from impact_control_ros.session.graph import NODE_ENVIRONMENT, NodeSpec, below

DISCOVERY_RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
LOCALHOST = "LOCALHOST"
"""Its default: nodes of this machine only."""


@dataclass(frozen=True)
class Death:
    """A process that ended without being asked to."""

    name: str
    code: int

    def __str__(self) -> str:
        """Return node and cause."""
        if self.code < 0:
            return f"node {self.name!r} was killed by {signal.Signals(-self.code).name}"
        return f"node {self.name!r} ended by itself with exit code {self.code}"


class GraphError(ImpactControlError):
    """The graph could not be started, or a node of it died or did not answer."""


class NodeDiedError(GraphError):
    """A node ended without being asked to. `death` holds node and cause."""

    def __init__(self, death: Death, log: str) -> None:
        super().__init__(f"{death}; all others were stopped{log}")
        self.death = death


class RobotStoppedError(GraphError):
    """The supervisor keeps commands from the robot. See `cause` and `reason`."""

    def __init__(self, cause: Cause, reason: str) -> None:
        super().__init__(f"the supervisor stopped the robot: {reason}; all nodes were stopped")
        self.cause = cause
        self.reason = reason


class RecordingCutOffError(GraphError):
    """A recording ended early, on a full disk for example. Its bag is readable up to there."""


class Processes:
    """The processes of a graph, by `NodeSpec.path`. Their output goes to one log file each in `log_directory`.

    measures: of real time, see `real_time.VARIABLE`; None: those of the environment.
    """

    def __init__(self, log_directory: Path, namespace: str = "", *, measures: str | None = None) -> None:
        self.log_directory = log_directory
        self._environment = {
            **NODE_ENVIRONMENT,
            **dds_environment(),
            # An error has to be in the log before the answer that follows it.
            "RCUTILS_LOGGING_BUFFERED_STREAM": "0",
            **({} if measures is None else {VARIABLE: measures}),
        }
        self._namespace = namespace
        self._children: dict[str, subprocess.Popen[bytes] | ForkedNode] = {}

    def start(self, spec: NodeSpec) -> None:
        """Start a node. It ends with this process, however this process ends."""
        arguments = ["--ros-args", "--enclave", spec.enclave(self._namespace), "-r", f"__node:={spec.name}"]
        if namespace := below(self._namespace, spec.namespace):
            arguments += ["-r", f"__ns:=/{namespace}"]
        for key, value in spec.parameters.items():
            # JSON is YAML, as which ROS reads it, whatever is in a string.
            arguments += ["-p", f"{key}:={json.dumps(value, ensure_ascii=False)}"]
        self.log_directory.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, **self._environment}
        with self.log_file(spec.path).open("ab") as log:
            if Path(spec.executable).is_absolute():
                self._children[spec.path] = subprocess.Popen(
                    [spec.executable, *arguments],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                    env=environment,
                    preexec_fn=partial(end_with, os.getpid()),
                )
                return
            self._children[spec.path] = server().fork(_module(spec.executable), arguments, log, environment)

    def pids(self) -> dict[str, int]:
        """Return the process ids of the nodes that are alive, by name."""
        return {name: child.pid for name, child in self._children.items() if child.poll() is None}

    def log_file(self, name: str) -> Path:
        """Return the file with the output of a node."""
        return self.log_directory / f"{name.replace('/', '_')}.log"

    def last_words(self, name: str) -> str:
        """Return the last error line of a node and the path of its log, as the end of a sentence.

        A process that ended before it had a logger did not mark its error as such.
        """
        file = self.log_file(name)
        lines = file.read_text(errors="replace").splitlines() if file.exists() else []
        logged = any(line.startswith("[") for line in lines)
        errors = [line for line in lines if not logged or "[ERROR]" in line or "Error:" in line]
        last = f": {errors[-1].split(']: ')[-1]}" if errors else ""
        return f"{last} (log: {file})"

    def pid(self, name: str) -> int:
        """Process id of a node."""
        return self._children[name].pid

    def running(self, name: str) -> bool:
        """True while the process of a node is alive."""
        child = self._children.get(name)
        return child is not None and child.poll() is None

    def first_death(self) -> Death | None:
        """The first process found dead, or None."""
        for name, child in self._children.items():
            code = child.poll()
            if code is not None:
                return Death(name, code)
        return None

    def request_stop(self, names: Iterable[str]) -> None:
        """Ask nodes to end, without waiting for it."""
        for name in names:
            if self.running(name):
                self._children[name].send_signal(signal.SIGTERM)

    def stop(self, names: Iterable[str], patience: float = 3.0, complete: Callable[[], bool] = lambda: False) -> None:
        """Ask nodes to end, together; kill the remaining ones after `patience` [s], or once `complete` returns True."""
        chosen = [self._children.pop(name) for name in list(names) if name in self._children]
        for child in chosen:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + patience
        while any(child.poll() is None for child in chosen) and time.monotonic() < deadline and not complete():
            time.sleep(END_INTERVAL)
        for child in chosen:
            child.kill()  # without effect on one that has ended
        for child in chosen:
            child.wait()

    def stop_all(self, patience: float = 3.0) -> None:
        """End everything that still runs; kill the remaining ones after `patience` [s]."""
        self.stop(list(self._children), patience)


def dds_environment() -> dict[str, str]:
    """Return variables with which Fast DDS does without shared memory, whose locks a process may stand still in.

    For the discovery range that is set, `LOCALHOST` if none is. What the user has set stays.
    """
    if os.environ.get(DISCOVERY_RANGE, LOCALHOST) == LOCALHOST:
        profiles = shared_directory("impact_control_ros", "config/dds") / "localhost.xml"
        name, value = "FASTRTPS_DEFAULT_PROFILES_FILE", str(profiles)
    else:
        name, value = "FASTDDS_BUILTIN_TRANSPORTS", "UDPv4"
    return {name: os.environ.get(name, value)}


def isolate(log_directory: Path) -> None:
    """Set, where the user has not, a domain of our own, localhost only, and where ROS logs go.

    To be called before rclpy is initialised; child processes inherit it.
    """
    os.environ.setdefault("ROS_DOMAIN_ID", str(random.SystemRandom().randrange(1, 101)))
    os.environ.setdefault(DISCOVERY_RANGE, LOCALHOST)
    os.environ.update(dds_environment())
    os.environ.setdefault("ROS_LOG_DIR", str(log_directory))
    os.environ.setdefault("RCUTILS_LOGGING_USE_STDOUT", "0")
    os.environ.setdefault("RCUTILS_LOGGING_BUFFERED_STREAM", "0")
    os.environ.setdefault("RCUTILS_COLORIZED_OUTPUT", "0")


def _module(executable: str) -> str:
    return executable if "." in executable else f"impact_control_ros.nodes.{executable}"
