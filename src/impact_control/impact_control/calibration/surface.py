"""Plane of a real surface from recordings of contacts with it, each a touch at another place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from impact_control.calibration.motion import Opened, Result, numbers, open_files, quantity
from impact_control.pipeline.sensing import make_detector, make_observer
from impact_control.recording.log import LogColumns
from impact_control.recording.summary import Grid, Mark, Row, RunSummary
from impact_control.replay import replay_samples, usable_samples
from impact_control.robots import Dynamics, RobotDescription, contact_jacobians
from impact_control.scenario import Scenario, robot_of
from impact_control.util.checks import finite_array
from impact_control.util.errors import InvalidInputError, RecordingError
from impact_control.util.types import Matrix, Vector
from impact_control.util.words import fixed

LEAST_TOUCHES = 3

LARGEST_ANGLE = math.radians(45.0)
"""Between the surface and the expected one, beyond which a heading of the scenario may no longer lead along it."""

LARGEST_DEVIATION = math.radians(1.0)
"""Standard deviation of the normal from which on touches are too close to each other, or on one line."""

LARGEST_RESIDUAL = 4.0
"""Standard deviations by which a touch may lie off the plane."""

_BEFORE = 5e-3
"""[s] before a detection at which the speed of the approach is taken."""

_HALF_WIDTH = 3.0
"""Standard deviations in a half-width of the noise in the robots' data."""


@dataclass(frozen=True, eq=False)
class Plane:
    """Plane through N points: normal (3,), centre (3,) of the points [m], height (N,) [m] of each over it.

    normal_deviation [rad]: standard deviation of the slope about the axis in the plane about which it is known least.
    height_deviation [m]: of the height at the centre.
    """

    normal: Vector
    centre: Vector
    height: Vector
    normal_deviation: float
    height_deviation: float

    def deviation_at(self, point: Vector) -> float:
        """Return the standard deviation [m] of the height at a point (3,) [m] near the plane; an upper bound."""
        return math.hypot(self.height_deviation, self.normal_deviation * float(np.linalg.norm(point - self.centre)))


def fit_plane(points: Matrix, deviation: Vector, towards: Vector) -> Plane:
    """Return the plane of least squares through points (N, 3) [m], with its normal on the side of `towards` (3,).

    deviation (N,) [m]: standard deviation of each along the normal. From four points on, the deviations of the plane
    grow with what the points lie off it, where that is more. Raises InvalidInputError for fewer than three points, or
    points on one line.
    """
    x = finite_array("points", points, (len(points), 3))
    if len(x) < LEAST_TOUCHES:
        raise InvalidInputError("points", len(x), f"at least {LEAST_TOUCHES}")
    centre = x.mean(axis=0)
    _, spread, axes = np.linalg.svd(x - centre)
    sigma = float(np.sqrt(np.mean(np.square(deviation))))
    if spread[1] <= sigma:
        raise InvalidInputError("points", f"{1e3 * spread[1]:.3g} mm off one line", "three that are not on one line")
    normal: Vector = axes[2] * np.copysign(1.0, axes[2] @ towards)
    height: Vector = (x - centre) @ normal
    if (free := len(x) - LEAST_TOUCHES) > 0:
        sigma = max(sigma, float(np.sqrt(height @ height / free)))
    # The second singular value is the square root of the smaller second moment of the points in the plane.
    return Plane(normal, centre, height, sigma / float(spread[1]), sigma / math.sqrt(len(x)))


@dataclass(frozen=True, eq=False)
class _Touch:
    """Contact in a recording: centres (n_c, 3) [m] of the spheres that may touch, when it was detected.

    time: [s] since the first sample. impacts: how many were detected in the recording. velocity (n_c, 3) [m/s] of the
    centres before it. noise (n_c, 3, 3) [m^2]: covariance of the centres from the noise of the joint positions. period
    [s]: of the samples.
    """

    name: str
    time: float
    impacts: int
    centres: Matrix
    velocity: Matrix
    noise: Matrix
    period: float

    @property
    def source(self) -> str:
        """The recording and when the contact was detected, in words."""
        among = f", the first of {self.impacts} impacts: contacts or false alarms?" if self.impacts > 1 else ""
        return f"{self.name}: contact at {self.time:.3f} s{among}"

    def lowest(self, normal: Vector) -> int:
        """Return which sphere touches a surface with this normal (3,) first."""
        return int(np.argmin(self.centres @ normal))

    def deviation(self, normal: Vector) -> float:
        """Return the standard deviation [m] along a normal (3,): the way in a period of the samples, and noise."""
        k = self.lowest(normal)
        way = float(self.velocity[k] @ normal) * self.period
        return math.sqrt(way**2 / 12.0 + float(normal @ self.noise[k] @ normal))


