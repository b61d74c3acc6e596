"""Real-time measures of a process, of the machine and of Python; each can be left out."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import socket
import struct
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from threading import Thread

from impact_control.util.errors import InvalidInputError

VARIABLE = "IMPACT_CONTROL_REALTIME"
"""Environment variable that selects the measures."""

ALL, LEAVE_MACHINE = "1", "0"
"""Its values for every measure, the default, and for those only that need nothing of the machine."""

LOOP_CORES = slice(-1, None)
ROBOT_CORES = slice(None, -1)
"""Cores for the robot side; the last one is left to the loop, whose caches stay warm there."""

_ALLOWED_CORES = os.sched_getaffinity(0)
"""Those that the process may run on before it keeps to some of them."""

_LOCK_EVERYTHING = 1 | 2 | 4
"""MCL_CURRENT, MCL_FUTURE and MCL_ONFAULT of mlockall: unused pages take no memory."""

LEAST_NICE = -20
"""With it a thread of ordinary priority gets 90 times the share of one that did not ask."""

RECEIVE_BUFFER = 4 * 2**20
"""[bytes] of a socket that has to keep what comes while its process waits for a core or for the disk."""

_IPC_LOCK = 14
"""Number of the capability to lock any amount of memory."""


class Measure(Enum):
    """A measure, by its word in `VARIABLE`."""

    FIFO = "fifo"
    AWAKE = "awake"
    CORES = "cores"
    MEMORY = "memory"
    HEAP = "heap"


def chosen(text: str | None = None) -> frozenset[Measure]:
    """Return the measures that the environment asks for: by `ALL`, `LEAVE_MACHINE`, or their words with commas between.

    text: instead of that of the environment. Raises InvalidInputError for other words.
    """
    text = os.environ.get(VARIABLE, ALL) if text is None else text
    if text == ALL:
        return frozenset(Measure)
    if text == LEAVE_MACHINE:
        return frozenset({Measure.HEAP})
    try:
        return frozenset(map(Measure, text.split(",")))
    except ValueError:
        words = ", ".join(measure.value for measure in Measure)
        allowed = f"{ALL}, {LEAVE_MACHINE}, or words of {words} with commas between"
        raise InvalidInputError(VARIABLE, text, allowed) from None


def ask_for(priority: int, cores: slice) -> None:
    """Take the measures that are chosen, before rclpy makes its threads, which inherit them.

    priority: of SCHED_FIFO. cores: which of those the process may run on it keeps to. Without the priority it keeps to
    none, where it would wait for others, and keeps none awake. A refused measure is reported on standard error. Raises
    what `chosen` raises.
    """
    measures = chosen()
    if Measure.MEMORY in measures:
        lock_memory()
    if Measure.FIFO not in measures or not prefer_real_time(priority):
        return
    if Measure.AWAKE in measures:
        keep_cores_awake()
    if Measure.CORES in measures:
        keep_to_cores(cores)


def prefer_real_time(priority: int) -> bool:
    """Ask for SCHED_FIFO; False where it is not permitted."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        return _refused("no real-time scheduling", error)
    return True


def prefix(priority: int) -> str:
    """Return the words before a command that give its process SCHED_FIFO; empty where it is not chosen or permitted."""
    if Measure.FIFO not in chosen() or not prefer_real_time(priority):
        return ""
    prefer_ordinary()
    return f"chrt --fifo {priority}"


def prefer_ordinary(thread: int = 0) -> None:
    """Give real-time priority back: of a thread by its id, 0: of this one. Raises OSError where the thread is gone."""
    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def run_beside(name: str, work: Callable[..., None], *arguments: object) -> None:
    """Let work be done in a thread of this name, of ordinary priority on any core, but before others of that priority.

    The loop waits with it when it holds the lock of the interpreter and waits for a core. With real-time priority, it
    would leave ordinary processes nothing as long as it computes, and the kernel stops every real-time thread of such
    a core for up to 50 ms a second.
    """
    Thread(target=_run_beside, name=name, args=(work, *arguments), daemon=True).start()


def is_preferred() -> bool:
    """Return whether this thread has real-time priority."""
    return os.sched_getscheduler(0) == os.SCHED_FIFO


def _run_beside(work: Callable[..., None], *arguments: object) -> None:
    if is_preferred():
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, _ALLOWED_CORES)
        prefer_ordinary()
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, LEAST_NICE)
    work(*arguments)


