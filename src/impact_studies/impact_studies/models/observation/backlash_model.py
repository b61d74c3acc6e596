"""Torque that reaches the link of a joint with backlash and friction."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from impact_control.util.checks import checked_vector, freeze, require_positive
from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector

(
    STIFFNESS,
    DAMPING,
    GAP_VISCOUS,
    GAP_DRY,
    LINK_VISCOUS,
    LINK_DRY,
    MOTOR_VISCOUS,
    MOTOR_DRY,
) = range(8)
"""Rows of `coefficients` (8, n), in the order of the fields of `BacklashModel`."""

DEFLECTION, LINK_VELOCITY, MOTOR_VELOCITY, MOTOR_TORQUE = range(4)
"""Rows of the state of joints (4, n): phi = q - theta [rad], dq and dtheta [rad/s], tau_M [Nm]."""

SLIP_SPEED = 1e-2
"""[rad/s] Speed at which dry friction has reached 76 % of its size."""

EDGE_MARGIN = 5e-5
"""[rad] from an edge of the gap within which a link may rest at it; twice the noise of two encoders of 17 bit."""


Transmission = tuple[Vector, Matrix, float]
"""A `BacklashModel` for the kernels, to which a named tuple takes longer: gap (n,), coefficients (8, n), slip speed."""


@dataclass(frozen=True, eq=False)
class BacklashModel:
    """Backlash and friction of n joints, Flacco 2016 (5), (6). Raises InvalidInputError.

    With phi = q - theta, only friction acts on the link in the gap, |phi| < alpha, and beyond it
    tau_L = tau_M - K (phi -+ alpha) - D dphi, less the friction (6). The deflection phi -+ alpha is zero at the edge,
    see Errata; spring and damper act against it, so that K and D are positive where (5) has plus signs.

    (5) cannot hold with a spring and the motor's torque both: at rest the motor is in balance, so that the spring
    carries tau_M alone, and with both the link would feel it twice. Give `motor_torque` as zeros where the deflection
    is measured finely enough for the spring to tell the torque; give the motor's torque and K = D = 0 where it is not.

    Coefficients may be slightly below 0 when identified from noisy data. Each (n,):
        gap: alpha [rad], half-width, at least 0.
        stiffness, damping: K [Nm/rad], D [Nm s/rad] of the contact beyond the gap (K_phi,p, K_phi,d).
        gap_viscous, gap_dry: friction between motor and link in the gap [Nm s/rad], [Nm] (K_phi,v, K_phi,s).
        link_viscous, link_dry: friction on the link in the gap (K_q,v, K_q,s).
        motor_viscous, motor_dry: friction beyond the gap, of the motor's velocity (K_theta,v, K_theta,s).
    slip_speed [rad/s]: the sign of a speed is taken as tanh(speed / slip_speed).
    """

    gap: Vector
    stiffness: Vector
    damping: Vector
    gap_viscous: Vector
    gap_dry: Vector
    link_viscous: Vector
    link_dry: Vector
    motor_viscous: Vector
    motor_dry: Vector
    slip_speed: float = SLIP_SPEED

    def __post_init__(self) -> None:
        checked_vector("gap", self.gap)
        freeze(self, (np.size(self.gap),), *(field.name for field in fields(self) if field.name != "slip_speed"))
        require_positive("slip_speed", self.slip_speed)

    @property
    def coefficients(self) -> Matrix:
        """All but the gap (8, n), a new array."""
        return np.array([getattr(self, field.name) for field in fields(self)[1:-1]])

    @property
    def transmission(self) -> Transmission:
        """Gap, coefficients and slip speed, new arrays."""
        return np.array(self.gap), self.coefficients, self.slip_speed

    @classmethod
    def from_coefficients(cls, gap: Vector, coefficients: Matrix, slip_speed: float = SLIP_SPEED) -> BacklashModel:
        """Return the model of a gap (n,) and the other coefficients (8, n)."""
        rows = {field.name: row for field, row in zip(fields(cls)[1:-1], coefficients, strict=True)}
        return cls(gap, **rows, slip_speed=slip_speed)


@compiled
def free_torque(joints: Transmission, i: int, link_velocity: float, motor_velocity: float) -> float:
    """Return tau_L - tau_mu [Nm] of joint i in its gap: nothing but the friction of Flacco 2016 (6).

    Velocities [rad/s].
    """
    _, coefficients, slip_speed = joints
    twist_rate = link_velocity - motor_velocity
    torque: float = -(
        coefficients[GAP_VISCOUS, i] * twist_rate
        + coefficients[GAP_DRY, i] * math.tanh(twist_rate / slip_speed)
        + coefficients[LINK_VISCOUS, i] * link_velocity
        + coefficients[LINK_DRY, i] * math.tanh(link_velocity / slip_speed)
    )
    return torque


@compiled
def held_torque(
    joints: Transmission, i: int, beyond: float, link_velocity: float, motor_velocity: float, motor_torque: float
) -> float:
    """Return tau_L - tau_mu [Nm] of joint i beyond its gap: Flacco 2016 (5) less (6), corrected.

    beyond: deflection beyond the edge, phi -+ alpha [rad]; motor_torque [Nm]; others as in `free_torque`.
    """
    _, coefficients, slip_speed = joints
    torque: float = motor_torque - (
        coefficients[STIFFNESS, i] * beyond
        + coefficients[DAMPING, i] * (link_velocity - motor_velocity)
        + coefficients[MOTOR_VISCOUS, i] * motor_velocity
        + coefficients[MOTOR_DRY, i] * math.tanh(motor_velocity / slip_speed)
    )
    return torque


@compiled
def _joint_torque(
    joints: Transmission, i: int, phi: float, link_velocity: float, motor_velocity: float, motor_torque: float
) -> float:
    """Return tau_L - tau_mu [Nm] of joint i: Flacco 2016 (5) less (6), corrected."""
    edge = joints[0][i]
    if abs(phi) < edge:
        return free_torque(joints, i, link_velocity, motor_velocity)
    return held_torque(joints, i, phi - math.copysign(edge, phi), link_velocity, motor_velocity, motor_torque)


@compiled
def transmitted_torque(joints: Transmission, state: Matrix, out: Vector) -> None:
    """Write tau_L - tau_mu (n,) [Nm], what the transmission does to the links: Flacco 2016 (5) less (6), corrected.

    state (4, n): rows as above; the motor's torque acts beyond the gap only, (9).
    """
    for i in range(out.size):
        out[i] = _joint_torque(
            joints, i, state[DEFLECTION, i], state[LINK_VELOCITY, i], state[MOTOR_VELOCITY, i], state[MOTOR_TORQUE, i]
        )


@compiled
def missed_torque(joints: Transmission, before: Matrix, state: Matrix, out: Vector) -> None:
    """Write the mean of tau_L - tau_mu (n,) [Nm] between two samples less the mean of both: 0 unless an edge is passed.

    In between the states (4, n), as in `transmitted_torque`, change evenly. Where a joint passes an edge of its gap,
    the torque jumps by what the damper does; the parts before and after it count with the torque in their middle.
    """
    gap = joints[0]
    for i in range(gap.size):
        out[i] = 0.0
        start, end, edge = before[DEFLECTION, i], state[DEFLECTION, i], gap[i]
        if not ((start < edge) != (end < edge) or (start > -edge) != (end > -edge)):
            continue
        first, second = _edge_fractions(start, end, edge)
        bounds = (0.0, first, second, 1.0)
        for part in range(3):
            weight = bounds[part + 1] - bounds[part]
            middle = 0.5 * (bounds[part] + bounds[part + 1])
            out[i] += weight * _torque_between(joints, i, before, state, middle)
        for sample in (0.0, 1.0):
            out[i] -= 0.5 * _torque_between(joints, i, before, state, sample)


@compiled
def _torque_between(joints: Transmission, i: int, before: Matrix, state: Matrix, part: float) -> float:
    """Return the torque [Nm] of joint i at a part, 0 to 1, of the way from one state (4, n) to the next."""
    phi = (1.0 - part) * before[DEFLECTION, i] + part * state[DEFLECTION, i]
    link_velocity = (1.0 - part) * before[LINK_VELOCITY, i] + part * state[LINK_VELOCITY, i]
    motor_velocity = (1.0 - part) * before[MOTOR_VELOCITY, i] + part * state[MOTOR_VELOCITY, i]
    motor_torque = (1.0 - part) * before[MOTOR_TORQUE, i] + part * state[MOTOR_TORQUE, i]
    torque: float = _joint_torque(joints, i, phi, link_velocity, motor_velocity, motor_torque)
    return torque


@compiled
def _edge_fractions(start: float, end: float, edge: float) -> tuple[float, float]:
    """Return at which parts, 0 to 1, of the way from start to end the two edges are, in their order."""
    span = end - start
    low, high = (-edge - start) / span, (edge - start) / span
    first, second = min(low, high), max(low, high)
    return min(max(first, 0.0), 1.0), min(max(second, 0.0), 1.0)
