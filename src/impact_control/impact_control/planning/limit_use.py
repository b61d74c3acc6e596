"""The largest use of one limit along a reference."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

ANTE, POST, MOVE, AT_IMPACT = "ante-impact", "post-impact", "move", "impact"


class Quantity(Enum):
    """Limited quantities, in words, with their units."""

    POSITION = ("position", "rad")
    VELOCITY = ("velocity", "rad/s")
    ACCELERATION = ("acceleration", "rad/s^2")
    TORQUE = ("torque", "Nm")
    TORQUE_RATE = ("torque rate", "Nm/s")

    def __init__(self, words: str, unit: str) -> None:
        self.words, self.unit = words, unit


@dataclass(frozen=True)
class Use:
    """The largest use of one limit along one reference.

    Attributes:
        quantity: what is limited.
        reference: ANTE, POST, MOVE or AT_IMPACT.
        joint: name of the joint.
        time: of the task [s].
        value: in the unit of the quantity.
        lower, upper: what is allowed.
        share: of the way from the middle of what is allowed to its end [-]; above 1 the limit is violated.
        key: entry of the scenario that drives the value; empty in a motion outside of a task.
    """

    quantity: Quantity
    reference: str
    joint: str
    time: float
    value: float
    lower: float
    upper: float
    share: float
    key: str

    @property
    def violated(self) -> bool:
        """True where the reference breaks the limit, or the share is not a number."""
        return not self.share <= 1.0

    @property
    def limit(self) -> float:
        """Return the end of what is allowed that is on the side of the value."""
        return self.upper if self.value > 0.5 * (self.lower + self.upper) else self.lower

    @property
    def allowed(self) -> str:
        """Return the allowed values in words."""
        return f"{self.lower:g} to {self.upper:g} {self.quantity.unit}"

    def __str__(self) -> str:
        """Return joint, time, value and allowed values in words."""
        value = f"{self.quantity.words} {self.value:.4g} {self.quantity.unit}"
        driven = f" ({self.key})" if self.key else ""
        return f"{self.reference} at {self.time:.3f} s, {self.joint}: {value}, allowed: {self.allowed}{driven}"
