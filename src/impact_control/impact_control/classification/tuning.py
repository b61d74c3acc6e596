"""Tuning of a classifier on trials: no false alarm on acceptable ones, as many of the others detected as possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product

import numpy as np
from numpy.typing import NDArray

from impact_control.classification.envelope import filter_sample
from impact_control.classification.margin import fixed_margin
from impact_control.classification.recorded_impact import RecordedImpact
from impact_control.scenario import Classification
from impact_control.util.checks import require_not_negative
from impact_control.util.compiled import compiled
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

TUNED = (
    "window_length",
    "decay_rate",
    "envelope_margin",
    "configuration_error",
    "time_error",
    "post_impact_time",
    "impact_interval",
)
"""Entries of `Classification` that are found; of the others the results have the defaults."""


class Algorithm(Enum):
    """Classifier to be tuned."""

    SINGLE = "Algorithm 1"
    """`SingleImpactClassifier`."""

    SIMULTANEOUS = "Algorithm 2"
    """`SimultaneousImpactClassifier` as printed: waits for t_xi without another impact."""

    COMPLETION = "Algorithm 2 with contact completion"
    """`SimultaneousImpactClassifier` with `await_completion`."""


@dataclass(frozen=True)
class SearchGrid:
    """Grid of candidate parameters. Raises InvalidInputError.

    window_lengths [samples], decay_rates [1/s], post_impact_times [s]: all combinations.
    reserve: share, at least 0, by which every threshold is put above the largest value of an acceptable trial: other
        noise goes further.
    margin_reserve: [rad/s], at least 0, by which e_eta is put further up: the noise of the velocity is there even
        where nothing else is.
    common_margin: one e_eta for all joints, as printed, instead of one for each.
    """

    window_lengths: tuple[int, ...] = (5, 8, 12, 16, 20, 25, 30, 40)
    decay_rates: tuple[float, ...] = (2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
    post_impact_times: tuple[float, ...] = (0.05, 0.075, 0.1, 0.15)
    reserve: float = 0.1
    margin_reserve: float = 0.0
    common_margin: bool = False

    def __post_init__(self) -> None:
        require_not_negative("reserve", self.reserve)
        require_not_negative("margin_reserve", self.margin_reserve)


@dataclass(frozen=True)
class GrayArea:
    """Largest deviation beyond the acceptable ones at which some trial is still missed.

    below, above: largest such distance on either side, 0 when there is none; infinite when it is the furthest trial
    of that side. share: of the trials that are not acceptable and not called unexpected.
    """

    below: float
    above: float
    share: float

    @property
    def rank(self) -> tuple[int, float, float]:
        """Less is better: first the sides without an end, then the share, then the sum of both sides."""
        endless = int(math.isinf(self.below)) + int(math.isinf(self.above))
        return endless, self.share, self.below + self.above


def gray_area(deviations: Vector, unexpected: NDArray[np.bool_], acceptable: tuple[float, float]) -> GrayArea:
    """Return the gray area (Proper 2021, 4.3.2) of trials (k,) with these deviations and verdicts."""
    low, high = acceptable
    missed = ~unexpected
    beyond = (deviations < low) | (deviations > high)
    sides = []
    for distance in (low - deviations, deviations - high):
        gray = distance[missed & (distance > 0.0)]
        outer = distance.max(initial=0.0)
        widest = float(gray.max(initial=0.0))
        sides.append(math.inf if widest == outer and gray.size else widest)
    share = float(np.mean(missed[beyond])) if beyond.any() else 0.0
    return GrayArea(sides[0], sides[1], share)


def tune(
    recordings: Sequence[RecordedImpact],
    acceptable: tuple[float, float],
    algorithm: Algorithm,
    grid: SearchGrid | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[Classification, GrayArea]:
    """Return the parameters that call nothing acceptable unexpected and leave the least gray area, and that area.

    recordings: trials with deviations, some inside `acceptable` (lowest, highest), both included. The thresholds
    epsilon, zeta, t_int and e_eta follow from the acceptable trials: each the least that lets all of them pass, and
    the reserve. m, a and t_xi are searched over the grid. The first of equals is taken.

    A trial without an impact is passed over: there is nothing to judge, and the classifier names it by
    `impact_missing`. Raises InvalidInputError without an acceptable trial that has an impact.
    """
    grid = grid or SearchGrid()
    trials = [trial for trial in recordings if len(trial.impact_times)]
    return Candidates(trials, algorithm, grid, progress).best(acceptable, grid.reserve)


class Candidates:
    """Requirements of trials with an impact on each combination of m, a and t_xi: computed once, searched often."""

    def __init__(
        self,
        trials: Sequence[RecordedImpact],
        algorithm: Algorithm,
        grid: SearchGrid,
        progress: Callable[[float], None] | None = None,
        *,
        cut_off: bool = False,
    ) -> None:
        """Go through all trials with all combinations of the grid.

        cut_off: whether trials may end before they are judged, as those of an arm that was stopped; such a one is
        judged as far as it goes, else it counts as unexpected.
        """
        self._grid, self._algorithm = grid, algorithm
        self.deviations: Vector = np.array([trial.deviation for trial in trials])
        self._events: dict[float, Matrix] = {}
        self._misses: dict[tuple[float, int, float], Matrix] = {}
        pairs = list(product(grid.window_lengths, grid.decay_rates))
        for round_, duration in enumerate(grid.post_impact_times if trials else ()):
            judged = [_judged_impacts(trial, duration, algorithm) for trial in trials]
            events = [_event_errors(trial, count, algorithm) for trial, count in zip(trials, judged, strict=True)]
            self._events[duration] = np.array(events)
            excerpts = _Excerpts(trials, duration, algorithm, cut_off)
            for step, (window, decay) in enumerate(pairs):
                self._misses[duration, window, decay] = excerpts.missing_margins(window, decay)
                if progress is not None:
                    progress((round_ + (step + 1) / len(pairs)) / len(grid.post_impact_times))

    def best(
        self,
        acceptable: tuple[float, float],
        reserve: float,
        among: NDArray[np.bool_] | None = None,
        like: Classification | None = None,
    ) -> tuple[Classification, GrayArea]:
        """Return what `tune` does, with a reserve.

        among (k,): the trials to tune on, None for all. like: whose m, a and t_xi to take, None: the best.
        """
        used = np.ones(self.deviations.size, dtype=np.bool_) if among is None else among
        deviations = self.deviations[used]
        fine = (deviations >= acceptable[0]) & (deviations <= acceptable[1])
        if not fine.any():
            raise InvalidInputError("acceptable", acceptable, "deviations of at least one trial with an impact")
        beyond = 1.0 + reserve
        best: tuple[Classification, GrayArea] | None = None
        fixed = None if like is None else (like.post_impact_time, like.window_length, like.decay_rate)
        for (duration, window, decay), missing in self._misses.items():
            if fixed not in (None, (duration, window, decay)):
                continue
            events, misses = self._events[duration][used], missing[used]
            limits = beyond * events[fine].max(axis=0)
            margins = beyond * misses[fine].max(axis=0) + self._grid.margin_reserve
            if self._grid.common_margin:
                margins[:] = margins.max()
            if not np.all(np.isfinite(margins)):
                continue
            unexpected = np.any(events > limits, axis=1) | np.any(misses > margins, axis=1)
            area = gray_area(deviations, unexpected, acceptable)
            if best is None or area.rank < best[1].rank:
                margin = float(margins[0]) if self._grid.common_margin else margins
                interval = None if self._algorithm is Algorithm.SINGLE else float(limits[2])
                found = (window, decay, margin, float(limits[1]), float(limits[0]), duration, interval)
                best = Classification.of(**dict(zip(TUNED, found, strict=True))), area
        if best is None:
            allowed = "a window and a time in which every acceptable trial can be judged"
            raise InvalidInputError("grid", self._grid, allowed)
        return best


def _judged_impacts(trial: RecordedImpact, duration: float, algorithm: Algorithm) -> int:
    """Return how many of the impacts are judged: the first, those until the completion, those until t_xi is over."""
    if algorithm is Algorithm.SINGLE:
        return 1
    pauses = np.flatnonzero(np.diff(trial.impact_times) > duration)
    count = int(pauses[0]) + 1 if pauses.size else len(trial.impact_times)
    if algorithm is Algorithm.COMPLETION and trial.completed:
        before = int(np.searchsorted(trial.impact_samples, trial.completion_sample, side="right"))
        count = min(count, max(1, before))
    return count


def _event_errors(trial: RecordedImpact, count: int, algorithm: Algorithm) -> tuple[float, float, float]:
    """Return the largest |t_j - t_1d| [s], ||e_imp,j|| [rad] and t_j - t_{j-1} [s] of the first `count` impacts.

    With completion the first two are those of the first impact alone.
    """
    intervals = np.diff(trial.impact_times[:count])
    placed = 1 if algorithm is Algorithm.COMPLETION else count
    places = np.linalg.norm(trial.configurations[:placed] - trial.nominal_configuration, axis=1)
    return (
        float(np.abs(trial.impact_times[:placed] - trial.nominal_time).max()),
        float(places.max()),
        float(intervals.max()) if intervals.size else 0.0,
    )


class _Excerpts:
    """The judged samples of many trials in one array, so that a tuning is tried on all at once."""

    def __init__(self, trials: Sequence[RecordedImpact], duration: float, algorithm: Algorithm, cut_off: bool) -> None:
        self._joints = trials[0].velocity.shape[1]
        self._adaptive = algorithm is not Algorithm.SINGLE
        self._unseen = 0.0 if cut_off else math.inf
        spans = [_span(trial, duration, algorithm, cut_off) for trial in trials]
        parts = [(trial, *span) for trial, span in zip(trials, spans, strict=True) if span is not None]
        self._known = np.array([span is not None for span in spans])
        errors = [trial.error[first : end + 1] for trial, first, _, end in parts]
        periods = [np.diff(trial.time, prepend=trial.time[0])[first : end + 1] for trial, first, _, end in parts]
        self._error: Matrix = np.concatenate(errors) if errors else np.zeros((0, self._joints))
        self._periods: Vector = np.concatenate(periods) if periods else np.zeros(0)
        self._ends = np.cumsum([end + 1 - first for _, first, _, end in parts])
        self._judged = np.array([judged - first for _, first, judged, _ in parts], dtype=np.int64)

    def missing_margins(self, window: int, decay: float) -> Matrix:
        """Return what each joint of each trial misses (k, n) [rad/s]; infinite for what cannot be judged."""
        missing = np.full((self._known.size, self._joints), math.inf)
        if self._ends.size:
            found = np.zeros((self._ends.size, self._joints))
            judged = self._judged + (window if self._adaptive else 0)
            _miss_all(self._error, decay * self._periods, self._ends, window, judged, self._unseen, found)
            missing[self._known] = found
        return missing


def is_unexpected(
    trial: RecordedImpact, parameters: Classification, algorithm: Algorithm, *, cut_off: bool = False
) -> tuple[bool, float]:
    """Return whether a classifier calls anything unexpected in the end, and when [s] it knows.

    What `judge` returns with the classifier of the algorithm, without going through it sample by sample, for a trial
    with impacts; `test_classification_tuning.py` compares them. What Algorithm 2 as printed
    says in between and takes back is not looked at. cut_off: as in `Candidates`.
    """
    duration = parameters.post_impact_time
    limits = np.array([parameters.time_error, parameters.configuration_error, parameters.longest_interval])
    judged_impacts = _judged_impacts(trial, duration, algorithm)
    for number in range(judged_impacts):
        if np.any(np.array(_event_errors(trial, number + 1, algorithm)) > limits):
            return True, float(trial.time[trial.impact_samples[number]])
    span = _span(trial, duration, algorithm, cut_off)
    if span is None:
        waited = trial.time > trial.impact_times[judged_impacts - 1] + duration
        return True, float(trial.time[np.argmax(waited)]) if waited.any() else math.nan
    first, judged, end = span
    if algorithm is not Algorithm.SINGLE:
        judged += parameters.window_length
        end = min(max(end, judged), trial.time.size - 1)
    weight = parameters.decay_rate * np.diff(trial.time, prepend=trial.time[0])[first : end + 1]
    margins = fixed_margin(parameters.envelope_margin, trial.velocity.shape[1]).table[0]
    error = trial.error[first : end + 1]
    found = _miss(error, weight, parameters.window_length, judged - first, margins, np.zeros_like(margins))
    return found >= 0, float(trial.time[first + found if found >= 0 else end])


def _span(trial: RecordedImpact, duration: float, algorithm: Algorithm, cut_off: bool) -> tuple[int, int, int] | None:
    """Return the samples: first of the envelope, first that may be judged, last that is; None if it is not judged.

    With Algorithm 2 nothing is judged before the window is full, m samples later. cut_off: as in `Candidates`.
    """
    final = trial.time.size - 1
    last = _judged_impacts(trial, duration, algorithm) - 1
    judged, begin = int(trial.impact_samples[last]), float(trial.impact_times[last])
    first = 0 if algorithm is Algorithm.SINGLE else judged
    if algorithm is Algorithm.COMPLETION:
        first = judged = trial.completion_sample
        # A contact that takes longer than t_xi after the last impact is not waited for.
        if not trial.completed or trial.time[max(first - 1, 0)] > begin + duration:
            missing = not trial.completed and cut_off and trial.time[final] <= begin + duration
            return (final, final + 1, final) if missing else None
        begin = float(trial.time[first])
    over = np.flatnonzero(trial.time > begin + duration)
    if over.size:
        return first, judged, int(over[0])
    return (first, judged, final) if cut_off else None


@compiled
def _miss(error: Matrix, weight: Vector, window: int, judged: int, margins: Vector, missing: Vector) -> int:
    """Write the largest distance of zero outside the envelope of `error` (k, n) from sample `judged` on to `missing`.

    weight (k,): a dt of each sample. Returns the first sample in which a joint misses more than its margin, or -1.
    """
    found = -1
    n = error.shape[1]
    values = np.zeros((2, n, window + 1))
    stamps = np.zeros((2, n, window + 1), dtype=np.int64)
    heads = np.zeros((2, n), dtype=np.int64)
    sizes = np.zeros((2, n), dtype=np.int64)
    bounds = np.full((2, n), np.nan)
    for k in range(error.shape[0]):
        filter_sample(error[k], k + 1, min(weight[k], 1.0), values, stamps, heads, sizes, bounds)
        if k < judged:
            continue
        for i in range(n):
            missing[i] = max(missing[i], max(bounds[0, i], -bounds[1, i]))
            if found < 0 and missing[i] > margins[i]:
                found = k
    return found


@compiled
def _miss_all(
    error: Matrix,
    weight: Vector,
    ends: NDArray[np.int64],
    window: int,
    judged: NDArray[np.int64],
    unseen: float,
    missing: Matrix,
) -> None:
    """`_miss` for trials whose samples end before `ends` (k,) in `error`; `unseen` where the window is never full."""
    start = 0
    margins = np.full(error.shape[1], np.inf)
    for trial in range(ends.size):
        end = ends[trial]
        if judged[trial] >= end - start:
            missing[trial, :] = unseen
        else:
            _miss(error[start:end], weight[start:end], window, judged[trial], margins, missing[trial])
        start = end
