"""Figures of merit of a run whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from impact_control.observation.post_impact_velocity import gross_post_impact_velocity
from impact_control.pipeline import Outcome
from impact_control.recording.analysis import analyse
from impact_control.recording.measures import CommandLimits, loop_timing
from impact_control.recording.series import read_bag
from impact_control.recording.summary import summarise
from impact_control.util.errors import InvalidInputError
from impact_control.util.words import in_words
from recording_samples import (
    EPOCH_NS,
    JOINTS,
    TORQUE_LIMITS,
    TYPES,
    SampleRun,
    messages,
    time_message,
    write_messages,
    write_run,
)

COMMANDS = "/arm/effort_controller/commands"
LIMITS = CommandLimits(TORQUE_LIMITS, np.full(7, 1000.0))


@pytest.fixture(scope="module")
def recording(prefix, tmp_path_factory):
    directory = tmp_path_factory.mktemp("analysis") / "run"
    write_run(directory, prefix)
    return read_bag(directory)


@pytest.fixture(scope="module")
def analysis(recording):
    return analyse(recording, limits=LIMITS)


def write_some(directory, prefix, run, keep):
    """The run with some topics only, each message passed through a function."""
    told = ((topic, keep[topic](content), log_time) for topic, content, log_time in messages(run) if topic in keep)
    write_messages(directory, prefix, TYPES, told)
    return read_bag(directory)


def unchanged(content):
    return content


def test_times_of_contact_and_detection(analysis):
    run = SampleRun()
    assert analysis.true_impact_time == pytest.approx(run.impact_time, abs=1e-9)
    assert analysis.detections == pytest.approx([run.detection_time], abs=1e-9)
    assert analysis.detection_delay == pytest.approx(run.detection_delay, abs=1e-9)
    assert analysis.impact_time == analysis.true_impact_time


def test_words(analysis):
    assert analysis.scenario == "push_on_plate"
    assert analysis.outcome == "succeeded"
    assert analysis.joint_names == JOINTS
    assert [interval.mode for interval in analysis.modes] == ["ante", "interim", "post"]
    assert (analysis.verdict.impact, analysis.verdict.post_impact) == ("expected", "expected")


def test_what_was_decided_before_the_recording_began_is_not_of_this_run(prefix, tmp_path):
    def decided(earlier_ns, name):
        def shifted(content):
            return {**content, "header": {**content["header"], "stamp": time_message(EPOCH_NS - earlier_ns)}}

        keep = {"/arm/joint_states": unchanged, "/arm/impact/events": shifted}
        recording = write_some(tmp_path / name, prefix, SampleRun(), keep)
        assert len(recording.series("impact/events")["stamp"]) == 1
        return analyse(recording)

    before = decided(2 * 10**9, "before")
    assert before.outcome == "no impact"
    assert before.detections.size == 0 and before.gross_post_velocity is None
    # One of the first samples that the recorder missed.
    assert decided(10**6, "first").detections.size == 1


def test_modes_cover_the_run_without_gap(analysis):
    run = SampleRun()
    starts = [interval.start for interval in analysis.modes]
    ends = [interval.end for interval in analysis.modes]
    assert starts[1:] == ends[:-1]
    assert starts == pytest.approx([0.0, run.detection_time, run.detection_time + run.interim], abs=1e-9)
    assert ends[-1] == pytest.approx(run.time[-1], abs=1e-9)


def test_forces_speeds_and_counts(analysis, recording):
    run = SampleRun()
    assert analysis.final_force == pytest.approx(run.final_force, rel=2e-3)
    assert analysis.desired_force == pytest.approx(run.final_force)
    truth = recording.series("simulation/truth")
    assert analysis.peak_force == pytest.approx(1.1 * truth["normal_force"].max())
    assert analysis.final_speed == pytest.approx(np.abs(run.velocity(run.time)[-51:]).max())
    assert analysis.timing.late_cycles == run.late_cycles
    assert analysis.timing.late_fraction == pytest.approx(run.late_cycles / (len(run.time) - 1))
    assert analysis.timing.missed_samples == run.missed_samples
    assert analysis.timing.held_commands == 6
    assert analysis.timing.lost_commands == 0
    assert analysis.final_position_error == pytest.approx(0.0005, rel=0.2)


def test_the_summary_words_the_counts_of_the_loop_in_full(analysis):
    (said,) = (row.value for row in summarise(analysis).rows if row.label == "Loop")
    late = f"{100 * analysis.timing.late_fraction:.2f} % of the cycles late"
    missed = f"{analysis.timing.missed_samples} samples missed by the controller"
    assert said == f"{late}, {missed}, last command repeated 6 times, 0 commands lost"


@pytest.mark.parametrize(
    ("states", "lost"),
    [
        ("222000100", 0),
        ("220201222", 4),
        ("000", 0),
        ("223220", 0),  # refused is none, either
        ("222", 3),  # as with a controller that sends them to another topic
        ("322", 2),
    ],
)
def test_commands_are_lost_from_the_first_one_on_or_all(states, lost, prefix, tmp_path):
    given = iter(states)

    def told(content):
        return {**content, "command_state": int(next(given))}

    topic = "/arm/simulation/truth"
    run = SampleRun(duration=len(states) / SampleRun.rate)
    timing = loop_timing(write_some(tmp_path / "bag", prefix, run, {topic: told}))
    assert (timing.lost_commands, timing.held_commands) == (lost, states.count("1"))


def test_peaks_of_the_command(analysis, recording):
    torque = recording.series("commands")["data"]
    assert analysis.peak_torque == pytest.approx(np.abs(torque).max(axis=0))
    assert analysis.peak_torque_rate == pytest.approx(np.abs(np.diff(torque, axis=0)).max(axis=0) * 500.0, rel=1e-5)
    assert analysis.within_limits is True
    assert analyse(recording).within_limits is None
    tight = replace(LIMITS, torque_rate=analysis.peak_torque_rate * 0.99)
    assert analyse(recording, limits=tight).within_limits is False


def changed(prefix, directory, change):
    """The analysis of the run whose messages were changed, or left out where `change` says False."""
    told = (message for message in messages(SampleRun()) if change(*message) is not False)
    write_messages(directory, prefix, TYPES, told)
    return analyse(read_bag(directory), limits=LIMITS)


def leap(topic, content, log_time):
    """Every torque 3 Nm larger from 0.6 s on."""
    if topic == COMMANDS and log_time > EPOCH_NS + 600_000_000:
        content["data"] = [torque + 3.0 for torque in content["data"]]


def lose(topic, content, log_time):
    """Three commands lost."""
    return topic != COMMANDS or not 596_000_000 < log_time - EPOCH_NS < 601_000_000


def begin_anew(topic, content, log_time):
    """Another activation: the controller counts its samples anew, and its arm had no torque before."""
    if topic == "/arm/controller/status" and log_time > EPOCH_NS + 600_000_000:
        content["samples"] -= 300
    leap(topic, content, log_time)


def test_a_step_of_the_commands_that_the_controller_did_not_count_is_found(prefix, analysis, tmp_path):
    peak = changed(prefix, tmp_path / "bag", leap).peak_torque_rate
    assert np.all(peak > 3.0 * 500.0 - analysis.peak_torque_rate)
    assert np.all(peak > 2.0 * analysis.peak_torque_rate)


@pytest.mark.parametrize("change", [lose, begin_anew])
def test_lost_commands_and_the_first_of_another_activation_are_no_step(prefix, analysis, tmp_path, change):
    peak = changed(prefix, tmp_path / "bag", change).peak_torque_rate
    assert np.all(peak <= analysis.peak_torque_rate.max() * (1 + 1e-5))


def test_commands_stand_in_for_a_missing_status(prefix, analysis, tmp_path):
    kept = dict.fromkeys(("/arm/joint_states", COMMANDS), unchanged)
    alone = analyse(write_some(tmp_path / "bag", prefix, SampleRun(), kept))
    assert alone.peak_torque == pytest.approx(analysis.peak_torque)
    assert alone.peak_torque_rate == pytest.approx(analysis.peak_torque_rate, rel=1e-5)


def test_a_recording_of_joint_states_alone(prefix, tmp_path):
    alone = analyse(write_some(tmp_path / "bag", prefix, SampleRun(), {"/arm/joint_states": unchanged}))
    assert alone.outcome == "no impact"
    assert alone.duration == pytest.approx(SampleRun().time[-1], abs=1e-9)
    unknown = (alone.impact_time, alone.verdict, alone.final_force, alone.peak_torque, alone.gross_post_velocity)
    assert unknown == (None,) * 5
    assert alone.modes == ()


def test_joints_are_taken_by_name(prefix, tmp_path):
    """Joint states in another order, with a gripper among them."""
    order = [6, 5, 4, 3, 2, 1, 0]

    def shuffled(content):
        arrays = {key: [0.5] + [content[key][i] for i in order] for key in ("position", "velocity", "effort")}
        return {**content, **arrays, "name": ["finger", *(JOINTS[i] for i in order)]}

    keep = {**dict.fromkeys(TYPES, unchanged), "/arm/joint_states": shuffled}
    run = SampleRun(duration=0.7, rate=100)
    straight = analyse(write_some(tmp_path / "straight", prefix, run, dict.fromkeys(TYPES, unchanged)))
    other = analyse(write_some(tmp_path / "bag", prefix, run, keep))
    assert other.joint_names == straight.joint_names == JOINTS
    assert other.ante_velocity == pytest.approx(straight.ante_velocity, abs=0)
    assert other.gross_post_velocity == pytest.approx(straight.gross_post_velocity, abs=0)
    assert other.final_speed == straight.final_speed

    keep["/arm/joint_states"] = lambda content: {**content, "name": [f"other{i}" for i in range(7)]}
    with pytest.raises(InvalidInputError, match="fr3_joint1"):
        analyse(write_some(tmp_path / "strangers", prefix, SampleRun(duration=0.1), keep))


@pytest.mark.parametrize(
    ("impact", "post_impact", "fault", "outcome"),
    [
        (2, 2, 0, Outcome.IMPACT_UNEXPECTED),
        (1, 2, 0, Outcome.POST_IMPACT_UNEXPECTED),
        (1, 0, 0, Outcome.UNDECIDED),
        (1, 1, 0, Outcome.SUCCEEDED),
        (1, 1, 6, Outcome.FAULT),
    ],
)
def test_outcomes_are_those_of_the_action(prefix, tmp_path, impact, post_impact, fault, outcome):
    run = SampleRun(duration=0.7, rate=100)
    keep = {
        "/arm/joint_states": unchanged,
        "/arm/impact/events": unchanged,
        "/arm/impact/classification": lambda content: {**content, "impact": impact, "post_impact": post_impact},
        "/arm/controller/status": lambda content: {
            **content,
            "fault": fault,
            "fault_reason": "solver" if fault else "",
        },
    }
    result = analyse(write_some(tmp_path / "bag", prefix, run, keep))
    assert result.outcome == in_words(outcome)
    assert result.fault == ("solver" if fault else "")


def test_ante_and_gross_velocity(analysis, recording):
    run = SampleRun()
    last = run.time[run.time < run.impact_time][-1:]
    np.testing.assert_allclose(analysis.ante_velocity, run.ante_velocity(last)[0], rtol=1e-12)
    measured = recording.series("joint_states")
    expected = gross_post_impact_velocity(measured["stamp"], measured["position"], run.impact_time)
    np.testing.assert_allclose(analysis.gross_post_velocity, expected)
