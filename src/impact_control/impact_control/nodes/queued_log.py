"""Lines of the loop on their way to the log: a thread of its own writes them, each takes it most of a millisecond."""

from __future__ import annotations

from queue import SimpleQueue

from rclpy.impl.rcutils_logger import RcutilsLogger

from impact_control.nodes import real_time


class QueuedLog:
    """The log of a node for who must not wait: lines keep their order, and come a little later."""

    def __init__(self, logger: RcutilsLogger) -> None:
        self._logger = logger
        self._lines: SimpleQueue[tuple[str, str]] = SimpleQueue()
        real_time.run_beside("log", self._write)

    @property
    def waiting(self) -> int:
        """How many lines are not written yet."""
        return self._lines.qsize()

    def info(self, text: str) -> None:
        """Tell what happened."""
        self._lines.put(("info", text))

    def warning(self, text: str) -> None:
        """Tell what should not be so."""
        self._lines.put(("warning", text))

    def error(self, text: str) -> None:
        """Tell what went wrong."""
        self._lines.put(("error", text))

    def _write(self) -> None:
        while True:
            severity, text = self._lines.get()
            # rclpy wants a place in the code to have one severity only.
            if severity == "info":
                self._logger.info(text)
            elif severity == "warning":
                self._logger.warning(text)
            else:
                self._logger.error(text)
