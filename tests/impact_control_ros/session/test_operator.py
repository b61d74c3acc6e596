"""An operator who stops and resets a graph."""

from __future__ import annotations

import subprocess
import sys

SOLVERS = ("numba", "pinocchio", "qpsolvers", "scipy")


def test_it_loads_no_robot_and_no_solver_which_a_stop_would_wait_for():
    program = "import sys, impact_control_ros.session.operator; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "rclpy" in loaded
    assert not set(SOLVERS) & set(loaded)
