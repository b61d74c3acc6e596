"""Momentum observer: the residual that follows the external joint torque, for rigid and flexible joints."""

from __future__ import annotations

import math

from impact_control.util.checks import checked_vector, require_not_negative, require_positive
from impact_control.util.compiled import compiled_in_place
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Matrix, Vector

MAXIMUM_GAP = 0.05
"""[s] between two samples, beyond which what came before does not count."""

POSITION_TOLERANCE = 5e-3
"""[rad] by which a measured position may differ from the integral of the velocity: several times the noise of Proper
2021 (3.5), and above the 2.5 mrad that a velocity jump of 5 rad/s within 1 ms can cause."""


def sample_period(elapsed: float, maximum_gap: float) -> float:
    """Return the period [s] from the last sample to this one, 0 to restart from it, NaN to ignore it.

    elapsed: stamp less that of the last sample [s], infinite for the first one. A longer gap than `maximum_gap` [s],
        and a clock that jumps back by more than that, restarts; a repeated or an older stamp, or one that is not a
        number, is ignored.
    """
    if 0.0 < elapsed <= maximum_gap:
        return elapsed
    return 0.0 if abs(elapsed) > maximum_gap else math.nan


@compiled_in_place
def _sum_up(
    observer: Memory, mass_matrix: Matrix, velocity: Vector, torque: Vector, transposed: Vector, gravity: Vector
) -> None:
    """Write the momentum p - D K^-1 tau_J and what drives it, tau_J + C^T dq - g, both (n,); transposed: C^T dq."""
    o = observer[()]
    for i in range(velocity.size):
        momentum = -o.damping_over_stiffness[i] * torque[i]
        for j in range(velocity.size):
            momentum += mass_matrix[i, j] * velocity[j]
        o.momentum[i] = momentum
        o.drive[i] = torque[i] + transposed[i] - gravity[i]


@compiled_in_place
def _advance(observer: Memory, period: float, shortest: float) -> bool:
    """Do one step of Flacco 2016 (13) over `period` [s]; with period 0 only take the sample as the previous one.

    shortest [s]: period of which the change of the residual is at least, for its rate.
    Returns False, and changes nothing, when the sample is not finite.
    """
    o = observer[()]
    checksum = 0.0
    for i in range(o.momentum.size):
        checksum += o.momentum[i] + o.drive[i] + o.missed_torque[i]
    if not math.isfinite(checksum):
        return False
    for i in range(o.momentum.size):
        if period > 0.0:
            half = 0.5 * period
            driven = half * (o.drive[i] + o.previous_drive[i] + 2.0 * o.missed_torque[i])
            innovation = o.momentum[i] - o.previous_momentum[i] - driven
            decay = half * o.gain[i]
            new = ((1.0 - decay) * o.residual[i] + o.gain[i] * innovation) / (1.0 + decay)
            o.residual_rate[i] = (new - o.residual[i]) / max(period, shortest)
            o.residual[i] = new
        else:
            o.residual_rate[i] = 0.0
        o.previous_momentum[i] = o.momentum[i]
        o.previous_drive[i] = o.drive[i]
    return True


