"""Nodes that are lost: a task goes on without its viewer, and ends with the reason of a plant that cannot go on."""

from __future__ import annotations

import os
import signal
import time

import pytest
import yaml

from impact_control.pipeline import Outcome
from impact_control.recording.series import read_bag
from impact_control.scenario import config_directory, load_scenario
from impact_control_ros.session.graph import Duty, NodeSpec, describe_graph
from impact_control_ros.session.processes import NodeDiedError
from impact_control_ros.session.session import Session

ONLOOKER = NodeSpec("onlooker", "predictor", Duty.VIEWER, {"scenario": "tabletop"})
"""In the place of the viewer, whose library may not be installed."""


def test_a_task_goes_on_without_its_viewer(tmp_path):
    with Session([ONLOOKER, *describe_graph("tabletop", lockstep=True, record=False)], tmp_path) as session:
        session.start()
        os.kill(session.processes.pid("onlooker"), signal.SIGKILL)
        result = session.run_task("tabletop")
    assert result.outcome is Outcome.SUCCEEDED
    assert [str(loss) for loss in session.losses] == ["node 'onlooker' was killed by SIGKILL"]


def test_a_viewer_that_was_asked_for_and_does_not_start_is_told(tmp_path):
    broken = NodeSpec("onlooker", "no_such_module", Duty.VIEWER)
    with Session([broken], tmp_path) as session, pytest.raises(NodeDiedError, match="No module named"):
        session.start()


IMPOSSIBLE = {"stiffness": "1e20 N/m^1.5", "damping": "1e26 N*s/m^2.5"}
"""No step follows this; the arm meets it after 1 s of its task."""


def test_a_contact_too_stiff_to_simulate_ends_the_session_with_the_reason(tmp_path):
    tabletop = config_directory() / "scenarios" / "tabletop.yaml"
    scenario = tmp_path / "hard.yaml"
    surface = {"contact": IMPOSSIBLE}
    scenario.write_text(
        yaml.safe_dump({"extends": str(tabletop), "name": "hard", "actual_environment": {"surface": surface}})
    )
    specs = describe_graph(str(scenario), lockstep=True)
    with Session(specs, tmp_path / "log") as session:
        session.start(tmp_path / "bag", load_scenario(scenario).to_yaml())
        pids = [session.processes.pid(spec.name) for spec in specs]
        with pytest.raises(NodeDiedError) as caught:
            session.run_task(str(scenario))
        ended = time.monotonic()
        log = session.processes.log_file("simulator").read_text()
    assert time.monotonic() - ended < 5.0
    assert str(caught.value).startswith("node 'simulator' ended by itself with exit code 1")
    for told in (str(caught.value), log):
        assert "the simulation stalls at" in told and "contact: the end-effector of arm 0 at the surface" in told
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    stamps = read_bag(tmp_path / "bag").series("joint_states")["stamp"]
    assert stamps.size > 500
