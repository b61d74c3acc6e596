"""Recordings of free motion with residual and scores of the detectors; the result of a calibration."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from impact_control import __version__
from impact_control.detection import DetectionSignals, scores_of
from impact_control.detection.detector import NO_LINK
from impact_control.pipeline.sensing import make_observer
from impact_control.recording.defects import CheckedSamples
from impact_control.recording.log import LogColumns
from impact_control.recording.opening import open_recordings
from impact_control.recording.page import write_page
from impact_control.recording.recorded_run import RecordedFile, RecordedRun
from impact_control.recording.summary import Mark, Row, RunSummary
from impact_control.replay import SETTLING_TIME, recorded_scenario, replay_samples, usable_samples
from impact_control.scenario import Scenario, load_scenario, robot_of
from impact_control.util.errors import InvalidInputError, RecordingError
from impact_control.util.types import Matrix, Vector
from impact_control.util.yaml_text import InLine, yaml_of

BRIDGED_GAP = 0.01
"""[s] between two samples that the observer bridges: without contact the torque hardly changes in it."""

_JOINTS = 7
"""Joints of an arm whose scenario is not known yet."""


@dataclass(frozen=True, eq=False)
class FreeMotion:
    """k samples of n joints that can be used, without those in which the observer still finds the external torque.

    name: of the recording. time (k,) [s]; velocity (k, n) [rad/s], torque (k, n) [Nm] in the joints, with gravity,
    residual (k, n) [Nm] of the scenario's observer. scores: by the section of each detector in use, (k, c) in its unit,
    NaN without input. doubts: signs of contact. notes: on its defects.
    """

    name: str
    time: Vector
    velocity: Matrix
    torque: Matrix
    residual: Matrix
    scores: Mapping[str, Matrix]
    doubts: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def source(self) -> str:
        """The recording and what was used of it, in words."""
        return f"{self.name}: {self.time.size} samples of {self.time[-1] - self.time[0]:.3f} s"

    @property
    def rows(self) -> list[Row]:
        """Rows of a report."""
        objections = [Row("Objection", words, Mark.BAD) for words in self.doubts]
        return [Row("Recording", self.source), *(Row("Note", words) for words in self.notes), *objections]


class Opened(NamedTuple):
    """One run of one arm: path as it was given, and the number of the trial in it, None where there is one only."""

    path: Path
    trial: int | None
    file: RecordedFile
    run: RecordedRun

    @property
    def name(self) -> str:
        """Name in reports: path and number of the trial."""
        return str(self.path) if self.trial is None else f"{self.path}, trial {self.trial}"


class _ScoreRecord:
    """Keeps the scores of a scenario's detectors by name, in `rows`; a `Detector` that reports nothing."""

    index, isolated_link, link_settled = 0, NO_LINK, True
    detection_time = impact_time = share = math.nan

    def __init__(self, scenario: Scenario, size: int) -> None:
        self.triggered = np.zeros(size, dtype=np.bool_)
        self._scores = {name: score for name, (score, _) in scores_of(scenario.detection, size).items()}
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.rows: dict[str, list[Vector]] = {name: [] for name in self._scores}
        for score in self._scores.values():
            score.reset()

    def detect(self, signals: DetectionSignals, time: float) -> bool:
        """Take one sample; it never is an impact."""
        for name, score in self._scores.items():
            self.rows[name].append(score.evaluate(signals, time).copy())
        return False


def open_motions(
    paths: Sequence[Path], scenario: str | None = None, columns: LogColumns | None = None
) -> tuple[Scenario, list[FreeMotion]]:
    """Open recordings of free motion of one arm; the scenario is the one with whose tuning, None: the first recorded.

    Raises RecordingError, which names the file, and ScenarioError.
    """
    chosen, files = open_files(paths, scenario, columns)
    return chosen, [_motion(chosen, opened) for opened in files]


def open_files(
    paths: Sequence[Path], scenario: str | None, columns: LogColumns | None
) -> tuple[Scenario, list[Opened]]:
    """Return the scenario and the runs of one arm in all files; arguments and errors as `open_motions`."""
    chosen = None if scenario is None else load_scenario(scenario)
    joints = _JOINTS if chosen is None else len(robot_of(chosen.robot).joint_names)
    found = []
    robots: dict[tuple[str, str], str] = {}  # by scenario of the recordings
    for path in paths:
        opened = open_recordings(path, columns=columns, joints=joints)
        if not opened:
            raise RecordingError(str(path), "no trial in it", "one or more")
        for number, file in enumerate(opened):
            said = (file.scenario, file.scenario_name)
            if scenario is None and said not in robots:
                recorded = recorded_scenario(file)
                chosen, robots[said] = chosen or recorded, recorded.robot.model
            if chosen is None or any(chosen.arm_names):
                raise RecordingError(str(path), "a scene, with several arms", "the scenario of a single arm")
            if scenario is None and robots[said] != chosen.robot.model:
                found_robot = f"a recording of robot {robots[said]}, after one of {chosen.robot.model}"
                raise RecordingError(str(path), found_robot, "recordings of the same robot")
            found.append(Opened(path, number if len(opened) > 1 else None, file, file.arm("")))
    assert chosen is not None
    return chosen.arm(), found


