"""An input of services finds the nodes as the first one did."""

from __future__ import annotations

import pytest
from surfaces.services import Services

from impact_control_ros.bridge.supervision import Supervision

SIMULATOR, SUPERVISOR = 8, 9
PAUSE, REFUSE, ACCEPT = (1, 1), (0, 0), (1, 0)
"""What `_simulate` draws: the value of the switch, and which service it is for."""

STOP, LOOK = (0,), (2,)
"""What `_supervise` draws."""


class Scripted:
    """A source whose choices are told before."""

    def __init__(self, *choices):
        self._choices = iter(choices)

    def integer(self, low, high):
        chosen = next(self._choices)
        assert low <= chosen <= high
        return chosen


@pytest.fixture(scope="module")
def services():
    target = Services()
    yield target
    target.close()


def put_in(target, kind, *requests, state=()):
    """Make one input of a few requests."""
    assert target(Scripted(kind, *state, len(requests), *(choice for one in requests for choice in one)))


def test_the_simulator_runs_and_takes_commands_again(services):
    node = services._simulator
    put_in(services, SIMULATOR, PAUSE, REFUSE)
    assert node.built.paused and all(side.stopped for side in node.built.sides.values())
    put_in(services, SIMULATOR, ACCEPT)
    assert not node.built.paused
    put_in(services, SIMULATOR, REFUSE)
    put_in(services, SIMULATOR, (0, 1))
    assert not any(side.stopped for side in node.built.sides.values())


@pytest.mark.parametrize("state", Supervision)
def test_the_supervisor_remembers_no_stop_of_before(services, state, monkeypatch):
    """The reason that the look of a supervisor leaves, and what it allows, are those of its own input."""
    node, watching = services._supervisor, list(Supervision).index(Supervision.WATCHING)
    left = []
    for _ in range(2):
        put_in(services, SUPERVISOR, LOOK, state=(list(Supervision).index(state),))
        left.append((node._allow, node._finding.cause, node._present is None, node._state))
        put_in(services, SUPERVISOR, STOP, LOOK, state=(watching,))
        assert not node._allow
        monkeypatch.setattr(node, "_present", node._finding)
    assert left[0] == left[1]
    assert left[0][0] is (state not in (Supervision.STOPPING, Supervision.STOPPED))
