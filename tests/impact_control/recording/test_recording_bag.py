"""Bags: what is written can be read by others, and a torn bag gives back every whole message."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.records import Chunk, Message
from mcap.stream_reader import StreamReader, breakup_chunk
from mcap_ros2.decoder import DecoderFactory
from ruamel.yaml import YAML

import impact_control
from impact_control.recording.bag import METADATA_FILE, BagWriter, OfferedQos, recover, storage_files
from impact_control.recording.series import read_bag
from impact_control.util.errors import InvalidInputError
from recording_samples import EPOCH_NS, SampleRun, write_run

STRING = "std_msgs/msg/String"
SHORT = SampleRun(duration=0.6, rate=100)


def string_message(text):
    data = text.encode() + b"\0"
    return b"\0\1\0\0" + len(data).to_bytes(4, "little") + data


def texts_of(path):
    """Strings on /text in the order of the file, read through the index with checksums."""
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        return [entry.decoded_message.data for entry in reader.iter_decoded_messages(topics=["/text"])]


@pytest.fixture(scope="module")
def whole(prefix, tmp_path_factory):
    """A complete file, and for each of its chunks where it ends and which texts it holds."""
    directory = tmp_path_factory.mktemp("whole") / "bag"
    with BagWriter(directory, search_paths=[prefix], metadata={"impact_control": {"name": "x"}}, chunk_size=700) as bag:
        for k in range(120):
            bag.write("/text", STRING, string_message(f"message {k} " + "ab" * (k % 7)), EPOCH_NS + k * 1_000_000)
    file = storage_files(directory)[0]
    data = file.read_bytes()
    chunks = []
    with file.open("rb") as stream:
        reader = make_reader(stream)
        summary = reader.get_summary()
        ends = [index.chunk_start_offset + index.chunk_length for index in summary.chunk_indexes]
        stream.seek(0)
        found = [record for record in StreamReader(stream, emit_chunks=True).records if isinstance(record, Chunk)]
    for end, chunk in zip(ends, found, strict=True):
        payloads = [record.data for record in breakup_chunk(chunk) if isinstance(record, Message)]
        chunks.append((end, [payload[8:-1].decode() for payload in payloads]))
    assert len(chunks) > 5
    return data, chunks


def test_an_independent_reader_finds_every_message(prefix, tmp_path):
    count = write_run(tmp_path / "run", prefix, SHORT)
    with (tmp_path / "run" / "run_0.mcap").open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        assert reader.get_header().profile == "ros2"
        decoded = list(reader.iter_decoded_messages())
        assert [record.name for record in reader.iter_metadata()] == ["impact_control"]
    assert len(decoded) == count
    assert {schema.encoding for schema, _, _, _ in decoded if schema is not None} == {"ros2msg"}
    assert {channel.message_encoding for _, channel, _, _ in decoded} == {"cdr"}
    events = [message for _, channel, _, message in decoded if channel.topic == "/arm/impact/events"]
    assert events[0].index == 1


def test_metadata_file_is_what_rosbag2_expects(prefix, tmp_path):
    count = write_run(tmp_path / "run", prefix, SHORT)
    information = YAML(typ="safe").load((tmp_path / "run" / METADATA_FILE).read_text())["rosbag2_bagfile_information"]
    assert information["version"] == 9
    assert information["storage_identifier"] == "mcap"
    assert information["message_count"] == count
    assert information["relative_file_paths"] == ["run_0.mcap"]
    start = information["starting_time"]["nanoseconds_since_epoch"]
    recording = read_bag(tmp_path / "run")
    assert start == EPOCH_NS + 150_000
    assert information["files"][0]["duration"] == information["duration"]
    topics = {entry["topic_metadata"]["name"]: entry for entry in information["topics_with_message_count"]}
    assert {name: entry["message_count"] for name, entry in topics.items()} == {
        name: len(recording.series(name)["stamp"]) for name in recording.topics
    }
    (profile,) = topics["/arm/impact/events"]["topic_metadata"]["offered_qos_profiles"]
    assert (profile["reliability"], profile["durability"], profile["depth"]) == ("reliable", "transient_local", 50)
    assert topics["/arm/joint_states"]["topic_metadata"]["offered_qos_profiles"] == []
    assert topics["/arm/joint_states"]["topic_metadata"]["type"] == "sensor_msgs/msg/JointState"


def test_closing_twice_and_writing_after_it(prefix, tmp_path):
    bag = BagWriter(tmp_path / "bag", search_paths=[prefix])
    bag.write("/text", STRING, string_message("a"), 1, 2)
    bag.close()
    content = storage_files(bag.directory)[0].read_bytes()
    bag.close()
    assert storage_files(bag.directory)[0].read_bytes() == content
    with pytest.raises(InvalidInputError, match="not closed"):
        bag.write("/text", STRING, string_message("b"), 2)


def test_what_the_writer_refuses(prefix, tmp_path):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "something").touch()
    with pytest.raises(InvalidInputError, match="new or empty"):
        BagWriter(tmp_path / "used")
    with BagWriter(tmp_path / "bag", search_paths=[prefix]) as bag:
        bag.write("/text", STRING, string_message("a"), 1)
        with pytest.raises(InvalidInputError, match="std_msgs/msg/String, the type of /text"):
            bag.write("/text", "std_msgs/msg/Empty", b"\0\1\0\0\0", 2)
        with pytest.raises(InvalidInputError, match="share/nowhere_msgs/msg"):
            bag.write("/other", "nowhere_msgs/msg/Thing", b"", 2)
    with pytest.raises(InvalidInputError, match="reliability"):
        OfferedQos(reliability="sometimes")


def test_an_empty_bag_is_complete(prefix, tmp_path):
    BagWriter(tmp_path / "bag", search_paths=[prefix]).close()
    assert recover(tmp_path / "bag") == 0
    assert read_bag(tmp_path / "bag").message_count() == 0


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_recovery_keeps_all_whole_messages(data, whole, tmp_path_factory):
    content, chunks = whole
    cut = data.draw(st.one_of(st.integers(0, len(content) - 1), st.sampled_from([end for end, _ in chunks])))
    zeros = data.draw(st.sampled_from([0, 3, 4096]))
    directory = tmp_path_factory.mktemp("torn")
    file = directory / "bag_0.mcap"
    torn = content[:cut] + bytes(zeros if cut >= 8 else 0)
    file.write_bytes(torn)
    expected = [text for end, texts in chunks if end <= cut for text in texts]

    assert read_bag(directory).message_count() == len(expected)
    assert recover(directory) == len(expected)
    assert texts_of(file) == expected
    assert (directory / METADATA_FILE).is_file()
    if cut > 200:
        assert read_bag(directory).metadata["impact_control"] == {"name": "x"}

    repaired = file.read_bytes()
    assert recover(directory) == 0
    assert file.read_bytes() == repaired
    assert sorted(path.name for path in directory.iterdir()) == ["bag_0.mcap", "bag_0.mcap.damaged", METADATA_FILE]
    assert (directory / "bag_0.mcap.damaged").read_bytes() == torn


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_damaged_bytes_cost_no_more_than_what_they_hit(data, whole, tmp_path_factory):
    content, chunks = whole
    damaged = bytearray(content[: chunks[-1][0]])
    place = data.draw(st.integers(8, len(damaged) - 1))
    damaged[place] ^= data.draw(st.integers(1, 255))
    directory = tmp_path_factory.mktemp("damaged")
    (directory / "bag_0.mcap").write_bytes(damaged)
    recover(directory)
    texts = texts_of(directory / "bag_0.mcap")
    known = [text for _, texts in chunks for text in texts]
    assert set(texts) <= set(known)
    before = [text for end, texts in chunks if end <= place for text in texts]
    assert texts[: len(before)] == before


def test_a_complete_bag_without_metadata_gets_it_back(prefix, tmp_path):
    write_run(tmp_path / "run", prefix, SHORT)
    expected = (tmp_path / "run" / METADATA_FILE).read_text()
    content = (tmp_path / "run" / "run_0.mcap").read_bytes()
    (tmp_path / "run" / METADATA_FILE).unlink()
    assert recover(tmp_path / "run") == 0
    assert (tmp_path / "run" / METADATA_FILE).read_text() == expected
    assert (tmp_path / "run" / "run_0.mcap").read_bytes() == content


def test_only_bags_are_recovered(tmp_path):
    with pytest.raises(InvalidInputError, match=r"\.mcap"):
        recover(tmp_path)
    (tmp_path / "picture_0.mcap").write_bytes(b"GIF89a and more")
    with pytest.raises(InvalidInputError, match="an MCAP file"):
        recover(tmp_path)
    assert (tmp_path / "picture_0.mcap").read_bytes() == b"GIF89a and more"


def test_a_bag_that_is_damaged_again_is_kept_again(prefix, tmp_path):
    write_run(tmp_path / "run", prefix, SHORT)
    file = tmp_path / "run" / "run_0.mcap"
    for suffix in ("", "2"):
        torn = file.read_bytes()[: -20 - len(suffix)]
        file.write_bytes(torn)
        recover(tmp_path / "run")
        assert file.with_name(f"run_0.mcap.damaged{suffix}").read_bytes() == torn


WRITE_UNTIL_KILLED = """
import sys, time
from pathlib import Path
from impact_control.recording.bag import BagWriter
directory, prefix = map(Path, sys.argv[1:])
bag = BagWriter(directory, search_paths=[prefix])
for k in range(10**9):
    text = f"{k:09d}".encode() + bytes(1)
    bag.write("/text", "std_msgs/msg/String", bytes([0, 1, 0, 0, 10, 0, 0, 0]) + text, k * 1_000_000)
    if k % 100 == 0:
        time.sleep(0.001)
"""


def test_a_killed_writer_loses_less_than_the_flush_interval(prefix, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(impact_control.__file__).parents[1])}
    command = [sys.executable, "-c", WRITE_UNTIL_KILLED, str(tmp_path / "bag"), str(prefix)]
    file = tmp_path / "bag" / "bag_0.mcap"
    with subprocess.Popen(command, env=environment) as process:
        deadline = time.monotonic() + 30
        while (not file.exists() or file.stat().st_size < 20_000) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
    assert not (tmp_path / "bag" / METADATA_FILE).exists()
    count = recover(tmp_path / "bag")
    assert count % 200 == 1  # chunks are cut at each 0.2 s of log time, 1 ms a message
    assert count > 1000
    assert texts_of(file) == [f"{k:09d}" for k in range(count)]
