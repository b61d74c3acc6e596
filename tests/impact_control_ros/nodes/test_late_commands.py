"""Commands that are late on their way to the simulated robot side: taken while they are young, else damped and told."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest
from impact_msgs.msg import GroundTruth
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from harness import Peer
from impact_control_ros.bridge import qos
from impact_control_ros.session.graph import Duty, NodeSpec

pytestmark = pytest.mark.wall_clock

SPEC = NodeSpec("simulator", "endurance.faulty_simulator", Duty.ROBOT, {"scenario": "tabletop", "seed": 4})
LONG = 100_000
DELAY = 8
"""Commands that a command waits for, or milliseconds where one comes in each."""

IN_TIME = 0.018
"""[s] in which so many commands, and one more, have to come: less than the robot side's patience, 20 ms."""


class Commander:
    """Answers each joint state with a torque on the last joint, as long as it is not told to be silent."""

    def __init__(self, peer):
        self.peer = peer
        self.truths = peer.listen(GroundTruth, "simulation/truth", qos.STREAM)
        self.publisher = peer.node.create_publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        self.command = Float64MultiArray(data=[0.0] * 6 + [0.2])
        self.silent = True
        self.answered = []
        peer.node.create_subscription(JointState, "joint_states", self.answer, qos.STREAM)

    def answer(self, state):
        if not self.silent:
            self.publisher.publish(self.command)
            self.answered.append(time.monotonic())

    def slowness(self, answers):
        """Return the longest time [s] that so many answers took, as where this process stood still.

        What begins or ends the time since `answered` was cleared counts as an answer.
        """
        times = np.array([*self.answered, time.monotonic()])
        return np.max(times[answers:] - times[:-answers], initial=0.0) if times.size > answers else np.inf

    def disturb(self, text):
        parameter = Parameter("disturb", value=text).to_parameter_msg()
        answer = self.peer.ask(SetParameters, "simulator/set_parameters", SetParameters.Request(parameters=[parameter]))
        assert answer.results[0].successful

    def begin_anew(self):
        """Put the arm back and forget what was commanded."""
        self.silent = True
        self.disturb("")
        assert self.peer.ask(Trigger, "simulation/reset", Trigger.Request()).success
        self.peer.spin(0.05)

    def states(self, count=100):
        """Return what acted in the next periods."""
        self.truths.clear()
        self.peer.until(lambda: len(self.truths) >= count, what="samples")
        return [truth.command_state for truth in self.truths]


@pytest.fixture(scope="module")
def commander(tmp_path_factory):
    with Peer(tmp_path_factory.mktemp("log")) as peer:
        commander = Commander(peer)
        peer.bring_up(SPEC)
        peer.until(lambda: len(commander.truths) > 10, what="samples")
        yield commander


def test_a_command_that_is_a_little_late_is_taken(commander):
    commander.begin_anew()
    commander.silent = False
    commander.peer.spin(0.1)
    commander.disturb(f"commands delay {LONG} {DELAY}")
    states = []
    for _ in range(50):
        commander.truths.clear()
        commander.answered = [time.monotonic()]
        commander.peer.spin(0.2)
        # What was late before is over after the delay and the patience.
        states = [truth.command_state for truth in commander.truths][50:]
        if commander.slowness(DELAY + 2) < IN_TIME and len(states) > 100:
            break
    assert len(states) > 100
    assert GroundTruth.COMMAND_LOST not in states, "unless the machine was too busy for this test all the time"


def test_commands_that_become_late_are_not_taken(commander):
    commander.begin_anew()
    commander.silent = False
    commander.peer.spin(0.1)
    commander.disturb(f"commands delay {LONG} 60")
    commander.peer.spin(0.2)
    assert set(commander.states()) == {GroundTruth.COMMAND_LOST}
    assert abs(commander.truths[-1].joint_velocity[6]) < 0.02, "damped"
    assert "no command for 20 ms: joints damped" in commander.peer.log("simulator")
    commander.disturb("")
    commander.peer.spin(0.1)
    assert GroundTruth.COMMAND_FRESH in commander.states(), "taken again where they come in time"


def test_commands_that_are_late_from_the_first_on_are_told_as_such(commander):
    commander.begin_anew()
    commander.disturb(f"commands delay {LONG} 60")
    commander.silent = False
    commander.peer.spin(0.2)
    assert set(commander.states()) == {GroundTruth.COMMAND_LOST}
    assert "commands come more than 20 ms after they were sent: joints damped" in commander.peer.log("simulator")


def test_a_robot_side_that_stood_still_finds_no_command_late(commander):
    commander.begin_anew()
    commander.silent = False
    commander.peer.spin(0.1)
    robot_side = commander.peer.processes.pid("simulator")
    told = []
    for _ in range(50):
        before = commander.peer.log("simulator").count("joints damped")
        os.kill(robot_side, signal.SIGSTOP)
        commander.peer.spin(0.1)
        commander.answered = [time.monotonic()]
        os.kill(robot_side, signal.SIGCONT)
        commander.peer.spin(0.1)
        more = commander.peer.log("simulator").count("joints damped") - before
        if commander.slowness(1) < IN_TIME:
            told.append(more)
        if len(told) == 5:
            break
    assert told == [0] * 5, "where there are fewer, the machine is too busy for this test"
