"""Replay a file: find its scenario, run the parts over the samples of each arm, predict the impact."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from impact_control.observation.post_impact_velocity import ante_impact_velocity, gross_post_impact_velocity
from impact_control.pipeline.samples import TORQUE_TOLERANCE
from impact_control.pipeline.sensing import make_detector, make_observer
from impact_control.recording.defects import CheckedSamples
from impact_control.recording.log import LogColumns
from impact_control.recording.measures import MeasuredJoints
from impact_control.recording.opening import open_recording
from impact_control.recording.recorded_run import RecordedFile, RecordedReference, RecordedRun
from impact_control.recording.summary import PostImpactComparison
from impact_control.references import build_reference
from impact_control.replay.evaluation import comparison_at
from impact_control.replay.samples import Replay, TaskFollower, planned_reference, replay_samples
from impact_control.robots import RobotDescription
from impact_control.scenario import Scenario, Scene, load_scenario, robot_of, scenario_from_text
from impact_control.util.checks import require_finite
from impact_control.util.errors import InvalidInputError, RecordingError, ScenarioError
from impact_control.util.types import Vector

_JOINTS = 7
"""Joints of an arm whose scenario is not known yet."""


@dataclass(frozen=True, eq=False)
class ReplayedRun:
    """The replay of an arm beside its recording.

    scenario: with whose tuning. judged: whether there was a reference to judge by; reason: what the classifier decided
    last, in words. threshold (n,) [Nm/s] of the residual's rate, NaN where the detector has none. seconds: of the clock
    that observer, detector and classifier took. comparison: predicted and observed velocity after the impact, None
    without one. notes: what could not be read or used, in words.
    """

    file: RecordedFile
    arm: str
    run: RecordedRun
    scenario: Scenario
    samples: CheckedSamples
    replay: Replay
    judged: bool
    reason: str
    threshold: Vector
    seconds: float
    comparison: PostImpactComparison | None
    notes: tuple[str, ...]

    @property
    def duration(self) -> float:
        """[s] between the first and the last sample that was used."""
        return float(self.replay.time[-1] - self.replay.time[0])

    @property
    def speed(self) -> float:
        """Duration of the recording over that of the replay."""
        return self.duration / self.seconds


def replay_file(
    path: Path,
    *,
    scenario: str | None = None,
    columns: LogColumns | None = None,
    trial: int = 0,
    task_start: float | None = None,
) -> dict[str, ReplayedRun]:
    """Replay a recording, see `open_recording`; the runs of the arms of a scene by name, "" for the only arm.

    Args:
        path: of the file or directory.
        scenario: name or path of that with whose tuning to replay; None: the recorded one.
        columns: of a log; None: those of libfranka.
        trial: number of the one that is meant, of a file with several.
        task_start: [s] since the first sample at which the task began, for the verdicts on a recording without the
            reference of the controller; None: then there are none.

    Raises:
        RecordingError: nothing to replay in it, or its scenario is not known.
        ScenarioError: a broken scenario.
        InvalidInputError: a start that is not finite.
    """
    if task_start is not None:
        require_finite("task_start", task_start)
    chosen = None if scenario is None else load_scenario(scenario)
    joints = _JOINTS if chosen is None else len(robot_of(chosen.robot).joint_names)
    file = open_recording(path, columns=columns, trial=trial, joints=joints)
    chosen = chosen or recorded_scenario(file)
    try:
        return {arm: _replay(file, arm, chosen.arm(arm), robot, task_start) for arm, robot in chosen.robots().items()}
    except InvalidInputError as error:
        raise RecordingError(str(path), str(error), f"a recording of scenario {chosen.name}") from error


def recorded_scenario(file: RecordedFile) -> Scene:
    """Return the scenario that a recording is of. Raises RecordingError if it is missing or unknown."""
    if file.scenario:
        return scenario_from_text(file.scenario, str(file.path))
    if file.scenario_name:
        try:
            return load_scenario(file.scenario_name)
        except ScenarioError as error:
            found = f"recorded with scenario {file.scenario_name!r}, which is not known here"
            raise RecordingError(str(file.path), found, "--scenario with the path of its file") from error
    found = "no scenario recorded in it"
    raise RecordingError(str(file.path), found, "--scenario with the name of one, or the path of its file")


def _replay(
    file: RecordedFile, arm: str, scenario: Scenario, robot: RobotDescription, task_start: float | None
) -> ReplayedRun:
    run = file.arm(arm)
    samples = usable_samples(file, run, robot, scenario.control.period)
    notes = [*file.notes, *run.notes]
    reference = followed_reference(run, samples, scenario, robot, task_start, notes)
    follower = None if reference is None else TaskFollower(scenario, robot, reference)
    observer, detector = make_observer(scenario, robot), make_detector(scenario, len(robot.joint_names))
    if scenario.detection.torque_error is not None and run.commands is None:
        notes.append("the detector on the torque error has no input: the commands were not recorded")
    begin = time.perf_counter()
    replay = replay_samples(samples, robot, observer, detector, commands=run.commands, follower=follower)
    seconds = time.perf_counter() - begin
    return ReplayedRun(
        file=file,
        arm=arm,
        run=run,
        scenario=scenario,
        samples=samples,
        replay=replay,
        judged=follower is not None,
        reason="" if follower is None else follower.judge.reason,
        threshold=scenario.detection.rate_threshold,
        seconds=seconds,
        comparison=None if scenario.target else _comparison(run, samples, replay, scenario, robot),
        notes=tuple(notes),
    )


def usable_samples(file: RecordedFile, run: RecordedRun, robot: RobotDescription, period: float) -> CheckedSamples:
    """Return the samples of a run, see `check_samples`. Raises RecordingError when none can be used."""
    if not len(run.time):
        raise RecordingError(str(file.path), "no joint samples in it", "one or more")
    samples = run.checked(robot.joint_names, period, TORQUE_TOLERANCE * robot.limits.torque)
    if not samples.usable.any():
        defects = "; ".join(samples.in_words())
        allowed = f"whole samples of {', '.join(robot.joint_names)}"
        raise RecordingError(str(file.path), f"no sample can be used: {defects}", allowed)
    return samples


def followed_reference(
    run: RecordedRun,
    samples: CheckedSamples,
    scenario: Scenario,
    robot: RobotDescription,
    task_start: float | None,
    notes: list[str],
) -> RecordedReference | None:
    """Return what was followed: as recorded, or as planned; None when neither is known."""
    if run.reference is not None:
        ordered = run.reference.of_joints(robot.joint_names)
        if ordered is None:
            notes.append("the reference of the controller is of other joints and is left out")
        else:
            return ordered
    if task_start is None or scenario.target is not None:
        notes.append("no verdicts: the reference of the controller is not in it, nor was the start of the task given")
        return None
    return planned_reference(build_reference(scenario, robot), task_start, samples.time[samples.usable])


def _comparison(
    run: RecordedRun, samples: CheckedSamples, replay: Replay, scenario: Scenario, robot: RobotDescription
) -> PostImpactComparison | None:
    """Predict the first impact; None without one, near the ends of the recording, and where nothing moved in."""
    impacts = replay.impacts
    impact = run.contact_time if run.contact_time is not None else impacts[0].impact_time if impacts else None
    if impact is None:
        return None
    used = samples.usable
    joints = MeasuredJoints(samples.names, samples.time[used], samples.position[used], samples.velocity[used])
    try:
        ante = ante_impact_velocity(joints.time, joints.velocity, impact)
        post = gross_post_impact_velocity(joints.time, joints.position, impact)
        return comparison_at(impact, joints, ante, post, scenario, robot)
    except InvalidInputError:
        return None
