"""How links move that motors drive through a backlash, with the friction of Flacco 2016 (6).

The plants of `simulation` carry the friction of a Panda, which is not that of (6); therefore this one.
"""

from __future__ import annotations

import numpy as np

from impact_control.compiled import compiled
from impact_control.observation.backlash_model import transmitted_torque
from impact_control.types import Matrix, Vector


@compiled
def advance_joints(
    gap: Vector,
    coefficients: Matrix,
    slip_speed: float,
    motor_inertia: Vector,
    inverse_inertia: Matrix,
    load: Vector,
    motor_torque: Vector,
    state: Matrix,
    step: float,
    steps: int,
) -> None:
    """Advance state (4, n), rows q, theta, dq, dtheta, with the symplectic Euler scheme.

    inverse_inertia: M^-1 (n, n); load: external torque less C dq + g (n,) [Nm]; both held. The link gets what the
    transmission gives it. The motor feels spring and damper, and in the gap the friction between the two, but neither
    the friction on the link there nor that of (6) beyond the gap, which (7) lets act on the link.
    """
    n = gap.size
    q, theta, dq, dtheta = state
    transmitted, reaction = np.zeros((2, n))
    sample = np.zeros((4, n))
    mutual = coefficients.copy()
    mutual[4:] = 0.0
    for _ in range(steps):
        for i in range(n):
            sample[0, i], sample[1, i], sample[2, i] = q[i] - theta[i], dq[i], dtheta[i]
        transmitted_torque(gap, coefficients, slip_speed, sample, transmitted)
        transmitted_torque(gap, mutual, slip_speed, sample, reaction)
        for i in range(n):
            acceleration = 0.0
            for j in range(n):
                acceleration += inverse_inertia[i, j] * (transmitted[j] + load[j])
            dq[i] += step * acceleration
            dtheta[i] += step * (motor_torque[i] - reaction[i]) / motor_inertia[i]
        for i in range(n):
            q[i] += step * dq[i]
            theta[i] += step * dtheta[i]
