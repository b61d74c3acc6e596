"""Frame: content of the view at one moment, as plain numbers; courses of the last seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from impact_control.classification import Verdict
from impact_control.control import RUNNING, Fault, Mode
from impact_control.util.types import Matrix, Vector
from impact_control.view.signals import POSE, Signal, Signals, peaks, sampled

PEAK_TIME = 1.0
"""[s] for which a bar shows the largest rate of the residual."""

PLOT_SPAN = 4.0
"""[s] that the plots show."""

_PLOT_STEP = 0.01
"""[s] between two points of a plot."""

_FOLLOWED = (*RUNNING, Mode.RESUME, Mode.MOVE)
"""Modes in which a reference is followed."""

_PLOT_PATIENCE = 0.05
"""[s] for which a plot carries on the last value: `controller/status` comes every 10 ms."""


@dataclass(frozen=True, eq=False)
class ArmFrame:
    """State of an arm at one moment; None or NaN for unknown values.

    position (n,) [rad]; residual (n,) [Nm], peak_rate (n,) [Nm/s] its largest rate in `PEAK_TIME` before,
    rate_threshold (n,) [Nm/s]; target (3,) [m] of E, desired_force (3,) [N] on the environment, contact_force
    (3,) [N] on the robot, largest since the frame before, point_forces (p,) [N] of the contact points then, peak_force
    [N] the largest so far; position_error [m]; frame A.
    """

    position: Vector | None = None
    residual: Vector | None = None
    peak_rate: Vector | None = None
    rate_threshold: Vector | None = None
    target: Vector | None = None
    desired_force: Vector | None = None
    contact_force: Vector | None = None
    point_forces: Vector | None = None
    peak_force: float = math.nan
    mode: Mode | None = None
    fault: Fault = Fault.NONE
    task_time: float = math.nan
    position_error: float = math.nan
    missed_samples: int = 0
    impacts: int = 0
    isolated_link: int = -1
    impact: Verdict = Verdict.UNKNOWN
    post_impact: Verdict = Verdict.NOT_STARTED
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Frame:
    """A moment: its time [s], the arms by name ("" for the only one), poses (7,) of objects by name, see `columns`."""

    time: float
    arms: Mapping[str, ArmFrame]
    objects: Mapping[str, Vector]


@dataclass(frozen=True, eq=False)
class Courses:
    """The last seconds of an arm, for plots; NaN where samples of a quantity are missing.

    time (k,) [s] before the end, at most 0; velocity (k, n), followed reference (k, n) [rad/s]; contact_force (k, 1)
    [N] the resultant, largest of each step, desired_force (k, 1) [N]; residual (k, n) [Nm].
    """

    time: Vector
    velocity: Matrix
    reference: Matrix
    contact_force: Matrix
    desired_force: Matrix
    residual: Matrix


def frame_of(arms: Mapping[str, Signals], objects: Mapping[str, Signals], time: float, before: float) -> Frame:
    """Return the frame at `time` [s]; before [s]: of the previous frame."""
    poses = {name: signals[POSE].at(time) for name, signals in objects.items()}
    return Frame(
        time,
        {name: arm_frame(signals, time, before) for name, signals in arms.items()},
        {name: pose for name, pose in poses.items() if pose is not None},
    )


def arm_frame(signals: Signals, time: float, before: float) -> ArmFrame:
    """Return what is known of an arm at `time` [s], and of the contact force since `before` [s]."""
    force, points = signals["contact_force"], signals["point_forces"]
    moment = _strongest(force, before, time)
    peak = signals["peak_force"].within(-math.inf, time)
    recent = signals["residual_rate"].within(time - PEAK_TIME, time).value
    mode, error = signals["mode"].at(time), signals["position_error"].at(time)
    as_told = ("position", "residual", "rate_threshold", "target", "desired_force")
    return ArmFrame(
        **{name: signals[name].at(time) for name in as_told},
        peak_rate=np.abs(recent).max(axis=0) if len(recent) else None,
        contact_force=force.at(moment),
        point_forces=points.at(moment),
        peak_force=float(peak.value.max()) if len(peak.time) else math.nan,
        mode=None if mode is None else Mode(int(mode[0])),
        fault=Fault(int(_single(signals["fault"], time, Fault.NONE))),
        task_time=float(_single(signals["task_time"], time, math.nan)),
        position_error=math.nan if error is None else float(np.linalg.norm(error)),
        missed_samples=int(_single(signals["missed_samples"], time, 0)),
        impacts=int(_single(signals["impact_index"], time, 0)),
        isolated_link=int(_single(signals["isolated_link"], time, -1)),
        impact=Verdict(int(_single(signals["impact_verdict"], time, Verdict.UNKNOWN))),
        post_impact=Verdict(int(_single(signals["post_impact_verdict"], time, Verdict.NOT_STARTED))),
        reason=str(_single(signals["reason"], time, "")),
    )


def courses_of(signals: Signals, end: float, joints: int) -> Courses:
    """Return the last `PLOT_SPAN` of an arm with this many joints up to `end` [s], as far back as samples are known.

    Before anything is known of a quantity it is 0, as is the reference where none is followed: the arm is to rest.
    """
    # Times that stay where they are while the end moves on: else the peaks would dance.
    last = math.floor(end / _PLOT_STEP)
    grid: Vector = np.arange(last - round(PLOT_SPAN / _PLOT_STEP) + 1, last + 1, dtype=float) * _PLOT_STEP
    velocity = sampled(signals["velocity"], grid, _PLOT_PATIENCE)
    grid = grid[int(np.argmax(np.isfinite(velocity[:, 0]))) :] if np.isfinite(velocity[:, 0]).any() else grid[-2:]
    ante, post = (_of_joints(signals[name], grid, joints) for name in ("ante_velocity", "post_velocity"))
    mode = _plotted(signals["mode"], grid)
    pressed, desired = (
        Signal(force.time, np.linalg.norm(force.value, axis=1, keepdims=True))
        for force in (signals["contact_force"], signals["desired_force"])
    )
    followed = np.where(mode == Mode.ANTE, ante, post)
    highest, last_force = peaks(pressed, grid), _plotted(pressed, grid)
    return Courses(
        time=grid - end,
        velocity=_of_joints(signals["velocity"], grid, joints),
        reference=np.where(np.isnan(mode), np.nan, np.where(np.isin(mode, _FOLLOWED), followed, 0.0)),
        contact_force=np.where(np.isnan(highest), last_force, highest),
        desired_force=_plotted(desired, grid),
        residual=_of_joints(signals["residual"], grid, joints),
    )


def _of_joints(signal: Signal, grid: Vector, joints: int) -> Matrix:
    """Return values (g, n) of the joints as `_plotted`, 0 for another number of joints."""
    values = _plotted(signal, grid)
    return values if values.shape[1] == joints else np.zeros((len(grid), joints))


def _plotted(signal: Signal, grid: Vector) -> Matrix:
    """Return the values (g, m) at the times of a grid (g,) [s], 0 before the first one and NaN in gaps."""
    values = sampled(signal, grid, _PLOT_PATIENCE)
    values[grid < (signal.time[0] if len(signal.time) else np.inf)] = 0.0
    return values


def _strongest(force: Signal, before: float, time: float) -> float:
    """Return the time [s] of the largest force since `before`, `time` where there is no sample since."""
    recent = force.within(before, time)
    return float(recent.time[int(np.argmax(np.linalg.norm(recent.value, axis=1)))]) if len(recent.time) else time


def _single(signal: Signal, time: float, otherwise: Any) -> Any:
    """Return the number or text at a time [s], `otherwise` before the first sample."""
    value = signal.at(time)
    return otherwise if value is None else value[0]
