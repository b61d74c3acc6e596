"""Fill the caches that would make the first run slow: byte code, fonts, compiled kernels.

Imports the modules of the package and walks once through the simulated arm and through the control loop with its
impact map, side by side, because compiling is most of the work. With the argument `rigid`: through the plant with
rigid contact instead, which only tests and studies need.
"""

import importlib
import pkgutil
import sys
from concurrent.futures import ProcessPoolExecutor

import matplotlib.pyplot  # noqa: F401  (lists the fonts of this machine once)

import impact_control
import impact_control_ros
from impact_control.pipeline import warm_up
from impact_control.planning import plan_scenario
from impact_control.scenario import load_scenario, robot_of
from impact_control.simulation import rehearse

FOR_LAUNCH_FILES = "impact_control_ros.session.launching"
"""Needs `launch`, which comes with a ROS installation only."""


def simulate() -> None:
    """Simulate and measure one sample of the arm."""
    rehearse(load_scenario("tabletop"))


def control() -> None:
    """Plan a task; observe, detect, classify and control one sample."""
    scenario = load_scenario("tabletop").arm()
    plan_scenario(scenario)
    warm_up(scenario, robot_of(scenario.robot))


def rigid() -> None:
    """Simulate one sample of a plant with rigid contact; what it compiles serves the other one too."""
    import numpy as np

    from impact_control.robots import load_robot
    from impact_studies.models.rigid_contact.contact import RigidSurface
    from impact_studies.models.rigid_contact.options import RigidContactOptions
    from impact_studies.models.rigid_contact.plant import FlexibleJointRigidContactPlant

    robot = load_robot()
    home, up = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785]), np.array([0.0, 0.0, 1.0])
    plant = FlexibleJointRigidContactPlant(robot, home, RigidSurface(-up, up), RigidContactOptions())
    plant.step(np.zeros(len(robot.joint_names)))


def main() -> None:
    """Import and run everything once."""
    for package in (impact_control, impact_control_ros):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name != FOR_LAUNCH_FILES:
                importlib.import_module(module.name)
    with ProcessPoolExecutor() as pool:
        for walk in [pool.submit(simulate), pool.submit(control)]:
            walk.result()


if __name__ == "__main__":
    rigid() if sys.argv[1:] == ["rigid"] else main()
