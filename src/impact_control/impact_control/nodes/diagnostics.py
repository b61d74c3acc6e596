"""Rate, jitter, deadline misses and age of the input of a 1 kHz node, on /diagnostics."""

from __future__ import annotations

import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from impact_control.nodes import topics

_WINDOW = 2000


class LoopDiagnostics:
    """Collects one number a sample into rings made at start-up; the text is made when it is published."""

    def __init__(self, node: Node, period: float) -> None:
        self._node = node
        self._period = period
        self._duration = np.zeros(_WINDOW)
        self._interval = np.zeros(_WINDOW)
        self._count = 0
        self._last = 0.0
        self._last_published = 0
        self._last_time = time.monotonic()
        self._stamp = 0
        self.publisher = node.create_publisher(DiagnosticArray, topics.DIAGNOSTICS, 10)

    def sample(self, stamp: int, duration: float) -> None:
        """Note a sample with its stamp [ns] and the time it took [s]."""
        now = time.monotonic()
        slot = self._count % _WINDOW
        self._duration[slot] = duration
        self._interval[slot] = now - self._last
        self._last = now
        self._stamp = stamp
        self._count += 1

    def publish(self, missed: int, samples: int) -> None:
        """Publish what happened since the last call."""
        now = time.monotonic()
        fresh = min(self._count - self._last_published, _WINDOW)
        rate = (self._count - self._last_published) / max(1e-9, now - self._last_time)
        self._last_published = self._count
        self._last_time = now
        wall = self._node.get_clock().now().nanoseconds
        status = DiagnosticStatus(
            name=f"{self._node.get_fully_qualified_name()}: loop",
            level=DiagnosticStatus.OK,
            message="no samples yet",
        )
        if fresh > 0:
            slots = np.arange(self._count - fresh, self._count) % _WINDOW
            jitter = np.abs(self._interval[slots] - self._period)
            over = int(np.count_nonzero(self._duration[slots] > self._period))
            lost = missed / max(1, samples + missed)
            status.level = DiagnosticStatus.WARN if over or lost > 0.1 else DiagnosticStatus.OK
            status.message = f"{rate:.0f} Hz"
            status.values = [
                KeyValue(key="rate [Hz]", value=f"{rate:.1f}"),
                KeyValue(key="jitter 99 % [ms]", value=f"{np.percentile(jitter, 99) * 1e3:.3f}"),
                KeyValue(key="computation median [us]", value=f"{np.median(self._duration[slots]) * 1e6:.0f}"),
                KeyValue(key="computation 99 % [us]", value=f"{np.percentile(self._duration[slots], 99) * 1e6:.0f}"),
                KeyValue(key="deadline misses", value=str(over)),
                KeyValue(key="samples missed", value=str(missed)),
                KeyValue(key="age of the last input [ms]", value=f"{(wall - self._stamp) * 1e-6:.2f}"),
            ]
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self.publisher.publish(array)