class MomentumObserver:
    """External joint torque as the residual of the generalized momentum, one sample at a time.

    Proper 2021 (2.89), r = K_O [p - p(0) - int(tau_in + C^T dq - g + r) ds], so that by (2.90)
    dr/dt = K_O (tau_ext - r): each joint is a first-order filter with bandwidth K_O. The Coriolis term is
    C^T dq, which corrects the C^T of Proper 2021 (2.85) and Flacco 2016 (8); see Errata.

    Flexible joints have tau_in = tau_J + D K^-1 dtau_J. The second term needs no derivative of the torque: it
    only occurs integrated, and its integral is D K^-1 (tau_J - tau_J(0)), whatever tau_J did in between. It
    therefore joins the momentum: the residual is that of p - D K^-1 tau_J driven by tau_J + C^T dq - g.

    The integrals follow the trapezoidal (Tustin) rule of Flacco 2016 (13), with the actual period
    T_k = t_k - t_{k-1} of each sample instead of a constant one, and written for increments, which is the
    same recursion without sums that grow with time:

        i_k = p_k - p_{k-1} - T_k/2 (f_k + f_{k-1}),   f = tau_J + C^T dq - g
        r_k = ((1 - K_O T_k/2) r_{k-1} + K_O i_k) / (1 + K_O T_k/2)

    A lost sample lengthens T_k and costs only the accuracy of the trapezoid. The step is stable for any
    T_k > 0. Samples with a repeated or older stamp, or with values that are not finite, are ignored. After a
    gap longer than `maximum_gap` the integrals are not trusted: the observer starts again from the sample and
    keeps the residual. So it does when the clock jumps back by more than that.

    Give `time` counted from the start of the task: a stamp of 1.7e9 s resolves only 0.2 us.

    Attributes (arrays that the next call of `observe` overwrites, but for the last):
        residual: r (n,) [Nm], estimate of the external joint torque, positive when it accelerates the joint.
        residual_rate: (r_k - r_{k-1}) / T_k (n,) [Nm/s], Proper 2021 (3.4); 0 where it restarts,
            unchanged by an ignored sample. It is the mean over T_k: a lost sample dilutes the rate of a short
            impact by the longer period. A stamp sooner than `shortest_period` after a late one would make a large
            rate of the noise: it counts as that period.
        advanced: whether the last sample moved the residual (not: first, after a gap, ignored).
        time: stamp [s] of the last sample that was not ignored, minus infinity before the first.
        missed_torque: (n,) [Nm], zeros until the caller writes to it: mean over the period up to the next sample of
            what tau_J was beside its trapezoid, where it is known to have jumped in between.
    """

    def __init__(
        self,
        gain: Vector,
        damping_over_stiffness: Vector,
        maximum_gap: float = MAXIMUM_GAP,
        shortest_period: float = 0.0,
    ) -> None:
        """Set the tuning; n is the length of `gain`.

        gain: diagonal of K_O (n,) [1/s], above 0; usually 10 to 200 (Proper 2021, 2.5).
        damping_over_stiffness: diagonal of D K^-1 (n,) [s]; zeros for rigid joints.
        maximum_gap: longest period [s] over which the observer integrates; shortest_period: [s] for the rate.
        Raises InvalidInputError for anything else.
        """
        gains = checked_vector("gain", gain, zero_allowed=False)
        n = gains.size
        names = ("gain", "damping_over_stiffness", "momentum", "drive", "previous_momentum", "previous_drive")
        self._memory = named_memory(**dict.fromkeys((*names, "residual", "residual_rate", "missed_torque"), (n,)))
        self._memory["gain"] = gains
        self._memory["damping_over_stiffness"] = checked_vector("damping_over_stiffness", damping_over_stiffness, n)
        self._maximum_gap = require_positive("maximum_gap", maximum_gap)
        self._shortest = require_not_negative("shortest_period", shortest_period)
        self.residual: Vector = self._memory["residual"]
        self.residual_rate: Vector = self._memory["residual_rate"]
        self.missed_torque: Vector = self._memory["missed_torque"]
        self.advanced = False
        self.time = -math.inf
        _advance(self._memory, 0.0, 0.0)  # compiles the kernel here and not in the loop
        self.reset()

    def reset(self) -> None:
        """Forget everything: residual 0, and the next sample is the first, without a jump."""
        self.residual[:] = 0.0
        self.residual_rate[:] = 0.0
        self.advanced = False
        self.time = -math.inf

    def observe(
        self,
        mass_matrix: Matrix,
        velocity: Vector,
        joint_torque: Vector,
        coriolis_transposed_velocity: Vector,
        gravity: Vector,
        time: float,
    ) -> Vector:
        """Take one sample and return `residual` (n,) [Nm]. Never raises on values; shapes are as stated.

        mass_matrix: M(q) (n, n) of the links, [kg m^2].
        velocity: dq (n,) [rad/s].
        joint_torque: tau_J (n,) [Nm], torque measured in the transmission, or the applied torque of a rigid
            joint. It includes what carries the arm against gravity.
        coriolis_transposed_velocity: C^T(q, dq) dq (n,) [Nm].
        gravity: g(q) (n,) [Nm].
        time: stamp of the sample [s].
        """
        self.advanced = False
        period = sample_period(time - self.time, self._maximum_gap)
        if math.isnan(period):
            return self.residual
        _sum_up(self._memory, mass_matrix, velocity, joint_torque, coriolis_transposed_velocity, gravity)
        if _advance(self._memory, period, self._shortest):
            self.time = time
            self.advanced = period > 0.0
        return self.residual
