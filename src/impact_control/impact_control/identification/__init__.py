"""Quantities of the robot and of its impacts from measured data, offline."""

from impact_control.identification.contact_bound import contact_parameter_bound
from impact_control.identification.contact_model import ContactModel
from impact_control.identification.contact_parameters import (
    ContactFit,
    Estimate,
    compare_contact_models,
    fit_contact_model,
)
from impact_control.identification.contact_profile import ForceProfile
from impact_control.identification.friction_coefficient import FrictionEstimate, identify_friction_coefficient
from impact_control.identification.impact_time import offline_impact_time
from impact_control.identification.post_impact_velocity import (
    GROSS_VELOCITY_WINDOW,
    ante_impact_velocity,
    gross_post_impact_velocity,
)

__all__ = [
    "GROSS_VELOCITY_WINDOW",
    "ContactFit",
    "ContactModel",
    "Estimate",
    "ForceProfile",
    "FrictionEstimate",
    "ante_impact_velocity",
    "compare_contact_models",
    "contact_parameter_bound",
    "fit_contact_model",
    "gross_post_impact_velocity",
    "identify_friction_coefficient",
    "offline_impact_time",
]
