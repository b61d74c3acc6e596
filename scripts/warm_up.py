"""Fill the caches that would make the first run slow: byte code, fonts, compiled kernels.

Imports every module of the package and walks once through the control loop, the simulated arm and the impact maps.
"""

import importlib
import pkgutil

import matplotlib.pyplot  # noqa: F401  (lists the fonts of this machine once)
import numpy as np

import impact_control
from impact_control.benchmark.physics import eight_contacts, single_contact
from impact_control.pipeline import warm_up
from impact_control.scenario import load_scenario
from impact_control.simulation.build import build_simulation


def main() -> None:
    """Import and run everything once."""
    for module in pkgutil.walk_packages(impact_control.__path__, "impact_control."):
        importlib.import_module(module.name)
    scenario = load_scenario("tabletop")
    plant, sensors, _ = build_simulation(scenario)
    plant.step(np.zeros(len(plant.robot.joint_names)))
    sensors.measure(plant)
    warm_up(scenario, plant.robot)
    for impact in (single_contact(), eight_contacts()):
        impact()


if __name__ == "__main__":
    main()
