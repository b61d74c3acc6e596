"""Settings as the components take them: one declaration for the file, for Python, and for the documentation."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Self, get_args, get_origin, get_type_hints

from impact_control.scenario.fields import REQUIRED, Entry, Kind, Number, Numbers, PowerLawCoefficient, Section, kind_of
from impact_control.util.errors import InvalidInputError

_NO_DEFAULT = object()


@cache
def entries(section_type: type) -> dict[str, Entry]:
    """Return the declared entries of a section: those named in its `FIRST`, the others in the order of declaration."""
    declared = _declared(section_type)
    first = [name for name in getattr(section_type, "FIRST", ()) if name in declared]
    return {name: declared[name] for name in dict.fromkeys((*first, *declared))}


class Settings:
    """A section of entries that a component takes.

    The defaults of the entries are those of the dataclass, and their bounds hold for values from Python, in SI, as for
    values from a file. Raises InvalidInputError outside the bounds.
    """

    def __init_subclass__(cls) -> None:
        for name, entry in _declared(cls).items():
            default = _default_of(entry)
            if name in cls.__annotations__ and default is not _NO_DEFAULT:
                setattr(cls, name, default)

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Return the section with these values in SI, and the defaults of the other entries."""
        return cls(**values)

    @classmethod
    def require(cls, **values: Any) -> None:
        """Require that values in SI are inside the bounds of their entries. Raises InvalidInputError."""
        section: type = cls
        for name, value in values.items():
            entry = entries(section)[name]
            left_out = value is None and entry.default in (None, "none")
            if not (left_out or entry.kind.admits(value)):
                raise InvalidInputError(name, value, entry.kind.allowed())

    def __post_init__(self) -> None:
        """Require that every value is inside its bounds."""
        section: type = type(self)
        self.require(**{name: getattr(self, name) for name in entries(section)})


def _declared(section_type: type) -> dict[str, Entry]:
    declared = {}
    for name, hint in get_type_hints(section_type, include_extras=True).items():
        if get_origin(hint) is Annotated:
            said = hint.__metadata__
            declared[name] = Entry(*said) if isinstance(said[0], Kind) else Entry(kind_of(get_args(hint)[0]), *said)
    return declared


def _default_of(entry: Entry) -> Any:
    """Return the default value; `_NO_DEFAULT` where there is none, or it depends on the robot or on another entry."""
    default, kind = entry.default, entry.kind
    if default is None or default == "none":
        return None
    if default is not REQUIRED and isinstance(kind, Numbers) and kind.repeats:
        return Number(kind.unit, kind.range).parse(default, {}, {})
    if default is REQUIRED or isinstance(kind, Numbers | PowerLawCoefficient):
        return _NO_DEFAULT
    if not isinstance(kind, Section):
        return kind.parse(default, {}, {})
    needed = [_default_of(inner) for inner in _declared(kind.type).values()]
    return _NO_DEFAULT if _NO_DEFAULT in needed else kind.type()
