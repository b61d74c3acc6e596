"""Pictures of the three plants: joint velocities and gaps around the impact."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from impact_control.recording.style import ANTE, IMPACT, INK, INTERIM, LIMIT, NEUTRAL, POST, ROW, WIDTH, LineStyle, line
from impact_studies.frame.legend import legend_above
from impact_studies.three_plants.claims import SecondImpact, task_motion
from impact_studies.three_plants.measures import Responses, expected_time, lateness
from impact_studies.three_plants.response import OBSERVED, PlantModel, Scenario

_SHOWN = (-10.0, 110.0)
_GAPS_SHOWN = (-10.0, 1e3 * OBSERVED - 50.0)
_SECOND_SHOWN = (-20.0, 240.0)
_HIGHEST_GAP = 1050.0
"""[um]"""

_SCALES = (180.0 / math.pi, 180.0 / math.pi, 1e3, 1e3)
_SECOND_NAMES = (
    ("joint 1 [deg]", "joint 1 [deg/s]", "x [mm]", "x [mm/s]"),
    ("joint 2 [deg]", "joint 2 [deg/s]", "z [mm]", "z [mm/s]"),
    ("joint 3 [deg]", "joint 3 [deg/s]", "turn [mrad]", "turn [mrad/s]"),
)

_COLOURS = {PlantModel.A: LIMIT, PlantModel.B: ANTE, PlantModel.C: INK}
# B lies on A nearly everywhere: dashes leave both to be seen.
_STYLES: dict[PlantModel, LineStyle] = {PlantModel.A: "-", PlantModel.B: "--", PlantModel.C: "-"}
_WIDTHS = {PlantModel.A: 2.0, PlantModel.B: 1.2, PlantModel.C: 1.2}
_NAMES = {
    PlantModel.A: "A: flexible joints, compliant contact",
    PlantModel.B: "B: flexible joints, rigid contact",
    PlantModel.C: "C: rigid joints, rigid contact",
}
_POINT_COLOURS = (POST, INTERIM)

_legend = partial(legend_above, top=0.75, left=0.8, align=True, hspace=0.15, wspace=0.28)


def draw_velocities(cases: Mapping[Scenario, Responses]) -> Figure:
    """Joint velocities of the three plants, a row a joint, a column a scenario."""
    figure = Figure(figsize=(WIDTH, 4.0 * ROW + 1.2))
    grid = figure.subplots(3, len(cases), squeeze=False, sharex=True)
    for column, (scenario, responses) in enumerate(cases.items()):
        grid[0, column].set_title(scenario.name)
        grid[-1, column].set_xlabel("time after contact [ms]")
        for j in range(3):
            axes = grid[j, column]
            axes.axvline(0.0, color=IMPACT, linewidth=0.9)
            for model, response in responses.items():
                time = 1e3 * response.time
                shown = (time >= _SHOWN[0]) & (time <= _SHOWN[1])
                velocity = np.degrees(response.velocity[shown, j])
                axes.plot(time[shown], velocity, _STYLES[model], color=_COLOURS[model], linewidth=_WIDTHS[model])
            axes.set(xlim=_SHOWN, xticks=(0, 50, 100))
            if column == 0:
                axes.set_ylabel(f"joint {j + 1} [deg/s]")
    _legend(figure, [line(_NAMES[model], _COLOURS[model], _STYLES[model], _WIDTHS[model]) for model in PlantModel])
    return figure


def draw_gaps(cases: Mapping[Scenario, Responses]) -> Figure:
    """Gaps of the contact points, a row a plant, a column a scenario; the phases of the torque behind them."""
    figure = Figure(figsize=(WIDTH, 3.6 * ROW + 1.2))
    grid = figure.subplots(3, len(cases), squeeze=False, sharex=True, sharey=True)
    for column, (scenario, responses) in enumerate(cases.items()):
        grid[0, column].set_title(scenario.name)
        grid[-1, column].set_xlabel("time after contact [ms]")
        for row, (model, response) in enumerate(responses.items()):
            axes = grid[row, column]
            time = 1e3 * response.time
            shown = (time >= _GAPS_SHOWN[0]) & (time <= _GAPS_SHOWN[1])
            axes.axvline(1e3 * response.post_time, color=IMPACT, linewidth=0.9, linestyle=":")
            for point, color in zip(range(response.gaps.shape[1]), _POINT_COLOURS, strict=False):
                axes.plot(time[shown], 1e6 * response.gaps[shown, point], color=color)
            axes.set(xlim=_GAPS_SHOWN, ylim=(-50.0, _HIGHEST_GAP), xticks=(0, 100, 200))
            if column == 0:
                axes.set_ylabel(f"plant {model}: gap [um]")
    entries = [line(f"point {point}", color) for point, color in enumerate(_POINT_COLOURS, 1)]
    _legend(figure, [*entries, line("post phase begins", IMPACT, ":")])
    return figure


def draw_second_impact(found: SecondImpact) -> Figure:
    """Joints, their velocities, pose and its rate of the three plants and of both references, a column each."""
    figure = Figure(figsize=(WIDTH, 4.6 * ROW + 1.2))
    grid = figure.subplots(3, 4, squeeze=False, sharex=True)
    for model, response in found.plants.items():
        time = 1e3 * expected_time(response)
        shown = (time >= _SECOND_SHOWN[0]) & (time <= _SECOND_SHOWN[1])
        columns = (response.position, response.velocity, *task_motion(response))
        for (j, k), axes in np.ndenumerate(grid):
            values = _SCALES[k] * columns[k][shown, j]
            axes.plot(time[shown], values, _STYLES[model], color=_COLOURS[model], linewidth=_WIDTHS[model])
    one = found.reference
    ante, post = (
        [values[:, order] for values in (side.joints, side.task) for order in (0, 1)] for side in (one.ante, one.post)
    )
    for (j, k), axes in np.ndenumerate(grid):
        # The scale is that of the plants: the ante-impact reference goes on into the surface.
        axes.set_ylim(axes.get_ylim())
        axes.plot(1e3 * one.time, _SCALES[k] * ante[k][:, j], color=NEUTRAL, linestyle="--", zorder=1)
        axes.plot(1e3 * one.time, _SCALES[k] * post[k][:, j], color=POST, linestyle="-.", zorder=3)
        for model, response in found.plants.items():
            switch = 1e3 * (response.post_time + lateness(response))
            axes.axvline(switch, color=_COLOURS[model], linewidth=_WIDTHS[model], linestyle=":")
        axes.set(xlim=_SECOND_SHOWN, xticks=(0, 100, 200), ylabel=_SECOND_NAMES[j][k])
    for axes, title in zip(grid[0], ("joints", "their velocities", "end-effector", "its velocity"), strict=True):
        axes.set_title(title)
    for axes in grid[-1]:
        axes.set_xlabel("time [ms]")
    entries = [line(f"plant {model}", _COLOURS[model], _STYLES[model], _WIDTHS[model]) for model in PlantModel]
    entries += [line("ante-impact reference", NEUTRAL, "--"), line("post-impact reference", POST, "-.")]
    _legend(figure, [*entries, line("post phase begins", INK, ":")], wspace=0.5)
    return figure
