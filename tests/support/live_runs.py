"""Runs of a scenario on a live graph."""

from __future__ import annotations

from impact_control.replay.evaluation import evaluate
from impact_control.scenario import load_scenario


def run(session, scenario, seed, bag):
    """Run a scenario with the arm put back to its start; return the task's result and what the bag says."""
    session.restart_arm(scenario, seed)
    session.record(bag, load_scenario(scenario).with_overrides({"simulation.seed": seed}).to_yaml())
    result = session.run_task(scenario)
    session.record(None)
    return result, evaluate(bag)
