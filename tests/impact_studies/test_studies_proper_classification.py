"""The sweeps of the classifiers: trials, what is spread over the sweep, gray areas in tables, the study as a whole."""

from __future__ import annotations

import functools
import math
from dataclasses import is_dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from impact_control.robots import Dynamics, load_robot
from impact_studies.classification import evaluation, sweep
from impact_studies.classification.sweep import EDGE, REPORTED, SPHERE, TILTS, Sweep, completion_errors
from impact_studies.classification.trial import SweepPoint, run_point, unpack
from impact_studies.frame.runner import find_study
from impact_studies.frame.study import Mark
from impact_studies.three_plants.plan import measured_pose, plan_impact, tabulate

TINY = Sweep((90.0,), (0.3,), (-8.0, -2.0, 0.0, 2.0, 8.0), len(TILTS) + 1, len(TILTS))


@functools.cache
def point_of(end_effector, tilts, seed=3):
    point = SweepPoint(end_effector, 90.0, 0.3, tilts, seed)
    return {trial.deviation: trial for trial in unpack(point, run_point(point))}


@pytest.mark.parametrize(("angle", "distance"), [(60.0, 0.2), (120.0, 0.4)])
@pytest.mark.parametrize("end_effector", [SPHERE, EDGE])
def test_the_joint_references_are_those_of_the_pose(end_effector, angle, distance):
    robot = load_robot("planar_rrr", end_effector)
    plan = plan_impact(robot, angle, distance, -0.2, 0.5)
    dynamics = Dynamics(robot)
    for time in (-0.153, -0.02, 0.0, 0.21):
        for path, pose_at in ((plan.ante, plan.ante_pose), (plan.post, plan.slide.at)):
            pose, rate, _ = pose_at(time)
            dynamics.compute(path(time), path(time, 1))
            assert np.allclose(measured_pose(dynamics), pose, rtol=0.0, atol=1e-6)
            assert np.allclose(dynamics.twist[[0, 2, 4]], rate, rtol=0.0, atol=2e-5)
    assert np.allclose(plan.ante(0.0), plan.configuration, rtol=0.0, atol=1e-6)


def test_the_timetable_is_the_plan_at_every_sample():
    plan = plan_impact(load_robot("planar_rrr", EDGE), 75.0, 0.3, -0.1, 0.2)
    table = tabulate(plan, -50, 120, 1e-3)
    for time in (-0.05, -0.0229999, 0.0, 0.0410001, 0.12):
        row = table.row(time)
        assert np.allclose(table.ante_pose[row], plan.ante_pose(time), rtol=0.0, atol=1e-6)
        assert np.allclose(table.post_pose[row], plan.slide.at(time), rtol=0.0, atol=1e-5)
        assert np.allclose(table.ante_velocity[row], plan.ante(time, 1), rtol=0.0, atol=1e-5)
        assert np.allclose(table.post_velocity[row], plan.post(time, 1), rtol=0.0, atol=1e-5)


def test_an_impact_of_the_sphere_is_detected_at_once():
    trial = point_of(SPHERE, (0.0,))[0.0]
    assert 0.0 <= trial.time[trial.impact_samples[0]] - trial.touches[0] <= 3e-3
    assert np.abs(trial.impact_times[0]) < 2e-3
    error = trial.velocity - trial.reference
    assert np.abs(error[: trial.impact_samples[0] - 1]).max() < 0.02


def test_the_edge_touches_early_by_its_tilt_and_completes_after_both_ends():
    """The outer end is w/2 sin(beta) + r (1 - cos beta) nearer: the first touch is early by that over the speed."""
    for tilt, trial in point_of(EDGE, (0.0, 2.0)).items():
        beta = math.radians(tilt)
        early = (0.1 * math.sin(beta) + 0.02 * (1.0 - math.cos(beta))) / math.cos(beta) / 0.2
        assert trial.touches.min() == pytest.approx(-early, abs=1.5e-3)
        assert trial.completion_sample > 0
        assert trial.time[trial.completion_sample] > trial.touches.max()


@pytest.mark.parametrize("tilt", [0.0, 6.0])
def test_the_contact_of_the_sphere_is_told_whatever_the_tilt_it_slides_along(tilt):
    """Two windows of eight samples after the touch; at 6 deg it moves along z of E with some 10 mm/s from then on."""
    trial = point_of(SPHERE, (tilt,))[tilt]
    assert trial.completion_sample > 0
    assert 0.01 < trial.time[trial.completion_sample] - trial.touches[0] < 0.02


