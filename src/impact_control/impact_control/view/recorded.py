"""Recordings as signals to be drawn: bags as they are, what else can be replayed with what the replay made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from impact_control.recording.series import Recording, read_bag
from impact_control.replay import ReplayedRun
from impact_control.replay.evaluation import scenario_of_bag
from impact_control.scenario import Scene
from impact_control.util.errors import ImpactControlError, InvalidInputError, RecordingError
from impact_control.view.signals import LAYOUTS, POSE, RecordedSignals, Signal, Signals, pose_signal, signals_of
from impact_control.view.stage import Stage, stage_of


@dataclass(frozen=True, eq=False)
class Record:
    """A recording to be played: the arms by name ("" for the only one), the objects, and times [s].

    start, end: of the joint samples. impacts: when they were detected, of all arms.
    """

    arms: Mapping[str, Signals]
    objects: Mapping[str, Signals]
    start: float
    end: float
    impacts: tuple[float, ...]


def record_of_bag(bag: Path) -> tuple[Stage, Record]:
    """Return stage and record of a bag of this stack's recorder, as it was recorded.

    Raises InvalidInputError for another bag, ScenarioError.
    """
    recording = read_bag(bag)
    scenario = scenario_of_bag(recording)
    stage = stage_of(scenario)
    signals = {
        name: signals_of_recording(recording.of_arm(name), arm.robot.joint_names) for name, arm in stage.arms.items()
    }
    return stage, _record(signals, _objects(recording))


def record_of_replay(runs: Mapping[str, ReplayedRun]) -> tuple[Stage, Record]:
    """Return stage and record of replayed runs: motion as recorded, external torque and impacts as replayed.

    What a bag of this stack holds beside that is shown as it was recorded. Raises ScenarioError.
    """
    first = next(iter(runs.values()))
    recording = _bag_of(first.file.path)
    scenario = first.scenario if "" in runs else _scene_of(recording, first)
    stage = stage_of(scenario, simulated=recording is not None)
    signals = {}
    for name, run in runs.items():
        signals[name] = signals_of_replay(run)
        if recording is not None:
            recorded = signals_of_recording(recording.of_arm(name), stage.arms[name].robot.joint_names)
            signals[name] = RecordedSignals({**recorded, **signals[name]})
    return stage, _record(signals, {} if recording is None else _objects(recording))


def signals_of_recording(recording: Recording, joints: tuple[str, ...]) -> RecordedSignals:
    """Return the signals of an arm in a recording; joints: in whose order values of joints are."""
    signals = RecordedSignals()
    for topic in LAYOUTS:
        if topic in recording:
            series = recording.series(topic)
            order = np.argsort(series["stamp"], kind="stable")
            for name, signal in signals_of(topic, series, series["stamp"], joints).items():
                signals[name] = Signal(signal.time[order], signal.value[order])
    return signals


def signals_of_replay(run: ReplayedRun) -> RecordedSignals:
    """Return what the samples of a recording say, and what observer, detector and classifier made of them."""
    samples, replay, used = run.samples, run.replay, run.samples.usable
    time = samples.time[used]
    signals = RecordedSignals(
        position=Signal(time, samples.position[used]),
        velocity=Signal(time, samples.velocity[used]),
        residual=Signal(replay.time, replay.residual),
        residual_rate=Signal(replay.time, replay.residual_rate),
        rate_threshold=Signal(replay.time[:1], run.threshold[None]),
    )
    followed = None if run.run.reference is None else run.run.reference.of_joints(samples.names)
    if followed is not None:
        signals |= {
            "ante_velocity": Signal(followed.time, followed.ante_velocity),
            "post_velocity": Signal(followed.time, followed.post_velocity),
            "mode": Signal(followed.time, followed.mode.astype(float)[:, None]),
            "task_time": Signal(followed.time, followed.task_time[:, None]),
            "desired_force": Signal(followed.time, followed.force),
        }
    if replay.impacts:
        detected = np.array([event.detection_time for event in replay.impacts])
        signals["impact_index"] = Signal(detected, np.arange(1.0, len(detected) + 1.0)[:, None])
        signals["isolated_link"] = Signal(detected, np.array([[float(event.link)] for event in replay.impacts]))
    return signals


def _record(arms: Mapping[str, Signals], objects: Mapping[str, Signals]) -> Record:
    times = [signals["position"].time for signals in arms.values()]
    if not all(len(time) for time in times):
        raise InvalidInputError("recording", "without joint samples", "one with the positions of the joints")
    impacts = sorted(float(time) for signals in arms.values() for time in np.unique(signals["impact_index"].time))
    return Record(arms, objects, min(time[0] for time in times), max(time[-1] for time in times), tuple(impacts))


def _objects(recording: Recording) -> dict[str, Signals]:
    objects = recording.objects().items()
    return {name: RecordedSignals({POSE: pose_signal(series, series["stamp"])}) for name, series in objects}


def _bag_of(path: Path) -> Recording | None:
    """Return the bag of this stack that a path leads to; None for anything else."""
    try:
        recording = read_bag(path / "bag" if (path / "bag").is_dir() else path)
        scenario_of_bag(recording)
    except (ImpactControlError, OSError):
        return None
    return recording


def _scene_of(recording: Recording | None, run: ReplayedRun) -> Scene:
    if recording is None:
        raise RecordingError(str(run.file.path), "several arms, but not where they stand", "a bag of this stack")
    return scenario_of_bag(recording)
