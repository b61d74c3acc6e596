"""Scenarios with several contacts, touches and reactions on the live graph, one run each in lockstep."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.pipeline import Outcome
from impact_control_ros.bridge.settings import Shape
from impact_control_ros.session.graph import describe_graph
from impact_control_ros.session.session import Session
from live_runs import run

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]

PRESSING = ["ante", "interim", "post", "stopped"]

EXPECTED = {
    "tabletop_edge": (Outcome.SUCCEEDED, PRESSING),
    "tabletop_edge_tilted": (Outcome.SUCCEEDED, PRESSING),
    "tabletop_plate": (Outcome.SUCCEEDED, PRESSING),
    "tabletop_touch": (Outcome.IMPACT_UNEXPECTED, ["ante", "stopped"]),
    "tabletop_admittance": (Outcome.SUCCEEDED, ["ante", "admittance", "resume", *PRESSING]),
}


BRIEFLY = [
    pytest.param(name, marks=pytest.mark.long if outcome[1] is PRESSING else ()) for name, outcome in EXPECTED.items()
]
"""Plate and edges add nothing of their own to the graph, the shapes are compared on a plate: `make verify` runs all."""


@pytest.mark.parametrize("scenario", BRIEFLY)
def test_scenario_ends_as_it_must(scenario, tmp_path):
    outcome, modes = EXPECTED[scenario]
    with Session(describe_graph(scenario, shape=Shape.COMPOSED, lockstep=True), tmp_path / "log") as session:
        session.start()
        result, evaluation = run(session, scenario, 1, tmp_path / "bag")
    analysis = evaluation.analysis
    assert result.outcome is outcome, result.summary
    assert [interval.mode for interval in analysis.modes if interval.mode != "idle"] == modes
    assert analysis.within_limits
    assert analysis.final_speed < 0.02, "not at rest at the end"
    if scenario == "tabletop_touch":
        events = evaluation.recording.series("impact/events")
        first = events["index"] == 1
        assert events["isolated_link"][first].tolist()[-1] == 2
        assert np.count_nonzero(first) == 2, "the event comes again with its link"
        assert analysis.detections.size == np.unique(events["index"]).size
    if outcome is Outcome.SUCCEEDED:
        assert 0.0 <= analysis.detection_delay <= 3e-3
        assert analysis.final_force == pytest.approx(30.0, rel=0.2)
