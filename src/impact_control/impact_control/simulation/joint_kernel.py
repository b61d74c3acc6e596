"""One flexible joint with its low-level torque loop: what drives the link and what the motor feels.

Rey Arias 2024 (1)-(4); with backlash Flacco 2016 (5), (6) in the form corrected by the Errata.
"""

from __future__ import annotations

import math

from impact_control.compiled import compiled
from impact_control.types import Matrix

(
    STIFFNESS,
    DAMPING,
    MOTOR_INERTIA,
    TORQUE_GAIN,
    TORQUE_RATE_GAIN,
    FRICTION_AMPLITUDE,
    FRICTION_SLOPE,
    FRICTION_OFFSET,
    FRICTION_AT_REST,
    FILTER_RATE,
    BACKLASH,
    BACKLASH_DAMPING,
    BACKLASH_FRICTION,
) = range(13)
JOINT_ROWS = 13
"""Rows of `joints` (a, 13, n), for each of a arms.

K [Nm/rad], D [Nm s/rad], B_rho [kg m^2], K_T [-], K_S [s] of Rey Arias 2024 (1)-(4); phi_1, phi_2, phi_3 of the
friction of Gaz et al. 2019 and its sigmoid at rest; rate of the torque filter [1/s], 0: none; half-width of the
backlash alpha [rad], viscous [Nm s/rad] and dry [Nm] friction inside it, Flacco 2016 (6).
"""

BACKLASH_SLIP_SCALE = 1e-2
"""[rad/s] Relative speed at which the dry friction inside the backlash reaches 76 % of its size."""


@compiled
def transmission(joints: Matrix, arm: int, j: int, twist: float, twist_rate: float) -> tuple[float, float]:
    """Return the spring torque tau [Nm] of joint j of an arm and the whole torque [Nm] from motor to link.

    twist theta - q [rad] and its rate [rad/s]. Without backlash K (theta - q), and D (dtheta - dq) with it. With
    backlash the spring sees what lies beyond the gap, and inside it only friction connects motor and link.
    """
    gap = joints[arm, BACKLASH, j]
    if gap > 0.0:
        if abs(twist) < gap:
            dry = joints[arm, BACKLASH_FRICTION, j] * math.tanh(twist_rate / BACKLASH_SLIP_SCALE)
            return 0.0, joints[arm, BACKLASH_DAMPING, j] * twist_rate + dry
        twist -= math.copysign(gap, twist)
    spring = joints[arm, STIFFNESS, j] * twist
    return spring, spring + joints[arm, DAMPING, j] * twist_rate


@compiled
def joint_friction(joints: Matrix, arm: int, j: int, velocity: float) -> float:
    """Return the friction torque [Nm] against the link velocity [rad/s] of joint j. Gaz et al. 2019."""
    if joints[arm, FRICTION_AMPLITUDE, j] == 0.0:
        return 0.0
    slope: float = joints[arm, FRICTION_SLOPE, j]
    sigmoid = 1.0 / (1.0 + math.exp(-slope * (velocity + joints[arm, FRICTION_OFFSET, j])))
    friction: float = joints[arm, FRICTION_AMPLITUDE, j] * (sigmoid - joints[arm, FRICTION_AT_REST, j])
    return friction


@compiled
def torque_loop(
    joints: Matrix, arm: int, j: int, wanted: float, twist: float, twist_rate: float, filtered: float
) -> float:
    """Return the actuation torque [Nm] of joint j, held over one period of the loop. Rey Arias 2024 (4b).

    u + K_T (u - tau) - K_S dtau with u = wanted [Nm]; tau and dtau are those of the filter, of output filtered
    [Nm], or without a filter the spring's own.
    """
    spring, _ = transmission(joints, arm, j, twist, twist_rate)
    rate = joints[arm, FILTER_RATE, j]
    if rate > 0.0:
        torque = filtered
        torque_rate = rate * (spring - filtered)
    else:
        torque = spring
        torque_rate = joints[arm, STIFFNESS, j] * twist_rate if abs(twist) >= joints[arm, BACKLASH, j] else 0.0
    feedback = joints[arm, TORQUE_GAIN, j] * (wanted - torque) - joints[arm, TORQUE_RATE_GAIN, j] * torque_rate
    actuation: float = wanted + feedback
    return actuation


@compiled
def time_to_backlash_edge(joints: Matrix, arm: int, j: int, twist: float, twist_rate: float) -> float:
    """Return the time [s] until joint j enters or leaves its backlash at this rate; infinity when it does not."""
    gap = joints[arm, BACKLASH, j]
    if gap == 0.0 or twist_rate == 0.0:
        return math.inf
    # The edge ahead: coming from outside the near one, from inside the far one.
    ahead = math.copysign(1.0, twist_rate)
    edge = -gap * ahead if twist * ahead < -gap else gap * ahead
    time = (edge - twist) / twist_rate
    return time if time > 0.0 else math.inf
