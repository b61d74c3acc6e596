"""Read a bag into arrays.

One time base for everything: seconds since the first stamp of the joint states of the recording, computed
from integer nanoseconds, so that microseconds survive at an epoch of 1.7e9 s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from mcap.records import Channel, Message, Metadata, Schema
from mcap.well_known import MessageEncoding, SchemaEncoding
from numpy.typing import NDArray

from impact_control.errors import InvalidInputError
from impact_control.recording.bag import storage_files
from impact_control.recording.cdr import decode
from impact_control.recording.definitions import MessageType, parse_definition, short_name
from impact_control.recording.records import whole_records
from impact_control.types import Vector

_LATEST = 2**63 - 1
"""[ns] of the log times that arrays hold; later ones, in the year 2262, are of damaged records."""

JOINT_STATES = "joint_states"
"""Topic whose first stamp is the zero of time."""

STAMP = "header.stamp"
"""Field with the stamp of a message that has one."""


class Series(dict[str, Any]):
    """Columns of one topic by dotted field name, the first axis is the message.

    Numbers are (n,), arrays of constant length k (n, k), points and vectors (n, 3), strings and arrays of
    changing length lists. Times are float64 [s]: `stamp` (from the header) and all other time fields since
    the zero of time, `log_time` since the first joint state was received. Messages without header get the
    `stamp` at which the joint states had arrived up to their own reception.
    """

    def __missing__(self, name: str) -> Any:
        """Name the fields there are."""
        raise InvalidInputError("field", name, f"one of {', '.join(self)}")


@dataclass
class RecordedTopic:
    """Messages of one topic as they were recorded: serialised, with the times [ns] at which they were received."""

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
        """The type of its messages."""
        return self.types[short_name(self.type_name)]


class Recording:
    """Messages of a bag; a topic is decoded when it is asked for, once.

    Topics are named by their end: `joint_states` finds `/arm/joint_states`, as long as only one topic ends
        so.

    Attributes:
        directory: the bag.
        metadata: metadata records, text by key, by name of the record.
    """

    def __init__(
        self, directory: Path, topics: Mapping[str, RecordedTopic], metadata: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Take over what `read_bag` found."""
        self.directory = directory
        self.metadata = metadata
        self._topics = dict(topics)
        self._series: dict[str, Series] = {}

    def of_arm(self, arm: str) -> Recording:
        """Return what was recorded of one arm of a scene, as if it were the only one: without its name in the topics.

        Times stay those of the whole recording. Raises InvalidInputError when nothing was recorded of it.
        """
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

    def message_count(self, topic: str | None = None) -> int:
        """Number of messages on a topic, or in all; 0 for a topic that was not recorded."""
        if topic is None:
            return sum(len(entry.payloads) for entry in self._topics.values())
        return len(self._topics[self.full_name(topic)].payloads) if topic in self else 0

    def __contains__(self, topic: object) -> bool:
        """Whether a topic with this end has messages."""
        return bool(isinstance(topic, str) and self._matches(topic))

    def full_name(self, topic: str) -> str:
        """The one topic with this end.

        Raises:
            InvalidInputError: none has it, or several.
        """
        matches = self._matches(topic)
        if len(matches) != 1:
            names = ", ".join(matches or self._topics) or "nothing, the recording is empty"
            raise InvalidInputError("topic", topic, f"the end of one of {names}")
        return matches[0]

    def series(self, topic: str) -> Series:
        """Columns of a topic. Raises InvalidInputError as `full_name` does."""
        name = self.full_name(topic)
        if name not in self._series:
            self._series[name] = self._to_series(self._topics[name])
        return self._series[name]

    def constants(self, topic: str) -> dict[str, int]:
        """Integer constants of the message of a topic, by name."""
        return dict(self._topics[self.full_name(topic)].root.constants)

    @cached_property
    def epoch_ns(self) -> int:
        """[ns] first stamp of the joint states: the zero of time. Without them, the first stamp of all."""
        return self._zero[0]

    def _matches(self, topic: str) -> list[str]:
        wanted = "/" + topic.strip("/")
        matches = [name for name, entry in self._topics.items() if name.endswith(wanted) and entry.payloads]
        return [wanted] if wanted in matches else matches

    @cached_property
    def _zero(self) -> tuple[int, int]:
        """[ns] stamp and log time of the first joint state."""
        recorded = {name: entry for name, entry in self._topics.items() if entry.payloads}
        joint_states = [entry for name, entry in recorded.items() if name.endswith("/" + JOINT_STATES)]
        for entries in (joint_states, list(recorded.values())):
            zeros = [(stamp, min(entry.log_times)) for entry in entries if (stamp := _first_stamp(entry)) is not None]
            if zeros:
                return min(zeros)
        first = min((min(entry.log_times) for entry in recorded.values()), default=0)
        return first, first

    def _to_series(self, topic: RecordedTopic) -> Series:
        stamp_zero, log_zero = self._zero
        series = Series(log_time=_seconds(np.array(topic.log_times, dtype=np.int64) - log_zero))
        for name, column in topic.columns.items():
            is_stamp = name == STAMP and _is_time(column)
            series["stamp" if is_stamp else name] = _in_seconds(column, stamp_zero)
        if "stamp" not in series:
            series["stamp"] = self._stamps_at(series["log_time"])
        return series

    def _stamps_at(self, log_time: Vector) -> Vector:
        """[s] stamps the joint states had reached at these log times; continued at real time at both ends."""
        names = [name for name in self._matches(JOINT_STATES) if _is_time(self._topics[name].columns.get(STAMP))]
        if not names:
            return log_time
        states = self.series(names[0])
        known, order = np.unique(states["log_time"], return_index=True)
        inside = np.clip(log_time, known[0], known[-1])
        stamps: Vector = np.interp(inside, known, states["stamp"][order]) + (log_time - inside)
        return stamps


