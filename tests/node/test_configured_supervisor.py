"""A supervisor in this process, called by hand: what it takes and tells once it is configured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rclpy.lifecycle import TransitionCallbackReturn

from impact_control.nodes.supervisor import SupervisorNode
from impact_control.supervision import Supervision

sys.path.append(str(Path(__file__).resolve().parents[1] / "fuzz"))

from surfaces.graph import Graph


@pytest.fixture(scope="module")
def node():
    graph = Graph()
    yield graph.add(SupervisorNode)
    graph.close()


@pytest.fixture
def configured(node):
    assert node.on_configure(None) is TransitionCallbackReturn.SUCCESS
    yield node
    node.on_cleanup(None)


class Listener:
    """Hears what is published, instead of DDS."""

    def __init__(self):
        self.states = []

    def publish(self, status):
        self.states.append(status.state)


def test_it_tells_at_once_that_it_watches_or_does_not(configured, monkeypatch):
    listener = Listener()
    monkeypatch.setattr(configured, "_statuses", [*configured._statuses, listener])
    monkeypatch.setattr("impact_control.nodes.supervisor.WatchedArm.await_signs", lambda arm, end: "")
    configured.on_activate(None)
    configured.on_deactivate(None)
    assert listener.states == [Supervision.WATCHING, Supervision.INACTIVE]
