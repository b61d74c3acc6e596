"""The same tasks in one process and in three, in lockstep: same topics, same verdicts at nearly the same times."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from impact_control.pipeline import Outcome
from impact_control.replay.evaluation import evaluate_arms
from impact_control.scenario import load_scenario, parts_of
from impact_control_ros.session.graph import describe_graph
from impact_control_ros.session.session import Session
from impact_control_ros.session.shape import Shape
from live_runs import run

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]

LATER = 3e-3
"""[s] by which detections may differ: an impact and its verdict reach another process one or two samples later."""

ONE_ARM = {
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
}

NOT_OF_THE_TASK = ("/transition_event", "/parameter_events", "/rosout")


def topics_of(session):
    """Names and types of the topics that are published, but those that each node has."""
    found = session._node.get_topic_names_and_types()
    return {
        name: kinds
        for name, kinds in found
        if not name.endswith(NOT_OF_THE_TASK) and "/_action/" not in name and session._node.count_publishers(name)
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """By shape: the topics of a graph, and of each case the result and what its bag says, one after another on it."""
    directory = tmp_path_factory.mktemp("shapes")
    written = {}
    for case, (name, overrides, _) in ONE_ARM.items():
        written[case] = str(directory / f"{case}.yaml")
        Path(written[case]).write_text(load_scenario(name).with_overrides(overrides).to_yaml())
    courses = {}
    for shape in Shape:
        with Session(describe_graph("tabletop", shape=shape, lockstep=True), directory / shape.value) as session:
            session.start()
            topics = topics_of(session)
            courses[shape] = (
                topics,
                {case: run(session, path, 1, directory / shape.value / case) for case, path in written.items()},
            )
    return courses


def time_in_task(analysis, mode):
    """Time [s] from the begin of the task to that of a mode of the controller."""
    begins = {interval.mode: interval.start for interval in reversed(analysis.modes)}
    return begins[mode] - begins["ante"]


# Not beside other tests: lockstep waits for commands and detectors, but not for the classifier in its own process.
@pytest.mark.wall_clock
@pytest.mark.parametrize("case", ONE_ARM)
def test_both_shapes_publish_and_find_the_same(found, case):
    outcome = ONE_ARM[case][2]
    (topics, one), (other_topics, three) = found.values()
    assert topics == other_topics
    (result, evaluation), (other, other_evaluation) = one[case], three[case]
    if case != "completion":  # how often a plate rattles depends on the least difference
        assert result.impacts == other.impacts
    here, there = evaluation.analysis, other_evaluation.analysis
    require_the_same(outcome, (result, here), (other, there))
    decisions = np.array([each.classification.decision_time for each in (result, other)])
    if case == "completion":  # judged from full contact on; when that is depends on how the plate rattles
        decisions -= [time_in_task(analysis, "post") for analysis in (here, there)]
    np.testing.assert_allclose(*decisions, atol=2.0 * LATER)
    if case == "held_force":
        assert all(each.summary.startswith("held force unexpected") for each in (result, other))
        assert "stopped" in [interval.mode for interval in there.modes]
        assert abs(result.duration - other.duration) < 0.02, "only reported"


@pytest.mark.wall_clock
def test_both_shapes_publish_and_find_the_same_of_two_arms(tmp_path):
    name, found = "grab_juice_1", []
    scenario = load_scenario(name)
    for shape in Shape:
        specs, bag = describe_graph(name, **parts_of(scenario), shape=shape, lockstep=True), tmp_path / shape.value
        with Session(specs, tmp_path / "log") as session:
            session.start(bag, scenario.to_yaml())
            topics = topics_of(session)
            results = session.run_tasks(name)
            session.record(None)
        found.append((topics, results, evaluate_arms(bag)))
    (topics, one, evaluations), (other_topics, three, other_evaluations) = found
    assert topics == other_topics
    for arm, result in one.items():
        other = three[arm]
        # The arms swing against each other through the box. In lockstep, too, each learns of the other's impacts from a
        # topic, a sample earlier or later: by that the last swing, at the threshold, is an impact or not.
        assert min(result.impacts, other.impacts) > 1 and abs(result.impacts - other.impacts) <= 1
        here, there = evaluations[arm].analysis, other_evaluations[arm].analysis
        require_the_same(Outcome.SUCCEEDED, (result, here), (other, there))
        decisions = [each.classification.decision_time for each in (result, other)]
        np.testing.assert_allclose(*decisions, atol=2.0 * LATER)


def require_the_same(outcome, one, three):
    """Require of a task's result and its bag's analysis in either shape that they say the same."""
    (result, here), (other, there) = one, three
    assert result.outcome is outcome, result.summary
    assert other.outcome is outcome, other.summary
    assert (here.verdict.impact, here.verdict.post_impact) == (there.verdict.impact, there.verdict.post_impact)
    assert 0.0 <= here.detection_delay <= LATER
    assert abs(here.detection_delay - there.detection_delay) <= LATER
    assert here.within_limits and there.within_limits
    modes = [[interval.mode for interval in analysis.modes if interval.mode != "idle"] for analysis in (here, there)]
    assert modes[0] == modes[1]
    np.testing.assert_allclose(result.classification.time_error, other.classification.time_error, atol=LATER)


@pytest.mark.wall_clock
@pytest.mark.parametrize(("stopped", "runs"), [(0.06, 0.03), (0.7, 0.5)])
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
