"""Arms that work together: what one finds in a sample holds for the others from the next one on."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from impact_control.control import Fault, Mode, ObjectForce
from impact_control.pipeline import Outcome
from impact_control.planning import object_force, plan_scenario
from impact_control.planning.team import Team
from impact_control.references import ReferenceColumns
from impact_control.scenario import load_scenario
from impact_control.util.errors import InvalidInputError

PERIOD = 1e-3
GRAVITY = np.array([0.0, 0.0, -9.81])


PATIENT = {"reaction.on_unexpected_impact": "continue", "reaction.on_unexpected_post_impact": "continue"}
OTHER = {"left": "right", "right": "left"}


@functools.cache
def plan(patient=False):
    scene = load_scenario("grab_parcel_1")
    return plan_scenario(scene.with_overrides(PATIENT) if patient else scene)


class Bench:
    """A team whose arms stand still where the task starts."""

    def __init__(self, patient=False):
        self.team = Team(plan(patient))
        self.team.reset()
        self.team.start()
        self.count = 0

    def tick(self, lost=(), **torques):
        """One sample of each arm but those lost, with an additional measured joint torque for those named."""
        samples, time = {}, self.count * PERIOD
        for name, arm in self.team.plan.arms.items():
            q = arm.reference.initial_configuration
            samples[name] = (time, q, np.zeros(7), self.team.pipelines[name].dynamics.gravity + torques.get(name, 0.0))
        self.team.tick({name: sample for name, sample in samples.items() if name not in lost})
        self.count += 1

    def ticks(self, count):
        for _ in range(count):
            self.tick()
        return self

    def hold(self):
        """Go on to where every task is over and the arms press on."""
        self.ticks(3)
        self.tick(left=60.0, right=60.0)
        while not self.team.finished:
            self.tick()
        assert set(self.modes.values()) == {Mode.POST}
        return self

    @property
    def modes(self):
        return {name: pipeline.controller.mode for name, pipeline in self.team.pipelines.items()}


@pytest.mark.parametrize("first", ["left", "right"])
def test_an_impact_of_one_arm_ends_the_ante_impact_mode_of_all(first):
    bench = Bench(patient=True).ticks(3)
    assert set(bench.modes.values()) == {Mode.ANTE}
    bench.tick(**{first: 60.0})
    assert bench.team.pipelines[first].judge.impacts == 1
    bench.tick()
    assert set(bench.modes.values()) == {Mode.INTERIM}
    assert bench.team.pipelines[OTHER[first]].judge.impacts == 0, "its own is still to come, and to be judged"


@pytest.mark.parametrize("first", ["left", "right"])
def test_an_arm_that_stops_stops_all(first):
    bench = Bench().ticks(3)
    bench.tick(**{first: 60.0})  # an impact long before the nominal time
    assert bench.modes[first] is Mode.STOPPED
    bench.tick()
    assert set(bench.modes.values()) == {Mode.STOPPED}
    assert bench.team.outcome is Outcome.IMPACT_UNEXPECTED


@pytest.mark.parametrize("first", ["left", "right"])
def test_what_an_arm_meets_after_its_partner_stopped_it_is_no_verdict_of_its_task(first):
    """It would be judged against the pose in which it holds, and found as expected."""
    bench = Bench().ticks(3)
    bench.tick(**{first: 60.0})
    bench.ticks(3)
    other = bench.team.pipelines[OTHER[first]]
    bench.tick(**{OTHER[first]: 60.0})
    assert other.impact_now
    bench.ticks(600)
    assert bench.team.finished
    assert other.outcome is Outcome.NO_IMPACT
    assert bench.team.pipelines[first].outcome is Outcome.IMPACT_UNEXPECTED
    bench.team.start()
    bench.ticks(2)
    bench.tick(**{OTHER[first]: 60.0})
    assert other.judge.impacts == 1, "a new task is judged again"


@pytest.mark.parametrize("first", ["left", "right"])
def test_a_fault_of_one_arm_stops_the_others_and_is_the_outcome(first):
    bench = Bench().ticks(3)
    bench.tick(**{first: np.nan})
    bench.tick()
    pipelines = bench.team.pipelines
    assert pipelines[first].controller.fault is Fault.STATE_NOT_FINITE
    assert bench.modes[OTHER[first]] is Mode.STOPPED
    assert pipelines[OTHER[first]].controller.fault is Fault.NONE
    bench.ticks(600)
    assert bench.team.finished
    assert bench.team.outcome is Outcome.FAULT


@pytest.mark.parametrize("first", ["left", "right"])
def test_a_fault_of_one_arm_stops_the_others_also_where_they_hold_on_when_their_tasks_are_over(first):
    """Or it would press on against an arm that is damped."""
    bench = Bench(patient=True).hold()
    bench.tick(**{first: np.nan})
    bench.ticks(2)
    assert bench.modes == {first: Mode.FAULT, OTHER[first]: Mode.STOPPED}


def test_a_gap_or_a_stamp_that_stands_still_is_a_fault_of_an_arm_that_holds_on():
    bench = Bench(patient=True).hold()
    late, standing = bench.team.pipelines.values()
    q = bench.team.plan.arms["left"].reference.initial_configuration
    late.tick(bench.count * PERIOD + 0.5, q, np.zeros(7), np.zeros(7))
    for _ in range(70):
        standing.tick((bench.count - 1) * PERIOD, q, np.zeros(7), np.zeros(7))
    assert {pipeline.controller.fault for pipeline in (late, standing)} == {Fault.STATE_STALE}


def test_a_fault_before_the_first_sample_of_the_task_keeps_the_others_from_starting():
    bench = Bench()
    bench.tick(left=np.nan)
    bench.ticks(3)
    assert bench.modes == {"left": Mode.FAULT, "right": Mode.STOPPED}


def test_cancelling_stops_all():
    bench = Bench().ticks(3)
    bench.team.cancel()
    bench.ticks(600)
    assert set(bench.modes.values()) == {Mode.STOPPED}
    assert bench.team.finished
    assert bench.team.outcome is Outcome.CANCELLED


def test_reactions_that_one_arm_does_alone_are_refused():
    scene = load_scenario("grab_parcel_1").with_overrides({"reaction.on_unexpected_impact": "admittance"})
    with pytest.raises(InvalidInputError, match="admittance"):
        Team(plan_scenario(scene))


def exerted(scene, arm, velocity, acceleration):
    """The force (3,) on the object under a motion of the reference."""
    wanted = ReferenceColumns.one_sample(7)
    wanted.velocity[:], wanted.acceleration[:] = velocity, acceleration
    wrench, torque = np.zeros(6), np.zeros(7)
    jacobian = np.random.default_rng(1).normal(size=(6, 7))
    force = object_force(scene.arm(arm).target, GRAVITY, np.zeros(3))
    force.exert(1.0, wanted, jacobian, wrench, torque)
    np.testing.assert_allclose(torque, jacobian.T @ wrench, atol=1e-12)
    np.testing.assert_array_equal(wrench[3:], 0.0)
    return wrench[:3].copy()


def test_arms_that_hold_an_object_give_it_what_newton_asks_for_and_clamp_it():
    scene = load_scenario("grab_juice_1")
    acceleration = np.array([0.2, -0.1, 0.7])
    forces = [exerted(scene, arm, np.zeros(3), acceleration) for arm in scene.arms]
    np.testing.assert_allclose(sum(forces), 2.2 * (acceleration - GRAVITY), atol=1e-9)
    left, right = forces
    assert 0.5 * (right - left)[1] == pytest.approx(scene.task.post.force)


def test_an_arm_that_pushes_overcomes_the_friction_of_the_table_and_no_weight():
    scene = load_scenario("push_juice_1")
    force = exerted(scene, "left", [0.0, -0.3, 0.0], [0.0, 0.5, 0.0])
    np.testing.assert_allclose(force, [0.0, 2.2 * 0.5 - 0.3 * 2.2 * 9.81, 0.0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(exerted(scene, "left", np.zeros(3), np.zeros(3)), 0.0, atol=1e-12)


def test_a_force_off_the_origin_has_its_moment():
    force = ObjectForce(np.array([0.0, -10.0, 0.0]), 0.0, np.zeros(3), 0.0, np.array([0.1, 0.0, 0.02]))
    wrench, torque = np.zeros(6), np.zeros(7)
    force.exert(0.5, ReferenceColumns.one_sample(7), np.zeros((6, 7)), wrench, torque)
    np.testing.assert_allclose(wrench, [0.0, -5.0, 0.0, 0.1, 0.0, -0.5], atol=1e-12)


def test_the_impact_of_an_arm_is_told_once_while_its_samples_are_lost(monkeypatch):
    bench, told = Bench().ticks(3), []
    other = bench.team.pipelines["right"]
    monkeypatch.setattr(other, "partner_touched", told.append)
    bench.tick(left=60.0)
    for _ in range(5):
        bench.tick(lost=["left"])
    assert bench.team.pipelines["left"].impact_now and len(told) == 1
