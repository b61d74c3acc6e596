"""Grab a box with two arms: plan both through one impact map, then run them in lockstep without ROS."""

import numpy as np

from impact_control.scenario import load_scenario
from impact_control.simulation.scenario_run import run_scenario

course = run_scenario(load_scenario("grab_juice_1"))

print(course.outcome.name)
for name, arm in course.arms.items():
    print(f"{name}: impact detected at {arm.detection_time:.3f} s")
for name, box in course.objects.items():
    moved = box.position[-1] - box.position[0]
    print(f"{name}: moved by {np.round(100 * moved, 1)} cm")
