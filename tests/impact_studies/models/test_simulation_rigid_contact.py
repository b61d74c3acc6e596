"""Rigid contact of plants B and C: impacts against the maps, the laws of contact, release."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from impact_control.impacts import predict_post_impact_velocity
from impact_control.robots import InertiaModel, load_robot
from impact_control.util.errors import InvalidInputError, SimulationError
from impact_studies.models.rigid_contact import plant as rigid_contact_plant
from rigid_contact_arms import (
    FREE_JOINTS,
    PlantB,
    PlantC,
    point_jacobians,
    rigid_plant,
    rigid_surface,
    run,
    state_at,
)
from simulated_arms import HOMES, velocity_for

INERTIA = {PlantB: InertiaModel.LINKS, PlantC: InertiaModel.REDUCED_MOTORS}
UP = np.array([0.0, 0.0, 1.0])
TOOLS = [
    ("panda", "sphere"),
    ("panda", "edge"),
    ("panda", "plate"),
    ("planar_rrr", "planar_sphere"),
    ("planar_rrr", "planar_edge"),
]
ROBOTS = {tool: load_robot(name, tool) for name, tool in TOOLS}
PLANTS = {(kind, tool): kind(robot, HOMES[robot.name]) for kind in INERTIA for tool, robot in ROBOTS.items()}
number = st.floats(-1.0, 1.0)


def hit(kind, tool, rates, tilt):
    """Return plant, surface and velocity before of an arm that hits a surface it is put on, or None if it does not."""
    robot = ROBOTS[tool]
    plane, q = rigid_surface(robot, 0.0, tilt), HOMES[robot.name]
    dq = np.array(rates[: q.size])
    plant = PLANTS[kind, tool]
    plant.reset(q, plane, dq)
    speeds = point_jacobians(robot, plane, q) @ dq @ plane.normal
    return (plant, plane, dq) if speeds[plant.gaps < 1e-9].min() < -1e-3 else None


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(list(INERTIA)),
    st.sampled_from(["sphere", "planar_sphere"]),
    st.lists(number, min_size=7, max_size=7),
    st.floats(-0.5, 0.5),
)
def test_one_point_jumps_as_the_impact_map_says(kind, tool, rates, tilt):
    made = hit(kind, tool, rates, tilt)
    assume(made is not None)
    plant, plane, dq = made
    robot, q = plant.robot, HOMES[plant.robot.name]
    inertia = state_at(robot, q, dq).inertia(INERTIA[kind])
    jacobian = point_jacobians(robot, plane, q)[0]
    expected = predict_post_impact_velocity(inertia, jacobian, plane.normal, dq, friction=0.0).velocity
    (impact,) = plant.impacts
    np.testing.assert_array_equal(impact.velocity_before, dq)
    np.testing.assert_allclose(impact.velocity_after, expected, atol=1e-9)
    np.testing.assert_array_equal(plant.link_position, q)
    if kind is PlantB:
        # Proper (2.56): the motors do not feel it.
        np.testing.assert_array_equal(plant.motor_velocity, dq)


@settings(deadline=None, max_examples=80)
@given(
    st.sampled_from(list(INERTIA)),
    st.sampled_from([tool for _, tool in TOOLS]),
    st.lists(number, min_size=7, max_size=7),
    st.floats(-0.3, 0.3),
)
def test_an_impact_obeys_the_laws_of_contact(kind, tool, rates, tilt):
    """Momentum with Pinocchio's Jacobians, along the normal, no pull, no penetration, no energy gained."""
    made = hit(kind, tool, rates, tilt)
    assume(made is not None)
    plant, plane, dq = made
    robot, q = plant.robot, HOMES[plant.robot.name]
    inertia = state_at(robot, q, dq).inertia(INERTIA[kind])
    jacobians = point_jacobians(robot, plane, q)
    (impact,) = plant.impacts
    momentum = np.einsum("pin,pi->n", jacobians, impact.impulse)
    np.testing.assert_allclose(inertia @ (impact.velocity_after - dq), momentum, atol=1e-9)
    normal = impact.impulse @ plane.normal
    tangential = impact.impulse - np.outer(normal, plane.normal)
    touched = plant.gaps < 1e-9
    after = jacobians @ impact.velocity_after
    assert normal.min() >= 0.0 and not normal[~touched].any()
    assert (after[touched] @ plane.normal).min() >= -1e-8
    np.testing.assert_allclose(tangential, 0.0, atol=1e-12)
    change = 0.5 * impact.velocity_after @ inertia @ impact.velocity_after - 0.5 * dq @ inertia @ dq
    assert impact.energy_change == pytest.approx(change, abs=1e-9)
    assert change <= 1e-9
    np.testing.assert_allclose(normal * (after @ plane.normal), 0.0, atol=1e-8)


@pytest.mark.parametrize("kind", list(INERTIA))
@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_a_flat_landing_stops_all_points_even_more_than_can_be_independent(kind, name, tool):
    """Gauss: the least change of velocity, in the metric of the inertia, that stops the normal velocities.

    Where no impulses do that without pulling, a point opens instead.
    """
    plant = PLANTS[kind, tool]
    plane = rigid_surface(plant.robot, 0.0)
    q, dq = HOMES[name], velocity_for(plant.robot, (0.05, 0.0, -0.2))
    plant.reset(q, plane, dq)
    rows = np.array([plane.normal @ jacobian for jacobian in point_jacobians(plant.robot, plane, q)])
    inertia = state_at(plant.robot, q, dq).inertia(INERTIA[kind])
    upper = np.linalg.cholesky(inertia).T
    stopped = dq - np.linalg.solve(upper, np.linalg.pinv(rows @ np.linalg.inv(upper), rcond=1e-9) @ (rows @ dq))
    momentum = inertia @ (stopped - dq)
    _, left = nnls(rows.T, momentum)
    if left < 1e-8 * np.abs(momentum).max():
        np.testing.assert_allclose(plant.link_velocity, stopped, atol=1e-8)
        assert plant.closed.all()
    else:
        assert not plant.closed.all()


