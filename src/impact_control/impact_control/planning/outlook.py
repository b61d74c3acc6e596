"""The outlook of a task before it begins: the plan of each arm with its budget, and the refusals."""

from __future__ import annotations

from dataclasses import dataclass

from impact_control.impacts import ContactSolverError
from impact_control.planning.arm_plan import ArmPlan
from impact_control.planning.budget import Budget, budget_of
from impact_control.planning.feasible_plan import InfeasibleTaskError, draft_plan
from impact_control.planning.impact_signal import ImpactSignal, impact_signal
from impact_control.planning.operating_envelope import Departure, departures
from impact_control.planning.proposals import Proposal, propose
from impact_control.planning.singular import NearestSingularity, nearest_singularity
from impact_control.references import UnreachableReferenceError
from impact_control.scenario import Scene
from impact_control.util.errors import ImpactControlError


@dataclass(frozen=True, eq=False)
class ArmOutlook:
    """The plan of one arm, what it uses of the limits, and how near to a singular configuration it leads.

    signal: of the impact in its detector; None where that is not known.
    """

    plan: ArmPlan
    budget: Budget
    nearest: NearestSingularity
    signal: ImpactSignal | None


@dataclass(frozen=True, eq=False)
class Outlook:
    """A task before it begins.

    Attributes:
        name: of the scenario or scene.
        arms: none where there is no plan.
        refusals: why it is not begun.
        proposals: with each of which it could be.
        departures: what of it lies outside the ranges that were verified.
    """

    name: str
    arms: tuple[ArmOutlook, ...]
    refusals: tuple[ImpactControlError, ...]
    proposals: tuple[Proposal, ...] = ()
    departures: tuple[Departure, ...] = ()

    @property
    def feasible(self) -> bool:
        """True where the task can be begun."""
        return not self.refusals


def outlook_of(scene: Scene) -> Outlook:
    """Plan a scene, judge the plan, and look for changes that would make it feasible.

    It is held against the ranges that were verified, too. Raises InvalidInputError, ScenarioError.
    """
    outside = departures(scene)
    try:
        plans = draft_plan(scene).arms.values()
    except (UnreachableReferenceError, ContactSolverError) as error:
        return Outlook(scene.name, (), (error,), propose(scene, (error,)), outside)
    arms = tuple(ArmOutlook(plan, budget_of(plan), nearest_singularity(plan), impact_signal(plan)) for plan in plans)
    refused = (arm for arm in arms if arm.budget.violations)
    refusals = tuple(InfeasibleTaskError(arm.budget.violations, arm.plan.name) for arm in refused)
    return Outlook(scene.name, arms, refusals, propose(scene, refusals) if refusals else (), outside)
