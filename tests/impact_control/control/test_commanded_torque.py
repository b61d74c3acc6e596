"""Commands to the simulated arm, straight from a controller and through topic_based_ros2_control."""

from __future__ import annotations

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_control_ros.bridge.loop_output import effort_command
from impact_control_ros.robot_side.simulated_arm import commanded_torque

NAMES = ["a", "b", "c"]
TORQUE = [1.0, -2.0, 0.5]


@pytest.mark.parametrize(
    "command", [Float64MultiArray(data=TORQUE), effort_command(NAMES, TORQUE), JointState(name=NAMES, effort=TORQUE)]
)
def test_both_say_the_same(command):
    torque = commanded_torque(command, NAMES)
    assert torque.dtype == np.float64
    np.testing.assert_array_equal(torque, TORQUE)


@pytest.mark.parametrize("names", [["b", "a", "c"], ["a", "b"], ["a", "b", "d"], []])
def test_torques_for_other_joints_are_none(names):
    # The gate refuses what has the wrong size.
    assert commanded_torque(JointState(name=names, effort=TORQUE), NAMES).size == 0
    if names:
        assert commanded_torque(effort_command(names, TORQUE), NAMES).size == 0


def test_nothing_but_nan_is_no_command_but_some_is_a_wrong_one():
    assert commanded_torque(JointState(name=NAMES, effort=[np.nan] * 3), NAMES) is None
    some = commanded_torque(JointState(name=NAMES, effort=[1.0, np.nan, 1.0]), NAMES)
    assert some.size == 3 and np.isnan(some[1])
    # From a controller of ours NaN is a mistake, for the gate to refuse.
    assert np.isnan(commanded_torque(Float64MultiArray(data=[np.nan] * 3), NAMES)).all()
