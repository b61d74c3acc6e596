"""The command that tunes the classifier: on trials it has not seen, with labels, and on trials that were cut off."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from calibration_recordings import called, including, refused, trial_cases, write_trial_set
from impact_control.calibration import motion
from impact_control.calibration.classifier import _as_expected, _largest_rate
from impact_control.recording.recorded_run import RecordedFile, only_arm
from impact_control.replay import replay_file
from impact_control.scenario import load_scenario
from recorded_courses import recorded_course


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    return write_trial_set(tmp_path_factory.mktemp("trials") / "trials.h5", trial_cases(1, 16))


def test_a_tuned_classifier_judges_other_trials(trials, tmp_path):
    output = tmp_path / "tuning.yaml"
    text = called("tune", trials, "--task-start", 0, "--output", output)
    assert "16: 8 as expected, 8 not" in text
    right = int(re.search(r"TUNED: (\d+) of 16", text)[1])
    assert re.search(r"of 8 expected wrong: at most \d+ % of such trials, with 95 % confidence", " ".join(text.split()))
    tuned, path = including(output)
    assert tuned.classification.envelope_margin.tolist() != [0.03] * 7
    others = trial_cases(2, 10)
    file = tmp_path / "others.h5"
    write_trial_set(file, others)
    verdicts = [
        "UNEXPECTED" in (run.replay.impact.name, run.replay.post_impact.name)
        for run in (replay_file(file, scenario=str(path), trial=k, task_start=0.0)[""] for k in range(len(others)))
    ]
    wrong = sum(called != (tilt > 1.0) for called, (tilt, _, _) in zip(verdicts, others, strict=True))
    print(f"left out {16 - right} of 16 wrong, on others {wrong} of 10")
    assert right >= 14 and wrong <= 2


def test_the_bound_of_a_rate_is_that_of_the_binomial_distribution():
    assert _largest_rate(0, 59) == pytest.approx(1.0 - 0.05 ** (1 / 59))
    bound = _largest_rate(2, 20)
    assert sum(math.comb(20, k) * bound**k * (1.0 - bound) ** (20 - k) for k in range(3)) == pytest.approx(0.05)
    assert _largest_rate(5, 5) == 1.0


def test_labels_say_what_a_recording_does_not(tmp_path):
    cases = trial_cases(1, 16)[:10]
    file = write_trial_set(tmp_path / "bare.h5", cases, facts=False)
    options = ("tune", file, "--task-start", 0, "--output", tmp_path / "tuning.yaml")
    assert "no label" in refused(*options)
    labels = tmp_path / "labels.yaml"
    words = ["expected" if tilt <= 1.0 else "unexpected" for tilt, _, _ in cases]
    labels.write_text(f"bare.h5: [{', '.join(words)}]\n")
    assert "10: 5 as expected, 5 not" in called(*options, "--labels", labels)
    labels.write_text(f"bare.h5: [{', '.join(words[:3])}]\n")
    assert "no label for" in refused(*options, "--labels", labels)
    for text in ("bare.h5: good\n", "- a\n", "a: ["):
        labels.write_text(text)
        assert "`expected` or `unexpected`" in refused(*options, "--labels", labels)
    labels.write_text(f"bare.h5: [{', '.join(10 * ['expected'])}]\n")
    assert "0 trials that were unexpected" in refused(*options, "--labels", labels)
    assert "--task-start" in refused("tune", file, "--labels", labels)


def opened(name, number=0):
    """A run as recorders keep it: with scenario, reference of the controller and the true contact."""
    run, path = recorded_course(name).run, Path(f"runs/{name}_{number}")
    return RecordedFile(path / "bag", "test", load_scenario(name).to_yaml(), "", (), only_arm(path, run))


def test_bags_of_runs_are_tuned_on(tmp_path, monkeypatch):
    """Of simulated runs it is known how they were; those that were stopped are judged as far as they go."""
    kept = [opened("tabletop", k) for k in range(5)] + [opened("tabletop_tilted", k) for k in range(3)]
    files = {file.path.parent: file for file in kept}
    monkeypatch.setattr(motion, "open_recordings", lambda path, **_: [files[path]])
    said = ("tune", *files, "--output", tmp_path / "tuning.yaml")
    text = called(*said)
    assert "8: 5 as expected, 3 not" in text and "8 of 8 trials judged right" in text
    head = (tmp_path / "tuning.yaml").read_text()
    assert "runs/tabletop_0: expected" in head and "runs/tabletop_tilted_0: unexpected" in head
    labels = tmp_path / "labels.yaml"
    labels.write_text("".join(f"{path.name}: expected\n" for path in files))
    assert "0 trials that were unexpected" in refused(*said, "--labels", labels)


def test_bags_of_simulated_runs_know_how_they_were():
    truths = {"tabletop": True, "tabletop_tilted": False, "tabletop_raised": False}
    for name, truth in truths.items():
        file = opened(name)
        assert _as_expected(motion.Opened(file.path, None, file, file.arm("")), {}) is truth


def test_trials_that_were_stopped_are_judged_as_far_as_they_go(tmp_path):
    file = write_trial_set(tmp_path / "short.h5", trial_cases(1, 16), last=1040)
    text = called("tune", file, "--task-start", 0, "--output", tmp_path / "tuning.yaml", "--force")
    assert "16 trials, the first is" in text and "end before they are judged" in text
