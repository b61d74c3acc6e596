"""Replay of the deployed observer, detector, classifier and predictor over recordings."""

from impact_control.replay.file import ReplayedRun, followed_reference, recorded_scenario, replay_file, usable_samples
from impact_control.replay.samples import SETTLING_TIME, Replay, ReplayedEvent, TaskFollower, replay_samples
from impact_control.replay.summary import EventPair, pair_events, summarise_replay, write_replay_report

__all__ = [
    "SETTLING_TIME",
    "EventPair",
    "Replay",
    "ReplayedEvent",
    "ReplayedRun",
    "TaskFollower",
    "followed_reference",
    "pair_events",
    "recorded_scenario",
    "replay_file",
    "replay_samples",
    "summarise_replay",
    "usable_samples",
    "write_replay_report",
]
