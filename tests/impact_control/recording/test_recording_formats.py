"""Recordings of every format: read whole, read as far as they go, refused with a reason."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.records import Channel, Message, Schema
from mcap.writer import Writer

from impact_control.recording.bag import whole_records
from impact_control.recording.defects import DefectKind
from impact_control.recording.log import LIBFRANKA, load_log_columns
from impact_control.recording.opening import open_recording
from impact_control.recording.series import Recording, Series
from impact_control.util.errors import ImpactControlError, RecordingError
from recorded_files import write_libfranka_log, write_sqlite_bag, write_trial_file
from recording_samples import EPOCH_NS, JOINTS, TYPES, SampleRun, messages, time_message, write_run

RUN = SampleRun(duration=0.12, rate=500.0, impact_time=0.05)
BAGS = ("mcap", "sqlite")
FORMATS = (*BAGS, "log", "trial")
KINDS = {"/joint_states": "sensor_msgs/msg/JointState"}


@pytest.fixture(scope="module")
def files(tmp_path_factory, prefix):
    """The made-up run in every format: the one file of each."""
    directory = tmp_path_factory.mktemp("files")
    write_run(directory / "mcap", prefix, RUN, flush_interval=0.01)
    write_sqlite_bag(directory / "sqlite", prefix, TYPES, messages(RUN))
    write_libfranka_log(directory / "log.csv", *samples())
    write_trial_file(directory / "trial.h5", "name: push\n", *samples(), contact_time=RUN.impact_time)
    return {
        "mcap": directory / "mcap" / "mcap_0.mcap",
        "sqlite": directory / "sqlite" / "sqlite_0.db3",
        "log": directory / "log.csv",
        "trial": directory / "trial.h5",
    }


def samples():
    time = RUN.time
    efforts = [content["effort"] for topic, content, _ in messages(RUN) if topic == "/arm/joint_states"]
    return time, RUN.position(time), RUN.velocity(time), np.array(efforts)


def opened(path):
    """The run in a file, and everything that was said about it."""
    file = open_recording(path)
    run = file.arm("")
    return run, " ".join((*file.notes, *run.notes))


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_the_same_samples(files, form):
    run, notes = opened(files[form])
    assert notes == ""
    checked = run.checked(JOINTS, 1.0 / RUN.rate)
    assert checked.in_words() == []
    time, *columns = samples()
    np.testing.assert_allclose(checked.time, time, atol=1e-9)
    for found, expected in zip((checked.position, checked.velocity, checked.torque), columns, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("form", BAGS)
def test_bags_tell_what_else_was_recorded(files, form):
    run, _ = opened(files[form])
    (event,) = run.events
    assert event.detection_time == pytest.approx(RUN.detection_time, abs=1e-9)
    assert event.impact_time == pytest.approx(RUN.detection_time - 2e-3, abs=1e-9)
    assert event.link == 7
    assert (run.verdict.impact, run.verdict.post_impact) == ("expected", "expected")
    assert run.contact_time == pytest.approx(RUN.impact_time, abs=1e-6)
    np.testing.assert_allclose(run.reference.ante_velocity, RUN.ante_velocity(RUN.time))
    np.testing.assert_array_equal(run.reference.jump_deviation, 0.01)
    np.testing.assert_array_equal(run.reference.friction_deviation, 0.002)
    assert run.residual[1].shape == (RUN.time.size, 7)
    assert open_recording(files[form]).scenario_name == "push_on_plate"


def test_directories_of_bags_and_of_runs_are_found(files, tmp_path):
    for form in BAGS:
        assert len(opened(files[form].parent)[0].time) == RUN.time.size
        shutil.copytree(files[form].parent, tmp_path / form / "bag")
        assert len(opened(tmp_path / form)[0].time) == RUN.time.size


def test_the_reference_is_put_in_the_order_of_the_robot(files):
    reference = opened(files["mcap"])[0].reference
    turned = reference.of_joints(JOINTS[::-1])
    np.testing.assert_array_equal(turned.post_velocity[:, ::-1], reference.post_velocity)
    assert reference.of_joints(("a", *JOINTS[1:])) is None
    deviations = ("jump_deviation", "friction_deviation", "configuration_deviation")
    for name in ("impact_configuration", *deviations, "ante_velocity", "post_velocity"):
        assert replace(reference, **{name: getattr(reference, name)[:, :0]}).of_joints(JOINTS) is None


def test_a_reference_of_another_version_is_left_out_and_said_so(files, monkeypatch):
    def earlier(recording, topic):
        series = recording.series(topic) if topic in recording else None
        return (
            Series({name: column for name, column in series.items() if name != "height_deviation"}) if series else None
        )

    monkeypatch.setattr(Recording, "get", earlier)
    run, notes = opened(files["mcap"])
    assert run.reference is None and len(run.time) == RUN.time.size
    assert "controller/reference of another version lacks height_deviation and is left out" in notes


def test_a_trial_knows_the_contact(files):
    assert opened(files["trial"])[0].contact_time == RUN.impact_time
    assert open_recording(files["trial"]).scenario == "name: push\n"


@pytest.mark.parametrize("form", FORMATS)
@settings(deadline=None, max_examples=25)
@given(share=st.floats(0.0, 1.0))
def test_a_file_cut_off_anywhere_is_read_as_far_as_it_goes(files, tmp_path_factory, form, share):
    content = files[form].read_bytes()
    cut = tmp_path_factory.mktemp("cut") / files[form].name
    size = int(share * len(content))
    cut.write_bytes(content[:size])
    try:
        run, notes = opened(cut)
    except ImpactControlError as error:
        assert str(cut) in str(error)
        return
    whole, _ = opened(files[form])
    count = len(run.time)
    assert 0 < count <= len(whole.time)
    # Of a log that ends with a line nothing tells whether more were to come.
    assert notes or count == len(whole.time) or (form == "log" and content[size - 1 : size] == b"\n")
    np.testing.assert_array_equal(np.asarray(run.position), np.asarray(whole.position)[:count])


@pytest.mark.parametrize("form", FORMATS)
def test_of_half_a_file_the_first_half_is_read_where_the_format_allows(files, tmp_path, form):
    content = files[form].read_bytes()
    cut = tmp_path / files[form].name
    cut.write_bytes(content[: len(content) // 2])
    if form == "trial":  # HDF5 keeps what leads to the data at any place of the file
        with pytest.raises(ImpactControlError, match="whole HDF5 file"):
            opened(cut)
        return
    run, notes = opened(cut)
    assert 0.2 * RUN.time.size < len(run.time) < 0.8 * RUN.time.size
    assert "cut off" in notes


@pytest.mark.parametrize("form", ["mcap", "sqlite", "log"])
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_damaged_file_is_read_or_refused(files, tmp_path_factory, form, seed):
    random = np.random.default_rng(seed)
    content = bytearray(files[form].read_bytes())
    begin = int(random.integers(0, len(content)))
    damage = random.bytes(int(random.integers(1, 200)))
    content[begin : begin + len(damage)] = damage
    path = tmp_path_factory.mktemp("damaged") / files[form].name
    path.write_bytes(content)
    try:
        run, _ = opened(path)
        run.checked(JOINTS, 1.0 / RUN.rate)
    except ImpactControlError:
        return


@pytest.mark.parametrize("name", ["run.mcap", "run.db3", "run.h5", "run.csv", "run.png", "run"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 300, b"a,b\n1,2\n", b"time\n"])
def test_foreign_files_are_refused_with_what_is_allowed(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ImpactControlError) as caught:
        opened(path)
    assert str(path) in str(caught.value)
    assert "allowed" in str(caught.value)


def test_what_is_not_there_is_named(tmp_path):
    for path in (tmp_path / "none.mcap", tmp_path):
        with pytest.raises(RecordingError, match=str(path)):
            open_recording(path)


def test_a_bag_without_joint_states_is_refused(tmp_path, prefix):
    write_sqlite_bag(tmp_path / "bag", prefix, {"/words": "std_msgs/msg/String"}, [("/words", {"data": "a"}, 1)])
    with pytest.raises(RecordingError, match="joint_states"):
        opened(tmp_path / "bag")


def test_a_bag_in_json_is_named_as_such_and_not_as_empty(tmp_path, files):
    """Alone in a file it is refused, beside what can be read it is left out, each in a line that says so."""
    for name, whole in (("json", []), ("both", list(whole_records(files["mcap"])))):
        (tmp_path / name).mkdir()
        with (tmp_path / name / f"{name}_0.mcap").open("wb") as file:
            writer = Writer(file)
            writer.start()
            schema = writer.register_schema("sensor_msgs/JointState", "jsonschema", b"{}")
            channel = writer.register_channel("/arm/joint_states_json", "json", schema)
            writer.add_message(channel, 1, b'{"position": [0.0]}', 1)
            known = {}
            for record in whole:
                if isinstance(record, Schema):
                    known[record.id] = writer.register_schema(record.name, record.encoding, record.data)
                elif isinstance(record, Channel):
                    id_ = writer.register_channel(record.topic, record.message_encoding, known[record.schema_id])
                    known["channel", record.id] = id_
                elif isinstance(record, Message):
                    writer.add_message(known["channel", record.channel_id], record.log_time, record.data, 0)
            writer.finish()
    with pytest.raises(RecordingError, match=r"encoding of the messages.*json.*cdr") as caught:
        open_recording(tmp_path / "json")
    assert "\n" not in str(caught.value) and "empty" not in str(caught.value)
    run, notes = opened(tmp_path / "both")
    assert len(run.time) == RUN.time.size and "/arm/joint_states_json is left out: encoded as json" in notes


def test_a_sqlite_bag_without_definitions_needs_those_installed(tmp_path, prefix, monkeypatch):
    write_sqlite_bag(tmp_path / "old", prefix, TYPES, messages(RUN), definitions=False)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    assert len(opened(tmp_path / "old")[0].time) == RUN.time.size
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    with pytest.raises(RecordingError, match="no definition of"):
        opened(tmp_path / "old")


def test_a_sqlite_bag_that_is_still_in_its_journal_is_read(tmp_path, prefix):
    """A recorder that was killed leaves a write-ahead log beside the file; neither is changed."""
    content = {"header": {"stamp": time_message(EPOCH_NS), "frame_id": ""}, "name": list(JOINTS)}
    content |= {name: [0.0] * 7 for name in ("position", "velocity", "effort")}
    write_sqlite_bag(tmp_path / "bag", prefix, KINDS, [("/joint_states", content, EPOCH_NS)])
    file = tmp_path / "bag" / "bag_0.db3"
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute(
            "INSERT INTO messages (topic_id, timestamp, data) SELECT topic_id, timestamp, data FROM messages"
        )
        writer.commit()
        for name in ("bag_0.db3", "bag_0.db3-wal"):
            (tmp_path / "killed").mkdir(exist_ok=True)
            shutil.copy(tmp_path / "bag" / name, tmp_path / "killed" / name)
    before = (tmp_path / "killed" / "bag_0.db3").read_bytes()
    assert len(opened(tmp_path / "killed")[0].time) == 2
    assert (tmp_path / "killed" / "bag_0.db3").read_bytes() == before


def test_columns_of_any_log_can_be_named(tmp_path):
    time, position, velocity, torque = samples()
    names = ["stamp", *(f"{quantity}{joint}" for quantity in ("q", "dq", "tau_J") for joint in range(1, 8))]
    degrees = [1e9 * time[:, None], np.rad2deg(position), np.rad2deg(velocity), torque]
    rows = [";".join(map(repr, row)) for row in np.hstack(degrees).tolist()]
    (tmp_path / "log.txt").write_text("\n".join([" ; ".join(names), *rows, ""]))
    (tmp_path / "columns.yaml").write_text(
        "delimiter: ';'\n"
        "time: {column: stamp, unit: ns}\n"
        "position: {columns: 'q{}', unit: deg}\n"
        "velocity: {columns: [dq1, dq2, dq3, dq4, dq5, dq6, dq7], unit: deg/s}\n"
        "torque: {columns: 'tau_J{}', unit: Nm, first: 1}\n"
    )
    columns = load_log_columns(tmp_path / "columns.yaml")
    run = open_recording(tmp_path / "log.txt", columns=columns).arm("")
    np.testing.assert_allclose(run.time, time, atol=1e-12)
    np.testing.assert_allclose(run.position, position, rtol=1e-12)
    np.testing.assert_allclose(run.velocity, velocity, rtol=1e-12)
    np.testing.assert_allclose(run.torque, torque, rtol=1e-12)


def test_rows_and_cells_that_are_none_are_named(tmp_path):
    time, position, velocity, torque = samples()
    write_libfranka_log(tmp_path / "log.csv", time, position, velocity, torque)
    lines = (tmp_path / "log.csv").read_text().splitlines()
    lines[5] += ",1.0"
    lines[9] = lines[9].replace(lines[9].split(",")[2], "none", 1)
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    run, notes = opened(tmp_path / "log.csv")
    assert "1 rows with another number of cells" in notes
    checked = run.checked(JOINTS, 1.0 / RUN.rate)
    assert checked.count(DefectKind.NOT_FINITE) == 1
    assert checked.count(DefectKind.GAP) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no entries"),
        ("- 1\n", "no entries"),
        ("a: [\n", "YAML"),
        ("a: !!bool x\n", "YAML"),
        ("colour: red\n", "'colour'"),
        ("delimiter: ab\n", "delimiter"),
        ("time: {column: t, unit: h}\n", "one of s, ms, us, ns"),
        ("time: {column: 3, unit: s}\n", "time.column"),
        ("time: {column: t, unit: s}\nposition: {columns: q, unit: rad}\n", "position.columns"),
        ("time: {column: t, unit: s}\nposition: {columns: 'q{}', unit: rad, first: -1}\n", "position.first"),
        ("time: {column: t, unit: s}\nposition: {columns: 'q{}', unit: rad, last: 1}\n", "position"),
    ],
)
def test_broken_files_of_columns_are_refused(tmp_path, text, words):
    path = tmp_path / "columns.yaml"
    path.write_text(text)
    with pytest.raises(RecordingError, match=words) as caught:
        load_log_columns(path)
    assert str(path) in str(caught.value)


def test_a_log_with_other_columns_names_them(tmp_path):
    (tmp_path / "log.csv").write_text("t,q1\n0,1\n")
    with pytest.raises(RecordingError, match=r"no column time, state\.q") as caught:
        open_recording(tmp_path / "log.csv")
    assert "t, q1" in str(caught.value)
    assert len(LIBFRANKA.position.of(7)) == 7


def test_a_trial_of_other_signals_names_those_there_are(tmp_path):
    time, position, velocity, _ = samples()
    write_trial_file(tmp_path / "trial.h5", "", time, position, velocity, np.zeros_like(position))
    file = open_recording(tmp_path / "trial.h5")
    with pytest.raises(RecordingError, match="joint_position"):
        file.arm("left")
    with pytest.raises(RecordingError, match="no trial 3"):
        open_recording(tmp_path / "trial.h5", trial=3)
