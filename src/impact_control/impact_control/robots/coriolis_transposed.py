"""C^T dq of a chain or tree of joints in O(n), without the Coriolis matrix C. Flacco 2016, section IV.

The generalized momentum of joint i is p_i = S_i . H_i: its motion S_i at unit rate on the momentum H_i of all links
that hang on it. With dq held, its derivative is (dM dq)_i, and it has two parts: S_i . dH_i, which is the torque
(C dq)_i of Newton and Euler, and that of the joint's own motion with its twist V_i, dS_i = V_i x S_i. As
dM dq = C dq + C^T dq, the second is the desired term:

    (C^T dq)_i = (V_i x S_i) . H_i = -S_i . (V_i x* H_i)

It is the gradient of the kinetic energy, and the same for every C with dM = C + C^T.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector


@compiled
def coriolis_transposed_velocity(motions: Matrix, twists: Matrix, momenta: Matrix, out: Vector) -> None:
    """Write C^T dq (n,) [Nm].

    motions (n, 6): S_i, twist of the link at unit rate of its joint; twists (n + 1, 6): V_i [m/s, rad/s]; momenta
    (n + 1, 6): H_i [kg m/s, kg m^2/s] of all links from i on. Each row in the frame of its joint, linear part first;
    row 0 of the last two is the base.
    """
    for i in range(out.size):
        vx, vy, vz, wx, wy, wz = twists[i + 1]
        lx, ly, lz, kx, ky, kz = momenta[i + 1]
        sx, sy, sz, tx, ty, tz = motions[i]
        # V x* H: w x l, and w x k + v x l.
        out[i] = -(
            sx * (wy * lz - wz * ly)
            + sy * (wz * lx - wx * lz)
            + sz * (wx * ly - wy * lx)
            + tx * (wy * kz - wz * ky + vy * lz - vz * ly)
            + ty * (wz * kx - wx * kz + vz * lx - vx * lz)
            + tz * (wx * ky - wy * kx + vx * ly - vy * lx)
        )


def joint_motions(model: pin.Model, data: pin.Data) -> Matrix:
    """Return S_i (n, 6) of a model of joints with one degree of freedom, linear part first."""
    pin.forwardKinematics(model, data, pin.neutral(model))
    return np.array([np.asarray(data.joints[i + 1].S).reshape(6) for i in range(model.nv)])


def body_rows(vectors: Any) -> Matrix:
    """Return a view (n + 1, 6) of Pinocchio's vector of twists or momenta, which it keeps in one block."""
    first = vectors[0].vector
    stride = vectors[1].vector.ctypes.data - first.ctypes.data
    return np.lib.stride_tricks.as_strided(first, (len(vectors), 6), (stride, first.itemsize))
