"""Flacco 2016, V-D: a person pushes an arm that swings, the arm yields, and swings on where it was led."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.control.admittance import AdmittanceParameters, JointAdmittance
from impact_control.observation import BacklashModel, BacklashObserver
from impact_control.reaction import Silence, is_touched
from impact_control.studies.flacco.arm import POSTURE, HangingArm
from impact_control.studies.flacco.evaluation import START
from impact_control.studies.flacco.experiments import (
    DETECTION_GAIN,
    Contact,
    Drive,
    figure_8_motion,
    observe,
    pushes,
)
from impact_control.studies.flacco.recording import PERIOD, Sample
from impact_control.studies.flacco.streams import GUIDANCE, random_of
from impact_control.types import Vector

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
    """The wanted motion: a sine of joint 1 until something touches the arm; then the law (15); after silence the sine.

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
        self._admittance.parameters = AdmittanceParameters(
            ADMITTANCE_GAIN * one, threshold, _SPEED * one, _ACCELERATION * one, _EXCURSION * one, 1.0
        )
        self._observer, self._centre, self._threshold = observer, centre, threshold
        self._silence = Silence()
        self._sine = figure_8_motion()
        self.yielding = False
        self.residual: Vector = np.zeros(n)

    def __call__(self, time: float) -> tuple[Vector, Vector]:
        """Return wanted motor position (n,) [rad] and velocity (n,) [rad/s]."""
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
            self._admittance.start(*self._sine(sample.time))
            self._silence.reset()
        if self._silence.update(sample.time, touched) >= QUIET_TIME:
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
        """What the person does."""
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
    recording = HangingArm().run(sine, pushes(case.pushes), case.duration, random, watch=watch)
    return {**vars(recording), "residual": np.array(residual), "yielding": np.array(yielding)}
