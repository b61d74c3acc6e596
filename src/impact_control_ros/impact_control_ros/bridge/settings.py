"""Settings of a graph that command line, launch files and nodes share, in a module that is imported at no cost."""

from __future__ import annotations

import math
from enum import StrEnum

from impact_control.util.settings import Setting


class Shape(StrEnum):
    """Distribution of observer, detector, classifier and controller over processes."""

    COMPOSED = "composed"
    SEPARATE = "separate"


SHAPE = Setting(
    "shape",
    "composed: observer, detector, classifier and controller in one process; separate: in three",
    Shape.COMPOSED,
)
SEED = Setting("seed", "seed of the sensor noise", unset="the scenario's", kind=int, bounds=(0, math.inf))
REAL_TIME_FACTOR = Setting(
    "real_time_factor",
    "simulated seconds per second of the wall clock",
    unset="as many as the cores carry",
    bounds=(0.01, 10.0),
)
BROWSER_PATIENCE = Setting("patience", "seconds to wait for a browser", 0.0, bounds=(0.0, 150.0))

CONTROLLER_MANAGER = "controller_manager"
"""Node of ros2_control, in the namespace of its arm."""

UNNAMED = ("",)
"""Value of a parameter of the type string[] that lists no names: ROS has no type for an empty list."""
