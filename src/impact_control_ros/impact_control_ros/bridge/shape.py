"""Distribution of the nodes over processes, in a module that the command line imports at no cost."""

from __future__ import annotations

from enum import Enum


class Shape(str, Enum):  # Typer 0.9 compares the default of an option by its text
    """Distribution of observer, detector, classifier and controller over processes."""

    COMPOSED = "composed"
    SEPARATE = "separate"
