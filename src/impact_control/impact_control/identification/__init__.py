"""Quantities of the robot and of its impacts from measured data, offline."""

from impact_control.identification.post_impact_velocity import (
    GROSS_VELOCITY_WINDOW,
    ante_impact_velocity,
    gross_post_impact_velocity,
)

__all__ = ["GROSS_VELOCITY_WINDOW", "ante_impact_velocity", "gross_post_impact_velocity"]
