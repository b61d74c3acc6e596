"""What no isolation can beat: what the residual of an impact tells of its link, against its noise."""

from __future__ import annotations

import numpy as np

from impact_control.robots import RobotDescription
from impact_control.studies.detection.arms import TOUCH, ArmSetting
from impact_control.studies.detection.methods import momentum_terms, observe
from impact_control.studies.detection.motion import PERIOD, Record
from impact_control.types import Matrix, Vector

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
