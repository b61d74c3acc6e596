"""Exceptions of the package. Each names what was wrong, the value, and what is allowed."""

from __future__ import annotations

import math
from pathlib import PurePath
from typing import Any


class ImpactControlError(Exception):
    """Base of all exceptions raised on purpose by this package. They pass from one process to another unchanged."""

    def __new__(cls, *given: Any) -> ImpactControlError:
        """Keep the constructor arguments for pickling; `args` holds the message."""
        error = super().__new__(cls, *given)
        error._given = given
        return error

    def __reduce__(self) -> tuple[type, tuple[Any, ...], dict[str, Any]]:
        """Return type, constructor arguments and notes for pickling."""
        return type(self), self._given, self.__dict__

    _given: tuple[Any, ...]


LONGEST_VALUE = 60
"""Characters of a value shown in an error: it may be a whole file, which must not leak to the client that named it."""

LONGEST_KEY = 120
"""The same of the dotted path of an entry."""

LONGEST_GIVEN = 400
"""The same of a value that is no entry of a file, as the names of the joints of a controller."""


def shown(value: object, longest: int = LONGEST_VALUE) -> str:
    """Return a value as an error shows it: of a long one the beginning; of a path all."""
    return repr(str(value)) if isinstance(value, PurePath) else _cut(repr(value), longest)


def _cut(text: str, longest: int = LONGEST_VALUE) -> str:
    return text if len(text) <= longest else f"{text[:longest]}..."


class InterruptedByUserError(ImpactControlError):
    """The user asked to stop."""


class InvalidInputError(ImpactControlError, ValueError):
    """A value given by the caller is outside what is allowed.

    Attributes:
        name: the quantity that was wrong.
        value: the value that was given.
        allowed: what is allowed, in words.
    """

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"{name} = {shown(value, LONGEST_GIVEN)}; allowed: {allowed}")
        self.name = name
        self.value = value
        self.allowed = allowed


class SimulationError(ImpactControlError):
    """A simulation cannot go on.

    Attributes:
        part: to blame: command, external torque, external wrench, joint, contact or object.
        found: what is wrong with it, in words.
        time: when [s], in simulated time.
        step: integration step that was due [s]; NaN where none could be found.
    """

    def __init__(self, part: str, found: str, time: float, step: float) -> None:
        due = "" if math.isnan(step) else f", at a step of {step:.3g} s"
        super().__init__(f"the simulation stalls at {time:.9g} s{due}: {part}: {found}")
        self.part = part
        self.found = found
        self.time = time
        self.step = step


class ScenarioError(ImpactControlError, ValueError):
    """A scenario or data file breaks the schema.

    Attributes:
        file: path of the file.
        key: dotted path of the entry, "" for the whole file.
        value: what stands there, None where nothing does; of the whole file what is wrong, in words.
        allowed: what may stand there, in words.
    """

    def __init__(self, file: str, key: str, value: object, allowed: str) -> None:
        if not key:
            text = f"{_cut(str(value))}; allowed: {allowed}"
        elif value is None:
            text = f"{_cut(key, LONGEST_KEY)}: nothing is given; allowed: {allowed}"
        else:
            text = f"{_cut(key, LONGEST_KEY)}: {shown(value)}; allowed: {allowed}"
        super().__init__(f"{file}: {text}")
        self.file = file
        self.key = key
        self.value = value
        self.allowed = allowed


class RecordingError(ImpactControlError):
    """A recording, or the file that says how to read it, cannot be used.

    Attributes:
        file: path of the file.
        found: what is wrong with it, in words.
        allowed: what is allowed, in words.
    """

    def __init__(self, file: str, found: str, allowed: str) -> None:
        super().__init__(f"{file}: {found}; allowed: {allowed}")
        self.file = file
        self.found = found
        self.allowed = allowed


class MissingDependencyError(ImpactControlError, ImportError):
    """An optional package is needed for what was asked. The message says how to install it."""


class MissingExtraError(MissingDependencyError):
    """It is one that a single study needs, and that no other target than `make extras` installs."""


def words_of(error: BaseException) -> str:
    """Return what an error says, with the notes that were added on its way."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])
