"""Core stalls of a machine, as of a virtual one, in tests by the wall clock."""

from __future__ import annotations

import re

from benchmark.standstill import StandstillWatch

ATTEMPTS = 3
"""Attempts at a test by the wall clock, and at a task in it, that may end because a core stalls for 20 ms."""

_STOOD_STILL = re.compile(
    r"STATE_STALE: \d+\.\d ms between the stamps|\d+\.\d ms without a joint state|SUPERVISOR_STOP: no"
)


def stood_still(said):
    """Return True for a task that ended for that reason."""
    return bool(_STOOD_STILL.search(said))


class WatchedMachine(StandstillWatch):
    """A watch that reports stalls without real-time priority, too.

    Then other processes on a core count as well; tests take its reports only as time that was lost to all.
    """

    @property
    def above_all(self):
        return True

    @above_all.setter
    def above_all(self, permitted):
        """Take no notice of what is permitted."""

    def taken(self, begin, end):
        """Return for how long [s] the core with the longest standstills stood still between begin and end [ns]."""
        found = {}
        for first, last, core in self.take():
            found[core] = found.get(core, 0) + max(0, min(last, end) - max(first, begin))
        return 1e-9 * max(found.values(), default=0)
