"""Pose that an arm is guided to by hand, as the home configuration or the impact of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from impact_control.calibration.motion import BRIDGED_GAP, Opened, Result, open_files, quantity
from impact_control.planning import plan_scenario
from impact_control.recording.log import LogColumns
from impact_control.recording.summary import Grid, Mark, Row, RunSummary, short_joint_names
from impact_control.replay import usable_samples
from impact_control.robots import Dynamics, RobotDescription, lowest_points
from impact_control.scenario import Scenario, robot_of
from impact_control.util.errors import ImpactControlError, RecordingError
from impact_control.util.types import Vector
from impact_control.util.words import fixed

REST = 0.3
"""[s] for which the arm has to be held still."""

STILL = 0.02
"""[rad/s] of a joint that is held still by hand, beside the noise."""


def calibrate_pose(
    paths: Sequence[Path], scenario: str | None = None, columns: LogColumns | None = None, *, as_home: bool = False
) -> Result:
    """Return the pose in which the arm is held still last, of the last of some recordings, as the impact of a scenario.

    Place and orientation of the end-effector, which touches the surface there, and joint 1; the normal that is expected
    stays. as_home: as the home configuration instead. A pose with which the task cannot be planned is an objection.
    Raises RecordingError, which names the file, and ScenarioError.
    """
    chosen, files = open_files(paths[-1:], scenario, columns)
    robot = robot_of(chosen.robot)
    position, since, until = _held(files[-1], robot, chosen.control.period)
    dynamics = Dynamics(robot)
    dynamics.compute(position, np.zeros_like(position))
    normal, tool = chosen.expected_environment.surface.normal, robot.end_effector
    touching = lowest_points(tool.contact_points, tool.radius, dynamics.rotation, normal).mean(axis=0)
    place = quantity(dynamics.position + touching, "m", digits=5)
    orientation = quantity(np.rad2deg(pin.rpy.matrixToRpy(dynamics.rotation)), "deg", digits=5)
    sections: dict[str, Any] = {"task": {"home_configuration": quantity(position, "rad", digits=5)}}
    if not as_home:
        impact = {"position": place, "orientation": orientation}
        task = {"joint_1": quantity(position[0], "rad", digits=5), "impact": impact}
        sections = {"expected_environment": {"surface": {"point": place}}, "task": task}
    objections = _objections(chosen, sections)
    source = f"{files[-1].name}: held still from {since:.3f} to {until:.3f} s"
    rows = [
        Row("Taught as", "home configuration" if as_home else "impact"),
        Row("Recording", source),
        Row("Touches at", place),
        Row("Orientation", f"{orientation} (roll, pitch, yaw)"),
        *(Row("Objection", words, Mark.BAD) for words in objections),
    ]
    header = ("", *short_joint_names(robot.joint_names))
    joints = Grid("Joint positions", header, (("[rad]", *(fixed(q, 4) for q in position)),))
    verdict = f"FOUND: a pose held still for {until - since:.2f} s."
    return Result(RunSummary("Pose", tuple(rows), (joints,), verdict, not objections), sections, (source,), objections)


def _held(opened: Opened, robot: RobotDescription, period: float) -> tuple[Vector, float, float]:
    """Return the mean position (n,) [rad] of the last stretch in which the arm is held still, and its ends [s]."""
    samples = usable_samples(opened.file, opened.run, robot, period)
    time, velocity = samples.time[samples.usable], samples.velocity[samples.usable]
    still = np.all(np.abs(velocity) <= STILL + robot.noise.velocity, axis=1)
    # Nobody knows what the arm did in a gap.
    apart = np.flatnonzero((np.diff(time) > BRIDGED_GAP) | (still[1:] != still[:-1])) + 1
    stretches = [(part[0], part[-1]) for part in np.split(np.arange(time.size), apart) if part.size and still[part[0]]]
    long = [(a, b) for a, b in stretches if time[b] - time[a] >= REST]
    if not long:
        allowed = f"one in which every joint stays below {STILL:g} rad/s for {REST:g} s"
        raise RecordingError(opened.name, "the arm is held still nowhere in it", allowed)
    first, last = long[-1]
    position: Vector = samples.position[samples.usable][first : last + 1].mean(axis=0)
    return position, float(time[first] - time[0]), float(time[last] - time[0])


def _objections(scenario: Scenario, sections: dict[str, Any]) -> tuple[str, ...]:
    try:
        plan_scenario(scenario.with_overrides(sections))
    except ImpactControlError as error:
        return (f"the task cannot be planned with it: {' '.join(str(error).split())}",)
    return ()
