"""After the rehearsal of the loop at its configuration nothing is left to be compiled in its samples."""

import subprocess
import sys

import pytest

from impact_control.util.compiled import HAVE_NUMBA

COMPILED_LATE = """
import sys
from dataclasses import replace

import numpy as np

from impact_control.planning.assignment import assigned
from impact_control.control import Event, Mode, QPStatus
from impact_control.pipeline import Pipeline, warm_up
from impact_control.pipeline.judge import NEVER
from impact_control.scenario import Reaction
from impact_control.util.compiled import compiled_signatures


assignment = assigned(*sys.argv[1:])
plan, robot = assignment.plan(), assignment.robot
start, still = plan.reference.initial_configuration.copy(), np.zeros(7)
pipeline = Pipeline(assignment.scenario, robot)
warm_up(assignment.scenario, robot)
before = compiled_signatures()
time, seen = 0.0, []


def tick(position=start, velocity=still, torque=still):
    global time
    pipeline.tick(time, position, velocity, torque)
    time += 1e-3
    mode = pipeline.controller.mode
    seen.append(mode)


pipeline.reset()
tick()
go_on = Reaction.CONTINUE
patient = replace(plan.scenario.reaction, on_unexpected_impact=go_on, on_unexpected_post_impact=go_on)
pipeline.start(plan.reference, replace(plan.scenario, reaction=patient), plan.force, hold=plan.hold)
tick()
time += 3e-3  # samples that got lost
tick()
pipeline.impact_detected(time, start)
for _ in range(400):
    tick()
assert Mode.POST in seen and np.any(pipeline.controller.force)
path = pipeline.judge.contact_path
assert path.settings.begin == NEVER or time > path.settings.begin + path.settings.window
for event in (Event.YIELD_TO_POST, Event.RESUME, Event.PULL_BACK, Event.STOP):
    pipeline.react(event)
    for _ in range(3):
        tick(start + 0.004)
tick(torque=np.full(7, 60.0))
assert pipeline.impact_now
time += pipeline.scenario.control.state_timeout + 1e-3  # what comes at once would contradict the sample before
tick(robot.limits.position_upper.copy(), robot.limits.velocity.copy())  # limits contradict each other
assert pipeline.controller.qp.status is QPStatus.RELAXED
tick(np.full(7, np.nan))
assert seen.pop() is Mode.FAULT
after = compiled_signatures()
print(sum(before.values()))
print(sorted(kernel for kernel in after if after[kernel] > before.get(kernel, 0)))
"""

COMPILED_LATE_APART = """
import numpy as np

from impact_control.control import Mode
from impact_control.pipeline.alone import DetectorAlone, FollowedSample, JudgeAlone
from impact_control.planning.assignment import assigned
from impact_control.util.compiled import compiled_signatures

assignment = assigned("tabletop")
reference = assignment.plan().reference
apart, judge = (kind(assignment.scenario, assignment.robot) for kind in (DetectorAlone, JudgeAlone))
before = compiled_signatures()
start, still, seen = reference.initial_configuration, np.zeros(7), 0
apart.awaits_impact = True
for k in range(600):
    time = (k if k < 10 else k + 3) * 1e-3  # some samples got lost
    apart.tick(time, start, still, np.full(7, 60.0 if k == 300 else 0.0), still)
    if apart.impact_now:
        seen += 1
        judge.impact_detected(time, start)
    mode = Mode.POST if k > 320 else Mode.ANTE
    sample = FollowedSample(mode, time, reference, still, still, np.zeros(3))
    judge.follow(time, sample, apart.dynamics, apart.observer)
assert seen
after = compiled_signatures()
print(sum(before.values()))
print(sorted(kernel for kernel in after if after[kernel] > before.get(kernel, 0)))
"""


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without numba")
def test_a_detector_and_a_judge_of_their_own_leave_nothing_to_be_compiled():
    ended = subprocess.run([sys.executable, "-c", COMPILED_LATE_APART], stdout=subprocess.PIPE, text=True, check=True)
    kernels, late = ended.stdout.splitlines()
    assert int(kernels) > 0
    assert late == "[]"


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without numba")
@pytest.mark.parametrize("assignment", [("tabletop",), ("tabletop_plate",), ("grab_parcel_1", "left")])
def test_after_a_rehearsal_nothing_is_left_to_be_compiled(assignment):
    ended = subprocess.run(
        [sys.executable, "-c", COMPILED_LATE, *assignment], stdout=subprocess.PIPE, text=True, check=True
    )
    kernels, late = ended.stdout.splitlines()
    assert int(kernels) > 0
    assert late == "[]"
