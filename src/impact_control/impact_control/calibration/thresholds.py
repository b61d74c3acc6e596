"""Thresholds of a scenario's detectors from recordings of free motion, for a chosen rate of false alarms.

The rate is that of all detectors together: each channel of each of them gets the same share. Assumptions, which the
recording has to bear out:

- It has no contact, and moves as the arm will: the thresholds have to stay above what is mostly the error of the model.
- The signal is stationary over many blocks, and a block is long against its correlation, so that maxima of different
  blocks are independent.
- The maxima of blocks follow the general law of extremes with one of SHAPES: 0 is Gumbel's law, to which those of any
  signal with an exponential tail tend; noise that is clipped, or an error of the model that cannot be larger, has a
  lighter tail. A heavier tail is that of a contact in the recording: it is tested for, and named.
- The channels may alarm at the same time or not: each gets an equal share of the rate, which is safe for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from impact_control.calibration.motion import BRIDGED_GAP, FreeMotion, Result, joined_time, numbers, quantity
from impact_control.recording.summary import Grid, Mark, Row, RunSummary, number_grid, short_joint_names
from impact_control.scenario import Scenario, robot_of
from impact_control.util.checks import finite_rows, increasing_stamps, require_positive
from impact_control.util.errors import InvalidInputError, RecordingError
from impact_control.util.types import Matrix, Vector

UNITS = {
    "residual_rate": "Nm/s",
    "residual": "Nm",
    "velocity_jump": "rad/s",
    "torque_error": "Nm",
    "whitened": "",
    "own": "",
}
"""Units of the detectors' thresholds, by their sections."""

BLOCKS = (0.5, 0.25)
"""[s] length of a block: long against the correlation of the signals; the shorter one if those are too few."""

LARGEST_EXTRAPOLATION = 100.0
"""Times the length of the recordings, beyond which a longer recording is asked for."""

HOUR = 3600.0
"""[s]"""


def calibrate_detectors(
    scenario: Scenario, motions: Sequence[FreeMotion], false_alarms_per_hour: float, confidence: float = 0.95
) -> Result:
    """Return thresholds of all detectors of a scenario, which together give at most this rate of false alarms.

    confidence: of that bound, in [0.5, 1), as far as the number of samples goes. A detector without data in the
    recordings keeps its threshold, which the report notes. Raises InvalidInputError for a rate that is not above 0, and
    RecordingError for recordings that are too short.
    """
    if not (np.isfinite(false_alarms_per_hour) and false_alarms_per_hour > 0.0):
        raise InvalidInputError("false_alarm_rate", false_alarms_per_hour, "a number of alarms an hour above 0")
    time = joined_time(motions, BLOCKS[0])
    scores = {name: np.concatenate([motion.scores[name] for motion in motions]) for name in motions[0].scores}
    seen = {name: values for name, values in scores.items() if not np.isnan(values).all()}
    kept = [name for name in scores if name not in seen]
    if not seen:
        raise RecordingError(motions[0].name, f"nothing of what {', '.join(kept)} looks at", "a bag with the commands")
    channels = sum(values.shape[1] for values in seen.values())
    found = {}
    for name, values in seen.items():
        whole = np.isfinite(values).all(axis=1)
        rate = false_alarms_per_hour / HOUR * values.shape[1] / channels
        for block in BLOCKS:
            try:
                found[name] = calibrate_thresholds(
                    time[whole], values[whole], rate, block=block, confidence=confidence, largest_period=BRIDGED_GAP
                )
                break
            except InvalidInputError as error:
                reason = f"not enough for {name}: {error}"
        else:
            places = ", ".join(motion.name for motion in motions)
            doubts = [words for motion in motions for words in motion.doubts]
            raise RecordingError(places, "; ".join([reason, *doubts]), "a longer recording of free motion")
    objections: list[str] = []
    for name, calibration in found.items():
        objections += [f"{name}: {words}" for words in calibration.objections]
        objections += [_place(motions, name, int(channel)) for channel in np.flatnonzero(calibration.tail > HEAVY_TAIL)]
    return Result(
        summary=_summary(scenario, motions, found, kept, false_alarms_per_hour, objections),
        sections={"detection": _section(scenario, found)},
        sources=(*(motion.source for motion in motions), "false alarms: " + _promise(found, false_alarms_per_hour)),
        objections=(*(words for motion in motions for words in motion.doubts), *objections),
    )


