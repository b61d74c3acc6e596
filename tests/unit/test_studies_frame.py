"""Studies are found, refused, run and written: registry, files, report, terminal, command."""

from __future__ import annotations

import csv
import re
import subprocess
import sys

import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from impact_control.cli import app, main
from impact_control.errors import InvalidInputError
from impact_control.studies import (
    Column,
    Finding,
    Mark,
    Study,
    StudyFigure,
    StudyResult,
    Table,
    available_studies,
    find_study,
    run_study,
)
from impact_control.studies.study import columns
from impact_control.studies.terminal import studies_text, study_text


def draw():
    figure = Figure(figsize=(3.0, 2.0))
    figure.subplots().plot([1, 2])
    return figure


def answer(seed, quick, progress):
    progress(0.5, "half of it")
    table = Table(
        name="errors",
        title="Errors <b>",
        columns=(Column("type"), Column("ours,\nmean", "deg/s", 2), Column("published", "deg/s", 2)),
        rows=(("forward", 1.0 / 3.0 + seed, 1.5), ("back & up", 2.0, None)),
        marks={(0, 1): Mark.GOOD, (1, 1): Mark.BAD},
        note="Of nothing.",
    )
    findings = (Finding("Smaller than published.", Mark.GOOD), Finding("And quick." if quick else "And whole."))
    figures = (StudyFigure("line", "A line", "It rises.", draw),)
    return StudyResult((table,), figures, findings, "It holds.", holds=True, assumptions=("Time passes.",))


STUDY = Study("sample", "A sample", "Nobody 2024, Table I", "Nothing much.", answer)


def test_every_module_that_is_not_of_the_frame_is_a_study():
    names = available_studies()
    assert "rey_arias_tables" in names
    for name in names:
        study = find_study(name)
        assert study.name == name
        assert all((study.title, study.source, study.shows))
        assert study.name in studies_text([study])


def test_hyphens_count_as_underscores():
    assert find_study("rey-arias-tables") is find_study("rey_arias_tables")


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInputError, match="rey_arias_tables"):
        find_study("rey_arias_table")


def test_names_are_known_without_loading_the_studies():
    """In an interpreter of its own: neither the studies nor what draws or simulates."""
    code = "import sys; from impact_control.studies.registry import available_studies as a; a(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"matplotlib", "mujoco", "impact_control.simulation"} & set(loaded)
    assert not {f"impact_control.studies.{name}" for name in available_studies()} & set(loaded)


def test_a_row_has_to_be_as_long_as_the_head():
    with pytest.raises(InvalidInputError, match="2 cells"):
        Table("short", "", (Column("a"), Column("b")), (("x",),))


@pytest.mark.parametrize(
    ("cell", "text"), [(1.23456789, "1.23"), (None, "-"), (float("nan"), "-"), (7, "7"), ("x", "x"), (-0.001, "-0.00")]
)
def test_numbers_are_rounded_where_they_are_shown(cell, text):
    assert Column("a", "s", 2).text(cell) == text


def test_a_run_writes_report_tables_and_pictures(tmp_path):
    progress = []
    result, report = run_study(STUDY, tmp_path, seed=4, progress=lambda *step: progress.append(step))
    assert progress == [(0.5, "half of it")]
    assert {path.name for path in (tmp_path / "sample").iterdir()} == {"report.html", "errors.csv", "line.png"}
    rows = list(csv.reader((tmp_path / "sample" / "errors.csv").open()))
    assert rows[0] == ["type", "ours, mean [deg/s]", "published [deg/s]"]
    assert float(rows[1][1]) == result.tables[0].rows[0][1]
    assert rows[2] == ["back & up", "2.0", ""]
    page = report.read_text()
    assert "Errors &lt;b&gt;" in page and "back &amp; up" in page
    assert '<td class="good">4.33</td>' in page and '<td class="bad">2.00</td>' in page
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    for text in (STUDY.source, "It holds.", "Of nothing.", "Time passes.", "It rises.", "seed 4"):
        assert text in page


def test_marked_words_stay_on_the_left(tmp_path):
    table = Table("said", "Said", columns(("where", "ours")), (("here", "as published"),), {(0, 1): Mark.BAD})
    study = Study(
        "sample", "A sample", "Nobody 2024", "Nothing.", lambda *_: StudyResult((table,), (), (), "No.", False)
    )
    _, report = run_study(study, tmp_path)
    assert '<td class="bad text">as published</td>' in report.read_text()


def test_columns_side_by_side_share_their_unit():
    assert columns(("a", "b"), "ms", 1) == (Column("a", "ms", 1), Column("b", "ms", 1))
    assert columns(name for name in "ab")[1] == Column("b")


def test_the_same_seed_writes_the_same_files(tmp_path):
    for place in ("first", "second"):
        run_study(STUDY, tmp_path / place, seed=7, quick=True)
    for file in (tmp_path / "first" / "sample").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / "sample" / file.name).read_bytes()


def test_a_negative_seed_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="seed"):
        run_study(STUDY, tmp_path, seed=-1)


def test_an_output_that_is_no_directory_is_refused_before_the_study_runs(tmp_path):
    ran = []
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InvalidInputError, match="output"):
        run_study(STUDY, file, progress=lambda *step: ran.append(step))
    assert not ran


def test_an_interruption_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    def interrupted(_seed, _quick, _progress):
        raise KeyboardInterrupt

    study = Study("sample", "A sample", "Nobody 2024", "Nothing.", interrupted)
    monkeypatch.setattr("impact_control.studies.find_study", lambda _name: study)
    monkeypatch.setattr(sys, "argv", ["impact-control", "study", "sample", "-o", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == (
        "impact-control: study sample interrupted; finished trials are kept, the same command goes on from there\n"
    )


def test_the_terminal_shows_all_of_it():
    text = study_text(STUDY, answer(0, True, lambda *_: None))
    for part in (*("0.33", "1.50", "2.00"), "Errors <b>", "✓ Smaller", "- And quick", "Time passes.", "It holds."):
        assert part in text
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "\x1b[" in study_text(STUDY, answer(0, True, lambda *_: None), color=True)


def test_words_that_do_not_fit_are_broken_and_not_cut_off():
    table = Table("wide", "Wide", columns(f"{name}{'configuration' * 2}" for name in "abcdefgh"), (("word",) * 8,))
    text = study_text(STUDY, StudyResult((table,), (), (), "It holds.", holds=True))
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert max(map(len, text.splitlines())) <= 160


def test_the_command_lists_the_studies_and_refuses_others():
    listed = CliRunner().invoke(app, ["study", "--list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in available_studies())
    refused = CliRunner().invoke(app, ["study", "nothing"])
    assert isinstance(refused.exception, InvalidInputError)
