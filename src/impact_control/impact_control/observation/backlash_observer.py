"""Momentum residual of joints with backlash and friction: silent while a link crosses its gap."""

from __future__ import annotations

import numpy as np

from impact_control.checks import require_not_negative
from impact_control.observation.backlash_edge import give_benefit_of_doubt
from impact_control.observation.backlash_model import EDGE_MARGIN, BacklashModel, missed_torque, transmitted_torque
from impact_control.observation.momentum_observer import MomentumObserver
from impact_control.types import Matrix, Vector


class BacklashObserver:
    """External joint torque by the residual r_bs of Flacco 2016 (12), one sample at a time.

    A `MomentumObserver` driven by what the transmission does to the link, tau_L - tau_mu of `BacklashModel`, in
    place of the motor's torque. So dr/dt = K_O (tau_ext - r), in the gap as well. dM dq - c of (12) is C^T dq - g,
    which `robots.Dynamics` computes in O(n) without the matrix C.

    The torque jumps where an edge of the gap is passed between two samples, and the trapezoid of (13) would miss up to
    half a period of the jump. The moment is interpolated from the deflections instead, see `missed_torque`. While a
    link rests at an edge, the torque is not determined there, see `give_benefit_of_doubt`.

    Attributes (arrays that the next update overwrites):
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
        self._model = model
        self._gap = np.array(model.gap)
        self._coefficients = model.coefficients
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
        """Whether the last sample moved the residual."""
        return self._observer.advanced

    def update(
        self,
        mass_matrix: Matrix,
        velocity: Vector,
        motor_torque: Vector,
        coriolis_transposed_velocity: Vector,
        gravity: Vector,
        time: float,
        position: Vector,
        motor_position: Vector,
        motor_velocity: Vector,
    ) -> Vector:
        """Take one sample and return `residual` (n,) [Nm]. Never raises on values; shapes are as stated.

        mass_matrix: M(q) (n, n) of the links, [kg m^2].
        velocity: dq (n,) [rad/s] of the links.
        motor_torque: tau_M (n,) [Nm], in contact added to the spring; zeros where the spring tells the torque.
        coriolis_transposed_velocity: C^T(q, dq) dq (n,) [Nm].
        gravity: g(q) (n,) [Nm].
        time: stamp of the sample [s].
        position, motor_position: q, theta (n,) [rad], such that q - theta is zero in the middle of the gap.
        motor_velocity: dtheta (n,) [rad/s] behind the gear.
        """
        np.subtract(position, motor_position, out=self._state[0])
        self._state[1] = velocity
        self._state[2] = motor_velocity
        self._state[3] = motor_torque
        self._transmit()
        newest = self._observer.time
        self._observer.update(
            mass_matrix,
            velocity,
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
        model = (self._gap, self._coefficients, self._model.slip_speed)
        transmitted_torque(*model, self._state, self.transmitted_torque)
        missed_torque(*model, self._before, self._state, self._missed)

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
        model = (self._gap, self._coefficients, self._model.slip_speed, self._margin)
        give_benefit_of_doubt(*model, self._before, self._state, self._mean, self._weight, self.residual)
        if period > 0.0:
            np.subtract(self.residual, self._shift, out=self._shift)
            self._shift /= period
            self.residual_rate += self._shift
