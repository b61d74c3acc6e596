"""Signal that a planned impact leaves in the residual of the momentum observer, beside the bound of the detector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.planning.arm_plan import ArmPlan
from impact_control.references import rigid_impact_map
from impact_control.robots import Dynamics, InertiaModel

CLEAR = 2.0
"""An impulse that begins in the middle of a period is half in this one and half in the next."""


@dataclass(frozen=True)
class ImpactSignal:
    """Largest rate of the residual after the planned impact as a part of its bound, and the joint where it is largest.

    alone: whether no other detector could find the impact.
    """

    share: float
    joint: str
    alone: bool

    @property
    def too_weak(self) -> bool:
        """True where the impact may go unnoticed."""
        return self.alone and self.share < CLEAR

    def __str__(self) -> str:
        """Return what a user is warned of."""
        return (
            f"the impact may not be detected: on a stiff surface it makes {self.share:.2g} times "
            f"detection.residual_rate.threshold of {self.joint}, safe are {CLEAR:g} times"
        )


def impact_signal(plan: ArmPlan) -> ImpactSignal | None:
    """Return the signal of the planned impact; None without a bound of the rate, or at an object.

    On a stiff surface the impulse of the links alone is over within a period T, the motors follow later: by Proper 2021
    (2.90) the residual rises by K_O M (dq^+ - dq^-), with dq^+ by the impact map of the links. On a soft surface it is
    less.
    """
    reference, detection = plan.reference, plan.scenario.detection
    if detection.residual_rate is None or plan.name:
        return None
    geometry, q, before = reference.geometry, reference.impact_configuration, reference.ante_impact_velocity
    predict = rigid_impact_map(plan.robot, InertiaModel.LINKS)
    friction = plan.scenario.expected_environment.surface.friction
    after = predict(q, before, geometry.contact_offsets, geometry.normal, friction).velocity
    dynamics = Dynamics(plan.robot)
    dynamics.compute(q, before)
    rate = detection.observer_gain * np.abs(dynamics.mass_matrix @ (after - before)) / plan.scenario.control.period
    shares = rate / detection.residual_rate.threshold
    worst = int(np.argmax(shares))
    others = (detection.residual, detection.velocity_jump, detection.torque_error, detection.whitened, detection.own)
    return ImpactSignal(float(shares[worst]), plan.robot.joint_names[worst], all(one is None for one in others))
