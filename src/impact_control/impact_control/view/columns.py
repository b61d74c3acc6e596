"""From the fields of the stack's messages to signals: the same for messages that just came and for a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from impact_control.recording.topics import Topics
from impact_control.types import Vector
from impact_control.view.signals import Signal

POSE = "pose"
"""Quantity of an object: position (3,) [m] and quaternion x, y, z, w, frame A."""

_TOPICS = Topics()


@dataclass(frozen=True)
class _Layout:
    """Fields of a topic by name of the quantity; names: field with the joints of those in `of_joints`."""

    names: str = ""
    of_joints: tuple[tuple[str, str], ...] = ()
    others: tuple[tuple[str, str], ...] = ()


LAYOUTS: Mapping[str, _Layout] = {
    _TOPICS.joint_states: _Layout("name", (("position", "position"), ("velocity", "velocity"))),
    _TOPICS.external_torque: _Layout(
        "joint_names",
        (
            ("residual", "external_torque"),
            ("residual_rate", "external_torque_rate"),
            ("rate_threshold", "rate_threshold"),
        ),
    ),
    _TOPICS.reference: _Layout(
        "joint_names",
        (("ante_velocity", "ante_joint_velocity"), ("post_velocity", "post_joint_velocity")),
        (("mode", "mode"), ("task_time", "task_time"), ("target", "position"), ("desired_force", "force")),
    ),
    _TOPICS.status: _Layout(
        others=(("fault", "fault"), ("position_error", "position_error"), ("missed_samples", "missed_samples"))
    ),
    _TOPICS.truth: _Layout(
        others=(
            ("contact_force", "contact_force"),
            ("peak_force", "peak_normal_force"),
            ("point_forces", "contact_normal_forces"),
        )
    ),
    _TOPICS.events: _Layout(others=(("impact_index", "index"), ("isolated_link", "isolated_link"))),
    _TOPICS.classification: _Layout(
        others=(("impact_verdict", "impact"), ("post_impact_verdict", "post_impact"), ("reason", "reason"))
    ),
}
"""What is taken from each topic of an arm, by the end of its name; quantities in the units of the messages."""


def signals_of(topic: str, columns: Mapping[str, Any], time: Vector, joints: Sequence[str]) -> dict[str, Signal]:
    """Return the signals in messages of one topic, by name of the quantity.

    topic: a key of LAYOUTS. columns: of all messages, by dotted field name, see `recording.cdr.decode`. time (k,) [s]
    of each. joints: in whose order values of joints are returned; a message with others tells nothing of them.
    """
    layout = LAYOUTS[topic]
    found = {quantity: _column(columns.get(field), time) for quantity, field in layout.others}
    names = columns.get(layout.names)
    if names is not None and len(names) and set(joints) <= set(names[0]):
        order = [names[0].index(joint) for joint in joints]
        for quantity, field in layout.of_joints:
            signal = _column(columns.get(field), time)
            if signal is not None and signal.value.shape[1] == len(names[0]):
                found[quantity] = Signal(signal.time, signal.value[:, order])
    return {quantity: signal for quantity, signal in found.items() if signal is not None}


def pose_signal(columns: Mapping[str, Any], time: Vector) -> Signal:
    """Return the signal of the poses of an object, from geometry_msgs/PoseStamped; time (k,) [s] of each."""
    return Signal(time, np.hstack([columns["pose.position"], columns["pose.orientation"]]))


def _column(column: Any, time: Vector) -> Signal | None:
    """Return a signal of numbers or texts; None where the messages have no such field, or one of changing length."""
    if isinstance(column, list) and all(isinstance(entry, str) for entry in column):
        return Signal(time, np.array(column, dtype=object).reshape(-1, 1))
    if not isinstance(column, np.ndarray):
        return None
    values = column.astype(np.float64)
    return Signal(time, values.reshape(len(time), -1))
