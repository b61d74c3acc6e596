"""What a world of the simulator is made of, and that walking through one compiles what the others run."""

import subprocess
import sys

import pytest

from impact_control.util.compiled import HAVE_NUMBA

COMPILED_LATE = """
import sys

import numpy as np

from impact_control.scenario import load_scenario
from impact_control.simulation import build_world, rehearse
from impact_control.util.compiled import compiled_signatures


scenario = load_scenario(sys.argv[1])
rehearse(scenario)
before = compiled_signatures()
world = build_world(scenario)
for _ in range(5):
    torques = []
    for name, arm in world.arms.items():
        world.sensors[name].measure(arm)
        world.gates[name].offer(np.ones(len(arm.robot.joint_names)))
        torques.append(world.gates[name].select(arm.link_velocity, 1e-3))
    world.step(torques)
after = compiled_signatures()
print(sum(before.values()))
print(sorted(kernel for kernel in after if after[kernel] > before.get(kernel, 0)))
"""


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without numba")
@pytest.mark.parametrize("scenario", ["tabletop", "tabletop_edge", "push_parcel_1"])
def test_after_a_rehearsal_nothing_is_left_to_be_compiled(scenario):
    ended = subprocess.run(
        [sys.executable, "-c", COMPILED_LATE, scenario], stdout=subprocess.PIPE, text=True, check=True
    )
    kernels, late = ended.stdout.splitlines()
    assert int(kernels) > 0
    assert late == "[]"
