"""The run of an arm in a bag, of this stack's recorder or any other that has its joint states."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from impact_control.errors import InvalidInputError, RecordingError
from impact_control.recording.bag import storage_files
from impact_control.recording.contact import true_impact_time
from impact_control.recording.decisions import last_verdict
from impact_control.recording.recorded_run import RecordedEvent, RecordedFile, RecordedReference, RecordedRun
from impact_control.recording.records import summary_of
from impact_control.recording.series import Recording, read_bag
from impact_control.recording.topics import METADATA_NAME, Topics, decisions_of_run, scenario_name, series_if_recorded
from impact_control.types import Matrix, Vector


def open_mcap(path: Path) -> RecordedFile:
    """Open an MCAP bag, or one file of it, complete or torn. Raises InvalidInputError for what is none."""
    recording = read_bag(path)
    torn = [file.name for file in ([path] if path.is_file() else storage_files(path)) if summary_of(file) is None]
    notes = tuple(f"{name} was cut off: read up to its last whole record" for name in torn)
    return open_bag(path, "MCAP bag", recording, notes)


def open_bag(path: Path, form: str, recording: Recording, notes: tuple[str, ...]) -> RecordedFile:
    """Return the file of a recording that was read. form: its format in words; notes: what could not be read."""

    def arm(name: str) -> RecordedRun:
        try:
            return _run(recording.of_arm(name) if name else recording)
        except InvalidInputError as error:
            raise RecordingError(
                str(path), str(error), "a bag with the joint states of the arm, all of them"
            ) from error

    scenario = recording.metadata.get(METADATA_NAME, {}).get("scenario", "")
    try:
        name = scenario_name(recording, Topics())
    except InvalidInputError:  # several arms, or messages of another layout: the scenario is not named
        name = ""
    return RecordedFile(path, form, scenario, name, notes, arm)


def _run(recording: Recording) -> RecordedRun:
    topics = Topics()
    states = recording.series(topics.joint_states)
    notes: list[str] = []
    reference = _reference(recording, topics, notes)
    return RecordedRun(
        time=states["stamp"],
        names=list(states["name"]),
        position=states["position"],
        velocity=states["velocity"],
        torque=states["effort"],
        reference=reference,
        events=_events(recording, topics),
        verdict=last_verdict(recording, topics),
        contact_time=true_impact_time(recording, topics),
        residual=_residual(recording, topics),
        notes=tuple(notes),
    )


def _reference(recording: Recording, topics: Topics, notes: list[str]) -> RecordedReference | None:
    series = series_if_recorded(recording, topics.reference)
    if series is None:
        return None
    joints = {tuple(names) for names in series["joint_names"]}
    names = ("impact_configuration", "ante_joint_velocity", "post_joint_velocity", "force")
    if len(joints) != 1 or not all(isinstance(series[name], np.ndarray) and series[name].ndim == 2 for name in names):
        notes.append(f"{topics.reference} changes its layout and is left out")
        return None
    configuration, ante, post, force = (series[name] for name in names)
    return RecordedReference(
        time=series["stamp"],
        mode=series["mode"],
        task_time=series["task_time"],
        nominal_impact_time=series["nominal_impact_time"],
        impact_configuration=configuration,
        ante_velocity=ante,
        post_velocity=post,
        force=force,
        names=joints.pop(),
    )


def _events(recording: Recording, topics: Topics) -> tuple[RecordedEvent, ...] | None:
    """Return the impacts; None where neither they nor anything of the detector was recorded."""
    series = decisions_of_run(recording, topics.events)
    if series is None:
        return () if topics.external_torque in recording else None
    # The event of an impact may come again, with the link that was isolated since: the last one says most.
    last = {float(stamp): row for row, stamp in enumerate(series["stamp"])}
    return tuple(
        RecordedEvent(stamp, float(series["impact_time"][row]), int(series["isolated_link"][row]))
        for stamp, row in sorted(last.items())
    )


def _residual(recording: Recording, topics: Topics) -> tuple[Vector, Matrix] | None:
    series = series_if_recorded(recording, topics.external_torque)
    if series is None or not isinstance(series["external_torque"], np.ndarray):
        return None
    return series["stamp"], series["external_torque"]
