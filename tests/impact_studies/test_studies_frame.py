"""Studies are found, refused, run and written: registry, files, report, terminal, command."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from impact_control.cli.main import app, main
from impact_control.cli.progress_line import time_left
from impact_control.util.errors import InterruptedByUserError, InvalidInputError
from impact_studies.frame.computing import InThisProcess
from impact_studies.frame.every import Unfinished, mark, run_all
from impact_studies.frame.runner import ALL, StudyRun, available_studies, find_studies, find_study, run_study
from impact_studies.frame.study import (
    Column,
    Comparison,
    Finding,
    Mark,
    Study,
    StudyFigure,
    StudyResult,
    Table,
    all_hold,
    columns,
    held,
    part,
    tally,
    targets_table,
)
from impact_studies.frame.terminal import studies_text, study_text
from impact_studies.frame.trials import run_trials
from study_files import require_same_files


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
    findings = (Finding("Smaller than published.", True), Finding("And quick." if quick else "And whole."))
    figures = (StudyFigure("line", "A line", "It rises.", draw),)
    return StudyResult(
        (table,), figures, findings, "It holds.", holds=True, assumptions=("Time passes.",), comparisons=COMPARISONS
    )


COMPARISONS = (
    Comparison("Table I", "error <of> all", 1.5, 1.25, "deg/s", True),
    Comparison("Fig. 2", "it rises", "always", "in 3 of 4", holds=False),
    Comparison("Fig. 3", "slope", 2.0, 2.5),
)

STUDY = Study("sample", "A sample", "Nobody 2024, Table I", "Nothing much.", answer, 1.0)


def test_every_module_that_is_not_of_the_frame_is_a_study():
    names = available_studies()
    assert "rey_arias_tables" in names
    for name in names:
        study = find_study(name)
        assert study.name == name
        assert all((study.title, study.source, study.shows))
        assert 0.0 < study.minutes < 60.0
        assert study.name in studies_text([study])


def test_hyphens_count_as_underscores():
    assert find_study("rey-arias-tables") is find_study("rey_arias_tables")


def test_all_of_them_are_found_by_one_name():
    assert [study.name for study in find_studies(ALL)] == list(available_studies())
    assert find_studies("wang-impulse") == [find_study("wang_impulse")]


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInputError, match=r"all, or one of baselines.*; nearest: rey_arias_tables"):
        find_study("rey_arias_table")


def test_names_are_known_without_loading_the_studies():
    """In an interpreter of its own: neither the studies nor what draws or simulates."""
    code = "import sys; from impact_studies.frame.runner import available_studies as a; a(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"matplotlib", "mujoco", "impact_control.simulation"} & set(loaded)
    assert not {f"impact_studies.{name}" for name in available_studies()} & set(loaded)


def test_a_row_has_to_be_as_long_as_the_head():
    with pytest.raises(InvalidInputError, match="2 cells"):
        Table("short", "", (Column("a"), Column("b")), (("x",),))


@pytest.mark.parametrize(
    ("cell", "text"), [(1.23456789, "1.23"), (None, "-"), (float("nan"), "-"), (7, "7"), ("x", "x"), (-0.001, "-0.00")]
)
def test_numbers_are_rounded_where_they_are_shown(cell, text):
    assert Column("a", "s", 2).text(cell) == text


def test_a_run_writes_report_results_and_pictures(tmp_path):
    progress = []
    run = run_study(STUDY, tmp_path, seed=4, progress=lambda *step: progress.append(step))
    assert progress == [(0.5, "half of it")]
    assert {path.name for path in (tmp_path / "sample").iterdir()} == {"report.html", "results.h5", "line.png"}
    page = run.report.read_text()
    assert "Errors &lt;b&gt;" in page and "back &amp; up" in page
    assert "error &lt;of&gt; all" in page and "1.5 deg/s" in page and "-0.25 deg/s" in page and "does not hold" in page
    assert '<td class="good">4.33</td>' in page and '<td class="bad">2.00</td>' in page
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    for text in (STUDY.source, "It holds.", "Of nothing.", "Time passes.", "It rises.", "seed 4"):
        assert text in page


def test_results_can_be_read_with_h5py_alone(tmp_path):
    run = run_study(STUDY, tmp_path, seed=4)
    with h5py.File(tmp_path / "sample" / "results.h5") as file:
        assert file.attrs["study"] == "sample" and file.attrs["holds"] and file.attrs["verdict"] == "It holds."
        errors = file["tables/errors"]
        assert errors.dtype.names == ("type", "ours, mean", "published")
        assert list(errors.attrs["units"]) == ["", "deg/s", "deg/s"]
        assert list(errors["type"].astype(str)) == ["forward", "back & up"]
        assert list(errors["ours, mean"]) == [run.result.tables[0].rows[0][1], 2.0]
        assert errors["published"][0] == 1.5 and np.isnan(errors["published"][1])
        compared = file["comparisons"]
        assert list(compared["verdict"].astype(str)) == ["holds", "does not hold", ""]
        assert np.array_equal(compared["difference"], [-0.25, np.nan, 0.5], equal_nan=True)
        assert list(compared["published"].astype(str)) == ["1.5", "always", "2.0"]
        assert list(file["findings"].asstr()) == ["Smaller than published.", "And whole."]
        assert file["run/seconds"][()] >= 0.0 and file["run/seconds"].attrs["unit"] == "s"
        made = dict(file["provenance"].attrs)
    assert made["seed"] == 4 and not made["quick"]
    assert made["numpy"] == np.__version__
    assert all(re.fullmatch("[0-9a-f]{16}", made[name]) for name in ("source", "scenarios"))
    assert re.fullmatch(r"([0-9a-f]{40}\+?)?", made["commit"])


def test_columns_of_the_same_name_are_told_apart_in_the_results(tmp_path):
    table = Table("twice", "Twice", columns(("a", "a")), ((1, None), (2, 3.0)))
    study = Study("sample", "", "", "", lambda *_: StudyResult((table,), (), (), "", True), 1.0)
    run_study(study, tmp_path)
    with h5py.File(tmp_path / "sample" / "results.h5") as file:
        twice = file["tables/twice"]
        assert twice["a"].dtype.kind == "i" and list(twice["a"]) == [1, 2]
        assert np.array_equal(twice["a (2)"], [np.nan, 3.0], equal_nan=True)


def test_marked_words_stay_on_the_left(tmp_path):
    table = Table("said", "Said", columns(("where", "ours")), (("here", "as published"),), {(0, 1): Mark.BAD})
    study = Study(
        "sample", "A sample", "Nobody 2024", "Nothing.", lambda *_: StudyResult((table,), (), (), "No.", False), 1.0
    )
    assert '<td class="bad text">as published</td>' in run_study(study, tmp_path).report.read_text()


def test_a_tally_counts_what_has_a_verdict_and_says_where_it_does_not_hold():
    assert tally(COMPARISONS) == "1 of 2 statements hold. Those that do not: Fig. 2."
    others = [Comparison(where, "", "", "", holds=False) for where in ("IV, V", "Fig. 2")]
    assert tally([*COMPARISONS, *others]) == "1 of 4 statements hold. Those that do not: Fig. 2 (2); IV, V."
    assert tally(COMPARISONS[:1]) == "1 of 1 statements hold."
    assert held(COMPARISONS) == "1 of 2"
    assert all_hold(COMPARISONS[:1]) and not all_hold(COMPARISONS)
    assert StudyResult((), (), (), "", comparisons=COMPARISONS[:1]).holds
    assert StudyResult((), (), (), "", comparisons=COMPARISONS).holds is False
    assert StudyResult((), (), (), "", holds=True, comparisons=COMPARISONS).holds


def test_a_table_of_targets_shows_what_is_asked_for_with_its_verdict():
    table = targets_table(COMPARISONS[:2])
    assert table.rows == (("error <of> all", 1.5, 1.25), ("it rises", "always", "in 3 of 4"))
    assert table.marks == {(0, 2): Mark.GOOD, (1, 2): Mark.BAD}
    places = targets_table(COMPARISONS[:1], {"own": Column("ours", decimals=1), "where": Column("where")}, note="Ours.")
    assert places.rows == ((1.25, "Table I"),) and places.note == "Ours."


def test_columns_side_by_side_share_their_unit():
    assert columns(("a", "b"), "ms", 1) == (Column("a", "ms", 1), Column("b", "ms", 1))
    assert columns(name for name in "ab")[1] == Column("b")


def test_a_part_tells_its_share_of_the_whole_and_its_name():
    told = []
    outer = part(lambda *step: told.append(step), 0.5, 0.25, "report")
    part(outer, 0.0, 0.5)(1.0, "trial 3 of 3")
    part(outer, 0.5, 0.5, "impacts")(1.0, "trial 9 of 9")
    assert told == [(0.625, "report: trial 3 of 3"), (0.75, "report: impacts: trial 9 of 9")]


def test_the_same_seed_writes_the_same_files(tmp_path):
    for place in ("first", "second"):
        run_study(STUDY, tmp_path / place, seed=7, quick=True)
    require_same_files(tmp_path / "first", tmp_path / "second", "sample")


def named(name, run, minutes=1.0):
    return Study(name, f"Title of {name}", "Nobody 2024", "Nothing.", run, minutes)


def failing(_seed, _quick, _progress):
    raise ValueError("no <luck>")


def all_of(studies, output, tell=lambda _: None, progress=lambda *_: None):
    return run_all(studies, output, seed=3, quick=True, place=InThisProcess(), progress=progress, tell=tell)


def test_a_study_that_fails_does_not_lose_the_others(tmp_path):
    told, steps = [], []
    studies = [named("first", answer, 3.0), named("second", failing), named("third", answer)]
    ended = all_of(studies, tmp_path, told.append, lambda *step: steps.append(step))
    assert told == ended
    assert [type(one) for one in ended] == [StudyRun, Unfinished, StudyRun]
    assert [mark(one) for one in ended] == [Mark.GOOD, Mark.BAD, Mark.GOOD]
    assert steps == [(0.3, "first: half of it"), (0.9, "third: half of it")]
    page = (tmp_path / "all" / "report.html").read_text()
    for text in ("2 of 3 studies hold", "ValueError: no &lt;luck&gt;", "error &lt;of&gt; all", "-0.25 deg/s", "seed 3"):
        assert text in page
    assert page.count("in 3 of 4") == 4  # in the table of all and in that of each study
    assert page.count("data:image/png") == 2
    assert set(re.findall(r'(?:src|href)="(?!data:)([^"]*)', page)) == {"#first", "#third"}
    assert {'<article id="first">', '<article id="third">'} <= set(page.splitlines())


@pytest.fixture
def without_extras(monkeypatch, tmp_path):
    """The environment before `make extras`, also where it was made."""
    for name in ("mujoco", "pydrake", "pydrake.geometry"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))


@pytest.mark.usefixtures("without_extras")
def test_a_study_without_its_packages_is_not_run_and_not_a_failure(tmp_path):
    engines = find_study("engine_comparison")
    ended = all_of([named("first", answer), engines], tmp_path)
    assert ended[1] == Unfinished(engines, "MuJoCo is not installed: `make extras` installs it", failed=False)
    page = (tmp_path / "all" / "report.html").read_text()
    assert '<p class="verdict good">1 of 1 studies hold, 1 not run.</p>' in page
    assert "<td>not run</td>" in page.replace(' class="text"', "") and "`make extras` installs it" in page
    assert "in the trial" not in page


@pytest.mark.usefixtures("without_extras")
@pytest.mark.parametrize(("first", "code"), [(answer, 0), (failing, 1)])
def test_a_study_that_was_not_run_leaves_the_exit_code_alone(tmp_path, monkeypatch, first, code):
    studies = [named("first", first), find_study("engine_comparison")]
    monkeypatch.setattr("impact_studies.frame.runner.find_studies", lambda _name: studies)
    ran = CliRunner().invoke(app, ["study", "all", "--quick", "-o", str(tmp_path)])
    assert ran.exit_code == code
    (line,) = (line for line in ran.stdout.splitlines() if "engine_comparison" in line)
    assert line == "- engine_comparison           not run  MuJoCo is not installed: `make extras` installs it"


@pytest.mark.usefixtures("without_extras")
def test_a_study_that_is_asked_for_by_name_without_its_packages_ends_with_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["impact-control", "study", "engine_comparison", "--quick", "-o", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "MuJoCo is not installed: `make extras` installs it" in capsys.readouterr().err


def test_a_package_that_all_of_them_need_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    (ended,) = all_of([named("first", answer)], tmp_path)
    assert isinstance(ended, Unfinished) and ended.failed


def test_the_page_of_all_is_there_when_a_later_study_is_interrupted(tmp_path):
    def interrupted(_seed, _quick, _progress):
        raise KeyboardInterrupt

    with pytest.raises(InterruptedByUserError, match="second"):
        all_of([named("first", answer), named("second", interrupted)], tmp_path)
    assert "1 are still to be run" in (tmp_path / "all" / "report.html").read_text()


def test_time_of_trials_of_an_earlier_run_is_counted(tmp_path):
    def study(_seed, _quick, progress):
        run_trials(busy, [1, 2], tmp_path / "trials", progress)
        return StudyResult((), (), (), "", True)

    first = run_study(named("busy", study), tmp_path)
    assert first.found_seconds == found_seconds(tmp_path / "busy") == 0.0
    again = run_study(named("busy", study), tmp_path)
    assert first.trial_seconds == again.trial_seconds >= 0.1
    assert again.found_seconds == found_seconds(tmp_path / "busy") == first.trial_seconds


def found_seconds(directory):
    with h5py.File(directory / "results.h5") as file:
        assert file["run/found_seconds"].attrs["unit"] == "s"
        return file["run/found_seconds"][()]


def busy(_case):
    started = time.process_time()
    while time.process_time() < started + 0.05:
        pass
    return {}


@pytest.mark.parametrize(
    ("elapsed", "done", "remaining", "text"),
    [
        (10.0, 0.5, 0.5, ", about 10 s left"),
        (60.0, 0.1, 0.9, ", about 9 min left"),
        (1.0, 0.5, 0.5, ""),
        (60.0, 0.0, 1.0, ""),
    ],
)
def test_time_left_goes_on_as_it_went_so_far(elapsed, done, remaining, text):
    assert time_left(elapsed, done, remaining) == text


def test_a_negative_seed_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="seed"):
        run_study(STUDY, tmp_path, seed=-1)


@pytest.mark.parametrize(
    ("output", "name", "message"),
    [
        (__file__, "sample", "output"),
        # One of the kernel's: it is there, and nobody makes files in it.
        ("/proc", "self", r"output = '/proc/self'; allowed: a directory to write to"),
    ],
    ids=["file", "read only"],
)
def test_an_output_that_cannot_be_written_to_is_refused_before_the_study_runs(output, name, message):
    ran = []
    with pytest.raises(InvalidInputError, match=message):
        run_study(named(name, answer), Path(output), progress=lambda *step: ran.append(step))
    assert not ran


def test_an_interruption_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    def interrupted(_seed, _quick, _progress):
        raise KeyboardInterrupt

    study = named("sample", interrupted)
    monkeypatch.setattr("impact_studies.frame.runner.find_studies", lambda _name: [study])
    monkeypatch.setattr(sys, "argv", ["impact-control", "study", "sample", "-o", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == (
        "impact-control: study sample interrupted; finished trials are kept, the same command goes on from there\n"
    )


def test_the_terminal_shows_all_of_it():
    text = study_text(STUDY, answer(0, True, lambda *_: None))
    for words in (*("0.33", "1.50", "2.00"), "Errors <b>", "✓ Smaller", "- And quick", "Time passes.", "It holds."):
        assert words in text
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "\x1b[" in study_text(STUDY, answer(0, True, lambda *_: None), color=True)


def test_words_that_do_not_fit_are_broken_and_not_cut_off():
    table = Table("wide", "Wide", columns(f"{name}{'configuration' * 2}" for name in "abcdefgh"), (("word",) * 8,))
    text = study_text(STUDY, StudyResult((table,), (), (), "It holds.", holds=True))
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert max(map(len, text.splitlines())) <= 160


def not_holding(_seed, _quick, _progress):
    return StudyResult((), (), (), "No.", holds=False)


@pytest.mark.parametrize(("second", "code", "sign"), [(answer, 0, "✓"), (failing, 1, "✗"), (not_holding, 3, "✗")])
def test_the_exit_code_of_all_says_whether_they_hold(tmp_path, monkeypatch, second, code, sign):
    studies = [named("first", answer), named("second", second)]
    monkeypatch.setattr("impact_studies.frame.runner.find_studies", lambda _name: studies)
    ran = CliRunner().invoke(app, ["study", "all", "--quick", "-o", str(tmp_path)])
    assert ran.exit_code == code
    assert "✓ first" in ran.stdout and f"{sign} second" in ran.stdout
    assert str(tmp_path / "all" / "report.html") in ran.stdout


def test_the_list_has_one_line_a_study():
    studies = find_studies(ALL)
    lines = studies_text(studies).splitlines()
    for study in studies:
        (line,) = (line for line in lines if line.split()[:1] == [study.name])
        assert study.source in line and study.title in line and f"{study.minutes:.1f}" in line


def test_the_command_lists_the_studies_and_refuses_others():
    listed = CliRunner().invoke(app, ["study", "--list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in available_studies())
    refused = CliRunner().invoke(app, ["study", "nothing"])
    assert isinstance(refused.exception, InvalidInputError)
