"""A supervisor in this process, called by hand: what it takes and tells once it is configured."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

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


OTHERS = {
    "arms": "left,right",
    "robot_side": "ros2_control",
    "command_limit": 0.2,
    "state_limit": 0.2,
    "lag_limit": 0.4,
}


@pytest.mark.parametrize(("name", "value"), OTHERS.items())
def test_what_it_is_built_from_cannot_change_while_it_is_configured(configured, name, value):
    before = configured.get_parameter(name).value
    (answer,) = configured.set_parameters([Parameter(name, value=value)])
    assert not answer.successful
    assert answer.reason.startswith(f"{name}: ") and "clean up" in answer.reason
    assert configured.get_parameter(name).value == before


def test_it_can_change_before_and_after(node):
    for limit in (0.2, 0.1):
        (answer,) = node.set_parameters([Parameter("command_limit", value=limit)])
        assert answer.successful
        assert node.on_configure(None) is TransitionCallbackReturn.SUCCESS
        assert [arm.watch.limits.command_limit for arm in node._arms] == [limit]
        node.on_cleanup(None)


class Switch:
    """A switch that obeys at once."""

    steps = ()

    def __init__(self):
        self.allows = True

    def ask(self, allow):
        self.allows = allow

    @property
    def done(self):
        return not self.allows


def test_one_that_has_stopped_the_robot_stops_that_of_its_next_configuration_too(node, monkeypatch):
    def configure():
        switches = [Switch(), Switch()]
        monkeypatch.setattr("impact_control.nodes.supervisor.robot_switches", lambda *_: switches)
        assert node.on_configure(None) is TransitionCallbackReturn.SUCCESS
        return switches

    monkeypatch.setattr(node, "_state", Supervision.WATCHING)
    monkeypatch.setattr(node, "_allow", True)
    monkeypatch.setattr(node, "_asked", -math.inf)
    configure()
    node._on_stop(Trigger.Request(), Trigger.Response())
    node.look()
    assert node._state is Supervision.STOPPED
    node.on_cleanup(None)
    monkeypatch.setattr(node, "_asked", -math.inf)
    switches = configure()
    node.look()
    assert not any(switch.allows for switch in switches)
    node.look()
    assert node._state is Supervision.STOPPED
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
