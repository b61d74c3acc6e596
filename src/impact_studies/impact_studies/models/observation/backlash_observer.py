"""Momentum residual of joints with backlash and friction: silent while a link crosses its gap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from impact_control.observation.momentum_observer import MomentumObserver
from impact_control.util.checks import require_not_negative
from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector
from impact_studies.models.observation.backlash_model import (
    DEFLECTION,
    EDGE_MARGIN,
    LINK_VELOCITY,
    MOTOR_TORQUE,
    MOTOR_VELOCITY,
    BacklashModel,
    Transmission,
    free_torque,
    held_torque,
    missed_torque,
    transmitted_torque,
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


@compiled
def give_benefit_of_doubt(
    joints: Transmission,
    margin: float,
    before: Matrix,
    state: Matrix,
    mean_torque: Vector,
    weight: Vector,
    residual: Vector,
) -> None:
    """Move a residual as close to 0 as the torque allows that is not known in the joints that rest at an edge.

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
        residual: (n,) [Nm], changed.
    """
    gap = joints[0]
    for i in range(gap.size):
        side = _edge(before[DEFLECTION, i], gap[i], margin)
        if gap[i] == 0.0 or side == 0.0 or side != _edge(state[DEFLECTION, i], gap[i], margin):
            continue
        free, held = 0.0, 0.0
        for sample in (before, state):
            free += 0.5 * free_torque(joints, i, sample[LINK_VELOCITY, i], sample[MOTOR_VELOCITY, i])
            held += 0.5 * held_torque(
                joints, i, 0.0, sample[LINK_VELOCITY, i], sample[MOTOR_VELOCITY, i], sample[MOTOR_TORQUE, i]
            )
        most = residual[i] + weight[i] * (mean_torque[i] - min(free, held))
        least = residual[i] + weight[i] * (mean_torque[i] - max(free, held))
        residual[i] = min(max(0.0, least), most)


@compiled
def _edge(deflection: float, gap: float, margin: float) -> float:
    """Return 1 or -1 for the edge to which a deflection [rad] is closer than the margin, 0 for none."""
    if abs(deflection - gap) <= margin:
        return 1.0
    return -1.0 if abs(deflection + gap) <= margin else 0.0


class BacklashObserver:
    """External joint torque by the residual r_bs of Flacco 2016 (12), one sample at a time.

    A `MomentumObserver` driven by what the transmission does to the link, tau_L - tau_mu of `BacklashModel`, in
    place of the motor's torque. So dr/dt = K_O (tau_ext - r), in the gap as well. dM dq - c of (12) is C^T dq - g,
    which `robots.Dynamics` computes in O(n) without the matrix C.

    The torque jumps where an edge of the gap is passed between two samples, and the trapezoid of (13) would miss up to
    half a period of the jump. The moment is interpolated from the deflections instead, see `missed_torque`. While a
    link rests at an edge, the torque is not determined there, see `give_benefit_of_doubt`.

    Attributes (arrays that the next call of `observe` overwrites):
        residual, residual_rate, advanced: as those of `MomentumObserver`.
        transmitted_torque: tau_L - tau_mu (n,) [Nm] of the last sample.
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
        self.transmitted_torque: Vector = np.zeros(n)
        self._state, self._before = np.zeros((2, 4, n))
        self._missed, self._mean, self._weight, self._shift = np.zeros((4, n))
        self._transmitted_before = np.zeros(n)
        self._transmit()
        self._doubt(0.0)

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
        np.subtract(joints.position, joints.motor_position, out=self._state[DEFLECTION])
        self._state[LINK_VELOCITY] = joints.velocity
        self._state[MOTOR_VELOCITY] = joints.motor_velocity
        self._state[MOTOR_TORQUE] = joints.motor_torque
        self._transmit()
        newest = self._observer.time
        self._observer.observe(
            mass_matrix,
            joints.velocity,
            self.transmitted_torque,
            coriolis_transposed_velocity,
            gravity,
            time,
            self._missed,
        )
        if self._observer.time != newest:
            if self._observer.advanced:
                self._doubt(self._observer.time - newest)
            self._before[:] = self._state
            self._transmitted_before[:] = self.transmitted_torque
        return self.residual

    def _transmit(self) -> None:
        transmitted_torque(self._joints, self._state, self.transmitted_torque)
        missed_torque(self._joints, self._before, self._state, self._missed)

    def _doubt(self, period: float) -> None:
        np.add(self.transmitted_torque, self._transmitted_before, out=self._mean)
        self._mean *= 0.5
        self._mean += self._missed
        # The step of `MomentumObserver` takes K_O T / (1 + K_O T / 2) of the mean torque.
        np.multiply(self._gain, 0.5 * period, out=self._weight)
        np.add(self._weight, 1.0, out=self._shift)
        self._weight *= 2.0
        self._weight /= self._shift
        self._shift[:] = self.residual
        give_benefit_of_doubt(
            self._joints, self._margin, self._before, self._state, self._mean, self._weight, self.residual
        )
        if period > 0.0:
            np.subtract(self.residual, self._shift, out=self._shift)
            self._shift /= period
            self.residual_rate += self._shift