def _motion(scenario: Scenario, opened: Opened) -> FreeMotion:
    file, run = opened.file, opened.run
    samples = usable_samples(file, run, robot_of(scenario.robot), scenario.control.period)
    motion = free_motion(scenario, samples, opened.name, run.commands)
    doubts, notes = tuple(_doubts(opened.name, run)), (*file.notes, *run.notes, *motion.notes)
    return replace(motion, doubts=doubts, notes=notes)


def free_motion(
    scenario: Scenario, samples: CheckedSamples, name: str, commands: tuple[Vector, Matrix] | None = None
) -> FreeMotion:
    """Return what a scenario's observer and scores make of samples without contact, usable ones among them.

    commands: see `replay_samples`. Raises RecordingError, with the name of the recording, when too few are left.
    """
    robot = robot_of(scenario.robot)
    seen = _ScoreRecord(scenario, len(robot.joint_names))
    replayed = replay_samples(samples, robot, make_observer(scenario, robot), seen, commands=commands)
    kept = settled(replayed.time, max(SETTLING_TIME, 5.0 / float(scenario.detection.observer_gain.min())))
    if np.count_nonzero(kept) < 2:
        raise RecordingError(name, "no samples left after the observer has settled", "a longer one")
    notes = list(replayed.defects)
    if (lost := 1.0 - np.mean(kept)) > 0.01:
        notes.append(f"{100.0 * lost:.0f} % left out, in which the observer settles at the start and after gaps")
    return FreeMotion(
        name=name,
        time=replayed.time[kept],
        velocity=samples.velocity[samples.usable][kept],
        torque=samples.torque[samples.usable][kept],
        residual=replayed.residual[kept],
        scores={method: np.array(rows)[kept] for method, rows in seen.rows.items()},
        doubts=(),
        notes=tuple(notes),
    )


def settled(time: Vector, settling_time: float) -> np.ndarray:
    """Return which samples (k,) are at least `settling_time` [s] behind the first, and behind a gap in the stamps."""
    begins = np.diff(time, prepend=-math.inf) > BRIDGED_GAP
    kept: np.ndarray = time - np.maximum.accumulate(np.where(begins, time, -math.inf)) >= settling_time
    return kept


def _doubts(name: str, run: RecordedRun) -> list[str]:
    doubts = []
    if run.contact_time is not None:
        doubts.append(f"{name}: the arm is in contact at {run.contact_time:.3f} s")
    if run.events:
        times = ", ".join(f"{event.detection_time:.3f}" for event in run.events[:3])
        doubts.append(f"{name}: {len(run.events)} impacts were detected in it, at {times} s: contacts or false alarms?")
    return doubts


def joined_time(motions: Sequence[FreeMotion], spacing: float) -> Vector:
    """Return stamps [s] of all samples one after the other; each recording begins at a multiple of `spacing` [s].

    Between two of them is a gap of at least `spacing`.
    """
    stamps, start = [], 0.0
    for motion in motions:
        stamps.append(motion.time - motion.time[0] + start)
        start = (math.ceil(stamps[-1][-1] / spacing) + 1.0) * spacing
    return np.concatenate(stamps)


_WIDTH = 118


@dataclass(frozen=True)
class Result:
    """Outcome of a calibration.

    sections: of a scenario, as in its file. sources: the recordings and what was used of them, in words. objections:
    reasons against the sections, in words.
    """

    summary: RunSummary
    sections: Mapping[str, Any]
    sources: tuple[str, ...]
    objections: tuple[str, ...] = ()

    def write(self, path: Path, command: str) -> Path:
        """Write a file that a scenario can include, and a page beside it; return the page.

        command: with which it was made. Raises InvalidInputError for a place that cannot be written.
        """
        made = f"Made by impact_control {__version__} at {datetime.now().astimezone():%Y-%m-%d %H:%M:%S %z} with"
        use = "Entries of the including scenario take precedence over this file."
        objections = [f"Written in spite of this: {words}" for words in self.objections]
        lines = [made, f"  {command}", "from", *(f"  {source}" for source in self.sources), *objections, use]
        wrapped = [part for line in lines for part in textwrap.wrap(line, _WIDTH, subsequent_indent="    ")]
        page = path.with_suffix(".html")
        try:
            path.write_text("".join(f"# {line}\n" for line in wrapped) + yaml_of(dict(self.sections)), encoding="utf-8")
            write_page(page, self.summary)
        except OSError as error:
            raise InvalidInputError("output", path, f"a file that can be written: {error.strerror}") from error
        return page


def quantity(values: Vector | float, unit: str, digits: int = 4) -> str:
    """Return numbers with their unit as a scenario writes them, to so many digits: `30, 31.42 1/s`."""
    return f"{', '.join(f'{float(value):.{digits}g}' for value in np.atleast_1d(values))} {unit}"


def numbers(values: Vector, digits: int = 4) -> InLine:
    """Return numbers without a unit as a scenario writes them, to so many digits."""
    return InLine(float(f"{float(value):.{digits}g}") for value in values)
