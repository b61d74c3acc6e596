"""The references of both end-effectors before and after the expected impact, in task space and of the joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_control.robots import load_robot
from impact_control.studies.classification.plan import plan_impact
from impact_control.studies.three_plants.course import ANGLE, DISTANCE, SLIDE_TIME
from impact_control.types import Matrix, Vector

BEFORE = 0.3
"""[s] before the impact that are shown."""

PERIOD = 5e-3
"""[s] between the samples."""

IMPACT = round(BEFORE / PERIOD)
"""Sample of the expected impact."""


@dataclass(frozen=True, eq=False)
class Reference:
    """Samples (m,); time [s] from the expected impact. Both references go on beyond it.

    ante, post (m, 3, 3): pose (x, z [m], turn about y [rad]), its rate and its second derivative; joints_ante,
    joints_post (m, 3) [rad], joint_rates_ante, joint_rates_post (m, 3) [rad/s].
    """

    time: Vector
    ante: NDArray[np.float64]
    post: NDArray[np.float64]
    joints_ante: Matrix
    joints_post: Matrix
    joint_rates_ante: Matrix
    joint_rates_post: Matrix

    @property
    def path(self) -> Matrix:
        """Return x and z [m] of both, one after the other (m, 2)."""
        return np.concatenate((self.ante[:IMPACT, 0, :2], self.post[IMPACT:, 0, :2]))


def apart(first: Matrix, second: Matrix) -> float:
    """Return how far the points (m, 2) of a path are from another path (k, 2) at most [m], whenever they are there."""
    begin, way = second[:-1], np.diff(second, axis=0)
    # Where a path rests its way is 0, and its begin is the nearest point.
    length = np.maximum(np.sum(way**2, axis=1), np.finfo(float).tiny)
    part = np.clip(np.sum((first[:, None] - begin) * way, axis=2) / length, 0.0, 1.0)
    distance = np.linalg.norm(first[:, None] - begin - part[:, :, None] * way, axis=2)
    return float(distance.min(axis=1).max())


def reference(end_effector: str) -> Reference:
    """Return the references of Proper 2021, 3.4, for the expected impact of an end-effector."""
    time = PERIOD * np.arange(-IMPACT, 1 + round(SLIDE_TIME / PERIOD), dtype=np.float64)
    plan = plan_impact(load_robot("planar_rrr", end_effector), ANGLE, DISTANCE, float(time[0]), float(time[-1]))
    return Reference(
        time,
        np.array([plan.ante_pose(moment) for moment in time]),
        np.array([plan.slide.at(moment) for moment in time]),
        plan.ante(time),
        plan.post(time),
        plan.ante(time, 1),
        plan.post(time, 1),
    )
