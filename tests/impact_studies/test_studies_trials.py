"""Trials of a study: in order, on one core or several, kept, found again, interrupted and gone on."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from impact_control.scenario import scenario_digest
from impact_control.util.errors import ImpactControlError, InvalidInputError, MissingDependencyError
from impact_studies.frame import provenance as provenance_module
from impact_studies.frame import trials
from impact_studies.frame.computing import ProcessPool, computing_at, current_place, open_place
from impact_studies.frame.provenance import installed_version, provenance, versions
from impact_studies.frame.trials import from_arrays, run_trials, trials_directory


@dataclass(frozen=True)
class Throw:
    """A case: its seed decides its result."""

    seed: int
    size: int = 3


CALLS = []

SLOW_TRIALS = """
import sys
import time
from pathlib import Path

import numpy as np

from impact_studies.frame.computing import computing_at, open_place
from impact_studies.frame.trials import run_trials


def slow(case):
    time.sleep(float(sys.argv[2]))
    return {"values": np.random.default_rng(case).normal(size=3)}


if __name__ == "__main__":
    try:
        print("starts", flush=True)
        with open_place(2) as place, computing_at(place):
            found = run_trials(slow, range(40), Path(sys.argv[1]), lambda _done, text: print(text, flush=True))
        print(*(one["values"].tolist() for one in found), sep="\\n")
    except KeyboardInterrupt:
        sys.exit(7)
