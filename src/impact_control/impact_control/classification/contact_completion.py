"""Tells from measured signals when an end-effector touches with all its contact points."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.errors import InvalidInputError
from impact_control.observation.validation import checked_count, checked_number
from impact_control.types import Matrix, Vector


@dataclass(frozen=True)
class CompletionParameters:
    """What counts as full contact. Raises InvalidInputError outside the ranges.

    window: samples, at least 2, over which both means below are taken; and how many samples in a row they have to
        hold. Twice that is the delay.
    largest_speed: [m/s], above 0; mean speed of a contact point along the normal of the face.
    least_force: [N], above 0; mean force on the face.
    """

    window: int
    largest_speed: float
    least_force: float

    def __post_init__(self) -> None:
        checked_count("window", self.window, 2)
        checked_number("largest_speed", self.largest_speed, zero_allowed=False)
        checked_number("least_force", self.least_force, zero_allowed=False)


def external_force(jacobian: Matrix, external_torque: Vector) -> Vector:
    """Return the force (3,) [N] at the origin of E, axes of A, that explains the external torque best.

    The least wrench F with the least |J^T F - tau_ext|; Proper 2021 (2.84). jacobian (6, n): of E, mixed frame E[A],
    linear part first. external_torque (n,) [Nm]. A planar arm gets exactly the wrench in its plane.
    """
    wrench = np.asarray(np.linalg.lstsq(jacobian.T, external_torque, rcond=None)[0], dtype=np.float64)
    return wrench[:3]


class ContactCompletion:
    """Full contact of a flat face, one sample at a time; for the problem of Proper 2021, 5.2, "contact completion".

    In full contact the face lies in the surface, whatever the tilt of that: then no contact point moves along the
    normal of the face, z of E, and the surface bears on the face. With p_i the contact points from E,

        |mean of z_E . (v + omega x p_i)| <= largest_speed for every i,    mean of -z_E . f >= least_force

    over the last `window` samples, and at `window` samples in a row. Before that one of them is not met: while the
    face turns about the points that touch, the others move; while all points are in the air after a bounce, also at
    its height where they are slow, nothing bears on it. An impact takes the force of a window far above least_force,
    and the velocity before and after it may cancel; but not in every window that it is in. What the surface is tilted
    by, which points touched, and how often, need not be known, and no impact is counted. A single point is in full
    contact when it rests.

    z of E points out of the face, towards the surface. For a face with its points on one line in space, a turn about
    that line is free and not looked at.

    Attributes:
        complete: whether full contact was found since `reset`.
        contact_time: [s] first sample of the first window that showed it; NaN before.
        decision_time: [s] last sample of the last one; NaN before.
        speeds: (n_c,) means [m/s]; force: mean [N]. Of the last window that was full; NaN before.
    """

    def __init__(self, contact_points: Matrix, parameters: CompletionParameters) -> None:
        """contact_points (n_c, 3) [m]: from the origin of E, axes of E. Raises InvalidInputError for none."""
        points = np.array(contact_points, dtype=np.float64)
        if points.ndim != 2 or points.shape[0] < 1 or points.shape[1] != 3 or not np.all(np.isfinite(points)):
            raise InvalidInputError("contact_points", contact_points, "one or more rows of three finite numbers in m")
        self.parameters = parameters
        # z . (v + omega x p) in the axes of E, as one row a point for (v_z, omega_x, omega_y).
        self._rows = np.column_stack((np.ones(len(points)), points[:, 1], -points[:, 0]))
        self._began = math.nan
        self._samples = np.zeros((parameters.window, len(points) + 1))
        self._times = np.zeros(parameters.window)
        self.speeds: Vector = np.zeros(len(points))
        self.reset()

    def reset(self) -> None:
        """Forget all samples: for the first impact of a task."""
        self._count = 0
        self._held = 0
        self.complete = False
        self.contact_time = math.nan
        self.decision_time = math.nan
        self.speeds[:] = math.nan
        self.force = math.nan

    def update(self, time: float, rotation: Matrix, twist: Vector, force: Vector) -> bool:
        """Take a sample; return whether it is the one that shows full contact for the first time.

        time: [s]; samples with a repeated or older stamp, or with numbers that are not finite, are ignored.
        rotation: (3, 3), axes of E as columns in A. twist: (6,) of E, mixed frame E[A], linear part first [m/s,
        rad/s]. force: (3,) [N] of the surroundings on E, axes of A, from the momentum residual r: `external_force` of
        r + K_O^-1 dr/dt, which undoes the filter of the observer, (2.90).
        """
        window = self.parameters.window
        if self.complete or (self._count and not time > self._times[(self._count - 1) % window]):
            return False
        normal = rotation[:, 2]
        motion = np.array([normal @ twist[:3], rotation[:, 0] @ twist[3:], rotation[:, 1] @ twist[3:]])
        load = -float(normal @ force)
        if not (math.isfinite(load) and math.isfinite(motion.sum())):
            return False
        slot = self._count % window
        self._times[slot] = time
        self._samples[slot, :-1] = self._rows @ motion
        self._samples[slot, -1] = load
        self._count += 1
        if self._count < window:
            return False
        means = self._samples.mean(axis=0)
        self.speeds[:] = means[:-1]
        self.force = float(means[-1])
        at_rest = bool(np.all(np.abs(self.speeds) <= self.parameters.largest_speed))
        if not (at_rest and self.force >= self.parameters.least_force):
            self._held = 0
            return False
        if self._held == 0:
            self._began = float(self._times[self._count % window])
        self._held += 1
        if self._held < window:
            return False
        self.complete = True
        self.contact_time = self._began
        self.decision_time = time
        return True
