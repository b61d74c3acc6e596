"""Samples as recordings of real arms have them, repeated and noisier, and a detector that is calibrated on them."""

from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
import pytest

from calibration_recordings import TABLETOP, called, task_samples, write_log
from impact_control.planning.team import Team
from impact_control.robots import load_robot
from impact_control.scenario import config_directory, load_scenario
from impact_control.simulation import FlexibleJointPlant, Sensors
from impact_control.simulation.scenario_run import run_scenario
from impact_control.util.errors import InvalidInputError, ScenarioError

ROBOT = load_robot("panda")
HOME = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8])

AS_RECORDED = {
    "simulation.noise": 2.0,
    "simulation.noise_correlation": 0.6,
    "simulation.repeats": 0.094,
    "simulation.gaps": 0.015,
    "simulation.jitter": "0.2 ms",
    "simulation.arm_deviation.inertia": 1.0,
    "simulation.arm_deviation.friction": 1.0,
}
"""Noise of the velocity 3.3e-3 rad/s: a Panda has 3.0e-3, an FR3 1.0e-3. Repeats, gaps and jitter of the FR3: the Panda
has 0.055, 0.0015 and 0.14 ms. Model error as in `deviation` of the robot's file."""


def repeated(samples):
    """Which samples are the one before, of all but the first."""
    return np.array([one is other for one, other in pairwise(samples)])


@pytest.mark.parametrize("share", [0.055, 0.5])
def test_samples_are_repeated_as_often_and_as_long_as_on_real_arms(share):
    sensors, plant = Sensors(ROBOT.noise, 1.0, seed=3, repeats=share), FlexibleJointPlant(ROBOT, HOME)
    again = repeated([sensors.measure(plant) for _ in range(40_000)])
    assert again.mean() == pytest.approx(share, rel=0.05)
    lengths = np.array([sum(1 for _ in run) for same, run in groupby(again) if same])
    # The chance that a run follows on another is that of a fresh sample in between.
    assert np.mean(lengths == 1) == pytest.approx(1785 / 1912, abs=0.015)
    assert 3 <= lengths.max() <= 11


def test_repeats_change_no_noise_and_there_are_none_by_default():
    plant = FlexibleJointPlant(ROBOT, HOME)
    with_repeats, without = Sensors(ROBOT.noise, 1.0, seed=5, repeats=0.2), Sensors(ROBOT.noise, 1.0, seed=5)
    some, none = ([sensors.measure(plant) for _ in range(2000)] for sensors in (with_repeats, without))
    assert not repeated(none).any()
    fresh = [some[0], *(sample for sample, again in zip(some[1:], repeated(some), strict=True) if not again)]
    assert len(fresh) < 1700
    for one, other in zip(fresh, none, strict=False):
        np.testing.assert_array_equal(one.velocity, other.velocity)


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.9])
def test_noise_of_velocity_and_torque_is_correlated_and_has_its_deviation(correlation):
    sensors, plant = Sensors(ROBOT.noise, 1.0, seed=4, correlation=correlation), FlexibleJointPlant(ROBOT, HOME)
    samples = [sensors.measure(plant) for _ in range(20_000)]
    of = {
        name: np.array([getattr(sample, name) for sample in samples])[100:]
        for name in ("position", "velocity", "torque")
    }
    for name, values in of.items():
        values = values - values.mean(axis=0)
        found = (values[1:] * values[:-1]).mean(axis=0) / values.var(axis=0)
        np.testing.assert_allclose(found, 0.0 if name == "position" else correlation, atol=0.04)
        width = getattr(ROBOT.noise, name)
        np.testing.assert_allclose(values.std(axis=0), width / 3.0, rtol=0.08)
        assert (np.abs(values) <= 1.05 * width).all()


@pytest.mark.parametrize("share", [0.0015, 0.015, 0.1])
def test_samples_are_lost_as_often_and_as_long_as_on_real_arms(share):
    sensors, plant = Sensors(ROBOT.noise, 1.0, seed=6, gaps=share), FlexibleJointPlant(ROBOT, HOME)
    lost = [sensors.measure(plant) and sensors.lost for _ in range(60_000)]
    assert np.mean(lost) == pytest.approx(share, rel=0.35 if share < 0.01 else 0.15)
    # A run may follow on another with one sample in between only.
    assert max(sum(1 for _ in run) for one, run in groupby(lost) if one) == 8
    without = Sensors(ROBOT.noise, 1.0, seed=6)
    assert not any(without.measure(plant) and without.lost for _ in range(2000))


