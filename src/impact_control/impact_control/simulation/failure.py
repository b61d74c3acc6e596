"""Cause of a stalled simulation: the part of a scene to blame."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from impact_control.simulation.contact_kernel import landing_rate
from impact_control.simulation.scene_arrays import ARM, BOX, PUSHER, SceneArrays
from impact_control.simulation.step_control import LARGEST_RATE, SHORTEST_STEP, joint_rates
from impact_control.util.errors import SimulationError

_KINDS = {ARM: "the end-effector of arm", PUSHER: "pusher", BOX: "box"}
_ROWS = ("position", "velocity", "motor position", "motor velocity", "filtered torque")


def body_name(arrays: SceneArrays, body: int) -> str:
    """Return the name of a body by its number, -1 for a surface."""
    if body < 0:
        return "the surface"
    kinds = arrays.bodies["kind"]
    number = int(np.count_nonzero(kinds[:body] == kinds[body]))
    return f"{_KINDS[int(kinds[body])]} {number}"


def simulation_error(
    arrays: SceneArrays, joint_names: Sequence[Sequence[str]], time: float, step: float
) -> SimulationError:
    """Return the error of a scene that stalled at a time [s], with the part to blame.

    joint_names: of each arm. step [s]: that was due there, NaN where the rate of the state is none, or too large.
    """
    found = _given(arrays, joint_names)
    if found is None:
        found = _moving(arrays, joint_names) if math.isnan(step) else _stiffest(arrays)
    return SimulationError(*found, time, step)


def _given(arrays: SceneArrays, joint_names: Sequence[Sequence[str]]) -> tuple[str, str] | None:
    """Name an input that is not finite, or larger than anything withstands."""
    for field, part in (("command", "command"), ("external", "external torque")):
        for arm, names in enumerate(joint_names):
            for name, torque in zip(names, arrays.joints[field][arm].tolist(), strict=False):
                if not abs(torque) <= LARGEST_RATE:
                    return part, f"{torque:.3g} Nm at {name}"
    for index, body in enumerate(arrays.bodies):
        if not np.all(np.abs(body.load) <= LARGEST_RATE):
            return "external wrench", f"{body.load.tolist()} on {body_name(arrays, index)}"
    return None


def _moving(arrays: SceneArrays, joint_names: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Name the part of the state that is not finite, or else the contact or the part that changes fastest."""
    state, rate = arrays.state, arrays.work[0]
    lost = np.flatnonzero(~np.isfinite(state))
    forces = arrays.contacts["normal_force"]
    if not lost.size and not np.all(np.abs(forces) <= LARGEST_RATE):
        pair = int(np.argmax(np.where(np.isnan(forces), math.inf, np.abs(forces))))
        return "contact", f"{_contact(arrays, arrays.contacts[pair])} with {forces[pair]:.3g} N"
    place = int(lost[0]) if lost.size else int(np.argmax(np.where(np.isnan(rate), math.inf, np.abs(rate))))
    body = int(np.searchsorted(arrays.bodies["start"], place, side="right")) - 1
    change = f"{state[place]:.3g}, changing by {rate[place]:.3g} a second"
    if body >= len(joint_names):
        return "object", f"{body_name(arrays, body)}: state {change}"
    names = joint_names[body]
    row, joint = divmod(place - int(arrays.bodies[body].start), len(names))
    return "joint", f"{names[joint]}: {_ROWS[row]} {change}"


def _stiffest(arrays: SceneArrays) -> tuple[str, str]:
    """Name the joints when they have the fastest mode, or else the contact that has it."""
    damping, stiffness = joint_rates(arrays)
    joints = max(damping, math.sqrt(stiffness))
    rates = [_rate(contact) for contact in arrays.contacts]
    asks = f"1/s asks for a step below {SHORTEST_STEP:g} s"
    if max(rates, default=0.0) <= joints:
        return "joint", f"a mode of {joints:.3g} {asks}"
    pair = int(np.argmax(rates))
    return "contact", f"{_contact(arrays, arrays.contacts[pair])} with a mode of {rates[pair]:.3g} {asks}"


def _rate(contact: np.record) -> float:
    """Return the rate [1/s] of a contact a few of the shortest steps ahead, which go half-way to a touch."""
    depth = 4.0 * SHORTEST_STEP * max(contact.closing, 0.0) - contact.gap
    if not contact.active or depth <= 0.0:
        return 0.0
    return landing_rate(contact, depth)


def _contact(arrays: SceneArrays, contact: np.record) -> str:
    first, second = body_name(arrays, contact.first_body), body_name(arrays, contact.second_body)
    return f"{first} at {second}, gap {contact.gap:.3g} m,"
