"""The whole graph: verdicts for late joiners, cancelling, refusals, both shapes, names and types of the topics."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pinocchio as pin
import pytest
import rclpy
from impact_msgs.msg import ImpactClassification
from rclpy.executors import SingleThreadedExecutor

from impact_control.pipeline import Outcome
from impact_control.recording.series import read_bag
from impact_control.replay.evaluation import evaluate
from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import load_scenario
from impact_control_ros.bridge import end_effector, qos, topics
from impact_control_ros.bridge.messages import type_name
from impact_control_ros.bridge.settings import Shape
from impact_control_ros.session.graph import describe_graph
from impact_control_ros.session.processes import GraphError
from impact_control_ros.session.session import Session
from recorded_frames import check_cartesian_headers, check_frames, shown_in_3d, trees

OF_OTHERS = (topics.BELIEF, topics.SUPERVISOR, topics.DIAGNOSTICS)
"""Topics of nodes that are not there in lockstep, do not learn, or are several."""


@pytest.fixture(scope="module", params=Shape, ids=lambda shape: shape.value)
def session(request, tmp_path_factory):
    specs = describe_graph("tabletop", shape=request.param, lockstep=True)
    with Session(specs, tmp_path_factory.mktemp("log")) as session:
        session.start()
        yield session


def test_topics_have_the_documented_types_and_quality(session):
    node = session._node
    for topic in qos.OFFERED.keys() - set(OF_OTHERS):
        kind, profile = qos.OFFERED[topic]
        publishers = node.get_publishers_info_by_topic(f"/{topic}")
        assert len(publishers) == 1, f"{topic}: {[p.node_name for p in publishers]}"
        assert publishers[0].topic_type == type_name(kind)
        offered = publishers[0].qos_profile
        assert offered.reliability == profile.reliability, topic
        assert offered.durability == profile.durability, topic
    services = {name for name, _ in node.get_service_names_and_types()}
    assert {"/predict_post_impact", "/simulation/reset", "/simulation/pause"} <= services


def check_end_effector(recording):
    """Pose and twist are those of the joint states with their stamps; the wrench is the contact force at the end."""
    states = recording.series(topics.JOINT_STATES)
    pose, twist, wrench = (recording.series(name) for name in end_effector.PUBLISHED)
    dynamics = Dynamics(load_robot())
    _, k, of_pose, of_twist = same_stamps(states, pose, twist)
    assert len(k) > 100
    for state, lies, moves in zip(k, of_pose, of_twist, strict=True):
        dynamics.compute(states["position"][state], states["velocity"][state])
        np.testing.assert_allclose(pose["pose.position"][lies], dynamics.position, atol=1e-12)
        x, y, z, w = pose["pose.orientation"][lies]
        np.testing.assert_allclose(pin.Quaternion(w, x, y, z).matrix(), dynamics.rotation, atol=1e-12)
        np.testing.assert_allclose(twist["twist.linear"][moves], dynamics.twist[:3], atol=1e-12)
        np.testing.assert_allclose(twist["twist.angular"][moves], dynamics.twist[3:], atol=1e-12)
    felt = dynamics.rotation @ wrench["wrench.force"][-10:].mean(axis=0)
    assert felt[2] == pytest.approx(recording.series(topics.TRUTH)["normal_force"][-100:].mean(), rel=0.2)
    assert recording.series("robot_description")["data"][0].startswith("<robot")


def same_stamps(*series):
    """Return the stamps that all series have, and their rows in each."""
    stamps = reduce(np.intersect1d, (one["stamp"] for one in series))
    return stamps, *(np.searchsorted(one["stamp"], stamps) for one in series)


def test_a_run_and_what_a_late_joiner_gets_of_it(session, tmp_path):
    session.restart_arm("tabletop", 3)
    session.record(tmp_path / "bag", load_scenario("tabletop").to_yaml())
    result = session.run_task("tabletop")
    session.record(None)
    assert result.outcome is Outcome.SUCCEEDED, result.summary
    assert evaluate(tmp_path / "bag").analysis.within_limits
    recording = read_bag(tmp_path / "bag")
    check_end_effector(recording)
    check_frames(tmp_path / "bag", load_robot())
    check_cartesian_headers(tmp_path / "bag", recording.topics)
    shown, frames = shown_in_3d()
    assert shown.keys() <= recording.topics.keys()
    assert frames <= {name for child, (parent, _) in trees(tmp_path / "bag")[0][1].items() for name in (child, parent)}
    context = rclpy.Context()
    rclpy.init(context=context)
    late = rclpy.create_node("late_joiner", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(late)
    received = []
    late.create_subscription(ImpactClassification, "/impact/classification", received.append, qos.EVENT)
    for _ in range(500):
        executor.spin_once(timeout_sec=0.02)
        if received and received[-1].post_impact == ImpactClassification.EXPECTED:
            break
    late.destroy_node()
    context.try_shutdown()
    assert received[-1].impact == ImpactClassification.EXPECTED
    assert received[-1].post_impact == ImpactClassification.EXPECTED
    assert "contained zero" in received[-1].reason
    assert len(received[-1].margin) == 7


def test_a_task_that_starts_elsewhere_is_not_begun(session):
    """The arm still stands where the run before ended, 0.1 m from the start."""
    result = session.run_task("tabletop")
    assert result.outcome is Outcome.REFUSED
    assert "not where the task starts" in result.summary


def test_a_task_that_breaks_a_limit_is_refused_with_what_would_work(session, tmp_path):
    fast = tmp_path / "fast.yaml"
    fast.write_text(load_scenario("tabletop").with_overrides({"task.impact.speed": "0.5 m/s"}).to_yaml())
    result = session.run_task(str(fast))
    assert result.outcome is Outcome.REFUSED
    for words in ("panda_joint2: acceleration", "task.ante.extension_duration", "it can be done with"):
        assert words in result.summary
    [speed] = [line for line in result.summary.splitlines() if line.startswith("task.impact.speed: 0.4")]
    assert speed.endswith(" m/s")


def test_a_task_whose_begin_is_past_is_not_begun(session):
    session.restart_arm("tabletop", 4)
    before_any_sample = session.run_task("tabletop", begin=1)
    assert before_any_sample.outcome is Outcome.REFUSED
    assert "no joint state received yet" in before_any_sample.summary
    session.pause(False)
    session.watch(0.5)
    late = session.run_task("tabletop", begin=1)
    assert late.outcome is Outcome.REFUSED
    assert "let it begin later" in late.summary


def test_a_cancelled_task_ends_at_rest(session):
    session.restart_arm("tabletop", 4)
    session.pause(False)
    result = session.run_task("tabletop", cancel_at=0.5)
    assert result.outcome is Outcome.CANCELLED


def test_an_unknown_scenario_is_refused_with_the_nearest_name(session):
    session.restart_arm("tabletop", 5)
    result = session.run_task("tabeltop")
    assert result.outcome is Outcome.REFUSED
    assert "nearest: tabletop" in result.summary


def test_a_wrong_parameter_of_the_arm_is_refused(session):
    with pytest.raises(GraphError, match=r"simulator refused to reset.*no scenario of that name"):
        session.restart_arm("no_such_scenario")
    session.restart_arm("tabletop")
