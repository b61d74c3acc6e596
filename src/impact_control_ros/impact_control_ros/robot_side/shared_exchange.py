"""Exchange of samples and commands with a ros2_control hardware through shared memory: the side of the simulator.

The layout and the order of the exchange are those of `impact_sim_hardware/exchange.hpp`. Sample k waits until the
hardware reads it; command k answers it, and only then comes sample k + 1: a late side loses and repeats none.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import re
import struct
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from impact_control.simulation import Measurement
from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control.util.types import Vector

MAX_JOINTS = 16
VERSION = 3
MAGIC = b"IMPSIM"

_SEMAPHORE = 32
"""[byte] of a sem_t of glibc on 64-bit machines, which `exchange.hpp` asserts."""

SEGMENT = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("size", "<u4"),
        ("joints", "<u4"),
        ("closed", "<u4"),
        ("names", "S64", MAX_JOINTS),
        ("sample_ready", "u1", _SEMAPHORE),
        ("command_ready", "u1", _SEMAPHORE),
        (
            "sample",
            [
                ("sequence", "<u8"),
                *((field, "<f8", MAX_JOINTS) for field in ("position", "velocity", "effort")),
            ],
        ),
        (
            "command",
            [
                ("sequence", "<u8"),
                ("commanded", "<u8"),
                ("effort", "<f8", MAX_JOINTS),
            ],
        ),
    ]
)
"""The segment of one arm, field by field as in C++."""

_DIRECTORY = Path("/dev/shm")
_NAME = re.compile(r"/[A-Za-z0-9._-]{1,200}")


_LOCKED = (errno.EAGAIN, errno.EACCES)


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def segment_name(namespace: str, domain: str) -> str:
    """Return the name of the segment for the arm in a namespace of a DDS domain: unique on a machine as these are."""
    return f"/impact_sim_{domain or 0}_{namespace.strip('/').replace('/', '.')}"


def segment_of(name: str, arm: str) -> str:
    """Return the name of the segment for an arm of a scene, "" for the only one, by that of the scene; "" for none."""
    return f"{name}.{arm}" if name and arm else name


def _lock(file: int) -> None:
    """Lock byte 0 of a file as long as it is open. Raises OSError where another has it."""
    # struct flock with its padding. A lock of the open file, not of the process: two in one process exclude each other.
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))


class SharedExchange:
    """The simulator's side of the exchange with the hardware of one arm.

    A segment is recreated at every start, so that a hardware that was attached to one before finds it ended. It is
    locked as long as this object is open: the kernel unlocks what a killed process leaves, and the next start removes
    it.
    """

    def __init__(self, name: str, joints: Sequence[str]) -> None:
        """name: of the segment, as for shm_open; joints: their names, in order.

        Raises InvalidInputError for an invalid name, ImpactControlError where another running simulator uses it.
        """
        if not _NAME.fullmatch(name):
            raise InvalidInputError("shared memory", name, "/ and then 1 to 200 of A-Z a-z 0-9 . _ -")
        self._path = _DIRECTORY / name[1:]
        self._file = self._make(name)
        os.ftruncate(self._file, SEGMENT.itemsize)
        self._memory = mmap.mmap(self._file, SEGMENT.itemsize)
        segment = np.frombuffer(self._memory, SEGMENT)
        self._joints = len(joints)
        self._magic, self._closed = segment["magic"], segment["closed"]
        sample, command = segment["sample"], segment["command"]
        self._sample_number, self._command_number = sample["sequence"], command["sequence"]
        self._position, self._velocity, self._effort = (
            sample[field][0, : self._joints] for field in ("position", "velocity", "effort")
        )
        self._commanded, self._torque = command["commanded"], command["effort"][0]
        self._sent = 0
        self._libc = ctypes.CDLL(None)
        address = segment.ctypes.data
        self._sample_ready, self._command_ready = (
            ctypes.c_void_p(address + SEGMENT.fields[field][1])  # type: ignore[index]
            for field in ("sample_ready", "command_ready")
        )
        for semaphore in (self._sample_ready, self._command_ready):
            self._libc.sem_init(semaphore, 1, 0)
        segment["version"], segment["size"], segment["joints"] = VERSION, SEGMENT.itemsize, self._joints
        segment["names"][0, : self._joints] = [joint.encode() for joint in joints]

    def _make(self, name: str) -> int:
        """Return the locked file of a new segment, in the place of one that a dead simulator left."""
        try:
            if self._path.exists():
                old = os.open(self._path, os.O_RDWR)
                try:
                    _lock(old)
                finally:
                    os.close(old)
                self._path.unlink()
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            _lock(file)
        except OSError as error:
            reason = "is in use by another simulator; allowed: one" if error.errno in _LOCKED else str(error)
            raise ImpactControlError(f"shared memory {name}: {reason}") from error
        return file

    @property
    def begun(self) -> bool:
        """True once there was a sample."""
        return self._sent > 0

    def put(self, sample: Measurement) -> None:
        """Leave the next sample for the hardware, which attaches no sooner than there is one."""
        self._position[:] = sample.position
        self._velocity[:] = sample.velocity
        self._effort[:] = sample.torque
        self._sent += 1
        # Last: it makes the rest valid.
        self._sample_number[0] = self._sent
        self._magic[0] = MAGIC
        self._libc.sem_post(self._sample_ready)

    def await_command(self, timeout: float) -> bool:
        """Wait until the last sample is answered, for at most `timeout` [s]; return whether it is."""
        end = time.monotonic_ns() + round(timeout * 1e9)
        until = _Timespec(*divmod(end, 1_000_000_000))
        while self._command_number[0] != self._sent:
            # A signal ends the wait, too.
            if self._libc.sem_clockwait(self._command_ready, time.CLOCK_MONOTONIC, ctypes.byref(until)) != 0:
                return bool(self._command_number[0] == self._sent)
        return True

    def torque(self) -> Vector | None:
        """Return the commanded torque (n,) [Nm] of the last answer, None where no controller commands."""
        return self._torque[: self._joints].copy() if self._commanded[0] else None

    def close(self) -> None:
        """End the exchange: the hardware learns of it at once."""
        self._closed[0] = 1
        self._libc.sem_post(self._sample_ready)
        self._path.unlink(missing_ok=True)
        os.close(self._file)
