"""Bags: rosbag2 directories with MCAP storage that survive the death of their writer.

A bag is `DIR/<name of DIR>_0.mcap` and `DIR/metadata.yaml`, the layout of ROS 2 Jazzy (metadata version 9),
so that `ros2 bag info|play DIR` and Foxglove open it. The metadata file is written last: a bag without it is
unfinished.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.records import Channel, McapRecord, Message, Metadata, Schema
from mcap.stream_reader import StreamReader
from mcap.summary import Summary
from mcap.well_known import MessageEncoding, Profile, SchemaEncoding
from mcap.writer import MCAP0_MAGIC, Writer
from ruamel.yaml.error import YAMLError
from zstandard import ZstdError

from impact_control.recording.messages import message_definition
from impact_control.util.errors import InvalidInputError
from impact_control.util.yaml_text import parse_yaml, yaml_of

METADATA_FILE = "metadata.yaml"
_METADATA_VERSION = 9
_ROS_DISTRO = "jazzy"
_INFINITE = {"sec": 9223372036, "nsec": 854775807}


@dataclass(frozen=True)
class OfferedQos:
    """Quality of service of a publisher; `ros2 bag play` publishes with the same. depth: messages it keeps."""

    reliability: str = "reliable"
    durability: str = "volatile"
    depth: int = 1

    def __post_init__(self) -> None:
        allowed = {"reliability": ("reliable", "best_effort"), "durability": ("volatile", "transient_local")}
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                raise InvalidInputError(name, getattr(self, name), f"one of {', '.join(values)}")

    def profile(self) -> dict[str, object]:
        """Return the profile as rosbag2 writes it."""
        return {
            "history": "keep_last",
            "depth": self.depth,
            "reliability": self.reliability,
            "durability": self.durability,
            "deadline": dict(_INFINITE),
            "lifespan": dict(_INFINITE),
            "liveliness": "automatic",
            "liveliness_lease_duration": dict(_INFINITE),
            "avoid_ros_namespace_conventions": False,
        }


class BagWriter:
    """Writer of a new bag, in chunks so small that a kill costs little. For one thread at a time."""

    def __init__(
        self,
        directory: Path | str,
        *,
        metadata: Mapping[str, Mapping[str, str]] | None = None,
        qos: Mapping[str, OfferedQos] | None = None,
        search_paths: Iterable[Path | str] | None = None,
        chunk_size: int = 256 * 1024,
        flush_interval: float = 0.2,
    ) -> None:
        """Create the directory and the file.

        Args:
            directory: of the bag; must not exist or be empty.
            metadata: records by name, each of text by key, e.g. `{"impact_control": {"scenario": ...}}`.
            qos: of the publisher, by topic.
            search_paths: ament prefixes with the message definitions, see `message_definition`.
            chunk_size: [bytes] of messages that are compressed and written together.
            flush_interval: [s] of log time, after which a chunk is written even if it is not full.

        Raises InvalidInputError for a directory with content.
        """
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        if any(self.directory.iterdir()):
            raise InvalidInputError("directory", directory, "a directory that is new or empty")
        self._qos = dict(qos or {})
        self._search_paths = None if search_paths is None else tuple(search_paths)
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, tuple[int, str]] = {}
        self._flush_interval_ns = round(flush_interval * 1e9)
        self._flushed_at: int | None = None
        self._file: BinaryIO = (self.directory / f"{self.directory.absolute().name}_0.mcap").open("wb")
        self._writer = _start(self._file, chunk_size)
        for name, record in (metadata or {}).items():
            self._writer.add_metadata(name, dict(record))
        self.flush()

    def write(self, topic: str, type_name: str, data: bytes, log_time: int, publish_time: int | None = None) -> None:
        """Append one message.

        topic: full name, e.g. `/joint_states`. type_name: `package/msg/Type`; the topic keeps its first. data:
        serialised (CDR with encapsulation), as a raw subscription delivers it. log_time, publish_time: [ns] of
        reception and of sending, `log_time` if None. Raises InvalidInputError for a closed bag, a type that is not
        installed, or a topic with another type.
        """
        if self._file.closed:
            raise InvalidInputError("directory", self.directory, "a bag that is not closed")
        channel, known_type = self._channels.get(topic) or self._add_channel(topic, type_name)
        if type_name != known_type:
            raise InvalidInputError("type_name", type_name, f"{known_type}, the type of {topic} so far")
        self._writer.add_message(channel, log_time, data, log_time if publish_time is None else publish_time)
        if self._flushed_at is None:
            self._flushed_at = log_time
        elif abs(log_time - self._flushed_at) >= self._flush_interval_ns:
            self.flush()
            self._flushed_at = log_time

    def flush(self) -> None:
        """Hand everything so far to the operating system, so that a kill of this process does not lose it."""
        self._writer.flush()

    def close(self) -> None:
        """Finish the file and write the metadata. Calling it again does nothing."""
        if self._file.closed:
            return
        self._writer.finish()
        _sync(self._file)
        self._file.close()
        write_metadata(self.directory)

    def abandon(self) -> None:
        """Close the file as it is, when it cannot be written any more; `recover` completes the bag."""
        with contextlib.suppress(OSError):
            self._file.close()

    def __enter__(self) -> BagWriter:
        """Return the writer."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the bag, also after an error."""
        self.close()

    def _add_channel(self, topic: str, type_name: str) -> tuple[int, str]:
        if type_name not in self._schemas:
            text = message_definition(type_name, self._search_paths)
            self._schemas[type_name] = self._writer.register_schema(type_name, SchemaEncoding.ROS2, text.encode())
        profiles = [self._qos[topic].profile()] if topic in self._qos else []
        channel: int = self._writer.register_channel(
            topic, MessageEncoding.CDR, self._schemas[type_name], {"offered_qos_profiles": yaml_of(profiles)}
        )
        self._channels[topic] = (channel, type_name)
        return self._channels[topic]


