"""A machine that stands still for moments, as a virtual one does: what a test by the wall clock makes of it."""

from __future__ import annotations

import re

from impact_control.nodes.standstill import StandstillWatch

ATTEMPTS = 3
"""How often a task may end because the machine stood still for longer than `control.state_timeout`, 20 ms."""

_STOOD_STILL = re.compile(r"STATE_STALE: \d+\.\d ms between the stamps|SUPERVISOR_STOP: no")


def stood_still(said):
    """Whether a task says that it ended for that reason."""
    return bool(_STOOD_STILL.search(said))


class WatchedMachine(StandstillWatch):
    """A watch that tells of standstills without real-time priority, too.

    Then what else runs on a core counts as well; tests only ever take what it tells for time that nobody had.
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
