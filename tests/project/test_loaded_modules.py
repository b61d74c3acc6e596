"""Modules that the operator's commands and the nodes import at their start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NODES = Path(__file__).resolve().parents[2] / "src/impact_control_ros/impact_control_ros/nodes"


def loaded_by(*modules):
    program = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_stop_waits_for_no_robot_and_no_solver():
    loaded = loaded_by("impact_control_ros.session.operator")
    assert "rclpy" in loaded
    assert not loaded & {"numba", "pinocchio", "qpsolvers", "scipy"}


def test_a_node_waits_for_nothing_that_draws():
    nodes = [f"impact_control_ros.nodes.{path.stem}" for path in NODES.glob("[a-z]*.py") if path.stem != "viewer"]
    loaded = loaded_by(*nodes)
    assert {"numba", "pinocchio"} <= loaded
    assert "matplotlib" not in loaded
