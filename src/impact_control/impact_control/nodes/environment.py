"""Environment of a graph on this machine: own domain, localhost only, logs beside the run."""

from __future__ import annotations

import os
import random
from pathlib import Path

from impact_control.scenario import config_directory

DISCOVERY_RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
LOCALHOST = "LOCALHOST"
"""What it is unless the user says otherwise: nodes of this machine only."""


def dds_environment() -> dict[str, str]:
    """Return variables with which Fast DDS does without shared memory, whose locks a process may stand still in.

    For the discovery range that is set, `LOCALHOST` if none is. What the user has set stays.
    """
    if os.environ.get(DISCOVERY_RANGE, LOCALHOST) == LOCALHOST:
        name, value = "FASTRTPS_DEFAULT_PROFILES_FILE", str(config_directory() / "dds" / "localhost.xml")
    else:
        name, value = "FASTDDS_BUILTIN_TRANSPORTS", "UDPv4"
    return {name: os.environ.get(name, value)}


def isolate(log_directory: Path) -> None:
    """Set, where the user has not, a domain of our own, localhost only, and where ROS logs go.

    To be called before rclpy is initialised; child processes inherit it.
    """
    os.environ.setdefault("ROS_DOMAIN_ID", str(random.SystemRandom().randrange(1, 101)))
    os.environ.setdefault(DISCOVERY_RANGE, LOCALHOST)
    os.environ.update(dds_environment())
    os.environ.setdefault("ROS_LOG_DIR", str(log_directory))
    os.environ.setdefault("RCUTILS_LOGGING_USE_STDOUT", "0")
    os.environ.setdefault("RCUTILS_LOGGING_BUFFERED_STREAM", "0")
    os.environ.setdefault("RCUTILS_COLORIZED_OUTPUT", "0")