def test_the_same_seed_gives_the_same_trial_and_another_another():
    point = SweepPoint(SPHERE, 90.0, 0.3, (0.0,), 3)
    one, (two,) = point_of(SPHERE, (0.0,), 3)[0.0], unpack(point, run_point(point))
    assert np.array_equal(one.velocity, two.velocity)
    other = point_of(SPHERE, (0.0,), 4)[0.0]
    assert not np.array_equal(one.velocity[:20], other.velocity[:20])


def test_a_tilt_that_stands_there_twice_is_tried_with_other_noise():
    point = SweepPoint(SPHERE, 90.0, 0.3, (0.0, 2.0, 0.0), 3)
    first, between, again = unpack(point, run_point(point))
    assert between.deviation == 2.0
    assert np.array_equal(first.velocity, point_of(SPHERE, (0.0,), 3)[0.0].velocity)
    assert not np.any(first.velocity[:20] == again.velocity[:20])
    # The same motion into the same surface: two samples differ by the width of the noise at most, and some.
    assert np.abs(first.velocity[:20] - again.velocity[:20]).max() < 0.015
    assert first.touches == pytest.approx(again.touches, abs=1e-4)


def test_the_sweep_has_all_angles_and_places_and_spreads_all_tilts():
    points = REPORTED.points(EDGE, 1)
    assert len(points) == 31 * 11
    assert {point.angle for point in points} == set(np.arange(60.0, 121.0, 2.0))
    counts = {tilt: sum(tilt in point.tilts for point in points) for tilt in TILTS}
    assert counts[0.0] == len(points)
    assert min(counts.values()) >= len(points) // 5 - 6
    assert all(tilt in TILTS and -tilt in TILTS for tilt in TILTS)


def test_completion_told_early_and_missed_is_counted():
    def trial(touches, decision, closed=math.nan):
        return SimpleNamespace(
            touches=touches,
            completion_decision=decision,
            closed_time=closed,
            time=np.array([0.0, 0.3]),
        )

    fine, early = trial((0.0, 0.1), 0.15), trial((0.0, 0.1), 0.05)
    never_touched, missed = trial((0.0, math.inf), 0.2), trial((0.0, 0.1), math.nan, 0.2)
    bouncing, too_late = trial((0.0, 0.1), math.nan), trial((0.0, 0.1), math.nan, 0.29)
    errors = completion_errors("x", [fine, early, never_touched, missed, bouncing, too_late])
    assert (errors.trials, errors.touched, errors.missed, errors.unfinished, errors.early) == (6, 5, 1, 2, 2)


def degrees(cell):
    return math.inf if cell == "does not end" else float(cell)


def test_the_study_runs_from_trials_to_verdict(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sweep, "QUICK_TUNED", TINY)
    monkeypatch.setattr(sweep, "QUICK_REPORTED", TINY)
    steps = []
    result = find_study("proper_classification").run(0, True, lambda done, text: steps.append(done))
    assert steps == sorted(steps) and steps[-1] <= 1.0
    gray = result.tables[0]
    assert len(gray.rows) == 12 and gray.rows[0][0] == "4.12"
    parts = result.tables[1]
    for row, both in zip(parts.rows, gray.rows, strict=True):
        # What the impacts or the behaviour alone call unexpected, both together do too.
        assert row[0] == both[0]
        assert degrees(both[3]) <= min(degrees(row[1]), degrees(row[3]))
        assert degrees(both[4]) <= min(degrees(row[2]), degrees(row[4]))
    assert [row[0] for row in parts.rows if row[5] is not None] == ["4.15", "4.16", "4.17"]
    whole, impacts, behaviour = result.tables[3:6]
    for shares in (whole, impacts, behaviour):
        assert [row[0] for row in shares.rows] == sorted(TINY.always)
    for rows in zip(whole.rows, impacts.rows, behaviour.rows, strict=True):
        for both, place, motion in zip(*rows, strict=True):
            assert both <= min(place, motion)
    assert whole.rows != impacts.rows != behaviour.rows != whole.rows
    for table in result.tables:
        assert table.rows
    for figure in result.figures:
        assert figure.draw() is not None
    assert result.findings
    judged = [one for one in result.comparisons if one.mark is not Mark.PLAIN]
    good = sum(one.mark is Mark.GOOD for one in judged)
    assert result.holds is (good == len(judged))
    # No trial at 1 or -1 deg, of which four statements are.
    assert len(result.comparisons) - len(judged) == 4


def alike(one, other):
    """Return whether two values are equal, sections of a scenario field by field."""
    if is_dataclass(one):
        return all(alike(value, getattr(other, name)) for name, value in vars(one).items())
    return np.array_equal(one, other)


