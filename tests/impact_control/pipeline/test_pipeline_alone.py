"""Detector, judge and controller apart, each fed with what the others find, against the whole."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.classification import Verdict
from impact_control.control import Mode
from impact_control.pipeline import Outcome, Pipeline
from impact_control.pipeline.alone import DetectorAlone, FollowedSample, JudgeAlone
from impact_control.pipeline.elsewhere import DetectorElsewhere, JudgeElsewhere
from impact_control.pipeline.judge import ExpectedImpact
from impact_control.references import build_reference
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario
from impact_control.simulation import build_world

PERIOD = 1e-3

HELD = {"classification.held_force": {"after": "0.2 s", "window": "0.2 s", "limit": "0.1 N"}}
TORQUE_ERROR = {"detection.residual_rate": "none", "detection.torque_error": {"threshold": "1.8 Nm", "joints": [5, 6]}}

CASES = {
    "expected": ("tabletop", {}, Outcome.SUCCEEDED),
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
        judge = JudgeElsewhere(scenario, robot)
        self.controller = Pipeline(scenario, robot, detector=DetectorElsewhere(7), judge=judge)
        self._planned = ExpectedImpact(
            reference.nominal_impact_time, reference.impact_configuration, reference.jump_deviation
        )
        self.detector.reset()
        self.controller.reset()
        self.controller.start(reference, scenario)

    def tick(self, time, position, velocity, torque):
        pipeline, judge = self.controller, self.judge
        self.detector.tick(time, position, velocity, torque, pipeline.torque)
        if self.detector.impact_now:
            impact_time = self.detector.detector.impact_time
            judge.impact_detected(impact_time, position)
            self._tell_verdicts()
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


@pytest.mark.parametrize("case", CASES)
def test_parts_that_run_apart_give_the_same_course(case):
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
        apart.tick(measured[0] + PERIOD, sample.position, sample.velocity, sample.torque)
    assert apart.controller.finished
    assert apart.controller.outcome is whole.outcome is outcome
    assert apart.judge.judge.reason == whole.judge.reason
    assert (Mode.ADMITTANCE in modes) == (case == "yields")
    if case == "held":
        assert (Verdict.EXPECTED, Verdict.EXPECTED) in verdicts, "taken back by the force"
        assert modes[-2] is Mode.STOPPED and apart.controller.controller.task_time > scenario.task.duration - 0.01
