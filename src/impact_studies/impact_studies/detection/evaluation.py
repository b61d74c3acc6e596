"""Figures of merit out of the outcomes, and the choice of the best setting."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_studies.detection.methods import METHODS
from impact_studies.detection.motion import ARMS, HARD, TOUCH, ArmSetting
from impact_studies.detection.plan import Extent, Ideal, Outcomes
from impact_studies.detection.trials import LATEST, SCALES
from impact_studies.frame.study import OWN_TARGET, Comparison

MARGIN = 1
"""Steps of the scale above the smallest without a false alarm in tuning."""


@dataclass(frozen=True)
class Choice:
    """Choice on the tuning set: `scales` (arm, method), numbers of `SCALES`; `method`: number of the best one."""

    scales: tuple[tuple[int, ...], ...]
    method: int


def choose(tuning: Outcomes) -> Choice:
    """Return for each arm and method the smallest scale without false alarms, and MARGIN above, and the best method.

    False alarms of all noises, inertias and frictions count. The best method is, of those without false alarms at
    their scales, the one with the smallest mean delay over all impacts of tuning, a missed one counting as LATEST.
    """
    quiet = tuning.alarms.sum(axis=(1, 2, 3)) == 0
    scales = tuple(
        tuple(_first_quiet(quiet[arm, method]) for method in range(len(METHODS))) for arm in range(len(ARMS))
    )
    costs = []
    for method in range(len(METHODS)):
        delays = np.array([tuning.delay[arm, ..., method, scales[arm][method]] for arm in range(len(ARMS))])
        loud = not all(quiet[arm, method, scales[arm][method]] for arm in range(len(ARMS)))
        costs.append(float(np.mean(np.where(np.isnan(delays), LATEST, delays))) + (LATEST if loud else 0.0))
    return Choice(scales, int(np.argmin(costs)))


def _first_quiet(quiet: NDArray[np.bool_]) -> int:
    loud = np.flatnonzero(~quiet)
    first = int(loud[-1]) + 1 if loud.size else 0
    return min(first + MARGIN, len(SCALES) - 1)


def median_delay(delay: NDArray[np.float64]) -> float:
    """Return the median [s], a missed impact counting as later than all others; infinite when most are missed."""
    return float(np.median(np.where(np.isnan(delay), math.inf, delay))) if delay.size else math.nan


def missed(delay: NDArray[np.float64]) -> float:
    """Return the share of impacts without a detection."""
    return float(np.mean(np.isnan(delay)))


def typical_error(error: NDArray[np.float64]) -> float:
    """Return the median magnitude [s] of the errors that there are, NaN without any."""
    there = np.abs(error[~np.isnan(error)])
    return float(np.median(there)) if there.size else math.nan


def percentage(shares: NDArray[np.bool_] | NDArray[np.float64]) -> float:
    """Return the share that is true, or the mean of shares [%]; NaN of nothing."""
    return 100.0 * float(np.mean(shares)) if shares.size else math.nan


def is_right_link(arm: ArmSetting, contact: str, link: NDArray[np.int_]) -> NDArray[np.bool_]:
    """Return which links are right: that of a touch; for the tool all from the outermost with a lever on.

    Friction on the sphere of the Panda gives a torque about joint 7, the normal force none: links 6 and 7 are right.
    """
    if contact == TOUCH:
        return np.asarray(link == arm.touched_link)
    return np.asarray(link >= arm.reacting_link)


def right_links(
    outcomes: Outcomes,
    contacts: tuple[str, ...],
    method: int,
    scales: tuple[tuple[int, ...], ...],
    arms: tuple[int, ...] = tuple(range(len(ARMS))),
) -> NDArray[np.bool_]:
    """Return whether the right link was isolated, one entry for each detected impact of these arms."""
    right = []
    for arm in arms:
        for c, contact in enumerate(contacts):
            at = (arm, c, ..., method, scales[arm][method])
            detected = ~np.isnan(outcomes.delay[at])
            right.append(is_right_link(ARMS[arm], contact, outcomes.link[at])[detected])
    return np.concatenate(right)


FAST_DELAY, SLOW_DELAY = 2.0, 4.0
"""[ms] largest median delay from 0.05 m/s on, and at 0.01 m/s."""

RIGHT_LINK = 99.0
"""[%]"""


def at_most(text: str, unit: str, limit: float, measured: float) -> Comparison:
    """Return a target of ours beside the measured value; NaN does not reach it."""
    return Comparison(OWN_TARGET, text, limit, measured, unit, measured <= limit)


def possible(ideal: Ideal) -> NDArray[np.bool_]:
    """Return for which (arm, contact, noise) an ideal detector needs at most SLOW_DELAY at the slowest speed."""
    return np.asarray(np.nanmedian(np.where(np.isnan(ideal.delay), np.inf, ideal.delay), axis=2) <= 1e-3 * SLOW_DELAY)


def measured_targets(outcomes: Outcomes, extent: Extent, choice: Choice, ideal: Ideal) -> tuple[Comparison, ...]:
    """Return our targets with what was measured: delays of all, hard and possible contacts; false alarms, links."""
    best = choice.method
    scales = tuple(choice.scales[a][best] for a in range(len(ARMS)))
    delay = np.array([outcomes.delay[a, ..., best, s] for a, s in enumerate(scales)])
    fast = [v for v, speed in enumerate(extent.speeds) if speed >= 0.05]
    hard = [c for c, contact in enumerate(extent.contacts) if contact in HARD]
    alarms = sum(int(outcomes.alarms[a, ..., best, s].sum()) for a, s in enumerate(scales))
    minutes = 60.0 * outcomes.hours * outcomes.alarms.shape[0] * outcomes.alarms.shape[1]
    # (arm, contact, noise, friction, repetition, inertia) at the slowest speed
    reachable = np.moveaxis(delay[:, :, 0], 4, 2)[possible(ideal)]
    right = percentage(right_links(outcomes, extent.contacts, best, choice.scales))
    delays = (
        ("from 0.05 m/s, all contacts", FAST_DELAY, delay[:, :, fast]),
        ("from 0.05 m/s, hard", FAST_DELAY, delay[:, hard][:, :, fast]),
        ("at 0.01 m/s, all contacts", SLOW_DELAY, delay[:, :, 0]),
        ("at 0.01 m/s, hard", SLOW_DELAY, delay[:, hard, 0]),
        ("at 0.01 m/s, where an ideal detector needs at most 4 ms", SLOW_DELAY, reachable),
    )
    return (
        *(at_most(f"median delay {of}", "ms", limit, 1e3 * median_delay(these)) for of, limit, these in delays),
        at_most(
            f"false alarms in {minutes:.3g} min of free motion, each with all noises and models", "", 0.0, float(alarms)
        ),
        Comparison(OWN_TARGET, "right link, of the detected impacts", RIGHT_LINK, right, "%", right >= RIGHT_LINK),
    )
