"""Plans of tasks before an arm moves, their use of each limit, refusals, and proposals."""

from impact_control.planning.arm_plan import ArmPlan, Plan
from impact_control.planning.budget import Budget, TorqueStep, budget_of
from impact_control.planning.feasible_plan import (
    InfeasibleTaskError,
    draft_plan,
    object_force,
    plan_scenario,
    require_limits,
)
from impact_control.planning.impact_signal import ImpactSignal, impact_signal
from impact_control.planning.limit_use import ANTE, POST, Quantity, Use
from impact_control.planning.operating_envelope import (
    Departure,
    OperatingEnvelope,
    departures,
    load_envelope,
    planned_values,
    verified_envelope,
)
from impact_control.planning.outlook import ArmOutlook, Outlook, outlook_of
from impact_control.planning.proposals import Proposal, proposals_text, propose
from impact_control.planning.singular import SMALLEST_SINGULAR_VALUE, NearestSingularity, nearest_singularity

__all__ = [
    "ANTE",
    "POST",
    "SMALLEST_SINGULAR_VALUE",
    "ArmOutlook",
    "ArmPlan",
    "Budget",
    "Departure",
    "ImpactSignal",
    "InfeasibleTaskError",
    "NearestSingularity",
    "OperatingEnvelope",
    "Outlook",
    "Plan",
    "Proposal",
    "Quantity",
    "TorqueStep",
    "Use",
    "budget_of",
    "departures",
    "draft_plan",
    "impact_signal",
    "load_envelope",
    "nearest_singularity",
    "object_force",
    "outlook_of",
    "plan_scenario",
    "planned_values",
    "proposals_text",
    "propose",
    "require_limits",
    "verified_envelope",
]
