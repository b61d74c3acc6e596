"""Trials of a study: in order, on one core or several, kept, found again, interrupted and gone on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from impact_control.errors import InvalidInputError
from impact_control.studies import trials
from impact_control.studies.trials import run_trials, trials_directory


@dataclass(frozen=True)
class Throw:
    """A case: its seed decides its result."""

    seed: int
    size: int = 3


CALLS = []


def throw(case):
    CALLS.append(case.seed)
    if case.seed == 13:
        raise ValueError("unlucky")
    if case.seed == 99:
        raise KeyboardInterrupt
    return {"values": np.random.default_rng(case.seed).normal(size=case.size), "seed": case.seed}


def silent(_done, _text):
    pass


@pytest.fixture(autouse=True)
def _no_calls():
    CALLS.clear()


def test_results_come_in_the_order_of_the_cases_on_one_core_and_on_two(tmp_path):
    cases = [Throw(seed) for seed in (5, 2, 9)]
    here = run_trials(throw, cases, None, 1, silent)
    there = run_trials(throw, cases, tmp_path, 2, silent)
    for case, one, other in zip(cases, here, there, strict=True):
        assert int(one["seed"]) == int(other["seed"]) == case.seed
        assert np.array_equal(one["values"], other["values"])


def test_what_was_kept_is_not_run_again_and_the_same(tmp_path):
    cases = [Throw(seed) for seed in range(3)]
    steps = []
    first = run_trials(throw, cases, tmp_path, 1, lambda *step: steps.append(step))
    assert [done for done, _ in steps] == pytest.approx([1 / 3, 2 / 3, 1.0])
    again = run_trials(throw, [Throw(7), *cases], tmp_path, 1, silent)
    assert CALLS == [0, 1, 2, 7]
    for one, other in zip(first, again[1:], strict=True):
        assert np.array_equal(one["values"], other["values"])


def test_the_whole_case_is_its_name(tmp_path):
    short, long = run_trials(throw, [Throw(1, 2), Throw(1, 4)], tmp_path, 1, silent)
    assert (short["values"].size, long["values"].size) == (2, 4)


def test_an_interrupted_run_goes_on(tmp_path):
    cases = [Throw(0), Throw(1), Throw(99), Throw(2)]
    with pytest.raises(KeyboardInterrupt):
        run_trials(throw, cases, tmp_path, 1, silent)
    run_trials(throw, [Throw(0), Throw(1), Throw(2)], tmp_path, 1, silent)
    assert CALLS == [0, 1, 99, 2]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_names_its_case_and_keeps_what_is_done(tmp_path, workers):
    cases = [Throw(0), Throw(13)]
    with pytest.raises(ValueError, match="unlucky") as caught:
        run_trials(throw, cases, tmp_path, workers, silent)
    assert "Throw(seed=13, size=3)" in caught.value.__notes__[0]
    CALLS.clear()
    run_trials(throw, cases[:1], tmp_path, 1, silent)
    assert CALLS == []


def test_a_damaged_file_is_run_again(tmp_path):
    run_trials(throw, [Throw(4)], tmp_path, 1, silent)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:40])
    (result,) = run_trials(throw, [Throw(4)], tmp_path, 1, silent)
    assert int(result["seed"]) == 4 and CALLS == [4, 4]


def test_results_of_other_sources_are_removed(tmp_path, monkeypatch):
    run_trials(throw, [Throw(4)], tmp_path, 1, silent)
    monkeypatch.setattr(trials, "_source_digest", lambda: "0123456789abcdef")
    run_trials(throw, [Throw(4)], tmp_path, 1, silent)
    assert CALLS == [4, 4]
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("0123456789abcdef-")


def test_no_workers_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="workers"):
        run_trials(throw, [Throw(0)], tmp_path, 0, silent)


def test_the_cache_directory_follows_its_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert trials_directory("x") == tmp_path / "impact_control" / "trials" / "x"
