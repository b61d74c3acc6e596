"""Diagnostics and log of nodes with a clock to keep."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from queue import SimpleQueue

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from impact_control.control import QPStatus
from impact_control_ros.bridge import qos, real_time, topics
from impact_control_ros.bridge.lifecycle import Configuration
from impact_control_ros.bridge.rclpy_internals import RcutilsLogger


class Diagnostics:
    """One status of a node on /diagnostics."""

    def __init__(self, configuration: Configuration, part: str) -> None:
        """part: of the node, that the status is of."""
        self._node = configuration.node
        self._part = part
        self._publisher = configuration.publisher(DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS)

    def publish(self, level: bytes, message: str, values: Mapping[str, str]) -> None:
        """Publish a level of DiagnosticStatus, a message, and values by their keys."""
        status = DiagnosticStatus(
            name=f"{self._node.get_fully_qualified_name()}: {self._part}",
            level=level,
            message=message,
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)


@dataclass
class _Counts:
    """Counts of samples since a time [s] of the monotonic clock; times in s."""

    since: float = field(default_factory=time.monotonic)
    samples: int = 0
    over: int = 0
    passed_over: int = 0
    computation: float = 0.0
    longest: float = 0.0
    jitter: float = 0.0
    solutions: list[int] = field(default_factory=lambda: [0] * len(QPStatus))


class LoopDiagnostics:
    """Rate, jitter, deadline misses, age and queue of the input, and QP status of a 1 kHz node.

    Counts a few numbers a sample. Means and largest values, no percentiles: sorting a second of samples would cost the
    loop one of them.
    """

    def __init__(self, configuration: Configuration, period: float) -> None:
        self._diagnostics = Diagnostics(configuration, "loop")
        self._node = configuration.node
        self._period = period
        self._stamp = 0
        self._last = time.monotonic()
        self._counts = _Counts()

    def sample(
        self, stamp: int, duration: float, passed_over: int = 0, qp_status: QPStatus = QPStatus.NOT_USED
    ) -> None:
        """Count a sample with its stamp [ns] and the time it took [s].

        passed_over: samples just before it that a newer one replaced: the queue of joint states holds one.
        qp_status: of a controller.
        """
        now, counts = time.monotonic(), self._counts
        counts.jitter = max(counts.jitter, abs(now - self._last - self._period))
        self._last = now
        self._stamp = stamp
        counts.samples += 1
        counts.computation += duration
        counts.longest = max(counts.longest, duration)
        counts.over += duration > self._period
        counts.passed_over = max(counts.passed_over, passed_over)
        counts.solutions[qp_status] += 1

    def publish(self, missed: int, samples: int, waiting_lines: int = 0) -> None:
        """Publish the counts since the last call. waiting_lines: of the log, which are written beside the loop."""
        counts, self._counts = self._counts, _Counts()
        rate = counts.samples / max(1e-9, time.monotonic() - counts.since)
        age = self._node.get_clock().now().nanoseconds - self._stamp
        lost = missed / max(1, samples + missed)
        values = {
            "rate [Hz]": f"{rate:.1f}",
            "largest jitter [ms]": f"{counts.jitter * 1e3:.3f}",
            "computation mean [us]": f"{counts.computation / max(1, counts.samples) * 1e6:.0f}",
            "computation largest [us]": f"{counts.longest * 1e6:.0f}",
            "deadline misses": str(counts.over),
            "samples missed": str(missed),
            "samples missed in a row": str(counts.passed_over),
            "log lines waiting": str(waiting_lines),
            **{f"QP {status.name.lower()}": str(counts.solutions[status]) for status in QPStatus},
            "age of the last input [ms]": f"{age * 1e-6:.2f}",
        }
        bad = counts.over or counts.solutions[QPStatus.FAILED] or lost > 0.1
        self._diagnostics.publish(
            DiagnosticStatus.WARN if bad else DiagnosticStatus.OK,
            f"{rate:.0f} Hz" if counts.samples else "no samples",
            values if counts.samples else {},
        )


class QueuedLog:
    """Non-blocking log of a node: a thread writes the lines, in order, a little later.

    Writing a line takes most of a millisecond.
    """

    def __init__(self, logger: RcutilsLogger) -> None:
        self._logger = logger
        self._lines: SimpleQueue[tuple[str, str]] = SimpleQueue()
        real_time.run_beside("log", self._write)

    @property
    def waiting(self) -> int:
        """Number of lines not written yet."""
        return self._lines.qsize()

    def info(self, text: str) -> None:
        """Log an event."""
        self._lines.put(("info", text))

    def warning(self, text: str) -> None:
        """Log a condition that should not be."""
        self._lines.put(("warning", text))

    def error(self, text: str) -> None:
        """Log a failure."""
        self._lines.put(("error", text))

    def _write(self) -> None:
        while True:
            severity, text = self._lines.get()
            # rclpy allows one severity for each line of code.
            if severity == "info":
                self._logger.info(text)
            elif severity == "warning":
                self._logger.warning(text)
            else:
                self._logger.error(text)
