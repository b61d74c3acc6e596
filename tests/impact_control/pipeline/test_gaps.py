"""Gaps of 2 to 64 ms in the joint states, at random moments of random tasks in the simulation."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pytest

from impact_control.control import Fault
from impact_control.pipeline import Outcome, Pipeline
from impact_control.planning import plan_scenario
from impact_control.simulation.world import build_world
from impact_control.util.errors import ImpactControlError
from random_tasks import random_task

PERIOD = 1e-3
BRIDGED = 0.02
SEEDS = (0, 1, 2, 4, 5, 7)
"""Of tasks that can be planned."""


@dataclass
class Run:
    """A task with one gap: how it ended, when impacts were detected and the arm first touched [s], its force [N]."""

    outcome: Outcome
    fault: Fault
    reason: str
    detections: list[float]
    contact: float
    force: list[float]


@functools.cache
def plan(seed):
    return plan_scenario(random_task(seed, "panda"))


@functools.cache
def run(seed, begin=0.0, gap=0.0):
    """Run the task of a seed; the samples between `begin` and `begin + gap` [s] never arrive."""
    (arm,) = plan(seed).arms.values()
    scenario = arm.scenario.with_overrides({"simulation.seed": seed})
    world = build_world(
        scenario, None, {name: a.reference.initial_configuration for name, a in plan(seed).arms.items()}
    )
    plant, sensors, gate = world.single
    pipeline = Pipeline(scenario, arm.robot)
    pipeline.reset()
    pipeline.start(arm.reference, scenario, arm.force)
    detections, force = [], []
    for k in range(round((scenario.task.duration + 1.0) / PERIOD)):
        sample, time = sensors.measure(plant), k * PERIOD
        force.append(plant.normal_force)
        world.step([gate.select(plant.link_velocity, PERIOD)])
        if begin < time < begin + gap - 1e-9:
            continue
        pipeline.tick(time, sample.position, sample.velocity, sample.torque)
        gate.offer(pipeline.torque)
        if pipeline.impact_now:
            detections.append(time)
        if pipeline.finished:
            break
    return Run(
        pipeline.outcome,
        pipeline.controller.fault,
        pipeline.stop_reason(),
        detections,
        plant.first_contact_time,
        force,
    )


def with_gap(seed, moment, number, shortest, longest):
    """Run a task with a random gap [s] at a moment of it; return it, and the one without."""
    random = np.random.default_rng([seed, number])
    gap = round(random.uniform(shortest, longest) / PERIOD) * PERIOD
    whole = run(seed)
    begin = {
        "free": lambda: random.uniform(0.05, whole.contact - gap - 0.01),
        "impact": lambda: whole.contact - random.uniform(0.0, gap),
        "contact": lambda: random.uniform(whole.contact + 0.02, whole.contact + 0.4),
    }[moment]()
    return run(seed, round(begin / PERIOD) * PERIOD, gap), whole


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("moment", ["free", "impact", "contact"])
@pytest.mark.parametrize("number", [0, 1])
def test_a_task_goes_on_over_a_gap_of_20_ms(seed, moment, number):
    found, whole = with_gap(seed, moment, number, 0.002, BRIDGED)
    assert found.fault is Fault.NONE and found.reason == ""
    assert min(found.detections) >= found.contact
    # An impact in the gap is seen behind it; without commands the arm may bounce then, which is unexpected.
    assert found.detections[0] - found.contact < BRIDGED + 0.003
    if moment == "impact":
        assert found.outcome in (whole.outcome, Outcome.SUCCEEDED, Outcome.POST_IMPACT_UNEXPECTED)
    else:
        assert found.outcome is whole.outcome
        assert len(found.detections) == len(whole.detections)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("moment", ["free", "impact", "contact"])
@pytest.mark.parametrize("number", [0, 1])
def test_a_longer_gap_stops_the_task_in_order(seed, moment, number):
    found, whole = with_gap(seed, moment, number, BRIDGED + PERIOD, 0.064)
    assert found.fault is Fault.NONE
    assert "ms without a joint state" in found.reason
    assert found.detections[:1] == (whole.detections[:1] if moment == "contact" else [])
    # Behind the gap the arm, which was damped, may come off and touch again; nothing else is detected.
    for time in found.detections[1:]:
        last = round(time / PERIOD)
        assert min(found.force[last - 5 : last]) == 0.0 < max(found.force[last - 5 : last + 1])
    judged = moment == "contact" and whole.outcome is not Outcome.SUCCEEDED
    assert found.outcome in ((Outcome.UNDECIDED, whole.outcome) if judged else (Outcome.UNDECIDED,))


def test_the_tasks_can_be_planned():
    for seed in SEEDS:
        try:
            plan(seed)
        except ImpactControlError as error:
            pytest.fail(f"{seed}: {error}")
