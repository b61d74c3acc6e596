"""External joint torque and velocity from the joint measurements: residuals, baselines, backlash, filters."""

from impact_control.observation.backlash_model import BacklashModel
from impact_control.observation.momentum_observer import MomentumObserver

__all__ = [
    "BacklashModel",
    "MomentumObserver",
]
