"""One run of the benchmark with stand-ins for what takes time: what it measures and finds comes into its report."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest

from benchmark import bench, growth
from benchmark.check import Check, describe_machine
from benchmark.figure import Figure
from benchmark.growth import Curve
from benchmark.latency import Latency
from impact_control.cli.main import main
from impact_control.util.errors import ImpactControlError, InterruptedByUserError, InvalidInputError
from impact_control_ros.bridge import real_time
from impact_control_ros.session.processes import GraphError

COMMIT = "abc1234"

WAY = Latency("", 200.0, 300.0, 400.0, 500.0, 50.0, 1, 0, 1000, tuple((float(t), 50.0) for t in range(100)))
"""Of a loop and of a ping-pong on an idle machine."""

CURVES = ("joints", "contacts", "windows", "topics", "workers")
EVERYTHING = [
    "On one core",
    "Over DDS at 1 kHz, idle",
    "Over DDS at 1 kHz, loaded",
    "Messages",
    "Measures of real time",
]


@pytest.fixture
def quick(monkeypatch):
    """Let nothing be measured: each part has a figure or curve of its name, and loop and ping-pong answer the same."""
    monkeypatch.setattr(bench, "record_course", lambda: None)
    monkeypatch.setattr(bench, "Peers", lambda course: nullcontext(SimpleNamespace(versions={"TSID": "1.7"})))
    monkeypatch.setattr(bench, "checked_works", lambda course: {})
    monkeypatch.setattr(bench, "run_check", lambda *given: given[-1](Check("map", 2.0, 2.0, 1.2)))
    for name in ("loop_figures", "physics_figures", "message_figures", "measure_figures"):
        monkeypatch.setattr(bench, name, lambda *_, name=name: [Figure(name, {"median": 1.0})])
    for name in CURVES:
        curve = Curve(name, "size", "us", (1, 2), {"cost": (1.0, 2.0)})
        monkeypatch.setattr(growth, f"grow_{name}", lambda *_, curve=curve: curve)
    clock = count()
    monkeypatch.setattr(bench, "_core_times", lambda: [next(clock)] * 8)
    monkeypatch.setattr(bench, "isolate", lambda directory: None)
    monkeypatch.setattr(bench, "measure_latency", lambda seconds: {"impact_loop": WAY, "ping_pong": WAY})
    monkeypatch.setattr(bench, "loaded_cores", nullcontext)
    monkeypatch.setattr(bench, "describe_machine", lambda: describe_machine() | {"commit": COMMIT})
    monkeypatch.delenv(real_time.VARIABLE, raising=False)


def run(output, everything=True):
    """Run a benchmark and return its directory."""
    return bench.run_bench(1.0, everything, everything, everything, output, lambda text: None)


def report_below(output):
    """Return text and JSON of the one report below a directory, which has its picture."""
    (directory,) = output.glob("*-bench")
    assert (directory / "bench.png").read_bytes().startswith(b"\x89PNG")
    return (directory / "bench.txt").read_text(), json.loads((directory / "bench.json").read_text())


def sections(report):
    """Return the figures of a report by section, in their order."""
    found = {figure["section"]: {} for figure in report["figures"]}
    for figure in report["figures"]:
        found[figure["section"]][figure["name"]] = figure
    return found


def test_the_report_holds_everything_that_is_asked_for(quick, tmp_path, monkeypatch):
    """Beside a load one answers more slowly."""
    busy = []

    @contextmanager
    def load():
        busy.append(True)
        yield
        busy.clear()

    def answers(seconds):
        way = replace(WAY, median=900.0) if busy else WAY
        return {"impact_loop": way, "ping_pong": WAY}

    monkeypatch.setattr(bench, "loaded_cores", load)
    monkeypatch.setattr(bench, "measure_latency", answers)
    run(tmp_path)
    text, report = report_below(tmp_path)
    found = sections(report)
    assert list(found) == EVERYTHING
    assert set(found["On one core"]) == {"loop_figures", "physics_figures"}
    for name, median in (("idle", 200.0), ("loaded", 900.0)):
        figures = found[f"Over DDS at 1 kHz, {name}"]
        assert figures[f"state to torque, loop node, {name}"]["values"]["median"] == median
        assert figures[f"time of the cores taken by the host, {name}"]["values"]["part"] == 12.5
    assert list(report["memory"]) == [f"{who}, {name}" for name in ("idle", "loaded") for who in ("loop", "ping-pong")]
    assert [curve["name"] for curve in report["curves"]] == list(CURVES)
    assert [check["name"] for check in report["checks"]] == ["map"]
    assert report["machine"]["peers"] == "TSID 1.7"
    assert report["failures"] == {} and "FAILED" not in text


def test_the_report_holds_no_more_than_is_asked_for(quick, tmp_path):
    run(tmp_path, everything=False)
    _, report = report_below(tmp_path)
    assert list(sections(report)) == [name for name in EVERYTHING if "loaded" not in name and "Measures" not in name]
    assert report["curves"] == []


def break_off(monkeypatch, name, error):
    """Let a part end with an error."""

    def broken(*_):
        raise error

    monkeypatch.setattr(growth if name.startswith("grow_") else bench, name, broken)


@pytest.mark.parametrize(
    ("broken", "part", "left"),
    [
        ("loop_figures", "On one core", [name for name in EVERYTHING if name != "On one core"]),
        ("physics_figures", "On one core", EVERYTHING),
        ("run_check", "Ratio to the yardstick", EVERYTHING),
        ("grow_topics", "Growth", EVERYTHING),
        ("loaded_cores", "Over DDS at 1 kHz, loaded", [name for name in EVERYTHING if "loaded" not in name]),
        ("message_figures", "Messages", [name for name in EVERYTHING if name != "Messages"]),
        ("measure_figures", "Measures of real time", [name for name in EVERYTHING if "Measures" not in name]),
    ],
)
def test_a_part_that_fails_ends_no_other_and_is_named(quick, tmp_path, monkeypatch, broken, part, left):
    break_off(monkeypatch, broken, GraphError("nobody listens"))
    with pytest.raises(ImpactControlError, match=part):
        run(tmp_path)
    text, report = report_below(tmp_path)
    assert report["failures"] == {part: "GraphError: nobody listens"}
    assert f"FAILED: {part}: GraphError: nobody listens\n" in text
    assert list(sections(report)) == left
    assert [curve["name"] for curve in report["curves"]] == list(CURVES[:3] if part == "Growth" else CURVES)


def test_what_was_measured_before_ctrl_c_is_in_the_report(quick, tmp_path, monkeypatch):
    break_off(monkeypatch, "loaded_cores", KeyboardInterrupt())
    with pytest.raises(InterruptedByUserError, match=str(tmp_path)):
        run(tmp_path)
    _, report = report_below(tmp_path)
    assert list(sections(report)) == EVERYTHING[:2]
    assert report["failures"] == {"Over DDS at 1 kHz, loaded": "stopped by the user"}


def test_there_is_a_report_also_where_nothing_could_be_measured(quick, tmp_path, monkeypatch):
    break_off(monkeypatch, "loop_figures", KeyboardInterrupt())
    with pytest.raises(InterruptedByUserError):
        run(tmp_path)
    text, report = report_below(tmp_path)
    assert report["figures"] == [] and "FAILED: On one core: stopped by the user" in text


@pytest.mark.parametrize(
    ("error", "code"), [(None, 0), (GraphError("no"), 1), (TypeError("no"), 1), (KeyboardInterrupt(), 130)]
)
def test_the_exit_code_says_whether_all_was_measured(quick, tmp_path, monkeypatch, capsys, error, code):
    if error is not None:
        break_off(monkeypatch, "message_figures", error)
    monkeypatch.setattr(sys, "argv", ["impact-control", "bench", "-o", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert (str(tmp_path) in capsys.readouterr().err) is (code != 0)


def test_what_nodes_log_lies_beside_the_report(quick, tmp_path, monkeypatch):
    logs = []
    monkeypatch.setattr(bench, "isolate", logs.append)
    directory = run(tmp_path)
    assert logs == [directory / "log"]


def test_a_wrong_word_for_the_measures_is_refused_before_anything_is_measured(quick, tmp_path, monkeypatch):
    monkeypatch.setenv(real_time.VARIABLE, "fast")
    with pytest.raises(InvalidInputError, match="fast"):
        run(tmp_path, everything=False)
    assert not list(tmp_path.iterdir())
