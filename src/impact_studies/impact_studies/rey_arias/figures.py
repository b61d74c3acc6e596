"""Pictures of the experiments and of the tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from impact_control.observation.post_impact_velocity import GROSS_VELOCITY_WINDOW
from impact_control.recording.style import ANTE, IMPACT, INK, LIMIT, NEUTRAL, POST, SERIES, WIDTH
from impact_control.robots import InertiaModel
from impact_control.util.types import Matrix, Vector
from impact_studies.rey_arias import published
from impact_studies.rey_arias.evaluation import ObservedImpact, TypeEvaluation
from impact_studies.rey_arias.experiments import PUSH, Trial

_BETTER_WORSE = LinearSegmentedColormap.from_list("better_worse", [LIMIT, "white", POST])
_COLOUR_RANGE = 6.0
_HALF = 0.36


def draw_trial(trial: Trial, impact: ObservedImpact) -> Figure:
    """Joint velocities of one trial, whole and around the impact, as in Fig. 4 and 5 of Rey Arias 2024."""
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    whole, close = figure.subplots(1, 2)
    for joint in range(trial.velocity.shape[1]):
        style = {"color": SERIES[joint % len(SERIES)], "linewidth": 1.0, "label": f"joint {joint + 1}"}
        whole.plot(trial.time, np.rad2deg(trial.velocity[:, joint]), **style)
    whole.axvline(PUSH, color=NEUTRAL, linewidth=0.9, linestyle=":")
    whole.axvline(impact.time, color=IMPACT, linewidth=0.9, linestyle="--")
    whole.set(xlabel="time [s]", ylabel="joint velocity [deg/s]", title="all joints; dotted: the force ends")
    figure.legend(*whole.get_legend_handles_labels(), loc="outside upper center", ncols=7)
    _draw_fit(close, trial, impact, 5)
    return figure


def _draw_fit(axes: Axes, trial: Trial, impact: ObservedImpact, joint: int) -> None:
    since = 1e3 * (trial.time - impact.time)
    fitted = (trial.time >= impact.time) & (trial.time <= impact.time + GROSS_VELOCITY_WINDOW)
    scaled = since[fitted] / 1e3
    cubic = np.polynomial.Polynomial.fit(scaled, trial.position[fitted, joint], 3).deriv()
    axes.plot(since, np.rad2deg(trial.velocity[:, joint]), color=ANTE, linewidth=1.0, label="measured")
    axes.plot(since[fitted], np.rad2deg(cubic(scaled)), color=INK, label="derivative of the cubic fit")
    axes.plot([0.0], [np.rad2deg(impact.gross_velocity[joint])], "D", color=INK, markersize=5)
    axes.axvline(0.0, color=IMPACT, linewidth=0.9, linestyle="--")
    axes.set(xlim=(-30.0, 120.0), xlabel="time after the impact [ms]", title=f"joint {joint + 1}")
    axes.legend(loc="best")


def draw_predictions(evaluations: Sequence[TypeEvaluation]) -> Figure:
    """Mean velocities and predictions of types 1 and 4 as in Fig. 6 and 7 of Rey Arias 2024, with its velocities."""
    figure = Figure(figsize=(WIDTH, 6.4), layout="constrained")
    mu = published.FRICTION_COEFFICIENT
    with_motors = {
        r"predicted with $B_\theta$": (InertiaModel.REDUCED_MOTORS, mu, POST),
        r"predicted with $B_\rho$": (InertiaModel.MOTORS, mu, LIMIT),
    }
    with_friction = {
        f"predicted with friction {mu}": (InertiaModel.REDUCED_MOTORS, mu, POST),
        "predicted without friction": (InertiaModel.REDUCED_MOTORS, 0.0, LIMIT),
    }
    upper, lower = figure.subplots(2, 1)
    for axes, number, predictions in ((upper, 1, with_motors), (lower, 4, with_friction)):
        evaluation = evaluations[number - 1]
        place = np.arange(evaluation.gross.size)
        levels = (
            (evaluation.ante, NEUTRAL, "-", "before"),
            (evaluation.gross, ANTE, "-", "after, fitted"),
            (published.ANTE_VELOCITY[number - 1], NEUTRAL, ":", "before, published"),
            (published.GROSS_POST_VELOCITY[number - 1], ANTE, ":", "after, published"),
        )
        for velocity, color, style, label in levels:
            axes.hlines(
                velocity, place - _HALF, place + _HALF, color=color, linestyle=style, linewidth=2.0, label=label
            )
        for i, (label, (model, friction, color)) in enumerate(predictions.items()):
            mean = np.mean([impact.predict(model, friction).velocity for impact in evaluation.impacts], axis=0)
            axes.plot(place + 0.3 * (i - 0.5), np.rad2deg(mean), "o", color=color, markersize=6, label=label)
        axes.set_xticks(place, [f"joint {j + 1}" for j in place])
        axes.set(ylabel="joint velocity [deg/s]", title=f"type {number}")
        axes.grid(axis="x", visible=False)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def draw_gains(ours: Matrix, source: Matrix, what: str) -> Figure:
    """Gains (10, 7) [deg/s], ours and the published, laid out as the tables."""
    figure = Figure(figsize=(WIDTH, 4.0), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, gain, title in zip(panels, (ours, source), ("simulated here", "published"), strict=True):
        image = axes.imshow(gain, cmap=_BETTER_WORSE, vmin=-_COLOUR_RANGE, vmax=_COLOUR_RANGE, aspect="auto")
        for (i, j), value in np.ndenumerate(gain):
            significant = abs(value) >= published.SIGNIFICANT
            weight, color = (
                ("bold", "white" if abs(value) > 0.75 * _COLOUR_RANGE else INK) if significant else ("normal", INK)
            )
            # What rounds to nothing has no sign.
            text = f"{value:+.1f}" if abs(value) >= 0.05 else "0.0"
            axes.text(j, i, text, ha="center", va="center", fontsize=8, fontweight=weight, color=color)
        axes.set_xticks(range(gain.shape[1]), [f"J{j + 1}" for j in range(gain.shape[1])])
        axes.set_yticks(range(gain.shape[0]), [str(i + 1) for i in range(gain.shape[0])])
        axes.set(title=title, ylabel="type of experiment")
        axes.grid(visible=False)
    figure.colorbar(image, ax=panels, label=f"{what} [deg/s]", extend="both")
    return figure


def draw_friction(evaluations: Sequence[TypeEvaluation]) -> Figure:
    """Error of the prediction over the friction coefficient, by type of experiment."""
    figure = Figure(figsize=(WIDTH, 3.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, printed in zip(panels, (True, False), strict=True):
        for number, evaluation in enumerate(evaluations, 1):
            estimate = evaluation.friction if printed else evaluation.friction_restitution
            _draw_curve(axes, estimate.coefficients, estimate.errors, number)
            axes.plot([estimate.coefficient], [estimate.error], "o", color=_line_color(number), markersize=4)
        axes.axvline(published.FRICTION_COEFFICIENT, color=IMPACT, linewidth=0.9, linestyle="--")
        axes.set(xlabel="friction coefficient of the prediction", ylim=(0.0, None))
    panels[0].set(ylabel="mean absolute error [deg/s]", title="map as printed, inelastic")
    panels[1].set(title="with the observed restitution")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", title="type")
    return figure


def _draw_curve(axes: Axes, coefficients: Vector, errors: Vector, number: int) -> None:
    finite = np.isfinite(errors) & (errors < 4.0 * np.min(errors) + 4.0)
    style = "-" if number <= 4 else "--" if number <= 8 else ":"
    axes.plot(coefficients[finite], errors[finite], style, color=_line_color(number), label=str(number))


def _line_color(number: int) -> str:
    """Colour within the three motions, which differ by the style of the line."""
    return SERIES[(number - 1) % 4]
