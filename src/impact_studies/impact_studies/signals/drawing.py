"""Pictures of the signals around an impact."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from impact_control.recording.style import ANTE, IMPACT, INK, LIMIT, NEUTRAL, POST, ROW, SERIES, WIDTH, line
from impact_studies.frame.legend import legend_above
from impact_studies.signals import envelope
from impact_studies.signals.observer import BOUND, Observed
from impact_studies.three_plants.references import IMPACT as AT_IMPACT
from impact_studies.three_plants.references import Reference

_BEFORE = -20.0
"""[ms] before the first touch that are shown."""

_LARGEST_TORQUE, _HIGHEST_GAP = 40.0, 2.0
"""[Nm, mm] The true torque has peaks of some hundred; gaps before the impact are wide."""

_PATH_X, _PATH_Z = (245.0, 415.0), (-95.0, 105.0)
"""[mm] From the start of the approach to the ends of both references; the expected surface is at z = 0."""


def draw_observer(shown: Mapping[str, Observed]) -> Figure:
    """Residual and true torque, then the rate of the residual, a row a joint each; a column a case."""
    joints = range(next(iter(shown.values())).residual.shape[1])
    figure = Figure(figsize=(WIDTH, 6.0 * ROW + 1.2), layout="constrained")
    grid = figure.subplots(2 * len(joints), len(shown), squeeze=False, sharex="col")
    for column, (name, observed) in enumerate(shown.items()):
        time = 1e3 * observed.time
        after = time >= _BEFORE
        grid[0, column].set_title(name)
        grid[-1, column].set_xlabel("time after the first touch [ms]")
        for j in joints:
            torque, rate = grid[j, column], grid[len(joints) + j, column]
            torque.plot(time[after], observed.torque[after, j], color=NEUTRAL, linewidth=0.9)
            torque.plot(time[after], observed.residual[after, j], color=ANTE)
            limit = min(_LARGEST_TORQUE, float(np.max(np.abs(observed.torque[after, j]))))
            torque.set_ylim(-1.1 * limit, 1.1 * limit)
            rate.plot(time[after], observed.residual_rate[after, j], color=POST)
            for bound in (-BOUND[j], BOUND[j]):
                if np.max(np.abs(observed.residual_rate[after, j])) > 0.5 * BOUND[j]:
                    rate.axhline(bound, color=LIMIT, linewidth=0.9, linestyle="--")
            for axes in (torque, rate):
                _mark_touches(axes, observed)
            if column == 0:
                torque.set_ylabel(f"joint {j + 1} [Nm]")
                rate.set_ylabel(f"rate {j + 1} [Nm/s]")
    entries = [
        line("residual", ANTE),
        line("true external torque", NEUTRAL),
        line("rate of the residual", POST),
        line("bound of the source", LIMIT, "--"),
        line("first touch of a point", IMPACT),
    ]
    legend_above(figure, entries)
    return figure


def draw_gaps(observed: Observed) -> Figure:
    """Gaps of both ends of the edge."""
    figure = Figure(figsize=(WIDTH, 1.8 * ROW), layout="constrained")
    axes = figure.subplots()
    after = 1e3 * observed.time >= _BEFORE
    for point, color in zip(range(observed.gaps.shape[1]), SERIES, strict=False):
        axes.plot(
            1e3 * observed.time[after], 1e3 * observed.gaps[after, point], color=color, label=f"point {point + 1}"
        )
    _mark_touches(axes, observed)
    axes.set(xlabel="time after the first touch [ms]", ylabel="gap [mm]", ylim=(-0.1, _HIGHEST_GAP))
    axes.legend()
    return figure


def draw_references(shown: Mapping[str, Reference]) -> Figure:
    """Pose, rate, second derivative and force at each point, then the same of the joints; a column an end-effector.

    Both references go beyond the impact.
    """
    labels = (
        "pose [m, rad]",
        "rate\n[m/s, rad/s]",
        "second derivative\n[m/s², rad/s²]",
        "force at\neach point [N]",
        "joints [deg]",
        "joint velocity\n[deg/s]",
        "joint acceleration\n[deg/s²]",
    )
    figure = Figure(figsize=(WIDTH, len(labels) * ROW + 0.8), layout="constrained")
    grid = figure.subplots(len(labels), len(shown), squeeze=False, sharex=True, sharey="row")
    for column, (name, one) in enumerate(shown.items()):
        grid[0, column].set_title(name)
        grid[-1, column].set_xlabel("time from the expected impact [s]")
        task = [tuple(side.task[:, order] for side in (one.ante, one.post)) for order in range(3)]
        joints = [tuple(np.degrees(side.joints[:, order]) for side in (one.ante, one.post)) for order in range(3)]
        forces = [tuple(np.tile(force, (one.time.size, 1)) for force in one.forces)]
        for axes, label, (ante, post) in zip(grid[:, column], labels, (*task, *forces, *joints), strict=True):
            # All contact points have the same force.
            colors = (INK,) * ante.shape[1] if label.startswith("force") else SERIES
            for i, color in zip(range(ante.shape[1]), colors, strict=False):
                axes.plot(one.time, ante[:, i], color=color)
                axes.plot(one.time, post[:, i], color=color, linestyle="--")
            axes.axvline(0.0, color=IMPACT, linewidth=0.9)
            if column == 0:
                axes.set_ylabel(label)
    names = ("x, joint 1", "z, joint 2", "turn, joint 3")
    entries = [line(name, color) for name, color in zip(names, SERIES, strict=False)]
    legend_above(figure, [*entries, line("ante", INK), line("post", INK, "--")])
    return figure


def draw_paths(shown: Mapping[str, Reference]) -> Figure:
    """Paths of the end-effector's origin in the plane, a panel an impact: ante- and post-impact, both extended."""
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    grid = figure.subplots(1, len(shown), squeeze=False, sharex=True, sharey=True)
    for axes, (name, one) in zip(grid[0], shown.items(), strict=True):
        for path, color, style in zip(one.paths, (ANTE, POST), ("-", "--"), strict=True):
            x, z = 1e3 * path.T
            axes.plot(x, z, color=color, linestyle=style)
            axes.plot(x[0], z[0], "o", color=color, markersize=5)
            axes.plot(x[-1], z[-1], "s", color=color, markersize=5)
        axes.plot(*(1e3 * one.paths[0][AT_IMPACT]), "D", color=IMPACT, markersize=6)
        axes.axhspan(-1e3, 0.0, color=NEUTRAL, alpha=0.18, linewidth=0.0)
        axes.set(title=name, xlabel="x [mm]", xlim=_PATH_X, ylim=_PATH_Z, aspect="equal")
    grid[0, 0].set_ylabel("z [mm]")
    entries = [line("ante-impact", ANTE), line("post-impact", POST, "--")]
    places = (("start", INK, "o"), ("end", INK, "s"), ("expected impact", IMPACT, "D"))
    entries += [line(name, color, "", marker=marker, markersize=5) for name, color, marker in places]
    legend_above(figure, entries)
    return figure


