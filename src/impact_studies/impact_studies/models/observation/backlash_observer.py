"""Momentum residual of joints with backlash and friction: silent while a link crosses its gap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from impact_control.observation.momentum_observer import MomentumObserver
from impact_control.util.checks import require_not_negative
from impact_control.util.types import Matrix, Vector
from impact_studies.models.observation.backlash_model import (
    DEFLECTION,
    EDGE_MARGIN,
    BacklashModel,
    Transmission,
    missed_torque,
    torque_of,
)


class JointSample(NamedTuple):
    """Measurements of n joints, (n,) each.

    position, motor_position: q, theta [rad], such that q - theta is zero in the middle of the gap. velocity,
    motor_velocity: dq, dtheta [rad/s], behind the gear. motor_torque: tau_M [Nm], in contact added to the spring; zeros
    where the spring tells the torque.
    """

    position: Vector
    velocity: Vector
    motor_position: Vector
    motor_velocity: Vector
    motor_torque: Vector


def least_residual(
    joints: Transmission,
    margin: float,
    before: Matrix,
    state: Matrix,
    mean_torque: Vector,
    weight: Vector,
    residual: Vector,
) -> Vector:
    """Return a residual as close to 0 as the torque allows that is not known in the joints that rest at an edge.

    Inside the gap friction may be less than the load, beyond it friction and damper more: then the link rests at the
    edge, where (5) and (6) of Flacco 2016 jump, and the torque is somewhere between their two sides. Which of them a
    sample shows is noise. The residual takes the torque in between that explains most; a contact is what none does.
    A push outwards strains the spring and one inwards moves the link, both beyond the margin, and end the doubt.

    Args:
        joints: those of a `BacklashModel`, n of them.
        margin: [rad] from an edge, within which both samples have to be.
        before, state: (4, n) of the last sample and this one, as in `transmitted_torque`.
        mean_torque: (n,) [Nm] between the samples that the residual has been given.
        weight: (n,) what 1 Nm more in that mean takes from the residual.
        residual: (n,) [Nm].
    """
    gap = joints[0]
    side = _edge(before[DEFLECTION], gap, margin)
    rests = (gap > 0.0) & (side != 0.0) & (side == _edge(state[DEFLECTION], gap, margin))
    if not rests.any():
        return residual

    def mean_at(deflection: Vector) -> Vector:
        torques = [torque_of(joints, np.vstack([deflection, sample[1:]])) for sample in (before, state)]
        return 0.5 * (torques[0] + torques[1])

    free, held = mean_at(np.zeros(gap.size)), mean_at(side * gap)
    most = residual + weight * (mean_torque - np.minimum(free, held))
    least = residual + weight * (mean_torque - np.maximum(free, held))
    return np.where(rests, np.clip(0.0, least, most), residual)


def _edge(deflection: Vector, gap: Vector, margin: float) -> Vector:
    """Return 1 or -1 (n,) for the edge to which a deflection (n,) [rad] is closer than the margin, 0 for none."""
    lower = np.where(np.abs(deflection + gap) <= margin, -1.0, 0.0)
    return np.where(np.abs(deflection - gap) <= margin, 1.0, lower)


class BacklashObserver:
    """External joint torque by the residual r_bs of Flacco 2016 (12), one sample at a time.

    A `MomentumObserver` driven by what the transmission does to the link, tau_L - tau_mu of `BacklashModel`, in
    place of the motor's torque. So dr/dt = K_O (tau_ext - r), in the gap as well. dM dq - c of (12) is C^T dq - g,
    which `robots.Dynamics` computes in O(n) without the matrix C.

    The torque jumps where an edge of the gap is passed between two samples, and the trapezoid of (13) would miss up to
    half a period of the jump. The moment is interpolated from the deflections instead, see `missed_torque`. While a
    link rests at an edge, the torque is not determined there, see `least_residual`.

    Attributes:
        residual, residual_rate, advanced: as those of `MomentumObserver`; the next call of `observe` overwrites them.
    """

    def __init__(
        self, gain: Vector, model: BacklashModel, maximum_gap: float = 0.05, edge_margin: float = EDGE_MARGIN
    ) -> None:
        """Set the tuning. Raises InvalidInputError as its parts do.

        gain: K_O (n,) [1/s]; model: the joints; maximum_gap: longest period [s].
        edge_margin: [rad] from an edge within which a link may rest at it, at least 0: some noise of the deflection.
        """
        n = model.gap.size
        self._gain = np.array(gain, dtype=float)
        self._margin = require_not_negative("edge_margin", edge_margin)
        self._observer = MomentumObserver(gain, np.zeros(n), maximum_gap)
        self._joints = model.transmission
        self.residual: Vector = self._observer.residual
        self.residual_rate: Vector = self._observer.residual_rate
        self._before, self._torque_before = np.zeros((4, n)), np.zeros(n)

    def reset(self) -> None:
        """Forget everything: residual 0, and the next sample is the first, without a jump."""
        self._observer.reset()

    @property
    def advanced(self) -> bool:
        """Return whether the last sample moved the residual."""
        return self._observer.advanced

    def observe(
        self,
        mass_matrix: Matrix,
        coriolis_transposed_velocity: Vector,
        gravity: Vector,
        time: float,
        joints: JointSample,
    ) -> Vector:
        """Take one sample and return `residual` (n,) [Nm]. Never raises on values; shapes are as stated.

        mass_matrix: M(q) (n, n) of the links, [kg m^2]. coriolis_transposed_velocity: C^T(q, dq) dq (n,) [Nm].
        gravity: g(q) (n,) [Nm]. time: stamp of the sample [s].
        """
        deflection = joints.position - joints.motor_position
        state = np.array([deflection, joints.velocity, joints.motor_velocity, joints.motor_torque])
        torque, missed = torque_of(self._joints, state), missed_torque(self._joints, self._before, state)
        newest = self._observer.time
        self._observer.missed_torque[:] = missed
        self._observer.observe(mass_matrix, joints.velocity, torque, coriolis_transposed_velocity, gravity, time)
        if self._observer.time != newest:
            if self._observer.advanced:
                self._doubt(self._observer.time - newest, state, 0.5 * (torque + self._torque_before) + missed)
            self._before, self._torque_before = state, torque
        return self.residual

    def _doubt(self, period: float, state: Matrix, mean: Vector) -> None:
        # The step of `MomentumObserver` takes K_O T / (1 + K_O T / 2) of the mean torque.
        weight = self._gain * period / (1.0 + 0.5 * self._gain * period)
        found = least_residual(self._joints, self._margin, self._before, state, mean, weight, self.residual)
        self.residual_rate += (found - self.residual) / period
        self.residual[:] = found
