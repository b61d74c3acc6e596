"""What the sensors of the impact studies would record of a free mass."""

from __future__ import annotations

import math

import numpy as np

from impact_studies.models.impacts.normal_impact import sample_normal_impact, simulate_normal_impact
from impact_studies.wang.trials import DRIVE_PERIOD, Trial


def free_mass_trial(law, mass, speed, noise=0.0):
    """The impact of a free mass on a law, and its record: samples of 4 kHz that do not begin at the touch."""
    impact = simulate_normal_impact(law, mass, speed)
    time = -0.0051 + DRIVE_PERIOD * np.arange(200)
    exact = np.maximum(sample_normal_impact(law, mass, speed, time), 0.0)
    rate = np.interp(time, impact.time, impact.depth_rate, left=speed)
    force = exact + noise * np.random.default_rng(1).standard_normal(time.size)
    nothing = np.zeros(7)
    return impact, Trial(time, force, exact, rate, nothing, nothing, speed, math.nan)
