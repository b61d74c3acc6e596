"""Wang's Fig. 9 and Table I: predictions, measurement of an impulse, control modes, and the study on one case."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from free_mass_trials import free_mass_trial
from impact_control.impacts import NonlinearViscoelastic
from impact_control.robots import Dynamics, InertiaModel, contact_point_jacobian, load_robot
from impact_studies.catalogue import wang_impulse
from impact_studies.frame.runner import run_study
from impact_studies.frame.study import Mark, tally
from impact_studies.frame.trials import run_trials
from impact_studies.wang import published
from impact_studies.wang.evaluation import Limit, Reading, best, crossing, evaluate_case, mean_error, ratio_table
from impact_studies.wang.impacts import Impact, observation, run_impact
from impact_studies.wang.measurement import end_of_compression, end_of_push, fit_push, impulse_until, measure
from impact_studies.wang.options import (
    CONFIGURATIONS,
    OPTIONS_OF_WANG,
    InertiaOption,
    contact_jacobians_of,
    predicted_impulses,
    prepare_approach,
)
from impact_studies.wang.trials import DRIVE_PERIOD, FORCE_NOISE, ControlMode, run_trial, wall

ROBOT = load_robot()
APPROACHES = [prepare_approach(ROBOT, configuration) for configuration in CONFIGURATIONS]
SPEED = 0.12

configurations = pytest.mark.parametrize("approach", APPROACHES, ids=lambda approach: approach.configuration.name)


def predictions_at(approach, speed=1.0):
    return predicted_impulses(ROBOT, approach.position, speed * approach.velocity_per_speed, approach.normal)


def stopping_impulse(inertia, jacobian, normal, velocity):
    """The impulse that makes the normal velocity zero, from momentum and constraint in one linear system."""
    row = normal @ jacobian
    size = row.size
    system = np.block([[inertia, -row[:, None]], [row[None, :], np.zeros((1, 1))]])
    return np.linalg.solve(system, np.concatenate((inertia @ velocity, [0.0])))[size]


def test_the_printed_table_divides():
    # Rounded to half of 1e-4 m/s, on at least 0.04 m/s.
    np.testing.assert_allclose(published.APPROXIMATION / published.EXACT, published.RATIO, atol=1.5e-3)


@configurations
def test_the_arm_goes_straight_into_a_wall_that_its_sphere_touches(approach):
    dynamics = Dynamics(ROBOT)
    dynamics.compute(approach.position, approach.velocity_per_speed)
    np.testing.assert_allclose(dynamics.twist, [*-approach.normal, 0.0, 0.0, 0.0], atol=1e-9)
    assert approach.normal[2] == 0.0
    assert np.linalg.norm(approach.point - dynamics.position) == pytest.approx(ROBOT.end_effector.radius)
    tool = dynamics.rotation[:, 2]
    assert approach.normal @ tool == pytest.approx(-np.hypot(tool[0], tool[1]))


@configurations
def test_the_configurations_are_what_they_are_chosen_for(approach):
    contact, average = contact_jacobians_of(ROBOT, approach.position, approach.normal)
    velocity = approach.velocity_per_speed
    ratio = (approach.normal @ average @ velocity) / (approach.normal @ contact @ velocity)
    row = APPROACHES.index(approach)
    assert ratio == pytest.approx(published.RATIO[row].mean(), abs=0.01)
    impulses = predictions_at(approach)
    assert (
        impulses[InertiaOption.ALGEBRAIC]
        > impulses[InertiaOption.COMPOSITE]
        > impulses[InertiaOption.GENERALIZED_MOMENTUM]
    )


@configurations
def test_joint_space_options_stop_the_contact_by_an_independent_solution(approach):
    dynamics = Dynamics(ROBOT)
    dynamics.compute(approach.position, np.zeros(7))
    jacobian = contact_point_jacobian(dynamics.jacobian, approach.point - dynamics.position)
    impulses = predictions_at(approach, SPEED)
    for option, model in (
        (InertiaOption.GENERALIZED_MOMENTUM, InertiaModel.LINKS),
        (InertiaOption.REDUCED_MOTORS, InertiaModel.REDUCED_MOTORS),
        (InertiaOption.MOTORS, InertiaModel.MOTORS),
    ):
        expected = stopping_impulse(
            dynamics.inertia(model), jacobian, approach.normal, SPEED * approach.velocity_per_speed
        )
        assert impulses[option] == pytest.approx(expected, rel=1e-9)


@configurations
def test_predictions_are_proportional_to_the_speed_and_ordered_by_the_inertia(approach):
    slow, fast = predictions_at(approach, 0.08), predictions_at(approach, 0.16)
    for option in InertiaOption:
        assert fast[option] == pytest.approx(2.0 * slow[option])
    motors = [InertiaOption.GENERALIZED_MOMENTUM, InertiaOption.REDUCED_MOTORS, InertiaOption.MOTORS]
    assert sorted(motors, key=slow.get) == motors


def test_end_of_compression_between_samples():
    time = np.arange(-0.001, 0.02, DRIVE_PERIOD)
    assert end_of_compression(time, np.cos(400.0 * time)) == pytest.approx(0.5 * np.pi / 400.0, rel=1e-5)
    assert math.isnan(end_of_compression(time, np.ones_like(time)))


def test_impulse_is_the_integral_from_the_touch():
    # The touch lies between samples; 3.3 ms is none.
    time = -0.0011 + DRIVE_PERIOD * np.arange(60)
    force = np.where(time > 0.0, 200.0 * np.sin(300.0 * time), 0.0)
    expected = 200.0 / 300.0 * (1.0 - np.cos(300.0 * 0.0033))
    assert impulse_until(time, force, 0.0033) == pytest.approx(expected, rel=1e-4)
    assert math.isnan(impulse_until(time, force, math.nan))


def test_first_push_ends_where_the_force_is_gone_or_rises_again():
    random = np.random.default_rng(3)
    time = -0.002 + DRIVE_PERIOD * np.arange(160)
    noise = np.clip(FORCE_NOISE * random.standard_normal(time.size), -3.0 * FORCE_NOISE, 3.0 * FORCE_NOISE)
    hump = np.where((time > 0.0) & (time < 0.01), 200.0 * np.sin(np.pi * time / 0.01), 0.0)
    again = np.where((time > 0.02) & (time < 0.03), 300.0 * np.sin(np.pi * (time - 0.02) / 0.01), 0.0)
    end, separates = end_of_push(time, hump + again + noise)
    assert separates
    assert time[end] == pytest.approx(0.01, abs=DRIVE_PERIOD)
    # 100 N + 50 N cos has its first smallest value 10 ms after the largest, at the touch plus 2 ms.
    waves = np.where(
        time > 0.002, 100.0 + 50.0 * np.cos(np.pi * (time - 0.002) / 0.01), 75.0 * np.maximum(time, 0) / 1e-3
    )
    end, separates = end_of_push(time, waves + noise)
    assert not separates
    assert time[end] == pytest.approx(0.012, abs=1.5e-3)
    constant = np.where(time > 0.0, 100.0, 0.0)
    assert end_of_push(time, constant) == (time.size - 1, False)


@pytest.mark.parametrize("stiffness", [1e5, 1e6])
@pytest.mark.parametrize("damping_over_stiffness", [2.0, 8.0])
def test_both_readings_find_the_momentum_of_a_free_mass(stiffness, damping_over_stiffness):
    mass = 5.0
    law = NonlinearViscoelastic(stiffness, damping_over_stiffness * stiffness)
    impact, trial = free_mass_trial(law, mass, SPEED)
    impulses = measure(trial)
    assert impulses.compression == pytest.approx(mass * SPEED, rel=3e-3)
    assert impulses.fitted == pytest.approx(mass * SPEED, rel=6e-3)
    assert impulses.fitted_mass == pytest.approx(mass, rel=6e-3)
    assert impulses.compression_time == pytest.approx(impact.compression_end, rel=3e-3)
    assert impulses.fitted_restitution == pytest.approx(impact.restitution, abs=0.02)
    assert impulses.printed_restitution == pytest.approx(1.0 / (damping_over_stiffness * SPEED), rel=0.05)
    assert impulses.misfit < 1e-2


def test_noise_of_the_force_sensor_hardly_moves_the_fit():
    law = NonlinearViscoelastic(1e6, 8e6)
    impulses = measure(free_mass_trial(law, 5.0, SPEED, FORCE_NOISE)[1])
    assert impulses.fitted == pytest.approx(5.0 * SPEED, rel=0.01)


def test_a_given_mass_decides_the_stop_of_the_fitted_law():
    approach = APPROACHES[1]
    trial = run_trial(ROBOT, approach, ControlMode.TORQUE_HELD, SPEED)
    free = fit_push(trial)
    assert free.fitted == measure(trial).fitted
    mass = predicted_impulses(ROBOT, trial.position, trial.velocity, approach.normal)[InertiaOption.COMPOSITE]
    mass /= trial.speed
    assert mass > 1.3 * free.fitted_mass
    # A free mass stops when it has given up its momentum, which the fitted force has to be near to.
    assert fit_push(trial, mass).fitted == pytest.approx(mass * trial.speed, rel=0.03)
    assert fit_push(trial, free.fitted_mass).fitted_time == pytest.approx(free.fitted_time, rel=1e-3)


def limits_of(masses, option_mass):
    _, trial = free_mass_trial(NonlinearViscoelastic(1e6, 4e6), 5.0, SPEED)
    impulses = measure(trial)
    approach = APPROACHES[0]
    return [
        Limit(
            approach,
            ControlMode.TORQUE_HELD,
            stiffness,
            0.6,
            replace(impulses, compression=mass * impulses.speed),
            math.nan,
            dict.fromkeys(InertiaOption, option_mass),
        )
        for stiffness, mass in masses.items()
    ]


def test_crossing_is_taken_over_the_logarithm_of_the_stiffness():
    limits = limits_of({1e5: 9.0, 1e7: 5.0}, 7.0)
    assert crossing(limits, InertiaOption.COMPOSITE, Reading.EXACT) == pytest.approx(1e6)
    assert crossing(limits_of({1e5: 9.0, 1e7: 8.0}, 7.0), InertiaOption.COMPOSITE, Reading.EXACT) is None
    twice = limits_of({1e5: 8.0, 1e6: 6.0, 1e7: 8.0}, 7.0)
    assert crossing(twice, InertiaOption.COMPOSITE, Reading.EXACT) == pytest.approx(10.0**6.5)


@configurations
def test_a_stiff_wall_sees_the_links_alone_whatever_the_motors_do(approach):
    links = predictions_at(approach)[InertiaOption.GENERALIZED_MOMENTUM]
    for mode in (ControlMode.TORQUE_HELD, ControlMode.VELOCITY_DRIVE, ControlMode.MOTORS_LOCKED):
        excess = []
        for stiffness in (1e6, 1e7):
            trial = run_trial(ROBOT, approach, mode, SPEED, surface=wall(approach, stiffness))
            stop = end_of_compression(trial.time, trial.penetration_rate)
            excess.append(impulse_until(trial.time, trial.exact_force, stop) / trial.speed / links - 1.0)
        assert 0.0 < excess[1] < 0.1
        assert excess[1] < 0.5 * excess[0]


@configurations
def test_a_soft_wall_sees_the_reduced_motors_under_torque_control(approach):
    expected = predictions_at(approach)[InertiaOption.REDUCED_MOTORS]
    impulses = measure(run_trial(ROBOT, approach, ControlMode.TORQUE_HELD, SPEED, surface=wall(approach, 2e5)))
    assert impulses.fitted / impulses.speed == pytest.approx(expected, rel=0.03)
    assert impulses.compression / impulses.speed == pytest.approx(expected, rel=0.03)


def test_the_velocity_loop_comes_near_to_motors_that_nothing_slows_down():
    drive, locked = (
        measure(run_trial(ROBOT, APPROACHES[0], mode, SPEED))
        for mode in (ControlMode.VELOCITY_DRIVE, ControlMode.MOTORS_LOCKED)
    )
    assert drive.speed == pytest.approx(SPEED, rel=2e-3)
    assert drive.compression / drive.speed == pytest.approx(locked.compression / locked.speed, rel=0.03)
    assert drive.push > measure(run_trial(ROBOT, APPROACHES[0], ControlMode.TORQUE_HELD, SPEED)).push


def test_an_impact_is_detected_and_pulls_the_arm_back():
    trial = run_trial(ROBOT, APPROACHES[0], ControlMode.VELOCITY_DRIVE, SPEED)
    assert 0.0 < trial.detection < 5e-3
    assert math.isnan(run_trial(ROBOT, APPROACHES[0], ControlMode.TORQUE_HELD, SPEED).detection)


def test_a_seed_repeats_a_trial_and_another_does_not():
    first, again, other = (
        run_trial(ROBOT, APPROACHES[1], ControlMode.VELOCITY_DRIVE, SPEED, seed=seed)
        for seed in ((4, 1), (4, 1), (4, 2))
    )
    np.testing.assert_array_equal(first.force, again.force)
    assert not np.array_equal(first.exact_force[first.time > 0.0][:20], other.exact_force[other.time > 0.0][:20])
    assert first.speed != other.speed
    assert first.speed == pytest.approx(SPEED, rel=0.05)


def test_a_case_gives_errors_ratio_and_the_nearest_option():
    mode = ControlMode.TORQUE_HELD
    impacts = [Impact(CONFIGURATIONS[0], mode, SPEED, seed=(0, trial)) for trial in (0, 1)]
    found = [observation(arrays) for arrays in run_trials(run_impact, impacts, None, lambda *_: None)]
    case = evaluate_case(ROBOT, APPROACHES[0], mode, SPEED, found)
    for reading in Reading:
        errors = {option: mean_error([case], option, reading) for option in InertiaOption}
        assert best([case], InertiaOption, reading) is min(errors, key=errors.get)
        predicted = case.predictions[InertiaOption.ALGEBRAIC]
        assert errors[InertiaOption.ALGEBRAIC] == pytest.approx(predicted / case.measured(reading).mean() - 1.0)
    assert best([case], OPTIONS_OF_WANG, Reading.FITTED) in OPTIONS_OF_WANG
    # A row for each configuration, a column for each speed.
    other = replace(case, approach=APPROACHES[1], velocity=SPEED * APPROACHES[1].velocity_per_speed)
    both = [replace(one, velocity=factor * one.velocity) for one in (case, other) for factor in (1.0, 2.0)]
    table = ratio_table(ROBOT, both)
    np.testing.assert_allclose(table.exact, [[SPEED, 2.0 * SPEED]] * 2, rtol=0.05)
    np.testing.assert_allclose(table.ratio, [[row.mean()] * 2 for row in published.RATIO[:2]], atol=0.02)


def test_the_study_runs_from_one_case_of_each_mode_to_its_report(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(wang_impulse, "CONFIGURATIONS", CONFIGURATIONS[:1])
    monkeypatch.setattr(wang_impulse, "_QUICK_REPETITIONS", 1)
    monkeypatch.setattr(wang_impulse, "WALLS", (2e5, 2e5, 1e6, 1e6, 1e7))
    monkeypatch.setattr(wang_impulse.published, "SPEEDS", (0.08, 0.12))
    progress = []
    run = run_study(wang_impulse.STUDY, tmp_path, seed=1, quick=True, progress=lambda done, text: progress.append(done))
    result, report = run.result, run.report
    assert report.is_file()
    assert progress == sorted(progress)
    assert progress[-1] == 1.0
    assert [len(table.rows) for table in result.tables] == [4, 2, 6, 5, 6, 4, 2, 2, 2, 2]
    pictures = ["areas", "fits", "forces", "impulses", "profiles", "restitutions", "walls"]
    assert sorted(path.stem for path in report.parent.glob("*.png")) == pictures
    compared = [one for one in result.comparisons if one.where == "Table I"]
    # Speed of the contact, of the composite rigid body, their ratio at one speed, and its mean.
    assert [one.published for one in compared] == [0.0756, 0.0699, 0.9248, 0.9248]
    assert [one.own for one in compared] == pytest.approx([0.08, 0.0734, 0.917, 0.917], rel=0.05)
    (profile,) = (one for one in result.comparisons if one.what.startswith("contact velocity, configuration one"))
    assert (profile.published, profile.own) == (0.0755, compared[0].own)
    assert all(math.isfinite(cell) for row in result.tables[1].rows for cell in row if isinstance(cell, float))
    assert "M + B_theta" in result.verdict
    claims = [one.mark for one in result.findings[: 2 * len(Reading)]]
    assert result.holds is (Mark.BAD not in claims)
    assert result.verdict.endswith(tally(result.comparisons))