def draw_sine() -> Figure:
    """The envelope of a sine that decays."""
    figure = Figure(figsize=(WIDTH, 1.8 * ROW), layout="constrained")
    axes = figure.subplots()
    time, signal, lower, upper = envelope.decaying_sine()
    axes.fill_between(time, lower, upper, color=NEUTRAL, alpha=0.25, linewidth=0.0)
    axes.plot(time, signal, color=INK)
    axes.axhline(1.0, color=LIMIT)
    axes.set(xlabel="time [s]", ylabel="signal [-]")
    return figure


def draw_envelopes(shown: Mapping[float, envelope.Enveloped]) -> Figure:
    """Envelopes of the velocity with the reference, then of the error with zero; a row a joint, a column a tilt."""
    figure = Figure(figsize=(WIDTH, 6.0 * ROW + 0.8), layout="constrained")
    grid = figure.subplots(6, len(shown), squeeze=False, sharex=True)
    for column, (tilt, one) in enumerate(shown.items()):
        time = 1e3 * one.time
        grid[0, column].set_title(f"surface tilted by {tilt:g} deg")
        grid[-1, column].set_xlabel("time after the detection [ms]")
        for j in range(3):
            velocity, error = grid[j, column], grid[3 + j, column]
            low, high, measured, desired = (
                np.degrees(signal[:, j]) for signal in (one.lower, one.upper, one.velocity, one.reference)
            )
            velocity.fill_between(time, low, high, color=NEUTRAL, alpha=0.25, linewidth=0.0)
            velocity.plot(time, measured, color=INK, linewidth=0.9)
            velocity.plot(time, desired, color=LIMIT)
            margin = np.degrees(envelope.MARGIN)
            low, high = np.degrees(one.error_lower[:, j]) - margin, np.degrees(one.error_upper[:, j]) + margin
            error.fill_between(time, low, high, color=NEUTRAL, alpha=0.25, linewidth=0.0)
            error.plot(time, measured - desired, color=LIMIT, linewidth=0.9)
            error.axhline(0.0, color=ANTE, linestyle="-.")
            if column == 0:
                velocity.set_ylabel(f"joint {j + 1} [deg/s]")
                error.set_ylabel(f"error {j + 1} [deg/s]")
    legend_above(figure, [line("measured", INK), line("reference; error below", LIMIT), line("zero", ANTE, "-.")])
    return figure


def _mark_touches(axes: Axes, observed: Observed) -> None:
    for touch in observed.touches[np.isfinite(observed.touches)]:
        axes.axvline(1e3 * touch, color=IMPACT, linewidth=0.9)
