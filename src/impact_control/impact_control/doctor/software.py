"""Python, the packages, and the messages."""

from __future__ import annotations

import re
from collections.abc import Mapping

from impact_control.doctor.finding import Finding, failure, good, warning

PYTHON = (3, 10)
"""Oldest version."""

NEEDED: Mapping[str, tuple[int, ...]] = {
    "numpy": (1, 26),
    "scipy": (),
    "pin": (3,),
    "qpsolvers": (),
    "daqp": (),
    "mcap": (),
    "matplotlib": (),
    "ruamel.yaml": (),
    "typer": (),
    "rich": (),
}
"""Packages without which it does not run, by distribution, and their oldest version where that is known."""

WANTED = {"numba": "the loop is not compiled, far too slow for 1 kHz", "h5py": "no trial data in HDF5"}
"""Packages without which it does less."""


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: 3.11.2rc1 gives (3, 11, 2)."""
    leading = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(number) for number in leading[0].split(".")) if leading else ()


def check_python(version: tuple[int, ...]) -> Finding:
    """Check the version of Python."""
    found = ".".join(map(str, version))
    if version[:2] < PYTHON:
        return failure("Python", found, f"use {'.'.join(map(str, PYTHON))} or newer")
    return good("Python", found)


def check_package(name: str, version: str | None) -> Finding:
    """Check a package of NEEDED or WANTED; version: None when it is not there."""
    if version is None:
        if name in WANTED:
            return warning(name, "not installed", f"{WANTED[name]}: pip install {name}")
        return failure(name, "not installed", f"make setup, or pip install {name}")
    oldest = NEEDED.get(name, ())
    if version_numbers(version)[: len(oldest)] < oldest:
        return failure(name, version, f"install {'.'.join(map(str, oldest))} or newer")
    return good(name, version)


def check_ros(found: bool) -> Finding:
    """Check whether rclpy can be found."""
    if found:
        return good("ROS 2", "rclpy is there")
    return failure("ROS 2", "no rclpy", "make setup, or source /opt/ros/jazzy/setup.bash")


def check_messages(found: bool) -> Finding:
    """Check whether impact_msgs was built and can be found."""
    if found:
        return good("impact_msgs", "built")
    return failure("impact_msgs", "not built", "make setup, or colcon build and source install/setup.bash")
