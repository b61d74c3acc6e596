"""Array fields of messages that are written in place: no conversion and no allocation when publishing."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from impact_control.types import Vector


def float_field(message: Any, name: str, size: int) -> Vector:
    """Give the float64[] field `name` its final length and return a numpy view (size,) that writes into it."""
    storage = array("d", bytes(8 * size))
    setattr(message, name, storage)
    return np.frombuffer(getattr(message, name), dtype=np.float64)
