"""Child processes of the graph: started with the environment they need, watched, ended in order."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from impact_control.graph import NODE_ENVIRONMENT, NodeSpec
from impact_control.nodes.environment import dds_environment
from impact_control.nodes.real_time import VARIABLE

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Death:
    """A process that ended without being asked to."""

    name: str
    code: int

    def __str__(self) -> str:
        """Say who died and of what."""
        if self.code < 0:
            return f"node {self.name!r} was killed by {signal.Signals(-self.code).name}"
        return f"node {self.name!r} ended by itself with exit code {self.code}"


class Processes:
    """The processes of a graph, by `NodeSpec.path`. Their output goes to one log file each in `log_directory`.

    measures: of real time, see `real_time.VARIABLE`; None: as the environment says.
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
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, spec: NodeSpec) -> None:
        """Start a node. It ends with this process, however this process ends."""
        arguments = ["--ros-args", "--enclave", spec.enclave(self._namespace), "-r", f"__node:={spec.name}"]
        if namespace := "/".join(part for part in (self._namespace.strip("/"), spec.namespace) if part):
            arguments += ["-r", f"__ns:=/{namespace}"]
        for key, value in spec.parameters.items():
            arguments += ["-p", f"{key}:={_parameter_text(value)}"]
        self.log_directory.mkdir(parents=True, exist_ok=True)
        with self.log_file(spec.path).open("ab") as log:
            self._children[spec.path] = subprocess.Popen(
                [*_program(spec.executable), *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, **self._environment},
                preexec_fn=_die_with_parent,
            )

    def own_memory(self) -> dict[str, float]:
        """Return the own memory [MB] of every node whose process is alive."""
        return {name: own_memory(child.pid) for name, child in self._children.items() if child.poll() is None}

    def log_file(self, name: str) -> Path:
        """Where the output of a node goes."""
        return self.log_directory / f"{name.replace('/', '_')}.log"

    def last_words(self, name: str) -> str:
        """The last error line a node wrote, and where the rest is, as the end of a sentence.

        What has not come as far as its logger says its last word without marking it as an error.
        """
        file = self.log_file(name)
        lines = file.read_text(errors="replace").splitlines() if file.exists() else []
        logged = any(line.startswith("[") for line in lines)
        errors = [line for line in lines if not logged or "[ERROR]" in line or "Error:" in line]
        said = f": {errors[-1].split(']: ')[-1]}" if errors else ""
        return f"{said} (log: {file})"

    def pid(self, name: str) -> int:
        """Process id of a node."""
        return self._children[name].pid

    def running(self, name: str) -> bool:
        """Whether a node's process is alive."""
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

    def stop(self, names: Iterable[str], patience: float = 3.0) -> None:
        """Ask nodes to end, together; kill what has not ended after `patience` [s]."""
        chosen = [self._children.pop(name) for name in list(names) if name in self._children]
        for child in chosen:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + patience
        for child in chosen:
            try:
                child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def stop_all(self, patience: float = 3.0) -> None:
        """End everything that still runs; kill what has not ended after `patience` [s]."""
        self.stop(list(self._children), patience)


def _program(executable: str) -> list[str]:
    if Path(executable).is_absolute():
        return [executable]
    return [sys.executable, "-m", f"impact_control.nodes.{executable}"]


def own_memory(pid: int) -> float:
    """Return the own memory [MB] of a process: RssAnon, as the kernel names it.

    Without what is mapped from files: the kernel drops such pages and reads them again as it likes.
    """
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("RssAnon:"))
    return int(kilobytes) * 1024 / 1e6


def _parameter_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_parameter_text(item) for item in value)}]"
    return repr(value)


def _die_with_parent() -> None:
    # Linux only; elsewhere the node outlives a killed parent until it is stopped by hand.
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)
