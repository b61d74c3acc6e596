"""What the report of a benchmark says of the time that all studies took."""

from __future__ import annotations

import h5py
import pytest

from benchmark.study_time import FOUND, study_time
from impact_studies.frame.provenance import provenance
from impact_studies.frame.results import RESULTS_FILE, write_results
from impact_studies.frame.runner import find_study
from impact_studies.frame.study import StudyResult

NAMES = ("first", "second")
COMMIT = "abc1234"


def keep(directory, name, minutes, found_minutes=0.0, *, quick=False, commit=COMMIT):
    """Write of a study what `write_results` writes of its run."""
    (directory / name).mkdir()
    with h5py.File(directory / name / "results.h5", "w") as file:
        file.create_group("provenance").attrs.update(quick=quick, commit=commit)
        run = file.create_group("run")
        run["seconds"], run["found_seconds"] = 60.0 * minutes, 60.0 * found_minutes


@pytest.mark.parametrize(("minutes", "met"), [(49.0, True), (51.0, False)])
def test_all_studies_together_may_take_an_hour(tmp_path, minutes, met):
    keep(tmp_path, "first", 10.0)
    keep(tmp_path, "second", minutes)
    (figure,) = study_time(tmp_path, COMMIT, NAMES)
    assert figure.name == "all studies" and figure.met is met
    assert figure.values["minutes"] == pytest.approx(10.0 + minutes)
    assert figure.values[FOUND] == 0.0


@pytest.mark.parametrize("found", [0.01, 12.0])
def test_a_time_with_trials_of_an_earlier_run_is_not_judged(tmp_path, found):
    """However few they were."""
    keep(tmp_path, "first", 10.0, found)
    keep(tmp_path, "second", 5.0)
    (figure,) = study_time(tmp_path, COMMIT, NAMES)
    assert figure.met is None and figure.values[FOUND] == pytest.approx(found)


@pytest.mark.parametrize("missing", ["none", "quick", "broken"])
def test_the_time_of_some_is_not_judged(tmp_path, missing):
    keep(tmp_path, "first", 10.0)
    if missing == "quick":
        keep(tmp_path, "second", 1.0, quick=True)
    if missing == "broken":
        (tmp_path / "second").mkdir()
        (tmp_path / "second" / "results.h5").write_text("half of a")
    (figure,) = study_time(tmp_path, COMMIT, NAMES)
    assert figure.met is None and figure.values["studies"] == 1


def test_a_time_of_another_commit_is_marked(tmp_path):
    keep(tmp_path, "first", 10.0)
    assert study_time(tmp_path, "fedcba9", NAMES)[0].name == "all studies, another commit"
    assert study_time(tmp_path / "first", COMMIT, NAMES) == []


def test_a_study_that_ran_is_found(tmp_path):
    """Written as by a run, read here."""
    study, result = find_study("proper_signals"), StudyResult((), (), (), "it holds", True)
    (tmp_path / study.name).mkdir()
    file = tmp_path / study.name / RESULTS_FILE
    times = {"seconds": 600.0, "trial_seconds": 660.0, "found_seconds": 120.0}
    write_results(file, study, result, provenance(0, False), **times)
    (figure,) = study_time(tmp_path, COMMIT)
    assert figure.values == {"studies": 1, "minutes": 10.0, FOUND: 2.0}
    write_results(file, study, result, provenance(0, True), **times)
    assert study_time(tmp_path, COMMIT) == []
