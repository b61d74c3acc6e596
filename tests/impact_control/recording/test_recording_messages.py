"""Message definitions and decoding of many messages at once, against an independent parser and decoder."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap_ros2._dynamic import generate_dynamic, serialize_dynamic
from mcap_ros2._vendor.rosidl_adapter.parser import parse_message_string

from impact_control.recording.messages import Field, decode, default_search_paths, message_definition, parse_definition
from impact_control.util.errors import InvalidInputError
from recording_samples import IMPACT_MSGS, STANDARD_MESSAGES


def test_text_contains_every_dependency_once(prefix):
    text = message_definition("impact_msgs/msg/ImpactEvent", [prefix])
    assert text.startswith((IMPACT_MSGS / "ImpactEvent.msg").read_text())
    sections = [line.removeprefix("MSG: ") for line in text.splitlines() if line.startswith("MSG: ")]
    assert sorted(sections) == ["builtin_interfaces/Time", "std_msgs/Header"]
    assert text.count("=" * 80 + "\nMSG: ") == 2


def test_parsing_finds_the_fields_of_an_independent_parser(prefix):
    for file in sorted(IMPACT_MSGS.glob("*.msg")):
        name = f"impact_msgs/{file.stem}"
        ours = parse_definition(name, message_definition(name, [prefix]))[name]
        theirs = parse_message_string("impact_msgs", file.stem, file.read_text())
        assert [field.name for field in ours.fields] == [field.name for field in theirs.fields]
        for field, other in zip(ours.fields, theirs.fields, strict=True):
            package = f"{other.type.pkg_name}/" if other.type.pkg_name else ""
            assert field.type == package + other.type.type
            assert field.is_array == other.type.is_array
        assert ours.constants == {constant.name: constant.value for constant in theirs.constants}


def test_every_kind_of_declaration():
    text = (
        "# comment\n  string<=5[<=3] a # trailing\nint8[4] b\nfloat64[<=7] c\nOther d\npkg/Other[] e\n"
        "uint8 MAX=255\nint32 LOW = -3  # reason\nstring NAME = 'x'\nfloat64 HALF=0.5\nbool f true\n"
        + "=" * 80
        + "\nMSG: pkg/Other\nuint8 g\n"
    )
    types = parse_definition("pkg/msg/Root", text)
    assert types["pkg/Root"].fields == (
        Field("a", "string", is_array=True),
        Field("b", "int8", is_array=True, size=4),
        Field("c", "float64", is_array=True),
        Field("d", "pkg/Other"),
        Field("e", "pkg/Other", is_array=True),
        Field("f", "bool"),
    )
    assert types["pkg/Root"].constants == {"MAX": 255, "LOW": -3}
    assert types["pkg/Other"].fields == (Field("g", "uint8"),)


def test_missing_message_names_where_it_was_looked_for(tmp_path):
    (tmp_path / "share" / "broken" / "msg").mkdir(parents=True)
    (tmp_path / "share" / "broken" / "msg" / "Holder.msg").write_text("absent_msgs/Thing thing\n")
    with pytest.raises(InvalidInputError, match=r"absent_msgs/Thing.*share/absent_msgs/msg/Thing\.msg"):
        message_definition("broken/msg/Holder", [tmp_path])
    with pytest.raises(InvalidInputError, match="package/Type"):
        message_definition("Holder", [tmp_path])


def test_earlier_search_paths_win(prefix, tmp_path):
    overlay = tmp_path / "share" / "std_msgs" / "msg" / "String.msg"
    overlay.parent.mkdir(parents=True)
    overlay.write_text("string other\n")
    assert message_definition("std_msgs/String", [tmp_path, prefix]) == "string other\n"
    assert message_definition("std_msgs/String", [prefix, tmp_path]) == STANDARD_MESSAGES["std_msgs/String"]


def test_default_search_paths_follow_the_sourced_workspaces(monkeypatch):
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/first:/second")
    assert default_search_paths()[:2] == (Path("/first"), Path("/second"))


def test_numbers_beyond_all_sizes_are_no_sizes():
    with pytest.raises(InvalidInputError, match="21 digits"):
        parse_definition("a/B", f"float64[{21 * '9'}] x\n")
    assert parse_definition("a/B", f"int8 X={5000 * '9'}\nint8 Y=3\n")["a/B"].constants == {"Y": 3}


NAME = "pkg/msg/Everything"
SEPARATOR = "\n" + "=" * 80 + "\nMSG: "
TEXT = (
    "bool flag\nuint8 small\nint8[3] fixed\nfloat64 number\nstring text\nfloat32 single\nint16[] shorts\n"
    "string[] names\nuint64 big\nfloat64[] doubles\npkg/Inner inner\npkg/Inner[] many\npkg/Point place\n"
    "pkg/Nothing nothing\nbool[] flags\nint64[<=4] bounded\nuint8 last\n"
    f"{SEPARATOR}pkg/Inner\nuint8 tag\nfloat64 value\nstring note\n"
    f"{SEPARATOR}pkg/Point\nfloat64 x\nfloat64 y\nfloat64 z\n"
    f"{SEPARATOR}pkg/Nothing\n"
)
TYPES = parse_definition(NAME, TEXT)
ENCODE = serialize_dynamic(NAME, TEXT)[NAME]
DECODE = generate_dynamic(NAME, TEXT)[NAME]

numbers = st.floats(allow_nan=False, width=32)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
inner = st.fixed_dictionaries({"tag": st.integers(0, 255), "value": numbers, "note": texts})
everything = st.fixed_dictionaries(
    {
        "flag": st.booleans(),
        "small": st.integers(0, 255),
        "fixed": st.lists(st.integers(-128, 127), min_size=3, max_size=3),
        "number": st.floats(allow_nan=False),
        "text": texts,
        "single": numbers,
        "shorts": st.lists(st.integers(-(2**15), 2**15 - 1), max_size=3),
        "names": st.lists(texts, max_size=3),
        "big": st.integers(0, 2**64 - 1),
        "doubles": st.lists(st.floats(allow_nan=False), max_size=3),
        "inner": inner,
        "many": st.lists(inner, max_size=2),
        "place": st.fixed_dictionaries({"x": numbers, "y": numbers, "z": numbers}),
        "nothing": st.just({}),
        "flags": st.lists(st.booleans(), max_size=3),
        "bounded": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4),
        "last": st.integers(0, 255),
    }
)


@settings(deadline=None, max_examples=60)
@given(st.lists(everything, min_size=1, max_size=5))
def test_agrees_with_message_by_message_decoding(contents):
    payloads = [ENCODE(content) for content in contents]
    columns = decode(payloads, TYPES, "pkg/Everything")
    for i, payload in enumerate(payloads):
        message = DECODE(payload)
        for field in ("flag", "small", "number", "text", "single", "names", "big", "last"):
            assert columns[field][i] == getattr(message, field)
        for field in ("fixed", "shorts", "doubles", "flags", "bounded"):
            assert list(columns[field][i]) == list(getattr(message, field))
        assert columns["inner.tag"][i] == message.inner.tag
        assert columns["inner.value"][i] == message.inner.value
        assert columns["inner.note"][i] == message.inner.note
        for k, element in enumerate(message.many):
            assert columns[f"many.{k}.note"][i] == element.note
            assert columns[f"many.{k}.value"][i] == element.value
        absent = [name for name in columns if name.startswith(f"many.{len(message.many)}.")]
        assert all(columns[name][i] is None for name in absent)
        assert list(columns["place"][i]) == [message.place.x, message.place.y, message.place.z]


def test_messages_of_one_layout_become_arrays():
    text = "float64[] values\npkg/Point place\nint32 count\nstring[] names"
    text += f"{SEPARATOR}pkg/Point\nfloat64 x\nfloat64 y\nfloat64 z\n"
    encode = serialize_dynamic("pkg/msg/Sample", text)["pkg/msg/Sample"]
    payloads = [
        encode({"values": [k, -k], "place": {"x": k, "y": 0, "z": 1}, "count": k, "names": ["a", "b"]})
        for k in range(4)
    ]
    columns = decode(payloads, parse_definition("pkg/Sample", text), "pkg/Sample")
    np.testing.assert_array_equal(columns["values"], [[k, -k] for k in range(4)])
    np.testing.assert_array_equal(columns["place"], [[k, 0, 1] for k in range(4)])
    assert isinstance(columns["count"], np.ndarray)
    assert columns["count"].dtype == np.int32
    assert columns["names"] == [["a", "b"]] * 4


def test_both_byte_orders():
    types = parse_definition("pkg/Sample", "uint8 a\nfloat64[] b\nint16 c\n")
    for order, kind in (("<", 1), (">", 0)):
        body = struct.pack(f"{order}BxxxI2dh", 7, 2, 1.5, -2.5, -300)
        columns = decode([bytes([0, kind, 0, 0]) + body], types, "pkg/Sample")
        assert columns["a"][0] == 7
        np.testing.assert_array_equal(columns["b"], [[1.5, -2.5]])
        assert columns["c"][0] == -300
        assert np.asarray(columns["b"]).dtype.isnative


def test_times_keep_their_nanoseconds():
    text = "builtin_interfaces/Time stamp\nbuiltin_interfaces/Duration span"
    text += f"{SEPARATOR}builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
    types = parse_definition("pkg/Sample", text)
    payload = b"\0\1\0\0" + struct.pack("<iIiI", 1_700_000_000, 123_456_789, -1, 999_999_999)
    columns = decode([payload], types, "pkg/Sample")
    assert np.asarray(columns["stamp"]).astype(np.int64)[0] == 1_700_000_000_123_456_789
    assert np.asarray(columns["span"]).astype(np.int64)[0] == -1


@settings(deadline=None, max_examples=40)
@given(everything, st.data())
def test_a_cut_message_is_refused(content, data):
    payload = ENCODE(content)
    cut = data.draw(st.integers(0, len(payload) - 1))
    with pytest.raises(InvalidInputError):
        decode([payload[:cut]], TYPES, "pkg/Everything")


def test_no_messages_give_no_columns():
    assert decode([], TYPES, "pkg/Everything") == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("B b\n", "does not contain itself"),
        (f"C c\n{SEPARATOR}a/C\nB b\n", "does not contain itself"),
        (f"C[] c\n{SEPARATOR}a/C\nfloat64[0] x\n", "at least 4294967303 bytes"),
        ("string[] s\n", "at least"),
        ("float64[] x\n", "at least 34359738372 bytes"),
    ],
)
def test_definitions_and_lengths_that_would_never_end_are_refused(text, words):
    with pytest.raises(InvalidInputError, match=words):
        decode([b"\0\1\0\0\xff\xff\xff\xff"], parse_definition("a/B", text), "a/B")
