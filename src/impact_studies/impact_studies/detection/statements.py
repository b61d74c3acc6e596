"""Sentences about the outcomes, and what was assumed."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from impact_studies.detection.evaluation import (
    FAST_DELAY,
    SLOW_DELAY,
    Choice,
    median_delay,
    percentage,
    right_links,
)
from impact_studies.detection.methods import METHODS
from impact_studies.detection.motion import ARMS, HARD, TOUCH
from impact_studies.detection.plan import Extent, Outcomes
from impact_studies.detection.trials import SCALES
from impact_studies.frame.study import Finding

LEVERS = (0.01, 0.03)
"""[m] bounds between which levers are distinguished."""

ASSUMPTIONS = (
    "The controller of the joints feeds back position and velocity with the published noise; all detectors see the "
    "same motion and the same noise, of position, velocity and torque, or twice of it.",
    "The ideal detector knows all but whether there is a contact, and the noise is Gaussian for it. That the simulated "
    "noise is cut at three standard deviations, and that commands show the noise that made them, is no use to it.",
    "The noise of position, velocity and torque is that of Proper 2021 (3.5) and of the robot's data file, white; the "
    "velocity of a real arm is filtered, which lowers the noise and adds a delay of its own.",
    "The surfaces other than steel have usual moduli of their materials and a damping of our choice.",
    "A touch is a half sine of 5 ms on link 2 of the planar arm or link 4 of the Panda, 0.1 m beside its joint, with "
    "the momentum of 2 kg at the speed of the case.",
    "Bounds are calibrated for each arm and noise, as one does with the recording of an arm; the same bounds hold for "
    "the exact and the wrong model, with and without joint friction.",
    "Residuals start where they settle: the observer has been running before.",
    "The right link of an impact of the tool is link 3 of the planar arm and link 6 or 7 of the Panda: the centre of "
    "its sphere lies on the axis of joint 7, about which only friction has a lever.",
)


def findings(outcomes: Outcomes, extent: Extent, choice: Choice) -> tuple[Finding, ...]:
    """Return why targets are missed, and what else the numbers say."""
    said = [*_slow_contacts(outcomes, extent, choice), _wrong_links(outcomes, extent, choice)]
    said += _levers(outcomes, extent, choice)
    best = choice.method
    scales = ", ".join(f"{SCALES[choice.scales[a][best]]:g} for {arm.robot}" for a, arm in enumerate(ARMS))
    said.append(Finding(f"Best on the tuning set: {METHODS[best].name}, at {scales} times the calibrated bounds."))
    return tuple(said)


def _slow_contacts(outcomes: Outcomes, extent: Extent, choice: Choice) -> list[Finding]:
    """Describe how late the best setting is for each contact: a force that grows slowly is not there after 2 ms."""
    best = choice.method
    said = []
    for c, contact in enumerate(extent.contacts):
        delay = np.array([outcomes.delay[a, c, ..., best, choice.scales[a][best]] for a in range(len(ARMS))])
        fast = [v for v, speed in enumerate(extent.speeds) if speed >= 0.05]
        slow, quick = 1e3 * median_delay(delay[:, 0]), 1e3 * median_delay(delay[:, fast])
        kind = "hard" if contact in HARD else "the force grows over milliseconds"
        good = slow <= SLOW_DELAY and quick <= FAST_DELAY
        text = f"{contact} ({kind}): median delay {quick:.2f} ms from 0.05 m/s on, {slow:.2f} ms at 0.01 m/s."
        said.append(Finding(text, good))
    return said


def _levers(outcomes: Outcomes, extent: Extent, choice: Choice) -> list[Finding]:
    """Describe how often a force is found on the outermost joint, by its lever: without one nothing shows it there."""
    best = choice.method
    said = []
    surfaces = [c for c, contact in enumerate(extent.contacts) if contact != TOUCH]
    for a, arm in enumerate(ARMS):
        scale = choice.scales[a][best]
        link, delay = outcomes.link[a, surfaces, ..., best, scale], outcomes.delay[a, surfaces, ..., best, scale]
        lever = np.broadcast_to(outcomes.lever[a, surfaces][..., None, None], link.shape)
        right, detected = link >= arm.reacting_link, ~np.isnan(delay)
        shares = []
        for low, high in pairwise((0.0, *LEVERS, math.inf)):
            within = detected & (lever >= low) & (lever < high)
            where = f"below {1e3 * high:g} mm" if math.isfinite(high) else f"from {1e3 * low:g} mm on"
            shares.append(f"{percentage(right[within]):.1f} % of {np.count_nonzero(within)} {where}")
        said.append(
            Finding(
                f"Right link on {arm.robot} by the lever of the normal force about joint {arm.reacting_link}: "
                f"{', '.join(shares)}."
            )
        )
    return said


def _wrong_links(outcomes: Outcomes, extent: Extent, choice: Choice) -> Finding:
    """Describe how often the link is right, by speed: slow impacts leave little in the outer joints."""
    shares = []
    for v, speed in enumerate(extent.speeds):
        whole = (slice(None), slice(None), slice(v, v + 1))
        at_speed = replace(outcomes, delay=outcomes.delay[whole], link=outcomes.link[whole])
        right = percentage(right_links(at_speed, extent.contacts, choice.method, choice.scales))
        shares.append(f"{right:.1f} ({_at_best(outcomes.bound[whole], choice):.2f}) % at {speed:g} m/s")
    whole_bound = _at_best(outcomes.bound, choice)
    return Finding(
        f"Right link, and in brackets by the best decision with a known model: {', '.join(shares)}; "
        f"({whole_bound:.2f}) % of all."
    )


def _at_best(bound: NDArray[np.float64], choice: Choice) -> float:
    """Return the mean bound of the detected impacts of the best setting [%]."""
    best = choice.method
    all_arms = np.concatenate([bound[a, ..., best, scales[best]].ravel() for a, scales in enumerate(choice.scales)])
    return percentage(all_arms[~np.isnan(all_arms)])
