"""Our impact map against MuJoCo and Drake, which `make extras` installs. Without them these tests fail."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.impacts import ContactMode, predict_multi_contact_impact
from impact_studies.catalogue.engine_comparison import AGREES, ENGINES, STUDY, compare
from impact_studies.engines import drake_engine, mujoco_engine
from impact_studies.engines.cases import all_cases, ball

CASES = {case.name: case for case in all_cases()}
RIGID = [engine for engine in ENGINES if engine.rigid]


@pytest.mark.parametrize("name", CASES)
def test_engines_close_to_rigid_contact_do_what_our_map_does_or_what_convex_friction_does(name):
    case = CASES[name]
    slips = ContactMode.SLIPS in predict_multi_contact_impact(case.bodies, case.contacts).modes
    rubs = any(contact.friction > 0.0 for contact in case.contacts)
    for engine in RIGID:
        row = compare(case, engine, engine.impact(case))
        assert row.unexplained < AGREES
        # Without slip, without friction, and with Coulomb's law there is nothing to explain.
        assert (row.difference > AGREES) == (engine.convex and slips and rubs)
        assert bool(row.reason) == (row.difference > AGREES)


def test_convex_friction_lifts_a_sliding_ball_by_friction_times_slip():
    for friction in (0.05, 0.1, 0.2):
        case = ball("ball", friction)
        for after in (
            mujoco_engine.impact(case, mujoco_engine.DAMPING_ONLY)["ball"],
            drake_engine.impact(case, drake_engine.RIGID_SAP)["ball"],
        ):
            slip = after[0] - 0.1 * after[4]
            assert after[2] == pytest.approx(friction * slip, rel=0.005)
        coulomb = drake_engine.impact(case, drake_engine.STIFF_LAGGED)["ball"]
        assert abs(coulomb[2]) < 2e-4


def test_a_critically_damped_contact_gives_back_a_part_of_the_speed():
    after = mujoco_engine.impact(ball("ball", 0.0), mujoco_engine.CRITICALLY_DAMPED)["ball"]
    assert after[2] == pytest.approx(np.exp(-2.0), rel=0.02)


def test_the_study_runs_and_holds(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = STUDY.run(0, True, lambda _part, _text: None)
    assert result.holds
    assert len(result.tables[0].rows) == 4 * len(ENGINES)
    result.figures[0].draw()
