"""A bag that was cut off is reported as that, each time: nothing is said of an end that it does not hold."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_control.recording.bag import was_cut_off
from impact_control.recording.summary import summarise
from impact_control.replay.evaluation import evaluate


def reported(bag, output):
    result = CliRunner().invoke(app, ["report", str(bag), "-o", str(output)], env={"COLUMNS": "100"})
    return result.exit_code, result.output, (output / "report.html").read_text()


@pytest.fixture(scope="module")
def bag(bag, tmp_path_factory):
    """A copy of the bag of a run of tabletop."""
    return shutil.copytree(bag, tmp_path_factory.mktemp("cut") / "bag")


def test_the_end_that_is_lost_is_not_judged(bag, tmp_path):
    (file,) = bag.glob("*.mcap")
    whole = evaluate(bag).analysis
    file.write_bytes(file.read_bytes()[: int(0.6 * file.stat().st_size)])
    for attempt in range(2):
        code, said, page = reported(bag, tmp_path / str(attempt))
        assert code == 1
        for text in (said, page):
            assert "NOT KNOWN" in text and "where the recording was cut off" in text
            assert "cut off 1." in text and "still moving" not in text and "At the end" not in text
    assert was_cut_off(bag)
    assert evaluate(bag).analysis.duration < 0.7 * whole.duration


def test_what_was_known_before_the_cut_is_still_told(bag):
    analysis = replace(evaluate(bag).analysis, outcome="succeeded", cut_off=True, final_speed=1.0)
    summary = summarise(analysis)
    assert summary.good and summary.verdict.startswith("AS EXPECTED, as far as was recorded before it was cut off")
    assert "at rest" not in summary.verdict
