"""The fuzzers look at what a loop publishes, not at what it works with."""

from __future__ import annotations

import numpy as np
import pytest
from surfaces import BrokenPromiseError
from surfaces.command_watch import CommandWatch
from surfaces.graph import EPOCH, JointStates
from surfaces.watched_loop import WatchedLoop

from impact_control.planning.assignment import assigned

TASK = assigned("tabletop")
STATES = JointStates(TASK.robot.joint_names, TASK.plan().reference.initial_configuration)


def watch():
    return CommandWatch(TASK.robot, TASK.scenario.control.period)


@pytest.fixture(scope="module")
def configured(graph):
    return WatchedLoop(graph, graph.add_loop("impact_loop"), watch())


@pytest.fixture
def watched(configured):
    configured.renew()
    return configured


def sample(watched, number):
    watched.sample(STATES.good(EPOCH + number * 1_000_000))


def replace_command(watched, monkeypatch, command):
    """Let a loop send another command, given what sends a torque."""
    output = watched.node.built._control_output
    send = output.command
    monkeypatch.setattr(output, "command", lambda torque: command(send, torque))


def test_a_loop_that_keeps_its_promises_may_go_on(watched):
    for number in range(5):
        sample(watched, number)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (lambda send, torque: send(np.full(7, np.nan)), "not finite"),
        (lambda send, torque: send(torque + 100.0), "above its limit"),
        (lambda send, torque: send(torque + 5.0), "changes by more"),
        (lambda send, torque: (send(torque), send(torque)), "2 commands for one sample"),
        (lambda send, torque: None, "0 commands for one sample"),
    ],
    ids=["not_finite", "too_much", "too_fast", "twice", "not_at_all"],
)
def test_what_is_published_is_held_against_the_limits(watched, monkeypatch, command, reason):
    """The pipeline's own torque is as it should be in all cases."""
    sample(watched, 0)
    replace_command(watched, monkeypatch, command)
    with pytest.raises(BrokenPromiseError, match=reason):
        sample(watched, 1)


def test_a_command_between_two_samples_is_one_too_many(watched):
    sample(watched, 0)
    watched.node.built._control_output.command(np.zeros(7))
    with pytest.raises(BrokenPromiseError, match="2 commands"):
        sample(watched, 1)


def test_a_loop_that_was_configured_anew_is_heard(watched):
    for step in ("deactivate", "cleanup", "configure"):
        getattr(watched.node, f"on_{step}")(None)
    watched.renew()
    sample(watched, 0)


def test_a_command_has_a_torque_for_each_joint():
    with pytest.raises(BrokenPromiseError, match="6 torques for 7 joints"):
        watch().look(np.zeros(6))
