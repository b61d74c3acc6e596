"""kill -9 of any node, before and in contact: the rest stops with a message, the arm stands, the bag is readable."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest
from impact_msgs.msg import GroundTruth

from impact_control.graph import describe_graph
from impact_control.nodes.session import NodeDiedError, Session
from impact_control.recording.series import read_bag
from impact_control.scenario import load_scenario


@pytest.mark.parametrize("phase", ["approach", "contact"])
@pytest.mark.parametrize("victim", ["simulator", "impact_loop", "predictor", "recorder"])
def test_killing_a_node_stops_everything_safely(victim, phase, tmp_path):
    killed_at = []

    def kill_in_phase(progress):
        due = progress.task_time > 0.5 if phase == "approach" else progress.impacts > 0
        if due and not killed_at:
            killed_at.append(time.monotonic())
            os.kill(session.processes.pid(victim), signal.SIGKILL)

    bag = tmp_path / "bag"
    specs = describe_graph("tabletop")
    with Session(specs, tmp_path / "log") as session:
        session.start(bag, load_scenario("tabletop").to_yaml())
        pids = [session.processes.pid(spec.name) for spec in specs]
        with pytest.raises(NodeDiedError, match=f"'{victim}' was killed by SIGKILL"):
            result = session.run_task("tabletop", on_progress=kill_in_phase)
            pytest.fail(f"the task ended first: {result}")
        stopped_after = time.monotonic() - killed_at[0]
    assert stopped_after < 1.0
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    recording = read_bag(bag)
    assert (bag / "metadata.yaml").is_file()
    assert len(recording.series("joint_states")["stamp"]) > 100
    if victim in ("impact_loop", "predictor"):
        truth = recording.series("simulation/truth")
        assert truth["command_state"][-1] == GroundTruth.COMMAND_LOST
        assert np.abs(truth["joint_velocity"][-1]).max() < 0.02
