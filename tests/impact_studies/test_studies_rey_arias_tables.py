"""The study of Tables III and IV: published numbers, set-up, one experiment end to end, evaluation, tables."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from impact_control.observation.post_impact_velocity import gross_post_impact_velocity
from impact_control.robots import Dynamics, InertiaModel, contact_point_jacobian, load_robot
from impact_control.simulation import FlexibleJointPlant
from impact_control.util.errors import ImpactControlError
from impact_studies.catalogue import rey_arias_tables
from impact_studies.frame.study import Mark, tally
from impact_studies.rey_arias import published
from impact_studies.rey_arias.comparisons import (
    coloured,
    comparisons,
    condition_comparisons,
    course_comparisons,
    error_comparisons,
    growth,
)
from impact_studies.rey_arias.evaluation import (
    DAMPED,
    Outcome,
    course_of,
    error_of_noise,
    evaluate_type,
    identify_friction,
    mean_prediction_error,
    mean_restitution,
    observe,
    ringing_time,
)
from impact_studies.rey_arias.experiments import (
    COAST,
    PUSH,
    TOOL_DOWN,
    TYPES,
    UP,
    Trial,
    impact_configuration,
    prepare,
    run_trial,
)
from impact_studies.rey_arias.statements import findings, verdict
from impact_studies.rey_arias.tables import tables

ROBOT = load_robot("panda", "sphere", "rey_arias_2024")
TYPE_4 = TYPES[3]


@pytest.fixture(scope="module")
def setting():
    return prepare(ROBOT, TYPE_4)


@pytest.fixture(scope="module")
def trials(setting):
    plant = FlexibleJointPlant(ROBOT, setting.start)
    return [run_trial(plant, setting, noise=1.0, seed=seed) for seed in (1, 2)]


@pytest.fixture(scope="module")
def evaluation(trials):
    return evaluate_type(ROBOT, trials)


def outcome_of(evaluation, shown):
    """The same evaluation for all types."""
    return Outcome((evaluation,) * 10, shown, ROBOT.noise.position, 1e-3)


def at_impact(experiment):
    """Contact point Jacobian and axis of the tool at the impact."""
    q = impact_configuration(ROBOT, experiment)
    dynamics = Dynamics(ROBOT)
    dynamics.compute(q, experiment.ante_velocity)
    jacobian = contact_point_jacobian(dynamics.jacobian, -ROBOT.end_effector.radius * UP)
    return jacobian, dynamics.rotation[:, 2].copy(), dynamics.position.copy()


def test_the_published_tables_agree_with_each_other_and_with_the_text():
    np.testing.assert_array_equal(published.ERROR_REDUCED_MOTORS, published.ERROR_WITH_FRICTION)
    assert np.max(published.ERROR_REDUCED_MOTORS) < published.LARGEST_ERROR
    gain = published.ERROR_MOTORS - published.ERROR_REDUCED_MOTORS
    assert np.count_nonzero(gain[:, 5] >= published.SIGNIFICANT) > 5  # joint 6: "for most experiment types"
    assert np.all(gain[:, 4] < 0.0)  # joint 5: "slightly worse"
    for array in (published.ERROR_MOTORS, published.ERROR_WITHOUT_FRICTION, published.GROSS_POST_VELOCITY):
        assert array.shape == published.ANTE_VELOCITY.shape == (10, 7)


@pytest.mark.parametrize("experiment", TYPES, ids=lambda experiment: str(experiment.number))
def test_the_published_velocities_fit_the_configurations(experiment):
    """They lead into the plate, in the direction of Table II, and the tip of a tilted tool leads."""
    jacobian, tool, place = at_impact(experiment)
    velocity = jacobian @ experiment.ante_velocity
    axis, sign = experiment.heading
    heading = sign * np.eye(2)[axis]
    assert velocity[2] < -0.03
    assert velocity[:2] @ heading > 0.05
    assert place == pytest.approx(experiment.place, abs=1e-8)
    assert np.arccos(-tool[2]) == pytest.approx(np.deg2rad(abs(experiment.tilt)), abs=1e-6)
    assert tool[:2] @ heading == pytest.approx(np.sin(np.deg2rad(abs(experiment.tilt))), abs=1e-6)


def test_the_force_ends_before_the_impact_and_the_arm_moves_as_published(setting, trials):
    trial = trials[0]
    assert trial.contact_time == pytest.approx(PUSH + COAST, abs=5e-3)
    speed = np.linalg.norm(trial.exact_velocity, axis=1)
    assert np.all(speed[0] == 0.0)
    coasting = speed[(trial.time > PUSH + 0.02) & (trial.time < trial.contact_time)]
    assert coasting[-1] < coasting[0] - 0.01
    before = trial.exact_velocity[trial.time < trial.contact_time][-1]
    assert before == pytest.approx(TYPE_4.ante_velocity, abs=np.deg2rad(1.5))


def test_the_impact_is_found_within_a_sample_of_the_contact(evaluation):
    for impact in evaluation.impacts:
        assert -1e-3 <= impact.delay <= 1e-3


def test_repetitions_differ_and_can_be_repeated(setting, trials):
    again = run_trial(FlexibleJointPlant(ROBOT, setting.start), setting, noise=1.0, seed=1)
    for field in dataclasses.fields(again):
        np.testing.assert_array_equal(getattr(again, field.name), getattr(trials[0], field.name))
    assert np.any(trials[0].exact_position != trials[1].exact_position)


def test_the_map_predicts_the_motion_in_the_plane_of_the_impact(evaluation):
    """Type 4 stays in the plane of joints 2, 4 and 6, whose jumps are 7, 2 and 1 deg/s with friction."""
    jump = evaluation.gross - evaluation.ante
    assert abs(jump[1]) > 5.0
    assert np.all(evaluation.error_exact < 0.15 * abs(jump[1]))
    assert np.all(evaluation.error_exact[[0, 2, 4, 6]] < 0.3)
    assert evaluation.error_without_friction[5] > 10.0 * evaluation.error_exact[5]


def test_the_friction_of_the_plate_comes_back(evaluation):
    """Also the error at the minimum is that of the prediction with the coefficient found."""
    estimate = evaluation.friction
    assert estimate.coefficient == pytest.approx(published.FRICTION_COEFFICIENT, rel=0.1)
    error = mean_prediction_error(evaluation.impacts, InertiaModel.REDUCED_MOTORS, estimate.coefficient)
    assert estimate.error == pytest.approx(np.mean(error))


def test_impacts_of_the_map_are_predicted_without_error(evaluation):
    impact = evaluation.impacts[0]
    made = dataclasses.replace(impact, gross_velocity=impact.predict(InertiaModel.MOTORS, 0.2).velocity)
    assert made.rebound == pytest.approx(0.0, abs=1e-12)
    assert mean_prediction_error([made], InertiaModel.MOTORS, 0.2) == pytest.approx(np.zeros(7))
    assert identify_friction([made], InertiaModel.MOTORS).coefficient == pytest.approx(0.2, abs=1e-4)
    thrown = dataclasses.replace(impact, gross_velocity=impact.predict(InertiaModel.MOTORS, 0.2, 0.4).velocity)
    assert mean_restitution([thrown]) == pytest.approx(0.4)
    assert mean_restitution([thrown, made]) == pytest.approx(0.2)
    pressed = dataclasses.replace(impact, gross_velocity=impact.ante_velocity)
    assert mean_restitution([pressed]) == 0.0


def test_the_error_of_noise_is_that_of_many_noisy_samples():
    """Positions at rest with noise alone, in 4000 joints."""
    time = np.arange(200) * 1e-3
    position = np.random.default_rng(0).normal(0.0, 2.5e-4, (time.size, 4000))
    found = np.rad2deg(np.mean(np.abs(gross_post_impact_velocity(time, position, time[50]))))
    assert error_of_noise(2.5e-4, 1e-3) == pytest.approx(found, rel=0.05)


def test_a_trial_without_contact_is_refused(trials):
    with pytest.raises(ImpactControlError, match="no impact"):
        observe(ROBOT, dataclasses.replace(trials[0], contact_time=np.nan))


def test_tables_hold_the_published_numbers_below_ours(evaluation, trials):
    outcome = outcome_of(evaluation, trials[0])
    by_name = {table.name: table for table in tables(outcome)}
    third, fourth = by_name["table_iii"], by_name["table_iv"]
    rows = np.array([row[2:] for row in third.rows], dtype=float)
    np.testing.assert_array_equal(rows[1::2, 0::2], published.ERROR_REDUCED_MOTORS)
    np.testing.assert_array_equal(rows[1::2, 1::2], published.ERROR_MOTORS)
    np.testing.assert_array_equal(rows[0, 0::2], evaluation.error_reduced_motors)
    rows = np.array([row[2:] for row in fourth.rows], dtype=float)
    np.testing.assert_array_equal(rows[1::2, 1::2], published.ERROR_WITHOUT_FRICTION)
    # Type 1, joint 6: 2.97 against 10.06 with B_rho, and 2.18 without friction.
    assert third.mark(1, 12) is Mark.GOOD
    assert third.mark(1, 2) is Mark.PLAIN
    # Type 3, joint 6: 5.39 with friction, 3.08 without.
    assert fourth.mark(5, 12) is Mark.BAD
    rows = np.array([row[1:] for row in by_name["joint_means"].rows], dtype=float)
    assert rows[5, 1] == pytest.approx(published.ERROR_REDUCED_MOTORS[:, 5].mean())
    assert rows[-1] == pytest.approx(rows[:-1].mean(axis=0))


def test_sentences_follow_the_numbers(evaluation, trials):
    outcome = outcome_of(evaluation, trials[0])
    holds, sentence = verdict(outcome)
    assert holds and sentence.startswith("The main claims hold: B_theta is better")
    swapped = dataclasses.replace(
        evaluation,
        error_reduced_motors=evaluation.error_without_friction,
        error_without_friction=evaluation.error_reduced_motors,
    )
    wrong = outcome_of(swapped, trials[0])
    holds, sentence = verdict(wrong)
    assert not holds and sentence.startswith("The main claims do not all hold") and "does not improve" in sentence
    assert sum(finding.mark is Mark.BAD for finding in findings(wrong)) > sum(
        finding.mark is Mark.BAD for finding in findings(outcome)
    )


def test_the_verdict_of_the_study_says_what_holds_beside_its_main_claims_and_what_does_not(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = rey_arias_tables.STUDY.run(0, True, lambda *_: None)
    assert result.holds and Mark.BAD in {one.mark for one in result.comparisons}
    assert result.verdict.startswith("The main claims hold: ")
    assert result.verdict.endswith(tally(result.comparisons))
    assert "Those that do not: " in result.verdict


TIME = np.arange(600) * 1e-3
HIT = 0.45


def made_trial(velocity):
    """A trial whose joints have these velocities (600, 7) [rad/s], without noise."""
    position = np.cumsum(velocity, axis=0) * 1e-3
    return Trial(TIME, position, velocity, position, velocity, HIT)


@pytest.mark.parametrize("decay", [5e-3, 10e-3, 20e-3])
def test_an_oscillation_is_over_when_it_has_decayed_and_a_drift_is_none(decay):
    """exp(-t / decay) falls to a part p after decay ln(1 / p), seen in steps of 5 ms."""
    since = TIME - HIT
    after = np.maximum(since, 0.0)
    swing = np.where(since >= 0.0, np.exp(-after / decay) * np.sin(2.0 * np.pi * 100.0 * after), 0.0)
    velocity = np.outer(swing, np.ones(7)) + np.outer(0.3 - 0.5 * since, np.arange(7.0))
    assert ringing_time(since, velocity) == pytest.approx(decay * np.log(1.0 / DAMPED), abs=6e-3)
    assert np.isinf(ringing_time(since, np.outer(np.sin(2.0 * np.pi * 100.0 * since), np.ones(7))))


def test_the_course_of_a_trial_is_that_of_its_velocities():
    """Joint 1 jumps 3 ms after joint 6; the arm is at its fastest when the force ends."""
    velocity = np.zeros((600, 7))
    velocity[:, 1] = np.interp(TIME, [0.0, PUSH, HIT, 0.6], [0.0, 0.5, 0.4, 0.1])
    velocity[TIME >= HIT, 5] += 0.2
    velocity[TIME >= HIT + 3e-3 - 1e-9, 0] -= 0.1
    course = course_of(made_trial(velocity), HIT)
    assert course.force_ends == pytest.approx(0.5)
    assert course.before == pytest.approx(0.402, abs=1e-6)
    assert course.lag == pytest.approx(3e-3)
    assert course.last == pytest.approx(np.linalg.norm(velocity[-1]))
    assert course.recorded == pytest.approx(TIME[-1] - HIT)


def test_joint_6_has_grown_by_what_it_has_at_the_sample_of_the_impact(evaluation, trials):
    impact = evaluation.impacts[0]
    velocity = trials[0].velocity.copy()
    at_impact = int(np.flatnonzero(trials[0].time >= impact.time - 1e-9)[0])
    jump = np.sign(impact.gross_velocity[5] - impact.ante_velocity[5])
    velocity[at_impact, 5] = impact.ante_velocity[5] + jump * np.deg2rad(1.5)
    shown = dataclasses.replace(trials[0], velocity=velocity)
    assert growth(outcome_of(evaluation, shown)) == pytest.approx(1.5)


def test_statements_on_the_course_follow_it(evaluation, trials):
    def marks(**changed):
        """Verdicts on deceleration and lag, with courses that differ."""
        courses = tuple(dataclasses.replace(course, **changed) for course in evaluation.courses)
        one = dataclasses.replace(evaluation, courses=courses)
        rows = course_comparisons(outcome_of(one, trials[0]))
        return [row.mark for row in rows if row.mark is not Mark.PLAIN]

    assert marks(before=0.4, force_ends=0.5, lag=1e-3) == [Mark.GOOD, Mark.GOOD]
    assert marks(before=0.6, force_ends=0.5, lag=0.0) == [Mark.BAD, Mark.BAD]
    assert marks(before=0.4, force_ends=0.5, lag=float("nan"))[1] is Mark.BAD


def test_conditions_are_those_of_the_type_and_of_no_other(evaluation, trials):
    """Type 4, forward with a level tool, in the place of all types."""
    rows = condition_comparisons(outcome_of(evaluation, trials[0]))
    assert [i + 1 for i, row in enumerate(rows) if row.mark is Mark.GOOD] == [4]
    np.testing.assert_allclose(evaluation.tilt, 0.0, atol=1.0)
    turned = dataclasses.replace(evaluation.impacts[0], rotation=tilted(-0.2) @ TOOL_DOWN)
    np.testing.assert_allclose(turned.tilt, [0.0, -0.2, 0.0], atol=1e-12)
    np.testing.assert_allclose(turned.motion[2], -turned.approach)


def tilted(angle):
    """A turn about y [rad]."""
    return np.array([[np.cos(angle), 0.0, np.sin(angle)], [0.0, 1.0, 0.0], [-np.sin(angle), 0.0, np.cos(angle)]])


def test_each_type_has_its_published_errors_beside_ours(evaluation, trials):
    outcome = outcome_of(evaluation, trials[0])
    rows = error_comparisons(outcome)
    assert len(rows) == 80
    numbers = {(row.where, row.what): (row.published, row.own) for row in rows if not isinstance(row.own, str)}
    assert numbers["Table III", "type 1: error of joint 6, B_rho"] == (10.06, evaluation.error_motors[5])
    published_mean, own = numbers["Table IV", "type 9: mean error, B_theta without friction"]
    assert published_mean == pytest.approx((0.19 + 1.77 + 1.44 + 0.66 + 5.21 + 10.84 + 0.56) / 7.0)
    assert own == pytest.approx(evaluation.error_without_friction.mean())
    words = {(row.where, row.what): row.published for row in rows if isinstance(row.own, str)}
    assert words["Table III", "type 5: joints better (green), worse (red) with B_theta"] == "green 6; red 4, 5"
    assert words["Table IV", "type 3: joints better (green), worse (red) with friction"] == "green 2, 4; red 6"
    assert set(rows) < set(comparisons(outcome))


def test_coloured_cells_hold_when_they_have_the_same_colour():
    printed = np.array([0.0, 2.0, -0.9, 0.0, -1.5, 1.0, 0.2])
    same = coloured("", "", printed, np.array([3.0, 1.0, 0.0, 0.0, -1.2, 1.4, 0.0]))
    assert (same.published, same.own) == ("green 2, 6; red 5", "green 1, 2, 6; red 5; 3 of the 3 of the source")
    assert same.mark is Mark.GOOD
    # In the same direction, but by less than the source colours.
    small = coloured("", "", printed, np.array([0.0, 1.0, 0.0, 0.0, -0.9, 1.4, 0.0]))
    assert (small.own, small.mark) == ("green 2, 6; 2 of the 3 of the source", Mark.BAD)
    assert coloured("", "", printed, np.array([0.0, 2.0, 0.0, 0.0, 1.5, 1.0, 0.0])).mark is Mark.BAD
    none = coloured("", "", 0.1 * printed, printed)
    assert (none.published, none.mark) == ("none", Mark.PLAIN)
