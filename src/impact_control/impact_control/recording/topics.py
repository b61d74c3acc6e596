"""Where a recording keeps what: the topics of one arm, and the record the recorder adds."""

from __future__ import annotations

from dataclasses import dataclass

from impact_control.recording.series import JOINT_STATES, Recording, Series

METADATA_NAME = "impact_control"
"""Metadata record of the recorder: `name` of the scenario, its text `scenario`, `version` of the package."""


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


def scenario_name(recording: Recording, topics: Topics) -> str:
    """Return the name of the scenario of the last task, "" where it was not recorded."""
    reference = series_if_recorded(recording, topics.reference)
    names = [name for name in reference["scenario"] if name] if reference is not None else []
    return names[-1] if names else recording.metadata.get(METADATA_NAME, {}).get("name", "")
