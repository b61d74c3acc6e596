"""External joint torque as the error of inverse dynamics: what an arm publishes, and the direct method."""

from __future__ import annotations

import math

import numpy as np

from impact_control.checks import checked_vector, require_positive
from impact_control.compiled import compiled
from impact_control.observation.first_order_filter import filtered_rate, low_pass
from impact_control.observation.sample_period import sample_period
from impact_control.types import Matrix, Vector


@compiled
def _is_finite(mass_matrix: Matrix, first: Vector, second: Vector, third: Vector) -> bool:
    """Whether M (n, n) and three arrays (n,) hold finite numbers only."""
    total = 0.0
    for i in range(first.size):
        total += first[i] + second[i] + third[i]
        for j in range(first.size):
            total += mass_matrix[i, j]
    return math.isfinite(total)


class PublishedTorqueObserver:
    """The low-passed error between model and measured torque: a model of an arm's own `tau_ext_hat_filtered`.

    libfranka calls `tau_ext_hat_filtered` the low-pass filtered estimate of the external torque, and says that it is
    the error between tau_J and the torques that the model expects. Filter and acceleration are not published. Here

        residual = K/(s + K) [M ddq + C dq + g - tau_J],

    with any acceleration: the commanded one (`ddq_d`), or zeros for a model that expects none. Each joint is then a
    first-order filter of the external torque, with the error of that acceleration times M added to it.

    Stamps are treated as by `MomentumObserver`: lost samples lengthen the period, repeated or older ones and values
    that are not finite are ignored, after more than `maximum_gap` it starts anew and keeps the residual.

    Attributes (arrays that the next update overwrites):
        residual: (n,) [Nm], positive when the external torque accelerates the joint.
        residual_rate: its difference quotient (n,) [Nm/s]; 0 on a sample that starts anew.
        advanced: whether the last sample moved the residual.
    """

    def __init__(self, gain: Vector, maximum_gap: float = 0.05) -> None:
        """Set K (n,) [1/s], above 0, and the longest period [s]. Raises InvalidInputError for anything else."""
        self._gain = checked_vector("gain", gain, zero_allowed=False)
        self._maximum_gap = require_positive("maximum_gap", maximum_gap)
        self.residual: Vector = np.zeros_like(self._gain)
        self.residual_rate: Vector = np.zeros_like(self._gain)
        self._error, self._previous_error = np.zeros((2, self._gain.size))
        low_pass(self._error, self._previous_error, self._gain, self.residual, self.residual_rate, 0.0)
        _is_finite(np.zeros((self._gain.size, self._gain.size)), self._error, self._error, self._error)
        self.reset()

    def reset(self) -> None:
        """Forget everything: residual 0, and the next sample is the first, without a jump."""
        self.residual[:] = 0.0
        self.residual_rate[:] = 0.0
        self.advanced = False
        self._time = -math.inf

    def update(
        self, mass_matrix: Matrix, acceleration: Vector, joint_torque: Vector, nonlinear: Vector, time: float
    ) -> Vector:
        """Take one sample and return `residual` (n,) [Nm]. Never raises on values; shapes are as stated.

        mass_matrix: M(q) (n, n) of the links, [kg m^2].
        acceleration: ddq (n,) [rad/s^2] that the model expects.
        joint_torque: tau_J (n,) [Nm], including what carries the arm against gravity.
        nonlinear: C dq + g (n,) [Nm].
        time: stamp of the sample [s].
        """
        self.advanced = False
        period = sample_period(time - self._time, self._maximum_gap)
        if math.isnan(period) or not _is_finite(mass_matrix, acceleration, joint_torque, nonlinear):
            return self.residual
        np.dot(mass_matrix, acceleration, out=self._error)
        np.add(self._error, nonlinear, out=self._error)
        np.subtract(self._error, joint_torque, out=self._error)
        low_pass(self._error, self._previous_error, self._gain, self.residual, self.residual_rate, period)
        self._time = time
        self.advanced = period > 0.0
        return self.residual


class DirectObserver:
    """Direct method: measured torque against inverse dynamics, with the acceleration from the measured velocity.

    residual = K/(s + K) [M a + C dq + g - tau_J - D K_J^-1 b] with the filtered derivatives a = W s/(s + W) dq and
    b = W s/(s + W) tau_J. Proper 2021, 3.2, sets the method aside for its noise. W large lets the noise of the
    velocity through with the factor W; W small delays the acceleration alone, so that every change of it appears as
    an external torque for 1/W. The momentum residual has no such choice to make: its only filter is K.

    Stamps and attributes as in `PublishedTorqueObserver`.
    """

    def __init__(
        self,
        gain: Vector,
        acceleration_gain: Vector,
        damping_over_stiffness: Vector,
        maximum_gap: float = 0.05,
    ) -> None:
        """Set the tuning; n is the length of `gain`.

        gain: K (n,) [1/s], above 0.
        acceleration_gain: W (n,) [1/s], above 0.
        damping_over_stiffness: diagonal of D K_J^-1 (n,) [s]; zeros for rigid joints.
        maximum_gap: longest period [s] over which it differentiates.
        Raises InvalidInputError for anything else.
        """
        self._error_filter = PublishedTorqueObserver(gain, maximum_gap)
        n = self._error_filter.residual.size
        self._acceleration_gain = checked_vector("acceleration_gain", acceleration_gain, n, zero_allowed=False)
        self._damping_over_stiffness = checked_vector("damping_over_stiffness", damping_over_stiffness, n)
        self._maximum_gap = maximum_gap
        self.residual: Vector = self._error_filter.residual
        self.residual_rate: Vector = self._error_filter.residual_rate
        self._acceleration, self._torque_rate, self._torque = np.zeros((3, n))
        self._previous_velocity, self._previous_torque = np.zeros((2, n))
        self._differentiate(self._previous_velocity, self._previous_torque, 0.0)
        self.reset()

    def reset(self) -> None:
        """Forget everything: residual 0, and the next sample is the first, without a jump."""
        self._error_filter.reset()
        self._time = -math.inf

    @property
    def advanced(self) -> bool:
        """Whether the last sample moved the residual."""
        return self._error_filter.advanced

    def update(
        self, mass_matrix: Matrix, velocity: Vector, joint_torque: Vector, nonlinear: Vector, time: float
    ) -> Vector:
        """Take one sample and return `residual` (n,) [Nm]. Never raises on values; shapes are as stated.

        mass_matrix: M(q) (n, n) of the links, [kg m^2].
        velocity: dq (n,) [rad/s].
        joint_torque: tau_J (n,) [Nm] measured in the transmission.
        nonlinear: C dq + g (n,) [Nm].
        time: stamp of the sample [s].
        """
        period = sample_period(time - self._time, self._maximum_gap)
        if math.isnan(period) or not _is_finite(mass_matrix, velocity, joint_torque, nonlinear):
            self._error_filter.advanced = False
            return self.residual
        self._differentiate(velocity, joint_torque, period)
        np.multiply(self._damping_over_stiffness, self._torque_rate, out=self._torque)
        np.add(self._torque, joint_torque, out=self._torque)
        self._error_filter.update(mass_matrix, self._acceleration, self._torque, nonlinear, time)
        self._time = time
        return self.residual

    def _differentiate(self, velocity: Vector, torque: Vector, period: float) -> None:
        gain = self._acceleration_gain
        filtered_rate(velocity, self._previous_velocity, gain, self._acceleration, period)
        filtered_rate(torque, self._previous_torque, gain, self._torque_rate, period)
