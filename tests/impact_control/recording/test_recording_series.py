"""Series: one time base with nanosecond stamps, topics found by their end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.recording.series import read_bag
from impact_control.util.errors import InvalidInputError
from recording_samples import (
    EPOCH_NS,
    JOINTS,
    SampleRun,
    install_messages,
    messages,
    time_message,
    write_messages,
    write_run,
)

JOINT_STATE = "sensor_msgs/msg/JointState"
COMMAND = "std_msgs/msg/Float64MultiArray"


def state(stamp, position=0.0):
    """A joint state of one joint; stamp [ns]."""
    header = {"stamp": time_message(stamp), "frame_id": ""}
    return {"header": header, "name": ["a"], "position": [position], "velocity": [0.0], "effort": []}


def written(directory, prefix, told):
    """The recording of messages (topic, content, log time in ns): joint states, and commands of another end."""
    types = {topic: JOINT_STATE if topic.endswith("joint_states") else COMMAND for topic, _, _ in told}
    write_messages(directory, prefix, types, told)
    return read_bag(directory)


@pytest.fixture(scope="module")
def recording(prefix, tmp_path_factory):
    directory = tmp_path_factory.mktemp("series") / "run"
    write_run(directory, prefix)
    return read_bag(directory)


def test_series_hold_what_was_written(recording):
    told = [content for topic, content, _ in messages(SampleRun()) if topic == "/arm/simulation/truth"]
    truth = recording.series("simulation/truth")
    for field in ("joint_position", "normal_force", "late_cycles", "in_contact", "impact_time"):
        np.testing.assert_array_equal(truth[field], [content[field] for content in told])
    force = [[content["contact_force"][axis] for axis in "xyz"] for content in told]
    np.testing.assert_array_equal(truth["contact_force"], force)
    assert truth["header.frame_id"] == ["world"] * len(told)
    states = recording.series("joint_states")
    assert states["position"].shape == (600, 7)
    assert states["name"][5] == list(JOINTS)
    assert recording.metadata["impact_control"]["scenario"] == "robot: fr3\n"
    assert recording.constants("controller/reference")["INTERIM"] == 2


@settings(deadline=None, max_examples=30)
@given(
    epoch=st.one_of(st.just(0), st.integers(1_600_000_000 * 10**9, 2_000_000_000 * 10**9)),
    steps=st.lists(st.integers(1, 5_000_000_000), min_size=1, max_size=20),
)
def test_stamps_are_exact_to_the_nanosecond(epoch, steps, prefix, tmp_path_factory):
    stamps = epoch + np.concatenate([[0], np.cumsum(steps, dtype=np.int64)])
    received = 1_900_000_000_000_000_000 - epoch
    told = [("/joint_states", state(stamp), received + stamp) for stamp in stamps.tolist()]
    recording = written(tmp_path_factory.mktemp("stamps") / "bag", prefix, told)
    states = recording.series("joint_states")
    assert recording._zero[0] == epoch
    np.testing.assert_array_equal(np.round(states["stamp"] * 1e9).astype(np.int64), stamps - epoch)
    np.testing.assert_allclose(states["stamp"], (stamps - epoch) / 1e9, rtol=0, atol=1e-15 * max(steps))
    np.testing.assert_array_equal(states["log_time"], states["stamp"])


def test_messages_without_header_get_the_stamp_the_joint_states_had_reached(prefix, tmp_path):
    """A simulation at half speed: 1 ms of stamps takes 2 ms of log time."""
    told = []
    for k in range(50):
        told.append(("/joint_states", state(EPOCH_NS + k * 1_000_000), 7_000 + k * 2_000_000))
        told.append(("/x/commands", {"data": [float(k)]}, 7_000 + k * 2_000_000 + 500_000))
    commands = written(tmp_path / "bag", prefix, told).series("commands")
    expected = 1e-3 * np.arange(50) + 0.25e-3
    expected[-1] = 49e-3 + 0.5e-3  # beyond the last joint state time goes on at real time
    np.testing.assert_allclose(commands["stamp"], expected, atol=1e-12)


def test_messages_of_a_time_that_is_none_are_left_out(prefix, tmp_path):
    times = ((1.0, 10), (2.0, 2**63), (3.0, 2**64 - 1), (4.0, 20))
    told = [("/x/commands", {"data": [value]}, log_time) for value, log_time in times]
    commands = written(tmp_path / "bag", prefix, told).series("commands")
    np.testing.assert_array_equal(commands["data"], [[1.0], [4.0]])


@pytest.mark.parametrize(
    ("header", "content"),
    [
        ("string stamp\nstring frame_id\n", {"stamp": "noon", "frame_id": ""}),
        ("uint32 seq\nstring frame_id\n", {"seq": 7, "frame_id": ""}),
        ("builtin_interfaces/Time[2] stamp\nstring frame_id\n", {"stamp": 2 * [time_message(5)], "frame_id": ""}),
    ],
)
def test_headers_of_others_without_a_time_give_no_stamp(header, content, tmp_path):
    prefix = install_messages(tmp_path / "prefix")
    (prefix / "share/std_msgs/msg/Header.msg").write_text(header)
    times = (EPOCH_NS, EPOCH_NS + 500_000_000)
    told = [("/arm/joint_states", state(0) | {"header": content}, log_time) for log_time in times]
    recording = written(tmp_path / "bag", prefix, told)
    assert recording._zero[0] == EPOCH_NS
    np.testing.assert_array_equal(recording.series("joint_states")["stamp"], [0.0, 0.5])


def test_topics_are_found_by_their_end(prefix, tmp_path):
    arms = (("left", 1), ("right", 2))
    told = [(f"/{arm}/joint_states", state(EPOCH_NS + place * 1_000, place), 10) for arm, place in arms]
    recording = written(tmp_path / "bag", prefix, told)
    assert recording.series("right/joint_states")["position"][0, 0] == 2.0
    assert recording.series("/left/joint_states")["stamp"][0] == 0.0
    assert recording.series("right/joint_states")["stamp"][0] == pytest.approx(1e-6, abs=1e-12)
    with pytest.raises(InvalidInputError, match="/left/joint_states, /right/joint_states"):
        recording.series("joint_states")
    with pytest.raises(InvalidInputError, match="topic"):
        recording.series("oint_states")
    assert "nothing" not in recording
    with pytest.raises(InvalidInputError, match=r"one of .*position"):
        recording.series("left/joint_states")["positions"]


def test_a_full_name_wins_over_a_longer_one(prefix, tmp_path):
    told = [("/left/joint_states", state(EPOCH_NS, 1.0), 10), ("/joint_states", state(EPOCH_NS, 2.0), 10)]
    assert written(tmp_path / "bag", prefix, told).series("joint_states")["position"][0, 0] == 2.0


def test_bags_in_several_files_are_read_in_order(prefix, recording, tmp_path):
    write_run(tmp_path / "part", prefix, SampleRun(duration=0.1))
    write_run(tmp_path / "other", prefix, SampleRun(duration=0.2))
    (tmp_path / "other" / "other_0.mcap").rename(tmp_path / "part" / "part_1.mcap")
    both = read_bag(tmp_path / "part")
    assert both.series("joint_states")["stamp"].shape == (150,)
    assert recording.topics == read_bag(recording.directory).topics
