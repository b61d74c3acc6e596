"""Tables III and IV of Rey Arias 2024 as printed, in deg/s: (10, 7), one row a type, one column a joint.

Taken from the extracted text, lines 263 to 282 (Table III) and 288 to 297 (Table IV). What the extraction lost: the
colours of the cells, which follow from the numbers and the printed rule (a difference of at least 1 deg/s), and the
accents that tell the two velocities in (17) and in the head of Table III apart; the caption says which is which. No
number is damaged: the columns for B_theta of Table III and for the friction 0.3 of Table IV, which are the same
quantity, are equal in all 70 cells.
"""

from __future__ import annotations

import numpy as np

from impact_control.util.types import Matrix


def _array(*rows: tuple[float, ...]) -> Matrix:
    array = np.array(rows)
    array.setflags(write=False)
    return array


ERROR_REDUCED_MOTORS = _array(
    (0.17, 0.73, 0.57, 0.88, 0.64, 2.97, 0.42),
    (0.16, 0.23, 0.28, 0.41, 0.55, 6.62, 0.48),
    (0.24, 0.62, 0.65, 0.61, 1.02, 5.39, 0.31),
    (0.24, 0.72, 0.37, 1.01, 1.37, 1.75, 0.29),
    (0.22, 2.38, 0.11, 1.35, 3.11, 4.36, 0.24),
    (0.15, 1.14, 1.15, 0.85, 3.76, 1.41, 0.9),
    (0.1, 1.09, 1.06, 0.35, 3.22, 0.86, 1.18),
    (0.29, 0.49, 0.53, 1.13, 1.47, 5.9, 0.96),
    (0.3, 2.16, 1.52, 0.93, 4.32, 1.83, 0.06),
    (0.41, 1.04, 0.69, 0.44, 0.9, 1.1, 0.48),
)
"""Mean absolute error of the prediction with B_theta and friction 0.3, Table III."""

ERROR_MOTORS = _array(
    (0.21, 0.46, 0.68, 0.91, 0.5, 10.06, 0.17),
    (0.18, 0.57, 0.37, 1.32, 0.41, 12.67, 0.25),
    (0.29, 0.57, 0.77, 1.47, 0.79, 10.15, 0.15),
    (0.32, 1.28, 0.56, 1, 0.89, 1.49, 0.19),
    (0.33, 1.41, 0.15, 0.16, 1.23, 9.65, 0.19),
    (0.22, 0.68, 1, 1.51, 1.84, 1.13, 0.54),
    (0.21, 0.88, 0.89, 0.21, 1.64, 2.89, 0.63),
    (0.36, 0.2, 0.38, 0.8, 0.31, 11.63, 0.29),
    (0.28, 2.15, 1.44, 1.02, 2.21, 2.35, 0.07),
    (0.44, 0.87, 1.08, 1.03, 0.8, 2.58, 0.36),
)
"""The same with B_rho, Table III."""

GROSS_POST_VELOCITY = _array(
    (0.34, 14.74, -0.96, 21.58, -0.11, 24.01, 0.02),
    (0.18, 21.32, -0.56, 34.04, -0.08, 24.53, 0.05),
    (0.39, 20.44, -0.99, 35.54, 0.26, 17.9, 0.08),
    (0.54, 16.55, -0.87, 31.55, 0.2, 5.7, 0.1),
    (0.5, -8.93, -0.37, -17.02, -0.93, -12.97, -0.21),
    (0.29, -8.29, 0.86, -14.56, 0.21, 1.68, -0.44),
    (0.32, -7.57, 0.72, -14.32, 0.25, 8.23, -0.45),
    (0.46, -6.7, 0.15, -13.92, -0.74, 20.35, -0.2),
    (-8.31, -2.52, -1.46, -2.46, 0.12, 4.19, -0.08),
    (-9.46, -0.79, -2.64, -2.86, 0.54, 8.08, 0.22),
)
"""Virtual rigid-body velocity after the impact, means of five repetitions, Table III."""

ANTE_VELOCITY = _array(
    (0.08, 22.87, -0.1, 23.95, -0.03, 0.19, 0),
    (0.04, 27.42, -0.01, 36.34, 0.01, 0.18, -0.08),
    (0.06, 27.47, -0.06, 37.92, 0, -0.02, 0.03),
    (0.17, 26.13, -0.06, 33.56, 0.02, 0.12, -0.01),
    (-0.02, 0.69, -0.03, -26.04, -0.5, 0.31, -0.08),
    (-0.07, 0.5, 0.12, -24.84, 0, 0.41, -0.04),
    (0, 0.92, 0.04, -22.09, -0.04, 0.08, 0),
    (0.02, 0.47, -0.08, -21.65, 0.03, 0.12, -0.12),
    (-9.6, 4.76, -3.84, -5.22, -0.01, 0.05, -0.14),
    (-9.59, 4.39, -5.28, -4.64, 0.01, 0.04, -0.06),
)
"""Velocity before the impact, in parentheses in Table III."""

ERROR_WITH_FRICTION = ERROR_REDUCED_MOTORS
"""Mean absolute error with B_theta and friction 0.3, Table IV, where the numbers of Table III stand again."""

ERROR_WITHOUT_FRICTION = _array(
    (0.16, 3.26, 0.57, 3.8, 1.26, 2.18, 0.53),
    (0.15, 2.19, 0.31, 3.63, 1.07, 6.12, 0.56),
    (0.24, 2.97, 0.7, 3.66, 1.46, 3.08, 0.41),
    (0.25, 4.25, 0.5, 3.7, 1.8, 8.02, 0.45),
    (0.28, 0.98, 0.12, 4.24, 2.33, 12.81, 0.31),
    (0.17, 1.01, 1.13, 5.85, 3.06, 19.58, 0.28),
    (0.13, 1.6, 1.07, 4.31, 2.76, 16.99, 0.63),
    (0.3, 2.53, 0.6, 5.25, 1.19, 18.63, 0.54),
    (0.19, 1.77, 1.44, 0.66, 5.21, 10.84, 0.56),
    (0.45, 0.36, 3.73, 0.68, 1.86, 1.38, 0.49),
)
"""The same without friction, Table IV."""

FRICTION_COEFFICIENT = 0.3
"""Between sphere and plate, identified from type 4, the same with B_theta and B_rho; section IV-B."""

FRICTION_TYPE = 4
"""Type of the experiment from which it was identified, same place."""

SIGNIFICANT = 1.0
"""[deg/s] difference of two errors from which the cells are coloured; captions of both tables."""

LARGEST_ERROR = 7.0
"""[deg/s] that no error of the full prediction exceeds; section V."""
