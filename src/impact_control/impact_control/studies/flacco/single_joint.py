"""Flacco 2016, II and Fig. 2: one joint with a gap of 0.1 rad, and what the classical residual says of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.observation import BacklashModel
from impact_control.observation.first_order_filter import low_pass_series
from impact_control.studies.flacco.evaluation import AFTER, START, crossings
from impact_control.studies.flacco.experiments import (
    DETECTION_GAIN,
    Drive,
    backlash_residual,
    classical_residual,
    no_load,
    sinusoids,
)
from impact_control.studies.flacco.recording import Recording, simulate
from impact_control.types import Matrix, Vector

AMPLITUDE, FREQUENCY = 0.5, 0.25
"""[rad], [Hz] of the motor's sine. Our choice."""

_NONE = np.zeros(1)

JOINT = BacklashModel(
    gap=np.array([0.1]),
    stiffness=np.array([1500.0]),
    damping=np.array([20.0]),
    gap_viscous=_NONE,
    gap_dry=_NONE,
    link_viscous=_NONE,
    link_dry=_NONE,
    motor_viscous=_NONE,
    motor_dry=_NONE,
)
"""Its gap is that of Fig. 2; no friction, which the source brings in only later. The rest is our choice."""

MASS, LEVER, INERTIA = 1.0, 0.5, 0.1
"""[kg], [m] of the link, [kg m^2] of the motor. Our choice."""

_GRAVITY = 9.81
"""[m/s^2]"""


class Pendulum:
    """A point mass that hangs from one joint, and its motor with the loop of `HangingArm`: a `Mechanism`."""

    def __init__(self, loop_rate: float = 40.0) -> None:
        """loop_rate [1/s]: both poles of the motor's position loop with the inertia of the link."""
        self.motor_inertia: Vector = np.array([INERTIA])
        self.update(np.zeros(1), np.zeros(1))
        inertia = np.diag(self.mass_matrix) + self.motor_inertia
        self.position_gain: Vector = inertia * loop_rate**2
        self.velocity_gain: Vector = 2.0 * inertia * loop_rate

    def update(self, q: Vector, dq: Vector) -> None:
        """Take the angle q (1,) [rad] from hanging down."""
        del dq
        self._angle = q

    @property
    def mass_matrix(self) -> Matrix:
        """M (1, 1) [kg m^2] of the link."""
        return np.full((1, 1), MASS * LEVER**2)

    @property
    def coriolis(self) -> Vector:
        """C dq (1,) [Nm]: a single joint has none."""
        return np.zeros(1)

    @property
    def coriolis_transposed_velocity(self) -> Vector:
        """C^T dq (1,) [Nm]: a single joint has none."""
        return np.zeros(1)

    @property
    def gravity(self) -> Vector:
        """g (1,) [Nm]."""
        weight: Vector = MASS * _GRAVITY * LEVER * np.sin(self._angle)
        return weight


def record_swing(duration: float) -> Recording:
    """Record the joint without noise while its motor follows the sine for `duration` [s]."""
    sine = sinusoids(np.array([[AMPLITUDE]]), np.array([[FREQUENCY]]), np.zeros((1, 1)), centre=np.zeros(1))
    return simulate(Pendulum(), JOINT, sine, no_load, duration, np.random.default_rng(0), noise=0.0)


@dataclass(frozen=True, eq=False)
class Swing:
    """What the residuals say of the joint; [Nm] all but the recording.

    Attributes:
        recording: of `record_swing`.
        classical, backlash: residuals (2) and (12) (m,).
        untransmitted: the torque on the link less the one that (2) assumes, through the filter of the residual (m,).
        inside: largest classical residual in each crossing of the gap (k,).
        arrival: largest one after the end of each crossing, while the residual forgets it (k,).
        elsewhere: largest one while the motor carries the link, the gap being forgotten.
        apart: largest difference of the classical residual and `untransmitted`.
    """

    recording: Recording
    classical: Vector
    backlash: Vector
    untransmitted: Vector
    inside: Vector
    arrival: Vector
    elsewhere: float
    apart: float


def untransmitted_torque(recording: Recording) -> Vector:
    """Return what the link gets less what the classical residual assumes (m,) [Nm], filtered as the residual is.

    tau_L = tau_M - B ddtheta without friction; assumed is tau_M - B ddq, a motor that moves with the link, so that the
    difference is B (ddq - ddtheta). And tau_M is held from sample to sample, while the mean of two is assumed, (13).
    """
    rate = recording.velocity - recording.motor_velocity
    inertial = INERTIA * np.diff(rate, axis=0) / np.diff(recording.time)[:, None]
    means = inertial - 0.5 * np.diff(recording.motor_torque, axis=0)
    return low_pass_series(recording.time, means, DETECTION_GAIN)[:, 0]


def judge_swing(recording: Recording) -> Swing:
    """Compute the residuals of a recording and compare them inside the gap and outside."""
    classical = classical_residual(recording, JOINT, Pendulum().motor_inertia)[:, 0]
    backlash = backlash_residual(recording, JOINT, np.zeros(1), Drive.SPRING)[:, 0]
    untransmitted = untransmitted_torque(recording)
    time, deflection = recording.time, recording.deflection[:, 0]
    size, gap = np.abs(classical), float(JOINT.gap[0])
    forget = round(AFTER / (time[1] - time[0]))
    found = [(first, last) for first, last in crossings(deflection, gap) if time[first] > START]
    # How many samples ago the link was in its gap; a rebound counts, too.
    index = np.arange(time.size)
    ago = index - np.maximum.accumulate(np.where(np.abs(deflection) < gap, index, -forget - 1))
    carried = (ago > forget) & (time > START)
    return Swing(
        recording=recording,
        classical=classical,
        backlash=backlash,
        untransmitted=untransmitted,
        inside=np.array([size[first:last].max() for first, last in found]),
        arrival=np.array([size[last : last + forget + 1].max() for _, last in found]),
        elsewhere=float(size[carried].max()),
        apart=float(np.abs(classical - untransmitted)[time > START].max()),
    )
