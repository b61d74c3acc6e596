"""After the rehearsal of the loop at its configuration nothing is left to be compiled in its samples."""

import subprocess
import sys

import pytest

from impact_control.compiled import HAVE_NUMBA

COMPILED_LATE = """
import gc
import sys

import numpy as np
from numba.core.dispatcher import Dispatcher

from impact_control.assignment import assigned
from impact_control.control import Mode, QPStatus
from impact_control.pipeline import Pipeline, warm_up
from impact_control.reaction import Step


def compiled():
    kernels = [item for item in gc.get_objects() if isinstance(item, Dispatcher)]
    return {(kernel.__module__, kernel.__name__): len(kernel.signatures) for kernel in kernels}


assignment = assigned(*sys.argv[1:])
plan, robot = assignment.plan(), assignment.robot
start, still = plan.reference.initial_configuration.copy(), np.zeros(7)
pipeline = Pipeline(assignment.scenario, robot)
warm_up(assignment.scenario, robot)
before = compiled()
time, seen = 0.0, []


def tick(position=start, velocity=still, torque=still):
    global time
    pipeline.tick(time, position, velocity, torque)
    time += 1e-3
    mode = pipeline.controller.mode
    seen.append(mode)


pipeline.reset()
tick()
pipeline.start(plan.reference, plan.scenario, plan.force, hold=plan.hold)
tick()
pipeline.controller.impact(time)
for _ in range(200):
    tick()
assert Mode.POST in seen and np.any(pipeline.controller.force)
for step in (Step.YIELD, Step.RESUME, Step.PULL_BACK, Step.STOP):
    pipeline.obey(step)
    for _ in range(3):
        tick(start + 0.01)
tick(torque=np.full(7, 60.0))
assert pipeline.impact_now
tick(robot.limits.position_upper.copy(), robot.limits.velocity.copy())  # limits contradict each other
assert pipeline.controller.qp.status is QPStatus.RELAXED
tick(np.full(7, np.nan))
assert seen.pop() is Mode.FAULT
after = compiled()
print(sum(before.values()))
print(sorted(kernel for kernel in after if after[kernel] > before.get(kernel, 0)))
"""


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without numba")
@pytest.mark.parametrize("assignment", [("tabletop",), ("tabletop_plate",), ("grab_parcel_1", "left")])
def test_after_a_rehearsal_nothing_is_left_to_be_compiled(assignment):
    ended = subprocess.run(
        [sys.executable, "-c", COMPILED_LATE, *assignment], stdout=subprocess.PIPE, text=True, check=True
    )
    kernels, late = ended.stdout.splitlines()
    assert int(kernels) > 0
    assert late == "[]"
