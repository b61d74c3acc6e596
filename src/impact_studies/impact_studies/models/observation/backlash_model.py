"""Torque that reaches the link of a joint with backlash and friction."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import pairwise

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
def transmitted_torque(joints: Transmission, state: Matrix, out: Vector) -> None:
    """Write tau_L - tau_mu (n,) [Nm], what the transmission does to the links: Flacco 2016 (5) less (6), corrected.

    state (4, n): rows as above; the motor's torque acts beyond the gap only, (9), where the deflection counts from the
    edge, phi -+ alpha.
    """
    gap, coefficients, slip_speed = joints
    for i in range(out.size):
        deflection, link_velocity, motor_velocity = (
            state[DEFLECTION, i],
            state[LINK_VELOCITY, i],
            state[MOTOR_VELOCITY, i],
        )
        twist_rate = link_velocity - motor_velocity
        if abs(deflection) < gap[i]:
            out[i] = -(
                coefficients[GAP_VISCOUS, i] * twist_rate
                + coefficients[GAP_DRY, i] * math.tanh(twist_rate / slip_speed)
                + coefficients[LINK_VISCOUS, i] * link_velocity
                + coefficients[LINK_DRY, i] * math.tanh(link_velocity / slip_speed)
            )
        else:
            out[i] = state[MOTOR_TORQUE, i] - (
                coefficients[STIFFNESS, i] * (deflection - math.copysign(gap[i], deflection))
                + coefficients[DAMPING, i] * twist_rate
                + coefficients[MOTOR_VISCOUS, i] * motor_velocity
                + coefficients[MOTOR_DRY, i] * math.tanh(motor_velocity / slip_speed)
            )


def torque_of(joints: Transmission, state: Matrix) -> Vector:
    """Return what `transmitted_torque` writes."""
    torque = np.empty(state.shape[1])
    transmitted_torque(joints, state, torque)
    return torque


def missed_torque(joints: Transmission, before: Matrix, state: Matrix) -> Vector:
    """Return the mean of tau_L - tau_mu (n,) [Nm] between samples less the mean of both: 0 unless an edge is passed.

    In between the states (4, n), as in `transmitted_torque`, change evenly. Where a joint passes an edge of its gap,
    the torque jumps by what the damper does; the parts before and after it count with the torque in their middle.
    """
    gap, start, end, change = joints[0], before[DEFLECTION], state[DEFLECTION], state - before
    passed = ((start < gap) != (end < gap)) | ((start > -gap) != (end > -gap))
    if not passed.any():
        return np.zeros(gap.size)
    way = np.where(passed, end - start, 1.0)
    edges = np.clip(np.sort([(-gap - start) / way, (gap - start) / way], axis=0), 0.0, 1.0)
    bounds = np.vstack([np.zeros(gap.size), edges, np.ones(gap.size)])
    mean = np.zeros(gap.size)
    for first, last in pairwise(bounds):
        mean += (last - first) * torque_of(joints, before + 0.5 * (first + last) * change)
    return np.where(passed, mean - 0.5 * (torque_of(joints, before) + torque_of(joints, state)), 0.0)
