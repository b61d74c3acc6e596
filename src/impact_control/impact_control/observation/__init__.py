"""External joint torque and velocity from the joint measurements: residuals, baselines, backlash, filters."""

from impact_control.observation.backlash_model import BacklashModel
from impact_control.observation.backlash_observer import BacklashObserver
from impact_control.observation.inverse_dynamics_error import DirectObserver, PublishedTorqueObserver
from impact_control.observation.momentum_observer import MomentumObserver
from impact_control.observation.velocity_filter import JumpAwareVelocityFilter

__all__ = [
    "BacklashModel",
    "BacklashObserver",
    "DirectObserver",
    "JumpAwareVelocityFilter",
    "MomentumObserver",
    "PublishedTorqueObserver",
]