def calibrate_surface(paths: Sequence[Path], scenario: str | None = None, columns: LogColumns | None = None) -> Result:
    """Return the expected surface of a scenario from recordings of at least three contacts with the real one.

    Of each the first impact that the scenario's detector finds counts. The place is that of the end-effector as the arm
    measures it, so an error of its kinematics that is the same everywhere does not matter. The point of impact moves
    along the normal that was expected onto the surface that was found. Raises RecordingError, which names the file, and
    ScenarioError.
    """
    chosen, files = open_files(paths, scenario, columns)
    robot = robot_of(chosen.robot)
    touches = [_touch(chosen, robot, opened) for opened in files]
    expected = chosen.expected_environment.surface
    names = ", ".join(touch.name for touch in touches)
    normal = expected.normal
    try:
        # What touches first depends on the normal, and the normal on what touches.
        for _ in range(LEAST_TOUCHES):
            places = np.array([touch.centres[touch.lowest(normal)] for touch in touches])
            plane = fit_plane(places, np.array([touch.deviation(normal) for touch in touches]), expected.normal)
            normal = plane.normal
    except InvalidInputError as error:
        raise RecordingError(
            names, str(error), f"{LEAST_TOUCHES} contacts or more, as far apart as the task"
        ) from error
    along = float(plane.normal @ expected.normal)
    angle = math.acos(min(1.0, along))
    if angle > LARGEST_ANGLE:
        found = f"a surface turned by {math.degrees(angle):.0f} deg from the one that {chosen.name} expects"
        raise RecordingError(names, found, f"contacts with one turned by {math.degrees(LARGEST_ANGLE):.0f} deg at most")
    deviations = np.array([touch.deviation(plane.normal) for touch in touches])
    surface = plane.centre - robot.end_effector.radius * plane.normal
    before = chosen.task.impact.position
    rise = float((surface - before) @ plane.normal) / along
    objections = _objections(plane, touches, deviations)
    impact = before + rise * expected.normal
    summary = _summary(plane, angle, rise, plane.deviation_at(impact), touches, objections)
    place = quantity(impact, "m", digits=6)
    sections: dict[str, Any] = {
        "expected_environment": {"surface": {"point": place, "normal": numbers(plane.normal, digits=6)}},
        "task": {"impact": {"position": place}},
    }
    if chosen.classification.envelope_margin is None:
        deviation = quantity(math.degrees(plane.normal_deviation), "deg", digits=2)
        sections["classification"] = {"uncertainty": {"normal": deviation}}
    return Result(summary, sections, tuple(touch.source for touch in touches), objections)


def _touch(scenario: Scenario, robot: RobotDescription, opened: Opened) -> _Touch:
    period = scenario.control.period
    samples = usable_samples(opened.file, opened.run, robot, period)
    observer, detector = make_observer(scenario, robot), make_detector(scenario, len(robot.joint_names))
    replayed = replay_samples(samples, robot, observer, detector, commands=opened.run.commands)
    if not replayed.impacts:
        raise RecordingError(opened.name, "no impact is detected in it", "a recording of a contact")
    time = replayed.impacts[0].detection_time
    position, velocity = (values[samples.usable] for values in (samples.position, samples.velocity))
    at, before = np.searchsorted(replayed.time, (time - 0.5 * period, time - _BEFORE))
    dynamics = Dynamics(robot)
    dynamics.compute(position[at], np.zeros_like(position[at]))
    offsets = robot.end_effector.contact_points @ dynamics.rotation.T
    centres, jacobians = dynamics.position + offsets, contact_jacobians(dynamics.jacobian, offsets)
    speed = jacobians @ velocity[before]
    joint_noise = np.square(robot.noise.position / _HALF_WIDTH)
    noise = (jacobians * joint_noise) @ jacobians.transpose(0, 2, 1)
    since = time - float(replayed.time[0])
    return _Touch(opened.name, since, len(replayed.impacts), centres, speed, noise, period)


def _objections(plane: Plane, touches: Sequence[_Touch], deviations: Vector) -> tuple[str, ...]:
    found = []
    if plane.normal_deviation > LARGEST_DEVIATION:
        found.append(
            f"the normal is known to {math.degrees(plane.normal_deviation):.2g} deg only: "
            "the touches are too close to each other, or on one line"
        )
    found += [
        f"{touch.name}: {1e3 * height:+.2f} mm off the plane, {abs(height) / deviation:.0f} standard deviations: "
        "was something else touched?"
        for touch, height, deviation in zip(touches, plane.height, deviations, strict=True)
        if abs(height) > LARGEST_RESIDUAL * deviation
    ]
    return tuple(found)


def _summary(
    plane: Plane, angle: float, rise: float, deviation: float, touches: Sequence[_Touch], objections: Sequence[str]
) -> RunSummary:
    normal, height = math.degrees(plane.normal_deviation), 1e3 * deviation
    rows = [
        Row("Normal", ", ".join(fixed(value, 4) for value in plane.normal)),
        Row("Tilt from what was expected", f"{math.degrees(angle):.2f} deg, known to {normal:.2g} deg"),
        Row("Above what was expected", f"{1e3 * rise:.2f} mm at the point of impact, known to {height:.2g} mm"),
        *(Row(f"Touch {k}", touch.source) for k, touch in enumerate(touches, start=1)),
        *(Row("Objection", words, Mark.BAD) for words in objections),
    ]
    lines = tuple(
        (f"{k}", *(fixed(v, 4) for v in touch.centres[touch.lowest(plane.normal)]), fixed(height, 3, "+"))
        for k, (touch, height) in enumerate(zip(touches, 1e3 * plane.height, strict=True), start=1)
    )
    header = ("touch", "x [m]", "y [m]", "z [m]", "off the plane [mm]")
    grid = Grid("Centre of the end-effector's sphere at each touch", header, lines)
    verdict = f"FOUND: a plane through {len(touches)} touches, its normal known to {normal:.2g} deg."
    return RunSummary("Surface", tuple(rows), (grid,), verdict, not objections)
