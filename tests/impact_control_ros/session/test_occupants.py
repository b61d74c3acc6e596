"""A second graph with the same arms is refused before it starts anything; killed nodes are in nobody's way."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from harness import Peer
from impact_control_ros.session.graph import Duty, NodeSpec, describe_graph
from impact_control_ros.session.occupants import nodes_of_a_graph, require_free_namespace
from impact_control_ros.session.processes import GraphError
from impact_control_ros.session.session import Session

pytestmark = pytest.mark.wall_clock

PREDICTOR = NodeSpec("predictor", "predictor", Duty.SERVICE, {"scenario": "tabletop"})
DETECTOR = NodeSpec("detector", "detector", Duty.LOOP, {"scenario": "tabletop"})
ARMS = ("left", "right")


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


@pytest.mark.parametrize("place", ["", "left/"])
def test_a_controller_manager_counts(tmp_path, place):
    from std_srvs.srv import Trigger

    name = f"{place}controller_manager"
    with Peer(tmp_path) as peer:
        manager = peer.another("controller_manager")
        manager.create_service(Trigger, f"{name}/list_controllers", lambda request, response: response)
        with pytest.raises(GraphError, match=f"already: /{name}; "):
            require_free_namespace("", ARMS)
        with pytest.raises(GraphError, match=f"already: /{name}; "):
            require_free_namespace(place)
        # A series on a launched graph brings only its recorder.
        recorder = [spec for spec in describe_graph("tabletop") if spec.duty is Duty.RECORDER]
        with Session(recorder, tmp_path / "series") as series:
            series.start()


@pytest.mark.parametrize("spec", [PREDICTOR, DETECTOR], ids=lambda spec: spec.name)
def test_a_scene_is_refused_over_a_single_arm_in_the_namespace_of_one_of_its_arms(tmp_path, spec):
    with Peer(tmp_path / "first", namespace="left") as first:
        first.processes.start(spec)
        first.caller.await_node(spec.name)
        with pytest.raises(GraphError, match=f"already: /left/{spec.name}; "):
            require_free_namespace("", ARMS)
        with Session(describe_graph("grab_juice_1", arms=ARMS, record=False), tmp_path / "second") as second:
            first.until(lambda: second._offers(f"left/{spec.name}/get_state"), what="the discovery")
            with pytest.raises(GraphError, match=f"already: /left/{spec.name}; "):
                second.start()
            assert second.processes.pids() == {}
        require_free_namespace("", ("front", "right"))
        assert first.caller.state(spec.name) == 1


def test_a_single_arm_is_refused_over_a_scene_with_an_arm_of_its_namespace(tmp_path):
    with Peer(tmp_path / "first") as first:
        first.processes.start(replace(DETECTOR, namespace="left", parameters={"scenario": "grab_juice_1"}))
        first.caller.await_node("left/detector")
        with pytest.raises(GraphError, match="already: /left/detector; "):
            require_free_namespace("left")
        with Session(describe_graph("tabletop", record=False), tmp_path / "second", namespace="left") as second:
            first.until(lambda: second._offers("detector/get_state"), what="the discovery")
            with pytest.raises(GraphError, match="already: /left/detector; "):
                second.start()
            assert second.processes.pids() == {}
        require_free_namespace("right")


def test_the_nodes_of_both_shapes_are_looked_for():
    assert nodes_of_a_graph() >= {"simulator", "impact_loop", "controller", "detector", "classifier", "supervisor"}
