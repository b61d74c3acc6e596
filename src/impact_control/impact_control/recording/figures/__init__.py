"""Figures of a run, one a module. What the recording does not contain is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from impact_control.recording.figures.joint_velocity import joint_velocities
from impact_control.recording.figures.post_impact import post_impact
from impact_control.recording.figures.residual import residual
from impact_control.recording.figures.run_data import RunData
from impact_control.recording.figures.task_space import task_space
from impact_control.recording.figures.timing import timing
from impact_control.recording.figures.torque import torques
from impact_control.recording.figures.velocity_error import velocity_error


@dataclass(frozen=True)
class FigureEntry:
    """A kind of figure: file name, heading, explanation, and the function that draws it or returns None."""

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
        joint_velocities,
    ),
    FigureEntry(
        "velocity_error",
        "Joint velocity error",
        "Measured velocity minus the ante-impact reference before the detection and the post-impact "
        "reference after it. With the envelope, the behaviour is as expected while the envelope widened by "
        "the margin contains zero: while the smallest margin of all joints, in the last panel, is positive.",
        velocity_error,
    ),
    FigureEntry(
        "post_impact",
        "Predicted velocity after the impact",
        "Impact map with different joint inertias against the observed gross velocity; below the errors.",
        post_impact,
    ),
    FigureEntry(
        "residual",
        "Momentum residual",
        "Estimated external joint torque; its rate around the impact with the thresholds of the detector.",
        residual,
    ),
    FigureEntry(
        "task_space",
        "Task space",
        "Position of the end-effector (reference minus reported error) and normal force of the simulated "
        "contact with the magnitude of the force reference.",
        task_space,
    ),
    FigureEntry(
        "torque",
        "Commanded torque",
        "Without gravity. A limit is drawn where the command comes near it.",
        torques,
    ),
    FigureEntry("timing", "Timing", "Computation, sampling, and what the loop missed.", timing),
)
"""All figures in the order of the report."""
