"""Every reaction on the simulated arm: a touch in the approach, from detection to its end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import pytest

from impact_control.classification import Verdict
from impact_control.control import Mode
from impact_control.pipeline import Outcome, Pipeline
from impact_control.references import build_reference
from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import load_scenario
from impact_control.simulation import build_world

PERIOD = 1e-3
PUSH_START, PUSH_DURATION = 0.5, 0.3
PUSH = np.array([-35.0, 0.0, 0.0])
"""[N] on the elbow, backwards: about 8 Nm on joint 2."""

SETTINGS = {"detection.residual_rate.threshold": "150, 150, 150, 150, 60, 120, 30 Nm/s", "simulation.noise": 0.2}
"""A detector that feels a push of this size in its first rise, and noise below its bounds."""

QUIET_TIME = 2.0
AFTERWARDS = 0.6
"""[s] for which the arm is watched after the end of a task."""


@dataclass
class Record:
    """A run, a row for each sample of 1 ms."""

    pipeline: Pipeline
    mode: np.ndarray
    task_time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    torque: np.ndarray
    place: np.ndarray
    touch: np.ndarray
    force: np.ndarray

    def time_in(self, mode):
        """Return how long [s] a mode lasted."""
        return PERIOD * np.count_nonzero(self.mode == mode)

    def modes(self):
        """Return the modes in their order."""
        return [Mode(m) for m in self.mode[np.r_[True, np.diff(self.mode) != 0]]]

    def torque_rate(self, mode):
        """Return the largest torque rate [Nm/s] inside a mode, its first sample left out."""
        rate = np.abs(np.diff(self.torque, axis=0)).max(axis=1) / PERIOD
        inside = (self.mode[1:] == mode) & (self.mode[:-1] == mode)
        return float(rate[inside].max())


@functools.cache
def plan(name):
    scenario = load_scenario(name).with_overrides(SETTINGS)
    robot = load_robot()
    return scenario, robot, build_reference(scenario, robot)


def run(name, touch: Callable, overrides=(), duration=12.0, meanwhile=lambda time, pipeline: None) -> Record:
    """Run a scenario with touch(time, plant, truth), which writes what touches the arm and returns its force (3,) [N].

    truth: the Dynamics of the state of the plant.
    """
    scenario, robot, reference = plan(name)
    scenario = scenario.with_overrides(dict(overrides))
    world = build_world(scenario)
    plant, sensors, gate = world.single
    pipeline = Pipeline(scenario, robot)
    pipeline.reset()
    pipeline.start(reference, scenario)
    truth = Dynamics(robot)
    rows, end = [], np.inf
    for k in range(round(duration / PERIOD)):
        sample = sensors.measure(plant)
        pipeline.tick(k * PERIOD, sample.position, sample.velocity, sample.torque)
        meanwhile(k * PERIOD, pipeline)
        gate.offer(pipeline.torque)
        truth.compute(plant.link_position, plant.link_velocity)
        force = touch(k * PERIOD, plant, truth)
        world.step([gate.select(plant.link_velocity, PERIOD)])
        controller = pipeline.controller
        rows.append(
            (
                int(controller.mode),
                controller.task_time,
                plant.link_position.copy(),
                plant.link_velocity.copy(),
                pipeline.torque.copy(),
                truth.position.copy(),
                force,
                plant.normal_force,
            )
        )
        end = min(end, k + AFTERWARDS / PERIOD) if pipeline.finished else end
        if k >= end:
            break
    return Record(pipeline, *(np.array(column) for column in zip(*rows, strict=True)))


@functools.cache
def elbow():
    """Return model, data and joint of the robot that place a force on link 4."""
    model = load_robot().pinocchio_model
    return model, model.createData(), model.getJointId("panda_joint4")


def push_elbow(*times):
    """Return a touch: PUSH on the origin of link 4 during each (start, end) [s]."""

    def touch(time, plant, truth):
        force = PUSH if any(start <= time < end for start, end in times) else np.zeros(3)
        model, data, joint = elbow()
        pin.computeJointJacobians(model, data, plant.link_position)
        jacobian = pin.getJointJacobian(model, data, joint, pin.LOCAL_WORLD_ALIGNED)
        plant.external_torque[:] = jacobian[:3].T @ force
        return force

    return touch


def untouched(time, plant, truth):
    """Touch nothing but what the scenario has."""
    return np.zeros(3)


def hand_in_the_way(stiffness=20000.0, damping=50.0, depth=0.05):
    """Return a soft body in the way of the approach, as a hand held still, that leaves after 3 s.

    A spring that only pushes, along the direction of the approach; it begins `depth` [m] before the impact.
    """
    geometry = plan("tabletop")[2].geometry
    along = geometry.approach_velocity / np.linalg.norm(geometry.approach_velocity)
    surface = (geometry.impact_position - depth * along) @ along

    def touch(time, plant, truth):
        inside = truth.position @ along - surface
        pressure = stiffness * inside + damping * (truth.twist[:3] @ along) if inside > 0.0 and time <= 3.0 else 0.0
        plant.external_wrench[:3] = -max(0.0, pressure) * along
        return plant.external_wrench[:3].copy()

    return touch


def chosen(reaction, **more):
    return (("reaction.on_unexpected_impact", reaction), *(("reaction." + k, v) for k, v in more.items()))


def assert_limits_kept(record):
    limits = plan("tabletop")[1].limits
    assert (np.abs(record.torque) <= limits.torque).all()
    assert (np.abs(np.diff(record.torque, axis=0)) <= limits.torque_rate * PERIOD * (1 + 1e-9)).all()
    assert (np.abs(record.velocity) <= limits.velocity).all()
    assert (record.position >= limits.position_lower).all()
    assert (record.position <= limits.position_upper).all()


A_PUSH = push_elbow((PUSH_START, PUSH_START + PUSH_DURATION))


@functools.cache
def pushed(reaction):
    return run("tabletop", A_PUSH, chosen(reaction))


@functools.cache
def against_a_hand(reaction):
    return run("tabletop", hand_in_the_way(), chosen(reaction))


@pytest.mark.parametrize("reaction", ["stop", "pull_back", "admittance"])
def test_a_push_in_the_approach_is_reacted_to_inside_all_limits(reaction):
    record = pushed(reaction)
    assert_limits_kept(record)
    begin = np.flatnonzero(record.mode != Mode.ANTE)[0] * PERIOD
    assert PUSH_START < begin < PUSH_START + 0.02
    assert np.abs(record.velocity[-100:]).max() < 0.02, "at rest in the end"
    modes = {
        "stop": [Mode.ANTE, Mode.STOPPED],
        "pull_back": [Mode.ANTE, Mode.PULL_BACK, Mode.STOPPED],
        "admittance": [
            Mode.ANTE,
            Mode.ADMITTANCE,
            Mode.RESUME,
            Mode.ANTE,
            Mode.INTERIM,
            Mode.POST,
            Mode.STOPPED,
        ],
    }
    assert record.modes() == modes[reaction]
    expected = Outcome.SUCCEEDED if reaction == "admittance" else Outcome.IMPACT_UNEXPECTED
    assert record.pipeline.outcome is expected, record.pipeline.judge.classifier.reason


def test_pulled_back_the_arm_rests_at_the_distance_along_the_normal():
    record = pushed("pull_back")
    begin = np.flatnonzero(record.mode == Mode.PULL_BACK)[0]
    moved = record.place[-1] - record.place[begin]
    # A sixth of what the push bent is left when the way is over: 160 ms after its end, at 20 1/s.
    assert moved[2] == pytest.approx(0.05, abs=5e-3)
    # Across it only brakes; the push has ended before.
    assert np.linalg.norm(moved[:2]) < 0.02


def test_the_arm_yields_to_the_push_and_goes_on_where_it_was():
    record = pushed("admittance")
    scenario, _, reference = plan("tabletop")
    yielding = record.mode == Mode.ADMITTANCE
    begin, end = np.flatnonzero(yielding)[[0, -1]]
    assert record.position[end, 1] - record.position[begin, 1] < -0.05, "joint 2 is led backwards and stays there"
    assert record.time_in(Mode.ADMITTANCE) == pytest.approx(PUSH_DURATION + QUIET_TIME, abs=0.15)
    assert np.ptp(record.task_time[yielding]) == 0.0
    resumed = record.mode == Mode.RESUME
    assert record.task_time[resumed][0] == pytest.approx(record.task_time[begin], abs=1e-9)
    assert (np.diff(record.task_time[resumed]) >= 0.0).all()
    again = np.flatnonzero(resumed)[-1] + 1
    assert np.diff(record.task_time[again : again + 100]) == pytest.approx(PERIOD)
    contact = record.task_time[np.flatnonzero(record.force > 0.0)[0]]
    assert contact == pytest.approx(reference.nominal_impact_time, abs=scenario.classification.time_error)
    end = np.flatnonzero(record.mode == Mode.POST)[-1]
    assert record.task_time[end] == pytest.approx(scenario.task.duration, abs=2 * PERIOD)
    assert np.mean(record.force[end - 200 : end]) == pytest.approx(scenario.task.post.force, rel=0.2)


def test_the_way_back_into_the_task_has_no_peak_of_the_torque_rate():
    """The way back begins from rest and its acceleration rises; the noise of the sensors is a small part of that."""
    record = pushed("admittance")
    rate = np.abs(np.diff(record.torque, axis=0)).max(axis=1) / PERIOD
    first, last = np.flatnonzero(record.mode == Mode.RESUME)[[0, -1]]
    limit = plan("tabletop")[1].limits.torque_rate.min()
    assert rate[first - 1000 : first - 1].max() <= 0.05 * limit
    assert rate[first - 1 : last + 20].max() <= 0.3 * limit


def test_after_resuming_the_impact_is_judged_as_if_nothing_had_happened():
    pipeline = pushed("admittance").pipeline
    assert pipeline.reaction.interruptions == 1
    assert (pipeline.judge.impact, pipeline.judge.post_impact) == (Verdict.EXPECTED, Verdict.EXPECTED)
    assert pipeline.judge.impacts >= 1


def test_an_arm_that_has_had_its_impact_does_not_approach_again_after_yielding():
    """It goes on after its impact: here until it touches the tilted table again, time after time, and gives up."""
    goes_on = set()

    def look(time, pipeline):
        if pipeline.controller.mode in (Mode.ADMITTANCE, Mode.RESUME):
            goes_on.add(pipeline.controller.state.resume_in)

    overrides = [("reaction.on_unexpected_post_impact", "admittance")]
    record = run("tabletop_tilted", untouched, overrides, duration=30.0, meanwhile=look)
    assert_limits_kept(record)
    modes = record.modes()
    assert modes[:4] == [Mode.ANTE, Mode.INTERIM, Mode.ADMITTANCE, Mode.RESUME]
    assert Mode.ANTE not in modes[1:] and goes_on == {Mode.POST}
    assert modes[-1] is Mode.STOPPED


def test_on_a_hand_in_the_way_the_force_ends_with_pulling_back_and_yielding():
    """Mean force in the last 0.2 s before the hand leaves at 3 s, for each reaction."""
    held = {}
    for reaction in ("stop", "pull_back", "admittance"):
        record = against_a_hand(reaction)
        assert_limits_kept(record)
        force = np.linalg.norm(record.touch, axis=1)
        assert force.max() > 30.0
        last = min(len(force), 3000)
        held[reaction] = force[last - 200 : last].mean()
    assert held["stop"] > 20.0
    assert held["pull_back"] == 0.0
    # The dead zones of joints 6 and 2, 1 Nm and 2 Nm, are felt at E as 8 to 12 N at most.
    assert held["admittance"] < 12.0