def storage_files(directory: Path | str) -> list[Path]:
    """Return the MCAP files of a bag, in the order of their parts. Raises InvalidInputError when there is none."""
    files = sorted(Path(directory).glob("*.mcap"), key=lambda file: (len(file.name), file.name))
    if not files:
        raise InvalidInputError("directory", directory, "a directory with at least one .mcap file")
    return files


def recover(directory: Path | str) -> int:
    """Complete a bag whose writer was killed: keep all whole messages, write summary, footer and metadata.

    Each unfinished file is rewritten beside itself and then replaced in one step, so that a second kill harms nothing;
    as it was it stays under its name with `.damaged`. A complete bag is left alone. Not for a bag that is still being
    written. Returns the number of messages in the files that had to be rewritten. Raises InvalidInputError for a
    directory without MCAP file.
    """
    torn = [file for file in storage_files(directory) if summary_of(file) is None]
    recovered = sum(_rewrite(file) for file in torn)
    if torn or not (Path(directory) / METADATA_FILE).is_file():
        write_metadata(directory)
    return recovered


def was_cut_off(directory: Path | str) -> bool:
    """Return whether `recover` had to complete a bag: its end, or more of it, may be missing."""
    return any(Path(directory).glob("*.damaged*"))


def write_metadata(directory: Path | str) -> None:
    """Write `metadata.yaml` from the summaries of the finished MCAP files of a bag."""
    topics: dict[str, dict[str, Any]] = {}
    files: list[dict[str, Any]] = []
    for file in storage_files(directory):
        summary = summary_of(file)
        if summary is None or summary.statistics is None:
            raise InvalidInputError("directory", directory, f"a bag whose files are complete, {file.name} is not")
        statistics = summary.statistics
        files.append(_span(statistics.message_start_time, statistics.message_end_time, statistics.message_count))
        files[-1]["path"] = file.name
        for number, channel in summary.channels.items():
            entry = topics.setdefault(channel.topic, _topic_entry(channel, summary.schemas[channel.schema_id].name))
            entry["message_count"] += statistics.channel_message_counts.get(number, 0)
    filled = [file for file in files if file["message_count"]]
    starts = [file["starting_time"]["nanoseconds_since_epoch"] for file in filled]
    ends = [start + file["duration"]["nanoseconds"] for start, file in zip(starts, filled, strict=True)]
    information = {
        "version": _METADATA_VERSION,
        "storage_identifier": "mcap",
        **_span(min(starts, default=0), max(ends, default=0), sum(file["message_count"] for file in files)),
        "topics_with_message_count": list(topics.values()),
        "compression_format": "",
        "compression_mode": "",
        "relative_file_paths": [file["path"] for file in files],
        "files": files,
        "custom_data": {},
        "ros_distro": _ROS_DISTRO,
    }
    with _replaced(Path(directory) / METADATA_FILE) as output:
        output.write(yaml_of({"rosbag2_bagfile_information": information}).encode())


