"""The force on the end-effector that explains the momentum residual."""

from __future__ import annotations

import numpy as np

from impact_control.util.checks import checked_vector
from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector

_ROUNDING = 1e-12
"""Slope of the misfit, relative to that at the start, from which on there is nothing left to explain."""

_LONGEST_SEARCH = 24
"""Steps, of which six are needed but for rounding."""


def external_force(jacobian: Matrix, external_torque: Vector) -> Vector:
    """Return the force (3,) [N] at the origin of E, axes of A, that explains the external torque best.

    The least wrench F with the least |J^T F - tau_ext|; Proper 2021 (2.30), (2.31). jacobian (6, n): of E, mixed frame
    E[A], linear part first. external_torque (n,) [Nm]. A planar arm gets exactly the wrench in its plane.
    For recordings; `ExternalForce` is for the loop.
    """
    wrench = np.asarray(np.linalg.lstsq(jacobian.T, external_torque, rcond=None)[0], dtype=np.float64)
    return wrench[:3]


@compiled
def explain_torque(
    jacobian: Matrix, misfit: Vector, image: Vector, gradient: Vector, direction: Vector, wrench: Vector
) -> None:
    """Write the least F with the least |J^T F - tau_ext| to `wrench` (6,): conjugate gradients from F = 0.

    jacobian (6, n). misfit (n,): tau_ext, and afterwards what is left of it. image (n,), gradient (6,), direction (6,)
    are overwritten. From zero the search never leaves the range of J, so that F is the least; it ends after as many
    steps as J has ranks. What is not a number makes F not a number.
    """
    rows, joints = jacobian.shape
    steepness = 0.0
    for row in range(rows):
        slope = 0.0
        for i in range(joints):
            slope += jacobian[row, i] * misfit[i]
        gradient[row] = direction[row] = slope
        wrench[row] = 0.0 * slope
        steepness += slope * slope
    enough = _ROUNDING * _ROUNDING * steepness
    for _ in range(_LONGEST_SEARCH):
        if not steepness > enough:
            return
        bend = 0.0
        for i in range(joints):
            image[i] = 0.0
            for row in range(rows):
                image[i] += jacobian[row, i] * direction[row]
            bend += image[i] * image[i]
        step = steepness / bend
        for i in range(joints):
            misfit[i] -= step * image[i]
        before, steepness = steepness, 0.0
        for row in range(rows):
            wrench[row] += step * direction[row]
            slope = 0.0
            for i in range(joints):
                slope += jacobian[row, i] * misfit[i]
            gradient[row] = slope
            steepness += slope * slope
        for row in range(rows):
            direction[row] = gradient[row] + steepness / before * direction[row]


class ExternalForce:
    """The force on E, one sample at a time, on arrays made once: `external_force` of the residual without its delay.

    By (2.90) of Proper 2021, tau_ext = r + K_O^-1 dr/dt. The rate is that of half a period ago, so that
    T/2 dr/dt is too much: of the second term K_O T / 2, 5 % at 100 1/s and 1 kHz.
    """

    def __init__(self, observer_gain: Vector) -> None:
        """observer_gain: diagonal of K_O (n,) [1/s], above 0. Raises InvalidInputError for anything else."""
        self._gain = checked_vector("observer_gain", observer_gain, zero_allowed=False)
        n = self._gain.size
        self._jacobian = np.zeros((6, n))
        self._torque, self._image = np.zeros(n), np.zeros(n)
        self._gradient, self._direction, self._wrench = np.zeros(6), np.zeros(6), np.zeros(6)
        self._force: Vector = self._wrench[:3]
        self.estimate(self._jacobian, self._torque, self._torque)  # compiles the kernel here and not in the loop

    def estimate(self, jacobian: Matrix, residual: Vector, residual_rate: Vector) -> Vector:
        """Return the force (3,) [N] at the origin of E, axes of A; overwritten by the next call.

        jacobian (6, n): of E, mixed frame E[A], linear part first. residual r (n,) [Nm], residual_rate (n,) [Nm/s].
        """
        self._jacobian[:] = jacobian
        np.divide(residual_rate, self._gain, out=self._torque)
        np.add(self._torque, residual, out=self._torque)
        explain_torque(self._jacobian, self._torque, self._image, self._gradient, self._direction, self._wrench)
        return self._force
