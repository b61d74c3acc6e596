"""The outlook of a task as text and as plain values: what it uses of each limit, what the impact is predicted to do."""

from __future__ import annotations

from typing import Any

import numpy as np

from impact_control.planning.arm_plan import ArmPlan
from impact_control.planning.budget import Budget, TorqueStep
from impact_control.planning.limit_use import Use
from impact_control.planning.outlook import ArmOutlook, Outlook
from impact_control.planning.proposals import proposals_text
from impact_control.recording.page import WIDTH, summary_text
from impact_control.recording.summary import Grid, Mark, Row, RunSummary, short_joint_names
from impact_control.util.errors import words_of
from impact_control.util.words import fixed, in_words

_NOTABLE = 0.001
"""Probability of a false alarm in a task below which its value says nothing."""


def outlook_text(outlook: Outlook, width: int = WIDTH, color: bool = False) -> str:
    """Return a table of each arm, and what stands against the task, as text for a terminal of this width."""
    parts = [summary_text(_summary(arm), width, color) for arm in outlook.arms]
    if not outlook.feasible:
        parts.append("".join(f"{words_of(refusal)}\n" for refusal in outlook.refusals))
        parts.append(proposals_text(outlook.proposals) + "\n")
    signals = [warning for arm in outlook.arms if arm.signal is not None for warning in arm.signal.warnings]
    if warnings := (*signals, *outlook.departures):
        parts.append("".join(f"warning: {warning}\n" for warning in warnings))
    return "\n".join(parts)


def outlook_values(outlook: Outlook) -> dict[str, Any]:
    """Return the same as plain values in SI, arms by name."""
    return {
        "name": outlook.name,
        "feasible": outlook.feasible,
        "refusals": [words_of(refusal) for refusal in outlook.refusals],
        "proposals": [dict(proposal.changes) for proposal in outlook.proposals],
        "not_verified": [vars(departure) for departure in outlook.departures],
        "arms": {arm.plan.name: _values(arm) for arm in outlook.arms},
    }


def _summary(arm: ArmOutlook) -> RunSummary:
    plan, budget, nearest = arm.plan, arm.budget, arm.nearest
    reference, who = plan.reference, f", arm {plan.name}" if plan.name else ""
    singular = f"smallest singular value {nearest.value:.3g} at {nearest.time:.3f} s"
    rows = [
        Row("Plan", f"{plan.scenario.name}{who}: {plan.robot.name} with {plan.robot.end_effector.name}"),
        Row("Impact", f"at {reference.nominal_impact_time:.3f} s, {reference.normal_impulse:.3g} Ns"),
        Row("Contact", f"{in_words(reference.slip)} after it"),
        Row("Change of torque", _step(plan, budget.change)),
        Row("Due to the force", _step(plan, budget.force)),
        Row("Nearest singularity", singular, Mark.BAD if nearest.too_near else Mark.PLAIN),
    ]
    if (signal := arm.signal) is not None:
        share = f"{signal.share:.2g} times the threshold of {_short(plan)[signal.joint]} on a stiff surface"
        rows.insert(3, Row("Signal", share, Mark.BAD if signal.too_weak else Mark.PLAIN))
        probability = signal.false_alarm_probability
        value = f"{probability:.2g}" if probability >= _NOTABLE else f"below {_NOTABLE:g}"
        alarms = f"probability {value}, by the residual rate"
        rows.insert(4, Row("False alarm", alarms, Mark.BAD if signal.too_noisy else Mark.PLAIN))
    worst = max(use.share for use in budget.uses)
    verdict = f"{'INFEASIBLE' if budget.violations else 'FEASIBLE'}: {worst:.0%} of a limit at most."
    return RunSummary(
        plan.scenario.name,
        tuple(rows),
        (_budget_grid(plan, budget), _velocity_grid(plan)),
        verdict,
        not budget.violations,
    )


def _values(arm: ArmOutlook) -> dict[str, Any]:
    reference = arm.plan.reference
    return {
        "limits": [_use_values(use) for use in arm.budget.uses],
        "impact": {
            "time": reference.nominal_impact_time,
            "joints": list(arm.plan.robot.joint_names),
            "velocity_before": reference.ante_impact_velocity.tolist(),
            "velocity_after": reference.post_impact_velocity.tolist(),
            "normal_impulse": reference.normal_impulse,
            "slip": in_words(reference.slip),
        },
        "change_of_torque": vars(arm.budget.change),
        "torque_of_force": vars(arm.budget.force),
        "nearest_singularity": vars(arm.nearest),
        "signal": None if arm.signal is None else vars(arm.signal),
    }


def _use_values(use: Use) -> dict[str, Any]:
    return {**vars(use), "quantity": use.quantity.words, "unit": use.quantity.unit, "violated": use.violated}


def _step(plan: ArmPlan, step: TorqueStep) -> str:
    return f"{step.torque:.3g} Nm in {_short(plan)[step.joint]}, {1e3 * step.duration:.1f} ms at its largest rate"


def _short(plan: ArmPlan) -> dict[str, str]:
    """Return a short name of each joint."""
    names = plan.robot.joint_names
    return dict(zip(names, short_joint_names(names), strict=True))


def _budget_grid(plan: ArmPlan, budget: Budget) -> Grid:
    short = _short(plan)
    header = ("", "reference", "joint", "time", "value", "limit", "used")
    rows = tuple(
        (
            use.quantity.words,
            use.reference.removesuffix("-impact"),
            short[use.joint].removeprefix("joint "),
            f"{use.time:.3f} s",
            f"{use.value:.4g}",
            f"{use.limit:.4g} {use.quantity.unit}",
            f"{use.share:.0%}",
        )
        for use in budget.uses
    )
    above = frozenset((i, len(header) - 1) for i, use in enumerate(budget.uses) if use.violated)
    return Grid("Largest use of each limit", header, rows, above)


def _velocity_grid(plan: ArmPlan) -> Grid:
    reference = plan.reference
    before, after = np.rad2deg(reference.ante_impact_velocity), np.rad2deg(reference.post_impact_velocity)
    lines = (("before", before), ("after", after), ("jump", after - before))
    rows = tuple((name, *(fixed(value, 1) for value in values)) for name, values in lines)
    return Grid("Predicted joint velocity across the impact [deg/s]", ("", *_short(plan).values()), rows)
