"""Tables II and III of van Steen 2024 as printed: estimate [m/s] and errors [%] with B_theta, B_rho and 0."""

from __future__ import annotations

from dataclasses import dataclass

from impact_studies.net_feedback.plan import CASES, GRAB, OBJECTS, PUSH, SceneCase


@dataclass(frozen=True)
class Row:
    """One row: estimate [m/s]; errors [%] of the predictions with B_theta, B_rho, 0, positive above it."""

    estimate: float
    errors: tuple[float, float, float]


_PRINTED = {
    PUSH: (
        Row(0.425, (3.12, 5.93, 0.25)),
        Row(0.587, (4.36, 6.62, 2.31)),
        Row(0.438, (0.10, 2.90, -2.27)),
        Row(0.370, (4.78, 9.52, 0.73)),
        Row(0.534, (1.82, 5.76, -1.56)),
        Row(0.380, (2.62, 6.47, -1.15)),
        Row(0.333, (3.19, 8.26, -2.98)),
        Row(0.469, (2.85, 6.77, -1.89)),
        Row(0.364, (-5.21, 0.31, -10.47)),
    ),
    GRAB: (
        Row(0.361, (4.04, 7.42, 3.67)),
        Row(0.505, (11.06, 14.08, 9.82)),
        Row(0.379, (1.86, 3.73, 1.40)),
        Row(0.336, (1.18, 5.35, -1.46)),
        Row(0.499, (2.66, 6.06, -3.41)),
        Row(0.372, (-4.62, -3.81, -4.80)),
        Row(0.316, (1.15, 8.03, -7.82)),
        Row(0.516, (-7.56, -1.77, -17.31)),
        Row(0.323, (1.62, 5.50, -3.24)),
    ),
}

ROWS = {
    SceneCase(scene, name, number): _PRINTED[scene][len(CASES) * i + j]
    for scene in _PRINTED
    for i, name in enumerate(OBJECTS)
    for j, number in enumerate(CASES)
}
"""Every row by its case."""

MEAN_ERROR = {PUSH: (1.96, 5.84, -1.89), GRAB: (1.27, 4.95, -2.57)}
"""[%] Average errors as printed, B_theta, B_rho, 0."""

ABSOLUTE_ERROR = {PUSH: (3.12, 5.84, 2.62), GRAB: (3.97, 6.19, 5.88)}
"""[%] Average absolute errors as printed; those with B_theta are the targets."""
