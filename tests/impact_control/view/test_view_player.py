"""A recording is played at the speed that was chosen, from where it was put; whatever can be replayed can be seen."""

from __future__ import annotations

import socket

import numpy as np
import pytest
from typer.testing import CliRunner

from impact_control.cli import main as cli
from impact_control.replay import replay_file
from impact_control.scenario import load_scenario
from impact_control.util.errors import ImpactControlError
from impact_control.view import drawing
from impact_control.view.frame import arm_frame
from impact_control.view.player import PlayClock
from impact_control.view.recorded import record_of_bag, record_of_replay
from impact_control_ros.session.graph import Duty, View, describe_graph
from recorded_courses import recorded_course
from recorded_files import write_trial_file


def test_the_clock_plays_at_its_speed_and_pauses_at_the_end():
    clock = PlayClock(2.0, 3.0)
    clock.advance(0.25)
    assert clock.time == 2.25
    clock.speed = 0.1
    clock.advance(1.0)
    assert clock.time == pytest.approx(2.35)
    clock.advance(100.0)
    assert clock.time == 3.0 and not clock.playing
    clock.advance(1.0)
    assert clock.time == 3.0
    clock.toggle()
    assert clock.time == 2.0 and clock.playing


def test_a_paused_clock_stands_and_can_be_put_anywhere_within():
    clock = PlayClock(2.0, 3.0)
    clock.toggle()
    clock.advance(1.0)
    assert clock.time == 2.0
    for wanted, found in ((2.7, 2.7), (9.0, 3.0), (0.0, 2.0)):
        clock.seek(wanted)
        assert clock.time == found


def test_a_bag_is_shown_as_it_was_recorded(bag):
    run = recorded_course("tabletop").run
    stage, record = record_of_bag(bag)
    assert stage.title == "tabletop" and record.start == 0.0
    assert record.end == pytest.approx(run.time[-1]) and record.impacts == pytest.approx([run.events[0].detection_time])
    frame = arm_frame(record.arms[""], run.time[700], run.time[699])
    np.testing.assert_allclose(frame.position, run.position[700])
    assert int(frame.mode) == run.reference.mode[700]
    end = arm_frame(record.arms[""], record.end, record.end - 1e-3)
    assert end.impact.name == end.post_impact.name == "EXPECTED" and end.reason == run.verdict.reason


def test_a_replay_of_a_bag_shows_what_the_replay_found_and_what_else_was_recorded(bag):
    run = recorded_course("tabletop").run
    stage, record = record_of_replay(replay_file(bag))
    frame = arm_frame(record.arms[""], run.time[1500], run.time[1499])
    np.testing.assert_allclose(frame.residual, run.residual[1][1500], atol=1e-9)
    assert frame.impacts == 1 and int(frame.mode) == run.reference.mode[1500]
    assert arm_frame(record.arms[""], record.end, record.end).reason == run.verdict.reason
    assert not stage.surfaces[0].expected


def test_trials_of_others_are_shown_without_a_truth_that_nobody_knows(tmp_path):
    run = recorded_course("tabletop").run
    file = tmp_path / "trials.h5"
    write_trial_file(file, load_scenario("tabletop").to_yaml(), run.time, run.position, run.velocity, run.torque)
    stage, record = record_of_replay(replay_file(file))
    assert stage.surfaces[0].expected
    frame = arm_frame(record.arms[""], run.time[1500], run.time[1499])
    assert frame.contact_force is None and frame.mode is None and frame.impacts == 1
    np.testing.assert_allclose(frame.position, run.position[1500])


def test_the_view_is_part_of_the_graph_and_the_only_node_that_is_not_needed():
    assert not any(spec.duty is Duty.VIEWER for spec in describe_graph("tabletop"))
    first, *others = describe_graph("tabletop", view=View(8081, patience=3.0))
    assert first.duty is Duty.VIEWER and not any(spec.duty is Duty.VIEWER for spec in others)
    assert first.parameters["port"] == 8081 and first.parameters["patience"] == 3.0 and first.parameters["simulated"]


def test_a_missing_library_and_a_taken_port_are_told_in_one_line(monkeypatch, tmp_path):
    found = {"viser": None}
    monkeypatch.setattr(drawing.importlib.util, "find_spec", lambda name: found.get(name))
    demo = ["demo", "--view", "--output", str(tmp_path / "runs")]
    result = CliRunner().invoke(cli.app, demo)
    assert isinstance(result.exception, ImpactControlError) and "make demo VIEW=1" in str(result.exception)
    found["viser"] = object()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = CliRunner().invoke(cli.app, [*demo, "--port", str(port)])
    assert isinstance(result.exception, drawing.ViewError)
    assert f"port {port} of 127.0.0.1" in str(result.exception) and "VIEW_PORT" in str(result.exception)
    assert not (tmp_path / "runs").exists()
