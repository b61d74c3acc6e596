"""Lines of the loop that a thread of its own writes."""

from __future__ import annotations

import threading
import time

from impact_control_ros.bridge.diagnostics import QueuedLog


class Logger:
    """A logger that takes its time, and remembers."""

    def __init__(self):
        self.lines = []
        self.done = threading.Event()

    def note(self, severity, text):
        time.sleep(0.02)
        self.lines.append((severity, text, threading.current_thread().name))
        if len(self.lines) == 3:
            self.done.set()

    def info(self, text):
        self.note("info", text)

    def warning(self, text):
        self.note("warning", text)

    def error(self, text):
        self.note("error", text)


def test_lines_keep_severity_and_order_and_nobody_waits():
    logger = Logger()
    log = QueuedLog(logger)
    start = time.monotonic()
    log.info("mode IDLE -> ANTE")
    log.error("fault")
    log.warning("stopped")
    assert time.monotonic() - start < 0.02
    assert logger.done.wait(5.0)
    expected = [("info", "mode IDLE -> ANTE", "log"), ("error", "fault", "log"), ("warning", "stopped", "log")]
    assert logger.lines == expected
