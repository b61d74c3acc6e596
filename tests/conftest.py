"""Options of the test run, and a ROS domain of its own for everything in it."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import settings

# A change is judged by the same examples everywhere; `make fuzz` looks for new ones.
settings.register_profile("same_examples", derandomize=True)
settings.register_profile("new_examples", derandomize=False, print_blob=True)
settings.load_profile("same_examples")


def pytest_addoption(parser):
    """Add how often and how the scenarios are run."""
    parser.addoption("--runs", type=int, default=2, help="runs of each scenario over DDS, each with its own seed")
    parser.addoption("--real-time", action="store_true", help="run the scenarios by the wall clock, not in lockstep")


def pytest_configure(config):
    """Keep this run apart from every other ROS graph on this machine."""
    os.environ["ROS_DOMAIN_ID"] = str(random.SystemRandom().randrange(1, 101))
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"


@pytest.fixture(scope="session", autouse=True)
def _ros_logs_in_temporary_directory(tmp_path_factory):
    os.environ["ROS_LOG_DIR"] = str(tmp_path_factory.mktemp("ros_log"))
