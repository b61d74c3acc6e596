"""Pictures like Figs 6 to 9 of van Steen 2024."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from impact_control.recording.figures.panels import ROW, WIDTH
from impact_control.recording.style import ANTE, INK, LIMIT, NEUTRAL, POST, SERIES, line
from impact_control.studies.net_feedback import published
from impact_control.studies.net_feedback.mean_course import mean_courses
from impact_control.studies.net_feedback.outcome import CaseResult

_LEGEND = 0.5
"""[inch]"""


def draw_signals(result: CaseResult) -> Figure:
    """Velocity, feedback and its integral, means of the trials with each reference: Figs 6 and 8."""
    figure = Figure(figsize=(WIDTH, 3 * 1.3 * ROW + _LEGEND))
    panels = figure.subplots(3, 1, sharex=True)
    courses = mean_courses(result)
    for course, colour in zip(courses.values(), SERIES, strict=False):
        panels[0].plot(course.time, course.velocity, color=colour)
        after = course.time >= 0.0
        panels[0].plot(course.time[after], course.reference[after], color=colour, linestyle="--", linewidth=0.8)
        panels[1].plot(course.time, course.feedback, color=colour)
        panels[2].plot(course.time, course.added, color=colour)
    for axes in panels:
        axes.axvline(0.0, color=NEUTRAL, linewidth=0.8)
        axes.axhline(0.0, color=NEUTRAL, linewidth=0.5)
    for axes, label in zip(
        panels, ("velocity [m/s]", "feedback [m/s$^2$]", "integral of the feedback [m/s]"), strict=True
    ):
        axes.set_ylabel(label)
    panels[-1].set_xlabel("time after the nominal impact [s]")
    entries = [line(f"{scale:g} v_pred", colour) for scale, colour in zip(courses, SERIES, strict=False)]
    entries.append(line("reference", INK, "--", 0.8))
    figure.legend(handles=entries, loc="upper center", ncols=len(entries), bbox_to_anchor=(0.5, 1.0))
    height = figure.get_size_inches()[1]
    figure.tight_layout(rect=(0.0, 0.0, 1.0, 1.0 - _LEGEND / height))
    return figure


def draw_fit(result: CaseResult) -> Figure:
    """Net feedback over the velocity of the reference, its line, the estimate, and the predictions: Figs 7 and 9."""
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    axes = figure.subplots()
    references, estimate = result.references, result.estimate
    axes.plot(references, result.nets, "o", color=ANTE, markersize=4, label="trials")
    ends = np.array([references.min(), references.max()])
    axes.plot(ends, estimate.slope * (ends - estimate.velocity), color=ANTE, linewidth=1.0, label="linear fit")
    axes.axhline(0.0, color=NEUTRAL, linewidth=0.8)
    axes.axvline(estimate.velocity, color=INK, label="experimental estimate")
    names = (r"nominal prediction ($B_\theta$)", r"prediction with $B_\rho$", r"prediction with $B = 0$")
    styles = ((POST, "-"), (LIMIT, "--"), (SERIES[4], ":"))
    for velocity, name, (colour, style) in zip(result.predicted, names, styles, strict=True):
        axes.axvline(velocity, color=colour, linestyle=style, label=name)
    axes.axvline(
        published.ROWS[result.case].estimate, color=NEUTRAL, linestyle="-.", label="published experimental estimate"
    )
    axes.set(xlabel="velocity with which the reference begins [m/s]", ylabel="net feedback [m/s]")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
