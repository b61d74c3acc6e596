"""Calibrate detection thresholds to a false alarm rate, from free motion; here that of the simulated arm."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from impact_control.calibration import calibrate_detectors, open_motions
from impact_control.recording.page import summary_text
from impact_control.scenario import load_scenario, robot_of
from impact_control.simulation import FlexibleJointPlant, Sensors

HOME = np.array([0.3, -0.5, 0.4, -2.0, 0.6, 1.9, 0.7])  # [rad]
RATES = np.array([2.1, 2.3, 2.6, 1.9, 2.9, 2.4, 3.1])  # [rad/s] of the sines that the joints follow
STIFFNESS = np.array([300.0, 300.0, 300.0, 300.0, 100.0, 80.0, 25.0])  # [Nm/rad] and [Nm s/rad] of a PD controller
DAMPING = np.array([25.0, 25.0, 25.0, 25.0, 10.0, 8.0, 4.0])
HEADER = ",".join(["time", *(f"state.{name}[{k}]" for name in ("q", "dq", "tau_J") for k in range(7))])  # of libfranka

robot = robot_of(load_scenario("tabletop").robot)
plant, sensors = FlexibleJointPlant(robot, HOME), Sensors(robot.noise, 1.0, seed=1)
rows = []
for time in 1e-3 * np.arange(10_000):
    sample = sensors.measure(plant)
    rows.append([1e3 * time, *sample.position, *sample.velocity, *sample.torque])
    fade = 0.4 * min(1.0, time) ** 2
    goal, rate = HOME + fade * np.sin(RATES * time), fade * RATES * np.cos(RATES * time)
    plant.step(STIFFNESS * (goal - plant.motor_position) + DAMPING * (rate - plant.motor_velocity))

with TemporaryDirectory() as directory:
    log = Path(directory) / "free_motion.csv"
    np.savetxt(log, rows, delimiter=",", header=HEADER, comments="")
    scenario, motions = open_motions([log], "tabletop")
result = calibrate_detectors(scenario, motions, false_alarms_per_hour=60.0)
print(summary_text(result.summary))
print(result.sections)
