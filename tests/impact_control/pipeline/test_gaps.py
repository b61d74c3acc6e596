"""Gaps of 2 to 64 ms in the joint states, at random moments of random tasks and motions in the simulation.

Without a guard the last command is held meanwhile; a guard, as in every launch, damps after 5 ms.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pytest
import yaml

from impact_control.control import Fault, fault_damping
from impact_control.pipeline import MoveOutcome, Outcome, Pipeline, StartPose
from impact_control.planning import plan_scenario
from impact_control.planning.joint_move import plan_move
from impact_control.scenario import config_directory, load_scenario, robot_of
from impact_control.simulation.world import build_world
from impact_control.util.errors import ImpactControlError
from random_tasks import random_task

PERIOD = 1e-3
BRIDGED = 0.02
SEEDS = (0, 1, 2, 4, 5, 7)
"""Of tasks that can be planned."""

BRIEFLY = [pytest.param(seed, marks=pytest.mark.long if seed > 1 else ()) for seed in SEEDS]
"""Where each is run with several gaps, or twice."""


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


class Guard:
    """The guard of an arm between two samples, in the place of the simulator's gate: see `impact_guard`."""

    def __init__(self, model="panda", factor=1.0):
        file = yaml.safe_load((config_directory() / "controllers" / f"{model}.yaml").read_text())
        parameters = file["/**/effort_controller"]["ros__parameters"]
        self._damping = factor * np.array(parameters["damping"])
        self._doubled_above = parameters["damping_doubled_above"]
        self._limits = np.array(parameters["torque_limits"])
        self._torque, self._command = np.zeros(7), np.zeros(7)
        self._age, self._commands = 0, 3

    def offer(self, command):
        self._command, self._age = command.copy(), 0
        self._commands += 1

    def select(self, velocity, period):
        self._age += 1
        if self._age > 5:
            self._commands = 0
        excess = np.sign(velocity) * np.maximum(0.0, np.abs(velocity) - self._doubled_above)
        wanted = self._command if self._commands >= 3 else -self._damping * (velocity + excess)
        wanted = np.clip(wanted, -self._limits, self._limits)
        self._torque = self._torque + np.clip(wanted - self._torque, -1000.0 * period, 1000.0 * period)
        return self._torque


def arm_of(seed, guarded):
    """Return the plan of an arm, its scenario, plant, sensors, gate or guard, and a function that steps the plant."""
    (arm,) = plan(seed).arms.values()
    scenario = arm.scenario.with_overrides({"simulation.seed": seed})
    world = build_world(
        scenario, None, {name: a.reference.initial_configuration for name, a in plan(seed).arms.items()}
    )
    plant, sensors, gate = world.single
    return arm, scenario, plant, sensors, Guard() if guarded else gate, world.step


@functools.cache
def run(seed, guarded, begin=0.0, gap=0.0, late=None):
    """Run the task of a seed; the samples between `begin` and `begin + gap` [s] never arrive.

    late: by how much [s] the stamp of each sample comes late.
    """
    arm, scenario, plant, sensors, gate, step = arm_of(seed, guarded)
    pipeline = Pipeline(scenario, arm.robot)
    pipeline.reset()
    pipeline.start(arm.reference, scenario, arm.force)
    detections, force = [], []
    for k in range(round((scenario.task.duration + 1.0) / PERIOD)):
        sample, time = sensors.measure(plant), k * PERIOD
        force.append(plant.normal_force)
        step([gate.select(plant.link_velocity, PERIOD)])
        if begin < time < begin + gap - 1e-9:
            continue
        stamp = time + (late[k] if late else 0.0)
        pipeline.tick(stamp, sample.position, sample.velocity, sample.torque)
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


