"""A recorded run, replayed, ends as it did; recordings of other programs are judged by the plan."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from typer.testing import CliRunner

from impact_control.classification import Verdict
from impact_control.cli import main as cli
from impact_control.recording.recorded_run import RecordedEvent, RecordedFile, only_arm
from impact_control.recording.summary import Mark
from impact_control.replay import ReplayedEvent, pair_events, replay_file, summarise_replay
from impact_control.replay import file as replay_module
from impact_control.scenario import config_directory, load_scenario
from impact_control.util.errors import RecordingError, ScenarioError
from recorded_courses import TYPES, course_messages, recorded_course, words
from recorded_files import write_libfranka_log, write_sqlite_bag, write_trial_file
from recording_samples import write_messages

RUNNER = CliRunner()


def replayed(tmp_path, run, scenario, monkeypatch, **options):
    """Replay a run that was not written to a file."""
    file = RecordedFile(tmp_path / "run", "test", load_scenario(scenario).to_yaml(), "", (), only_arm(tmp_path, run))
    monkeypatch.setattr(replay_module, "open_recording", lambda *_, **__: file)
    return replay_file(tmp_path, **options)[""]


def only(run, rows):
    """The run with some of its samples."""
    columns = {name: getattr(run, name)[rows] for name in ("time", "position", "velocity", "torque")}
    return dataclasses.replace(run, **columns)


def same_verdicts(found):
    recorded = found.run.verdict
    return (words(found.replay.impact), words(found.replay.post_impact)) == (recorded.impact, recorded.post_impact)


@pytest.mark.parametrize("name", ["tabletop", "tabletop_tilted", "tabletop_raised", "tabletop_absent", "tabletop_edge"])
def test_a_recorded_run_ends_as_it_did(tmp_path, monkeypatch, name):
    run = recorded_course(name).run
    found = replayed(tmp_path, run, name, monkeypatch)
    assert found.replay.defects == () and found.notes == ()
    pairs = pair_events(found.replay.events, run.events)
    assert len(pairs) == len(run.events)
    assert all(pair.same and pair.difference == 0.0 for pair in pairs)
    assert [event.impact_time for event in found.replay.events] == [event.impact_time for event in run.events]
    assert same_verdicts(found) and found.reason == run.verdict.reason
    np.testing.assert_allclose(found.replay.residual, run.residual[1], atol=1e-9)
    summary = summarise_replay(found)
    assert summary.good and summary.verdict.startswith("AS RECORDED")


def test_a_judgement_begins_anew_after_an_interruption(tmp_path, monkeypatch):
    """Somebody pushes the arm, it yields and goes back: the verdicts are those of the impact that comes then."""
    run = recorded_course("tabletop_admittance").run
    assert 8 in run.reference.mode  # it did go back
    found = replayed(tmp_path, run, "tabletop_admittance", monkeypatch)
    assert same_verdicts(found)
    assert [event.detection_time for event in found.replay.events] == [event.detection_time for event in run.events]


def test_the_prediction_is_beside_what_was_observed(tmp_path, monkeypatch):
    found = replayed(tmp_path, recorded_course("tabletop").run, "tabletop", monkeypatch)
    comparison = found.comparison
    jump = np.abs(comparison.gross_post - comparison.ante).max()
    assert jump > 5.0  # deg/s
    assert min(error.max() for error in comparison.errors().values()) < 0.5 * jump
    titles = [grid.title for grid in summarise_replay(found).grids]
    assert any("prediction" in title for title in titles)
    assert comparison.slips["M + B_theta"] == "slips"
    rows = {row.label: row.value for row in summarise_replay(found).rows}
    assert "slips" in rows["Contact, predicted"]


def test_without_a_reference_the_plan_judges_once_the_start_is_known(tmp_path, monkeypatch):
    course = recorded_course("tabletop")
    bare = dataclasses.replace(course.run, reference=None, events=None, verdict=None)
    found = replayed(tmp_path, bare, "tabletop", monkeypatch)
    assert not found.judged and any("no verdicts" in note for note in found.notes)
    assert summarise_replay(found).verdict.startswith("REPLAYED: 1 impact detected")
    found = replayed(tmp_path, bare, "tabletop", monkeypatch, task_start=course.start)
    assert (found.replay.impact, found.replay.post_impact) == (Verdict.EXPECTED, Verdict.EXPECTED)
    late = replayed(tmp_path, bare, "tabletop", monkeypatch, task_start=course.start - 0.5)
    assert late.replay.impact is Verdict.UNEXPECTED


def test_the_torque_error_is_seen_where_the_commands_were_recorded(tmp_path, monkeypatch):
    path = tmp_path / "torque_error.yaml"
    path.write_text(
        f"extends: {config_directory() / 'scenarios' / 'tabletop.yaml'}\n"
        "detection: {residual_rate: none, torque_error: {threshold: 4 Nm, joints: [2, 4]}}\n"
    )
    run = recorded_course(str(path)).run
    assert run.events  # of the pipeline, which knows what it commanded
    found = replayed(tmp_path, run, path, monkeypatch)
    assert [event.detection_time for event in found.replay.events] == [event.detection_time for event in run.events]
    found = replayed(tmp_path, dataclasses.replace(run, commands=None), path, monkeypatch)
    assert found.replay.events == () and any("commands were not recorded" in note for note in found.notes)


def test_what_differs_is_said(tmp_path, monkeypatch):
    run = recorded_course("tabletop").run
    (event,) = run.events
    others = (dataclasses.replace(event, detection_time=event.detection_time + 0.01), RecordedEvent(0.1, 0.1, 0))
    verdict = dataclasses.replace(run.verdict, post_impact="unexpected")
    changed = dataclasses.replace(run, events=others, verdict=verdict)
    summary = summarise_replay(replayed(tmp_path, changed, "tabletop", monkeypatch))
    assert not summary.good
    for part in ("1 recorded impacts not found", "1 at another time", "post-impact verdict expected, not unexpected"):
        assert part in summary.verdict
    assert [row.mark for row in summary.rows if row.label == "Post-impact verdict"] == [Mark.BAD]


def test_a_loss_around_the_impact_makes_it_doubtful_and_says_so(tmp_path, monkeypatch):
    run = recorded_course("tabletop").run
    row = round(run.events[0].detection_time / 1e-3)
    keep = np.delete(np.arange(run.time.size), np.arange(row - 30, row - 5))
    found = replayed(tmp_path, only(run, keep), "tabletop", monkeypatch)
    assert any("25 samples missing" in defect for defect in found.replay.defects)
    assert [event.doubt != "" for event in found.replay.events] == [True]
    assert found.replay.impact is Verdict.UNKNOWN
    assert not summarise_replay(found).good


def test_a_recording_that_begins_in_the_impact_doubts_it(tmp_path, monkeypatch):
    run = recorded_course("tabletop").run
    row = round(run.events[0].detection_time / 1e-3)
    found = replayed(tmp_path, only(run, slice(row - 3, None)), "tabletop", monkeypatch)
    assert found.replay.impacts == ()
    assert "after the first sample" in found.replay.events[0].doubt


def test_events_are_paired_with_the_nearest():
    events = [ReplayedEvent(time, time, 0, "") for time in (1.0, 2.0, 3.0)]
    recorded = [RecordedEvent(time, time, 0) for time in (0.5, 1.01, 3.001)]
    pairs = pair_events(events, recorded)
    found = [
        (pair.replayed and pair.replayed.detection_time, pair.recorded and pair.recorded.detection_time)
        for pair in pairs
    ]
    assert found == [(None, 0.5), (1.0, 1.01), (2.0, None), (3.0, 3.001)]
    assert [pair.same for pair in pairs] == [False, False, False, True]
    assert pair_events([], []) == ()


@pytest.fixture(scope="module")
def files(prefix, tmp_path_factory):
    """Half a second around the impact of a run, in every format."""
    directory = tmp_path_factory.mktemp("files")
    course = recorded_course("tabletop")
    run = course.run
    row = round(run.events[0].detection_time / 1e-3)
    rows = slice(row - 250, row + 250)
    told = course_messages(course, "tabletop", rows)
    scenario = load_scenario("tabletop").to_yaml()
    record = {"impact_control": {"scenario": scenario, "version": "1"}}
    write_messages(directory / "mcap", prefix, TYPES, told, metadata=record)
    write_sqlite_bag(directory / "sqlite", prefix, TYPES, told)
    part = only(run, rows)
    columns = (part.time - part.time[0], part.position, part.velocity, part.torque)
    write_libfranka_log(directory / "log.csv", *columns)
    write_trial_file(directory / "trial.h5", scenario, *columns, contact_time=run.contact_time - part.time[0])
    start = course.start - part.time[0]
    return directory, ["--task-start", str(start)]


@pytest.mark.parametrize(
    ("name", "options", "planned"),
    [("mcap", [], False), ("sqlite", [], False), ("log.csv", ["-s", "tabletop"], True), ("trial.h5", [], True)],
)
def test_the_command_replays_every_format_with_the_same_verdicts(files, tmp_path, name, options, planned):
    directory, start = files
    options = [*options, *(start if planned else []), "--output", str(tmp_path / "report")]
    result = RUNNER.invoke(cli.app, ["replay", str(directory / name), *options])
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    recorded = "none" if planned else "expected"
    assert f"Impact verdict expected, recorded: {recorded}" in text
    assert f"Post-impact verdict expected, recorded: {recorded}" in text
    assert ("REPLAYED" if planned else "AS RECORDED") in text
    assert "times real time" in text
    page = (tmp_path / "report" / "replay.html").read_text()
    assert "data:image/png" in page
    assert all(label in page for label in ("Scenario", "Samples", "Speed", "Impact verdict", "Post-impact verdict"))


def test_a_bag_cut_off_is_replayed_as_far_as_it_goes(files, tmp_path):
    directory, _ = files
    content = (directory / "mcap" / "mcap_0.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(content[: len(content) * 9 // 10])
    found = replay_file(tmp_path / "cut.mcap", scenario="tabletop")[""]
    assert any("cut off" in note for note in found.notes)
    assert 250 < len(found.replay.time) < 500
    assert len(found.replay.impacts) == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["none"], "no such file"),
        (["log.csv"], "--scenario"),
        (["log.csv", "-s", "tabletop", "--columns", "none.yaml"], "none.yaml"),
        (["trial.h5", "--trial", "4"], "no trial 4"),
        (["mcap", "-s", "push_catfood_1"], "arm"),
    ],
)
def test_what_cannot_be_replayed_ends_with_one_line_and_exit_code_2(files, monkeypatch, capsys, options, reason):
    directory, _ = files
    monkeypatch.setattr("sys.argv", ["impact-control", "replay", str(directory / options[0]), *options[1:]])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert reason in error and error.count("\n") == 1 and "Traceback" not in error


def test_samples_of_other_joints_are_refused(tmp_path, monkeypatch):
    run = dataclasses.replace(recorded_course("tabletop").run, names=[f"joint{k}" for k in range(7)])
    with pytest.raises(RecordingError, match="panda_joint1"):
        replayed(tmp_path, run, "tabletop", monkeypatch)


def test_a_reference_of_other_joints_judges_nothing(tmp_path, monkeypatch):
    run = recorded_course("tabletop").run
    names = tuple(f"joint{k}" for k in range(7))
    run = dataclasses.replace(run, reference=dataclasses.replace(run.reference, names=names))
    found = replayed(tmp_path, run, "tabletop", monkeypatch)
    assert not found.judged and any("other joints" in note for note in found.notes)


def test_a_reference_that_is_none_is_refused_with_the_file(tmp_path, monkeypatch):
    run = recorded_course("tabletop").run
    broken = dataclasses.replace(run.reference, nominal_impact_time=np.full(run.time.size, np.nan))
    with pytest.raises(RecordingError, match="nan") as caught:
        replayed(tmp_path, dataclasses.replace(run, reference=broken), "tabletop", monkeypatch)
    assert str(tmp_path) in str(caught.value)


def test_a_scenario_that_is_not_known_here_has_to_be_given(tmp_path, monkeypatch):
    file = RecordedFile(
        tmp_path / "run", "test", "", "nowhere", (), only_arm(tmp_path, recorded_course("tabletop").run)
    )
    monkeypatch.setattr(replay_module, "open_recording", lambda *_, **__: file)
    with pytest.raises(RecordingError, match="nowhere"):
        replay_file(tmp_path)
    with pytest.raises(ScenarioError):
        replay_file(tmp_path, scenario="nowhere")
