"""External joint torque from the joint measurements: momentum residuals."""

from impact_control.observation.momentum_observer import MomentumObserver

__all__ = ["MomentumObserver"]
