"""Models for the detector on all joints, as tests need them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from impact_control.detection.whitened import DEVIATIONS, band_correlations, correlation_rows


def whitened_model(size, *, deviation=0.1, friction=(0.0, 1.0, 0.0, 0.0), **changes):
    """Model of a `WhitenedScore` whose channels are independent and have one deviation [Nm] whatever the motion.

    friction: amplitude, slope, offset and viscous friction of every joint.
    """
    deviations = np.zeros((DEVIATIONS, size))
    deviations[::4] = deviation
    correlations = np.zeros((correlation_rows(size), size))
    for matrix in band_correlations(correlations):
        matrix[:] = np.eye(len(matrix))
    names = ("amplitude", "slope", "offset", "viscous")
    model = {
        "friction": SimpleNamespace(**{n: np.full(size, v) for n, v in zip(names, friction, strict=True)}),
        "known_speed": np.full(size, 1e6),
        "deviations": deviations,
        "correlations": correlations,
    }
    return SimpleNamespace(**{**model, **changes})
