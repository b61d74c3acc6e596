"""Report of a run: one self-contained page with the summary and all figures, and the figures as files."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from impact_control.recording import motion_figures, torque_figures
from impact_control.recording.page import figure_section, png, write_page
from impact_control.recording.series import METADATA_NAME
from impact_control.recording.style import styled
from impact_control.recording.summary import RunData, RunSummary, summarise

REPORT_FILE = "report.html"
FIGURES_DIRECTORY = "figures"


class FigureEntry(NamedTuple):
    """Kind of figure: file name, heading, caption, and the function that draws it, or returns None without data."""

    name: str
    title: str
    caption: str
    draw: Callable[[RunData], Figure | None]


FIGURES = (
    FigureEntry(
        "joint_velocity",
        "Joint velocities",
        "Left the whole run, right the surroundings of the impact. The reference of the current mode is "
        "solid, its extension beyond the impact dashed. Diamond: gross velocity after the impact, from a "
        "cubic fit of the joint position over 100 ms.",
        motion_figures.joint_velocities,
    ),
    FigureEntry(
        "velocity_error",
        "Joint velocity error",
        "Measured velocity minus the ante-impact reference before the detection and the post-impact "
        "reference after it. With the envelope, the behaviour is as expected while the envelope widened by "
        "the margin contains zero: while the smallest margin of all joints, in the last panel, is positive.",
        motion_figures.velocity_error,
    ),
    FigureEntry(
        "post_impact",
        "Predicted velocity after the impact",
        "Impact map with different joint inertias against the observed gross velocity; below the errors.",
        motion_figures.post_impact,
    ),
    FigureEntry(
        "residual",
        "Momentum residual",
        "Estimated external joint torque; its rate around the impact with the thresholds of the detector.",
        torque_figures.residual,
    ),
    FigureEntry(
        "task_space",
        "Task space",
        "Position of the end-effector (reference minus reported error) and normal force of the simulated "
        "contact with the magnitude of the force reference.",
        motion_figures.task_space,
    ),
    FigureEntry(
        "torque",
        "Commanded torque",
        "Without gravity. A limit is drawn where the command comes near it.",
        torque_figures.torques,
    ),
    FigureEntry("timing", "Timing", "Computation, sampling, and what the loop missed.", torque_figures.timing),
)
"""All figures in the order of the report."""


def write_report(run: RunData, directory: Path, opening: str = "") -> RunSummary:
    """Write `report.html` and `figures/*.png` into a directory, over an earlier report; return the summary.

    opening: HTML between the summary and the figures.
    """
    images = directory / FIGURES_DIRECTORY
    images.mkdir(parents=True, exist_ok=True)
    sections = []
    with styled():
        for name, title, caption, draw in FIGURES:
            if (figure := draw(run)) is not None:
                picture = png(figure)
                (images / f"{name}.png").write_bytes(picture)
                sections.append(figure_section(title, caption, picture))
    summary = summarise(run.analysis, run.comparison, run.not_compared)
    recording = run.recording
    record = recording.metadata.get(METADATA_NAME, {})
    origin = f"{recording.directory}, {recording.message_count()} messages on {len(recording.topics)} topics"
    if record.get("version"):
        origin += f", recorded by version {record['version']}"
    scenario = record.get("scenario", "")
    source = f"<details><summary>Scenario file</summary><pre>{escape(scenario)}</pre></details>" if scenario else ""
    write_page(directory / REPORT_FILE, summary, [opening, *sections, source], origin)
    return summary
