"""A supervisor in this process, called by hand: what it takes and tells once it is configured."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from impact_msgs.msg import ControllerStatus
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from harness import SignsOfLife, joint_state, until
from impact_control_ros.bridge import topics
from impact_control_ros.bridge.messages import to_stamp
from impact_control_ros.bridge.supervision import Cause, Supervision, SupervisionLimits
from impact_control_ros.nodes.simulator import SimulatorNode
from impact_control_ros.nodes.supervisor import SupervisorNode, WatchedArm


@pytest.fixture(scope="module")
def node(graph):
    return graph.add(SupervisorNode)


@pytest.fixture
def configured(node):
    assert node.on_configure(None) is TransitionCallbackReturn.SUCCESS
    yield node
    node.on_cleanup(None)


OTHERS = {
    "arms": ["left", "right"],
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
        assert [arm.watch.limits.command_limit for arm in node.built.arms] == [limit]
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


@pytest.fixture
def configure(node, monkeypatch):
    """Configures a supervisor in a state, which has not asked yet, with two switches, which are returned."""

    def configure(state=None):
        switches = [Switch(), Switch()]
        monkeypatch.setattr("impact_control_ros.nodes.supervisor.robot_switches", lambda *_: switches)
        monkeypatch.setattr(node, "_asked", -math.inf)
        if state is not None:
            monkeypatch.setattr(node, "_state", state)
            monkeypatch.setattr(node, "_allow", True)
        assert node.on_configure(None) is TransitionCallbackReturn.SUCCESS
        return switches

    return configure


def test_one_that_has_stopped_the_robot_stops_that_of_its_next_configuration_too(node, configure):
    configure(Supervision.WATCHING)
    node.on_stop(Trigger.Request(), Trigger.Response())
    node.look()
    assert node._state is Supervision.STOPPED
    node.on_cleanup(None)
    switches = configure()
    node.look()
    assert not any(switch.allows for switch in switches)
    node.look()
    assert node._state is Supervision.STOPPED
    node.on_cleanup(None)


def test_the_robot_is_stopped_when_every_arm_has_obeyed(node, configure):
    switches = configure(Supervision.WATCHING)
    switches[1].ask = lambda allow: None
    node.on_stop(Trigger.Request(), Trigger.Response())
    node.look()
    assert node._state is Supervision.STOPPING
    switches[1].allows = False
    node.look()
    assert node._state is Supervision.STOPPED
    node.on_cleanup(None)


@pytest.fixture(scope="module")
def arms(graph):
    def of(name):
        return SignsOfLife(graph.add(lambda: rclpy.create_node(f"arm_{name}", namespace=f"/supervisor/{name}")))

    return {name: of(name) for name in ("left", "right")}


@pytest.mark.parametrize(("alive", "silent"), [("left", "right"), ("right", "left")])
def test_each_arm_of_a_scene_is_watched_on_its_own_topics(node, configure, arms, alive, silent, monkeypatch):
    for name, value in (("arms", ["left", "right"]), ("state_limit", 0.3), ("command_limit", 0.6), ("lag_limit", 0.9)):
        node.set_parameters([Parameter(name, value=value)])
    configure(Supervision.INACTIVE)
    monkeypatch.setattr("impact_control_ros.nodes.supervisor.WatchedArm.missing", lambda arm: [])

    def let_live(names, condition):
        def live():
            for name in names:
                arms[name].send()
            time.sleep(0.004)
            node.look()

        until(condition, "what is waited for", 10.0, live)

    for arm in node.built.arms:  # that both are heard of
        let_live(arms, lambda arm=arm: arm._states.publishers and arm._commands.publishers and arm._answers.publishers)
    node.on_activate(None)
    begun = time.monotonic()
    let_live(arms, lambda: time.monotonic() - begun > 0.5)
    assert node._state is Supervision.WATCHING
    let_live([alive], lambda: node._state is not Supervision.WATCHING)
    assert node._finding.cause is Cause.ROBOT_SILENT
    assert node._finding.reason.startswith(f"{silent}: no joint state for")
    node.on_deactivate(None)
    node.on_cleanup(None)
    node.set_parameters([Parameter("arms", value=[""])])


def test_a_stop_is_for_every_arm_of_the_simulator(graph, monkeypatch):
    simulator = graph.add(SimulatorNode)
    sides = [SimpleNamespace(name=name, stopped=False) for name in ("left", "right")]
    assert simulator.on_configure(None) is TransitionCallbackReturn.SUCCESS
    monkeypatch.setattr(simulator.built, "sides_on_topics", sides)
    for taken in (False, True):
        assert simulator.built._on_accept(SetBool.Request(data=taken), SetBool.Response()).success
        assert [side.stopped for side in sides] == [not taken, not taken]


def test_a_reset_of_the_simulator_does_not_end_a_stop(graph):
    simulator = graph.add(SimulatorNode)
    assert simulator.on_configure(None) is TransitionCallbackReturn.SUCCESS
    for taken in (False, True):
        assert simulator.built._on_accept(SetBool.Request(data=taken), SetBool.Response()).success
        before = simulator.built.sides
        assert simulator.built._on_reset(Trigger.Request(), Trigger.Response()).success
        after = simulator.built.sides
        assert after.keys() == before.keys() and all(after[name] is not before[name] for name in after)
        assert [side.stopped for side in after.values()] == [not taken]


def test_diagnostics_say_that_the_robot_is_stopped(configured, monkeypatch):
    told = []
    monkeypatch.setattr(configured.built.diagnostics, "_publisher", SimpleNamespace(publish=told.append))
    levels = {
        Supervision.INACTIVE: DiagnosticStatus.OK,
        Supervision.WATCHING: DiagnosticStatus.OK,
        Supervision.STOPPING: DiagnosticStatus.ERROR,
        Supervision.STOPPED: DiagnosticStatus.ERROR,
    }
    for state, level in levels.items():
        monkeypatch.setattr(configured, "_state", state)
        configured.diagnose()
        (status,) = told[-1].status
        assert status.level == level and status.message.startswith(state.name.lower())


def test_it_tells_at_once_that_it_watches_or_does_not(configured, monkeypatch):
    states = []
    listener = SimpleNamespace(publish=lambda status: states.append(status.state))
    monkeypatch.setattr(configured.built, "statuses", [*configured.built.statuses, listener])
    monkeypatch.setattr("impact_control_ros.nodes.supervisor.WatchedArm.missing", lambda arm: [])
    configured.on_activate(None)
    configured.on_deactivate(None)
    assert states == [Supervision.WATCHING, Supervision.INACTIVE]


class Mailbox:
    """An inbox with one publisher for each topic; what it holds is taken once."""

    def __init__(self):
        self.held = {}

    def subscribe(self, kind, topic, profile, *, raw):
        return SimpleNamespace(topic=topic, publishers=1, take=lambda: self.held.pop(topic, None))


@pytest.mark.parametrize("torque", [1e100, -1e5, math.inf])
def test_a_torque_that_no_joint_gives_is_no_sign_of_life(torque):
    inbox, found = Mailbox(), []
    arm = WatchedArm(inbox, "", SupervisionLimits(), None)
    arm.watch.start(0.0)
    for k in range(1, 41):
        answer = ControllerStatus()
        to_stamp(k * 4_000_000, answer.header.stamp)
        effort = [0.0] * 6 + [torque if k > 20 or k == 10 else 1.0]
        inbox.held = {
            topics.COMMANDS: serialize_message(Float64MultiArray(data=[0.0] * 7)),
            topics.JOINT_STATES: serialize_message(joint_state(k * 4_000_000, np.zeros(7), effort=effort)),
            topics.STATUS: serialize_message(answer),
        }
        if finding := arm.look(0.004 * k):
            found.append((k, finding.cause, finding.reason))
    assert found[0] == (38, Cause.ROBOT_SILENT, found[0][2])
    assert found[0][2].endswith(f"(limit 70 ms); the last one had a torque of {torque:.4g} Nm")
