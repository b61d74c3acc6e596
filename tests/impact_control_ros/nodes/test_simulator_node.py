"""The simulator node over DDS: samples, commands, watchdog, reset, pause."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from impact_msgs.msg import GroundTruth
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from harness import JOINTS, Peer
from impact_control.scenario import load_scenario
from impact_control_ros.bridge import qos
from impact_control_ros.bridge.loop_output import effort_command
from impact_control_ros.bridge.messages import nanoseconds
from impact_control_ros.nodes.simulator import Clock
from impact_control_ros.session.graph import Duty, NodeSpec

pytestmark = pytest.mark.wall_clock

TAKEN = (GroundTruth.COMMAND_FRESH, GroundTruth.COMMAND_HELD)
SPEC = NodeSpec("simulator", "simulator", Duty.ROBOT, {"scenario": "tabletop", "seed": 4})


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    with Peer(tmp_path_factory.mktemp("log")) as peer:
        peer.states = peer.listen(JointState, "joint_states", qos.STREAM)
        peer.truths = peer.listen(GroundTruth, "simulation/truth", qos.STREAM)
        peer.commands = peer.node.create_publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        peer.bring_up(SPEC)
        peer.until(lambda: len(peer.states) > 10, what="joint states")
        yield peer


def fresh(peer, count=10):
    """Return the truths of the next samples."""
    peer.truths.clear()
    peer.until(lambda: len(peer.truths) >= count, what="samples")
    return list(peer.truths)


def reset(peer):
    answer = peer.ask(Trigger, "simulation/reset", Trigger.Request())
    assert answer.success, answer.message


def test_nothing_is_heard_through_shared_memory(peer):
    """A listener that stands still in a lock of Fast DDS takes those who send to it with it."""
    threads = Path(f"/proc/{peer.processes.pid('simulator')}/task").glob("*/comm")
    names = [thread.read_text().strip() for thread in threads]
    assert any(re.fullmatch(r"dds\.udp\.\d+", name) for name in names), names
    assert not any(re.fullmatch(r"dds\.shm\.\d+", name) for name in names), names


def test_samples_are_a_millisecond_apart_and_complete(peer):
    peer.states.clear()
    peer.until(lambda: len(peer.states) > 200, what="200 samples")
    stamps = np.array([nanoseconds(m.header.stamp) for m in peer.states])
    # Samples may be lost on the way; their stamps are whole periods all the same.
    assert (np.diff(stamps) % 1_000_000 == 0).all()
    assert (np.diff(stamps) > 0).all()
    last = peer.states[-1]
    assert list(last.name) == JOINTS
    assert len(last.position) == len(last.velocity) == len(last.effort) == 7


@pytest.mark.parametrize("restamped", [False, True])
def test_stamps_follow_the_wall_clock_where_joint_states_are_stamped_anew(restamped):
    """Else the first sample has that of the configuration, and time that is lost is not made up for."""
    clock = Clock(time.time_ns(), 1_000_000, restamped)
    time.sleep(0.1)
    clock.restart()
    for _ in range(20):
        time.sleep(5e-3)
        clock.cycles += 1
        clock.await_next(1.0)
    behind = 1e-9 * (time.time_ns() - clock.stamp)
    assert (behind < 0.02) if restamped else (behind > 0.15)


def test_time_passes_as_fast_as_its_factor_says(tmp_path):
    with Peer(tmp_path, namespace="slow") as peer:
        states = peer.listen(JointState, "joint_states", qos.STREAM)
        peer.bring_up(replace(SPEC, parameters={**SPEC.parameters, "real_time_factor": 0.25}))
        peer.until(lambda: len(states) > 10, what="joint states")
        began, first = time.monotonic(), nanoseconds(states[-1].header.stamp)
        peer.spin(1.0)
        passed, simulated = time.monotonic() - began, 1e-9 * (nanoseconds(states[-1].header.stamp) - first)
    # Time may be lost, never made up for.
    assert 0.05 < simulated / passed < 0.26


def test_the_period_of_the_scenario_is_that_of_the_samples(tmp_path):
    path = tmp_path / "slower.yaml"
    path.write_text(load_scenario("tabletop").with_overrides({"control.period": "2 ms"}).to_yaml())
    with Peer(tmp_path, namespace="slower") as peer:
        truths = peer.listen(GroundTruth, "simulation/truth", qos.STREAM)
        peer.bring_up(replace(SPEC, parameters={**SPEC.parameters, "scenario": str(path)}))
        peer.until(lambda: len(truths) > 100, what="samples")
        stamps = np.array([nanoseconds(truth.header.stamp) for truth in truths])
        assert (np.diff(stamps) % 2_000_000 == 0).all()
        steps = (truths[-1].time - truths[0].time) / 2e-3
        assert steps == pytest.approx((stamps[-1] - stamps[0]) / 2e6, abs=1e-6)


def test_rests_damped_without_commands(peer):
    reset(peer)
    last = fresh(peer)[-1]
    assert last.command_state == GroundTruth.COMMAND_LOST
    assert np.abs(last.joint_velocity).max() < 1e-6


def test_truth_tells_every_contact_and_touch(peer):
    reset(peer)
    truth = fresh(peer)[-1]
    assert list(truth.contact_gaps) == [truth.gap]
    assert list(truth.contact_normal_forces) == [0.0]
    assert list(truth.contact_times) == [np.inf]
    assert list(truth.external_torque) == [0.0] * 7


def test_a_command_moves_the_arm_and_its_loss_stops_it(peer):
    reset(peer)
    command = Float64MultiArray(data=[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.5])

    def push():
        peer.commands.publish(command)
        return any(abs(t.joint_velocity[6]) > 0.2 and t.command_state in TAKEN for t in peer.truths)

    peer.truths.clear()
    peer.until(push, what="motion")
    peer.until(
        lambda: (
            peer.truths[-1].command_state == GroundTruth.COMMAND_LOST
            and np.abs(peer.truths[-1].joint_velocity).max() < 0.01
        ),
        what="a damped standstill",
    )
    assert "joints damped" in peer.log("simulator")


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (Float64MultiArray(data=[0.0] * 6), "6 values"),
        (Float64MultiArray(data=[0.0] * 6 + [float("nan")]), "nan for panda_joint7"),
        (Float64MultiArray(), "no values, or for other joints"),
        (
            effort_command([f"panda_joint{i}" for i in (2, 1, 3, 4, 5, 6, 7)], [0.0] * 7),
            "no values, or for other joints",
        ),
    ],
    ids=["short", "nan", "empty", "swapped"],
)
def test_a_wrong_command_is_refused_and_named(peer, command, named):
    reset(peer)
    told = f"command refused: {named}, need 7 finite torques"
    give_up = time.monotonic() + 5.0
    while told not in peer.log("simulator") and time.monotonic() < give_up:  # once a second
        peer.commands.publish(command)
        peer.spin(0.01)
    assert all(t.command_state == GroundTruth.COMMAND_LOST for t in fresh(peer))
    assert told in peer.log("simulator")


def test_commands_of_two_senders_are_not_taken(peer):
    """Also without a supervisor, whose finding it is, too."""
    reset(peer)
    rival = peer.node.create_publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
    command = Float64MultiArray(data=[0.0] * 6 + [0.2])
    states = set()

    def sends_until(state):
        def sent():
            peer.commands.publish(command)
            return bool(peer.truths) and peer.truths[-1].command_state == state

        peer.truths.clear()
        peer.until(sent, what=f"state {state}")

    try:
        sends_until(GroundTruth.COMMAND_REFUSED)
        for _ in range(5):
            peer.commands.publish(command)
            states |= {truth.command_state for truth in fresh(peer)}
        assert states == {GroundTruth.COMMAND_REFUSED}
        assert "several command publishers: joints damped" in peer.log("simulator")
    finally:
        peer.node.destroy_publisher(rival)
    sends_until(GroundTruth.COMMAND_FRESH)


def test_pause_stops_the_clock(peer):
    assert peer.ask(SetBool, "simulation/pause", SetBool.Request(data=True)).success
    peer.spin(0.2)
    peer.states.clear()
    peer.spin(0.3)
    assert not peer.states
    assert peer.ask(SetBool, "simulation/pause", SetBool.Request(data=False)).success
    peer.until(lambda: len(peer.states) > 5, what="samples after the pause")
