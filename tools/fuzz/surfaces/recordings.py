"""Recordings: bytes of real ones, changed. Read as far as they go, with what is wrong told, or an error of ours."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from mcap.records import Channel, Message, Schema
from mcap.writer import Writer
from source import Source, chance, choice, edited

from surfaces import BrokenPromiseError

SUPPORT = Path(__file__).resolve().parents[3] / "tests" / "support"
sys.path.append(str(SUPPORT))

from impact_control.pipeline.sensing import make_detector, make_observer  # noqa: E402
from impact_control.planning.assignment import assigned  # noqa: E402
from impact_control.recording.bag import recover, whole_records  # noqa: E402
from impact_control.recording.log import load_log_columns  # noqa: E402
from impact_control.recording.messages import decode, message_definition, parse_definition, short_name  # noqa: E402
from impact_control.recording.opening import open_recording  # noqa: E402
from impact_control.replay import replay_samples  # noqa: E402
from impact_control.replay.samples import TaskFollower  # noqa: E402
from impact_control.util.errors import ImpactControlError  # noqa: E402
from recorded_files import write_libfranka_log, write_sqlite_bag, write_trial_file  # noqa: E402
from recording_samples import TYPES, SampleRun, encoder, install_messages, messages, write_run  # noqa: E402

COLUMNS = b"""\
delimiter: ","
time: {column: time, unit: ms}
position: {columns: "state.q[{}]", first: 0, unit: rad}
velocity: {columns: "state.dq[{}]", first: 0, unit: rad/s}
torque: {columns: "state.tau_J[{}]", first: 0, unit: Nm}
"""
"""Columns that load_log_columns reads."""

JOINTS = tuple(f"fr3_joint{i}" for i in range(1, 8))
PERIOD = 0.002
"""[s] between the samples of the recordings."""


class Recordings:
    """Bags (MCAP, sqlite3), trials (HDF5), logs (CSV); serialised messages; what says how to read them."""

    def __init__(self) -> None:
        self._scratch = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        place = Path(self._scratch.name)
        prefix = install_messages(place / "prefix")
        run = SampleRun(duration=0.05, rate=1.0 / PERIOD, impact_time=0.02)
        efforts = np.array([content["effort"] for topic, content, _ in messages(run) if topic == "/arm/joint_states"])
        samples = (run.time, run.position(run.time), run.velocity(run.time), efforts)
        write_run(place / "mcap", prefix, run, flush_interval=0.01)
        self._in_chunks = (place / "mcap" / "mcap_0.mcap").read_bytes()
        few = {"/arm/joint_states": TYPES["/arm/joint_states"], "/arm/impact/events": TYPES["/arm/impact/events"]}
        write_sqlite_bag(place / "sqlite", prefix, few, [one for one in messages(run) if one[0] in few])
        write_libfranka_log(place / "log.csv", *(part[:8] for part in samples))
        write_trial_file(place / "trial.h5", "name: push\n", *samples, contact_time=run.impact_time)
        files = {
            ".mcap": plain_mcap(place / "plain.mcap", place / "mcap" / "mcap_0.mcap"),
            ".db3": place / "sqlite" / "sqlite_0.db3",
            ".csv": place / "log.csv",
            ".h5": place / "trial.h5",
        }
        self._originals = {suffix: path.read_bytes() for suffix, path in files.items()}
        self._definitions = {name: message_definition(name, [prefix]) for name in sorted(set(TYPES.values()))}
        self._payloads = serialised(prefix, run)
        self._bag = place / "bag"
        self._place = place
        task = assigned("tabletop")
        self._scenario, self._robot = task.scenario, task.robot
        self._observer, self._detector = make_observer(task.scenario, task.robot), make_detector(task.scenario, 7)

    def close(self) -> None:
        """Remove the files."""
        self._scratch.cleanup()

    def __call__(self, source: Source) -> bool:
        """Read what was made."""
        kind = source.integer(0, 7)
        try:
            if kind == 0:
                self._decode(source)
            elif kind == 1:
                self._read_columns(source)
            elif kind == 2 and chance(source, 16):
                self._recover(source)
            else:
                self._open(source)
        except ImpactControlError as error:
            if not str(error).strip():
                raise BrokenPromiseError("refused without a word") from error
            return False
        return True

    def _open(self, source: Source) -> None:
        """Open a file by its bytes and its name, take its run, check and replay its samples."""
        suffix = choice(source, tuple(self._originals))
        named = choice(source, (*self._originals, ".txt", "")) if chance(source, 16) else suffix
        path = self._place / f"fuzzed{named}"
        in_chunks = suffix == ".mcap" and chance(source, 4)
        path.write_bytes(edited(source, self._in_chunks if in_chunks else self._originals[suffix]))
        try:
            file = open_recording(path, trial=source.integer(-1, 1) if chance(source, 8) else 0)
            run = file.arm(choice(source, ("arm", "other")) if chance(source, 8) else "")
            samples = run.checked(JOINTS, PERIOD)
        finally:
            path.unlink()
        if not all(defect.in_words() for defect in samples.defects):
            raise BrokenPromiseError("a defect without words")
        rows = np.flatnonzero(samples.usable)
        whole = [column[rows] for column in (samples.position, samples.velocity, samples.torque)]
        if not all(np.isfinite(column).all() for column in whole) or not np.all(np.diff(samples.time[rows]) > 0.0):
            raise BrokenPromiseError("a sample that is called usable is not finite or not in order")
        if rows.size and chance(source, 4):
            reference = None if run.reference is None else run.reference.of_joints(JOINTS)
            follower = None if reference is None else TaskFollower(self._scenario, self._robot, reference)
            replay_samples(samples, self._robot, self._observer, self._detector, follower=follower)

    def _decode(self, source: Source) -> None:
        """Decode serialised messages by their definition, either of which may be changed."""
        name = choice(source, tuple(self._payloads))
        text = self._definitions[name]
        if chance(source, 3):
            text = edited(source, text.encode()).decode("utf-8", "replace")
        payloads = [self._payloads[name], edited(source, self._payloads[name])]
        columns = decode(payloads, parse_definition(name, text), short_name(name))
        if any(len(column) != len(payloads) for column in columns.values()):
            raise BrokenPromiseError("a column has not a row for each message")

    def _read_columns(self, source: Source) -> None:
        path = self._place / "columns.yaml"
        path.write_bytes(edited(source, COLUMNS))
        columns = load_log_columns(path)
        path = self._place / "log.csv"
        path.write_bytes(self._originals[".csv"])
        open_recording(path, columns=columns).arm("").checked(JOINTS, PERIOD)

    def _recover(self, source: Source) -> None:
        """Complete a bag whose writer was killed."""
        self._bag.mkdir()
        try:
            original = self._in_chunks if chance(source, 2) else self._originals[".mcap"]
            (self._bag / "bag_0.mcap").write_bytes(edited(source, original))
            recover(self._bag)
            open_recording(self._bag).arm("")
        finally:
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(self._bag)


def plain_mcap(path: Path, original: Path) -> Path:
    """Write an MCAP file again without chunks, whose checksums would hide changed bytes from the reader."""
    schemas: dict[int, int] = {}
    channels: dict[int, int] = {}
    with path.open("wb") as output:
        writer = Writer(output, use_chunking=False)
        writer.start(profile="ros2", library="")
        for record in whole_records(original):
            if isinstance(record, Schema):
                schemas[record.id] = writer.register_schema(record.name, record.encoding, record.data)
            elif isinstance(record, Channel):
                channels[record.id] = writer.register_channel(
                    record.topic, record.message_encoding, schemas[record.schema_id], record.metadata
                )
            elif isinstance(record, Message):
                writer.add_message(
                    channels[record.channel_id], record.log_time, record.data, record.publish_time, record.sequence
                )
        writer.finish()
    return path


def serialised(prefix: Path, run: SampleRun) -> dict[str, bytes]:
    """Return a message of each type as it travels."""
    found: dict[str, bytes] = {}
    for topic, content, _ in messages(run):
        if TYPES[topic] not in found:
            found[TYPES[topic]] = encoder(TYPES[topic], prefix)(content)
    return found
