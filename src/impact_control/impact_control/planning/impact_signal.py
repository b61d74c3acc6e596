"""Signal of a planned impact in its detector, and the noise before it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from impact_control.pipeline.judge import NOISE_QUANTILE
from impact_control.planning.arm_plan import ArmPlan
from impact_control.references import rigid_impact_map
from impact_control.robots import Dynamics, InertiaModel
from impact_control.util.types import Matrix, Vector

CLEAR = 2.0
"""An impulse that begins in the middle of a period is half in this one and half in the next."""

RARE = 0.01
"""Probability of a false alarm in a task above which its user is warned."""

_SPACING = 0.01
"""[s] between the samples of the approach that are looked at."""


@dataclass(frozen=True)
class ImpactSignal:
    """The rate of the residual beside its bound, `detection.residual_rate.threshold`.

    share: largest rate after the impact as a part of its bound, of `joint`. alone: whether no other detector could find
    the impact. false_alarms: rates above a bound that noise as in the robot's file makes before the impact, on average,
    most of them of `noisy_joint`. Those of one instant are one false impact; what other detectors make is not counted.
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
    def false_alarm_probability(self) -> float:
        """Return the probability of a false impact before that of the task."""
        return -math.expm1(-self.false_alarms)

    @property
    def too_noisy(self) -> bool:
        """True where noise may be taken for an impact."""
        return self.false_alarm_probability > RARE

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
                f"a false impact is found before that of the task with probability {self.false_alarm_probability:.2g}: "
                f"the noise of the sensors exceeds {key}, above all of {self.noisy_joint}"
            )
        return tuple(found)


def impact_signal(plan: ArmPlan) -> ImpactSignal | None:
    """Return the signal of the planned impact; None without a bound of the rate, or at an object.

    On a stiff surface the impulse of the links alone is over within a period T, the motors follow later: by Flacco 2016
    (13) the residual rises by K_O / (1 + K_O T / 2) M (dq^+ - dq^-), with dq^+ by the impact map of the links. On a
    soft surface it is less. Of several contacts any may touch first, or all at once: the weakest signal counts.
    """
    reference, scenario = plan.reference, plan.scenario
    if scenario.detection.residual_rate is None or plan.name:
        return None
    detection, geometry = scenario.detection, reference.geometry
    friction = scenario.expected_environment.surface.friction
    q, before = reference.impact_configuration, reference.ante_impact_velocity
    predict = rigid_impact_map(plan.robot, InertiaModel.LINKS)
    dynamics = Dynamics(plan.robot)
    dynamics.compute(q, before)
    period = scenario.control.period
    gain = detection.observer_gain / (1.0 + 0.5 * detection.observer_gain * period)

    def shares_of(offsets: Matrix) -> Vector:
        after = predict(q, before, offsets, geometry.normal, friction).velocity
        rise: Vector = gain * np.abs(dynamics.mass_matrix @ (after - before))
        return rise / (period * detection.rate_threshold)

    offsets = np.atleast_2d(geometry.contact_offsets)
    first = offsets if len(offsets) > 1 else ()
    shares = min(map(shares_of, (geometry.contact_offsets, *first)), key=np.max)
    others = (detection.residual, detection.velocity_jump, detection.torque_error, detection.whitened, detection.own)
    alarms, names = _false_alarms(plan), plan.robot.joint_names
    strongest, noisiest = int(np.argmax(shares)), int(np.argmax(alarms))
    alone = all(one is None for one in others)
    return ImpactSignal(float(shares[strongest]), names[strongest], alone, float(alarms.sum()), names[noisiest])


def _false_alarms(plan: ArmPlan) -> Vector:
    """Return how often noise is expected to exceed the bound of each joint (n,) before the impact.

    White noise with standard deviations sigma_v of the velocity and sigma_tau of the torque, in the observer with
    a = K_O T / 2 and the momentum M dq - D K^-1 tau_J, makes of the rate by Flacco 2016 (13), in z^-1,

        K_O / ((1 + a) T) (1 - z^-1) / (1 - (1 - a) / (1 + a) z^-1)
            (sum_j M_ij (1 - z^-1) v_j + (-(D/K + T/2) + (D/K - T/2) z^-1) tau_i),

    of which this sums up the variance. Far above the noise there are fewer, as the published one is clipped at three
    standard deviations.
    """
    scenario, columns, dynamics = plan.scenario, plan.reference.ante.columns, Dynamics(plan.robot)
    period, gain, bound = scenario.control.period, scenario.detection.observer_gain, scenario.detection.rate_threshold
    velocity, torque = (half / NOISE_QUANTILE for half in (plan.robot.noise.velocity, plan.robot.noise.torque))
    late = 0.5 * gain * period
    drive, half, decay = plan.robot.transmission, 0.5 * period, (1.0 - late) / (1.0 + late)
    delay = drive.damping / drive.stiffness
    of_velocity = _energy(decay, 1.0, -2.0, 1.0)
    of_torque = _energy(decay, -delay - half, 2.0 * delay, half - delay) * torque**2
    stride = max(1, round(_SPACING / period))
    expected = np.zeros(bound.size)
    for row in range(0, min(round(scenario.task.impact.time / period), len(columns.data)), stride):
        dynamics.compute(columns.joint_position[row], columns.joint_velocity[row])
        variance = of_velocity * (dynamics.mass_matrix**2 @ velocity**2) + of_torque
        deviation = gain / ((1.0 + late) * period) * np.sqrt(variance)
        noisy = deviation > 0.0
        expected[noisy] += 2.0 * stride * ndtr(-bound[noisy] / deviation[noisy])
    return expected


def _energy(decay: Vector, first: Vector | float, second: Vector | float, third: Vector | float) -> Vector:
    """Return the energy of the impulse response of (first + second z^-1 + third z^-2) / (1 - decay z^-1)."""
    later = second + decay * first
    last = third + decay * later
    return first**2 + later**2 + last**2 / (1.0 - decay**2)
