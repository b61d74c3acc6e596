"""Rehearsal of the loop before its first sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from impact_control.control import DesiredForce, Event, Fault, ObjectForce
from impact_control.pipeline.judge import Judge
from impact_control.pipeline.pipeline import Pipeline
from impact_control.pipeline.start_pose import START_TOLERANCE, StartPose
from impact_control.references import ImpactReference, build_reference
from impact_control.robots import RobotDescription
from impact_control.scenario import Reaction, Scenario

AWAY = 0.9 * START_TOLERANCE
"""Offset [rad] of every joint from the start of a task that still begins."""

_OBJECT_FORCE = ObjectForce(clamping=np.zeros(3), mass=0.0, support=np.zeros(3), drag=0.0, offset=np.zeros(3))
"""Object force of an arm in a scene: arbitrary numbers that run the same code."""


def warm_up(scenario: Scenario, robot: RobotDescription) -> None:
    """Walk once through every path of the loop, so that nothing is compiled or loaded in its first samples."""
    go_on = Reaction.CONTINUE
    reaction = replace(scenario.reaction, on_unexpected_impact=go_on, on_unexpected_post_impact=go_on)
    patient = replace(scenario, reaction=reaction)
    reference = build_reference(patient, robot)
    judge = Judge(patient, robot)
    pipeline = Pipeline(patient, robot, judge=judge)
    # On the reference and far from it, where limits are active and the solver is called.
    for force in (None, _OBJECT_FORCE):
        for away in (0.0, AWAY):
            _walk(pipeline, judge, reference, away, force)


def _walk(
    pipeline: Pipeline, judge: Judge, reference: ImpactReference, away: float, force: DesiredForce | None
) -> None:
    """Go through a task that exerts `force` after its impact, None: the one on its surface, and into a fault.

    away: offset [rad] of every joint from the start of the reference.
    """
    q = reference.initial_configuration + away
    still = np.zeros_like(q)
    limits, period = pipeline.robot.limits, pipeline.scenario.control.period
    pipeline.reset()
    pipeline.tick(0.0, q, still, still)
    pipeline.start(reference, pipeline.scenario, force)
    for k in (1, 2, 3):
        pipeline.tick(k * period, q, still, still)
    pipeline.impact_detected(3.5 * period, q)
    for k in (4, 5, 6):
        pipeline.tick(k * period, q, still, still)
    # It waits for longer than this walk takes.
    judge.contact_path.follow(judge.contact_path.settings.begin, pipeline.dynamics.position)
    for k, event in enumerate((Event.YIELD_TO_POST, Event.RESUME, None, None, Event.PULL_BACK, Event.STOP), start=7):
        pipeline.react(event)
        pipeline.tick(k * period, q, still, still)
    pipeline.cancel()
    pipeline.start_move(reference.ante, StartPose(pipeline.robot.joint_names, q))
    for k in (13, 14, 17):  # with samples lost before the last
        pipeline.tick(k * period, q, still, still)
    # At full speed into the limits, which no torque can keep then: the solver is called for the nearest motion.
    # Behind a gap, or the position would contradict the one before.
    late = 18.0 * period + pipeline.scenario.control.state_timeout + period
    pipeline.tick(late, limits.position_upper.copy(), limits.velocity.copy(), still)
    pipeline.fail(Fault.INTERNAL, still)
    pipeline.tick(late + period, q, still, still)
