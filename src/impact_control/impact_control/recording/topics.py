"""Where a recording keeps what: the topics of one arm, and the record the recorder adds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.recording.series import JOINT_STATES, Recording, Series

METADATA_NAME = "impact_control"
"""Metadata record of the recorder: `name` of the scenario, its text `scenario`, `version` of the package."""

BEFORE = 0.1
"""[s] by which a message is older than the first joint state when it is of a task before: of this one's first samples
some may not have reached the recorder."""


@dataclass(frozen=True)
class Topics:
    """Ends of the names of the topics of one arm, see docs/topics.md."""

    joint_states: str = JOINT_STATES
    commands: str = "commands"
    external_torque: str = "impact/external_torque"
    events: str = "impact/events"
    classification: str = "impact/classification"
    reference: str = "controller/reference"
    status: str = "controller/status"
    truth: str = "simulation/truth"


def series_if_recorded(recording: Recording, topic: str) -> Series | None:
    """Columns of a topic, None where it was not recorded. Raises InvalidInputError when several have this end."""
    return recording.series(topic) if topic in recording else None


def decisions_of_run(recording: Recording, topic: str) -> Series | None:
    """As `series_if_recorded`, without what is stamped `BEFORE` the first joint state.

    Who listens to events hears the last ones of the task before, too: at once, or seconds later when they were lost on
    the way.
    """
    series = series_if_recorded(recording, topic)
    if series is None:
        return None
    rows = np.flatnonzero(series["stamp"] >= -BEFORE)
    return Series(
        (name, column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows])
        for name, column in series.items()
    )


def scenario_name(recording: Recording, topics: Topics) -> str:
    """Return the name of the scenario of the last task, "" where it was not recorded."""
    reference = series_if_recorded(recording, topics.reference)
    names = [name for name in reference["scenario"] if name] if reference is not None else []
    return names[-1] if names else recording.metadata.get(METADATA_NAME, {}).get("name", "")
