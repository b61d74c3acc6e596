"""Scenes on the live graph in lockstep: arms in namespaces of their own hit, push and grab what stands on a table."""

from __future__ import annotations

import numpy as np
import pytest
from std_msgs.msg import UInt8

from harness import Peer
from impact_control.pipeline import Outcome
from impact_control.replay.evaluation import evaluate_arms, object_moves
from impact_control.scenario import load_scenario
from impact_control_ros.bridge import qos, topics
from impact_control_ros.session.graph import describe_graph
from impact_control_ros.session.session import Session
from recorded_frames import check_frames

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]


def session_of(name, directory):
    """The graph of a scene."""
    scene = load_scenario(name)
    specs = describe_graph(
        name, arms=tuple(scene.arms), objects=tuple(scene.expected_environment.objects), lockstep=True
    )
    return Session(specs, directory / "log")


@pytest.mark.parametrize(("name", "way"), [("push_catfood_1", [0.0, -0.15, 0.0]), ("grab_juice_1", [0.0, 0.0, 0.15])])
def test_the_object_goes_where_it_shall(name, way, tmp_path):
    scene = load_scenario(name)
    with session_of(name, tmp_path) as session:
        session.start(tmp_path / "bag", scene.to_yaml())
        results = session.run_tasks(name)
        session.record(None)
    assert {arm: result.outcome for arm, result in results.items()} == dict.fromkeys(scene.arms, Outcome.SUCCEEDED)
    evaluations = evaluate_arms(tmp_path / "bag")
    assert list(evaluations) == list(scene.arms)
    for evaluation in evaluations.values():
        analysis = evaluation.analysis
        modes = [interval.mode for interval in analysis.modes if interval.mode != "idle"]
        assert modes[:3] == ["ante", "interim", "post"]
        assert 0.0 <= analysis.detection_delay <= 3e-3
        assert analysis.within_limits
    for arm, robot in scene.robots().items():
        check_frames(tmp_path / "bag", robot, arm)
    moved, turned = object_moves(tmp_path / "bag")["box"]
    np.testing.assert_allclose(moved, way, atol=0.015)
    assert turned < np.radians(3.0)


def test_an_arm_that_is_stopped_stops_its_partner(tmp_path):
    with session_of("grab_parcel_1", tmp_path) as session:
        session.start()
        results = session.run_tasks("grab_parcel_1", cancel_at=0.1)
        assert results["left"].outcome is Outcome.CANCELLED
        assert results["right"].outcome is Outcome.NO_IMPACT
        assert results["right"].duration < 0.4, "stopped before the impact"
        log = session.processes.log_file("right/impact_loop").read_text()
    assert "stopped: left stopped" in log and "stopped: left stopped" in results["right"].summary


def test_beside_an_arm_whose_guard_damps_no_task_goes_on(tmp_path):
    """The guard is one of ros2_control; here its state only is published. In lockstep no sample tells how long for."""
    with session_of("grab_parcel_1", tmp_path) as session, Peer(tmp_path / "guard", "left") as guard:
        session.start()
        state = guard.node.create_publisher(UInt8, topics.GUARD, qos.LATCHED)
        state.publish(UInt8(data=2))
        guard.until(lambda: state.get_subscription_count() == 1, what="the partner")
        guard.spin(0.2)
        ended = session.run_tasks("grab_parcel_1")["right"]
        assert ended.outcome is Outcome.NO_IMPACT and ended.duration < 0.1
        assert ended.summary == "stopped: the guard of left follows no commands"
        state.publish(UInt8(data=1))
        guard.spin(0.2)
        results = session.run_tasks("grab_parcel_1")
        assert {result.outcome for result in results.values()} == {Outcome.SUCCEEDED}
