"""Impacts as events: detectors behind one interface, and the link that was hit."""

from impact_control.detection.detector import NO_LINK, Detector
from impact_control.detection.factory import SCORES, make_detector, own_scores
from impact_control.detection.first_of import FirstOf
from impact_control.detection.impact_detector import ImpactDetector
from impact_control.detection.isolation import LinkIsolation, step_response
from impact_control.detection.record import event_samples
from impact_control.detection.score_detector import ScoreDetector
from impact_control.detection.scores import (
    ResidualRateScore,
    ResidualScore,
    Score,
    TorqueErrorScore,
    VelocityJumpScore,
)
from impact_control.detection.signals import DetectionSignals

__all__ = [
    "NO_LINK",
    "SCORES",
    "DetectionSignals",
    "Detector",
    "FirstOf",
    "ImpactDetector",
    "LinkIsolation",
    "ResidualRateScore",
    "ResidualScore",
    "Score",
    "ScoreDetector",
    "TorqueErrorScore",
    "VelocityJumpScore",
    "event_samples",
    "make_detector",
    "own_scores",
    "step_response",
]
