"""Counts of the inputs of a target: accepted, refused, and the time of the slowest."""

from __future__ import annotations

import time

from source import Source
from surfaces import Target


class Counted:
    """A target that counts its inputs; those that are neither accepted nor refused raised something.

    The slowest is the one that took most processor time: the clock goes on while other processes have their turn.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self.inputs = self.accepted = self.refused = 0
        self.slowest = 0.0

    def __call__(self, source: Source) -> bool:
        """Put one in."""
        begin = time.process_time()
        try:
            accepted = self._target(source)
            self.accepted += accepted
            self.refused += not accepted
            return accepted
        finally:
            self.inputs += 1
            self.slowest = max(self.slowest, time.process_time() - begin)

    @property
    def counts(self) -> dict[str, float]:
        """Counts of the inputs for a record."""
        return {name: getattr(self, name) for name in ("inputs", "accepted", "refused", "slowest")}

    def close(self) -> None:
        """Give everything back."""
        self._target.close()
