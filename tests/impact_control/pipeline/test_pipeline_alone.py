"""Detector, judge and controller apart, each fed with what the others find, against the whole."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.classification import Verdict
from impact_control.control import Mode
from impact_control.pipeline import Outcome, Pipeline
from impact_control.pipeline.alone import DetectorAlone, FollowedSample, JudgeAlone
from impact_control.pipeline.elsewhere import DetectorElsewhere
from impact_control.pipeline.judge import TaskJudge
from impact_control.references import ExpectedImpact, build_reference
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario
from impact_control.simulation import build_world

PERIOD = 1e-3

HELD = {"classification.held_force": {"after": "0.2 s", "window": "0.2 s", "limit": "0.1 N"}}
TORQUE_ERROR = {"detection.residual_rate": "none", "detection.torque_error": {"threshold": "1.8 Nm", "joints": [5, 6]}}

CASES = {
    "expected": ("tabletop", {}, Outcome.SUCCEEDED),
    "slow": ("tabletop", {"task.impact.speed": "0.05 m/s"}, Outcome.SUCCEEDED),
    "stopped": ("tabletop_raised", {}, Outcome.IMPACT_UNEXPECTED),
    "tilted": ("tabletop_tilted", {}, Outcome.POST_IMPACT_UNEXPECTED),
    "completed": ("tabletop_plate", {"control.interim.until": "contact_completion"}, Outcome.SUCCEEDED),
    "held": ("tabletop", HELD, Outcome.POST_IMPACT_UNEXPECTED),
    "yields": ("tabletop_admittance", {}, Outcome.SUCCEEDED),
    "commanded": ("tabletop", TORQUE_ERROR, Outcome.SUCCEEDED),
}


class Apart:
    """Three parts that share nothing but what they would publish."""

    def __init__(self, scenario, robot, reference):
        self.detector = DetectorAlone(scenario, robot)
        self.judge = JudgeAlone(scenario, robot)
        self.reports = DetectorElsewhere(scenario, 7)
        self.controller = Pipeline(scenario, robot, detector=self.reports, judge=TaskJudge(scenario, robot))
        self._planned = ExpectedImpact(
            reference.nominal_impact_time,
            reference.impact_configuration,
            reference.jump_deviation,
            reference.friction_deviation,
            reference.configuration_deviation,
            reference.height_deviation,
        )
        self.detector.reset()
        self.controller.reset()
        self.controller.start(reference, scenario)

    def tick(self, time, position, velocity, torque):
        pipeline, judge = self.controller, self.judge
        self.detector.awaits_impact = pipeline.controller.mode in (Mode.ANTE, Mode.MOVE)
        self.detector.tick(time, position, velocity, torque, pipeline.torque)
        if self.detector.impact_now:
            impact_time = self.detector.detector.impact_time
            judge.impact_detected(impact_time, position)
            self._tell_verdicts()
            if self.reports.report(time, impact_time):
                pipeline.impact_detected(impact_time, position)
        pipeline.tick(time, position, velocity, torque)
        led = pipeline.controller
        ante, post = led.ante.joint_velocity, led.post.joint_velocity
        sample = FollowedSample(led.mode, led.task_time, self._planned, ante, post, led.force)
        judge.follow(time, sample, pipeline.dynamics, pipeline.observer)
        self._tell_verdicts()

    def _tell_verdicts(self):
        judge = self.judge.judge
        self.controller.take_verdicts(judge.impact, judge.post_impact, answered=judge.answered)


@pytest.mark.parametrize(("case", "lost"), [*((case, 0) for case in CASES), ("slow", 8)])
def test_parts_that_run_apart_give_the_same_course(case, lost):
    """lost: samples from the first contact on that do not arrive."""
    name, overrides, outcome = CASES[case]
    scenario = load_scenario(name).with_overrides(overrides)
    robot = load_robot(scenario.robot.model, scenario.robot.end_effector, scenario.robot.motor_inertia)
    reference = build_reference(scenario, robot)
    whole, apart = Pipeline(scenario, robot), Apart(scenario, robot, reference)
    world = build_world(scenario)
    plant, sensors, gate = world.single
    whole.reset()
    whole.start(reference, scenario)
    verdicts, modes = [], []
    for k in range(6000):
        sample = sensors.measure(plant)
        measured = (k * PERIOD, sample.position, sample.velocity, sample.torque)
        if 0.0 <= k * PERIOD - plant.first_contact_time < lost * PERIOD:
            world.step([gate.select(plant.link_velocity, PERIOD)])
            continue
        whole.tick(*measured)
        apart.tick(*measured)
        assert apart.detector.impact_now == whole.impact_now
        np.testing.assert_allclose(apart.controller.torque, whole.torque, atol=1e-9)
        found = [(judge.impacts, judge.impact, judge.post_impact) for judge in (whole.judge, apart.judge.judge)]
        assert found[0] == found[1], k
        verdicts.append(found[0][1:])
        modes.append(whole.controller.mode)
        gate.offer(whole.torque)
        world.step([gate.select(plant.link_velocity, PERIOD)])
        if whole.finished:
            break
    if not apart.controller.finished:  # a verdict that comes after the sample stops the arm with the next one
        sample = sensors.measure(plant)
        apart.tick((k + 1) * PERIOD, sample.position, sample.velocity, sample.torque)
    assert apart.controller.finished
    assert apart.controller.outcome is whole.outcome is outcome
    assert apart.judge.judge.reason == whole.judge.reason
    assert (Mode.ADMITTANCE in modes) == (case == "yields")
    if case == "held":
        assert (Verdict.EXPECTED, Verdict.EXPECTED) in verdicts, "taken back by the force"
        assert modes[-2] is Mode.STOPPED and apart.controller.controller.task_time > scenario.task.duration - 0.01


class Forged:
    """A controller in tabletop that gets reports of impacts from the test alone; its last sample is `k`."""

    def __init__(self):
        scenario, robot = load_scenario("tabletop"), load_robot()
        self.detector = DetectorElsewhere(scenario, 7)
        self.pipeline = Pipeline(scenario, robot, detector=self.detector, judge=TaskJudge(scenario, robot))
        self._whole = DetectorAlone(scenario, robot)
        self._world = build_world(scenario)
        self.reference = build_reference(scenario, robot)
        self.pipeline.reset()
        self._whole.reset()
        self.pipeline.start(self.reference, scenario)
        self.k = -1

    def step(self):
        """Go on by a sample; return whether a detector of its own finds an impact in it."""
        self.k += 1
        (plant, sensors, gate), pipeline = self._world.single, self.pipeline
        sample = sensors.measure(plant)
        measured = (self.k * PERIOD, sample.position, sample.velocity, sample.torque)
        pipeline.tick(*measured)
        self._whole.tick(*measured, pipeline.torque)
        gate.offer(pipeline.torque)
        self._world.step([gate.select(plant.link_velocity, PERIOD)])
        return self._whole.impact_now


def test_an_impact_that_the_own_residual_does_not_show_is_not_believed():
    forged = Forged()
    reports = 0
    while not forged.step():
        if forged.k % 40 == 0 and forged.k * PERIOD < forged.reference.nominal_impact_time - 0.06:
            forged.detector.report(forged.k * PERIOD, forged.k * PERIOD - 5e-4)
            reports += 1
        assert forged.pipeline.controller.mode is Mode.ANTE
    assert forged.detector.unbelieved == reports > 20
    assert forged.pipeline.judge.impacts == 0


@pytest.mark.parametrize("late", [0, 100])
def test_an_impact_that_it_shows_is_believed_also_where_it_is_reported_late(late):
    forged = Forged()
    while not forged.step():
        pass
    detected = forged.k * PERIOD
    for _ in range(late):
        forged.step()
    assert forged.detector.report(detected, detected - 5e-4)
    assert (forged.detector.index, forged.detector.impact_time) == (1, detected - 5e-4)


def test_an_impact_that_is_reported_before_its_sample_comes_is_believed_with_it():
    """Van Steen's interim mode begins with the sample that shows it, and not before."""
    forged = Forged()
    while not forged.step():
        pass
    at, again = forged.k, Forged()
    for _ in range(at):
        again.step()
    assert not again.detector.report(at * PERIOD, (at - 0.5) * PERIOD)
    assert again.pipeline.controller.mode is Mode.ANTE
    again.step()
    assert again.pipeline.controller.mode is Mode.INTERIM


@pytest.mark.parametrize(("detected", "impact"), [(0.05, 0.0), (0.0, 1e-3), (0.0, -0.3), (np.nan, 0.0), (0.0, np.nan)])
def test_an_impact_of_another_time_is_not_believed(detected, impact):
    forged = Forged()
    while not forged.step():
        pass
    now = forged.k * PERIOD
    forged.detector.report(now + detected, now + impact)
    for _ in range(21):
        forged.step()
    assert forged.detector.unbelieved == 1
    assert forged.pipeline.controller.mode is Mode.ANTE


def test_one_torque_that_no_joint_gives_leaves_a_detector_what_it_knew():
    scenario, robot = load_scenario("tabletop"), load_robot()
    position, still = build_reference(scenario, robot).initial_configuration, np.zeros(7)
    residuals = []
    for torque in (1e100, None):
        apart = DetectorAlone(scenario, robot)
        apart.reset()
        for k in range(30):
            if k != 20 or torque is not None:
                apart.tick(k * PERIOD, position, still, np.full(7, torque if k == 20 else 1.0), still)
        residuals.append(apart.observer.residual.copy())
    np.testing.assert_array_equal(*residuals)
