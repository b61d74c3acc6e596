"""Pictures of planar impacts: the motion, responses of flexible and rigid arms, errors over a sweep and stiffness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from impact_control.recording.style import ANTE, IMPACT, INK, INTERIM, LIMIT, NEUTRAL, POST, ROW, WIDTH, line
from impact_control.robots import Dynamics, InertiaModel
from impact_control.robots.link_shapes import LinkFrames
from impact_control.util.types import Matrix, Vector
from impact_studies.frame.legend import legend_above
from impact_studies.planar_impact.jump import GrossJump
from impact_studies.planar_impact.response import AfterImpact, FlexibleResponse

MODEL_COLOURS = {InertiaModel.LINKS: LIMIT, InertiaModel.REDUCED_MOTORS: POST, InertiaModel.MOTORS: INTERIM}
MODEL_SYMBOLS = {
    InertiaModel.LINKS: r"$M$",
    InertiaModel.REDUCED_MOTORS: r"$M + B_\theta$",
    InertiaModel.MOTORS: r"$M + B_\rho$",
}

POSES = (-600.0, -300.0, -150.0, 0.0, 100.0)
"""[ms] after the impact at which the arm is shown."""

_POSE_COLOURS = ("#9ecae1", "#56b4e9", ANTE, IMPACT, POST)

_BELOW = 1.0
"""[m] of the ground that is drawn, more than is shown."""

_PLANE = [0, 2]
"""x and z of A, in which the arm moves."""

_SHOWN = (-20.0, 100.0)
_TOP = 0.75
"""[inch] for legend and titles."""

_legend = partial(legend_above, top=_TOP, align=True, hspace=0.22, wspace=0.08)


def draw_poses(response: FlexibleResponse) -> Figure:
    """Fig. 2: the arm before, at and after the impact, and a close-up of its end-effector."""
    frames = LinkFrames(response.robot)
    radius = response.robot.end_effector.radius
    path = _path(response)
    figure = Figure(figsize=(WIDTH, 3.4 * ROW))
    whole, close = figure.subplots(1, 2, width_ratios=(1.0, 1.5))
    entries = []
    for moment, colour in zip(POSES, _POSE_COLOURS, strict=True):
        sample = int(np.argmin(np.abs(1e3 * response.time - moment)))
        frames.compute(response.link_position[sample])
        places = np.vstack([frames.position[:, _PLANE], path[sample]])
        for axes in (whole, close):
            axes.plot(*places.T, color=colour, linewidth=2.0, marker="o", markersize=4, markevery=slice(-1), zorder=3)
            axes.add_patch(Circle(tuple(path[sample]), radius, facecolor="none", edgecolor=colour, zorder=3))
        entries.append(line(f"{moment:+.0f} ms" if moment else "impact", colour, "-", 2.0))
    close.plot(*path.T, color=INK, linewidth=1.0, linestyle=":", zorder=4)
    impact, surface = float(response.approach.impact_position[0]), float(response.surface.point[2])
    for axes in (whole, close):
        axes.axhspan(surface - _BELOW, surface, color=NEUTRAL, alpha=0.35, linewidth=0)
        axes.axvline(impact, color=IMPACT, linestyle="--", linewidth=0.9)
        axes.set(aspect="equal", xlabel="x [m]", ylabel="z [m]")
    lowest, first = surface - radius, path[0]
    whole.set_ylim(lowest, None)
    close.set(xlim=(impact - 3.0 * radius, first[0] + 2.0 * radius), ylim=(lowest, first[1] + 2.5 * radius))
    _legend(figure, [*entries, line("path of the sphere", INK, ":")], top=0.4, wspace=0.25)
    return figure


def _path(response: FlexibleResponse) -> Matrix:
    """Return x and z of the origin of E (m, 2) [m]."""
    dynamics = Dynamics(response.robot)
    path = []
    for q in response.link_position:
        dynamics.compute(q, np.zeros_like(q))
        path.append(dynamics.position[_PLANE].copy())
    return np.array(path)


def draw_responses(
    responses: Mapping[AfterImpact, FlexibleResponse],
    jumps: Mapping[AfterImpact, GrossJump],
    rigid: Mapping[InertiaModel, tuple[Vector, Matrix]],
) -> Figure:
    """Joint velocities around the impact, a row a joint, a column for what the torque does after the impact.

    rigid: time [s] and velocity (m, n) [rad/s] of the rigid arms under the controller that goes on; in the other
    columns their velocity right after the impact is drawn on.
    """
    joints = next(iter(jumps.values())).ante.size
    figure = Figure(figsize=(WIDTH, 1.35 * ROW * joints + _TOP + 0.5))
    grid = figure.subplots(joints, len(responses), squeeze=False, sharex=True, sharey="row")
    for column, (after, response) in enumerate(responses.items()):
        jump = jumps[after]
        shown = (response.time * 1e3 >= _SHOWN[0]) & (response.time * 1e3 <= _SHOWN[1])
        for j in range(joints):
            axes = grid[j, column]
            axes.axvline(0.0, color=IMPACT, linewidth=0.9)
            axes.plot(
                1e3 * response.time[shown], np.degrees(response.link_velocity[shown, j]), color=INK, linewidth=1.0
            )
            axes.plot(0.0, np.degrees(jump.fitted[j]), "o", color=INK, markersize=6, zorder=4)
            for model, (time, velocity) in rigid.items():
                color = MODEL_COLOURS[model]
                if after is AfterImpact.FOLLOW:
                    axes.plot(time * 1e3, np.degrees(velocity[:, j]), color=color, linewidth=1.6)
                else:
                    level = np.degrees(jump.predictions[model].velocity[j])
                    axes.plot([0.0, _SHOWN[1]], [level, level], color=color, linewidth=1.6, linestyle="--")
            axes.set(xlim=_SHOWN, xticks=range(0, round(_SHOWN[1]), 20))
            if column == 0:
                axes.set_ylabel(f"joint {j + 1} [deg/s]")
        grid[0, column].set_title(str(after))
        grid[-1, column].set_xlabel("time after impact [ms]")
    entries = [line("flexible joints", INK), line("cubic fit at the impact", INK, "", marker="o", markersize=6)]
    entries += [line(f"rigid, {MODEL_SYMBOLS[model]}", MODEL_COLOURS[model]) for model in rigid]
    entries.append(line("map only", NEUTRAL, "--"))
    _legend(figure, entries)
    return figure


def draw_sweep(
    errors: Mapping[AfterImpact, Mapping[tuple[float, float], Mapping[InertiaModel, float]]], angle: float, speed: float
) -> Figure:
    """Mean absolute errors [deg/s] over the approach angle at `speed` [m/s] and over the speed at `angle` [deg].

    errors: by what the torque does, then by (angle, speed), then by model.
    """
    figure = Figure(figsize=(WIDTH, 1.6 * ROW * len(errors) + _TOP + 0.5))
    grid = figure.subplots(len(errors), 2, squeeze=False, sharex="col", sharey=True)
    for row, (after, impacts) in enumerate(errors.items()):
        for column, (fixed, unit) in enumerate(((speed, "m/s"), (angle, "deg"))):
            axes = grid[row, column]
            chosen = sorted(key for key in impacts if key[1 - column] == fixed)
            for model, color in MODEL_COLOURS.items():
                axes.plot(
                    [key[column] for key in chosen],
                    [impacts[key][model] for key in chosen],
                    marker="o",
                    markersize=4,
                    color=color,
                )
            axes.set_yscale("log")
            axes.set_title(f"{after}, at {fixed:g} {unit}")
        grid[row, 0].set_ylabel("mean absolute error [deg/s]")
    grid[-1, 0].set_xlabel("approach angle [deg]")
    grid[-1, 1].set_xlabel("impact velocity [m/s]")
    _legend(figure, [line(MODEL_SYMBOLS[model], color) for model, color in MODEL_COLOURS.items()])
    return figure


def draw_limit(scales: Sequence[float], errors: Mapping[str, Sequence[float]]) -> Figure:
    """Error of M + B_theta in percent of the jump over the factor on the joint stiffness, a line a way to end."""
    figure = Figure(figsize=(WIDTH, 2.4 * ROW + 0.9))
    axes = figure.subplots()
    entries = []
    for (name, values), color in zip(errors.items(), (POST, LIMIT, NEUTRAL), strict=True):
        axes.plot(scales, values, marker="o", markersize=5, color=color)
        entries.append(line(name, color))
    axes.set(xscale="log", yscale="log", xlabel="factor on the joint stiffness", ylabel="mean error [% of the jump]")
    _legend(figure, entries, top=0.4)
    return figure