def with_gap(seed, guarded, moment, number, shortest, longest):
    """Run a task with a random gap [s] at a moment of it; return it, and the one without."""
    random = np.random.default_rng([seed, number])
    gap = round(random.uniform(shortest, longest) / PERIOD) * PERIOD
    whole = run(seed, guarded)
    begin = {
        "free": lambda: random.uniform(0.05, whole.contact - gap - 0.01),
        "impact": lambda: whole.contact - random.uniform(0.0, gap),
        "contact": lambda: random.uniform(whole.contact + 0.02, whole.contact + 0.4),
    }[moment]()
    return run(seed, guarded, round(begin / PERIOD) * PERIOD, gap), whole


@pytest.mark.parametrize(
    ("model", "delay"), [("panda", 0), ("panda", 2), ("fr3", 2), pytest.param("fr3", 0, marks=pytest.mark.long)]
)
def test_the_damping_of_the_guard_brings_the_arm_to_rest(model, delay):
    """Also when it is a tenth stronger: too strong, with its rate limited, it keeps the compliant joints swinging.

    delay: samples between a velocity and the torque for it.
    """
    scenario = load_scenario("tabletop").with_overrides({"robot.model": model})
    planned = plan_scenario(scenario)
    (arm,) = planned.arms.values()
    for stopped in (0.6, 0.95, 1.3):
        world = build_world(arm.scenario, None, {"": arm.reference.initial_configuration})
        plant, sensors, gate = world.single
        pipeline, guard, velocities = Pipeline(arm.scenario, arm.robot), Guard(model, 1.1), []
        pipeline.reset()
        pipeline.start(arm.reference, arm.scenario, arm.force)
        for k in range(round((stopped + 1.5) / PERIOD)):
            sample = sensors.measure(plant)
            velocities.append(sample.velocity.copy())
            if k * PERIOD < stopped:
                pipeline.tick(k * PERIOD, sample.position, sample.velocity, sample.torque)
                gate.offer(pipeline.torque)
                guard.offer(pipeline.torque)
                guard.select(plant.link_velocity, PERIOD)
                world.step([gate.select(plant.link_velocity, PERIOD)])
            else:
                world.step([guard.select(velocities[max(0, k - delay)], PERIOD)])
        assert np.abs(plant.link_velocity).max() < 0.02


@pytest.mark.parametrize("seed", BRIEFLY)
@pytest.mark.parametrize("moment", ["free", "impact", "contact"])
@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("guarded", [False, True])
def test_a_task_goes_on_over_a_gap_of_20_ms(seed, moment, number, guarded):
    found, whole = with_gap(seed, guarded, moment, number, 0.002, BRIDGED)
    assert found.fault is Fault.NONE and found.reason == ""
    assert min(found.detections) >= found.contact
    # An impact in the gap is seen behind it; without commands the arm may bounce then, which is unexpected.
    assert found.detections[0] - found.contact < BRIDGED + 0.003
    if moment == "impact":
        assert found.outcome in (whole.outcome, Outcome.SUCCEEDED, Outcome.POST_IMPACT_UNEXPECTED)
    elif moment == "contact" and guarded:
        # Damped, the arm does not follow, and the contact force changes by a third and more, to 0 and back: that is
        # seen, and nothing else.
        assert found.outcome in (whole.outcome, Outcome.POST_IMPACT_UNEXPECTED)
        for time in set(found.detections) - set(whole.detections):
            recent = found.force[round(time / PERIOD) - 10 : round(time / PERIOD) + 1]
            assert min(recent) < 0.67 * max(recent)
    else:
        assert found.outcome is whole.outcome
        assert len(found.detections) == len(whole.detections)


def require_touches(found, times):
    """Require that the arm was off the surface just before each of these times [s], and touched it then."""
    for time in times:
        last = round(time / PERIOD)
        assert min(found.force[last - 5 : last]) == 0.0 < max(found.force[last - 5 : last + 1])


