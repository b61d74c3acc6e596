"""The same tasks in one process and in three, in lockstep: same topics, same verdicts at nearly the same times."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from impact_control.pipeline import Outcome
from impact_control.replay.evaluation import evaluate_arms
from impact_control.scenario import load_scenario, parts_of
from impact_control_ros.bridge.settings import Shape
from impact_control_ros.session.graph import describe_graph
from impact_control_ros.session.session import Session

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]

LATER = 3e-3
"""[s] by which detections may differ: an impact and its verdict reach another process one or two samples later."""

CASES = {
    "tabletop": ("tabletop", {}, Outcome.SUCCEEDED),
    "completion": ("tabletop_plate", {"control.interim.until": "contact_completion"}, Outcome.SUCCEEDED),
    "held_force": (
        "tabletop",
        {"classification.held_force": {"after": "0.2 s", "window": "0.2 s", "limit": "0.1 N"}},
        Outcome.POST_IMPACT_UNEXPECTED,
    ),
    "torque_error": (
        "tabletop",
        {"detection.residual_rate": "none", "detection.torque_error": {"threshold": "1.8 Nm", "joints": [5, 6]}},
        Outcome.SUCCEEDED,
    ),
    "two_arms": ("grab_juice_1", {}, Outcome.SUCCEEDED),
}

BRIEFLY = [
    pytest.param(case, marks=pytest.mark.long if case in ("held_force", "torque_error") else ()) for case in CASES
]
"""Each needs graphs of its own, which are built for what a scenario detects and classifies; `make verify` runs all."""

NOT_OF_THE_TASK = ("/transition_event", "/parameter_events", "/rosout")


def topics_of(session):
    """Names and types of the topics that are published, but those that each node has."""
    found = session._node.get_topic_names_and_types()
    return {
        name: kinds
        for name, kinds in found
        if not name.endswith(NOT_OF_THE_TASK) and "/_action/" not in name and session._node.count_publishers(name)
    }


def run(name, shape, directory):
    """Run the task of every arm; return the topics, results and evaluations by arm, and the reasons of the verdicts."""
    scenario = load_scenario(name)
    specs = describe_graph(name, **parts_of(scenario), shape=shape, lockstep=True)
    with Session(specs, directory / "log") as session:
        session.start(directory / "bag", scenario.to_yaml())
        topics = topics_of(session)
        results = session.run_tasks(name)
        session.record(None)
    return topics, results, evaluate_arms(directory / "bag")


def time_in_task(analysis, mode):
    """Time [s] from the begin of the task to that of a mode of the controller."""
    begins = {interval.mode: interval.start for interval in reversed(analysis.modes)}
    return begins[mode] - begins["ante"]


# Not beside other tests: lockstep waits for commands and detectors, but not for the classifier in its own process.
@pytest.mark.wall_clock
@pytest.mark.parametrize("case", BRIEFLY)
def test_both_shapes_publish_and_find_the_same(case, tmp_path):
    name, overrides, outcome = CASES[case]
    if overrides:
        path = tmp_path / f"{case}.yaml"
        path.write_text(load_scenario(name).with_overrides(overrides).to_yaml())
        name = str(path)
    one, three = (run(name, shape, tmp_path / shape.value) for shape in Shape)
    assert one[0] == three[0]
    for arm, result in one[1].items():
        other = three[1][arm]
        assert result.outcome is outcome, result.summary
        assert other.outcome is outcome, other.summary
        # The arms swing against each other through the box. In lockstep, too, each learns of the other's impacts from a
        # topic, a sample earlier or later: by that the last swing, at the threshold, is an impact or not.
        if case == "two_arms":
            assert min(result.impacts, other.impacts) > 1 and abs(result.impacts - other.impacts) <= 1
        elif case != "completion":  # how often a plate rattles depends on the least difference
            assert result.impacts == other.impacts
        here, there = (evaluations[arm].analysis for evaluations in (one[2], three[2]))
        assert (here.verdict.impact, here.verdict.post_impact) == (there.verdict.impact, there.verdict.post_impact)
        assert 0.0 <= here.detection_delay <= LATER
        assert abs(here.detection_delay - there.detection_delay) <= LATER
        assert here.within_limits and there.within_limits
        modes = [[interval.mode for interval in a.modes if interval.mode != "idle"] for a in (here, there)]
        assert modes[0] == modes[1]
        np.testing.assert_allclose(result.classification.time_error, other.classification.time_error, atol=LATER)
        decisions = np.array([each.classification.decision_time for each in (result, other)])
        if case == "completion":  # judged from full contact on; when that is depends on how the plate rattles
            decisions -= [time_in_task(analysis, "post") for analysis in (here, there)]
        np.testing.assert_allclose(*decisions, atol=2.0 * LATER)
        if case == "held_force":
            assert all(each.summary.startswith("held force unexpected") for each in (result, other))
            assert "stopped" in modes[1] and abs(result.duration - other.duration) < 0.02, "only reported"


@pytest.mark.wall_clock
def test_a_classifier_of_its_own_judges_each_task_by_its_scenario(tmp_path):
    """As in one process; a margin without width, and then that of the configured scenario again."""
    path = tmp_path / "narrow.yaml"
    path.write_text("extends: tabletop\nclassification: {envelope_margin: 0 rad/s, window_length: 5}\n")
    tasks = ("tabletop", str(path), "tabletop")
    with Session(describe_graph("tabletop", shape=Shape.SEPARATE, lockstep=True), tmp_path / "log") as session:
        session.start(tmp_path / "bag", load_scenario("tabletop").to_yaml())
        results = []
        for task in tasks:
            session.restart_arm(task)
            results.append(session.run_tasks(task)[""])
        session.record(None)
    outcomes = [result.outcome for result in results]
    assert outcomes == [Outcome.SUCCEEDED, Outcome.POST_IMPACT_UNEXPECTED, Outcome.SUCCEEDED]
    assert [result.classification.scenario for result in results] == ["tabletop", "narrow", "tabletop"]


@pytest.mark.wall_clock
@pytest.mark.parametrize(("stopped", "runs"), [(0.06, 0.03), pytest.param(0.7, 0.5, marks=pytest.mark.long)])
def test_a_classifier_that_waits_for_a_core_loses_no_sample(stopped, runs, tmp_path):
    """Its decision is dated by samples: however long it stands still, it comes to it at the same one."""
    specs = describe_graph("tabletop", shape=Shape.SEPARATE, lockstep=True)
    with Session(specs, tmp_path / "log") as session:
        session.start()
        pid, over = session.processes.pid("classifier"), threading.Event()

        def stall():
            while not over.wait(runs):
                os.kill(pid, signal.SIGSTOP)
                time.sleep(stopped)
                os.kill(pid, signal.SIGCONT)

        stalling = threading.Thread(target=stall)
        stalling.start()
        try:
            result = session.run_tasks("tabletop")[""]
        finally:
            over.set()
            stalling.join()
    assert result.outcome is Outcome.SUCCEEDED, result.summary
    assert 1.150 <= result.classification.decision_time <= 1.1525
