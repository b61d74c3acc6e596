"""Calibration from recordings: each result is a file that a scenario includes, and a report."""

from impact_control.calibration.classifier import tune_classifier
from impact_control.calibration.friction import calibrate_friction
from impact_control.calibration.motion import FreeMotion, Result, open_motions
from impact_control.calibration.pose import calibrate_pose
from impact_control.calibration.surface import calibrate_surface
from impact_control.calibration.threshold_check import check_thresholds
from impact_control.calibration.thresholds import calibrate_detectors
from impact_control.calibration.whitening import calibrate_detector

__all__ = [
    "FreeMotion",
    "Result",
    "calibrate_detector",
    "calibrate_detectors",
    "calibrate_friction",
    "calibrate_pose",
    "calibrate_surface",
    "check_thresholds",
    "open_motions",
    "tune_classifier",
]
