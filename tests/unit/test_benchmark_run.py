"""One run of the benchmark with stand-ins for what takes time: what it measures and finds comes into its report."""

from __future__ import annotations

import json
from contextlib import nullcontext
from types import SimpleNamespace

import h5py
import pytest

from impact_control.benchmark.machine import describe_machine
from impact_control.endurance import EnduranceReport, TaskRecord
from impact_control.errors import InvalidInputError
from impact_control.nodes import bench, real_time
from impact_control.nodes.latency import Latency

COMMIT = "abc1234"


@pytest.fixture
def quick(monkeypatch):
    """Let nothing be measured but a loop and a ping-pong that answer as they are told."""
    way = Latency("", 200.0, 300.0, 400.0, 500.0, 50.0, 1, 0, 1000, tuple((float(t), 50.0) for t in range(100)))
    monkeypatch.setattr(bench, "record_course", lambda: None)
    monkeypatch.setattr(bench, "Peers", lambda course: nullcontext(SimpleNamespace(versions={})))
    for name in ("loop_figures", "physics_figures", "message_figures", "run_check", "checked_works"):
        monkeypatch.setattr(bench, name, lambda *_: [])
    monkeypatch.setattr(bench, "isolate", lambda directory: None)
    monkeypatch.setattr(bench, "_over_dds", lambda *_: ({"impact_loop": way, "ping_pong": way}, 0.0))
    monkeypatch.setattr(bench, "describe_machine", lambda: describe_machine() | {"commit": COMMIT})
    monkeypatch.delenv(real_time.VARIABLE, raising=False)


@pytest.mark.parametrize("commit", [COMMIT, "fedcba9"])
def test_the_report_holds_the_long_runs_before_it(quick, tmp_path, commit):
    task = TaskRecord(1, 3.0, "tabletop", 1, "", "succeeded", "", (), "", 3.0, 1e-4, 0.0, 0)
    memory = {"loop": [(float(time), 50.0) for time in range(10)]}
    (tmp_path / "1-soak").mkdir()
    EnduranceReport("soak", 0, 3600.0, {"commit": commit}, [task], memory).write(tmp_path / "1-soak")
    directory = bench.run_bench(1.0, False, False, False, tmp_path, lambda text: None)
    text = (directory / "bench.txt").read_text()
    assert "PASSED: 1 tasks in 60.0 min" in text and "faults: no record" in text
    report = json.loads((directory / "bench.json").read_text())
    (run,) = report["long_runs"]
    assert (run["commit"], run["other_commit"], run["record"]["passed"]) == (commit, commit != COMMIT, True)
    assert list(report["soak_memory"]) == ["loop"]


def test_the_report_holds_the_time_of_studies_before_it(quick, tmp_path):
    (tmp_path / "proper_signals").mkdir()
    with h5py.File(tmp_path / "proper_signals" / "results.h5", "w") as file:
        file.create_group("provenance").attrs.update(quick=False, commit=COMMIT)
        run = file.create_group("run")
        run["seconds"], run["found_seconds"] = 60.0, 0.0
    directory = bench.run_bench(1.0, False, False, False, tmp_path, lambda text: None)
    assert "all studies" in (directory / "bench.txt").read_text()


def test_a_wrong_word_for_the_measures_is_refused_before_anything_is_measured(quick, tmp_path, monkeypatch):
    monkeypatch.setenv(real_time.VARIABLE, "fast")
    with pytest.raises(InvalidInputError, match="fast"):
        bench.run_bench(1.0, False, False, False, tmp_path, lambda text: None)
    assert not list(tmp_path.iterdir())
