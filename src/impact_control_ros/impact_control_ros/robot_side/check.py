"""Checks of a robot side against the controller, from the joint states of an arm at rest.

Each check raises InvalidInputError, which names what was found and what is allowed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

RATE_TOLERANCE = 0.1
"""Part of the period by which the time from one stamp to the next may differ from it."""

REST = 0.05
"""[rad/s] below which, in the mean, a joint rests."""

SMALLEST_WEIGHT = 10.0
"""[Nm] over all joints: below, an arm is too upright for a verdict on whether its efforts hold its weight."""


@dataclass(frozen=True)
class RestingArm:
    """Joint states of an arm that rests.

    Attributes:
        stamps: (k,) [ns], from the clock of the robot side.
        position, velocity, effort: (k, n) [rad, rad/s, Nm], in the order of the model.
    """

    stamps: NDArray[np.int64]
    position: Matrix
    velocity: Matrix
    effort: Matrix


def check_publishers(topic: str, names: list[str]) -> None:
    """Refuse a topic that more than one node publishes: the loop would receive them all."""
    if len(names) != 1:
        raise InvalidInputError(f"publishers of {topic}", names, "one: the joint_state_broadcaster of the arm")


def check_rate(arm: RestingArm, period: float) -> None:
    """Refuse joint states that are not stamped once a period [s]. Single ones may be missing."""
    interval = float(np.median(np.diff(arm.stamps))) * 1e-9
    if abs(interval - period) > RATE_TOLERANCE * period:
        words = f"{period * 1e3:g} ms, the period of the controller; single samples may be missing"
        raise InvalidInputError("time between joint states", f"{interval * 1e3:.2f} ms", words)


def check_numbers(arm: RestingArm, joint_names: tuple[str, ...]) -> None:
    """Refuse values that are no numbers, as those of interfaces that the hardware does not have."""
    for name in ("position", "velocity", "effort"):
        missing = ~np.isfinite(getattr(arm, name)).all(axis=0)
        if missing.any():
            joints = [joint for joint, gone in zip(joint_names, missing, strict=True) if gone]
            raise InvalidInputError(f"{name} of {', '.join(joints)}", "not a number", "a number in every joint state")


def check_rest(arm: RestingArm, joint_names: tuple[str, ...]) -> None:
    """Refuse an arm that moves: it is taken over at rest."""
    speed = np.abs(arm.velocity.mean(axis=0))
    joint = int(np.argmax(speed))
    if speed[joint] > REST:
        words = f"at most {REST:g} rad/s before the start"
        raise InvalidInputError(f"velocity of {joint_names[joint]}", f"{speed[joint]:.3f} rad/s", words)


def check_gravity(effort: Vector, gravity: Vector) -> bool:
    """Refuse efforts [Nm] of a resting arm that are not about the torques g(q) (n,) that hold it; else return True.

    The arm is to carry its own weight and to measure it: the observer takes it from the effort, and the commands are
    without it. The efforts are compared with those of other conventions, none and the opposite sign. Return False
    when the arm is too upright for a verdict.
    """
    if float(np.linalg.norm(gravity)) < SMALLEST_WEIGHT:
        return False
    conventions = {
        "those that hold the arm": 1.0,
        "none, as without its weight": 0.0,
        "those with the other sign": -1.0,
    }
    nearest = min(conventions, key=lambda words: float(np.linalg.norm(effort - conventions[words] * gravity)))
    if conventions[nearest] != 1.0:
        words = f"about {_text(gravity)} Nm, the torques that hold the arm; found are {nearest}"
        raise InvalidInputError("effort at rest", f"{_text(effort)} Nm", words)
    return True


def _text(torques: Vector) -> str:
    return "[" + ", ".join(f"{torque:.1f}" for torque in torques) + "]"