def test_what_is_judged_by_another_process_is_what_the_evaluation_says_and_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    evaluation._trials.cache_clear()
    grid = replace(evaluation.NO_RESERVE, window_lengths=(10,), decay_rates=(20.0, 80.0), post_impact_times=(0.1,))
    experiments = evaluation.EXPERIMENTS[0], evaluation.EXPERIMENTS[7]
    cases = [evaluation.Judging(experiment, grid, TINY, 6, TINY, 7) for experiment in experiments]
    texts = []
    outcomes = evaluation.run_judgings(cases, lambda done, text: texts.append(text))
    for outcome, experiment in zip(outcomes, experiments, strict=True):
        sets = [sweep.run_sweep(TINY.points(experiment.end_effector, seed), lambda done, text: None) for seed in (6, 7)]
        expected = evaluation.evaluate(experiment, *sets, grid)
        for name, value in vars(expected).items():
            assert alike(getattr(outcome, name), value), name
    # The sets, not only their sizes, are told apart: other noise gives other times.
    swapped = evaluation.run_judgings([replace(cases[0], tuned_seed=7, judged_seed=6)], lambda done, text: None)
    assert not np.array_equal(swapped[0].decided_after, outcomes[0].decided_after)
    texts.clear()
    monkeypatch.setattr(evaluation, "evaluate", None)  # cannot be called
    again = evaluation.run_judgings(cases, lambda done, text: texts.append(text))
    assert texts == ["2 of 2 trials found"]
    assert all(alike(one.parameters, two.parameters) for one, two in zip(again, outcomes, strict=True))


def test_every_point_that_is_tuned_on_has_all_kinds_of_acceptable_tilts():
    """None of the acceptable ones is further than half a degree from one of them, at any point."""
    lowest, highest = sweep.ACCEPTABLE[-1]
    for point in sweep.TUNED.points(sweep.EDGE, 0):
        for tilt in sweep.TILTS:
            if lowest <= tilt <= highest:
                assert min(abs(tilt - other) for other in point.tilts) <= 0.5
    judged = {(p.distance, tilt) for p in sweep.REPORTED.points(sweep.EDGE, 1) for tilt in p.tilts}
    assert {p.distance for p in sweep.TUNED.points(sweep.EDGE, 0)} == {distance for distance, _ in judged}


@pytest.mark.parametrize(("least", "draws"), [(0, 1), (1, 1), (2, 1), (3, 2), (5, 3)])
def test_every_acceptable_set_has_as_many_trials_as_asked_for(least, draws):
    """Two points with 1, 3 and 4 acceptable tilts each: only the set {0} has less than five trials."""
    tilts = (0.0, -1.0, 2.0, 4.0, 6.0)
    points = Sweep((60.0, 90.0), (0.3,), tilts, len(TILTS) + 1, len(TILTS), least=least).points(SPHERE, 7)
    plain = Sweep((60.0, 90.0), (0.3,), tilts, len(TILTS) + 1, len(TILTS)).points(SPHERE, 7)
    for point, before in zip(points, plain, strict=True):
        assert (point.angle, point.distance, point.seed) == (before.angle, before.distance, before.seed)
        # What was there before comes first, so that its noise does not change.
        assert point.tilts == before.tilts + (draws - 1) * (0.0,)


def test_a_set_that_the_repetitions_of_a_smaller_one_fill_gets_no_more():
    sweep_of = functools.partial(Sweep, (90.0,), (0.3,), (-2.0, 0.0, 3.0), len(TILTS) + 1, len(TILTS))
    (point,) = sweep_of(least=4).points(SPHERE, 7)
    assert point.tilts == (-2.0, 0.0, 3.0, 0.0, 0.0, 0.0)
    (point,) = Sweep((90.0,), (0.3,), (-2.0, 1.0, 3.0), len(TILTS) + 1, len(TILTS), least=3).points(SPHERE, 7)
    assert point.tilts == (-2.0, 1.0, 3.0, -2.0, 1.0)  # none of {0} to repeat


def test_what_happens_in_one_of_a_hundred_trials_is_tuned_on():
    assert 0.99**sweep.LEAST <= 0.05 < 0.99 ** (sweep.LEAST - 1)
    for low, high in sweep.ACCEPTABLE:
        for tool in (SPHERE, EDGE):
            tilts = [tilt for point in sweep.TUNED.points(tool, 0) for tilt in point.tilts]
            assert sum(low <= tilt <= high for tilt in tilts) >= sweep.LEAST
    # Judged is each tilt once at a point: a repetition would count twice what one place does.
    assert all(len(set(point.tilts)) == len(point.tilts) for point in REPORTED.points(EDGE, 1))


def test_the_margins_are_kept_clear_of_the_noise_by_its_half_width():
    assert evaluation.GRID.margin_reserve == pytest.approx(5e-3)  # [rad/s], Proper 2021 (3.5)
    assert evaluation.NO_RESERVE.margin_reserve == evaluation.NO_RESERVE.reserve == 0.0
