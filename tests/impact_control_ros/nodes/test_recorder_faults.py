"""A recorder whose disk is full, or that stands still or is stopped: what goes on goes on, what came stays readable."""

from __future__ import annotations

import os
import resource
import signal
import time
from types import SimpleNamespace

import pytest
import rclpy
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from harness import until
from impact_control.pipeline import Outcome
from impact_control.recording.series import read_bag
from impact_control.scenario import load_scenario
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.calls import NoAnswerError
from impact_control_ros.bridge.runtime import StopRequest, spin_every
from impact_control_ros.nodes import recorder
from impact_control_ros.session.graph import describe_graph
from impact_control_ros.session.processes import GraphError
from impact_control_ros.session.session import Session

FULL = 400_000
"""Bytes that the disk still takes."""


@pytest.fixture
def session(tmp_path):
    with Session(describe_graph("tabletop", lockstep=True), tmp_path / "log") as session:
        session.start(tmp_path / "bag", load_scenario("tabletop").to_yaml())
        yield session


def test_a_full_disk_ends_the_recording_and_nothing_else(session, tmp_path):
    resource.prlimit(session.processes.pid("recorder"), resource.RLIMIT_FSIZE, (FULL, FULL))
    assert session.run_task("tabletop").outcome is Outcome.SUCCEEDED
    with pytest.raises(GraphError, match=r"cut off.*recording stopped.*File too large"):
        session.record(None)
    assert len(read_bag(tmp_path / "bag").series("joint_states")["stamp"]) > 100


@pytest.mark.long
def test_a_recorder_that_stands_still_holds_nobody_up(session, tmp_path):
    stopped = []

    def stop(progress):
        if progress.task_time > 0.5 and not stopped:
            stopped.append(progress.task_time)
            os.kill(session.processes.pid("recorder"), signal.SIGSTOP)

    assert session.run_task("tabletop", on_progress=stop).outcome is Outcome.SUCCEEDED
    with pytest.raises(NoAnswerError, match="recorder"):
        session.record(None)
    session.close()
    stamps = read_bag(tmp_path / "bag").series("joint_states")["stamp"]
    assert stamps[-1] - stamps[0] > 0.3


@pytest.fixture
def node():
    # Other tests of this process must not see its nodes: rclpy keeps what is in cycles in the ROS graph.
    rclpy.init(domain_id=1 + (int(os.environ["ROS_DOMAIN_ID"]) + 50) % 101)
    made = recorder.RecorderNode()
    yield made
    made.destroy_node()
    rclpy.try_shutdown()


def test_a_recording_in_which_an_arm_would_be_missing_is_not_begun(node, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(recorder, "CONNECTION_PATIENCE", 2.0)
    monkeypatch.setattr(RcutilsLogger, "error", lambda logger, line: told.append(line))
    publisher = node.create_publisher(JointState, f"left/{topics.JOINT_STATES}", qos.STREAM)
    required = [f"{arm}/{topics.JOINT_STATES}" for arm in ("left", "right")]
    values = {"directory": str(tmp_path / "bag"), "arms": ["left", "right"], "required": required}
    node.set_parameters([Parameter(name, value=value) for name, value in values.items()])
    assert node.trigger_configure() is TransitionCallbackReturn.SUCCESS
    assert node.trigger_activate() is TransitionCallbackReturn.FAILURE
    assert told == [f"cannot record: no publisher of /right/{topics.JOINT_STATES} within 2 s"]
    assert not (tmp_path / "bag").exists()
    node.destroy_publisher(publisher)


def test_what_came_before_the_recorder_is_stopped_is_written(node, tmp_path):
    publisher = node.create_publisher(JointState, topics.JOINT_STATES, qos.STREAM)
    values = {"directory": str(tmp_path / "bag"), "required": [topics.JOINT_STATES]}
    node.set_parameters([Parameter(name, value=value) for name, value in values.items()])
    node.trigger_configure()
    until(lambda: not node.built.missing(), "the publisher", 10.0)
    node.trigger_activate()
    stop = StopRequest()

    class LastMoment:
        """In which a message comes, and then the signal."""

        def spin_once(self, timeout_sec):
            publisher.publish(JointState(name=["joint"], position=[0.5]))
            time.sleep(0.2)
            stop(signal.SIGTERM, None)

    spin_every(recorder.POLL_PERIOD, recorder.Recording.poll)(node, LastMoment(), stop)
    node.built.close()  # as the end of the process does, without a deactivation
    assert read_bag(tmp_path / "bag").series("joint_states")["position"].tolist() == [[0.5]]


def test_a_node_whose_work_takes_all_its_time_still_answers():
    stop, rounds, served = StopRequest(), [], []

    def work(configured):
        time.sleep(0.02)
        rounds.append(configured)
        if len(rounds) == 3:
            stop(signal.SIGTERM, None)

    node, executor = SimpleNamespace(configured=1), SimpleNamespace(spin_once=lambda timeout_sec: served.append(1))
    spin_every(0.01, work)(node, executor, stop)
    assert rounds == [1, 1, 1] and len(served) >= len(rounds)
