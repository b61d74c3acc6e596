"""A second graph in one domain and namespace is refused before it starts anything; killed nodes are in nobody's way."""

from __future__ import annotations

import os
import signal

import pytest

from harness import Peer
from impact_control_ros.session.graph import Duty, NodeSpec, describe_graph
from impact_control_ros.session.occupants import nodes_of_a_graph, require_free_namespace
from impact_control_ros.session.processes import GraphError
from impact_control_ros.session.session import Session

pytestmark = pytest.mark.wall_clock

PREDICTOR = NodeSpec("predictor", "predictor", Duty.SERVICE, {"scenario": "tabletop"})


@pytest.fixture
def first(tmp_path):
    with Peer(tmp_path / "first") as first:
        first.processes.start(PREDICTOR)
        first.caller.await_node("predictor")
        yield first


def test_the_second_names_who_is_there_and_starts_nothing(first, tmp_path):
    with Session(describe_graph("tabletop", record=False), tmp_path / "second") as second:
        first.until(lambda: second._node.count_services("/predictor/get_state"), what="the discovery")
        with pytest.raises(GraphError, match="a graph runs here already: /predictor; allowed: "):
            second.start()
        assert second.processes.pids() == {}
    with pytest.raises(GraphError, match="/predictor"):
        require_free_namespace("")
    assert first.caller.state("predictor") == 1  # unconfigured: nobody has asked it for a transition
    require_free_namespace("left")


def test_a_killed_node_that_is_still_listed_is_in_nobodys_way(first):
    os.kill(first.processes.pid("predictor"), signal.SIGKILL)
    first.until(lambda: not first.processes.running("predictor"), what="the end of the process")
    require_free_namespace("")


def test_a_controller_manager_counts(tmp_path):
    from std_srvs.srv import Trigger

    with Peer(tmp_path) as peer:
        manager = peer.another("controller_manager")
        manager.create_service(Trigger, "controller_manager/list_controllers", lambda request, response: response)
        with pytest.raises(GraphError, match="/controller_manager"):
            require_free_namespace("")
        # A series on a launched graph brings only its recorder.
        recorder = [spec for spec in describe_graph("tabletop") if spec.duty is Duty.RECORDER]
        with Session(recorder, tmp_path / "series") as series:
            series.start()


def test_the_nodes_of_both_shapes_are_looked_for():
    assert nodes_of_a_graph() >= {"simulator", "impact_loop", "controller", "detector", "classifier", "supervisor"}
