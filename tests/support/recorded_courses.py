"""Runs of scenarios in the core, recorded as the nodes would."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields

import numpy as np

from impact_control.pipeline import Pipeline
from impact_control.recording.measures import Verdict
from impact_control.recording.recorded_run import RecordedEvent, RecordedReference, RecordedRun
from impact_control.references import ExpectedImpact, build_reference
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario
from impact_control.simulation import build_world
from recording_samples import EPOCH_NS, install_messages, time_message, vector_message, verdict_message, write_messages

PERIOD = 1e-3
TYPES = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/impact/external_torque": "impact_msgs/msg/ExternalTorque",
    "/impact/events": "impact_msgs/msg/ImpactEvent",
    "/impact/classification": "impact_msgs/msg/ImpactClassification",
    "/controller/reference": "impact_msgs/msg/ControllerReference",
}
AS_RECORDED = ("mode", "task_time", *(field.name for field in fields(ExpectedImpact)))
"""Fields of a message of the reference that have the name of their column."""


@dataclass(frozen=True, eq=False)
class Course:
    """What was recorded of a run; start [s] of the task on the clock of the samples."""

    run: RecordedRun
    start: float
    joints: tuple[str, ...]


def words(verdict):
    return verdict.name.lower().replace("_", " ")


@functools.cache
def recorded_course(name, idle=5):
    """Run a scenario to its end; the task begins after some idle samples."""
    scenario = load_scenario(name)
    robot = load_robot(scenario.robot.model, scenario.robot.end_effector, scenario.robot.motor_inertia)
    reference = build_reference(scenario, robot)
    world = build_world(scenario)
    plant, sensors, gate = world.single
    pipeline = Pipeline(scenario, robot)
    pipeline.reset()
    rows, events = [], []
    for k in range(6000):
        if k == idle:
            pipeline.start(reference, scenario)
        sample = sensors.measure(plant)
        q, dq, torque = (np.array(value) for value in (sample.position, sample.velocity, sample.torque))
        pipeline.tick(k * PERIOD, q, dq, torque)
        led = pipeline.controller
        followed = (np.array(value) for value in (led.ante.joint_velocity, led.post.joint_velocity, led.force))
        state = (q, dq, torque, pipeline.observer.residual.copy(), pipeline.torque.copy())
        rows.append((*state, int(led.mode), led.task_time, *followed))
        if pipeline.impact_now:
            detector = pipeline.detector
            events.append(RecordedEvent(k * PERIOD, detector.impact_time, detector.isolated_link))
        gate.offer(pipeline.torque)
        world.step([gate.select(plant.link_velocity, PERIOD)])
        if pipeline.finished:
            break
    q, dq, torque, residual, command, mode, task_time, ante, post, force = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    time = np.arange(len(rows)) * PERIOD
    judge = pipeline.judge
    names = (field.name for field in fields(ExpectedImpact))
    expected = {name: np.repeat([getattr(reference, name)], time.size, axis=0) for name in names}
    return Course(
        RecordedRun(
            time=time,
            names=robot.joint_names,
            position=q,
            velocity=dq,
            torque=torque,
            reference=RecordedReference(
                time=time,
                mode=mode,
                task_time=task_time,
                **expected,
                ante_velocity=ante,
                post_velocity=post,
                force=force,
            ),
            events=tuple(events),
            verdict=Verdict(words(judge.impact), words(judge.post_impact), judge.reason, judge.probability),
            contact_time=plant.first_contact_time,
            residual=(time, residual),
            commands=(time, command),
        ),
        idle * PERIOD,
        tuple(robot.joint_names),
    )


def course_messages(course, scenario_name, rows):
    """Return topic, content and log time [ns] of these samples (a slice), as the nodes publish them."""
    run, names = course.run, list(course.joints)
    verdicts = {"unknown": 0, "expected": 1, "unexpected": 2, "not started": 3}
    events = {round(event.detection_time / PERIOD): event for event in run.events}
    told = []
    for k in range(*rows.indices(run.time.size)):
        stamp = EPOCH_NS + round(1e9 * run.time[k])
        header = {"stamp": time_message(stamp), "frame_id": ""}
        state = {"position": run.position[k], "velocity": run.velocity[k], "effort": run.torque[k]}
        told.append(
            ("/joint_states", {"header": header, "name": names} | {key: v.tolist() for key, v in state.items()}, stamp)
        )
        reference = run.reference
        content = {
            "header": header,
            "scenario": scenario_name,
            "joint_names": names,
            **{name: getattr(reference, name)[k].tolist() for name in AS_RECORDED},
            "ante_joint_velocity": reference.ante_velocity[k].tolist(),
            "post_joint_velocity": reference.post_velocity[k].tolist(),
            "position": vector_message(np.zeros(3)),
            "velocity": vector_message(np.zeros(3)),
            "force": vector_message(reference.force[k]),
        }
        told.append(("/controller/reference", content, stamp + 400_000))
        if k in events:
            event = events[k]
            content = {
                "header": header,
                "impact_time": time_message(EPOCH_NS + round(1e9 * event.impact_time)),
                "index": 1,
                "joint_names": names,
                "triggered": [True] * 7,
                "external_torque": [0.0] * 7,
                "external_torque_rate": [0.0] * 7,
                "joint_position": run.position[k].tolist(),
                "joint_velocity": run.velocity[k].tolist(),
                "isolated_link": event.link,
            }
            told.append(("/impact/events", content, stamp + 260_000))
    impact, post_impact = (verdicts[verdict] for verdict in (run.verdict.impact, run.verdict.post_impact))
    content = verdict_message(header, 0.0, impact=impact, post_impact=post_impact)
    said = {"scenario": scenario_name, "impact_index": len(events), "reason": run.verdict.reason, "joint_names": names}
    told.append(("/impact/classification", content | said, stamp + 500_000))
    return told


def write_bag(directory, idle=5, rows=slice(None)):
    """Write the run of tabletop as a bag; return its directory."""
    prefix = install_messages(directory / "prefix")
    record = {"impact_control": {"version": "0", "scenario": load_scenario("tabletop").to_yaml()}}
    told = course_messages(recorded_course("tabletop", idle), "tabletop", rows)
    write_messages(directory / "bag", prefix, TYPES, told, metadata=record)
    return directory / "bag"
