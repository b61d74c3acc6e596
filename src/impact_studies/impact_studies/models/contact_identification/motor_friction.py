"""Effect of motor friction on the task, from the feedback of repeated runs. van Steen 2024, appendix A.

A run of the reference without impact and with everything else fed forward leaves to the feedback what friction takes.
Its mean over the runs, fed forward, takes its place. Ante- and post-impact modes are identified apart, each with runs
of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from impact_control.recording.net_feedback import Track, feedback_acceleration
from impact_control.util.checks import increasing_stamps
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector


@dataclass(frozen=True, eq=False)
class MotorFriction:
    """Feed-forward acceleration against friction along a reference.

    Attributes:
        time: (m,) [s] stamps of the reference.
        acceleration: a_fric (m, d) [m/s^2], in the frame of the reference; its sign is that of the feedback, against
            friction.
        standard_error: (m, d) [m/s^2] of that mean, from the scatter of the runs.
        runs: their number.
    """

    time: Vector
    acceleration: Matrix
    standard_error: Matrix
    runs: int

    def at(self, time: float) -> Vector:
        """Return a_fric (d,) [m/s^2] at a time [s], linear between the stamps; the first or last one outside."""
        return np.array([np.interp(time, self.time, column) for column in self.acceleration.T])


def identify_motor_friction(
    time: Vector,
    reference: Track,
    runs: Sequence[Track],
    stiffness: float,
    *,
    compensation: MotorFriction | None = None,
) -> MotorFriction:
    """Return a_fric from the feedback of runs along a reference: van Steen 2024 (30), and its mean (31).

    The feedback only answers to errors: it is behind the friction by about 2 / sqrt(k_p), and where friction changes
    faster it is smoothed. Runs with the compensation found so far, given as `compensation`, add what was left of it.

    Args:
        time: (m,) [s], increasing, of the samples of all runs.
        reference: desired track of the point, (m, d).
        runs: measured tracks, each (m, d); at least two, so that their scatter is known.
        stiffness: k_p [1/s^2] of the runs, above 0.
        compensation: feed-forward of the runs against friction; None: none. The same stamps.

    Raises InvalidInputError for anything else.
    """
    samples, directions = reference.position.shape
    stamps = increasing_stamps("time", time, samples)
    if len(runs) < 2:
        raise InvalidInputError("runs", len(runs), "at least two")
    if compensation is not None and not np.array_equal(compensation.time, stamps):
        raise InvalidInputError("compensation", compensation.time, "one with the stamps of the runs")
    one = np.ones(samples)
    feedback = np.array([feedback_acceleration(reference, run, stiffness, one) for run in runs])
    given = np.zeros((samples, directions)) if compensation is None else compensation.acceleration
    return MotorFriction(
        time=stamps,
        acceleration=given + feedback.mean(axis=0),
        standard_error=feedback.std(axis=0, ddof=1) / math.sqrt(len(runs)),
        runs=len(runs),
    )
