"""Loops in this process, called by hand: what they check before they begin, and what they keep from before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter

from impact_control.errors import InvalidInputError
from impact_control.nodes import loop as loop_module
from impact_control.nodes.loop import LoopNode

sys.path.append(str(Path(__file__).resolve().parents[1] / "fuzz"))

from surfaces.graph import Graph


@pytest.fixture(scope="module")
def graph():
    graph = Graph()
    yield graph
    graph.close()


def test_a_scenario_whose_rehearsal_fails_can_be_corrected(graph, monkeypatch):
    def fail(scenario, robot):
        raise InvalidInputError("reference", "this one", "one that can be built")

    node = graph.add(lambda: LoopNode("impact_loop"))
    monkeypatch.setattr(loop_module, "warm_up", fail)
    assert node.trigger_configure() is TransitionCallbackReturn.FAILURE
    (changed,) = node.set_parameters([Parameter("scenario", value="tabletop_raised")])
    assert changed.successful, changed.reason
