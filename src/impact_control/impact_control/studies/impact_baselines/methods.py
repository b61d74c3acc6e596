"""The ways to meet an impact that are compared, each as changes of one scenario, and the surfaces they meet."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.scenario import Scenario, load_scenario

SCENARIO = "tabletop"

HEIGHT, TILT = 8e-3, 2.0
"""Half-widths [m, deg] of the uniform distributions of height and tilts about x and y of the real surface."""

REFERENCE_SPREADING = "reference spreading"
JOINT_SPACE = "reference spreading, joint space"
WITHOUT_INTERIM = "without interim mode"
PLAIN = "plain tracking"
SLOW = "slow approach"

SLOW_SPEED = 0.05
"""[m/s]. Slower still, the surface is met up to half a second off, which no reference with a fixed time fits."""

METHODS: dict[str, dict[str, str]] = {
    REFERENCE_SPREADING: {},
    JOINT_SPACE: {"control.feedback": "joint_space"},
    WITHOUT_INTERIM: {"control.impact_strategy": "without_interim"},
    PLAIN: {"control.impact_strategy": "plain_tracking"},
    # An approach that is never much faster than at its end, and goes on no faster.
    SLOW: {
        "task.impact.speed": f"{SLOW_SPEED} m/s",
        "task.impact.time": "2.5 s",
        "task.ante.extension_depth": "12.5 mm",
        "task.duration": "4.0 s",
    },
}


@dataclass(frozen=True)
class Case:
    """One trial: a method of METHODS on a real surface that is height [m] higher and tilted about x and y [deg].

    seed: of the sensor noise.
    """

    method: str
    height: float
    tilt_x: float
    tilt_y: float
    seed: int


def cases(count: int, seed: int) -> list[Case]:
    """Return `count` surfaces, each met by every method with the same noise; more of them begin with the same ones."""
    found = []
    for k in range(count):
        random = np.random.default_rng([seed, k])
        height, tilts = float(random.uniform(-HEIGHT, HEIGHT)), random.uniform(-TILT, TILT, 2)
        noise = int(random.integers(0, 2**31))
        found += [Case(method, height, float(tilts[0]), float(tilts[1]), noise) for method in METHODS]
    return found


def planned(method: str) -> Scenario:
    """Return the scenario with the method of METHODS, which goes on whatever the classifier says."""
    changes = {"reaction.on_unexpected_impact": "continue", "reaction.on_unexpected_post_impact": "continue"}
    return load_scenario(SCENARIO).with_overrides({**changes, **METHODS[method]})


def met(scenario: Scenario, case: Case) -> Scenario:
    """Return the scenario with the real surface of a case."""
    x, y, z = scenario.expected_environment.surface.point
    tilt_x, tilt_y = math.radians(case.tilt_x), math.radians(case.tilt_y)
    normal = np.array([math.sin(tilt_y), -math.cos(tilt_y) * math.sin(tilt_x), math.cos(tilt_y) * math.cos(tilt_x)])
    return scenario.with_overrides(
        {
            "actual_environment.surface.point": f"{x}, {y}, {z + case.height} m",
            "actual_environment.surface.normal": [float(value) for value in normal],
            "simulation.seed": case.seed,
        }
    )
