"""Distribution of the nodes over processes, in a module that the command line imports at no cost."""

from __future__ import annotations

from enum import StrEnum


class Shape(StrEnum):
    """Distribution of observer, detector, classifier and controller over processes."""

    COMPOSED = "composed"
    SEPARATE = "separate"
