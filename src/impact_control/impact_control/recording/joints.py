"""The measured motion of the joints, in the order of the controller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.errors import InvalidInputError
from impact_control.recording.series import Recording
from impact_control.recording.topics import Topics
from impact_control.types import Matrix, Vector

REST_WINDOW = 0.1
"""[s] at the end of the recording, over which the largest joint speed is taken."""


@dataclass(frozen=True)
class MeasuredJoints:
    """Measured motion of the joints of the arm, in the order of the controller.

    Attributes:
        names: (n,) joints.
        time: (m,) [s] stamps.
        position: (m, n) [rad].
        velocity: (m, n) [rad/s].
    """

    names: tuple[str, ...]
    time: Vector
    position: Matrix
    velocity: Matrix

    @property
    def duration(self) -> float:
        """[s] between the first and the last sample."""
        return float(self.time[-1] - self.time[0])

    @property
    def final_speed(self) -> float:
        """[rad/s] largest joint speed in the last `REST_WINDOW`."""
        return float(np.max(np.abs(self.velocity[self.time >= self.time[-1] - REST_WINDOW])))


def measured_joints(recording: Recording, topics: Topics) -> MeasuredJoints:
    """Joint states of the joints the controller names, in its order; of all joints where no controller is
    recorded.

    Raises:
        InvalidInputError: there are no joint states, they change their layout, or a joint is not among them.
    """
    states = recording.series(topics.joint_states)
    published = list(states["name"][0])
    names = published
    if topics.reference in recording:
        names = list(recording.series(topics.reference)["joint_names"][-1]) or published
    columns = {}
    for name in ("position", "velocity"):
        column = states[name]
        if not isinstance(column, np.ndarray) or column.shape[1] != len(published):
            sizes = sorted({len(row) for row in column})
            raise InvalidInputError(f"entries of {name}", sizes, f"{len(published)} in every joint state, one a joint")
        columns[name] = column
    missing = [name for name in names if name not in published]
    if missing:
        raise InvalidInputError("joint_names", missing, f"joints among the joint states: {', '.join(published)}")
    order = [published.index(name) for name in names]
    return MeasuredJoints(tuple(names), states["stamp"], columns["position"][:, order], columns["velocity"][:, order])