def read_bag(directory: Path | str) -> Recording:
    """Read a bag, complete or torn, with all its whole messages; the bag is not changed.

    Args:
        directory: of the bag, or one MCAP file.

    Raises:
        InvalidInputError: no MCAP file is there.
    """
    path = Path(directory)
    topics: dict[str, RecordedTopic] = {}
    metadata: dict[str, Mapping[str, str]] = {}
    for file in [path] if path.is_file() else storage_files(path):
        schemas: dict[int, Schema] = {}
        channels: dict[int, RecordedTopic] = {}
        for record in whole_records(file):
            if isinstance(record, Message):
                if (topic := channels.get(record.channel_id)) is not None and record.log_time <= _LATEST:
                    topic.payloads.append(record.data)
                    topic.log_times.append(record.log_time)
            elif isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                schema = schemas.get(record.schema_id)
                if schema is not None and _is_decodable(record, schema):
                    channels[record.id] = topics.setdefault(record.topic, _topic(schema))
            elif isinstance(record, Metadata):
                metadata[record.name] = record.metadata
    return Recording(path, topics, metadata)


def _topic(schema: Schema) -> RecordedTopic:
    return RecordedTopic(schema.name, parse_definition(schema.name, schema.data.decode()))


def _is_decodable(channel: Channel, schema: Schema) -> bool:
    """Messages only: services and IDL definitions are passed over."""
    is_message = schema.name.count("/") == 1 or "/msg/" in schema.name
    return channel.message_encoding == MessageEncoding.CDR and schema.encoding == SchemaEncoding.ROS2 and is_message


def _first_stamp(topic: RecordedTopic) -> int | None:
    """[ns] header stamp of the first message, None if it has no header, or one without a time."""
    if not any(entry.name == "header" and entry.type == "std_msgs/Header" for entry in topic.root.fields):
        return None
    first = decode(topic.payloads[:1], topic.types, short_name(topic.type_name)).get(STAMP)
    return int(first.astype(np.int64)[0]) if _is_time(first) else None


def _is_time(column: object) -> TypeGuard[NDArray[Any]]:
    return isinstance(column, np.ndarray) and column.dtype.kind == "M"


def _in_seconds(column: NDArray[Any] | Sequence[Any], epoch_ns: int) -> Any:
    if isinstance(column, np.ndarray) and column.dtype.kind in "Mm":
        nanoseconds = column.astype(np.int64)
        return _seconds(nanoseconds - epoch_ns if column.dtype.kind == "M" else nanoseconds)
    return column


def _seconds(nanoseconds: NDArray[np.int64]) -> Vector:
    seconds: Vector = nanoseconds / 1e9
    return seconds
