"""The simulator node in step with the hardware's side of the exchange in C++."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from impact_msgs.msg import GroundTruth
from lifecycle_msgs.msg import Transition
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool

from hardware_stand_in import Manager, compiled
from harness import JOINTS, Peer
from impact_control.scenario import load_scenario, robot_of
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.messages import nanoseconds
from impact_control_ros.nodes.simulator import REPEATED_CLOCKS
from impact_control_ros.session.graph import Duty, NodeSpec

PACE = 0.25
NAME = f"/impact_test_{os.getpid()}_node"
SPEC = NodeSpec(
    "simulator",
    "simulator",
    Duty.ROBOT,
    {"scenario": "tabletop", "seed": 4, "shared_memory": NAME, "real_time_factor": PACE},
)
LONG = 60_000
"""[ms] that no test waits."""


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    directory = tmp_path_factory.mktemp("log")
    with Peer(directory) as peer, Manager(compiled(directory), NAME, JOINTS) as manager:
        peer.truths = peer.listen(GroundTruth, "simulation/truth", qos.RECORD)
        peer.times = peer.listen(Clock, topics.CLOCK, qos.RECORD)
        peer.manager = manager
        assert manager.ask("attach") == "absent"
        peer.bring_up(SPEC)
        assert manager.ask("attach") == "attached"
        yield peer


def cycle(peer, commanded=True, effort=(0.0,) * 7):
    """One cycle of the manager; return the sample of the second joint, and the truth it was measured on."""
    number, *values = peer.manager.ask("read", LONG).removeprefix("sample ").split()
    peer.truths.clear()
    peer.manager.ask("write", int(commanded), *effort)
    peer.until(lambda: peer.truths, what="the truth of the sample")
    (truth,) = peer.truths
    return int(number), np.array(values, dtype=float), truth


def in_ns(message):
    return message.clock.sec * 1_000_000_000 + message.clock.nanosec


def test_each_answer_is_one_period_and_the_arm_measures_its_weight(peer):
    courses = [cycle(peer) for _ in range(30)]
    numbers, samples, truths = zip(*courses, strict=True)
    assert list(np.diff(numbers)) == [1] * 29 and list(np.diff([truth.cycles for truth in truths])) == [1] * 29
    np.testing.assert_allclose(np.diff([truth.time for truth in truths]), 1e-3, rtol=0.0, atol=1e-9)
    robot = robot_of(load_scenario("tabletop").arm().robot)
    model = robot.pinocchio_model
    weight = pin.computeGeneralizedGravity(model, model.createData(), np.array(truths[-1].joint_position))[1]
    assert abs(weight) > 10.0
    noise = robot.noise
    for (position, velocity, effort), truth in zip(samples, truths, strict=True):
        # Text has six digits.
        assert position == pytest.approx(truth.joint_position[1], abs=noise.position[1] + 1e-5)
        assert velocity == pytest.approx(truth.joint_velocity[1], abs=noise.velocity[1] + 1e-5)
        assert effort == pytest.approx(weight, abs=noise.torque[1] + 0.5)
    assert truths[-1].command_state == GroundTruth.COMMAND_FRESH
    # Without gravity in the command, the arm rests.
    assert np.abs(truths[-1].joint_velocity).max() < 0.01


def test_without_hardware_the_arm_stands_still_and_time_is_repeated_and_then_goes_on(peer):
    """It may be lost on the way; and a manager that has no sample yet needs cycles to come to one."""
    cycle(peer)
    peer.times.clear()
    peer.truths.clear()
    peer.until(lambda: "no hardware reads the samples" in peer.log("simulator"), what="the warning")
    assert not peer.truths
    assert peer.node.count_publishers("joint_states") == 0, "those are of the broadcaster"
    repeated = np.diff([in_ns(one) for one in peer.times])
    assert not repeated[: REPEATED_CLOCKS - 1].any() and set(repeated[REPEATED_CLOCKS + 1 :]) == {1_000_000}
    cycle(peer)


def test_a_cycle_begins_with_the_time_of_its_sample_at_the_pace_that_is_asked_for(peer):
    cycles = 200
    cycle(peer)
    peer.times.clear()
    peer.truths.clear()
    begun = time.monotonic()
    for _ in range(cycles):
        peer.manager.ask("read", LONG)
        peer.manager.ask("write", 1, *[0.0] * 7)
    peer.manager.ask("read", LONG)
    passed = time.monotonic() - begun
    peer.until(lambda: len(peer.truths) == cycles, what="the truths")
    stamps = [nanoseconds(truth.header.stamp) for truth in peer.truths]
    assert set(np.diff(stamps)) == {1_000_000}
    assert {in_ns(one) for one in peer.times} >= set(stamps[1:])
    assert passed > (cycles - 1) * 1e-3 / PACE


def test_an_effort_acts_on_its_joint_in_the_next_period(peer):
    cycle(peer)
    cycle(peer, effort=(0.0,) * 6 + (1.5,))
    _, _, truth = cycle(peer)
    np.testing.assert_allclose(truth.applied_torque, [0.0] * 6 + [1.5])
    assert truth.motor_velocity[6] > 1e-3


def test_without_a_controller_the_arm_is_damped(peer):
    for _ in range(40):
        cycle(peer, effort=(0.0,) * 6 + (1.5,))
    moving = cycle(peer, commanded=False)[2].joint_velocity[6]
    courses = [cycle(peer, commanded=False, effort=(0.0,) * 6 + (1.5,)) for _ in range(60)]
    truth = courses[-1][2]
    assert {course[2].command_state for course in courses} == {GroundTruth.COMMAND_LOST}
    assert truth.applied_torque[6] < 0.0 and abs(truth.joint_velocity[6]) < abs(moving)


def test_the_supervisor_can_stop_it(peer):
    assert peer.ask(SetBool, topics.ACCEPT, SetBool.Request(data=False)).success
    cycle(peer)
    assert cycle(peer)[2].command_state == GroundTruth.COMMAND_REFUSED
    assert peer.ask(SetBool, topics.ACCEPT, SetBool.Request(data=True)).success
    cycle(peer)
    assert cycle(peer)[2].command_state == GroundTruth.COMMAND_FRESH


def test_there_is_one_simulated_time(peer, tmp_path):
    with Peer(tmp_path, "elsewhere") as other:
        other.processes.start(replace(SPEC, parameters={**SPEC.parameters, "shared_memory": f"{NAME}_second"}))
        other.caller.await_node("simulator")
        other.until(lambda: other.node.count_publishers(topics.CLOCK), what="the clock of the first")
        assert not other.change("simulator", Transition.TRANSITION_CONFIGURE)
        assert "1 other publisher(s) of /clock; allowed: one simulated time" in other.log("simulator")


def test_the_end_of_the_node_ends_the_exchange(peer):
    peer.processes.stop_all()
    while (answer := peer.manager.ask("read", LONG)).startswith("sample "):
        peer.manager.ask("write", 1)
    assert answer == "gone"