@pytest.mark.parametrize("seed", BRIEFLY)
@pytest.mark.parametrize("moment", ["free", "impact", "contact"])
@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("guarded", [False, True])
def test_a_longer_gap_stops_the_task_in_order(seed, moment, number, guarded):
    found, whole = with_gap(seed, guarded, moment, number, BRIDGED + PERIOD, 0.064)
    assert found.fault is Fault.NONE
    assert "ms without a joint state" in found.reason
    assert found.detections[:1] == (whole.detections[:1] if moment == "contact" else [])
    # Behind the gap the arm, which was damped, may come off and touch again; nothing else is detected.
    require_touches(found, found.detections[1:])
    judged = moment == "contact" and whole.outcome is not Outcome.SUCCEEDED
    assert found.outcome in ((Outcome.UNDECIDED, whole.outcome) if judged else (Outcome.UNDECIDED,))


def test_the_tasks_can_be_planned():
    for seed in SEEDS:
        try:
            plan(seed)
        except ImpactControlError as error:
            pytest.fail(f"{seed}: {error}")


@pytest.mark.parametrize("seed", BRIEFLY)
@pytest.mark.parametrize("number", range(4))
def test_a_motion_goes_on_over_a_gap_while_the_guard_damps(seed, number):
    arm, scenario, plant, sensors, gate, step = arm_of(seed, guarded=True)
    random = np.random.default_rng([seed, number])
    begin, gap = round(random.uniform(0.1, 0.5), 3), PERIOD * random.integers(6, 21)
    pipeline = Pipeline(scenario, arm.robot)
    pipeline.reset()
    for k in range(6000):
        sample, time = sensors.measure(plant), k * PERIOD
        step([gate.select(plant.link_velocity, PERIOD)])
        if begin < time < begin + gap - 1e-9:
            continue
        pipeline.tick(time, sample.position, sample.velocity, sample.torque)
        gate.offer(pipeline.torque)
        if k == 10:
            held = pipeline.controller.held_configuration.copy()
            goal = held + np.array([0.4, 0.0, -0.3, 0.0, 0.4, 0.0, -0.4]) * random.choice([-1.0, 1.0])
            pipeline.start_move(plan_move(arm.robot, scenario, held, goal), StartPose(arm.robot.joint_names, held))
        if pipeline.finished:
            break
    assert pipeline.move_outcome is MoveOutcome.REACHED


@pytest.mark.parametrize("seed", BRIEFLY)
def test_stamps_that_come_late_are_no_impact(seed):
    """As of a controller manager without a core of its own: most by some 30 us, one in thirty by up to 0.95 ms."""
    random = np.random.default_rng(seed)
    late = np.abs(random.normal(0.0, 3e-5, 8000))
    chosen = random.random(late.size) < 0.03
    late[chosen] = random.uniform(1e-4, 9.5e-4, np.count_nonzero(chosen))
    found, whole = run(seed, False, late=tuple(late.tolist())), run(seed, False)
    assert found.fault is Fault.NONE and found.detections[0] >= found.contact
    assert found.detections[0] - found.contact < 0.003
    assert found.outcome in (whole.outcome, Outcome.SUCCEEDED)


@pytest.mark.parametrize(("model", "furthest"), [("panda", 0.12), ("fr3", 0.175)])
def test_how_far_a_guarded_joint_gets_in_the_longest_gap(model, furthest):
    """From its velocity limit, as a rigid joint without friction: docs/safety.md says so."""
    scenario = load_scenario("tabletop").with_overrides({"robot.model": model})
    robot, guard = robot_of(scenario.robot), Guard(model)
    inertia = fault_damping(scenario.control, robot, scenario.task.home_configuration) / scenario.control.stop_damping
    position, velocity = np.zeros(7), robot.limits.velocity.copy()
    for _ in range(round(scenario.control.longest_gap / PERIOD)):
        velocity += guard.select(velocity, PERIOD) / inertia * PERIOD
        position += velocity * PERIOD
    assert 0.97 * furthest < position.max() < furthest
