"""Signal of a planned impact in its detector, and the noise before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from impact_control.pipeline.judge import NOISE_QUANTILE
from impact_control.planning.arm_plan import ArmPlan
from impact_control.references import rigid_impact_map
from impact_control.robots import Dynamics, InertiaModel
from impact_control.util.types import Vector

CLEAR = 2.0
"""An impulse that begins in the middle of a period is half in this one and half in the next."""

RARE = 0.01
"""Expected false alarms of a task above which its user is warned."""

_SPACING = 0.01
"""[s] between the samples of the approach that are looked at."""

_QUIET = 1e-9
"""[Nm/s] of a robot file without noise."""


@dataclass(frozen=True)
class ImpactSignal:
    """The rate of the residual beside its bound, `detection.residual_rate.threshold`.

    share: largest rate after the impact as a part of its bound, of `joint`. alone: whether no other detector could find
    the impact. false_alarms: how often the noise of the sensors is expected above a bound before the impact, most often
    that of `noisy_joint`.
    """

    share: float
    joint: str
    alone: bool
    false_alarms: float
    noisy_joint: str

    @property
    def too_weak(self) -> bool:
        """True where the impact may go unnoticed."""
        return self.alone and self.share < CLEAR

    @property
    def too_noisy(self) -> bool:
        """True where noise may be taken for an impact."""
        return self.false_alarms > RARE

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what a user is warned of."""
        key, found = "detection.residual_rate.threshold", []
        if self.too_weak:
            found.append(
                f"the impact may not be detected: on a stiff surface it makes {self.share:.2g} times {key} of "
                f"{self.joint}, safe are {CLEAR:g} times"
            )
        if self.too_noisy:
            found.append(
                f"{self.false_alarms:.2g} false impacts are expected before the impact: there the noise of the sensors "
                f"exceeds {key}, above all of {self.noisy_joint}"
            )
        return tuple(found)


def impact_signal(plan: ArmPlan) -> ImpactSignal | None:
    """Return the signal of the planned impact; None without a bound of the rate, or at an object.

    On a stiff surface the impulse of the links alone is over within a period T, the motors follow later: by Proper 2021
    (2.90) the residual rises by K_O M (dq^+ - dq^-), with dq^+ by the impact map of the links. On a soft surface it is
    less.
    """
    reference, scenario = plan.reference, plan.scenario
    if scenario.detection.residual_rate is None or plan.name:
        return None
    detection, geometry, friction = scenario.detection, reference.geometry, scenario.expected_surface.friction
    q, before = reference.impact_configuration, reference.ante_impact_velocity
    predict = rigid_impact_map(plan.robot, InertiaModel.LINKS)
    after = predict(q, before, geometry.contact_offsets, geometry.normal, friction).velocity
    dynamics = Dynamics(plan.robot)
    dynamics.compute(q, before)
    rise = detection.observer_gain * np.abs(dynamics.mass_matrix @ (after - before))
    shares = rise / (scenario.control.period * detection.rate_threshold)
    others = (detection.residual, detection.velocity_jump, detection.torque_error, detection.whitened, detection.own)
    alarms, names = _false_alarms(plan), plan.robot.joint_names
    strongest, noisiest = int(np.argmax(shares)), int(np.argmax(alarms))
    alone = all(one is None for one in others)
    return ImpactSignal(float(shares[strongest]), names[strongest], alone, float(alarms.sum()), names[noisiest])


def _false_alarms(plan: ArmPlan) -> Vector:
    """Return how often noise is expected to exceed the bound of each joint (n,) before the impact.

    By Flacco 2016 (13) noise with standard deviations sigma_v of the velocity and sigma_tau of the torque makes of the
    rate

        sigma_i^2 = (K_O,i / (1 + K_O,i T / 2))^2 (2 / T^2 sum_j (M_ij sigma_v,j)^2 + sigma_tau,i^2 / 2).

    Far above the noise there are fewer, as the published one is clipped at three standard deviations.
    """
    scenario, columns, dynamics = plan.scenario, plan.reference.ante.columns, Dynamics(plan.robot)
    period, gain, bound = scenario.control.period, scenario.detection.observer_gain, scenario.detection.rate_threshold
    velocity, torque = (half / NOISE_QUANTILE for half in (plan.robot.noise.velocity, plan.robot.noise.torque))
    stride = max(1, round(_SPACING / period))
    expected = np.zeros(bound.size)
    for row in range(0, min(round(scenario.task.impact.time / period), len(columns.data)), stride):
        dynamics.compute(columns.joint_position[row], columns.joint_velocity[row])
        variance = 2.0 * (dynamics.mass_matrix**2 @ velocity**2) / period**2 + 0.5 * torque**2
        deviation = gain / (1.0 + 0.5 * gain * period) * np.sqrt(variance)
        expected += 2.0 * stride * ndtr(-bound / np.maximum(deviation, _QUIET))
    return expected
