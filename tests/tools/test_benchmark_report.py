"""The report of a benchmark: what it says as text and as JSON, and what it finds in earlier ones."""

import json
import math

import pytest

from benchmark.check import Check
from benchmark.figure import Figure, Peer
from benchmark.growth import Curve
from benchmark.picture import draw_report
from benchmark.report import REPORT_FILE, Report, earlier_changes, text_of

MACHINE = {
    "kind": "a processor",
    "cores": "2",
    "system": "Linux",
    "load": "0.1",
    "version": "1",
    "commit": "abc",
    "date": "2026-01-01",
    "peers": "none",
}
VALUES = {"median": 10.0, "99 %": 20.0, "99.9 %": 30.0}


def report(ratio=2.0, kind="a processor"):
    """Return a report with one of everything."""
    figures = [
        Figure(
            "step", VALUES, limits={"median": 60.0}, peers=(Peer("other", VALUES, ratio), Peer("third", missing="no"))
        ),
        Figure("missed", {"missed": 3}, "cycles", {"missed": 2}, (Peer("other", {"missed": 2}),)),
    ]
    return Report(
        MACHINE | {"kind": kind},
        {"core": figures},
        [Check("map", 3.0, 2.0, 1.2)],
        [Curve("arm", "joints", "us", (3, 7), {"step": (1.0, 2.0)})],
        {"loop": [(0.0, 50.0), (60.0, 51.0)]},
        {"simulator": [(0.0, 270.0), (3600.0, 270.5)]},
    )


def keep(directory, name, kept):
    (directory / name).mkdir()
    (directory / name / REPORT_FILE).write_text(kept.as_json([]))


def test_every_figure_comes_with_target_verdict_and_peer():
    written = json.loads(report().as_json([]))
    step, missed = written["figures"]
    assert (step["met"], missed["met"]) == (True, False)
    assert step["target"] == "at most 60 median"
    assert [peer["ratio"] for peer in step["peers"]] == [2.0, None]
    assert written["ratios"] == {"step / other": 2.0, "map / yardstick, checked": 3.0}
    text = text_of(report(), [])
    assert "at most 60 median met" in text
    assert "at most 2 missed MISSED" in text
    assert "third: no" in text
    assert "SLOWER" in text


def test_ratios_are_compared_with_the_median_of_earlier_runs_on_such_a_machine(tmp_path):
    for name, ratio, kind in (("1", 1.0, "a processor"), ("2", 1.5, "a processor"), ("3", 9.0, "another")):
        keep(tmp_path, name, report(ratio, kind))
    keep(tmp_path, "4", report(1.6))
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / REPORT_FILE).write_text("half of a")
    changes = {change.name: change for change in earlier_changes(report(2.0), tmp_path)}
    step = changes["step / other"]
    assert step.earlier == (1.0, 1.5, 1.6)
    assert step.change == pytest.approx(2.0 / 1.5)
    assert step.worse
    assert not changes["map / yardstick, checked"].worse
    assert "WORSE" in text_of(report(), list(changes.values()))


def test_a_ratio_that_is_no_number_is_worse_than_before(tmp_path):
    """Of a loop that never answers in time. It is none to compare others with."""
    keep(tmp_path, "1", report(1.0))
    keep(tmp_path, "2", report(math.nan))
    changes = {change.name: change for change in earlier_changes(report(math.nan), tmp_path)}
    step = changes["step / other"]
    assert step.worse and step.earlier == (1.0,)
    assert "WORSE" in text_of(report(math.nan), list(changes.values()))
    assert draw_report(report(math.nan), list(changes.values())).startswith(b"\x89PNG")


def test_the_picture_is_drawn_with_and_without_what_may_be_missing(tmp_path):
    keep(tmp_path, "1", report())
    for drawn, changes in ((report(), earlier_changes(report(), tmp_path)), (Report(MACHINE, report().sections), [])):
        assert draw_report(drawn, changes).startswith(b"\x89PNG")
