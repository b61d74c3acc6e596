"""Bags as arrays, decoded topic by topic.

One time base for everything: seconds since the first stamp of the joint states of the recording, computed from integer
nanoseconds, so that microseconds survive at an epoch of 1.7e9 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from mcap.records import Channel, Message, Metadata, Schema
from mcap.well_known import MessageEncoding, SchemaEncoding
from numpy.typing import NDArray

from impact_control.recording.bag import storage_files, whole_records
from impact_control.recording.messages import MessageType, decode, parse_definition, short_name
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector

METADATA_NAME = "impact_control"
"""Metadata record of the recorder: `name` of the scenario, its text `scenario`, `version` of the package."""

STAMP = "header.stamp"
"""Field with the stamp of a message that has one."""

EARLIER_TASK = 0.1
"""[s] before the first joint state from which a decision belongs to an earlier task: the recorder may have missed the
first samples of this one."""

_LATEST = 2**63 - 1
"""[ns] of the log times that arrays hold; later ones, in the year 2262, are of damaged records."""


_OBJECTS = "/simulation/objects/"
"""Part of the names of the topics with the poses of objects."""


class Topics:
    """Ends of the names of the topics of one arm, see docs/topics.md."""

    joint_states = "joint_states"
    commands = "commands"
    external_torque = "impact/external_torque"
    events = "impact/events"
    classification = "impact/classification"
    belief = "impact/belief"
    reference = "controller/reference"
    status = "controller/status"
    truth = "simulation/truth"


class Series(dict[str, Any]):
    """Columns of one topic by dotted field name; the first axis is the message.

    Numbers are (n,), arrays of constant length k (n, k), points and vectors (n, 3), strings and arrays of changing
    length lists. Times are float64 [s]: `stamp` (of the header) and all other time fields since the zero of time,
    `log_time` since the first joint state was received. The `stamp` of messages without a header is the stamp that the
    joint states had reached when they were received.
    """

    def __missing__(self, name: str) -> Any:
        """Name the fields there are."""
        raise InvalidInputError("field", name, f"one of {', '.join(self)}")


@dataclass
class RecordedTopic:
    """Serialised messages of one topic, with the times [ns] at which they were received."""

    type_name: str
    types: Mapping[str, MessageType]
    payloads: list[bytes] = field(default_factory=list)
    log_times: list[int] = field(default_factory=list)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """Columns by dotted field name, see `decode`."""
        return dict(decode(self.payloads, self.types, short_name(self.type_name)))

    @property
    def root(self) -> MessageType:
        """Type of the messages."""
        return self.types[short_name(self.type_name)]

    @property
    def first_stamp(self) -> int | None:
        """[ns] header stamp of the first message, None if it has no header, or one without a time."""
        if not any(entry.name == "header" and entry.type == "std_msgs/Header" for entry in self.root.fields):
            return None
        first = decode(self.payloads[:1], self.types, short_name(self.type_name)).get(STAMP)
        return int(first.astype(np.int64)[0]) if _is_time(first) else None


class Recording:
    """Messages of a bag; a topic is decoded when it is asked for, once.

    Topics are named by their end: `joint_states` finds `/arm/joint_states`, as long as only one topic ends so.
    Attributes: directory of the bag; metadata records, text by key, by name of the record; notes: what was left out.
    """

    def __init__(
        self,
        directory: Path,
        topics: Mapping[str, RecordedTopic],
        metadata: Mapping[str, Mapping[str, str]],
        notes: tuple[str, ...] = (),
    ) -> None:
        self.directory = directory
        self.metadata = metadata
        self.notes = notes
        self._topics = dict(topics)
        self._series: dict[str, Series] = {}

    def of_arm(self, arm: str) -> Recording:
        """Return the recording of one arm, without its name in the topics, as if it were the only one; "" has none.

        Times stay those of the whole recording. Raises InvalidInputError when nothing was recorded of it.
        """
        if not arm:
            return self
        own = {name.replace(f"/{arm}/", "/", 1): entry for name, entry in self._topics.items() if f"/{arm}/" in name}
        if not own:
            raise InvalidInputError("arm", arm, f"a namespace of {', '.join(self._topics) or 'an empty recording'}")
        alone = Recording(self.directory, own, self.metadata)
        alone._zero = self._zero
        return alone

    @property
    def topics(self) -> dict[str, str]:
        """Type by full name of each topic."""
        return {name: topic.type_name for name, topic in self._topics.items()}

    def message_count(self) -> int:
        """Return the number of messages on all topics."""
        return sum(len(entry.payloads) for entry in self._topics.values())

    def __contains__(self, topic: object) -> bool:
        """Return whether a topic with this end has messages."""
        return bool(isinstance(topic, str) and self._matches(topic))

    def full_name(self, topic: str) -> str:
        """Return the one topic with this end. Raises InvalidInputError when none has it, or several."""
        matches = self._matches(topic)
        if len(matches) != 1:
            names = ", ".join(matches or self._topics) or "nothing, the recording is empty"
            raise InvalidInputError("topic", topic, f"the end of one of {names}")
        return matches[0]

    def series(self, topic: str) -> Series:
        """Return the columns of a topic. Raises InvalidInputError as `full_name` does."""
        name = self.full_name(topic)
        if name not in self._series:
            self._series[name] = self._to_series(self._topics[name])
        return self._series[name]

    def get(self, topic: str) -> Series | None:
        """Return the columns of a topic, None if it was not recorded. Raises InvalidInputError for an ambiguous end."""
        return self.series(topic) if topic in self else None

    def objects(self) -> dict[str, Series]:
        """Return the poses of each simulated object by its name."""
        topics = (name for name in self._topics if _OBJECTS in name and name in self)
        return {name.rsplit("/", 1)[-1]: self.series(name) for name in topics}

    def decisions(self, topic: str) -> Series | None:
        """Return the columns as `get` does, without messages older than `EARLIER_TASK`.

        Events are latched: a subscriber also receives the last ones of the task before, at once or seconds later.
        """
        series = self.get(topic)
        if series is None:
            return None
        rows = np.flatnonzero(series["stamp"] >= -EARLIER_TASK)
        return Series(
            (name, column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows])
            for name, column in series.items()
        )

    def constants(self, topic: str) -> dict[str, int]:
        """Return the integer constants of the message of a topic, by name."""
        return dict(self._topics[self.full_name(topic)].root.constants)

    @property
    def scenario_name(self) -> str:
        """Name of the scenario of the last task, "" if it was not recorded."""
        reference = self.get(Topics.reference)
        names = [name for name in reference["scenario"] if name] if reference is not None else []
        return names[-1] if names else self.metadata.get(METADATA_NAME, {}).get("name", "")

    def _matches(self, topic: str) -> list[str]:
        end = "/" + topic.strip("/")
        matches = [name for name, entry in self._topics.items() if name.endswith(end) and entry.payloads]
        return [end] if end in matches else matches

    @cached_property
    def _zero(self) -> tuple[int, int]:
        """[ns] stamp and log time of the first joint state, the zero of time; without joint states, of all topics."""
        recorded = {name: entry for name, entry in self._topics.items() if entry.payloads}
        joint_states = [entry for name, entry in recorded.items() if name.endswith("/" + Topics.joint_states)]
        for entries in (joint_states, list(recorded.values())):
            zeros = [(stamp, min(entry.log_times)) for entry in entries if (stamp := entry.first_stamp) is not None]
            if zeros:
                return min(zeros)
        first = min((min(entry.log_times) for entry in recorded.values()), default=0)
        return first, first

    def _to_series(self, topic: RecordedTopic) -> Series:
        stamp_zero, log_zero = self._zero
        series = Series(log_time=(np.array(topic.log_times, dtype=np.int64) - log_zero) / 1e9)
        for name, column in topic.columns.items():
            is_stamp = name == STAMP and _is_time(column)
            series["stamp" if is_stamp else name] = _in_seconds(column, stamp_zero)
        if "stamp" not in series:
            series["stamp"] = self._stamps_at(series["log_time"])
        return series

    def _stamps_at(self, log_time: Vector) -> Vector:
        """Return the stamps [s] that the joint states had reached at log times, continued at real time at both ends."""
        names = [name for name in self._matches(Topics.joint_states) if _is_time(self._topics[name].columns.get(STAMP))]
        if not names:
            return log_time
        states = self.series(names[0])
        known, order = np.unique(states["log_time"], return_index=True)
        inside = np.clip(log_time, known[0], known[-1])
        stamps: Vector = np.interp(inside, known, states["stamp"][order]) + (log_time - inside)
        return stamps


def read_bag(directory: Path | str) -> Recording:
    """Read all whole messages of an MCAP bag, or of one file of it, complete or torn; the bag is not changed.

    Raises InvalidInputError when no MCAP file is there, or nothing in it is encoded as can be read.
    """
    path = Path(directory)
    left_out: dict[str, str] = {}  # encoding by topic
    topics: dict[str, RecordedTopic] = {}
    metadata: dict[str, Mapping[str, str]] = {}
    for file in [path] if path.is_file() else storage_files(path):
        schemas: dict[int, Schema] = {}
        channels: dict[int, RecordedTopic] = {}
        others: dict[int, Channel] = {}
        for record in whole_records(file):
            if isinstance(record, Message):
                if (topic := channels.get(record.channel_id)) is not None and record.log_time <= _LATEST:
                    topic.payloads.append(record.data)
                    topic.log_times.append(record.log_time)
                elif record.channel_id in others:
                    other = others[record.channel_id]
                    left_out[other.topic] = other.message_encoding
            elif isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                schema = schemas.get(record.schema_id)
                if schema is not None and _is_decodable(record, schema):
                    types = parse_definition(schema.name, schema.data.decode())
                    channels[record.id] = topics.setdefault(record.topic, RecordedTopic(schema.name, types))
                elif record.message_encoding != MessageEncoding.CDR:
                    others[record.id] = record
            elif isinstance(record, Metadata):
                metadata[record.name] = record.metadata
    if left_out and not any(topic.payloads for topic in topics.values()):
        found = ", ".join(sorted(set(left_out.values())))
        raise InvalidInputError("encoding of the messages", found, "cdr, as rosbag2 and this stack record it")
    notes = tuple(f"topic {topic} is left out: encoded as {encoding}" for topic, encoding in left_out.items())
    return Recording(path, topics, metadata, notes)


def _is_decodable(channel: Channel, schema: Schema) -> bool:
    """Return whether a channel carries messages: services and IDL definitions are passed over."""
    is_message = schema.name.count("/") == 1 or "/msg/" in schema.name
    return channel.message_encoding == MessageEncoding.CDR and schema.encoding == SchemaEncoding.ROS2 and is_message


def _is_time(column: object) -> TypeGuard[NDArray[Any]]:
    return isinstance(column, np.ndarray) and column.dtype.kind == "M"


def _in_seconds(column: Any, epoch_ns: int) -> Any:
    """Return times and durations in [s], anything else as it is."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "Mm":
        nanoseconds = column.astype(np.int64)
        return (nanoseconds - epoch_ns if column.dtype.kind == "M" else nanoseconds) / 1e9
    return column