def _start(file: BinaryIO, chunk_size: int = 1024 * 1024) -> Any:
    """Return a started MCAP writer; Any, because the library's methods carry no complete annotations."""
    writer: Any = Writer(file, chunk_size=chunk_size)
    writer.start(profile=Profile.ROS2, library="impact_control")
    return writer


def _rewrite(path: Path) -> int:
    """Replace a torn file by a complete one with its whole messages; return their number."""
    count = 0
    schemas = {0: 0}
    channels: dict[int, int] = {}
    with _replaced(path, keep=True) as output:
        writer = _start(output)
        for record in whole_records(path):
            if isinstance(record, Schema) and record.id not in schemas:
                schemas[record.id] = writer.register_schema(record.name, record.encoding, record.data)
            elif isinstance(record, Channel) and record.id not in channels and record.schema_id in schemas:
                channels[record.id] = writer.register_channel(
                    record.topic, record.message_encoding, schemas[record.schema_id], record.metadata
                )
            elif isinstance(record, Message) and record.channel_id in channels:
                writer.add_message(
                    channels[record.channel_id], record.log_time, record.data, record.publish_time, record.sequence
                )
                count += 1
            elif isinstance(record, Metadata):
                writer.add_metadata(record.name, record.metadata)
        writer.finish()
    return count


@contextlib.contextmanager
def _replaced(path: Path, *, keep: bool = False) -> Iterator[BinaryIO]:
    """Give a file to write so that at every moment either its old or its new content stands under its name.

    keep: the old content under a further name.
    """
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as file:
            yield file
            _sync(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if keep:
        _keep(path)
    temporary.replace(path)


def _keep(path: Path) -> None:
    """Keep a file that is to be replaced under a new name; nothing is copied where the file system allows two names."""
    names = (path.with_name(f"{path.name}.damaged{suffix}") for suffix in ("", *range(2, 1000)))
    kept = next(name for name in names if not name.exists())
    try:
        kept.hardlink_to(path)
    except OSError:
        shutil.copy2(path, kept)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _span(start: int, end: int, count: int) -> dict[str, Any]:
    return {
        "duration": {"nanoseconds": end - start},
        "starting_time": {"nanoseconds_since_epoch": start},
        "message_count": count,
    }


def _topic_entry(channel: Channel, type_name: str) -> dict[str, Any]:
    try:
        profiles = parse_yaml(channel.metadata.get("offered_qos_profiles") or "[]")
    except YAMLError:  # of a damaged record; without it `ros2 bag play` takes its own
        profiles = []
    return {
        "topic_metadata": {
            "name": channel.topic,
            "type": type_name,
            "serialization_format": channel.message_encoding,
            "offered_qos_profiles": profiles,
            "type_description_hash": "",
        },
        "message_count": 0,
    }


_DAMAGE = (McapError, ZstdError, struct.error, ValueError, OverflowError, MemoryError, RuntimeError)
"""Errors of parser and decompressors at damaged bytes; LZ4 raises RuntimeError. Any other is a defect of the code."""

_HEAD = struct.Struct("<BQ")

_READ = (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE, Opcode.METADATA, Opcode.CHUNK)


def whole_records(path: Path) -> Iterator[McapRecord]:
    """Yield schemas, channels, messages and metadata of a file in the order of writing, up to the first torn record.

    A writer that was killed leaves neither summary nor footer and perhaps half a record; the library's reader stops
    there with an error, or hands out the half. Each record has its length, which tells whole ones from torn ones.
    Damaged chunks are left out. Raises InvalidInputError for no MCAP file; one cut inside its first bytes has no
    records.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        magic = file.read(len(MCAP0_MAGIC))
        if not MCAP0_MAGIC.startswith(magic):
            raise InvalidInputError("path", path, "an MCAP file")
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            opcode, length = _HEAD.unpack(head)
            if file.tell() + length > size:
                return
            record = BytesIO(head + file.read(length))
            if opcode in _READ:
                with contextlib.suppress(*_DAMAGE):  # also the end of the file, behind this one record
                    yield from StreamReader(record, skip_magic=True, validate_crcs=True).records


def summary_of(path: Path) -> Summary | None:
    """Return the summary of a file that was closed properly, None of a torn one."""
    with path.open("rb") as file:
        try:
            summary = make_reader(file).get_summary()
        except _DAMAGE:
            return None
    return summary if summary is not None and summary.statistics is not None else None