def test_stamps_are_off_by_the_jitter_and_go_on_increasing():
    sensors, plant = Sensors(ROBOT.noise, 1.0, seed=7, jitter=2e-4), FlexibleJointPlant(ROBOT, HOME)
    stamps = np.array([k * 1e-3 + (sensors.measure(plant) and sensors.late) for k in range(5000)])
    assert np.std(stamps - 1e-3 * np.arange(5000)) == pytest.approx(2e-4, rel=0.1)
    assert np.diff(stamps).min() > 1e-4


def test_a_task_goes_on_without_the_samples_that_are_lost(monkeypatch):
    stamps, tick = [], Team.tick

    def noted(team, samples):
        stamps.extend(time for time, *_ in samples.values())
        tick(team, samples)

    monkeypatch.setattr(Team, "tick", noted)
    course = run_scenario(
        load_scenario("tabletop").with_overrides({"simulation.gaps": 0.015, "simulation.jitter": "0.2 ms"})
    )
    assert course.single.outcome.name == "SUCCEEDED", course.single.reason
    assert 1.0 - len(stamps) / course.time.size == pytest.approx(0.015, abs=0.01)
    assert np.std(np.array(stamps) - np.round(stamps, 3)) == pytest.approx(2e-4, rel=0.1)


def test_a_jitter_that_could_exchange_stamps_is_refused():
    changes = {"simulation.jitter": "0.15 ms", "control.period": "0.5 ms"}
    with pytest.raises(ScenarioError, match=r"simulation\.jitter: .*; allowed: at most a fifth of control\.period"):
        load_scenario("tabletop").with_overrides(changes)


@pytest.mark.parametrize("share", [-0.1, 0.6, float("nan")])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(InvalidInputError, match="repeats"):
        Sensors(ROBOT.noise, 1.0, seed=0, repeats=share)


VERDICTS = {
    "tabletop": "SUCCEEDED",
    "tabletop_tilted": "POST_IMPACT_UNEXPECTED",
    "tabletop_raised": "IMPACT_UNEXPECTED",
    "tabletop_absent": "NO_IMPACT",
}


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """Directory with a detector that is calibrated on free motions of the arm as recorded, at six places."""
    directory, files = tmp_path_factory.mktemp("calibrated"), []
    places = ((0.5, 0.0), (0.45, 0.15), (0.55, -0.2), (0.42, -0.1), (0.5, 0.2), (0.48, -0.05))
    for k, (x, y) in enumerate(places):
        place = f"{x}, {y}, 0.2 m"
        there = {"task.impact.position": place, "expected_environment.surface.point": place}
        absent = {"actual_environment.surface": "none", "simulation.seed": 100 + k}
        time, rows = task_samples(there | absent | AS_RECORDED, 3000)
        files.append(write_log(directory / f"{k}.csv", time, rows))
    columns, detector = directory / "columns.yaml", directory / "detector.yaml"
    # It objects to the tail of the scores, which is heavier than that of its law, in six short motions; taken as it is.
    where = ("--scenario", TABLETOP, "--columns", columns, "--output", detector)
    called("calibrate", "detector", *files, *where, "--force")
    return directory


@pytest.mark.parametrize("name", VERDICTS)
def test_tasks_end_as_meant_on_the_arm_as_recorded_once_its_detector_is_calibrated(calibrated, name):
    scenario = calibrated / f"with_{name}.yaml"
    scenario.write_text(f"extends: {config_directory() / 'scenarios' / name}.yaml\ninclude: detector.yaml\n")
    for seed in (11, 12):
        course = run_scenario(load_scenario(scenario).with_overrides({"simulation.seed": seed} | AS_RECORDED)).single
        assert course.outcome.name == VERDICTS[name], course.reason
        if name != "tabletop_absent":
            # A sample that repeats the one before hides the impact for its length.
            assert 0.0 <= course.detection_time - course.first_contact_time <= 3.5e-3


def test_the_thresholds_of_the_simulation_do_not_fit_white_noise_as_large_as_recorded():
    """Why the detector has to be calibrated: shipped thresholds take such noise for impacts."""
    changes = AS_RECORDED | {"simulation.seed": 0, "simulation.noise_correlation": 0.0, "simulation.gaps": 0.0}
    there = {"simulation.jitter": "0 s", "actual_environment.surface": "none"}
    course = run_scenario(load_scenario("tabletop").with_overrides(changes | there)).single
    assert course.impacts > 0 and course.outcome.name == "IMPACT_UNEXPECTED"