@pytest.mark.parametrize("tool", ROBOTS)
@pytest.mark.parametrize("kind", INERTIA)
def test_held_against_the_surface_the_contacts_carry_the_commanded_force(kind, tool):
    robot = ROBOTS[tool]
    plant = kind(robot, HOMES[robot.name], rigid_surface(robot, 0.0), FREE_JOINTS)
    for _ in range(400):
        jacobian = state_at(robot, plant.link_position, plant.link_velocity).jacobian
        plant.step(-30.0 * jacobian[2] - 20.0 * plant.link_velocity)
        assert plant.normal_forces.min() >= 0.0
    assert np.abs(plant.link_velocity).max() < 1e-5
    assert plant.normal_forces.sum() == pytest.approx(30.0, abs=2e-2)
    np.testing.assert_allclose(plant.gaps, 0.0, atol=1e-9)
    assert plant.closed.all()


@pytest.mark.parametrize("tool", ROBOTS)
@pytest.mark.parametrize("kind", INERTIA)
def test_a_contact_opens_when_it_would_pull(kind, tool):
    """The command goes from -10 N to 10 N through zero: the contact opens then and does not hold the arm back."""
    robot = ROBOTS[tool]
    plant = kind(robot, HOMES[robot.name], rigid_surface(robot, 0.0), FREE_JOINTS)
    opened = None
    for i in range(400):
        force = -10.0 + 0.05 * i
        jacobian = state_at(robot, plant.link_position, plant.link_velocity).jacobian
        plant.step(jacobian[2] * force - 5.0 * plant.link_velocity)
        assert plant.normal_forces.min() >= 0.0
        if opened is None and not plant.closed.any():
            opened = force
    assert opened == pytest.approx(0.0, abs=0.5)
    assert plant.gap > 1e-5 and not plant.normal_forces.any()


@pytest.mark.parametrize("tool", ["edge", "planar_edge", "plate"])
@pytest.mark.parametrize("kind", INERTIA)
def test_what_lands_tilted_rocks_and_comes_to_rest_on_all_points(kind, tool):
    robot = ROBOTS[tool]
    plane = rigid_surface(robot, tilt=0.003)
    plant = rigid_plant(kind, robot, plane, linear=(0.0, 0.0, -0.1))
    deepest = 0.0
    for _ in range(300):
        jacobian = state_at(robot, plant.link_position, plant.link_velocity).jacobian
        plant.step(jacobian[2] * -30.0 - 10.0 * plant.link_velocity)
        deepest = min(deepest, plant.gap)
    first = plant.impacts[0].impulse @ plane.normal
    assert first[0] == 0.0 < first[1] or first[1] == 0.0 < first[0]
    assert deepest > -1e-8
    assert plant.closed.all()
    assert all(impact.energy_change <= 1e-12 for impact in plant.impacts)


@pytest.mark.parametrize("tool", ROBOTS)
@pytest.mark.parametrize("kind", INERTIA)
def test_contact_does_not_hold_an_arm_that_leaves(kind, tool):
    """From rest on the surface upwards: the same motion as without a surface."""
    robot = ROBOTS[tool]
    q, surface = HOMES[robot.name], rigid_surface(robot, 0.0)
    lift = state_at(robot, q, np.zeros(q.size)).jacobian[2] * 10.0
    velocities = []
    for plane in (surface, None):
        plant = kind(robot, q, plane, FREE_JOINTS)
        velocities.append(run(plant, 20, lift))
    np.testing.assert_allclose(velocities[0], velocities[1], atol=1e-9)
    assert np.abs(velocities[0]).max() > 1e-3


def test_refuses_surfaces_and_starts_that_cannot_be():
    robot = ROBOTS["planar_sphere"]
    good = rigid_surface(robot)
    for change, name in (
        ({"normal": 2.0 * UP}, "length 1"),
        ({"normal": np.zeros(3)}, "length 1"),
        ({"point": np.array([0.0, np.nan, 0.0])}, "point"),
    ):
        with pytest.raises(InvalidInputError, match=name):
            dataclasses.replace(good, **change)
    with pytest.raises(InvalidInputError, match="inside the surface"):
        PlantC(robot, HOMES["planar_rrr"], rigid_surface(robot, -0.01))


def test_events_without_end_are_reported(monkeypatch):
    monkeypatch.setattr(rigid_contact_plant, "MOST_EVENTS", 0)
    plant = rigid_plant(PlantC, ROBOTS["planar_sphere"], rigid_surface(ROBOTS["planar_sphere"]))
    with pytest.raises(SimulationError, match="stalls at") as caught:
        run(plant, 10)
    assert (caught.value.part, caught.value.found) == ("contact", "1 events in one sample")
    assert caught.value.time == pytest.approx(5e-4 / 0.17, rel=0.02)
