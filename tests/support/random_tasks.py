"""Impact tasks anywhere in the workspace: where, on what surface, which way, how fast and with how much friction."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from impact_control.robots import rotation_from_roll_pitch_yaw
from impact_control.scenario import Scenario, load_scenario

TABLETOP = load_scenario("tabletop")


def random_task(seed: int, model: str, base: Scenario = TABLETOP, **fixed: float) -> Scenario:
    """Return a task of a robot model; `fixed`: of friction, speed [m/s] and angle [rad], not drawn; base: the rest."""
    random = np.random.default_rng(seed)
    point = random.uniform([0.38, -0.25, 0.1], [0.58, 0.25, 0.4])
    azimuth, tilt, heading = random.uniform([0.0, 0.0, 0.0], [2.0 * np.pi, np.deg2rad(35.0), 2.0 * np.pi])
    turn = pin.exp3(tilt * np.array([np.cos(azimuth), np.sin(azimuth), 0.0]))
    angle = fixed.get("angle", np.deg2rad(random.uniform(35.0, 90.0)))
    speed = fixed.get("speed", random.uniform(0.05, 0.4))
    friction = fixed.get("friction", random.uniform(0.0, 1.0))
    orientation = pin.rpy.matrixToRpy(turn @ rotation_from_roll_pitch_yaw(base.task.impact.orientation))
    place = ", ".join(f"{x}" for x in point) + " m"
    surface = {"point": place, "normal": turn[:, 2].tolist(), "friction": friction}
    return base.with_overrides(
        {
            "robot.model": model,
            "task.impact.position": place,
            "task.impact.heading": (turn @ [np.cos(heading), np.sin(heading), 0.0]).tolist(),
            "task.impact.orientation": ", ".join(f"{x}" for x in orientation) + " rad",
            "task.impact.approach_angle": f"{angle} rad",
            "task.impact.speed": f"{speed} m/s",
            **{
                f"{side}.surface.{key}": value
                for side in ("expected_environment", "actual_environment")
                for key, value in surface.items()
            },
        }
    )