def _section(scenario: Scenario, found: dict[str, Calibration]) -> dict[str, Any]:
    """Return the section `detection`, with the observer's gain, to which the thresholds belong."""
    section: dict[str, Any] = {"observer_gain": quantity(scenario.detection.observer_gain, "1/s")}
    for name, calibration in found.items():
        largest = float(f"{calibration.threshold.max():.4g}")
        threshold = largest if name == "torque_error" else calibration.threshold
        if name == "own":
            section[name] = {"threshold": largest}
        elif name == "whitened":
            section[name] = {"threshold": numbers(calibration.threshold)}
        else:
            section[name] = {"threshold": quantity(threshold, UNITS[name])}
    return section


def _promise(found: dict[str, Calibration], rate: float) -> str:
    first = next(iter(found.values()))
    return (
        f"at most {rate:g} an hour of all detectors together, with {100 * first.confidence:g} % confidence; the "
        f"law of the maxima of {first.blocks} blocks of {first.block:g} s, trusted {first.extrapolation:.0f} times "
        "further than the recordings go"
    )


def _place(motions: Sequence[FreeMotion], name: str, channel: int) -> str:
    """Return the time and recording in which a channel of a detector is largest, in words."""
    largest = max(motions, key=lambda motion: float(np.nanmax(motion.scores[name][:, channel])))
    time = largest.time[np.nanargmax(largest.scores[name][:, channel])]
    return f"{name}: channel {channel + 1} is largest at {time:.3f} s of {largest.name}"


def _summary(
    scenario: Scenario,
    motions: Sequence[FreeMotion],
    found: dict[str, Calibration],
    kept: list[str],
    rate: float,
    objections: list[str],
) -> RunSummary:
    first = next(iter(found.values()))
    rows = [row for motion in motions for row in motion.rows]
    rows += [Row("Note", f"{name} has no input in the recordings and keeps its threshold") for name in kept]
    rows.append(Row("False alarms", _promise(found, rate)))
    if first.extrapolation > LARGEST_EXTRAPOLATION:
        asked = first.extrapolation / LARGEST_EXTRAPOLATION * first.duration / 60.0
        words = f"the law is trusted far; {asked:.0f} min of free motion bear it out better"
        rows.append(Row("Short", words, Mark.BAD))
    rows += [Row("Objection", words, Mark.BAD) for words in objections]
    joints = short_joint_names(robot_of(scenario.robot).joint_names)
    grids = [_grid(scenario, name, calibration, joints) for name, calibration in found.items()]
    good = not any(row.label == "Objection" for row in rows)
    verdict = f"CALIBRATED: {', '.join(found)}." if good else "OBJECTIONS: see above."
    return RunSummary("Detection thresholds", tuple(rows), tuple(grids), verdict, good)


def _grid(scenario: Scenario, name: str, calibration: Calibration, joints: tuple[str, ...]) -> Grid:
    before: Vector = np.atleast_1d(getattr(scenario.detection, name).threshold)
    count = calibration.threshold.size
    lines = (
        ("before", np.resize(before, count)),
        ("now", calibration.threshold),
        ("estimate", calibration.estimate),
        ("lowest", calibration.lowest),
        ("recorded", calibration.largest),
        ("tail", calibration.tail),
    )
    percent = 100.0 * (2.0 * calibration.confidence - 1.0)
    title = f"{name} [{UNITS.get(name, '1')}], the {percent:g} % interval is from lowest to now"
    return number_grid(title, lines, channel_names(count, joints))


