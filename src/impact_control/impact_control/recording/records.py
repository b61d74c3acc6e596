"""Read MCAP records in the order in which they were written, as far as they are whole.

A writer that was killed leaves neither summary nor footer and perhaps half a record; the library's reader
stops there with an error, or hands out the half. Each record says its length, so whole ones can be told from
torn ones.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.records import Channel, Chunk, McapRecord, Message, Metadata, Schema
from mcap.stream_reader import breakup_chunk
from mcap.summary import Summary
from mcap.writer import MCAP0_MAGIC

from impact_control.errors import InvalidInputError

_HEAD = struct.Struct("<BQ")


def whole_records(path: Path) -> Iterator[McapRecord]:
    """Schemas, channels, messages and metadata of a file, up to the first torn record; damaged chunks are
    left out.

    Raises:
        InvalidInputError: the file is no MCAP file. A file cut inside its first bytes is one, without
            records.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        magic = file.read(len(MCAP0_MAGIC))
        if not MCAP0_MAGIC.startswith(magic):
            raise InvalidInputError("path", str(path), "an MCAP file")
        yield from _records(file, size)


def summary_of(path: Path) -> Summary | None:
    """Summary of a file that was closed properly, None of a torn one."""
    with path.open("rb") as file:
        try:
            summary = make_reader(file).get_summary()
        except Exception:  # whatever the parser makes of bytes that are no summary
            return None
    return summary if summary is not None and summary.statistics is not None else None


def _records(file: BinaryIO, size: int) -> Iterator[McapRecord]:
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        opcode, length = _HEAD.unpack(head)
        if file.tell() + length > size:
            return
        content = file.read(length)
        try:
            yield from _parse(opcode, content)
        except Exception:  # whatever parser and decompressor make of damaged bytes: this record is lost
            continue


def _parse(opcode: int, content: bytes) -> list[McapRecord]:
    stream = ReadDataStream(BytesIO(content))
    if opcode == Opcode.CHUNK:
        return breakup_chunk(Chunk.read(stream), validate_crc=True)
    if opcode == Opcode.SCHEMA:
        return [Schema.read(stream)]
    if opcode == Opcode.CHANNEL:
        return [Channel.read(stream)]
    if opcode == Opcode.MESSAGE:
        return [Message.read(stream, len(content))]
    if opcode == Opcode.METADATA:
        return [Metadata.read(stream)]
    return []
