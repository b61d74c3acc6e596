"""Impacts as events in the rate of the momentum residual."""

from impact_control.detection.impact_detector import NO_LINK, ImpactDetector

__all__ = ["NO_LINK", "ImpactDetector"]