def channel_names(count: int, joints: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the channels of a detector: the joints where it has one for each."""
    return joints if count == len(joints) else tuple(f"channel {k + 1}" for k in range(count))


SHAPES = (-0.25, -0.2, -0.15, -0.1, -0.05, 0.0)
"""Shapes of the law of the maxima. Below the first it would take a bound of the signal from a few motions."""

SMALLEST_COUNT = 30
"""Least number of blocks, whose maxima are worth an extrapolation."""

HEAVY_TAIL = 3.1
"""Standard deviations of the shape from Gumbel's, beyond which a tail counts as heavy: one in 1000 by chance."""

LEAST_CHANCE = 1e-3
"""Probability of the largest value of a recording, below which it does not belong to the others."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Thresholds and their basis; each array (n,) by channel, in the unit of the signal.

    threshold, lowest: bounds of the most likely one, estimate, with the confidence. shape: of the law of the maxima of
    blocks. chance: probability that they hold a value as large as the largest of the recording. tail: standard
    deviations by which their shape differs from Gumbel's, above 0 for a heavier tail. false_alarm_rate [1/s]: of all
    channels together. block [s]: length of the blocks. samples, duration [s]: of the recording, without gaps.
    """

    threshold: Vector
    estimate: Vector
    lowest: Vector
    shape: Vector
    chance: Vector
    tail: Vector
    largest: Vector
    false_alarm_rate: float
    confidence: float
    block: float
    blocks: int
    samples: int
    duration: float

    @property
    def objections(self) -> tuple[str, ...]:
        """Violated assumptions, in words."""
        words = [
            f"channel {i + 1}: a tail heavier than Gumbel's by {self.tail[i]:.1f} standard deviations; "
            "is there a contact in the recording?"
            for i in np.flatnonzero(self.tail > HEAVY_TAIL)
        ]
        words += [
            f"channel {i + 1}: its largest value has a chance of {self.chance[i]:.1g} by the law of the others"
            for i in np.flatnonzero(self.chance < LEAST_CHANCE)
        ]
        return tuple(words)

    @property
    def extrapolation(self) -> float:
        """Time between two alarms of one channel over the duration of the recording: reach of the law."""
        return self.threshold.size / (self.false_alarm_rate * self.duration)


def calibrate_thresholds(
    time: Vector,
    signal: Matrix,
    false_alarm_rate: float,
    *,
    block: float = 0.5,
    confidence: float = 0.95,
    largest_period: float = 0.005,
    shapes: Sequence[float] = SHAPES,
) -> Calibration:
    """Return thresholds that the magnitude of a signal without contact passes at a chosen rate.

    With the law F(x) = exp(-(1 + c (x - a) / b)^(-1/c)) for the maxima of blocks of length B, and the share R / n of
    the rate R for each of n channels, the threshold x has F(x) = exp(-R B / n): the blocks with an alarm are those of a
    Poisson process of that rate. The most likely x is that of the largest likelihood over a, b and the shape c; its
    bounds are where the profile likelihood has fallen by what the confidence asks for. So they include the uncertainty
    of the shape, which is most of it far beyond the recording.

    Args:
        time: (m,) [s] of the samples, increasing.
        signal: (m, n), of any sign, e.g. the rates of the residual of Proper 2021 (3.4).
        false_alarm_rate: R [1/s], above 0.
        block: B [s], above 0; longer than the refractory time of the detector.
        confidence: in [0.5, 1).
        largest_period: [s]; a block with a longer gap between samples is left out.
        shapes: of the law, at most 0, that are tried.

    Raises InvalidInputError for anything else, or too short a recording.
    """
    t = increasing_stamps("time", time)
    values = finite_rows("signal", signal, t.size)
    for name, value in (("false_alarm_rate", false_alarm_rate), ("block", block), ("largest_period", largest_period)):
        require_positive(name, value)
    if not 0.5 <= confidence < 1.0:
        raise InvalidInputError("confidence", confidence, "at least 0.5 and below 1")
    maxima, used, duration = _block_maxima(t, np.abs(values), block, largest_period)
    if len(maxima) < SMALLEST_COUNT:
        allowed = f"at least {SMALLEST_COUNT} whole blocks of {block} s; there are {len(maxima)}"
        raise InvalidInputError("duration", round(float(t[-1] - t[0]), 3), allowed)
    exceeded = false_alarm_rate * block / values.shape[1]
    fits = [_Extremes(column, exceeded, shapes) for column in maxima.T]
    drop = NormalDist().inv_cdf(confidence) ** 2
    return Calibration(
        threshold=np.array([fit.bound(drop, 1.0) for fit in fits]),
        estimate=np.array([fit.level for fit in fits]),
        lowest=np.array([fit.bound(drop, -1.0) for fit in fits]),
        shape=np.array([fit.shape for fit in fits]),
        chance=np.array([fit.chance(column.max()) for fit, column in zip(fits, maxima.T, strict=True)]),
        tail=np.array([_tail(column) for column in maxima.T]),
        largest=maxima.max(axis=0),
        false_alarm_rate=false_alarm_rate,
        confidence=confidence,
        block=block,
        blocks=len(maxima),
        samples=used,
        duration=duration,
    )


def _block_maxima(time: Vector, magnitude: Matrix, block: float, largest_period: float) -> tuple[Matrix, int, float]:
    """Return the maxima (b, n) of the whole blocks without a gap, the samples in them and their length [s]."""
    number = np.floor((time - time[0]) / block + 1e-9).astype(np.int64)
    first = np.flatnonzero(np.diff(number, prepend=-1))
    last = np.append(first[1:], time.size) - 1
    gap = np.flatnonzero(np.diff(time) > largest_period)
    broken = np.zeros(first.size, dtype=bool)
    broken[np.searchsorted(first, gap, side="right") - 1] = True  # before and after a gap
    broken[np.searchsorted(first, gap + 1, side="right") - 1] = True
    whole = ~broken & (time[last] - time[first] > 0.5 * block)
    maxima = np.maximum.reduceat(magnitude, first, axis=0)[whole]
    return maxima, int(np.sum((last - first + 1)[whole])), float(np.count_nonzero(whole) * block)


class _Extremes:
    """Law of the maxima (m,) of one channel, and the level that a block exceeds at a rate: F = exp(-exceeded)."""

    def __init__(self, maxima: Vector, exceeded: float, shapes: Sequence[float]) -> None:
        self._shapes = tuple(shapes)
        self._mean, self._spread = float(np.mean(maxima)), float(np.std(maxima))
        if self._spread <= 1e-12 * max(abs(self._mean), 1e-300):
            allowed = "maxima that differ from block to block; a channel has a constant one"
            raise InvalidInputError("signal", self._mean, allowed)
        self._values: Vector = (maxima - self._mean) / self._spread
        self._log_rate = math.log(exceeded)
        farthest = 5.0 + 4.0 * abs(self._growth(0.0))
        found = minimize_scalar(lambda x: self._misfit(x)[0], bounds=(-farthest, farthest), method="bounded")
        self._level = float(found.x)
        self._least, self.shape, self._scale = self._misfit(self._level)

    @property
    def level(self) -> float:
        """Most likely level, in the unit of the maxima."""
        return self._mean + self._spread * self._level

    def bound(self, drop: float, side: float) -> float:
        """Return the level above (side 1.0) or below (-1.0), where twice the log-likelihood has fallen by `drop`."""
        if drop == 0.0:
            return self.level

        def excess(distance: float) -> float:
            return 2.0 * (self._misfit(self._level + side * distance)[0] - self._least) - drop

        far = 0.25
        while excess(far) < 0.0:
            far *= 2.0
        return self.level + side * self._spread * float(brentq(excess, 0.0, far, xtol=1e-4))

    def chance(self, value: float) -> float:
        """Return the probability that as many blocks hold a value as large as this, by the most likely law."""
        reduced = (value - self.level) / (self._spread * self._scale) + self._growth(self.shape)
        rate = math.exp(-reduced) if not self.shape else max(0.0, 1.0 + self.shape * reduced) ** (-1.0 / self.shape)
        return -math.expm1(-self._values.size * rate)

    def _growth(self, shape: float) -> float:
        """Return (level - a) / b."""
        return math.expm1(-shape * self._log_rate) / shape if shape else -self._log_rate

    def _misfit(self, level: float) -> tuple[float, float, float]:
        """Return the negative log-likelihood of a level, the least over shape and scale, and both."""
        return min(self._with_shape(level, shape) for shape in self._shapes)

    def _with_shape(self, level: float, shape: float) -> tuple[float, float, float]:
        growth, beyond = self._growth(shape), self._values - level
        # Above this scale no value lies beyond the end of the law.
        least = -shape * float(beyond.max()) / (1.0 + shape * growth) if shape else 0.0
        low = math.log(max(0.02, 1.000001 * least))

        def misfit(log_scale: float) -> float:
            reduced = beyond / math.exp(log_scale) + growth
            if shape:
                reduced = np.log1p(shape * reduced) / shape
            return float(reduced.size * log_scale + np.sum((1.0 + shape) * reduced + np.exp(-reduced)))

        found = minimize_scalar(misfit, bounds=(low, max(low, 0.0) + 4.0), method="bounded")
        return float(found.fun), shape, math.exp(found.x)


def _tail(maxima: Vector) -> float:
    """Return the shape of the general law of extremes in standard deviations from Gumbel's, above 0 for a heavy tail.

    Probability-weighted moments; under Gumbel's law the estimate has the variance 0.5633 / m (Hosking, Wallis, Wood,
    Technometrics 27, 1985).
    """
    x = np.sort(maxima)
    m = x.size
    rank = np.arange(m)
    b0, b1 = float(np.mean(x)), float(np.mean(rank / (m - 1.0) * x))
    b2 = float(np.mean(rank * (rank - 1.0) / ((m - 1.0) * (m - 2.0)) * x))
    c = (2.0 * b1 - b0) / (3.0 * b2 - b0) - math.log(2.0) / math.log(3.0)
    shape = 7.859 * c + 2.9554 * c**2
    return -shape * math.sqrt(m / 0.5633)
