"""What came of the third experiment: when the arm yielded, how far, and how it went on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_control.identification.backlash import flag_runs
from impact_control.studies.flacco.evaluation import AFTER, alarm_count, delay
from impact_control.studies.flacco.experiments import FADE, SINE_FREQUENCY, Contact, figure_8_motion
from impact_control.studies.flacco.guidance import ADMITTANCE_GAIN, FOLLOWING
from impact_control.studies.flacco.recording import PERIOD, Recording
from impact_control.types import Matrix, Vector

_AT_REST = 200
"""Samples before the sine goes on, of which the mean is the place to which the arm was led."""


@dataclass(frozen=True, eq=False)
class Guidance:
    """The third experiment: its recording, the residual (m, n) [Nm] and the flag (m,) of `GuidedSine`, and the pushes.

    threshold (n,) [Nm].
    """

    recording: Recording
    residual: Matrix
    yielding: NDArray[np.bool_]
    threshold: Vector
    pushes: tuple[Contact, Contact]

    @property
    def alarms(self) -> int:
        """How many times the residual is above a threshold while nobody pushes."""
        return alarm_count(self.residual, self.recording.time, self.threshold, self.pushes)

    @property
    def loudest(self) -> float:
        """Largest residual before the first push over its threshold."""
        time = self.recording.time
        before = (time > FADE) & (time < self.pushes[0].start)
        return float(np.max(np.abs(self.residual[before]) / self.threshold))

    @property
    def delays(self) -> tuple[float | None, ...]:
        """After how long [s] each push is felt."""
        return tuple(delay(self.residual, self.recording.time, self.threshold, push) for push in self.pushes)

    @property
    def yields(self) -> list[tuple[int, int]]:
        """First sample of each stretch in which the law (15) is followed, and the one in which the sine goes on."""
        return flag_runs(self.yielding)


@dataclass(frozen=True, eq=False)
class Led:
    """An arm that was led to another place.

    Attributes:
        way: of the motors while the law was followed (n,) [rad].
        law_way: the same by the law (15) (n,) [rad]: K_a times the residual beyond its threshold, and what is left of
            the sine's speed as it dies out.
        printed_way: by the law as printed, with the whole residual (n,) [rad].
        pushed_way: of the motor that moved most while the person pushed, and until the residual had forgotten it [rad].
        idle_way: the same while nobody pushed, and the law was followed [rad].
        pause: longest time [s] between two residuals above a threshold while the law was followed.
        silence: [s] from the last of them to the moment in which the sine went on.
        shift: of the middle of the first joint's sine [rad].
        offset: from where the links were led to the middle of what they do then (n,) [rad].
        amplitudes: of the first joint's sine before and after [rad].
    """

    way: Vector
    law_way: Vector
    printed_way: Vector
    pushed_way: float
    idle_way: float
    pause: float
    silence: float
    shift: float
    offset: Vector
    amplitudes: tuple[float, float]


def measure(guidance: Guidance) -> Led | None:
    """Return what the person did to the arm; None unless it yielded once, and went on."""
    if len(guidance.yields) != 1 or guidance.yields[0][1] == guidance.yielding.size:
        return None
    (begin, end), recording = guidance.yields[0], guidance.recording
    time, motor, link = recording.time, recording.motor_position, recording.position
    torque = guidance.residual[begin:end]
    beyond = torque - np.clip(torque, -guidance.threshold, guidance.threshold)
    touched = np.flatnonzero(np.any(np.abs(torque) >= guidance.threshold, axis=1))
    speed = figure_8_motion()(float(time[begin]))[1]
    pushed = [(time[begin:end] >= push.start) & (time[begin:end] <= push.end + AFTER) for push in guidance.pushes]
    hands_on = np.any(pushed, axis=0)
    before, before_amplitude = _sine(time, link, FADE, float(time[begin]))
    after, after_amplitude = _sine(time, link, float(time[end]) + FADE, float(time[-1]))
    led_to = link[end - _AT_REST : end].mean(axis=0)
    return Led(
        way=motor[end] - motor[begin],
        law_way=speed / FOLLOWING + ADMITTANCE_GAIN * PERIOD * beyond.sum(axis=0),
        printed_way=ADMITTANCE_GAIN * PERIOD * torque.sum(axis=0),
        pushed_way=_way(motor[begin:end], hands_on),
        idle_way=_way(motor[begin:end], ~hands_on),
        pause=float(np.diff(time[begin + touched]).max()),
        silence=float(time[end] - time[begin + touched[-1]]),
        shift=float(after[0] - before[0]),
        offset=after - led_to,
        amplitudes=(float(before_amplitude[0]), float(after_amplitude[0])),
    )


def _way(position: Matrix, flags: NDArray[np.bool_]) -> float:
    """Return the largest sum, of all joints, of the ranges of a position (m, n) in the stretches that are flagged."""
    ranges = [np.ptp(position[first:last], axis=0) for first, last in flag_runs(flags)]
    return float(np.max(np.sum(ranges, axis=0)))


def _sine(time: Vector, position: Matrix, start: float, end: float) -> tuple[Vector, Vector]:
    """Return the middle and the amplitude (n,) [rad] of the sine that fits positions (m, n) best from start to end."""
    span = (time >= start) & (time < end)
    angle = 2.0 * np.pi * SINE_FREQUENCY * time[span]
    columns = np.column_stack([np.ones(angle.size), np.sin(angle), np.cos(angle)])
    fit, *_ = np.linalg.lstsq(columns, position[span], rcond=None)
    return fit[0], np.hypot(fit[1], fit[2])
