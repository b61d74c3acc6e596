"""Message definitions: complete texts, and the same fields as an independent parser finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcap_ros2._vendor.rosidl_adapter.parser import parse_message_string
from recording_samples import IMPACT_MSGS, STANDARD_MESSAGES, install_messages

from impact_control.errors import InvalidInputError
from impact_control.recording.definitions import (
    Field,
    default_search_paths,
    message_definition,
    parse_definition,
)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_messages(tmp_path_factory.mktemp("prefix"))


def test_text_contains_every_dependency_once(prefix: Path) -> None:
    text = message_definition("impact_msgs/msg/ImpactEvent", [prefix])
    assert text.startswith((IMPACT_MSGS / "ImpactEvent.msg").read_text())
    sections = [line.removeprefix("MSG: ") for line in text.splitlines() if line.startswith("MSG: ")]
    assert sorted(sections) == ["builtin_interfaces/Time", "std_msgs/Header"]
    assert text.count("=" * 80 + "\nMSG: ") == 2


def test_parsing_finds_the_fields_of_an_independent_parser(prefix: Path) -> None:
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


def test_every_kind_of_declaration() -> None:
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


def test_missing_message_names_where_it_was_looked_for(prefix: Path) -> None:
    (prefix / "share" / "broken" / "msg").mkdir(parents=True)
    (prefix / "share" / "broken" / "msg" / "Holder.msg").write_text("absent_msgs/Thing thing\n")
    with pytest.raises(InvalidInputError, match=r"absent_msgs/Thing.*share/absent_msgs/msg/Thing\.msg"):
        message_definition("broken/msg/Holder", [prefix])
    with pytest.raises(InvalidInputError, match="package/Type"):
        message_definition("Holder", [prefix])


def test_earlier_search_paths_win(prefix: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "share" / "std_msgs" / "msg" / "String.msg"
    overlay.parent.mkdir(parents=True)
    overlay.write_text("string other\n")
    assert message_definition("std_msgs/String", [tmp_path, prefix]) == "string other\n"
    assert message_definition("std_msgs/String", [prefix, tmp_path]) == STANDARD_MESSAGES["std_msgs/String"]


def test_default_search_paths_follow_the_sourced_workspaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/first:/second")
    assert default_search_paths()[:2] == (Path("/first"), Path("/second"))


def test_numbers_beyond_all_sizes_are_no_sizes() -> None:
    with pytest.raises(InvalidInputError, match="21 digits"):
        parse_definition("a/B", f"float64[{21 * '9'}] x\n")
    assert parse_definition("a/B", f"int8 X={5000 * '9'}\nint8 Y=3\n")["a/B"].constants == {"Y": 3}
