"""Thresholds from which a Franka stops by itself, as they are asked for."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
from ruamel.yaml import YAML

from impact_control.robots import load_robot
from impact_control.scenario import config_directory
from impact_control.util.errors import ImpactControlError, InvalidInputError, MissingDependencyError
from impact_control_ros.nodes import collision_behavior
from impact_control_ros.nodes.collision_behavior import SERVICE, fill, set_thresholds

FIELDS = {
    f"{bound}_{name}_thresholds_{phase}"
    for bound in ("lower", "upper")
    for name in ("torque", "force")
    for phase in ("acceleration", "nominal")
}
"""Of franka_msgs/srv/SetFullCollisionBehavior, franka_ros2 3.4.0."""

SHIPPED = YAML(typ="safe").load(config_directory() / "controllers" / "collision_behavior.yaml")["/**"][
    "ros__parameters"
]


def test_every_field_of_the_request_is_filled():
    request = fill(SimpleNamespace(), **SHIPPED)
    assert vars(request).keys() == FIELDS
    assert request.upper_torque_thresholds_nominal == SHIPPED["torque"]
    assert request.lower_force_thresholds_acceleration == SHIPPED["force"]


def test_the_torques_are_the_limits_of_both_arms():
    for robot in ("panda", "fr3"):
        assert load_robot(robot).limits.torque.tolist() == SHIPPED["torque"]


@pytest.mark.parametrize("wrong", [{"torque": [1.0] * 6}, {"torque": [0.0] * 7}, {"force": [1.0] * 5 + [float("nan")]}])
def test_incomplete_and_meaningless_thresholds_are_refused(wrong):
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        fill(SimpleNamespace(), **SHIPPED | wrong)


class Node:
    """A node that has parameters and a log."""

    def __init__(self):
        self.told = []

    def get_parameter(self, name):
        return SimpleNamespace(value=SHIPPED[name])

    def get_logger(self):
        return SimpleNamespace(info=self.told.append)


@pytest.fixture
def arm(monkeypatch):
    """The arm's side of the service: `success`, `error`, and what was asked."""
    arm = SimpleNamespace(success=True, error="", asked=[])

    class Caller:
        def __init__(self, node, spin):
            pass

        def call(self, kind, name, request):
            arm.asked.append((name, vars(request).keys()))
            return arm

    messages = ModuleType("franka_msgs.srv")
    messages.SetFullCollisionBehavior = SimpleNamespace(Request=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "franka_msgs", ModuleType("franka_msgs"))
    monkeypatch.setitem(sys.modules, "franka_msgs.srv", messages)
    monkeypatch.setattr(collision_behavior, "Caller", Caller)
    return arm


def test_the_arm_is_asked_and_its_answer_heard(arm):
    node = Node()
    set_thresholds(node)
    assert arm.asked == [(SERVICE, FIELDS)] and len(node.told) == 1
    arm.success, arm.error = False, "command rejected: moving"
    with pytest.raises(ImpactControlError, match="moving"):
        set_thresholds(node)


def test_without_the_messages_of_franka_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "franka_msgs", None)
    with pytest.raises(MissingDependencyError, match="franka_ros2"):
        set_thresholds(Node())
