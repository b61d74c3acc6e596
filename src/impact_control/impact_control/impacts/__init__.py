"""Impact maps of rigid robots and force laws of compliant contact."""

from impact_control.impacts.contact_laws import (
    ExponentialHuntCrossley,
    Material,
    RegularisedCoulomb,
    exponential_hunt_crossley_force,
    regularised_coulomb_gain,
    sphere_on_plane_stiffness,
)
from impact_control.impacts.rigid_map import ImpactPrediction, predict_post_impact_velocity

__all__ = [
    "ExponentialHuntCrossley",
    "ImpactPrediction",
    "Material",
    "RegularisedCoulomb",
    "exponential_hunt_crossley_force",
    "predict_post_impact_velocity",
    "regularised_coulomb_gain",
    "sphere_on_plane_stiffness",
]
