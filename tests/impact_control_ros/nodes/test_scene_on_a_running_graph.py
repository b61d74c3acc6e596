"""`impact-control run SCENE --launched`: two arms of a graph that others started begin together, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from action_msgs.msg import GoalStatus
from impact_msgs.action import ExecuteImpactTask
from rclpy.task import Future

from harness import Peer
from impact_control.pipeline import Outcome
from impact_control.replay.evaluation import evaluate_arms
from impact_control_ros.session.processes import GraphError
from impact_control_ros.session.session import ARMING_TIME, Session

pytestmark = [pytest.mark.wall_clock, pytest.mark.timeout(400)]

IMPACT_CONTROL = [sys.executable, "-m", "impact_control.cli"]
SCENE = "grab_juice_1"
SLOW = 0.25
"""Simulated seconds to a second of the wall clock: two loops by the wall clock are too much for a slow machine."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """The simulator with both arms, and loops that no session of the test knows."""
    output = str(tmp_path_factory.mktemp("up"))
    up = subprocess.Popen(
        [*IMPACT_CONTROL, "up", "-s", SCENE, "--real-time-factor", str(SLOW), "-o", output],
        stdout=subprocess.PIPE,
        text=True,
    )
    first = up.stdout.readline()
    assert first.startswith(f"Graph:  {SCENE} in ROS domain {os.environ['ROS_DOMAIN_ID']}"), first
    yield up
    up.terminate()
    up.wait(30.0)


def run(directory):
    words = ["run", SCENE, "--launched", "-o", str(directory)]
    return subprocess.run([*IMPACT_CONTROL, *words], capture_output=True, text=True, timeout=180)


def test_when_one_arm_refuses_the_other_is_cancelled(graph, tmp_path):
    with Peer(tmp_path / "peer") as peer, Session([], tmp_path / "log", arms=("left", "right")) as session:

        def armed(arm):
            """Send an arm a task that begins in the far future; return the goal."""
            goal = ExecuteImpactTask.Goal(scenario=SCENE)
            goal.begin.sec = 2**31 - 1
            return peer.caller.send_goal(ExecuteImpactTask, f"{arm}/execute_impact_task", goal, 10.0, lambda _: None)

        busy = armed("right")
        assert busy.accepted
        with pytest.raises(GraphError, match="the controller refused the task: it is not active, runs a task"):
            session.run_tasks(SCENE)
        goals = [busy]

        def free():
            goals.append(armed("left"))
            return goals[-1].accepted

        # Its task would have begun only later, by the simulated clock.
        peer.until(free, patience=0.8e-9 * ARMING_TIME / SLOW, what="the end of the goal of the left arm")
        for goal in (busy, goals[-1]):
            peer.caller.result_of(goal.cancel_goal_async(), 10.0, "the cancellation")


def test_both_arms_begin_with_the_same_sample_and_are_reported(graph, tmp_path):
    ran = run(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 of 1 reported" in ran.stdout and "2 succeeded" in ran.stdout
    (directory,) = tmp_path.iterdir()
    arms = evaluate_arms(directory / "trial_1" / "bag")
    assert list(arms) == ["left", "right"]
    begins = {
        name: next(interval.start for interval in arm.analysis.modes if interval.mode == "ante")
        for name, arm in arms.items()
    }
    assert abs(begins["left"] - begins["right"]) < 2e-3, begins
    # Both were armed long before: planning takes each loop another time.
    assert begins["left"] > 0.8e-9 * ARMING_TIME, begins
    page = (directory / "report.html").read_text()
    assert all(f"<td>{name}</td>" in page for name in arms)


class Goal:
    """An accepted goal of an arm, which ends when it is cancelled, or, where it is refused, at once."""

    def __init__(self, outcome):
        self.result, self.cancelled = Future(), False
        if outcome is Outcome.REFUSED:
            self._end(outcome)

    def _end(self, outcome):
        answer = ExecuteImpactTask.Result(outcome=int(outcome))
        self.result.set_result(SimpleNamespace(status=GoalStatus.STATUS_ABORTED, result=answer))

    def get_result_async(self):
        return self.result

    def cancel_goal_async(self):
        self.cancelled = True
        self._end(Outcome.CANCELLED)
        return self.result


def test_a_task_that_is_refused_once_it_is_planned_cancels_that_of_the_other_arm(tmp_path, monkeypatch):
    goals = {"left": Goal(Outcome.SUCCEEDED), "right": Goal(Outcome.REFUSED)}
    with Session([], tmp_path / "log", arms=("left", "right")) as session:
        monkeypatch.setattr(session, "_send", lambda arm, *_: goals[arm])
        results = session.run_tasks(SCENE, begin=1, timeout=5.0)
    assert {arm: result.outcome for arm, result in results.items()} == {
        "left": Outcome.CANCELLED,
        "right": Outcome.REFUSED,
    }
    assert goals["left"].cancelled and not goals["right"].cancelled
