"""Check of the thresholds of a scenario against recordings of free motion, which must not exceed them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from impact_control.calibration.motion import FreeMotion
from impact_control.calibration.thresholds import UNITS, channel_names
from impact_control.recording.summary import Grid, Mark, Row, RunSummary, short_joint_names
from impact_control.scenario import Scenario, robot_of
from impact_control.util.types import Vector


def check_thresholds(scenario: Scenario, motions: Sequence[FreeMotion]) -> RunSummary:
    """Compare each threshold of the scenario with the largest score of recordings without contact."""
    joints = short_joint_names(robot_of(scenario.robot).joint_names)
    rows = [row for motion in motions for row in motion.rows]
    lines, exceeded = [], 0
    for name in motions[0].scores:
        values = np.vstack([motion.scores[name] for motion in motions])
        if np.isnan(values).all():
            rows.append(Row("Note", f"{name} has no input in the recordings"))
            continue
        threshold: Vector = np.resize(np.atleast_1d(getattr(scenario.detection, name).threshold), values.shape[1])
        largest = np.nanmax(values, axis=0)
        channels = channel_names(values.shape[1], joints)
        for channel, bound, most in zip(channels, threshold, largest, strict=True):
            over = bool(most >= bound)
            exceeded += over
            said = "no" if over else "yes"
            lines.append((f"{name} {channel}", f"{bound:.4g} {UNITS.get(name, '')}".strip(), f"{most:.4g}", said))
    grid = Grid("Thresholds and scores in free motion", ("", "threshold", "largest score", "above it"), tuple(lines))
    verdict = f"NO FALSE ALARM: all {len(lines)} thresholds are above the scores in free motion."
    if exceeded:
        verdict = f"FALSE ALARMS: free motion reaches {exceeded} of {len(lines)} thresholds."
        rows.append(Row("Next", "impact-control calibrate detector"))
        rows.append(Row("Objection", "impacts would be detected where there are none", Mark.BAD))
    return RunSummary(f"Thresholds of {scenario.name} in free motion", tuple(rows), (grid,), verdict, not exceeded)
