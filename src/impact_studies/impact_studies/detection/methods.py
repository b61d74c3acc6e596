"""The detectors that are compared, and their scores over a whole record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.signal import lfilter

from impact_control.detection import Detector, LinkIsolation, ScoreDetector, score_class
from impact_control.robots import RobotDescription
from impact_control.util.types import Matrix, Vector
from impact_studies.detection.motion import PERIOD, TOUCH, ArmSetting, Record

REFRACTORY = 0.01
"""[s] between two events. Longer than a hard contact lasts, Proper 2021, 4.1.3."""

ISOLATION_GAIN = 100.0
"""[1/s] K_O of the residual that isolates the link, for all methods."""


@dataclass(frozen=True, eq=False)
class Observed:
    """Record as the robot measures it, with noise, and with its model.

    position, velocity, joint_torque, commanded_torque (m, n); momentum_change (m, n) [kg m^2/s]: of p - D K^-1 tau_J
    over each sample beyond what its torques explain, the input of the residual.
    """

    time: Vector
    position: Matrix
    velocity: Matrix
    joint_torque: Matrix
    commanded_torque: Matrix
    momentum_change: Matrix

    def residual(self, gain: float) -> Matrix:
        """Return r (m, n) [Nm] for K_O = gain [1/s], Flacco 2016 (13); it starts where it would have settled."""
        decay = 0.5 * gain * PERIOD
        start = self.momentum_change[1:31].mean(axis=0) / PERIOD
        pole = (1.0 - decay) / (1.0 + decay)
        numerator, denominator = [gain / (1.0 + decay)], [1.0, -pole]
        filtered, _ = lfilter(numerator, denominator, self.momentum_change, axis=0, zi=pole * start[None, :])
        residual: Matrix = np.ascontiguousarray(filtered)
        return residual


def observe(robot: RobotDescription, record: Record, noise: float, inertias: Sequence[float]) -> list[Observed]:
    """Measure a record with `noise` times the noise of a Panda, Proper 2021 (3.5), clipped as in `Sensors`.

    inertias: factors on all masses and moments of the robot's model against the arm, gravity included; one result
    for each, of the same samples.
    """
    widths = robot.noise

    q = record.position + noise * widths.position / 3.0 * record.noise[0]
    dq = record.velocity + noise * widths.velocity / 3.0 * record.noise[1]
    torque = record.joint_torque + noise * widths.torque / 3.0 * record.noise[2]
    # All terms of the model are proportional to its masses and moments.
    momentum, drive = momentum_terms(robot, q, dq)
    damper = robot.transmission.damping / robot.transmission.stiffness * torque

    def change(factor: float) -> Matrix:
        driven = torque + factor * drive
        changes: Matrix = np.zeros(q.shape)
        changes[1:] = np.diff(factor * momentum - damper, axis=0) - 0.5 * PERIOD * (driven[1:] + driven[:-1])
        return changes

    return [Observed(record.time, q, dq, torque, record.commanded_torque, change(factor)) for factor in inertias]


def momentum_terms(robot: RobotDescription, q: Matrix, dq: Matrix) -> tuple[Matrix, Matrix]:
    """Return M dq and C^T dq - g, each (m, n)."""
    model, data = robot.pinocchio_model, robot.pinocchio_model.createData()
    momentum, drive = np.zeros_like(q), np.zeros_like(q)
    for k in range(len(q)):
        coriolis = pin.computeCoriolisMatrix(model, data, q[k], dq[k])
        momentum[k] = pin.crba(model, data, q[k]) @ dq[k]
        drive[k] = dq[k] @ coriolis - pin.computeGeneralizedGravity(model, data, q[k])
    return momentum, drive


@dataclass(frozen=True)
class Method:
    """One detector with its tuning but the bounds: name in tables, that of its score, K_O, window and gaps."""

    name: str
    kind: str
    gain: float = ISOLATION_GAIN
    window: int = 8
    gaps: tuple[int, ...] = ()

    def detector(self, arm: ArmSetting, threshold: Vector, isolation: Vector) -> Detector:
        """Return the streaming detector with these bounds."""
        size = len(arm.home)
        score = score_class(self.kind)(size=size, **self._parameters(arm))
        return ScoreDetector(score, size, threshold, REFRACTORY, isolation=LinkIsolation(isolation))

    def _parameters(self, arm: ArmSetting) -> dict[str, object]:
        if self.kind == "torque_error":
            return {"joints": arm.torque_joints}
        return {"window": self.window, "gaps": self.gaps} if self.kind == "velocity_jump" else {}

    def score(self, arm: ArmSetting, seen: Observed) -> Matrix:
        """Return the score (m, channels) at every sample, as the streaming detector computes it."""
        if self.kind == "torque_error":
            chosen = [j - 1 for j in arm.torque_joints]
            error = np.abs(seen.joint_torque - seen.commanded_torque)[:, chosen]
            return np.asarray(error.sum(axis=1, keepdims=True))
        if self.kind == "velocity_jump":
            return np.hstack([_jumps(seen.velocity, self.window, gap) for gap in self.gaps])
        residual = seen.residual(self.gain)
        if self.kind == "residual":
            return np.abs(residual)
        return np.abs(np.diff(residual, axis=0, prepend=residual[:1])) / PERIOD


def _jumps(velocity: Matrix, window: int, gap: int) -> Matrix:
    """Return |dq - prediction| (m, n) of `VelocityJumpScore` at even stamps: a filter with constant weights."""
    times = -np.arange(gap, gap + window, dtype=float)
    centred = times - times.mean()
    line = 1.0 / window - times.mean() * centred / (centred @ centred)
    weights = np.concatenate(([1.0], np.zeros(gap - 1), -line))
    jumps: Matrix = np.abs(np.ascontiguousarray(lfilter(weights, [1.0], velocity, axis=0)))
    jumps[: gap + window - 1] = 0.0
    return jumps


METHODS = (
    Method("residual rate, K_O = 30", "residual_rate", 30.0),
    Method("residual rate, K_O = 200", "residual_rate", 200.0),
    Method("residual, K_O = 30", "residual", 30.0),
    Method("residual, K_O = 100", "residual", 100.0),
    Method("residual, K_O = 500", "residual", 500.0),
    Method("velocity jump, gap 1", "velocity_jump", gaps=(1,)),
    Method("velocity jump, gaps 1, 3", "velocity_jump", window=16, gaps=(1, 3)),
    Method("velocity jump, gaps 1, 3, 8", "velocity_jump", gaps=(1, 3, 8)),
    Method("torque error", "torque_error"),
)
"""All compared methods. K_O = 30: Proper 2021, 3.3.1; the rate only grows with it, the residual gets faster."""


PAST = 25
"""Samples before the impact that are known, as to `LinkIsolation`."""

STEP = 1e-6
"""[rad, rad/s] of the differences that tell what noise makes of the momentum."""


def link_distance(
    robot: RobotDescription, arm: ArmSetting, contact: str, joint_friction: bool, record: Record
) -> Vector:
    """Return how far the contact is from the likest one on the next link inwards, at each sample (m,) of a record.

    A contact inside joint i makes no torque about it and the joints beyond, and can make any about the joints further
    in; so of the residual only the rows from i on tell the two links apart. The ideal observer knows the model, joint
    friction included, and the course of both contacts. What is left to it is the noise of the momentum changes from
    PAST samples before the impact on: the distance is in its standard deviations at the published noise, and the best
    decision between two equally probable links is right with the probability Phi(distance / 2).
    """
    inner = (arm.touched_link if contact == TOUCH else arm.reacting_link) - 1
    impact = int(np.searchsorted(record.time, record.closings[0]))
    (exact,) = observe(robot, record, 0.0, (1.0,))
    external = exact.momentum_change
    if joint_friction:
        external = external + _friction_impulse(robot, record)
    signal = np.where(np.arange(len(external))[:, None] >= impact, external, 0.0)[impact - PAST :, inner:]
    before, now = noise_of_changes(robot, record.position[impact - 1], record.velocity[impact - 1])
    distance: Vector = np.zeros(len(external))
    distance[impact - PAST :] = np.sqrt(np.cumsum(squared_innovations(signal, before[inner:], now[inner:])))
    return distance


def noise_of_changes(robot: RobotDescription, q: Vector, dq: Vector) -> tuple[Matrix, Matrix]:
    """Return what the noise of the sample before (n, 3 n) and of this one (n, 3 n) makes of a momentum change.

    For noise of q, dq and tau_J with the standard deviation 1 in units of the published one. The change is that of
    p - D K^-1 tau_J less the mean of tau_J + C^T dq - g times the period, see `observe`.
    """
    n, widths = q.size, robot.noise
    apart = STEP * np.eye(2 * n)
    states = np.concatenate((q, dq)) + np.vstack((apart, -apart))
    momentum, drive = (
        (values[: 2 * n] - values[2 * n :]).T / (2.0 * STEP)
        for values in momentum_terms(robot, states[:, :n], states[:, n:])
    )
    transmission = robot.transmission
    scale = np.concatenate((widths.position, widths.velocity, widths.torque)) / 3.0
    kept = scale * np.hstack((momentum, -np.diag(transmission.damping / transmission.stiffness)))
    driven = scale * np.hstack((drive, np.eye(n)))
    return -kept - 0.5 * PERIOD * driven, kept - 0.5 * PERIOD * driven


def squared_innovations(signal: Matrix, before: Matrix, now: Matrix) -> Vector:
    """Return what each sample (m,) of a signal (m, r) adds to its squared distance from 0.

    Its noise is before @ w_{k-1} + now @ w_k with w white and of variance 1: each sample is correlated with its
    neighbours only, and what the past tells of it is taken off step by step, as in a Kalman filter.
    """
    alone, shared = before @ before.T + now @ now.T, before @ now.T
    covariance, rest = alone, np.zeros(signal.shape[1])
    added: Vector = np.zeros(len(signal))
    for k, value in enumerate(signal):
        if k:
            gain = np.linalg.solve(covariance, shared.T).T
            covariance = alone - gain @ shared.T
            rest = gain @ rest
        rest = value - rest
        added[k] = rest @ np.linalg.solve(covariance, rest)
    return added


def _friction_impulse(robot: RobotDescription, record: Record) -> Matrix:
    """Return what joint friction took of the momentum in the sample before each sample (m, n) [Nms]."""
    torque = np.array([robot.friction.torque(dq, np.zeros_like(dq)) for dq in record.velocity])
    impulse: Matrix = np.zeros(torque.shape)
    impulse[1:] = 0.5 * PERIOD * (torque[1:] + torque[:-1])
    return impulse
