"""Calibration from recordings: each result is a file that a scenario includes, and a report."""

from impact_control.calibration.backlash import calibrate_backlash
from impact_control.calibration.bearing import bearing
from impact_control.calibration.classifier import tune_classifier
from impact_control.calibration.friction import calibrate_friction
from impact_control.calibration.motion import FreeMotion, Result, open_motions
from impact_control.calibration.pose import calibrate_pose
from impact_control.calibration.surface import calibrate_surface
from impact_control.calibration.thresholds import calibrate_detectors
from impact_control.calibration.whitening import calibrate_detector

__all__ = [
    "FreeMotion",
    "Result",
    "bearing",
    "calibrate_backlash",
    "calibrate_detector",
    "calibrate_detectors",
    "calibrate_friction",
    "calibrate_pose",
    "calibrate_surface",
    "open_motions",
    "tune_classifier",
]
