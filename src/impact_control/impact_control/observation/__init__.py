"""External joint torque and velocity from the joint measurements: residual and filters."""

from impact_control.observation.momentum_observer import MAXIMUM_GAP, POSITION_TOLERANCE, MomentumObserver

__all__ = ["MAXIMUM_GAP", "POSITION_TOLERANCE", "MomentumObserver"]
