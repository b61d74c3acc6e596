"""A second publisher of joint states at 1 kHz, with the right clock, against the real loop and the simulator."""

from __future__ import annotations

import numpy as np
import pytest
from impact_msgs.action import ExecuteImpactTask
from impact_msgs.msg import ControllerReference, ControllerStatus, GroundTruth
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState

from harness import Peer, joint_state
from impact_control.references import initial_configuration
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario
from impact_control_ros.bridge import qos
from impact_control_ros.session.graph import Duty, NodeSpec

pytestmark = pytest.mark.wall_clock

SIMULATOR = NodeSpec("simulator", "simulator", Duty.ROBOT, {"scenario": "tabletop", "seed": 1})
LOOP = NodeSpec("impact_loop", "loop", Duty.LOOP, {"scenario": "tabletop"})
PREDICTOR = NodeSpec("predictor", "predictor", Duty.SERVICE, {"scenario": "tabletop"})


def test_it_does_not_drive_the_arm_and_is_named(tmp_path):
    with Peer(tmp_path) as peer:
        peer.bring_up(SIMULATOR, PREDICTOR, LOOP)
        truths = peer.listen(GroundTruth, "simulation/truth", qos.STREAM)
        statuses = peer.listen(ControllerStatus, "controller/status", qos.STREAM)
        heard = peer.listen(JointState, "joint_states", qos.STREAM)
        action = ActionClient(peer.node, ExecuteImpactTask, "execute_impact_task")
        peer.until(action.server_is_ready, what="the action")
        sent = action.send_goal_async(ExecuteImpactTask.Goal(scenario="tabletop"))
        peer.until(sent.done, what="the answer to the goal")
        result = sent.result().get_result_async()
        peer.until(lambda: statuses and statuses[-1].mode == ControllerReference.ANTE, what="the task")
        forged = peer.another("forger").create_publisher(JointState, "joint_states", qos.STREAM)
        away = initial_configuration(load_scenario("tabletop"), load_robot()) - 0.05
        before = truths[-1]

        slow = np.full(7, 1e-3)

        def forge():
            stamp = next(state for state in reversed(heard) if list(state.velocity) != slow.tolist()).header.stamp
            forged.publish(joint_state(stamp.sec * 10**9 + stamp.nanosec + 500_000, away, slow))
            return bool(result.done())

        peer.until(forge, what="the end of the task")
        summary = result.result().result.summary
        peer.spin(0.5)
        assert "2 publishers of joint_states: /forger, /simulator" in summary
        assert summary.startswith(("STATE_SOURCES", "STATE_CONTRADICTORY", "STATE_STALE"))
        moved = np.abs(np.array(truths[-1].joint_position) - np.array(before.joint_position)).max()
        assert moved < 0.1
        assert np.abs(truths[-1].joint_velocity).max() < 0.05
        speeds = np.abs([truth.joint_velocity for truth in truths])
        assert (speeds < load_robot().limits.velocity).all()
        action.destroy()
