"""Who looks at the true motion from outside sees what came since the last look, and nothing it was told to forget."""

from __future__ import annotations

import time

import numpy as np
import pytest
import rclpy
from impact_msgs.msg import GroundTruth

from endurance.watch import ArmWatch, TrueMotion
from impact_control.robots import load_robot
from impact_control_ros.bridge import qos, topics

REST = (load_robot().limits.position_lower + load_robot().limits.position_upper) / 2


@pytest.fixture
def simulator():
    """A publisher of true samples."""
    rclpy.init()
    node = rclpy.create_node("simulator")
    yield node.create_publisher(GroundTruth, topics.TRUTH, qos.STREAM)
    node.destroy_node()
    rclpy.try_shutdown()


def publish(simulator, cycles, speed):
    for cycle in cycles:
        velocity = np.full(7, speed)
        simulator.publish(
            GroundTruth(cycles=cycle, joint_position=REST, joint_velocity=velocity, applied_torque=0 * REST)
        )


def show(motion, watch, samples):
    """Show what comes until so many samples were seen, 5 s at most."""
    end = time.monotonic() + 5.0
    while watch.samples < samples and time.monotonic() < end:
        motion.show(watch)
        time.sleep(0.01)


def test_what_was_to_be_forgotten_is_not_shown(simulator):
    watch = ArmWatch(load_robot().limits)
    with TrueMotion() as motion:
        end = time.monotonic() + 10.0
        while not watch.samples and time.monotonic() < end:
            publish(simulator, [0], 0.0)
            time.sleep(0.1)
            motion.show(watch)
        watch.clear()
        publish(simulator, range(1, 101), 0.5)
        show(motion, watch, 100)
        assert (watch.samples, watch.unseen, watch.speed) == (100, 0, 0.5)
        publish(simulator, range(101, 201), 9.0)
        time.sleep(0.5)
        motion.forget()
        watch.clear()
        motion.show(watch)
        assert watch.samples == 0
        publish(simulator, range(1, 11), 0.0)
        show(motion, watch, 10)
        assert watch.samples == 10 and watch.at_rest and watch.velocity.max() == 0.0
