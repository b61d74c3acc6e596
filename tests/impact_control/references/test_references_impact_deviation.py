"""The deviation of the predicted velocity against random errors of the same size, and its limits."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.impacts import FrictionLaw, predict_post_impact_velocity
from impact_control.references import build_reference
from impact_control.robots import Dynamics, InertiaModel, contact_jacobians
from impact_control.scenario import load_scenario, robot_of

EXACT = {
    f"classification.uncertainty.{name}": value
    for name, value in (("friction", 0.0), ("restitution", 0.0), ("model", 0.0), ("normal", "0.0001 deg"))
}


def planned(**overrides):
    scenario = load_scenario("tabletop").with_overrides({"expected_environment.surface.friction": 0.05, **overrides})
    robot = robot_of(scenario.robot)
    return scenario, robot, build_reference(scenario, robot)


def test_it_is_that_of_random_errors_of_inertia_friction_restitution_and_normal():
    """Monte Carlo over all errors at once, where the slip goes on and the map is smooth."""
    scenario, robot, reference = planned(**{"classification.uncertainty.model": 0.0})
    known, geometry = scenario.classification.uncertainty, reference.geometry
    dynamics, random = Dynamics(robot), np.random.default_rng(3)
    dynamics.compute(reference.impact_configuration, reference.ante_impact_velocity)
    (jacobian,) = contact_jacobians(dynamics.jacobian, geometry.contact_offsets)
    links, motors = dynamics.inertia(InertiaModel.LINKS), np.diag(robot.transmission.reduced_motor_inertia)
    after = []
    for _ in range(4000):
        part, share, mu, bounce, about, tilt = random.normal(size=6)
        normal = geometry.normal + np.tan(known.normal) * (
            about * geometry.heading + tilt * np.cross(geometry.normal, geometry.heading)
        )
        inertia = (1.0 + robot.deviation.link_inertia * part) * links
        inertia = inertia + (1.0 + robot.deviation.reduced_motor_inertia * share) * motors
        after.append(
            predict_post_impact_velocity(
                inertia,
                jacobian,
                normal / np.linalg.norm(normal),
                reference.ante_impact_velocity,
                max(0.05 + known.friction * mu, 0.0),
                abs(known.restitution * bounce),
                FrictionLaw.COULOMB,
            ).velocity
        )
    spread = np.sqrt(np.mean((np.array(after) - reference.post_impact_velocity) ** 2, axis=0))
    np.testing.assert_allclose(reference.jump_deviation, spread, rtol=0.15, atol=1e-4)


def test_the_model_adds_its_part_of_the_jump():
    _, _, exact = planned(**{**EXACT, "classification.uncertainty.model": 0.0})
    _, _, rough = planned(**{**EXACT, "classification.uncertainty.model": 0.2})
    jump = rough.post_impact_velocity - rough.ante_impact_velocity
    np.testing.assert_allclose(rough.jump_deviation, np.hypot(exact.jump_deviation, 0.2 * jump), rtol=1e-6)


def test_it_grows_with_the_speed():
    slow, fast = (planned(**{"task.impact.speed": f"{v} m/s"})[2].jump_deviation for v in (0.1, 0.2))
    np.testing.assert_allclose(fast, 2.0 * slow, rtol=1e-3)


@pytest.mark.parametrize("name", ["tabletop_edge", "tabletop_plate"])
def test_impacts_at_several_contacts_have_one_too(name):
    scenario = load_scenario(name)
    deviation = build_reference(scenario, robot_of(scenario.robot)).jump_deviation
    assert np.isfinite(deviation).all() and deviation.max() > 1e-3
