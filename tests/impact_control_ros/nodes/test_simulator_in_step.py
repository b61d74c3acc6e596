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
from impact_control_ros.session.graph import Duty, NodeSpec

NAME = f"/impact_test_{os.getpid()}_node"
SPEC = NodeSpec("simulator", "simulator", Duty.ROBOT, {"scenario": "tabletop", "seed": 4, "shared_memory": NAME})
LONG = 60_000
"""[ms] that no test waits."""


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    directory = tmp_path_factory.mktemp("log")
    with Peer(directory) as peer, Manager(compiled(directory), NAME, JOINTS) as manager:
        peer.truths = peer.listen(GroundTruth, "simulation/truth", qos.RECORD)
        peer.manager = manager
        peer.stamp = 0
        assert manager.ask("attach") == "absent"
        peer.bring_up(SPEC)
        assert manager.ask("attach") == "attached"
        yield peer


def cycle(peer, commanded=True, effort=(0.0,) * 7):
    """One cycle of the manager; return the sample of the second joint, and the truth it was measured on."""
    number, *values = peer.manager.ask("read", LONG).removeprefix("sample ").split()
    peer.stamp += 1_000_000
    peer.truths.clear()
    peer.manager.ask("write", peer.stamp, int(commanded), *effort)
    peer.until(lambda: peer.truths, what="the truth of the sample")
    (truth,) = peer.truths
    assert nanoseconds(truth.header.stamp) == peer.stamp, "that of the cycle that read the sample"
    return int(number), np.array(values, dtype=float), truth


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


def test_without_hardware_time_stands_still(peer):
    peer.truths.clear()
    peer.until(lambda: "no hardware reads the samples" in peer.log("simulator"), what="the warning")
    assert not peer.truths
    assert peer.node.count_publishers("joint_states") == 0, "those are of the broadcaster"
    cycle(peer)


def test_an_effort_acts_on_its_joint_in_the_next_period(peer):
    cycle(peer)
    cycle(peer, effort=(0.0,) * 6 + (1.5,))
    _, _, truth = cycle(peer)
    np.testing.assert_allclose(truth.applied_torque, [0.0] * 6 + [1.5])
    assert truth.motor_velocity[6] > 1e-3


def test_in_periods_that_the_manager_missed_the_arm_goes_on_under_the_last_command(peer):
    number, _, before = cycle(peer, effort=(0.0,) * 6 + (0.7,))
    peer.manager.ask("read", LONG)
    peer.truths.clear()
    assert peer.manager.ask("pass", 5).startswith(f"sample {number + 2} ")
    peer.until(lambda: len(peer.truths) == 5, what="the truth of each period")
    assert [truth.cycles - before.cycles for truth in peer.truths] == [1, 2, 3, 4, 5]
    assert [nanoseconds(truth.header.stamp) for truth in peer.truths] == [
        peer.stamp + i * 1_000_000 for i in range(1, 6)
    ]
    assert all(truth.applied_torque[6] == 0.7 for truth in peer.truths)
    peer.stamp += 5_000_000
    assert cycle(peer)[2].cycles == before.cycles + 6


def test_without_a_controller_the_arm_is_damped(peer):
    for _ in range(40):
        cycle(peer, effort=(0.0,) * 6 + (1.5,))
    moving = cycle(peer, commanded=False)[2].joint_velocity[6]
    courses = [cycle(peer, commanded=False, effort=(0.0,) * 6 + (1.5,)) for _ in range(60)]
    truth = courses[-1][2]
    assert truth.command_state == GroundTruth.COMMAND_LOST
    assert truth.applied_torque[6] < 0.0 and abs(truth.joint_velocity[6]) < abs(moving)


def test_the_supervisor_can_stop_it(peer):
    assert peer.ask(SetBool, topics.ACCEPT, SetBool.Request(data=False)).success
    cycle(peer)
    assert cycle(peer)[2].command_state == GroundTruth.COMMAND_REFUSED
    assert peer.ask(SetBool, topics.ACCEPT, SetBool.Request(data=True)).success
    cycle(peer)
    assert cycle(peer)[2].command_state == GroundTruth.COMMAND_FRESH


def test_by_its_own_clock_it_sets_the_pace_of_the_managers(peer, tmp_path):
    factor, cycles = 0.25, 200
    given = {**SPEC.parameters, "shared_memory": f"{NAME}_paced", "publish_clock": True, "real_time_factor": factor}
    with (
        Peer(tmp_path, "paced") as paced,
        Manager(compiled(tmp_path), f"{NAME}_paced", JOINTS) as manager,
    ):
        times = paced.listen(Clock, topics.CLOCK, qos.RECORD)
        truths = paced.listen(GroundTruth, topics.TRUTH, qos.RECORD)
        paced.bring_up(replace(SPEC, parameters=given))
        # A manager that has no sample yet needs cycles to come to one: time goes on.
        paced.until(lambda: len(times) > 10 and in_ns(times[-1]) > in_ns(times[0]), what="the clock")
        assert not truths
        assert manager.ask("attach") == "attached"
        begun, first = time.monotonic(), None
        for _ in range(cycles):
            manager.ask("read", LONG)
            paced.spin(0.0)
            first = first or in_ns(times[-1])
            manager.ask("write", 0, 1, *[0.0] * 7)
        passed = time.monotonic() - begun
        paced.until(lambda: len(truths) == cycles, what="the truths")
        stamps = [nanoseconds(truth.header.stamp) for truth in truths]
        assert set(np.diff(stamps)) == {1_000_000} and abs(stamps[0] - first) <= 1_000_000
        assert {in_ns(one) for one in times} >= set(stamps[1:]), "a cycle begins with the time of its sample"
        assert cycles * 1e-3 / factor - 0.02 < passed, "no faster than asked for"
        # Lost on the way, it is repeated.
        paced.until(lambda: in_ns(times[-1]) == in_ns(times[-2]), what="the time again")


def in_ns(message):
    return message.clock.sec * 1_000_000_000 + message.clock.nanosec


def test_there_is_one_simulated_time(peer, tmp_path):
    given = {**SPEC.parameters, "shared_memory": f"{NAME}_second", "publish_clock": True}
    clock = peer.node.create_publisher(Clock, topics.CLOCK, qos.STREAM)
    with Peer(tmp_path, "elsewhere") as other:
        other.processes.start(replace(SPEC, parameters=given))
        other.until(lambda: other.node.count_publishers(topics.CLOCK), what="the other clock")
        other.caller.await_node("simulator")
        assert not other.change("simulator", Transition.TRANSITION_CONFIGURE)
        assert "1 other publisher(s) of /clock; allowed: one simulated time" in other.log("simulator")
    peer.node.destroy_publisher(clock)


def test_the_end_of_the_node_ends_the_exchange(peer):
    peer.processes.stop_all()
    while (answer := peer.manager.ask("read", LONG)).startswith("sample "):
        peer.manager.ask("write", peer.stamp, 1)
    assert answer == "gone"
