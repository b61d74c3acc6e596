"""The random numbers of the experiments: those of a seed and of what they are for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.control.admittance import JointAdmittance
from impact_control.reaction import Silence, is_touched
from impact_control.scenario import Admittance
from impact_control.util.types import Matrix, Vector
from impact_studies.flacco.arm import JOINTS, PERIOD, POSTURE, HangingArm, Recording, Sample, simulate
from impact_studies.flacco.evaluation import AFTER, START, alarm_count, delay
from impact_studies.flacco.experiments import (
    DETECTION_GAIN,
    FADE,
    SINE_FREQUENCY,
    Contact,
    Drive,
    figure_8_motion,
    observe,
    pushes,
)
from impact_studies.models.observation.backlash_identification import flag_runs
from impact_studies.models.observation.backlash_model import BacklashModel
from impact_studies.models.observation.backlash_observer import BacklashObserver

GAPS, IDENTIFICATION, REST, VALIDATION, FIGURE_8, CONTACTS, SINGLE_JOINT = RECORDINGS = (
    "gaps",
    "identification",
    "rest",
    "validation",
    "figure 8",
    "contacts",
    "single joint",
)
"""Purposes of the recordings; that of the third experiment needs the results of the others."""

NOMINAL, GUIDANCE = "nominal model", "guidance"

_KEYS = {name: key for key, name in enumerate((*RECORDINGS, NOMINAL))} | {GUIDANCE: 100}
"""No two alike; a key that changes changes the results."""


def random_of(seed: int, name: str) -> np.random.Generator:
    """Return the random numbers of a seed for one of the names above."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_KEYS[name],)))


QUIET_TIME = 2.0
"""[s] below the threshold after which the sine goes on: Flacco 2016, V-D."""

ADMITTANCE_GAIN = 0.1
"""[rad/(Nm s)] K_a of Flacco 2016 (15), which is not published."""

FOLLOWING = 20.0
"""[1/s] at which the speed follows the law. Our choice, as K_a."""

_SPEED, _ACCELERATION, _EXCURSION = 1.0, 20.0, 1.5
"""[rad/s], [rad/s^2], [rad] bounds that are not reached here."""

PAUSE = 1.2
"""[s] between the two pushes, shorter than `QUIET_TIME`."""

FIRST_TORQUE = np.array([3.0, -2.0, 1.2, -1.0, 0.0, 0.0, 0.0])
SECOND_TORQUE = np.array([-1.5, -1.2, 0.8, -0.6, 0.0, 0.0, 0.0])
"""[Nm] peaks of the two pushes of a hand that grips link 4. Our choice, as their lengths and the pause."""

FIRST_LENGTH, SECOND_LENGTH = 2.5, 1.5
"""[s] of the pushes."""


def person(start: float) -> tuple[Contact, Contact]:
    """Return the two pushes of a person, the first from `start` [s]."""
    first = Contact(start, FIRST_LENGTH, FIRST_TORQUE)
    return first, Contact(first.end + PAUSE, SECOND_LENGTH, SECOND_TORQUE)


class GuidedSine:
    """Desired motion: a sine of joint 1 until something touches the arm; then the law (15); after silence the sine.

    Called with a time [s] it is a `Motion`, `watch` is to be given every sample. What it does in a sample counts from
    the next one on.

    Attributes: yielding, whether the law is followed; residual (n,) [Nm] of the last sample.
    """

    def __init__(self, observer: BacklashObserver, centre: Vector, threshold: Vector) -> None:
        """observer: of the residual; centre: offset of the encoders (n,) [rad]; threshold (n,) [Nm]."""
        n = threshold.size
        one, endless = np.ones(n), np.full(n, np.inf)
        self._admittance = JointAdmittance(-endless, endless, endless, FOLLOWING, PERIOD)
        # The clock of a task, which the last of them is for, does not exist here.
        settings = Admittance.of(
            gain=ADMITTANCE_GAIN * one,
            threshold=threshold,
            speed=_SPEED * one,
            acceleration=_ACCELERATION * one,
            excursion=_EXCURSION * one,
        )
        self._admittance.set_parameters(settings)
        self._observer, self._centre, self._threshold = observer, centre, threshold
        self._silence = Silence()
        self._sine = figure_8_motion()
        self.yielding = False
        self.residual: Vector = np.zeros(n)

    def __call__(self, time: float) -> tuple[Vector, Vector]:
        """Return desired motor position (n,) [rad] and velocity (n,) [rad/s]."""
        if self.yielding:
            return self._admittance.position.copy(), self._admittance.velocity.copy()
        return self._sine(time)

    def watch(self, sample: Sample) -> None:
        """Take a sample."""
        self.residual = observe(self._observer, sample, self._centre, Drive.SPRING)
        touched = sample.time > START and is_touched(self.residual, self._threshold)
        if not self.yielding:
            if not touched:
                return
            self.yielding = True
            self._admittance.begin(*self._sine(sample.time))
            self._silence.reset()
        if self._silence.measure(sample.time, touched) >= QUIET_TIME:
            self.yielding = False
            self._sine = figure_8_motion(sample.time, self._admittance.position.copy())
        else:
            self._admittance.advance(self.residual)


@dataclass(frozen=True)
class GuidanceCase:
    """The third experiment: the joints as identified, in the fields of `BacklashModel`, and what was calibrated.

    swing: [s] of the sine before the person comes, and after the arm has gone on.
    """

    seed: int
    swing: float
    gap: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    slip_speed: float
    centre: tuple[float, ...]
    threshold: tuple[float, ...]

    @classmethod
    def of(cls, seed: int, swing: float, model: BacklashModel, centre: Vector, threshold: Vector) -> GuidanceCase:
        """Return the case of a model, the offset of the encoders (n,) [rad] and thresholds (n,) [Nm]."""
        rows = tuple(tuple(row.tolist()) for row in model.coefficients)
        numbers = (tuple(values.tolist()) for values in (centre, threshold))
        return cls(seed, swing, tuple(model.gap.tolist()), rows, model.slip_speed, *numbers)

    @property
    def pushes(self) -> tuple[Contact, Contact]:
        """Pushes of the person."""
        return person(self.swing)

    @property
    def duration(self) -> float:
        """[s] of the whole."""
        return self.pushes[1].end + QUIET_TIME + self.swing


def record_guidance(case: GuidanceCase) -> Mapping[str, NDArray[Any]]:
    """Simulate the experiment; arrays of `Recording` and of what `GuidedSine` made of them."""
    model = BacklashModel.from_coefficients(np.array(case.gap), np.array(case.coefficients), case.slip_speed)
    observer = BacklashObserver(np.full(POSTURE.size, DETECTION_GAIN), model)
    sine = GuidedSine(observer, np.array(case.centre), np.array(case.threshold))
    residual: list[Vector] = []
    yielding: list[bool] = []

    def watch(sample: Sample) -> None:
        sine.watch(sample)
        residual.append(sine.residual.copy())
        yielding.append(sine.yielding)

    random = random_of(case.seed, GUIDANCE)
    recording = simulate(HangingArm(), JOINTS, sine, pushes(case.pushes), case.duration, random, watch=watch)
    return {**vars(recording), "residual": np.array(residual), "yielding": np.array(yielding)}


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
        """Number of false alarms without a push."""
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
