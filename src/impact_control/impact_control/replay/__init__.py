"""What is deployed, over recordings: observer, detector, classifier and predictor, beside what was recorded."""

from impact_control.replay.file import ReplayedRun, replay_file
from impact_control.replay.report import write_replay_report
from impact_control.replay.samples import Follower, Replay, ReplayedEvent, replay_samples
from impact_control.replay.summary import EventPair, pair_events, summarise_replay

__all__ = [
    "EventPair",
    "Follower",
    "Replay",
    "ReplayedEvent",
    "ReplayedRun",
    "pair_events",
    "replay_file",
    "replay_samples",
    "summarise_replay",
    "write_replay_report",
]