"""
"""A program of its own, which can get a signal."""


def throw(case):
    CALLS.append(case.seed)
    if case.seed == 13:
        raise ValueError("unlucky")
    if case.seed == 99:
        raise KeyboardInterrupt
    return {"values": np.random.default_rng(case.seed).normal(size=case.size), "seed": case.seed}


def end_this_process(case):
    os.kill(os.getpid(), signal.SIGKILL)


def nothing(case):
    return {}


def anything(case):
    return {"values": np.array([case, None])}


def work(case):
    started = time.process_time()
    while time.process_time() < started + 0.1:
        pass
    return {}


def outer(case):
    run_trials(work, [case, Throw(case.seed + 1)], None, silent)
    return {}


def silent(_done, _text):
    pass


@pytest.fixture(autouse=True)
def _no_calls():
    CALLS.clear()


def test_results_come_in_the_order_of_the_cases_on_one_core_and_on_two(tmp_path):
    cases = [Throw(seed) for seed in (5, 2, 9)]
    here = run_trials(throw, cases, None, silent)
    with open_place(2) as place, computing_at(place):
        there = run_trials(throw, cases, tmp_path, silent)
    for case, one, other in zip(cases, here, there, strict=True):
        assert int(one["seed"]) == int(other["seed"]) == case.seed
        assert np.array_equal(one["values"], other["values"])


def test_what_was_kept_is_not_run_again_and_the_same(tmp_path):
    cases = [Throw(seed) for seed in range(3)]
    steps = []
    first = run_trials(throw, cases, tmp_path, lambda *step: steps.append(step))
    assert [done for done, _ in steps] == pytest.approx([1 / 3, 2 / 3, 1.0])
    again = run_trials(throw, [Throw(7), *cases], tmp_path, silent)
    assert CALLS == [0, 1, 2, 7]
    for one, other in zip(first, again[1:], strict=True):
        assert np.array_equal(one["values"], other["values"])


@pytest.mark.parametrize(("function", "names"), [(nothing, set()), (throw, {"values", "seed"})])
def test_what_is_found_again_has_the_arrays_that_were_kept_and_no_others(tmp_path, monkeypatch, function, names):
    """With `savez` of numpy 1.26, which takes every option for an array."""
    written = []
    savez = np.savez
    monkeypatch.setattr(np, "savez", lambda file, **arrays: (written.append(set(arrays)), savez(file, **arrays))[1])
    first, again = (run_trials(function, [Throw(1)], tmp_path, silent)[0] for _ in range(2))
    assert first.keys() == again.keys() == names
    assert written == [names | {"processor seconds"}]


def test_a_result_that_only_python_can_read_is_refused_where_it_is_to_be_kept(tmp_path):
    with pytest.raises(InvalidInputError, match=r"type of 'values' in a trial = 'object'; allowed: numbers or texts"):
        run_trials(anything, [1], tmp_path, silent)
    assert list(tmp_path.iterdir()) == []


def test_the_whole_case_is_its_name(tmp_path):
    short, long = run_trials(throw, [Throw(1, 2), Throw(1, 4)], tmp_path, silent)
    assert (short["values"].size, long["values"].size) == (2, 4)


def test_an_interrupted_run_goes_on(tmp_path):
    cases = [Throw(0), Throw(1), Throw(99), Throw(2)]
    with pytest.raises(KeyboardInterrupt):
        run_trials(throw, cases, tmp_path, silent)
    told = []
    run_trials(throw, [Throw(0), Throw(1), Throw(2)], tmp_path, lambda *step: told.append(step))
    assert CALLS == [0, 1, 99, 2]
    assert told == [(2 / 3, "2 of 3 trials found"), (1.0, "trial 3 of 3")]


@pytest.mark.parametrize("line", [pytest.param("starts", marks=pytest.mark.long), "trial 3 of 40"])
def test_ctrl_c_ends_all_processes_quietly_and_the_next_run_goes_on(tmp_path, line):
    (tmp_path / "slow.py").write_text(SLOW_TRIALS)
    command = [sys.executable, tmp_path / "slow.py", tmp_path / "kept"]
    first = subprocess.Popen(
        [*command, "0.3"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A test that runs in the background has the signal ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while first.stdout.readline().strip() != line:
        assert first.poll() is None
    # To the group, as a terminal sends it.
    os.killpg(first.pid, signal.SIGINT)
    _, errors = first.communicate(timeout=60.0)
    assert first.returncode == 7
    assert errors == ""
    kept = len(list((tmp_path / "kept").glob("*"))) if (tmp_path / "kept").exists() else 0
    assert (kept >= 3) == (line != "starts")
    assert kept < 40
    _, *told = subprocess.run([*command, "0"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert told[0] == (f"{kept} of 40 trials found" if kept else "trial 1 of 40")
    assert told[-40:] == [str(np.random.default_rng(case).normal(size=3).tolist()) for case in range(40)]
    assert len(told) == 40 + (40 - kept) + bool(kept)


def test_arrays_become_the_dataclass_whose_fields_they_name():
    arrays = {"seed": np.asarray(4), "values": np.ones(2)}
    assert from_arrays(Throw, arrays, size=5) == Throw(4, 5)
    assert type(from_arrays(Throw, arrays, size=5).seed) is int


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_names_its_case_and_keeps_what_is_done(tmp_path, workers):
    cases = [Throw(0), Throw(13)]
    with open_place(workers) as place, computing_at(place), pytest.raises(ValueError, match="unlucky") as caught:
        run_trials(throw, cases, tmp_path, silent)
    assert "Throw(seed=13, size=3)" in caught.value.__notes__[0]
    CALLS.clear()
    run_trials(throw, cases[:1], tmp_path, silent)
    assert CALLS == []


def test_a_damaged_file_is_run_again(tmp_path):
    run_trials(throw, [Throw(4)], tmp_path, silent)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:40])
    (result,) = run_trials(throw, [Throw(4)], tmp_path, silent)
    assert int(result["seed"]) == 4 and CALLS == [4, 4]


def test_results_of_other_sources_are_removed(tmp_path, monkeypatch):
    run_trials(throw, [Throw(4)], tmp_path, silent)
    monkeypatch.setattr(trials, "versions", lambda: {**versions(), "source": "0123456789abcdef"})
    run_trials(throw, [Throw(4)], tmp_path, silent)
    assert CALLS == [4, 4]
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("0123456789abcdef-")


def test_parts_of_processes_that_were_killed_are_removed(tmp_path):
    """One is old; one is just being written, with the number of no process here: it may be one of another machine."""
    run_trials(throw, [Throw(4)], tmp_path, silent)
    (kept,) = tmp_path.iterdir()
    old, new = (kept.with_suffix(f".{number}") for number in (2**22 + 1, 2**22 + 2))
    other = tmp_path / "notes.1"
    for path in (old, new, other):
        path.write_bytes(b"begun")
    for path in (old, other):
        os.utime(path, times=(time.time() - 7200.0,) * 2)
    run_trials(throw, [Throw(4)], tmp_path, silent)
    assert set(tmp_path.iterdir()) == {kept, new, other}
    assert CALLS == [4]


@pytest.mark.parametrize(
    "changed", ["python", "machine", "numpy", "scipy", "pinocchio", "numba", "qpsolvers", "daqp", "scenarios"]
)
def test_results_of_other_packages_and_scenarios_are_not_found_and_not_removed(tmp_path, monkeypatch, changed):
    assert versions()[changed]
    run_trials(throw, [Throw(4)], tmp_path, silent)
    with monkeypatch.context() as patched:
        patched.setattr(trials, "versions", lambda: {**versions(), changed: "another"})
        run_trials(throw, [Throw(4)], tmp_path, silent)
        assert CALLS == [4, 4]
    run_trials(throw, [Throw(4)], tmp_path, silent)
    assert CALLS == [4, 4]


def test_what_the_key_of_a_trial_holds_stands_in_the_provenance():
    recorded = provenance(0, quick=True)
    assert recorded.items() >= versions().items()
    assert recorded["numpy"] == np.__version__
    assert recorded["scenarios"] == scenario_digest()
    assert recorded.keys() >= {"mujoco", "drake"}


def test_the_version_of_a_package_that_is_not_there_is_empty():
    assert installed_version("no-such-distribution") == ""


def test_no_workers_are_refused():
    with pytest.raises(InvalidInputError, match="workers"), open_place(0):
        pass


def test_a_scheduler_without_dask_is_refused_with_what_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependencyError, match="make cluster"), open_place(1, "local:1"):
        pass


def test_a_killed_process_is_told_of_and_the_next_call_has_new_ones(tmp_path):
    pool = ProcessPool(2)
    try:
        with computing_at(pool):
            with pytest.raises(ImpactControlError, match="goes on from there"):
                run_trials(end_this_process, [Throw(0)], tmp_path, silent)
            (result,) = run_trials(throw, [Throw(3)], tmp_path, silent)
    finally:
        pool.close()
    assert int(result["seed"]) == 3


def test_processor_time_is_counted_once_and_kept_with_the_trial(tmp_path):
    """A trial that works for 0.2 s of processor time and asks for trials of its own, which are part of it."""
    with computing_at(current_place()) as first:
        run_trials(outer, [Throw(0)], tmp_path, silent)
    with computing_at(current_place()) as again:
        run_trials(outer, [Throw(0)], tmp_path, silent)
    assert 0.2 <= first.seconds < 0.4
    assert again.seconds == first.seconds
    assert (first.found_seconds, again.found_seconds) == (0.0, first.seconds)


def test_a_trial_that_the_same_run_computed_is_not_one_of_an_earlier_run(tmp_path):
    with computing_at(current_place()) as first:
        run_trials(work, [Throw(0)], tmp_path, silent)
        run_trials(work, [Throw(0), Throw(1)], tmp_path, silent)
    with computing_at(current_place()) as again:
        for _ in range(2):
            run_trials(work, [Throw(0), Throw(1)], tmp_path, silent)
        run_trials(work, [Throw(2)], tmp_path, silent)
    assert 0.2 <= first.seconds < 0.3 and first.found_seconds == 0.0
    assert again.found_seconds == pytest.approx(first.seconds)
    assert 0.3 <= again.seconds < 0.4


@pytest.mark.parametrize(
    ("directory", "message"),
    [
        (f"{__file__}/kept", "XDG_CACHE_HOME"),
        # One of the kernel's: it is there, and nobody makes files in it.
        ("/proc/self", r"directory of trials = '/proc/self'; allowed: a directory to write to"),
    ],
    ids=["below a file", "read only"],
)
def test_a_directory_that_cannot_be_written_to_is_refused_before_anything_is_computed(directory, message):
    with pytest.raises(InvalidInputError, match=message):
        run_trials(throw, [Throw(0)], Path(directory), silent)
    assert CALLS == []


def test_a_disk_that_is_full_at_the_start_is_told_before_anything_is_computed(tmp_path, monkeypatch):
    class Full(BytesIO):
        def write(self, _data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(provenance_module, "TemporaryFile", lambda dir: Full())
    with pytest.raises(InvalidInputError, match=r"a directory to write to.*No space left on device"):
        run_trials(throw, [Throw(0)], tmp_path, silent)
    assert CALLS == []


def test_trying_a_directory_leaves_nothing_in_it(tmp_path):
    run_trials(throw, [], tmp_path / "a" / "b", silent)
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_full_disk_is_told_with_the_file_and_leaves_no_part_of_it(tmp_path, monkeypatch):
    def full(file, **arrays):
        file.write(b"begun")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(ImpactControlError, match=rf"{tmp_path}/\S+\.npz: .* cannot be kept: .*No space left on device"):
        run_trials(throw, [Throw(0)], tmp_path, silent)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_removed_is_told_with_the_file(tmp_path):
    """A directory in the place of a file, which also root cannot unlink."""
    (tmp_path / "0123456789abcdef-old.npz").mkdir()
    with pytest.raises(ImpactControlError, match=rf"{tmp_path}/0123456789abcdef-old.npz: .* cannot be removed"):
        run_trials(throw, [Throw(0)], tmp_path, silent)


def test_the_cache_directory_follows_its_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert trials_directory("x") == tmp_path / "impact_control" / "trials" / "x"
