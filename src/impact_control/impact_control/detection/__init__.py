"""Impacts as events: detectors behind one interface, and the link that was hit."""

from impact_control.detection.detector import NO_LINK, Detector
from impact_control.detection.factory import SCORES, make_detector, make_score, own_scores, score_class, scores_of
from impact_control.detection.first_of import FirstOf
from impact_control.detection.impact_detector import ImpactDetector
from impact_control.detection.isolation import LinkIsolation, step_response
from impact_control.detection.score_detector import ScoreDetector
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
    "make_score",
    "own_scores",
    "score_class",
    "scores_of",
    "step_response",
]
