"""kill -9 of a node of a push and of a grab, in lockstep: the rest stops with a message, arms and bag are safe.

Simulated time stands still until the loop that was killed is missed, then it goes on without commands.
"""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest
from impact_msgs.msg import GroundTruth

from impact_control.planning.assignment import assigned
from impact_control.recording.series import read_bag
from impact_control.robots import Dynamics
from impact_control.scenario import load_scenario, parts_of
from impact_control_ros.session.graph import describe_graph
from impact_control_ros.session.processes import NodeDiedError
from impact_control_ros.session.session import Session
from machine import WatchedMachine

pytestmark = [pytest.mark.wall_clock, pytest.mark.timeout(120)]

APPROACH, CONTACT = "approach", "contact"
ROWS = [
    ("push_catfood_1", "left/impact_loop", APPROACH),
    pytest.param("push_catfood_1", "simulator", APPROACH, marks=pytest.mark.long),
    pytest.param("push_catfood_1", "recorder", CONTACT, marks=pytest.mark.long),
    ("grab_catfood_1", "left/impact_loop", CONTACT),
]
DECAY = 10.0
"""[1/s] at which the joints of a damped arm come to rest at least; the fastest of them ten times as fast."""

AT = {APPROACH: -0.4, CONTACT: 0.1}
"""[s] after the nominal impact from which on the node is killed: in motion, and with the object in motion.

An arm at v goes on for 0.02 v with its last command, which the robot side holds for 0.02 s, and then damped for no more
than v / DECAY: 0.06 m at 0.5 m/s, the velocity of the impact and the highest before it. From a kill up to 0.12 s before
the impact it would therefore reach the object. The progress by which the kill is timed is old by as much as the machine
stands still: it may be by 0.28 s. The joints move by up to 0.55 rad/s then.
"""


@pytest.mark.parametrize(("name", "victim", "phase"), ROWS)
def test_killing_a_node_stops_everything_safely(name, victim, phase, tmp_path):
    scene = load_scenario(name)
    specs = describe_graph(name, **parts_of(scene), lockstep=True)
    due = scene.impact_time + AT[phase]
    killed_at = []

    def kill(progress):
        if progress.task_time >= due and not killed_at:
            assert (progress.impacts > 0) is (phase == CONTACT)
            killed_at.append(time.monotonic_ns())
            os.kill(session.processes.pid(victim), signal.SIGKILL)

    with WatchedMachine() as machine:
        with Session(specs, tmp_path / "log") as session:
            session.start(tmp_path / "bag", scene.to_yaml())
            pids = [session.processes.pid(spec.path) for spec in specs]
            with pytest.raises(NodeDiedError, match=f"^node '{victim}' was killed by SIGKILL"):
                session.run_tasks(name, on_progress=kill)
            stopped_at = time.monotonic_ns()
        taken = machine.taken(killed_at[0], stopped_at)
    assert 1e-9 * (stopped_at - killed_at[0]) - taken < 1.0
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert (tmp_path / "bag" / "metadata.yaml").is_file()
    recording = read_bag(tmp_path / "bag")
    for arm in scene.arms:
        assert len(recording.series(f"{arm}/joint_states")["stamp"]) > 100
        if victim.endswith("impact_loop"):
            truth = recording.series(f"{arm}/simulation/truth")
            lost = truth["command_state"] == GroundTruth.COMMAND_LOST
            begin = lost.size - int(np.argmin(lost[::-1]))
            assert lost.size - begin > 50
            # Before the kill where it was due in contact; else never, the coasting after the kill included.
            in_contact = truth["in_contact"]
            assert in_contact[:begin].any() if phase == CONTACT else not in_contact.any()
            speed = np.abs(truth["joint_velocity"][begin:]).max(axis=1)
            assert speed[0] > 0.1, "it was in motion"
            # The object may hit the damped arm again: from each push on it has to come to rest anew.
            start = last_push(truth["peak_normal_force"][begin:])
            since = truth["time"][begin:] - truth["time"][begin:][start]
            assert since.max() > 0.1
            moving = pace(assigned(name, arm).robot, truth["joint_position"][begin:], truth["joint_velocity"][begin:])
            assert (moving < 1e-3 + 1.5 * moving[start] * np.exp(-DECAY * since)).all()


def last_push(force):
    """For each sample the last one in whose period the object pushed the arm, force (N,) [N]; the first without."""
    return np.maximum.accumulate(np.where(force > 0.0, np.arange(force.size), 0))


def pace(robot, position, velocity):
    """Square root of twice the kinetic energy [sqrt(J)] at (N, n) [rad, rad/s]: damping lets it only fall.

    Of the joints by themselves the fast ones follow the slow ones, and may gain.
    """
    dynamics = Dynamics(robot)
    found = []
    for q, dq in zip(position, velocity, strict=True):
        dynamics.compute(q, dq)
        found.append(np.sqrt(dq @ dynamics.mass_matrix @ dq))
    return np.array(found)
