"""Detection of full contact: all contact points of an end-effector touch. Proper 2021 section 5.2."""

from __future__ import annotations

import math

import numpy as np

from impact_control.scenario import CompletionSettings
from impact_control.util.compiled import compiled
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector


@compiled
def measure_face(rotation: Matrix, twist: Vector, force: Vector, points: Matrix, sample: Vector) -> bool:
    """Write z_E . (v + omega x p_i) of every point and -z_E . f to `sample` (n_c + 1,); return whether all are finite.

    rotation (3, 3), twist (6,), force (3,): as in `ContactCompletion.observe`. points p_i (n_c, 3), axes of E.
    """
    speed = about_x = about_y = load = 0.0
    for k in range(3):
        speed += rotation[k, 2] * twist[k]
        about_x += rotation[k, 0] * twist[3 + k]
        about_y += rotation[k, 1] * twist[3 + k]
        load -= rotation[k, 2] * force[k]
    for i in range(points.shape[0]):
        sample[i] = speed + about_x * points[i, 1] - about_y * points[i, 0]
    sample[points.shape[0]] = load
    return math.isfinite(speed + about_x + about_y + load)


@compiled
def is_supported(samples: Matrix, means: Vector, largest_speed: float, least_force: float) -> bool:
    """Write the means over a window of `samples` (k, n_c + 1) to `means`; return whether they are those of a contact.

    The speeds of more points than one have to be small, the load, the last of them, large.
    """
    count, points = samples.shape[0], samples.shape[1] - 1
    means[:] = 0.0
    for k in range(count):
        for i in range(points + 1):
            means[i] += samples[k, i]
    slow = True
    for i in range(points + 1):
        means[i] /= count
        if i < points and points > 1 and abs(means[i]) > largest_speed:
            slow = False
    return slow and means[points] >= least_force


class ContactCompletion:
    """Full contact of a flat face, one sample at a time; for the problem of Proper 2021, 5.2, "contact completion".

    In full contact the face lies in the surface, whatever the tilt of that: then no contact point moves along the
    normal of the face, z of E, and the surface bears on the face. With p_i the contact points from E,

        |mean of z_E . (v + omega x p_i)| <= largest_speed for every i,    mean of -z_E . f >= least_force

    over the last `window` samples, and at `window` samples in a row. Before that one of them is not met: while the
    face turns about the points that touch, the others move; while all points are in the air after a bounce, also at
    its height where they are slow, nothing bears on it. An impact takes the force of a window far above least_force,
    and the velocity before and after it may cancel; but not in every window that it is in. What the surface is tilted
    by, which points touched, and how often, need not be known, and no impact is counted.

    A single point has no face that could lie in the surface: sliding along a tilt of beta at the speed v it moves with
    v sin(beta) along z_E permanently. It is in full contact as soon as the surface goes on bearing on it; its speed
    does not matter.

    z of E points out of the face, towards the surface. For a face with its points on one line in space, a turn about
    that line is free and not looked at.

    Attributes:
        complete: whether full contact was found since `reset`.
        contact_time: [s] first sample of the first window that showed it; NaN before.
        decision_time: [s] last sample of the last one; NaN before.
        speeds: (n_c,) means [m/s], overwritten by the next call; force: mean [N]. Of the last window that was full;
            NaN before.
    """

    def __init__(self, contact_points: Matrix, settings: CompletionSettings) -> None:
        """contact_points (n_c, 3) [m]: from the origin of E, axes of E. Raises InvalidInputError for none."""
        points = np.array(contact_points, dtype=np.float64)
        if points.ndim != 2 or points.shape[0] < 1 or points.shape[1] != 3 or not np.all(np.isfinite(points)):
            raise InvalidInputError("contact_points", contact_points, "one or more rows of three finite numbers in m")
        self.settings = settings
        self._points = points
        self._rotation, self._twist, self._force = np.eye(3), np.zeros(6), np.zeros(3)
        self._sample = np.zeros(len(points) + 1)
        self._samples = np.zeros((settings.window, len(points) + 1))
        self._means = np.zeros(len(points) + 1)
        self._times = np.zeros(settings.window)
        self._began = math.nan
        self.speeds: Vector = self._means[:-1]
        # Compiles the kernels here and not in the loop.
        measure_face(self._rotation, self._twist, self._force, self._points, self._sample)
        self._is_supported()
        self.reset()

    def reset(self) -> None:
        """Forget all samples: for the first impact of a task."""
        self._count = 0
        self._held = 0
        self.complete = False
        self.contact_time = math.nan
        self.decision_time = math.nan
        self._means[:] = math.nan

    @property
    def force(self) -> float:
        """Mean force on the face [N] over the last window that was full; NaN before."""
        return float(self._means[-1])

    def observe(self, time: float, rotation: Matrix, twist: Vector, force: Vector) -> bool:
        """Take a sample; return whether it is the one that shows full contact for the first time.

        time: [s]; samples with a repeated or older stamp, or with numbers that are not finite, are ignored.
        rotation: (3, 3), axes of E as columns in A. twist: (6,) of E, mixed frame E[A], linear part first [m/s,
        rad/s]. force: (3,) [N] of the surroundings on E, axes of A, such as that of `ExternalForce`.
        """
        window = self.settings.window
        if self.complete or (self._count and not time > self._times[(self._count - 1) % window]):
            return False
        self._rotation[:] = rotation
        self._twist[:] = twist
        self._force[:] = force
        if not measure_face(self._rotation, self._twist, self._force, self._points, self._sample):
            return False
        slot = self._count % window
        self._times[slot] = time
        self._samples[slot] = self._sample
        self._count += 1
        if self._count < window:
            return False
        if not self._is_supported():
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

    def _is_supported(self) -> bool:
        settings = self.settings
        return is_supported(self._samples, self._means, settings.largest_speed, settings.least_force)
