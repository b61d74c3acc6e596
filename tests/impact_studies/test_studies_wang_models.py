"""Wang's Figs 3, 4 and 5: the area of a virtual spring, the fitted models, and what is said of them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import trapezoid

from free_mass_trials import free_mass_trial
from impact_control.impacts import LinearSpring, Maxwell, NonlinearViscoelastic
from impact_control.robots import load_robot
from impact_studies.frame.study import Mark
from impact_studies.models.contact_identification.contact_model import ContactModel
from impact_studies.models.impacts.inverse_inertia import ContactVelocityTable
from impact_studies.wang.comparisons import LEFT, NO_RISE, model_comparisons, rate_comparisons, spring_wall_finding
from impact_studies.wang.evaluation import FittedImpact
from impact_studies.wang.figures import draw_profiles
from impact_studies.wang.impacts import LOSSLESS, MODELS, MassOf, ModelCase, ModelFits, model_fits
from impact_studies.wang.measurement import (
    SpringArea,
    allowed_force,
    compression_of,
    force_spline,
    peak_of,
    spring_area,
)
from impact_studies.wang.options import CONFIGURATIONS, prepare_approach
from impact_studies.wang.tables import area_table
from impact_studies.wang.trials import DRIVE_PERIOD, RESTITUTION, WALL_STIFFNESS, ControlMode, Trial, run_trial, wall

MASS, SPEED = 6.0, 0.12
SPEEDS = (0.08, 0.10, 0.12)
QUARTER = 4e-3
"""[s] that the compression of the virtual springs below takes."""

MAXWELL, VISCOELASTIC = ContactModel.MAXWELL, ContactModel.NONLINEAR_VISCOELASTIC


def virtual_spring_trial(restitution):
    """A virtual spring whose force is 250 N at most: a quarter of a sine, and one that takes e times as long."""
    time = -0.0021 + DRIVE_PERIOD * np.arange(100)
    quarter = 0.5 * np.pi / QUARTER
    opening = np.maximum(time - QUARTER, 0.0) / restitution
    force = 250.0 * np.where(time < QUARTER, np.sin(quarter * time), np.cos(quarter * opening))
    force[(time < 0.0) | (opening > QUARTER)] = 0.0
    rate = SPEED * np.where(time < 0.0, 1.0, np.cos(quarter * time))
    return Trial(time, force, force, rate, np.zeros(7), np.zeros(7), SPEED, math.nan)


@pytest.mark.parametrize("restitution", [0.3, 0.7, 0.95])
def test_a_virtual_spring_with_a_restitution_up_to_1_stays_in_its_area(restitution):
    area = spring_area(virtual_spring_trial(restitution))
    assert area.peak_time == pytest.approx(QUARTER, abs=0.02 * QUARTER)
    assert area.phase == pytest.approx(1.0, abs=0.02)
    assert area.required_restitution == pytest.approx(restitution, abs=0.03)
    assert math.isnan(area.leaves)
    assert area.outside < 0.01


def test_a_virtual_spring_with_a_larger_restitution_leaves_the_area_by_what_it_has_too_much():
    area = spring_area(virtual_spring_trial(1.5))
    assert area.required_restitution == pytest.approx(1.5, abs=0.03)
    # Of an impulse of 1.5 after the peak, 1 is inside.
    assert area.outside == pytest.approx(1.0 / 3.0, abs=0.01)
    assert QUARTER < area.leaves < 1.3 * QUARTER


def test_the_areas_lie_in_each_other_and_hold_the_impulse_of_their_restitution():
    trial = virtual_spring_trial(1.0)
    spline = force_spline(trial.time, trial.force)
    time = np.linspace(-0.001, 0.01, 4001)
    forces = [allowed_force(spline, QUARTER, restitution, time) for restitution in (0.0, 0.4, 0.8, 1.0)]
    before = spline.integrate(0.0, QUARTER)
    for force, restitution in zip(forces, (0.0, 0.4, 0.8, 1.0), strict=True):
        assert np.all(force[time < 0.0] == 0.0)
        assert trapezoid(force, time) == pytest.approx((1.0 + restitution) * before, rel=2e-3)
    for smaller, larger in pairwise(forces):
        assert np.all(smaller <= larger + 1e-9)


def test_peak_between_samples():
    samples = DRIVE_PERIOD * np.arange(1, 40)
    spline = force_spline(np.concatenate(([0.0], samples)), 100.0 * np.sin(400.0 * np.concatenate(([0.0], samples))))
    assert peak_of(spline, samples) == pytest.approx(0.5 * np.pi / 400.0, rel=1e-4)
    # Where the force only rises, the last sample.
    assert peak_of(spline, samples[:10]) == samples[9]


@pytest.mark.parametrize("damping_over_stiffness", [0.0, 8.0])
def test_a_damped_contact_has_its_peak_ahead_of_the_stop(damping_over_stiffness):
    law = NonlinearViscoelastic(1e6, damping_over_stiffness * 1e6)
    area = spring_area(free_mass_trial(law, MASS, SPEED)[1])
    if damping_over_stiffness:
        assert area.phase < 0.9
        assert area.required_restitution > 1.0
    else:
        assert area.phase == pytest.approx(1.0, abs=0.01)
        assert area.required_restitution == pytest.approx(1.0, abs=0.02)


def test_way_into_the_wall_is_that_of_the_free_mass():
    impact, trial = free_mass_trial(LinearSpring(1e6), MASS, SPEED)
    inside = (trial.time > 0.0) & (trial.time < impact.restitution_end)
    np.testing.assert_allclose(1e6 * compression_of(trial)[inside], trial.exact_force[inside], atol=1.0)


def test_the_fits_return_the_law_that_made_the_force():
    masses = {MassOf.FIT: None, MassOf.COMPOSITE: MASS}
    damped, series = NonlinearViscoelastic(1e6, 8e6), Maxwell(1e6, 4000.0)
    for law, model in ((damped, VISCOELASTIC), (series, MAXWELL)):
        impact, trial = free_mass_trial(law, MASS, SPEED)
        fits = model_fits(trial, masses)
        row = MODELS.index(model)
        np.testing.assert_allclose(fits.mass[row], MASS, rtol=0.02)
        np.testing.assert_allclose(fits.stiffness[row], law.stiffness, rtol=0.05)
        np.testing.assert_allclose(fits.damping[row], law.damping, rtol=0.05)
        np.testing.assert_allclose(fits.restitution[row], impact.restitution, atol=0.02)
        for column in range(len(MassOf)):
            assert np.argmin(fits.misfit[:, column]) == row
    assert np.all(np.isnan(fits.damping[0]))


def test_the_source_takes_25_for_the_restitution_of_23_and_that_of_the_mass_for_maxwell():
    shape = (len(MODELS), len(MassOf))
    ones = np.ones(shape)
    fits = ModelFits(0.1, ones, 2e6 * ones, 4e7 * ones, 0.3 * ones, ones)
    for mass in MassOf:
        assert fits.estimated(MAXWELL, mass) == 0.3
        assert fits.estimated(VISCOELASTIC, mass) == pytest.approx(2e6 / (4e7 * 0.1))
    assert math.isnan(replace(fits, damping=np.zeros(shape)).estimated(VISCOELASTIC, MassOf.FIT))


def case(name, speed, maxwell, printed, *, restitution=RESTITUTION, required=2.0, misfits=(0.2, 0.1, 0.01)):
    """A case of two repetitions in which all models have these restitutions, 0.01 apart."""

    def fits(shift):
        columns = len(MassOf)
        restitutions = np.tile([[0.5], [maxwell + shift], [0.4]], columns)
        damping = 1e6 / ((printed + shift) * speed)
        return ModelFits(
            speed,
            np.full((3, columns), MASS),
            np.full((3, columns), 1e6),
            np.tile([[np.nan], [4000.0], [damping]], columns),
            restitutions,
            np.tile(np.array(misfits)[:, None], columns),
        )

    area = SpringArea(2e-3, 3e-3, 0.4, 0.4 * required, 2.5e-3 if required > 1.0 else math.nan, 0.3)
    trials = (virtual_spring_trial(0.7),) * 2
    return ModelCase(name, speed, restitution, trials, (fits(-0.005), fits(0.005)), (area, area))


def verdicts(courses, **others):
    """The comparisons by figure and mass, of configurations with (Maxwell, (25)) at the speeds."""
    cases = [
        case(name, speed, maxwell, printed, **others)
        for name, course in courses.items()
        for speed, (maxwell, printed) in zip(SPEEDS, course, strict=True)
    ]
    numbers = np.tile(SPEEDS, (len(courses), 1))
    table = ContactVelocityTable(numbers, 0.9 * numbers)
    return {(one.where, one.what.rsplit(", ", 1)[-1]): one for one in model_comparisons(cases, table)}


FALLING = ((0.3, 0.14), (0.2, 0.12), (0.1, 0.10))
LEVEL = ((0.3, 0.14), (0.3, 0.14), (0.3, 0.14))


def test_what_the_source_says_holds_for_forces_like_those():
    for (where, _), compared in verdicts({"one": FALLING, "two": FALLING}).items():
        assert compared.mark is Mark.GOOD, where


def test_a_constant_restitution_is_told_from_one_that_varies():
    mixed = verdicts({"one": FALLING, "two": LEVEL})
    for mass in MassOf:
        assert mixed["Fig. 4(b)", mass.value].mark is Mark.BAD
        assert "varies in 1 of 2" in mixed["Fig. 4(b)", mass.value].own
        assert mixed["Fig. 5(b)", mass.value].mark is Mark.BAD


def test_as_many_steps_may_rise_as_in_the_source():
    once = ((0.3, 0.12), (0.2, 0.13), (0.1, 0.10))
    said = verdicts({"one": FALLING, "two": once})["Fig. 5(b)", MassOf.FIT.value]
    assert said.mark is Mark.GOOD
    assert "falls in 3 of 4 steps" in said.own
    assert verdicts({"one": once, "two": once})["Fig. 5(b)", MassOf.FIT.value].mark is Mark.BAD


def test_each_statement_can_fail():
    fits = {key: one.mark for key, one in verdicts({"one": FALLING}, misfits=(0.03, 0.02, 0.1)).items()}
    assert fits["VII-A1", "fitted mass"] is Mark.BAD
    assert fits["VII, c1", "fitted mass"] is Mark.BAD
    inside = verdicts({"one": FALLING}, required=0.8)
    assert [one.mark for (where, _), one in inside.items() if where == "Fig. 3(b)"] == [Mark.BAD]
    large = verdicts({"one": tuple((maxwell, printed + 0.6) for maxwell, printed in FALLING)})
    assert large["I, VII, r1", "fitted mass"].mark is Mark.BAD
    assert large["VII-C, Fig. 5(b)", "fitted mass"].mark is Mark.BAD


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda one: one.name)
def test_the_arm_leaves_the_area_at_a_wall_that_is_a_spring_with_its_peak_at_the_stop(configuration):
    approach = prepare_approach(load_robot(), configuration)
    surface = wall(approach, restitution=LOSSLESS)
    trial = run_trial(load_robot(), approach, ControlMode.VELOCITY_DRIVE, SPEED, surface=surface)
    inside = (trial.time > 0.0) & (trial.time < 7e-3)
    np.testing.assert_allclose(WALL_STIFFNESS * compression_of(trial)[inside], trial.exact_force[inside], atol=1.5)
    area = spring_area(trial)
    assert area.phase == pytest.approx(1.0, abs=0.01)
    assert area.required_restitution > 1.1
    assert area.leaves > area.peak_time


def test_the_wall_that_is_a_spring_is_told_apart():
    springs = [case("one", speed, 0.5, 0.6, restitution=LOSSLESS, required=1.2) for speed in SPEEDS]
    damped = [case("one", speed, *course) for speed, course in zip(SPEEDS, FALLING, strict=True)]
    text = spring_wall_finding([*damped, *springs]).text
    assert "6 of 6 forces leave" in text
    assert "by 0.000 there and by 0.200 on the damped wall" in text
    assert [row[1] for row in area_table([*damped, *springs]).rows] == ["restitution 0.627"] * 3 + ["spring"] * 3


def rates(law, trial=None):
    """The rows on rate and compression, of one impact of a free mass on a law, and of the record of one."""
    impact, own = free_mass_trial(law, MASS, SPEED)
    models = replace(case("one", SPEED, 0.3, 0.14), trials=(trial or own,))
    return rate_comparisons([FittedImpact(SPEED, own, 0.0, impact, 0.0)], [models])


def test_a_free_mass_comes_back_to_zero_by_23_and_not_by_a_law_that_creeps():
    # A free mass keeps its rate monotone under both, which is no verdict.
    for law, mark in ((NonlinearViscoelastic(1e6, 2e7), Mark.BAD), (Maxwell(1e6, 4000.0), Mark.GOOD)):
        monotone, left, _ = rates(law)
        assert monotone.mark is Mark.PLAIN
        assert monotone.own.startswith("monotone in 1 of 1")
        assert left.mark is mark
    assert float(left.own.split()[2]) > 100.0 * LEFT


def test_a_contact_point_that_turns_back_is_told():
    law = NonlinearViscoelastic(1e6, 8e6)
    trial = free_mass_trial(law, MASS, SPEED)[1]
    assert rates(law)[2].mark is Mark.GOOD
    bump = np.zeros(trial.time.size)
    for turn, mark in ((0.5, Mark.GOOD), (3.0, Mark.BAD)):
        touched = int(np.argmax(trial.exact_force))
        bump[touched + 1] = trial.penetration_rate[touched] - trial.penetration_rate[touched + 1]
        bump[touched + 1] += turn * NO_RISE * SPEED
        assert rates(law, replace(trial, penetration_rate=trial.penetration_rate + bump))[2].mark is mark
    # Without contact it may do what it likes.
    bump[:] = np.where(trial.exact_force > 0.0, 0.0, 0.1 * np.arange(trial.time.size))
    assert rates(law, replace(trial, penetration_rate=trial.penetration_rate + bump))[2].mark is Mark.GOOD


def test_all_repetitions_at_the_speeds_of_the_source_are_drawn():
    cases = [case(name, speed, 0.3, 0.14) for name in ("one", "two") for speed in (0.08, 0.12, 0.18)]
    springs = [replace(one, restitution=LOSSLESS) for one in cases]
    panels = draw_profiles([*cases, *springs]).axes
    assert [len(axes.lines) for axes in panels] == [2, 2]
    for line in panels[0].lines:
        inside = (1e3 * cases[0].trials[0].time >= -1.0) & (1e3 * cases[0].trials[0].time <= 16.0)
        np.testing.assert_array_equal(line.get_ydata(), cases[0].trials[0].force[inside])
