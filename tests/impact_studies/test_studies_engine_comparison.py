"""Comparison with engines, without the engines: convex friction, what is made of differences, what is missing."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
import pytest

from impact_control.impacts import predict_multi_contact_impact
from impact_control.impacts.contact_system import assemble
from impact_control.util.errors import InvalidInputError, MissingDependencyError
from impact_studies.catalogue.engine_comparison import ENGINES, Engine, EngineTrial, compare, run_engine
from impact_studies.engines.cases import all_cases, ball, convex_friction_velocity

CASES = all_cases()

NEW_SOLVER = pytest.mark.skipif(
    not hasattr(pin, "StdVec_ConstraintModel"), reason="before Pinocchio 4 this solver has another interface"
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_models_name_every_body_and_joint_and_carry_the_motors(case):
    model = ElementTree.fromstring(case.mjcf)
    names = {element.get("name") for element in model.iter()}
    for body in case.bodies:
        joints = case.joints.get(body, (body,))
        assert names.issuperset(joints)
    mass = sum(float(element.get("mass")) for element in model.iter("inertial"))
    assert mass > 0.0
    assert sum(1 for element in model.iter("motor")) == sum(len(joints) for joints in case.joints.values())
    assert predict_multi_contact_impact(case.bodies, case.contacts).kinetic_energy_change < 0.0


@NEW_SOLVER
def test_convex_friction_lifts_what_slips_and_is_coulombs_law_otherwise():
    for friction, lifted in ((0.0, False), (0.1, True), (0.6, False)):
        case = ball("ball", friction)
        ours = predict_multi_contact_impact(case.bodies, case.contacts).velocities["ball"]
        convex = convex_friction_velocity(assemble(case.bodies, case.contacts), 0.0)
        slip = convex[0] - 0.1 * convex[4]
        assert convex[2] == pytest.approx(friction * slip, abs=1e-6)
        if lifted:
            # v_N = mu s and s = 1 - 7/2 mu (1 + v_N): normal impulse 1 + v_N, tangential mobility 7/2.
            assert convex[2] == pytest.approx(friction * (1.0 - 3.5 * friction) / (1.0 + 3.5 * friction**2), rel=1e-6)
        else:
            np.testing.assert_allclose(convex, ours, atol=1e-6)


def test_an_old_pinocchio_is_told_instead_of_its_lack(monkeypatch):
    monkeypatch.delattr(pin, "ADMMConstraintSolver", raising=False)
    case = ball("ball", 0.6)
    with pytest.raises(MissingDependencyError, match=f"Pinocchio 4 or later; installed is {pin.__version__}"):
        convex_friction_velocity(assemble(case.bodies, case.contacts), 0.0)


@NEW_SOLVER
def test_differences_are_parts_of_the_jump_and_get_a_reason():
    case = ball("ball", 0.6)
    after = predict_multi_contact_impact(case.bodies, case.contacts).velocities["ball"]
    before = case.bodies["ball"].velocity
    engines = [
        Engine("same", "", lambda _case: {"ball": after}, "none"),
        Engine("half", "", lambda _case: {"ball": 0.5 * (before + after)}, "it stops half way", convex=False),
    ]
    same, half = (compare(case, engine, engine.impact(case)) for engine in engines)
    assert same.difference < 1e-7
    assert same.reason == ""
    assert half.difference == pytest.approx(0.5, rel=1e-6)
    assert half.unexplained == pytest.approx(0.5, rel=1e-6)
    assert half.reason == "it stops half way"


@pytest.mark.parametrize("engine", [ENGINES[0], ENGINES[-1]], ids=lambda engine: engine.name)
def test_an_engine_that_is_missing_is_named(engine, monkeypatch):
    for name in ("mujoco", "pydrake", "pydrake.multibody", "pydrake.multibody.parsing"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError, match="make extras"):
        engine.impact(CASES[0])


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_a_trial_asks_for_the_version_of_the_engine_that_its_result_is_kept_for(engine):
    with pytest.raises(InvalidInputError, match=f"version of {engine.distribution} .*'0.1.2'"):
        run_engine(EngineTrial(CASES[0].name, engine.name, "0.1.2"))
