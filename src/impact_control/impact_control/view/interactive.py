"""Report of a run with its signals to zoom into, and the arm in slow motion, in one page that needs no network."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_control.control import Mode
from impact_control.recording.analysis import RunAnalysis
from impact_control.recording.measures import commanded_torque
from impact_control.recording.report import write_report
from impact_control.recording.style import ANTE, INTERIM, LIMIT, MODE_COLOURS, POST
from impact_control.recording.summary import RunSummary, short_joint_names
from impact_control.replay.evaluation import Evaluation, envelope_of
from impact_control.robots import RobotDescription
from impact_control.robots.link_shapes import load_link_shapes
from impact_control.util.errors import ScenarioError
from impact_control.util.types import Matrix, Vector
from impact_control.view.bodies import base_placement
from impact_control.view.panel import JOINT_COLORS
from impact_control.view.recorded import Record, record_of_bag
from impact_control.view.shapes import plane_axes
from impact_control.view.signals import POSE, Signal, Signals, sampled
from impact_control.view.stage import Stage

_DATA = Path(__file__).with_name("data")

BEFORE, AFTER = 0.2, 0.5
"""[s] around the impact in which every sample is kept."""

_MOST = 2500
"""Samples of the rest of a run, of which as many are left out evenly as it takes."""

_PATIENCE = 0.05
"""[s] for which the last value counts: `controller/status` comes every 10 ms. A longer gap is drawn as one."""

_BAR, _ROD = 0.03, 0.01
"""[m] radius of the links of a robot without shapes, and of the rod of an end-effector."""

_INK = ""
"""Colour of a line that is that of the text, light or dark."""

_AXES = (ANTE, POST, INTERIM)
"""Colours of x, y and z."""


def report(evaluation: Evaluation, output: Path, arm: str = "") -> RunSummary:
    """Write `report.html` and the figures of an arm into `output`; arm: its name in a scene."""
    run = replace(evaluation, envelope=envelope_of(evaluation.recording, evaluation.scenario))
    return write_report(run, output, interactive_section(evaluation, arm))


def interactive_section(evaluation: Evaluation, arm: str = "") -> str:
    """Return the plots and the slow motion of the recorded run of an arm as HTML, with all they need."""
    stage, record = record_of_bag(evaluation.recording.directory)
    # No text of a run may begin a tag or a comment inside the script element.
    content = json.dumps(run_content(evaluation, stage, record, arm), separators=(",", ":")).replace("<", "\\u003c")
    style, plots, own_style, own, frame = (
        (_DATA / name).read_text(encoding="utf-8")
        for name in ("uPlot.min.css", "uPlot.iife.min.js", "run.css", "run.js", "run.html")
    )
    scripts = f'<script type="application/json" id="run-content">{content}</script>\n<script>{plots}\n{own}</script>'
    return f"<style>{style}{own_style}</style>\n{frame}\n{scripts}"


def run_content(evaluation: Evaluation, stage: Stage, record: Record, arm: str) -> dict[str, Any]:
    """Return what the page shows of an arm, for JSON; times [s] since the start of the recording, frame A.

    time, and the columns of plots, arms and objects: arrays of little-endian floats in base64, NaN in gaps.
    """
    analysis, signals = evaluation.analysis, record.arms[arm]
    names = short_joint_names(analysis.joint_names)
    grid = _grid(signals["position"].time, analysis)
    return {
        "time": _packed(grid, "<f8"),
        "impact": analysis.impact_time,
        "marks": [{"time": time, "label": label} for time, label in _marks(analysis)],
        "modes": [
            {"start": mode.start, "end": mode.end, "name": mode.mode, "color": MODE_COLOURS[mode.mode]}
            for mode in analysis.modes
            if mode.mode in MODE_COLOURS
        ],
        "joints": [{"name": name, "color": color} for name, color in zip(names, cycle(JOINT_COLORS), strict=False)],
        "plots": [*_plots(evaluation, signals, names, grid), *_object_plots(record, grid)],
        "arms": [_arm_content(stage, record, name, grid) for name in stage.arms],
        "surfaces": [
            {"corners": _corners(surface.point, surface.normal), "expected": surface.expected}
            for surface in stage.surfaces
        ],
        "boxes": [
            {
                "size": box.size.tolist(),
                "pose": box.pose.tolist(),
                "expected": box.expected,
                "course": _columns(sampled(record.objects[name][POSE], grid, _PATIENCE))
                if name in record.objects
                else None,
            }
            for name, box in stage.boxes.items()
        ],
        "focus": stage.focus.tolist(),
    }


def _grid(time: Vector, analysis: RunAnalysis) -> Vector:
    """Return the times [s] of the samples that are kept, and one in the middle of each gap."""
    gaps = np.flatnonzero(np.diff(time) > _PATIENCE)
    time = np.insert(time, gaps + 1, 0.5 * (time[gaps] + time[gaps + 1]))
    impact = np.inf if analysis.impact_time is None else analysis.impact_time
    kept = (time >= impact - BEFORE) & (time <= impact + AFTER)
    kept[:: -(-len(time) // _MOST)] = True
    kept[gaps + np.arange(1, len(gaps) + 1)] = True
    grid: Vector = time[kept]
    return grid


def _marks(analysis: RunAnalysis) -> Iterable[tuple[float, str]]:
    if analysis.true_impact_time is not None:
        yield analysis.true_impact_time, "contact"
    for number, detection in enumerate(analysis.detections.tolist(), start=1):
        yield detection, "detected" if len(analysis.detections) == 1 else f"detected {number}"


# ---------------------------------------------------------------------- plots


def _plots(evaluation: Evaluation, signals: Signals, names: Sequence[str], grid: Vector) -> Iterable[dict[str, Any]]:
    ante, post, mode = (sampled(signals[name], grid, _PATIENCE) for name in ("ante_velocity", "post_velocity", "mode"))
    nothing = np.isnan(mode) | (mode == Mode.FAULT) | (mode == Mode.IDLE)
    followed = _lines(names, np.where(nothing, np.nan, np.where(mode == Mode.ANTE, ante, post)), dashed=True)
    velocity, residual = (_lines(names, sampled(signals[name], grid, _PATIENCE)) for name in ("velocity", "residual"))
    title = "Joint velocity, dashed: reference that is followed"
    yield _plot(title, "rad/s", [*velocity, *followed], of_joints=True)
    yield _plot("External torque, momentum residual", "Nm", residual, of_joints=True)
    commanded = commanded_torque(evaluation.recording)
    if commanded is not None:
        torque = _lines(names, sampled(Signal(*commanded), grid, _PATIENCE))
        yield _plot("Commanded torque, without gravity", "Nm", torque, of_joints=True)
    error = 1e3 * sampled(signals["position_error"], grid, _PATIENCE)
    if error.shape[1] == len(_AXES):
        yield _plot("Position error of the end-effector", "mm", _of_axes(error))
    truth = signals["contact_force"]
    if len(truth.time):
        desired = _size(sampled(signals["desired_force"], grid, _PATIENCE))
        felt = _lines(("contact",), _size(sampled(truth, grid, _PATIENCE)), (_INK,))
        asked = _lines(("desired",), desired, (LIMIT,), dashed=True)
        top = 3.0 * float(np.nanmax(desired, initial=20.0))
        title = "Contact force in the simulation; its peak shows when less than 50 ms are shown"
        yield {**_plot(title, "N", [*felt, *asked]), "top": top}


def _object_plots(record: Record, grid: Vector) -> Iterable[dict[str, Any]]:
    for name, signals in record.objects.items():
        pose = sampled(signals[POSE], grid, _PATIENCE)
        start = signals[POSE].value[0]
        yield _plot(f"Motion of the object {name}", "mm", _of_axes(1e3 * (pose[:, :3] - start[:3])))
        cosine = np.clip(np.abs(pose[:, 3:] @ start[3:]), 0.0, 1.0)
        turn = np.rad2deg(2.0 * np.arccos(cosine))[:, None]
        yield _plot(f"Turn of the object {name}", "deg", _lines(("turn",), turn, (_INK,)))


def _lines(
    names: Iterable[str], values: Matrix, colors: Iterable[str] = JOINT_COLORS, *, dashed: bool = False
) -> list[dict[str, Any]]:
    """Return lines of a plot for JSON: columns (g, k) with their names; the colours are repeated."""
    return [
        {"label": name, "color": color, "dashed": dashed, "values": _packed(column, "<f4")}
        for name, color, column in zip(names, cycle(colors), values.T, strict=False)
    ]


def _of_axes(values: Matrix) -> list[dict[str, Any]]:
    return _lines("xyz", values, _AXES)


def _plot(title: str, unit: str, lines: list[dict[str, Any]], *, of_joints: bool = False) -> dict[str, Any]:
    """Return a plot for JSON; of_joints: whether its lines are those of the joints, one after the other."""
    return {"title": title, "unit": unit, "lines": lines, "of_joints": of_joints}


def _size(vectors: Matrix) -> Matrix:
    sizes: Matrix = np.linalg.norm(vectors, axis=1, keepdims=True)
    return sizes


# ---------------------------------------------------------------------- arm and surroundings


def _arm_content(stage: Stage, record: Record, name: str, grid: Vector) -> dict[str, Any]:
    """Return an arm for JSON: placement and axis of each joint in its parent, capsules, and its course."""
    robot, signals = stage.arms[name].robot, record.arms[name]
    position = sampled(signals["position"], grid, _PATIENCE)
    force = sampled(signals["contact_force"], grid, _PATIENCE) if len(signals["contact_force"].time) else None
    contact = robot.pinocchio_model.frames[robot.contact_frame_id].placement.translation
    return {
        "name": name,
        "joints": _joints(robot),
        "capsules": _capsules(robot),
        "contact": contact.tolist(),
        "position": _columns(position),
        "force": None if force is None else _columns(force),
    }


def _joints(robot: RobotDescription) -> list[dict[str, Any]]:
    """Return placement of each joint in the one before it, rotation row by row, and its axis, for revolute joints."""
    model = robot.pinocchio_model
    data = model.createData()
    pin.forwardKinematics(model, data, np.ones(model.nq))
    found = []
    for i in range(1, len(robot.joint_names) + 1):
        placed: pin.SE3 = model.jointPlacements[i]
        axis = pin.log3(placed.rotation.T @ data.liMi[i].rotation)
        columns = {"rotation": placed.rotation.ravel(), "translation": placed.translation, "axis": axis.round(9)}
        found.append({name: column.tolist() for name, column in columns.items()})
    return found


def _capsules(robot: RobotDescription) -> list[dict[str, Any]]:
    """Return the shapes of the links, from each joint to the next a bar where there are none, and a rod to the tool."""
    origins = [robot.pinocchio_model.jointPlacements[i].translation for i in range(1, len(robot.joint_names) + 1)]
    base = [(0, base_placement(robot)[0], origins[0], 2.0 * _BAR)]
    try:
        shapes = load_link_shapes(robot)
        parts = list(zip(shapes.link.tolist(), shapes.start, shapes.end, shapes.radius.tolist(), strict=True))
    except ScenarioError:
        ends = [*origins[1:], robot.pinocchio_model.frames[robot.contact_frame_id].placement.translation]
        parts = [(link, np.zeros(3), end, _BAR) for link, end in enumerate(ends, start=1)]
    tool = robot.end_effector
    contact = robot.pinocchio_model.frames[robot.contact_frame_id].placement
    mount, tip = contact.act(-tool.contact_frame_offset), contact.act(tool.contact_points.mean(axis=0))
    rod = [(len(robot.joint_names), mount, tip, _ROD)] if np.any(tool.contact_frame_offset) else []
    return [
        {"link": link, "start": start.tolist(), "end": end.tolist(), "radius": radius}
        for link, start, end, radius in [*base, *parts, *rod]
    ]


def _corners(point: Vector, normal: Vector) -> list[list[float]]:
    across, along = 0.3 * plane_axes(normal)[:, :2].T
    corners = (point + i * across + j * along for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
    return [corner.tolist() for corner in corners]


# ---------------------------------------------------------------------- numbers


def _columns(values: Matrix) -> list[str]:
    return [_packed(column, "<f4") for column in values.T]


def _packed(values: NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")
