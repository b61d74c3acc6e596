"""Gains and limits of the control law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.control.mode_machine import ImpactCourse
from impact_control.util.checks import (
    checked_count,
    checked_vector,
    require_between,
    require_not_negative,
    require_positive,
)
from impact_control.util.types import Vector


@dataclass(frozen=True)
class ControlParameters:
    """Gains and limits of the law.

    position_gain, orientation_gain, posture_gain: k of van Steen 2024 (15)-(17) [1/s^2]; hold_gain: that of joint
    motions, Proper 2021 (2.68) [1/s^2]; the velocity gain is 2 sqrt(k). feedback_bandwidth: of the low-pass
    that the feedback goes through [1/s]. weights w_p, w_theta, w_q [-] of (18). course:
    how a task goes through its impacts.
    joint_space: the reference is followed by its joint motion with hold_gain, Proper 2021 (2.67), (2.68); else by
    position, orientation and posture.
    friction_compensation [0..1]: part of the robot's friction model that is fed forward.
    stop_rate [1/s]: decay of the joint velocity in a stop. stop_damping (n,) [Nm s/rad]: for faults.
    acceleration_limit (n,) [rad/s^2]. period [s].
    qp_failures: consecutive failed problems after which the controller gives up.
    """

    position_gain: float
    orientation_gain: float
    posture_gain: float
    position_weight: float
    orientation_weight: float
    posture_weight: float
    course: ImpactCourse
    friction_compensation: float
    stop_rate: float
    stop_damping: Vector
    acceleration_limit: Vector
    hold_gain: float = 400.0
    feedback_bandwidth: float = 150.0
    joint_space: bool = False
    period: float = 1e-3
    qp_failures: int = 5

    def __post_init__(self) -> None:
        gains = ("position_gain", "orientation_gain", "posture_gain", "hold_gain", "feedback_bandwidth")
        for name in (*gains, "stop_rate", "period"):
            require_positive(name, getattr(self, name))
        for name in ("position_weight", "orientation_weight", "posture_weight"):
            require_not_negative(name, getattr(self, name))
        require_between("friction_compensation", self.friction_compensation, 0.0, 1.0)
        size = np.size(self.stop_damping)
        checked_vector("stop_damping", self.stop_damping, size)
        checked_vector("acceleration_limit", self.acceleration_limit, size, zero_allowed=False)
        checked_count("qp_failures", self.qp_failures, 1)

    @property
    def interim_duration(self) -> float:
        """Delta t_int [s] of van Steen 2024 (24)."""
        return self.course.interim_duration
