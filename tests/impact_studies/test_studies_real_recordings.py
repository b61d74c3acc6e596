"""Contacts added to recordings, and the study of detectors on recordings of real arms."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from calibration_recordings import motion, write_log
from impact_control.observation import MomentumObserver
from impact_control.recording.defects import check_samples
from impact_control.replay.samples import replay_samples
from impact_control.robots import Dynamics, load_robot
from impact_control.util.errors import InvalidInputError, MissingExtraError
from impact_studies.catalogue.real_recordings import STUDY
from impact_studies.frame.study import Mark
from impact_studies.recordings.contacts import CONTACTS, Contact, with_contact
from impact_studies.recordings.evaluation import SINGLE, WHITENED, _Together, evaluate
from impact_studies.recordings.sources import load_sources, part_of

ROBOT = load_robot("panda")
HOME = np.array([0.3, -0.5, 0.4, -2.0, 0.6, 1.9, 0.7])
RECORDINGS = os.environ.get("IMPACT_RECORDINGS", "")


def at_rest(duration=0.3):
    """Samples of an arm that stands still, without noise, carried by its motors."""
    time = 1e-3 * np.arange(round(duration / 1e-3))
    dynamics = Dynamics(ROBOT)
    dynamics.compute(HOME, np.zeros(7))
    rows = [np.tile(values, (time.size, 1)) for values in (HOME, np.zeros(7), dynamics.gravity)]
    return check_samples(time, ROBOT.joint_names, *rows, joints=ROBOT.joint_names, period=1e-3), dynamics


@pytest.mark.parametrize("stiff", [False, True])
def test_an_added_push_is_what_the_momentum_observer_finds(stiff):
    """Its residual follows J^T f as a first-order filter: position, velocity and torque fit to each other."""
    samples, dynamics = at_rest()
    direction = np.array([0.6, 0.0, 0.8])
    push = Contact("push", 0.0, 20.0, 1.0, 1.0, 1.0)
    touched = with_contact(samples, ROBOT, push, 0.1005, direction, stiff=stiff)
    before = touched.time < 0.1005
    for name in ("position", "velocity", "torque"):
        np.testing.assert_array_equal(getattr(touched, name)[before], getattr(samples, name)[before])
    gain = np.full(7, 30.0)
    replay = replay_samples(touched, ROBOT, MomentumObserver(gain, np.zeros(7)), _Together({}, 7))
    pushed = dynamics.jacobian[:3].T @ (20.0 * direction)
    rows = (replay.time > 0.11) & (replay.time < 0.14)  # then the arm is elsewhere, and so are M, J and g
    expected = np.outer(1.0 - np.exp(-30.0 * (replay.time[rows] - 0.1005)), pushed)
    error = np.abs(replay.residual[rows] - expected).max(axis=0)
    assert np.all(error < 0.1 * np.abs(pushed).max()), error


def test_an_added_impact_changes_the_momentum_by_its_impulse():
    """Until the transmissions answer: the velocity of the contact has changed by that of the impact, 0.1 m/s."""
    samples, dynamics = at_rest()
    direction = np.array([0.0, 0.0, 1.0])
    touched = with_contact(samples, ROBOT, CONTACTS[0], 0.1, direction, stiff=False)
    gain = np.full(7, 1000.0)
    replay = replay_samples(touched, ROBOT, MomentumObserver(gain, np.zeros(7)), _Together({}, 7))
    lever = dynamics.jacobian[:3].T @ direction
    mass = 1.0 / (lever @ np.linalg.solve(dynamics.mass_matrix, lever))
    impulse = replay.residual[replay.time < 0.12].sum(axis=0) * 1e-3
    assert impulse == pytest.approx(0.1 * mass * lever, abs=0.05 * np.abs(0.1 * mass * lever).max())


def listing(directory):
    (directory / "recordings.yaml").write_text("recordings:\n- {file: free.csv, robot: panda, columns: columns.yaml}\n")
    return directory / "recordings.yaml"


@pytest.mark.long
def test_on_a_simulated_recording_the_study_finds_what_it_added(tmp_path):
    write_log(tmp_path / "free.csv", *motion(11, 20.0))
    (source,) = load_sources(listing(tmp_path))
    assert source.half(False).time[-1] < source.half(True).time[0]
    rows = np.arange(100, 200)
    np.testing.assert_array_equal(part_of(source.samples, rows).torque, source.samples.torque[rows])
    outcomes = evaluate([source], 6, 0, lambda *_: None)
    found = {
        name: np.mean([one.found(c) for one in outcomes if one.detector == name for c in CONTACTS])
        for name in (SINGLE, WHITENED)
    }
    print(found)
    assert sum(one.false_impacts for one in outcomes if one.detector == WHITENED) == 0
    assert found[WHITENED] >= 0.9 and found[WHITENED] >= found[SINGLE]
    result = STUDY.with_file(listing(tmp_path)).run(0, True, lambda *_: None)
    assert len(result.comparisons) == 8 and len(result.tables[0].rows) == 6


def test_without_recordings_it_is_not_run():
    with pytest.raises(MissingExtraError, match="--file"):
        STUDY.run(0, True, lambda *_: None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "recordings: []",
        "recordings: [{file: a.csv}]",
        "recordings: {a: b}",
        "[",
        "recordings: [{file: 1, robot: panda, columns: c}]",
    ],
)
def test_a_file_that_lists_nothing_is_refused(tmp_path, text):
    (tmp_path / "recordings.yaml").write_text(text)
    with pytest.raises(InvalidInputError, match="recordings"):
        STUDY.with_file(tmp_path / "recordings.yaml")


@pytest.mark.skipif(not RECORDINGS, reason="IMPACT_RECORDINGS does not name a file that lists recordings of real arms")
def test_on_recordings_of_real_arms_the_targets_are_met():
    outcomes = evaluate(load_sources(Path(RECORDINGS)), 40, 0, lambda *_: None)
    for one in outcomes:
        if one.detector == WHITENED:
            print(one.source, one.learned, one.false_impacts, [one.found(c) for c in CONTACTS])
            assert one.false_impacts == 0
            # Of 40: two standard deviations below the target.
            assert all(one.found(c) >= c.target - 2.0 * np.sqrt(c.target * (1 - c.target) / 40) for c in CONTACTS)
    result = STUDY.with_file(Path(RECORDINGS)).run(1, True, lambda *_: None)
    assert all(row.mark is not Mark.PLAIN for row in result.comparisons)
