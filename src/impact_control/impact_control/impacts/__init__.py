"""Impact maps of rigid robots and force laws of compliant contact."""

from impact_control.impacts.contact_laws import (
    ExponentialHuntCrossley,
    HuntCrossley,
    LawKind,
    LinearSpring,
    Maxwell,
    NonlinearViscoelastic,
    NormalForceLaw,
    RestitutionHuntCrossley,
    contact_damping,
    contact_stiffness,
    normal_force,
    regularised_coulomb_gain,
)
from impact_control.impacts.contact_map import ContactImpact, FrictionLaw, SlipOutcome, predict_contact_impact
from impact_control.impacts.contact_solver import ContactSolverError, solve_contacts
from impact_control.impacts.contact_system import Body, Contact, ContactSystem, assemble, free_object
from impact_control.impacts.impact_belief import ImpactBelief, ObservedImpact
from impact_control.impacts.multi_contact import (
    ContactMode,
    MultiContactImpact,
    impact_impulses,
    predict_multi_contact_impact,
    slip_of_contacts,
)
from impact_control.impacts.rigid_map import ImpactPrediction, predict_post_impact_velocity

__all__ = [
    "Body",
    "Contact",
    "ContactImpact",
    "ContactMode",
    "ContactSolverError",
    "ContactSystem",
    "ExponentialHuntCrossley",
    "FrictionLaw",
    "HuntCrossley",
    "ImpactBelief",
    "ImpactPrediction",
    "LawKind",
    "LinearSpring",
    "Maxwell",
    "MultiContactImpact",
    "NonlinearViscoelastic",
    "NormalForceLaw",
    "ObservedImpact",
    "RestitutionHuntCrossley",
    "SlipOutcome",
    "assemble",
    "contact_damping",
    "contact_stiffness",
    "free_object",
    "impact_impulses",
    "normal_force",
    "predict_contact_impact",
    "predict_multi_contact_impact",
    "predict_post_impact_velocity",
    "regularised_coulomb_gain",
    "slip_of_contacts",
    "solve_contacts",
]
