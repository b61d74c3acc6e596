"""Figures of a run: predicted and found velocity, displacement of the objects, use of the limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from impact_control.control import RUNNING
from impact_control.pipeline import Outcome
from impact_control.planning import Plan
from impact_control.recording import net_feedback
from impact_control.simulation.scenario_run import ArmCourse, Course
from impact_control.util.types import Vector

HEADER = (
    f"{'scenario':20s} {'predicted':>10s} {'found':>10s} {'off by':>7s} {'way':>18s} {'torque':>7s} {'speed':>6s}"
    "  outcome"
)
"""Over `RunFigures.line`."""


@dataclass(frozen=True)
class RunFigures:
    """A run in numbers.

    Attributes:
        name, outcome: of the scenario, of its task.
        predicted_speed: [m/s] of the end-effectors just after the impact, the mean over the arms, along the velocity
            that the object is predicted to take, without objects the arm.
        found_speed: [m/s] the same, less the net feedback from 0.1 s before to 0.6 s after the nominal impact: what one
            run says of an object as expected, van Steen 2024 (28), (29); NaN when not all arms felt an impact and
            followed their references until then.
        ways: (3,) [m] of each object from start to end, by name.
        peak_torque, peak_speed: of the joints, as parts of their limits.
        peak_position: of the joints, from the middle of their range, as part of half of it.
        peak_torque_rate: of the commanded torque, as part of the limit.
    """

    name: str
    outcome: Outcome
    predicted_speed: float
    found_speed: float
    ways: Mapping[str, tuple[float, float, float]]
    peak_torque: float
    peak_speed: float
    peak_position: float
    peak_torque_rate: float

    @property
    def line(self) -> str:
        """One line of a table, under `HEADER`."""
        off = self.predicted_speed / self.found_speed - 1.0
        ways = "; ".join(", ".join(f"{value:.3f}" for value in way) for way in self.ways.values()) or "none"
        return (
            f"{self.name:20s} {self.predicted_speed:6.3f} m/s {self.found_speed:6.3f} m/s {off:7.1%} {ways:>18s} "
            f"{self.peak_torque:7.0%} {self.peak_speed:6.0%}  {self.outcome.name}"
        )


def run_figures(plan: Plan, course: Course) -> RunFigures:
    """Return the figures of a run of a plan."""
    scene, period = plan.scene, plan.scene.control.period
    row = round(scene.impact_time / period)
    begun = {name: arm.reference.post.columns.velocity[row] for name, arm in plan.arms.items()}
    after = {name: arm.velocity for name, arm in plan.impact.arms.items()} or begun
    taken = next(iter((plan.impact.objects or after).values()))[:3]
    direction = taken / np.linalg.norm(taken)
    predicted, start = (float(np.mean([direction @ one for one in all_.values()])) for all_ in (after, begun))
    net = np.array([direction @ _net(plan, course, arm) for arm in course.arms.values()])
    peaks = np.zeros(4)
    for name, arm in course.arms.items():
        limits, signals = plan.arms[name].robot.limits, arm.signals
        rates = np.diff(signals.torque, axis=0) / period
        middle = 0.5 * (limits.position_lower + limits.position_upper)
        found = (
            (signals.torque, limits.torque),
            (signals.joint_velocity, limits.velocity),
            (signals.joint_position - middle, limits.position_upper - middle),
            (rates, limits.torque_rate),
        )
        peaks = np.maximum(peaks, [float(np.max(np.abs(values) / limit)) for values, limit in found])
    torque, speed, position, rate = peaks.tolist()
    ways = {name: tuple((o.position[-1] - o.position[0]).tolist()) for name, o in course.objects.items()}
    found_speed = start - float(net.mean())
    return RunFigures(scene.name, course.outcome, predicted, found_speed, ways, torque, speed, position, rate)


def _net(plan: Plan, course: Course, arm: ArmCourse) -> Vector:
    """Return the net feedback (3,) [m/s] of an arm; NaN where there is none."""
    scene, signals = plan.scene, arm.signals
    begin = scene.impact_time - net_feedback.BEFORE
    end = scene.impact_time + net_feedback.AFTER
    follows = np.isin(signals.mode[course.time <= end], RUNNING).all()
    if np.isnan(arm.detection_time) or end > course.time[-1] or not follows:
        return np.full(3, np.nan)
    feedback = net_feedback.feedback_signal(
        course.time,
        net_feedback.Track(signals.position, signals.velocity),
        net_feedback.Track(signals.ante_position, signals.ante_velocity),
        net_feedback.Track(signals.post_position, signals.post_velocity),
        stiffness=scene.control.gains.position,
        impact_time=arm.detection_time,
        interim_duration=scene.control.interim_duration,
    )
    return net_feedback.net_feedback(course.time, feedback, begin, end)
