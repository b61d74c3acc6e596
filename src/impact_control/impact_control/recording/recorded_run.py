"""Recorded run of one arm, whatever the format of its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from impact_control.recording.defects import CheckedSamples, check_samples
from impact_control.recording.measures import Verdict
from impact_control.util.errors import RecordingError
from impact_control.util.types import Matrix, Vector

OF_JOINTS = (
    "impact_configuration",
    "jump_deviation",
    "friction_deviation",
    "configuration_deviation",
    "ante_velocity",
    "post_velocity",
)
"""Columns of a reference with a value for each joint."""


@dataclass(frozen=True, eq=False)
class RecordedReference:
    """Reference of the controller, a row a sample, as in impact_msgs/ControllerReference.

    time (k,) [s] stamps, mode (k,), task_time (k,) [s], nominal_impact_time (k,) [s] of the task,
    height_deviation (k,) [m], impact_configuration and configuration_deviation (k, n) [rad], jump_deviation,
    friction_deviation, ante_velocity and post_velocity (k, n) [rad/s], force (k, 3) [N] on the environment, frame A.
    names (n,) of the joints, () for the order of the robot.
    """

    time: Vector
    mode: NDArray[np.integer]
    task_time: Vector
    nominal_impact_time: Vector
    impact_configuration: Matrix
    jump_deviation: Matrix
    friction_deviation: Matrix
    configuration_deviation: Matrix
    height_deviation: Vector
    ante_velocity: Matrix
    post_velocity: Matrix
    force: Matrix
    names: tuple[str, ...] = ()

    def of_joints(self, joints: Sequence[str]) -> RecordedReference | None:
        """Return it with the joints in this order; None for other joints, or without a column for each."""
        names = self.names or tuple(joints)
        columns = {name: getattr(self, name) for name in OF_JOINTS}
        if sorted(names) != sorted(joints) or any(column.shape[1] != len(names) for column in columns.values()):
            return None
        order = [names.index(joint) for joint in joints]
        return replace(self, names=tuple(joints), **{name: column[:, order] for name, column in columns.items()})


@dataclass(frozen=True)
class RecordedEvent:
    """Detected impact: stamp of its sample and time of the impact [s], isolated link."""

    detection_time: float
    impact_time: float
    link: int


@dataclass(frozen=True, eq=False)
class RecordedRun:
    """Joint samples of one arm in the order of arrival, and what was recorded beside them.

    time (m,) [s]; names of the columns, or of each row, () for the order of the robot; position, velocity, torque
    (m, n) [rad, rad/s, Nm], or rows of their own length, torque with gravity. None if not recorded: reference, events,
    verdict, contact_time [s] of the first true contact, residual: stamps (k,) [s] with external torques (k, n) [Nm],
    commands: stamps (k,) [s] of the samples that were answered with torques (k, n) [Nm] without gravity,
    as_expected: label of the trial. notes: what could not be read, in words.
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
    commands: tuple[Vector, Matrix] | None = None
    as_expected: bool | None = None
    notes: tuple[str, ...] = ()

    def checked(self, joints: Sequence[str], period: float, strongest: Vector | None = None) -> CheckedSamples:
        """Return the samples of these joints, in their order, with their defects; see `check_samples`."""
        names, rows = self.names if len(self.names) else tuple(joints), (self.position, self.velocity, self.torque)
        return check_samples(self.time, names, *rows, joints=joints, period=period, strongest=strongest)


@dataclass(frozen=True, eq=False)
class RecordedFile:
    """Opened recording: what every reader of a format returns.

    format: in words. scenario: its text, scenario_name: its name, "" if not recorded. notes: what could not be read, in
    words. arm: the run of an arm of a scene by its name, "" for the only one.
    """

    path: Path
    format: str
    scenario: str
    scenario_name: str
    notes: tuple[str, ...]
    arm: Callable[[str], RecordedRun]


def only_arm(path: Path, run: RecordedRun) -> Callable[[str], RecordedRun]:
    """Return `RecordedFile.arm` of a file that names no arms."""

    def find(arm: str) -> RecordedRun:
        if arm:
            raise RecordingError(str(path), f"no arm {arm!r} in it", "a scenario with one arm: the file names no arms")
        return run

    return find
