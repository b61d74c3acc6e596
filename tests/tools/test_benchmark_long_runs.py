"""What the report of a benchmark takes from long runs: which record counts, how it is judged, what is shown of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.figure import Figure
from benchmark.long_runs import LEAST_SURFACES, long_run_figures, long_runs, same_commit, soak_memory
from benchmark.report import Report, text_of
from endurance.records import STOPPED_BY_USER, EnduranceReport, TaskRecord

COMMIT = "abc1234"
HERE = {"kind": "a processor", "commit": COMMIT, "date": "2026-11-22 20:00:00 +0000"}
HOUR = 3600.0


def task(number, *complaints, **more):
    done = TaskRecord(number, 3.0 * number, "tabletop", number, "", "succeeded", "", complaints, "", 3.0, 1e-4, 0.0, 0)
    return replace(done, **more)


def soak(tasks=None, seconds=HOUR, growth=0.0, **more):
    memory = {"loop": [(float(time), 100.0 + growth * time / 99) for time in range(100)]}
    kept = EnduranceReport("soak", 0, seconds, HERE, [task(1), task(2)] if tasks is None else tasks, memory)
    return replace(kept, **more)


def keep(directory, name, report):
    (directory / name).mkdir()
    report.write(directory / name)


def surface(name, inputs=100_000, failures=0, **more):
    told = {"inputs": inputs, "accepted": 9, "refused": inputs - failures - 9, "failures": failures, "slowest": 0.02}
    return {"name": name, **told, **more}


SIX = [surface(f"surface_{number}") for number in range(6)]


def keep_fuzzing(directory, name, surfaces, **more):
    (directory / name).mkdir()
    content = {"fuzzer": "atheris 3", "commit": COMMIT, "date": "2026-11-22", "surfaces": surfaces, **more}
    (directory / name / "fuzz.json").write_text(json.dumps(content))


def found(directory):
    """The one run below a directory."""
    (run,) = long_runs(directory, COMMIT)
    return run


def verdicts(directory):
    return [figure.met for figure in found(directory).figures]


def test_an_hour_without_complaints_is_as_it_should_be(tmp_path):
    keep(tmp_path, "1-soak", soak())
    tasks, memory = found(tmp_path).figures
    assert (tasks.name, tasks.met, tasks.values["minutes"], tasks.values["tasks"]) == ("soak", True, 60.0, 2)
    assert memory.met is True and memory.values["loop"] == pytest.approx(0.0)
    assert "at least 60 minutes" in tasks.target
    assert len(soak_memory(long_runs(tmp_path, COMMIT))["loop"]) == 100


@pytest.mark.parametrize(
    ("bad", "met"),
    [
        (soak(seconds=HOUR - 1.0), [False, False]),
        (soak(seconds=6.0), [False, False]),
        (soak([task(1), task(2, "still moving")]), [False, True]),
        (soak(growth=5.0), [True, False]),
        (soak([]), [False, True]),
        (soak([task(1, stopped_by_machine=True)]), [False, True]),
        (soak(broke_off="no graph"), [False, True]),
    ],
)
def test_anything_less_is_not(tmp_path, bad, met):
    keep(tmp_path, "1-soak", bad)
    assert verdicts(tmp_path) == met


def test_a_run_with_faults_is_judged_apart(tmp_path):
    keep(tmp_path, "1-soak", soak())
    with_fault = task(2, fault="kill loop, at 0.6 s", outcome="session ended", recovery="started again")
    keep(tmp_path, "2-faults", soak([task(1), with_fault], kind="faults", seconds=60.0, memory={}))
    runs = long_runs(tmp_path, COMMIT)
    assert [run.kind for run in runs] == ["soak", "faults"]
    assert [figure.met for figure in runs[1].figures] == [False]
    assert runs[1].figures[0].values["with a fault"] == 1
    assert runs[1].log[-1].endswith("2  tabletop [kill loop, at 0.6 s]: session ended, started again")


def test_a_complete_run_counts_before_a_newer_one_that_broke_off_or_is_short(tmp_path):
    keep(tmp_path, "1-soak", soak([task(1)]))
    keep(tmp_path, "2-soak", soak())
    keep(tmp_path, "3-soak", soak(seconds=1200.0, broke_off="no graph"))
    keep(tmp_path, "4-soak", soak(seconds=6.0))
    (tmp_path / "5-soak").mkdir()
    (tmp_path / "5-soak" / "endurance.json").write_text("half of a")
    run = found(tmp_path)
    assert Path(run.directory).name == "2-soak"
    assert [Path(line.split(":")[0]).name for line in run.passed_over] == ["3-soak", "4-soak"]
    assert "broke off after 20.0 min" in run.passed_over[0] and "no graph" in run.passed_over[0]
    assert run.figures[0].values["newer ones that failed"] == 1
    assert all(line in "\n".join(run.lines) for line in run.passed_over)


@pytest.mark.parametrize(
    ("newer", "met"),
    [
        (soak(seconds=6.0), True),
        (soak([], seconds=6.0), True),
        (soak(seconds=1200.0, broke_off=STOPPED_BY_USER), True),
        (soak([task(1, "still moving")], seconds=1200.0, broke_off=STOPPED_BY_USER), False),
        (soak([task(1, "still moving")], seconds=6.0), False),
        (soak(seconds=1800.0, growth=5.0), False),
        (soak([], seconds=6.0, broke_off="no graph"), False),
        (soak(seconds=1200.0, broke_off="by an error that is none of ours"), False),
        (soak([task(1, "still moving")], seconds=6.0, kind="faults"), True),
    ],
)
def test_a_run_counts_no_more_when_a_newer_one_failed(tmp_path, newer, met):
    keep(tmp_path, "2-soak", soak())
    keep(tmp_path, "1-soak", soak([task(1, "still moving")], broke_off="no graph"))
    keep(tmp_path, "3-newer", newer)
    run = long_runs(tmp_path, COMMIT)[0]
    assert Path(run.directory).name == "2-soak" and run.figures[0].met is met


def test_of_whole_runs_the_newest_counts_whatever_it_complains_about(tmp_path):
    keep(tmp_path, "1-soak", soak())
    keep(tmp_path, "2-soak", soak([task(1, "still moving")], growth=5.0))
    assert verdicts(tmp_path) == [False, False]


def test_without_a_complete_run_the_broken_one_is_shown(tmp_path):
    keep(tmp_path, "1-soak", soak(broke_off="no graph"))
    keep(tmp_path, "2-soak", soak([]))
    assert Path(found(tmp_path).directory).name == "2-soak"
    keep(tmp_path, "3-soak", soak(broke_off="another"))
    assert Path(found(tmp_path).directory).name == "3-soak"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("abc1234", "abc1234", True),
        ("abc1234", "abc9234", False),
        ("abc1234+", "abc1234+", False),
        ("abc1234", "abc1234+", False),
        ("", "", False),
        ("abc1234", "", False),
    ],
)
def test_commits_are_the_same_only_for_sure(one, other, same):
    assert same_commit(one, other) is same_commit(other, one) is same


def test_a_record_of_another_commit_is_marked_and_told_with_its_origin(tmp_path):
    keep(tmp_path, "1-soak", soak())
    keep_fuzzing(tmp_path, "1-fuzz", SIX, machine="a processor")
    for run in long_runs(tmp_path, COMMIT):
        assert not any("another commit" in figure.name for figure in run.figures)
        assert "ANOTHER" not in run.lines[0]
    for run in long_runs(tmp_path, "fedcba9"):
        assert run.other_commit and all("another commit" in figure.name for figure in run.figures)
        assert "ANOTHER COMMIT" in run.lines[0]
        assert all(word in run.lines[0] for word in (run.directory, COMMIT, "2026-11-22", "a processor"))


def test_the_logs_are_in_the_report(tmp_path):
    keep(tmp_path, "1-soak", soak([task(number, *["still moving"] * (number == 30)) for number in range(1, 31)]))
    keep_fuzzing(tmp_path, "1-fuzz", [*SIX[1:], surface("actions", edges=812, hypothesis={"inputs": 10_000})], seed=7)
    runs = long_runs(tmp_path, COMMIT)
    facts = dict.fromkeys(("version", "commit", "date", "kind", "cores", "load", "system", "peers"), "-")
    report = Report(facts, {"long": long_run_figures(runs)}, long_runs=runs)
    text = text_of(report, [])
    assert "FAILED: 30 tasks in 60.0 min, 0 with a fault, 1 with complaints" in text
    assert "90 s    30  tabletop: succeeded\n" in text and "NOT AS IT SHOULD BE: still moving" in text
    assert "21  tabletop" in text and "20  tabletop" not in text
    assert "fuzzer atheris 3" in text and "seed 7" in text
    assert "actions: inputs 100000, accepted 9, refused 99991, failures 0, slowest 0.02, edges 812, hyp" in text
    assert "edges 812, hypothesis (inputs 10000)" in text
    endured, fuzzed = json.loads(report.as_json([]))["long_runs"]
    assert [one["number"] for one in endured["record"]["last_tasks"]] == list(range(21, 31))
    assert (endured["commit"], endured["record"]["passed"]) == (COMMIT, False)
    assert fuzzed["record"]["surfaces"][-1]["edges"] == 812


@pytest.mark.parametrize(
    ("surfaces", "met"),
    [
        (SIX, [True] * 7),
        (SIX[1:], [False] + [True] * 5),
        ([surface("actions", inputs=10), *SIX[1:]], [True, False] + [True] * 5),
        ([surface("actions", failures=1), *SIX[1:]], [True, False] + [True] * 5),
        ([surface("actions", accepted=0, refused=100_000), *SIX[1:]], [True, False] + [True] * 5),
        ([surface("actions", accepted=100_000, refused=0), *SIX[1:]], [True, False] + [True] * 5),
        ([surface("actions", hypothesis={"inputs": 10, "failures": 1}), *SIX[1:]], [True, False] + [True] * 5),
        ([{"name": "actions", "inputs": 0, "failures": 1, "ended": "code 72"}, *SIX[1:]], [True, False] + [True] * 5),
    ],
)
def test_every_surface_has_to_get_its_inputs_without_a_failure(tmp_path, surfaces, met):
    keep_fuzzing(tmp_path, "1-fuzz", surfaces)
    assert verdicts(tmp_path) == met


def test_a_short_fuzzing_is_passed_over_and_one_that_failed_is_not(tmp_path):
    keep_fuzzing(tmp_path, "1-fuzz", SIX)
    keep_fuzzing(tmp_path, "2-fuzz", [surface("actions", inputs=10)])
    (tmp_path / "3-fuzz").mkdir()
    (tmp_path / "3-fuzz" / "fuzz.json").write_text('{"surfaces": [{}]}')
    run = found(tmp_path)
    assert Path(run.directory).name == "1-fuzz" and "2-fuzz: only 1 surfaces" in run.passed_over[0]
    keep_fuzzing(tmp_path, "4-fuzz", [surface("actions", inputs=10, failures=1), *SIX[1:]])
    assert Path(found(tmp_path).directory).name == "4-fuzz"


@pytest.mark.parametrize(
    ("only", "met"),
    [
        (surface("actions"), True),
        (surface("actions", inputs=10, failures=1), False),
        (surface("actions", inputs=10, hypothesis={"inputs": 10, "failures": 1}), False),
    ],
)
def test_a_fuzzing_counts_no_more_when_a_newer_one_of_a_single_surface_failed(tmp_path, only, met):
    keep_fuzzing(tmp_path, "1-fuzz", [only])
    keep_fuzzing(tmp_path, "2-fuzz", SIX)
    assert all(verdicts(tmp_path))
    keep_fuzzing(tmp_path, "3-fuzz", [only])
    run = found(tmp_path)
    assert Path(run.directory).name == "2-fuzz" and run.figures[0].met is met
    assert run.passed_over[0].endswith("0 failures") is met


def test_all_surfaces_of_the_fuzzer_are_asked_for(monkeypatch):
    from surfaces import SURFACES

    assert len(SURFACES) == LEAST_SURFACES


def test_a_kind_without_a_record_is_said_to_have_none(tmp_path):
    figures = long_run_figures(long_runs(tmp_path, COMMIT))
    assert [figure.name for figure in figures] == ["soak: no record", "faults: no record", "fuzzing: no record"]
    assert [figure.met for figure in figures] == [None] * 3


@pytest.mark.parametrize(("inputs", "failures", "met"), [(10, 0, True), (9, 0, False), (10, 1, False)])
def test_limits_and_floors_have_to_be_kept(inputs, failures, met):
    figure = Figure("run", {"inputs": inputs, "failures": failures}, "", {"failures": 0}, floors={"inputs": 10})
    assert figure.met is met
    assert figure.target == "at most 0 failures; at least 10 inputs"


def test_what_is_no_number_keeps_no_bound():
    assert Figure("answers", {"median": float("nan")}, limits={"median": 1.0}).met is False
    assert Figure("answers", {"median": float("nan")}, floors={"median": 1.0}).met is False
