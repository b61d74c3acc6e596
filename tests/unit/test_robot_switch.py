"""The switch of ros2_control, which is not installed here: service, request and answer as its definition has them."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
from rclpy.task import Future

from impact_control.errors import MissingDependencyError
from impact_control.nodes.robot_switch import SwitchKind, robot_switches


class SwitchController:
    """controller_manager_msgs/srv/SwitchController, as far as it is used."""

    class Request(SimpleNamespace):
        STRICT = 2


class Client:
    """A client that remembers what it was asked."""

    def __init__(self, name):
        self.name = name
        self.ready = True
        self.asked = []

    def service_is_ready(self):
        return self.ready

    def call_async(self, request):
        self.asked.append((request, Future()))
        return self.asked[-1][1]

    def remove_pending_request(self, future):
        future.cancel()


@pytest.fixture
def ros2_control(monkeypatch):
    module = ModuleType("controller_manager_msgs.srv")
    module.SwitchController = SwitchController
    monkeypatch.setitem(sys.modules, "controller_manager_msgs", ModuleType("controller_manager_msgs"))
    monkeypatch.setitem(sys.modules, "controller_manager_msgs.srv", module)


NODE = SimpleNamespace(create_client=lambda kind, name: Client(name))


def test_the_effort_controller_of_each_arm_is_deactivated_and_activated_again(ros2_control):
    switches = robot_switches(NODE, SwitchKind.ROS2_CONTROL, ["left", "right"])
    names = [switch.client.name for switch in switches]
    assert names == [f"{arm}/controller_manager/switch_controller" for arm in ("left", "right")]
    for switch in switches:
        assert not switch.done
        switch.ask(False)
        request, answer = switch.client.asked[-1]
        assert vars(request) == {"deactivate_controllers": ["effort_controller"], "strictness": 2}
        assert not switch.done
        answer.set_result(SimpleNamespace(ok=True))
        assert switch.done
        switch.ask(True)
        assert not switch.done
        assert vars(switch.client.asked[-1][0]) == {"activate_controllers": ["effort_controller"], "strictness": 2}


def test_a_refusal_is_not_done_and_an_old_answer_does_not_count(ros2_control):
    (switch,) = robot_switches(NODE, SwitchKind.ROS2_CONTROL, [""])
    switch.ask(False)
    switch.client.asked[-1][1].set_result(SimpleNamespace(ok=False))
    assert not switch.done
    switch.ask(False)
    first = switch.client.asked[-1][1]
    switch.ask(False)
    assert first.cancelled()
    switch.client.ready = False
    switch.ask(False)
    assert not switch.done
    assert len(switch.client.asked) == 3


def test_without_ros2_control_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "controller_manager_msgs", None)
    with pytest.raises(MissingDependencyError, match="install ros2_control"):
        robot_switches(NODE, SwitchKind.ROS2_CONTROL, [""])