def keep_cores_awake() -> bool:
    """Ask the kernel not to put idle cores to sleep as long as this process lives; return whether it does.

    A message wakes several threads on its way, and leaving a sleep state costs each of them time. The request is
    the kernel's own (PM quality of service, `cpu_dma_latency`): a latency of 0 us, valid while the file is open.

    A virtual machine whose idle driver is haltpoll is not asked: it polls for a while before it halts a core.
    Polling without end, a core of such a machine was seen to stand still for 100 ms at a time.
    """
    if _idle_driver() == "haltpoll":
        return False
    try:
        os.write(os.open("/dev/cpu_dma_latency", os.O_WRONLY | os.O_CLOEXEC), struct.pack("=i", 0))
    except OSError as error:
        return _refused("idle cores may sleep", error)
    return True


def _idle_driver() -> str:
    """Return the name of the kernel's driver of idle states, "" where it names none."""
    try:
        return Path("/sys/devices/system/cpu/cpuidle/current_driver").read_text().strip()
    except OSError:
        return ""


def keep_to_cores(cores: slice) -> bool:
    """Stay on these of the cores that are allowed, if that leaves any; False where it is not permitted."""
    kept = sorted(os.sched_getaffinity(0))[cores]
    try:
        if kept:
            os.sched_setaffinity(0, kept)
    except OSError as error:
        return _refused("no cores of its own", error)
    return True


def keep_to_core_of_arm(place: int) -> None:
    """Give the loop of each arm of a scene a core: move the threads that keep to the cores of this one to its own.

    place: of the arm in the scene; 0 keeps to the last of the cores that the process may run on, 1 to the one before.
    Two loops on one core fill it, and the kernel stops every real-time thread there for up to 50 ms a second.
    """
    kept = os.sched_getaffinity(0)
    if kept == _ALLOWED_CORES:
        return
    own = sorted(_ALLOWED_CORES)[-1 - place % len(_ALLOWED_CORES)]
    for thread in map(int, os.listdir("/proc/self/task")):
        with contextlib.suppress(OSError):  # ended meanwhile
            if os.sched_getaffinity(thread) == kept:
                os.sched_setaffinity(thread, {own})


def lock_memory() -> bool:
    """Keep every page in memory from its first use on; False where it is not permitted.

    It takes a limit of locked memory that is infinite, or CAP_IPC_LOCK: with a finite one memory that is asked for
    later would be refused.
    """
    _, most = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if most == resource.RLIM_INFINITY:
        with contextlib.suppress(OSError):
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (most, most))
    elif not _may_lock_any():
        return _refused("memory is not locked", f"at most {most // 1024} KiB are permitted")
    if ctypes.CDLL(None, use_errno=True).mlockall(_LOCK_EVERYTHING) != 0:
        return _refused("memory is not locked", os.strerror(ctypes.get_errno()))
    return True


def widen_receive_buffers() -> None:
    """Let each datagram socket of this process hold `RECEIVE_BUFFER`, or as much as net.core.rmem_max permits.

    To be called once the middleware has made its sockets: where ROS_AUTOMATIC_DISCOVERY_RANGE is LOCALHOST,
    rmw_fastrtps takes the default of the system whatever its profile says, 0.1 s of a few streams at 1 kHz.
    """
    for descriptor in filter(Path.is_socket, Path("/proc/self/fd").iterdir()):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(descriptor.name))) as one:
            if one.type == socket.SOCK_DGRAM:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)


def still_heap() -> None:
    """Move everything made so far out of the garbage collector's sight and stop its pauses in the loop, if chosen.

    What is made later and refers to itself stays in memory until the next call, or `gc.collect`.
    """
    gc.collect()
    if Measure.HEAP in chosen():
        gc.freeze()
        gc.disable()


def thaw_heap() -> None:
    """Let the next `still_heap` collect what earlier ones kept: after a configuration was closed."""
    gc.unfreeze()


def may(capability: int, status: str) -> bool:
    """Return whether a process has a capability, by its number, according to a text like /proc/self/status."""
    masks = [line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")]
    return bool(masks) and bool(int(masks[0], 16) >> capability & 1)


def _may_lock_any() -> bool:
    return may(_IPC_LOCK, Path("/proc/self/status").read_text())


def _refused(what: str, why: object) -> bool:
    print(f"{what}: {why}; docs/real_time.md says how to permit it", file=sys.stderr)
    return False
