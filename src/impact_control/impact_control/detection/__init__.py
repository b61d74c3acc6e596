"""Impacts as events: detectors behind one interface, and the link that was hit."""

from impact_control.detection.detector import NO_LINK, Detector
from impact_control.detection.factory import SCORES, make_detector, own_scores, score_class
from impact_control.detection.first_of import FirstOf
from impact_control.detection.impact_detector import ImpactDetector
from impact_control.detection.isolation import LinkIsolation, step_response
from impact_control.detection.score_detector import MAXIMUM_GAP, ScoreDetector
from impact_control.detection.scores import (
    ResidualRateScore,
    ResidualScore,
    Score,
    TorqueErrorScore,
    VelocityJumpScore,
)
from impact_control.detection.signals import DetectionSignals
from impact_control.detection.whitened import WhitenedScore

__all__ = [
    "MAXIMUM_GAP",
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
    "WhitenedScore",
    "make_detector",
    "own_scores",
    "score_class",
    "step_response",
]
