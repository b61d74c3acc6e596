"""Numbers in the text of Wang 2022.

Table I as printed, (3, 5): a row for each configuration of Fig. 2, a column for each speed. The measured forces of
Figs 3 and 6, the restitutions of Figs 4 and 5 and the impulses of Fig. 9 are in the pictures only; of them the text has
what they show: where the force leaves an area, how a restitution goes with the speed, the order of the options.
"""

from __future__ import annotations

import numpy as np

from impact_control.util.types import Matrix

SPEEDS = (0.08, 0.10, 0.12, 0.15, 0.18)
"""[m/s] Reference contact velocities, section VI."""

REPETITIONS = 10
"""Trials for each combination of configuration and speed, section VI."""


def _array(*rows: tuple[float, ...]) -> Matrix:
    array = np.array(rows)
    array.setflags(write=False)
    return array


EXACT = _array(
    (0.0756, 0.0956, 0.1156, 0.1456, 0.1755),
    (0.0745, 0.0943, 0.1141, 0.1438, 0.1734),
    (0.0715, 0.0913, 0.1111, 0.1411, 0.1709),
)
"""[m/s] Speed of the contact point into the wall, n^T v_Op."""

APPROXIMATION = _array(
    (0.0699, 0.0870, 0.1056, 0.1309, 0.1623),
    (0.0567, 0.0734, 0.0975, 0.1239, 0.1486),
    (0.0446, 0.0586, 0.0712, 0.0894, 0.1036),
)
"""[m/s] Speed of that point of the composite rigid body, n^T (v_Op - v_cp)."""

RATIO = _array(
    (0.9248, 0.9100, 0.9141, 0.8996, 0.9243),
    (0.7609, 0.7785, 0.8544, 0.8618, 0.8567),
    (0.6244, 0.6423, 0.6406, 0.6336, 0.6062),
)
"""[-] Approximate-to-exact ratio e_a, (29)."""

PROFILE_SPEEDS = {0.08: 0.0755, 0.10: 0.0955, 0.12: 0.1154, 0.15: 0.1455}
"""[m/s] Contact velocities of the forces of Fig. 6, in configuration one, by the reference; its caption."""

DETECTION = (3.0, 5.0)
"""[ms] that the detection takes, section VI."""

DURATION = 10.0
"""[ms] of an impact in the mean, ten times the period of the controller, section VI."""

RISING_STEPS = 1
"""Rising ones of the twelve steps from one speed to the next in Fig. 5(b): configuration two from 0.08 m/s; VII-A3."""

SMALL_RESTITUTION, SMALL_ABOVE_RATIO, SMALL_ABOVE_SPEED = 0.15, 0.85, 0.1
"""[-, -, m/s] The restitution of Fig. 5(b) stays below the first where (29) and the speed exceed the others; VII-C."""
