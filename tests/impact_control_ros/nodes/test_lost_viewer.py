"""A node that nobody needs may be lost: the task goes on, and the session knows what it lost."""

from __future__ import annotations

import os
import signal

import pytest

from impact_control.pipeline import Outcome
from impact_control_ros.session.graph import Duty, NodeSpec, describe_graph
from impact_control_ros.session.processes import NodeDiedError
from impact_control_ros.session.session import Session

ONLOOKER = NodeSpec("onlooker", "predictor", Duty.VIEWER, {"scenario": "tabletop"})
"""In the place of the viewer, whose library may not be installed."""


def graph():
    return [ONLOOKER, *describe_graph("tabletop", lockstep=True, record=False)]


def test_a_task_goes_on_without_its_viewer(tmp_path):
    with Session(graph(), tmp_path) as session:
        session.start()
        os.kill(session.processes.pid("onlooker"), signal.SIGKILL)
        result = session.run_task("tabletop")
    assert result.outcome is Outcome.SUCCEEDED
    assert [str(loss) for loss in session.losses] == ["node 'onlooker' was killed by SIGKILL"]


def test_a_viewer_that_was_asked_for_and_does_not_start_is_told(tmp_path):
    broken = NodeSpec("onlooker", "no_such_module", Duty.VIEWER)
    with Session([broken], tmp_path) as session, pytest.raises(NodeDiedError, match="No module named"):
        session.start()
