"""References sampled on a uniform grid, read in the control loop by linear interpolation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from impact_control.util.checks import require_positive
from impact_control.util.compiled import compiled
from impact_control.util.errors import InvalidInputError
from impact_control.util.memory import Memory, named_view
from impact_control.util.types import Matrix, Vector

_TASK_WIDTH = 21


def _fields(joints: int) -> dict[str, tuple[int, ...]]:
    """Return the columns in their order, with their shapes at one time."""
    tasks = (
        "position",
        "velocity",
        "acceleration",
        "orientation",
        "angular_velocity",
        "angular_acceleration",
        "posture",
    )
    space = ("joint_position", "joint_velocity", "joint_acceleration")
    return {**dict.fromkeys(tasks, (3,)), **dict.fromkeys(space, (joints,))}


class ReferenceColumns:
    """Named columns of a reference: at one time, `data` (C,), or at N times, `data` (N, C).

    World frame A; E is the end-effector frame, n the number of joints; shapes below without the leading N.

    Attributes:
        position, velocity, acceleration: (3,) of the origin of E [m, m/s, m/s^2].
        orientation: (3,) rotation vector phi [rad], axes of A: R_ref = exp(phi) R_d.
        angular_velocity, angular_acceleration: (3,) [rad/s, rad/s^2], axes of A.
        posture: (3,) value, velocity and acceleration of joint 1, xi_d of van Steen 2024 (17).
        joint_position, joint_velocity, joint_acceleration: (n,), the same motion in joint space,
            Proper 2021 (3.31).
        memory: of a reference at one time the same as fields of a memory, for kernels; None at N times.
    """

    def __init__(self, data: NDArray[np.float64], joints: int) -> None:
        """Name the columns of an array with 21 + 3 n of them; the attributes are views of it.

        Raises InvalidInputError for another number of columns.
        """
        width = _TASK_WIDTH + 3 * joints
        if data.ndim not in (1, 2) or data.shape[-1] != width:
            allowed = f"{width} columns for {joints} joints"
            raise InvalidInputError("shape of the reference", data.shape, allowed)
        self.data = data
        self.joints = joints
        ends = np.cumsum([shape[0] for shape in _fields(joints).values()])[:-1]
        (
            self.position,
            self.velocity,
            self.acceleration,
            self.orientation,
            self.angular_velocity,
            self.angular_acceleration,
            self.posture,
            self.joint_position,
            self.joint_velocity,
            self.joint_acceleration,
        ) = np.split(data, ends, axis=-1)
        self.memory: Memory = None if data.ndim > 1 else named_view(data, **_fields(joints))

    @classmethod
    def one_sample(cls, joints: int) -> ReferenceColumns:
        """Return storage for one sample, all zero."""
        return cls(np.zeros(_TASK_WIDTH + 3 * joints), joints)

    @classmethod
    def samples(cls, count: int, joints: int) -> ReferenceColumns:
        """Return storage for several samples, all zero."""
        return cls(np.zeros((count, _TASK_WIDTH + 3 * joints)), joints)


class ReferenceTable:
    """A reference at the times 0, period, 2 period, ... in `columns`, read-only."""

    def __init__(self, period: float, columns: ReferenceColumns) -> None:
        """Take over N >= 2 samples; period [s] > 0. Raises InvalidInputError."""
        require_positive("period of the reference", period)
        if columns.data.ndim != 2 or columns.data.shape[0] < 2:
            raise InvalidInputError("shape of the reference", columns.data.shape, "at least two samples")
        if not np.all(np.isfinite(columns.data)):
            row = int(np.argmin(np.isfinite(columns.data).all(axis=1)))
            raise InvalidInputError(f"sample {row} of the reference", columns.data[row].tolist(), "finite values")
        data = np.ascontiguousarray(columns.data)
        data.setflags(write=False)
        self.period = period
        self.columns = ReferenceColumns(data, columns.joints)

    @property
    def times(self) -> Vector:
        """Return the times of the samples (N,) [s]."""
        return self.period * np.arange(self.columns.data.shape[0], dtype=np.float64)

    @property
    def duration(self) -> float:
        """Return the time of the last sample [s]."""
        last: int = self.columns.data.shape[0] - 1
        return last * self.period

    def new_sample(self) -> ReferenceColumns:
        """Return storage for `sample`."""
        return ReferenceColumns.one_sample(self.columns.joints)

    def sample(self, time: float, out: ReferenceColumns) -> None:
        """Write the reference at `time` [s] into `out`, made by `new_sample`; no allocation, never raises.

        Before 0 and when `time` is not a number the first sample holds, after the end the last one.
        """
        _interpolate(self.columns.data, self.period, time, out.data)


@compiled
def _interpolate(data: Matrix, period: float, time: float, out: Vector) -> None:
    """Interpolate the rows of data (N, C) linearly at `time` [s] into out (C,)."""
    last = data.shape[0] - 1
    place = time / period
    index = 0
    fraction = 0.0
    if place >= last:
        index = last - 1
        fraction = 1.0
    elif place > 0.0:
        index = int(place)
        fraction = place - index
    for column in range(data.shape[1]):
        start = data[index, column]
        out[column] = start + fraction * (data[index + 1, column] - start)
