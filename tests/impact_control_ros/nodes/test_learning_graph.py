"""The predictor learns from the impacts of a running graph: published, recorded, used for the plans that follow."""

from __future__ import annotations

import numpy as np
import pytest
from impact_msgs.msg import ImpactBelief

from impact_control.recording.series import read_bag
from impact_control.references import build_reference
from impact_control.replay.evaluation import evaluate
from impact_control.scenario import config_directory, load_scenario, robot_of
from impact_control_ros.bridge import qos, topics
from impact_control_ros.session.client import ImpactClient
from impact_control_ros.session.graph import describe_graph
from impact_control_ros.session.interfaces import LEARNED_FROM, enclaves
from impact_control_ros.session.session import Session

SCENARIO = """
extends: {directory}/tabletop.yaml
name: rougher_than_believed
description: The table has more than three times the friction that is expected.
task:
  duration: 1.5 s
  impact:
    heading: [-1.0, 0.0, 0.0]
  post:
    slide: 3 cm
    duration: 0.5 s
actual_environment:
  surface:
    friction: 0.35
prediction:
  adapt: {adapt}
"""


def written(directory, adapt):
    file = directory / f"adapt_{adapt}.yaml"
    file.write_text(SCENARIO.format(directory=config_directory() / "scenarios", adapt=adapt))
    return str(file)


def heard_by(session, name):
    topics_of_it = session._node.get_subscriber_names_and_types_by_node(name, "/")
    return {topic for topic, _ in topics_of_it}


def test_it_learns_from_each_impact_says_so_and_plans_with_it(tmp_path):
    scenario = written(tmp_path, "true")
    task = load_scenario(scenario)
    reference = build_reference(task, robot_of(task.robot))
    beliefs = []
    specs = describe_graph(scenario, lockstep=True)
    with Session(specs, tmp_path / "log") as session:
        session._node.create_subscription(ImpactBelief, "/impact/belief", beliefs.append, qos.LATCHED)
        session.start()
        assert session.watch_until(lambda: beliefs, 5.0)
        (predictor,) = enclaves(specs)["/predictor"]
        allowed = predictor.resolved().subscribes
        assert session.watch_until(lambda: heard_by(session, "predictor") == set(allowed), 5.0)
        first = beliefs[-1]
        assert (first.impacts, first.friction, first.restitution, first.inertia_scale) == (0, 0.1, 0.0, 1.0)
        assert np.isnan(first.prediction_error) and not first.predicted_velocity
        for trial in (1, 2):
            session.restart_arm(scenario, trial)
            session.record(tmp_path / f"bag_{trial}", task.to_yaml())
            session.run_task(scenario)
            assert session.watch_until(lambda trial=trial: beliefs[-1].impacts == trial, 5.0), trial
            session.watch(0.5)  # The recorder hears of it in its own time.
            session.record(None)
        with ImpactClient() as client:
            geometry = reference.geometry
            asked = (reference.impact_configuration, reference.ante_impact_velocity, geometry.normal)
            given = {"contact_offset": geometry.contact_offset}
            plain, learned, elsewhere = (
                client.predict(*asked, **given, friction=friction, learned=use)
                for friction, use in ((0.1, False), (0.1, True), (0.2, True))
            )
    last = beliefs[-1]
    assert last.scenario == "rougher_than_believed"
    assert last.friction == pytest.approx(0.35, abs=0.07)
    assert np.sqrt(last.covariance[0]) < 0.05
    errors = {belief.impacts: belief.prediction_error for belief in beliefs[1:]}
    assert errors[2] < 0.5 * errors[1]
    assert last.prediction_error == pytest.approx(
        np.abs(np.subtract(last.predicted_velocity, last.observed_velocity)).mean()
    )
    assert (plain.friction, plain.inertia_scale) == (0.1, 1.0)
    assert (learned.friction, learned.inertia_scale) == (last.friction, last.inertia_scale)
    assert (elsewhere.friction, elsewhere.inertia_scale) == (0.2, last.inertia_scale)
    # The second plan is the one with what the first impact taught.
    planned = [read_bag(tmp_path / f"bag_{trial}").series(topics.REFERENCE)["post_joint_velocity"] for trial in (1, 2)]
    assert np.abs(planned[0][: len(planned[1])] - planned[1][: len(planned[0])]).max() > 0.1
    # The bag of a task has what it was planned with, and what it taught.
    recorded = read_bag(tmp_path / "bag_2").series(topics.BELIEF)["impacts"].tolist()
    assert sorted(set(recorded)) == [1, 2] and recorded == sorted(recorded)
    assert evaluate(tmp_path / "bag_2").analysis.learned.startswith(f"friction {last.friction:.2f}, ")


def test_without_adaptation_it_hears_learns_and_says_nothing(tmp_path):
    scenario = written(tmp_path, "false")
    task = load_scenario(scenario)
    beliefs = []
    with Session(describe_graph(scenario, lockstep=True), tmp_path / "log") as session:
        session._node.create_subscription(ImpactBelief, "/impact/belief", beliefs.append, qos.LATCHED)
        session.start()
        session.restart_arm(scenario, 1)
        session.record(tmp_path / "bag", task.to_yaml())
        session.run_task(scenario)
        session.watch(0.5)
        heard = heard_by(session, "predictor")
        session.record(None)
    assert not beliefs
    assert not heard & {f"/{topic}" for topic in LEARNED_FROM}
    assert evaluate(tmp_path / "bag").analysis.learned == ""
    followed = read_bag(tmp_path / "bag").series(topics.REFERENCE)
    reference = build_reference(task, robot_of(task.robot))
    time = followed["task_time"]
    sample = reference.post.new_sample()
    row = int(np.argmin(np.abs(time - reference.nominal_impact_time)))
    reference.post.sample(float(time[row]), sample)
    np.testing.assert_allclose(followed["post_joint_velocity"][row], sample.joint_velocity, atol=1e-9)
