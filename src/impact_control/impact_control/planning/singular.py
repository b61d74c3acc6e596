"""Distance of the references of an arm from singular configurations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.planning.arm_plan import ArmPlan
from impact_control.references import task_jacobian
from impact_control.robots import Dynamics

SMALLEST_SINGULAR_VALUE = 0.05
"""Bound [m/rad, -] for the task Jacobian: 0.1 m/s then need at most 2 rad/s of any joint, which a Panda can do."""

_SPACING = 0.01
"""[s] between the samples of a reference that are looked at."""


@dataclass(frozen=True)
class NearestSingularity:
    """The smallest singular value of the task Jacobian [m/rad, -], and when it is met [s]."""

    value: float
    time: float

    @property
    def too_near(self) -> bool:
        """True where slow motions of the end-effector take too much of a joint."""
        return self.value < SMALLEST_SINGULAR_VALUE


def nearest_singularity(plan: ArmPlan) -> NearestSingularity:
    """Return how near to a singular configuration both references lead."""
    dynamics, period = Dynamics(plan.robot), plan.reference.ante.period
    step = max(1, round(_SPACING / period))
    seen: list[tuple[float, float]] = []
    for columns in (plan.reference.ante.columns, plan.reference.post.columns):
        rows = np.unique(np.append(np.arange(0, len(columns.data), step), len(columns.data) - 1))
        jacobians = np.zeros((rows.size, columns.joints, columns.joints))
        for i, row in enumerate(rows):
            dynamics.compute(columns.joint_position[row], columns.joint_velocity[row])
            jacobians[i] = task_jacobian(dynamics.jacobian)
        smallest = np.linalg.svd(jacobians, compute_uv=False)[:, -1]
        least = int(np.argmin(smallest))
        seen.append((float(smallest[least]), float(rows[least] * period)))
    return NearestSingularity(*min(seen))
