"""Environment of a graph on this machine: own domain, localhost only, logs beside the run."""

from __future__ import annotations

import os
import random
from pathlib import Path

from impact_control.graph import DDS_PROFILES, dds_profiles

DISCOVERY_RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
LOCALHOST = "LOCALHOST"
"""What it is unless the user says otherwise: nodes of this machine only."""


def isolate(log_directory: Path) -> None:
    """Set, where the user has not, a domain of our own, localhost only, and where ROS logs go.

    To be called before rclpy is initialised; child processes inherit it.
    """
    os.environ.setdefault("ROS_DOMAIN_ID", str(random.SystemRandom().randrange(1, 101)))
    os.environ[DDS_PROFILES] = dds_profiles()
    os.environ.setdefault(DISCOVERY_RANGE, LOCALHOST)
    os.environ.setdefault("ROS_LOG_DIR", str(log_directory))
    os.environ.setdefault("RCUTILS_LOGGING_USE_STDOUT", "0")
    os.environ.setdefault("RCUTILS_LOGGING_BUFFERED_STREAM", "0")
    os.environ.setdefault("RCUTILS_COLORIZED_OUTPUT", "0")
