"""One flexible joint with its low-level torque loop: torques on link and motor.

Rey Arias 2024 (1)-(4); with backlash Flacco 2016 (5), (6) in the form corrected by the Errata. `joint`: a record
`scene_arrays.JOINT`.
"""

from __future__ import annotations

import math

import numpy as np

from impact_control.robots import Transmission
from impact_control.util.compiled import compiled_in_place
from impact_control.util.types import Records, Vector

BACKLASH_SLIP_SCALE = 1e-2
"""[rad/s] Relative speed at which the dry friction inside the backlash reaches 76 % of its size."""


def spring_torque(transmission: Transmission, backlash: Vector, deflection: Vector) -> Vector:
    """Return tau (n,) [Nm] at the deflection theta - q (n,) [rad]: K times its excess over the backlash (n,) [rad].

    Rey Arias 2024 (1), Flacco 2016 (5): what the torque sensors measure. A new array.
    """
    torque: Vector = transmission.stiffness * (deflection - np.clip(deflection, -backlash, backlash))
    return torque


def holding_deflection(transmission: Transmission, backlash: Vector, torque: Vector) -> Vector:
    """Return the deflection theta - q (n,) [rad] at which the springs carry a torque (n,) [Nm]."""
    deflection: Vector = torque / transmission.stiffness + np.sign(torque) * backlash
    return deflection


@compiled_in_place
def joint_state(state: Vector, body: np.record, j: int) -> tuple[float, float, float, float, float]:
    """Return link position and velocity, motor position and velocity, and filtered torque of joint j of an arm."""
    place, n = body.start + j, body.joint_count
    return state[place], state[place + n], state[place + 2 * n], state[place + 3 * n], state[place + 4 * n]


@compiled_in_place
def transmission(joint: np.record, deflection: float, rate: float) -> tuple[float, float]:
    """Return the spring torque tau [Nm] of a joint and the whole torque [Nm] from motor to link.

    deflection theta - q [rad] and its rate [rad/s]. Without backlash K (theta - q), and D (dtheta - dq) with it. With
    backlash the spring takes the excess over the gap, and inside it only friction connects motor and link.
    """
    gap = joint.backlash
    if gap > 0.0:
        if abs(deflection) < gap:
            dry = joint.backlash_friction * math.tanh(rate / BACKLASH_SLIP_SCALE)
            return 0.0, joint.backlash_damping * rate + dry
        deflection -= math.copysign(gap, deflection)
    spring = joint.stiffness * deflection
    return spring, spring + joint.damping * rate


@compiled_in_place
def steepest_damping(joint: np.record) -> tuple[float, float]:
    """Return the largest slopes [Nm s/rad] of torque by velocity at a joint: of transmission and link friction.

    Inside a backlash the transmission has the slope of its friction there, else D.
    """
    between = joint.damping
    if joint.backlash > 0.0:
        inside = joint.backlash_damping + joint.backlash_friction / BACKLASH_SLIP_SCALE
        between = max(between, inside)
    # The steepest slope of the sigmoid, in its middle, is a quarter.
    return between, 0.25 * abs(joint.friction_amplitude * joint.friction_slope)


@compiled_in_place
def column_rates(joints: Records, j: int, inverse: Vector) -> tuple[float, float, float]:
    """Return the contribution of joint j to the squared Frobenius norms of D, K and friction over the inertias.

    joints: of the arm; inverse (n,) [1/(kg m^2)]: column j of M^-1. Springs and dampers act between link and motor,
    where a torque meets M^-1 + B_rho^-1; friction acts on the link. The norm is at least the largest eigenvalue, and
    nearly that where one joint stands out. Units [1/s^2], [1/s^4], [1/s^2].
    """
    damping = stiffness = friction = 0.0
    here = steepest_damping(joints[j])
    for k in range(inverse.size):
        mobility = inverse[k]
        there = steepest_damping(joints[k])
        friction += here[1] * there[1] * mobility * mobility
        if k == j:
            mobility += 1.0 / joints[j].motor_inertia
        damping += here[0] * there[0] * mobility * mobility
        stiffness += joints[j].stiffness * joints[k].stiffness * mobility * mobility
    return damping, stiffness, friction


@compiled_in_place
def joint_friction(joint: np.record, velocity: float) -> float:
    """Return the friction torque [Nm] against the velocity [rad/s] of a joint. Gaz et al. 2019."""
    if joint.friction_amplitude == 0.0:
        return 0.0
    sigmoid = 1.0 / (1.0 + math.exp(-joint.friction_slope * (velocity + joint.friction_offset)))
    friction: float = joint.friction_amplitude * (sigmoid - joint.friction_at_rest)
    return friction


@compiled_in_place
def torque_loop(joint: np.record, desired: float, deflection: float, rate: float, filtered: float) -> float:
    """Return the actuation torque [Nm] of a joint, held over one period of the loop. Rey Arias 2024 (4b).

    u + K_T (u - tau) - K_S dtau with u the desired torque [Nm]; tau and dtau are those of the filter, of output
    filtered [Nm], or without a filter the spring's own.
    """
    spring, _ = transmission(joint, deflection, rate)
    if joint.filter_rate > 0.0:
        torque = filtered
        torque_rate = joint.filter_rate * (spring - filtered)
    else:
        torque = spring
        torque_rate = joint.stiffness * rate if abs(deflection) >= joint.backlash else 0.0
    feedback = joint.torque_gain * (desired - torque) - joint.torque_rate_gain * torque_rate
    actuation: float = desired + feedback
    return actuation


@compiled_in_place
def time_to_backlash_edge(joint: np.record, deflection: float, rate: float) -> float:
    """Return the time [s] until a joint enters or leaves its backlash at this rate; infinity when it does not."""
    gap = joint.backlash
    if gap == 0.0 or rate == 0.0:
        return math.inf
    # The edge ahead: coming from outside the near one, from inside the far one.
    ahead = math.copysign(1.0, rate)
    edge = -gap * ahead if deflection * ahead < -gap else gap * ahead
    time = (edge - deflection) / rate
    return time if time > 0.0 else math.inf
