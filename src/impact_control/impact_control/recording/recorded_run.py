"""What a recording of one arm holds, whatever the format of its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from impact_control.errors import RecordingError
from impact_control.recording.decisions import Verdict
from impact_control.recording.defects import CheckedSamples, check_samples
from impact_control.types import Matrix, Vector


@dataclass(frozen=True, eq=False)
class RecordedReference:
    """What the controller followed, a row a sample, as in impact_msgs/ControllerReference.

    time (k,) [s] stamps, mode (k,), task_time (k,) [s], nominal_impact_time (k,) [s] of the task,
    impact_configuration (k, n) [rad], ante_velocity and post_velocity (k, n) [rad/s], force (k, 3) [N] on the
    environment, frame A. names (n,) of the joints, () for the order of the robot.
    """

    time: Vector
    mode: NDArray[np.integer]
    task_time: Vector
    nominal_impact_time: Vector
    impact_configuration: Matrix
    ante_velocity: Matrix
    post_velocity: Matrix
    force: Matrix
    names: tuple[str, ...] = ()

    def of_joints(self, joints: Sequence[str]) -> RecordedReference | None:
        """Return it with the joints in this order; None when it is that of others, or has not a column for each."""
        names = self.names or tuple(joints)
        columns = (self.impact_configuration, self.ante_velocity, self.post_velocity)
        if sorted(names) != sorted(joints) or any(column.shape[1] != len(names) for column in columns):
            return None
        order = [names.index(joint) for joint in joints]
        configuration, ante, post = (column[:, order] for column in columns)
        return replace(
            self, impact_configuration=configuration, ante_velocity=ante, post_velocity=post, names=tuple(joints)
        )


@dataclass(frozen=True)
class RecordedEvent:
    """An impact that was detected: stamp of its sample and time of the impact [s], isolated link."""

    detection_time: float
    impact_time: float
    link: int


@dataclass(frozen=True, eq=False)
class RecordedRun:
    """Joint samples of one arm in the order of arrival, and what was recorded beside them.

    time (m,) [s]; names of the columns, or of each row, () for the order of the robot; position, velocity, torque
    (m, n) [rad, rad/s, Nm], or rows of their own length, torque with what carries the arm. What was not recorded is
    None: reference, events, verdict, contact_time [s] of the first true contact, residual: stamps (k,) [s] with
    external torques (k, n) [Nm]. notes: what could not be read, in words.
    """

    time: Vector
    names: Sequence[str] | Sequence[Sequence[str]]
    position: Sequence[Sequence[float]] | Matrix
    velocity: Sequence[Sequence[float]] | Matrix
    torque: Sequence[Sequence[float]] | Matrix
    reference: RecordedReference | None = None
    events: tuple[RecordedEvent, ...] | None = None
    verdict: Verdict | None = None
    contact_time: float | None = None
    residual: tuple[Vector, Matrix] | None = None
    notes: tuple[str, ...] = ()

    def checked(self, joints: Sequence[str], period: float) -> CheckedSamples:
        """Return the samples of these joints, in their order, and what is wrong with them; see `check_samples`."""
        names = self.names if len(self.names) else tuple(joints)
        return check_samples(self.time, names, self.position, self.velocity, self.torque, joints=joints, period=period)


@dataclass(frozen=True, eq=False)
class RecordedFile:
    """A recording that was opened.

    format: in words. scenario: its text, "" where it is not kept; scenario_name: "" where it is not said. notes: what
    could not be read, in words. arm: the run of an arm of a scene by its name, "" for the only one.
    """

    path: Path
    format: str
    scenario: str
    scenario_name: str
    notes: tuple[str, ...]
    arm: Callable[[str], RecordedRun]


def only_arm(path: Path, run: RecordedRun) -> Callable[[str], RecordedRun]:
    """Return how the run of an arm is found in a file that names none."""

    def find(arm: str) -> RecordedRun:
        if arm:
            raise RecordingError(str(path), f"no arm {arm!r} in it", "a scenario with one arm: the file names no arms")
        return run

    return find
