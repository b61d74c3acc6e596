"""How fast simulated time runs by default."""

from __future__ import annotations

import os

import pytest

from impact_control.graph import SEVERAL_ARMS, describe_graph, sustainable_real_time_factor
from impact_control.scenario import load_any, parts_of


@pytest.mark.parametrize(
    ("cores", "loops", "factor"),
    [(8, 1, 1.0), (2, 1, 1.0), (1, 1, 0.5), (8, 2, SEVERAL_ARMS), (2, 2, SEVERAL_ARMS), (1, 9, 0.1)],
)
def test_it_is_what_cores_and_plant_carry(monkeypatch, cores, loops, factor):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)))
    assert sustainable_real_time_factor(loops) == factor


@pytest.mark.parametrize(
    ("name", "factor"), [("tabletop", 1.0), ("push_catfood_1", 1.0), ("grab_juice_1", SEVERAL_ARMS)]
)
def test_the_simulator_of_a_graph_gets_it(monkeypatch, name, factor):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    specs = describe_graph(name, **parts_of(load_any(name)))
    (simulator,) = (spec for spec in specs if spec.name == "simulator")
    assert simulator.parameters["real_time_factor"] == factor
