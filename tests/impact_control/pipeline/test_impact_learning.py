"""Learning from impacts of the simulated arm: ten trials in lockstep from wrong beliefs, and nothing without them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from impact_control.classification import Verdict
from impact_control.impacts import ImpactBelief
from impact_control.pipeline.impact_learning import ImpactLearner
from impact_control.planning import plan_scenario
from impact_control.references import UnreachableReferenceError, build_reference, impact_geometry, rigid_impact_map
from impact_control.scenario import Scenario, load_scenario, robot_of
from impact_control.simulation.scenario_run import Course, run_scenario
from impact_control.util.errors import InvalidInputError, ScenarioError
from random_tasks import random_task

TRIALS = 10
TABLETOP = load_scenario("tabletop")
DEVIATIONS = np.array([0.15, 0.05, 0.4])
"""The defaults of the schema, for beliefs about another mean."""


@dataclass(frozen=True)
class Learned:
    """Errors (k,) [rad/s] of the predictions of each trial, with what was learned before it and without."""

    errors: np.ndarray
    unlearned_errors: np.ndarray
    learner: ImpactLearner

    @property
    def later_ratio(self) -> float:
        """Of the second half of the trials, when something was learned."""
        later = slice(TRIALS // 2, None)
        return float(self.errors[later].mean() / self.unlearned_errors[later].mean())


def teach(learner: ImpactLearner, scenario: Scenario, course: Course):
    geometry = impact_geometry(scenario, robot_of(scenario.robot))
    arm = course.single
    samples = course.time, arm.signals.measured_position, arm.signals.measured_velocity, arm.detection_time
    return learner.learn(*samples, geometry.contact_offset, geometry.normal)


def ten_trials(seed: int, friction: float, believed: float, scale: float) -> Learned:
    """Trials of tasks anywhere, each planned with what the ones before have taught."""
    learner = unlearned = None
    errors = []
    while len(errors) < TRIALS:
        task = random_task(seed, "panda", friction=friction).with_overrides(
            {"expected_environment.surface.friction": believed}
        )
        seed += 1
        if learner is None:
            learner, unlearned = (ImpactLearner(task, robot_of(task.robot)) for _ in range(2))
            wrong = ImpactBelief.around(np.array([believed, 0.0, scale]), DEVIATIONS)
            learner.belief = wrong
        try:
            plan = plan_scenario(task, learner.predict)
            course = run_scenario(task, until=task.task.impact.time + 0.3, plan=plan)
        except UnreachableReferenceError:
            continue
        if course.single.impact is Verdict.EXPECTED:
            unlearned.belief = wrong
            errors.append([teach(one, task, course).error for one in (learner, unlearned)])
    with_learning, without = np.array(errors).T
    return Learned(with_learning, without, learner)


@pytest.mark.parametrize(
    ("seed", "friction", "believed", "scale"),
    [
        (7100, 0.35, 0.1, 0.7),
        pytest.param(7200, 0.35, 0.1, 1.3, marks=pytest.mark.long),
        pytest.param(7300, 0.1, 0.35, 1.0, marks=pytest.mark.long),
        pytest.param(7400, 0.35, 0.1, 1.0, marks=pytest.mark.long),
    ],
)
def test_ten_trials_halve_the_prediction_error_of_a_wrong_belief(seed, friction, believed, scale):
    found = ten_trials(seed, friction, believed, scale)
    assert found.errors[0] == found.unlearned_errors[0]
    assert found.later_ratio < 0.5
    assert found.learner.belief.estimate[0] == pytest.approx(friction, abs=0.1)
    assert found.learner.impacts == TRIALS


@pytest.mark.long
def test_where_the_friction_is_right_learning_does_no_harm():
    found = ten_trials(7500, 0.2, 0.2, 1.0)
    assert found.later_ratio < 1.1


def test_before_the_first_impact_it_plans_as_without_learning():
    robot = robot_of(TABLETOP.robot)
    reference = build_reference(TABLETOP, robot)
    learner = ImpactLearner(TABLETOP, robot)
    assert learner.inertia_scale == 1.0
    asked = (reference.impact_configuration, reference.ante_impact_velocity)
    for friction in (0.1, 0.4):
        arguments = (*asked, reference.geometry.contact_offset, reference.geometry.normal, friction)
        plain, with_learner = rigid_impact_map(robot)(*arguments), learner.predict(*arguments)
        np.testing.assert_allclose(with_learner.velocity, plain.velocity, rtol=1e-12)
        assert with_learner.slip is plain.slip


def test_what_is_learned_of_one_surface_is_not_used_for_another():
    robot = robot_of(TABLETOP.robot)
    rough = TABLETOP.with_overrides({"actual_environment.surface.friction": 0.35, "task.impact.heading": [-1, 0, 0]})
    learner = ImpactLearner(rough, robot)
    teach(learner, rough, run_scenario(rough, until=1.3))
    assert learner.friction(0.1) == learner.belief.estimate[0] > 0.2
    assert learner.friction(0.2) == 0.2
    inertia = learner.inertia(np.eye(7))
    expected = np.eye(7) + learner.inertia_scale * np.diag(robot.transmission.reduced_motor_inertia)
    np.testing.assert_allclose(inertia, expected)


def test_an_impact_without_its_samples_teaches_nothing():
    course = run_scenario(TABLETOP, until=1.02)
    learner = ImpactLearner(TABLETOP, robot_of(TABLETOP.robot))
    before = learner.belief
    with pytest.raises(InvalidInputError, match="samples"):
        teach(learner, TABLETOP, replace(course, arms={"": replace(course.single, detection_time=1.019)}))
    assert learner.belief is before and learner.impacts == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("prediction.adapt", "yes"),
        ("prediction.friction_deviation", -0.1),
        ("prediction.restitution_deviation", 1.5),
        ("prediction.inertia_scale_deviation", 5.1),
        ("prediction.velocity_deviation", "0 rad/s"),
        ("prediction.velocity_deviation", 0.05),
        ("prediction.memory", 0),
    ],
)
def test_settings_without_meaning_are_refused(key, value):
    with pytest.raises(ScenarioError) as caught:
        TABLETOP.with_overrides({key: value})
    assert caught.value.key == key


def test_several_contacts_are_not_learned_from():
    with pytest.raises(ScenarioError, match="4 contact points") as caught:
        load_scenario("tabletop_plate").with_overrides({"prediction.adapt": True})
    assert caught.value.key == "prediction.adapt"
