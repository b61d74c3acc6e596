"""Rate, jitter, deadline misses, age and queue of the input, and QP status of a 1 kHz node, on /diagnostics."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from impact_control.control import QPStatus
from impact_control.nodes import qos, topics


class LoopDiagnostics:
    """Counts a few numbers a sample and publishes them once in a while.

    Means and largest values, no percentiles: sorting a second of samples would cost the loop one of them.
    """

    def __init__(self, node: Node, period: float) -> None:
        self._node = node
        self._period = period
        self._stamp = 0
        self._last = time.monotonic()
        self._clear()
        self.publisher = node.create_publisher(DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS)

    def _clear(self) -> None:
        self._since = time.monotonic()
        self._count = 0
        self._over = 0
        self._computation = 0.0
        self._longest = 0.0
        self._jitter = 0.0
        self._passed_over = 0
        self._solutions = [0] * len(QPStatus)

    def sample(
        self, stamp: int, duration: float, passed_over: int = 0, qp_status: QPStatus = QPStatus.NOT_USED
    ) -> None:
        """Note a sample with its stamp [ns] and the time it took [s].

        passed_over: samples just before it that a newer one took the place of: the queue of joint states holds one.
        qp_status: of a controller.
        """
        now = time.monotonic()
        self._jitter = max(self._jitter, abs(now - self._last - self._period))
        self._last = now
        self._stamp = stamp
        self._count += 1
        self._computation += duration
        self._longest = max(self._longest, duration)
        self._over += duration > self._period
        self._passed_over = max(self._passed_over, passed_over)
        self._solutions[qp_status] += 1

    def publish(self, missed: int, samples: int, waiting_lines: int = 0) -> None:
        """Publish what happened since the last call. waiting_lines: of the log, which are written beside the loop."""
        rate = self._count / max(1e-9, time.monotonic() - self._since)
        wall = self._node.get_clock().now().nanoseconds
        lost = missed / max(1, samples + missed)
        unsolved = self._solutions[QPStatus.FAILED]
        status = DiagnosticStatus(
            name=f"{self._node.get_fully_qualified_name()}: loop",
            level=DiagnosticStatus.WARN if self._over or unsolved or lost > 0.1 else DiagnosticStatus.OK,
            message=f"{rate:.0f} Hz" if self._count else "no samples",
        )
        if self._count:
            status.values = [
                KeyValue(key="rate [Hz]", value=f"{rate:.1f}"),
                KeyValue(key="largest jitter [ms]", value=f"{self._jitter * 1e3:.3f}"),
                KeyValue(key="computation mean [us]", value=f"{self._computation / self._count * 1e6:.0f}"),
                KeyValue(key="computation largest [us]", value=f"{self._longest * 1e6:.0f}"),
                KeyValue(key="deadline misses", value=str(self._over)),
                KeyValue(key="samples missed", value=str(missed)),
                KeyValue(key="samples missed in a row", value=str(self._passed_over)),
                KeyValue(key="log lines waiting", value=str(waiting_lines)),
                *(KeyValue(key=f"QP {how.name.lower()}", value=str(self._solutions[how])) for how in QPStatus),
                KeyValue(key="age of the last input [ms]", value=f"{(wall - self._stamp) * 1e-6:.2f}"),
            ]
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self.publisher.publish(array)
        self._clear()
