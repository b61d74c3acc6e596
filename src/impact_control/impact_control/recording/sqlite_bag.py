"""Read rosbag2 bags with sqlite3 storage, with the standard library; the bag is not changed.

Tables of rosbag2_storage_sqlite3: `topics` (id, name, type, serialization_format), `messages` (topic_id, timestamp,
data) and, since Iron, `message_definitions` (topic_type, encoding, encoded_message_definition). Bags of before it need
the definitions of the ROS installation.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from impact_control.recording.messages import message_definition, parse_definition, short_name
from impact_control.recording.series import RecordedTopic, Recording
from impact_control.util.errors import InvalidInputError, RecordingError

SUFFIX = ".db3"

_PAGE_SIZE = slice(16, 18)
"""Bytes of the head of a file with the size of its pages [bytes]; 1 stands for the largest."""

_SMALLEST_PAGE, _LARGEST_PAGE = 512, 65536
_CDR = "cdr"
_DEFINITION = "ros2msg"


def read_sqlite(path: Path) -> tuple[Recording, list[str]]:
    """Read a bag directory or one file of it, as far as it can be read; return what could not be, in words.

    Raises RecordingError when there is no message.
    """
    files = [path] if path.is_file() else sorted(path.glob(f"*{SUFFIX}"), key=lambda file: (len(file.name), file.name))
    topics: dict[str, RecordedTopic] = {}
    notes: list[str] = []
    for file in files:
        with _whole_pages(file, notes) as whole:
            _read_either_way(whole, file.name, topics, notes)
    if not any(topic.payloads for topic in topics.values()):
        found = "; ".join(notes) or "no messages in it"
        raise RecordingError(str(path), found, "a rosbag2 bag with sqlite3 storage, of uncompressed messages")
    return Recording(path, topics, {}), notes


@contextmanager
def _whole_pages(file: Path, notes: list[str]) -> Iterator[Path]:
    """Give a file without the part of a page it may end with: SQLite would take zeros for the rest of the page."""
    size = file.stat().st_size
    with file.open("rb") as original:
        page = int.from_bytes(original.read(_PAGE_SIZE.stop)[_PAGE_SIZE], "big")
        page = _LARGEST_PAGE if page == 1 else page
        if page < _SMALLEST_PAGE or size % page == 0:
            yield file
            return
        notes.append(f"{file.name} was cut off in the middle of a page")
        original.seek(0)
        with TemporaryDirectory() as directory:
            copy = Path(directory) / file.name
            with copy.open("wb") as target:
                shutil.copyfileobj(original, target)
                target.truncate(size - size % page)
            yield copy


def _read_either_way(file: Path, name: str, topics: dict[str, RecordedTopic], notes: list[str]) -> None:
    """Add the messages of a file, or why there are none."""
    failure = ""
    # A writer that was killed leaves a journal, of use only to a reader who may write; it is passed over then.
    for way in ("mode=ro", "immutable=1"):
        try:
            with closing(sqlite3.connect(f"file:{quote(str(file.absolute()))}?{way}", uri=True)) as database:
                # Else a file that is shorter than its head states is refused as a whole. Nothing is written either way.
                database.execute("PRAGMA writable_schema=ON")
                _read(database, name, topics, notes)
            return
        except sqlite3.DatabaseError as error:
            failure = str(error)
    notes.append(f"{name} cannot be read: {failure}")


def _read(database: sqlite3.Connection, file: str, topics: dict[str, RecordedTopic], notes: list[str]) -> None:
    """Add the messages of a file. Raises sqlite3.DatabaseError when not even its topics can be read."""
    known = {}
    definitions = _definitions(database)
    for number, name, type_name, form in database.execute("SELECT id, name, type, serialization_format FROM topics"):
        if form != _CDR or not isinstance(name, str) or not isinstance(type_name, str):
            notes.append(f"topic {name} is left out: serialised as {form}")
        elif name in topics:
            known[number] = topics[name]
        else:
            try:
                text = definitions.get(type_name) or message_definition(type_name)
                types = parse_definition(type_name, text)
            except InvalidInputError:
                notes.append(f"topic {name} is left out: no definition of {type_name}, in the bag or installed")
                continue
            if short_name(type_name) in types:
                known[number] = topics[name] = RecordedTopic(type_name, types)
    count = 0
    try:
        # In the order in which they were written: to sort them, the whole file would have to be readable.
        for number, stamp, data in database.execute("SELECT topic_id, timestamp, data FROM messages"):
            if not (isinstance(stamp, int) and isinstance(data, bytes)):
                notes.append(f"{file} is damaged: {count} messages could be read before it")
                return
            if number in known:
                known[number].payloads.append(data)
                known[number].log_times.append(stamp)
                count += 1
    except sqlite3.DatabaseError as error:
        notes.append(f"{file} was cut off: {count} messages could be read before '{error}'")


def _definitions(database: sqlite3.Connection) -> dict[str, str]:
    try:
        rows = database.execute("SELECT topic_type, encoding, encoded_message_definition FROM message_definitions")
        return {name: text for name, encoding, text in rows if encoding == _DEFINITION and isinstance(text, str)}
    except sqlite3.DatabaseError:  # a bag of before Iron, or cut off there
        return {}
