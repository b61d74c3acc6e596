"""Rigid contact of plants B and C: impacts against the maps, the laws of contact, bounces, release, stick and slip."""

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
from simulated_arms import HOMES, undamped, velocity_for

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


def hit(kind, tool, rates, **surface):
    """Return plant, surface and velocity before of an arm that hits a surface it is put on, or None if it does not."""
    robot = ROBOTS[tool]
    plane, q = rigid_surface(robot, 0.0, **surface), HOMES[robot.name]
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
    st.floats(0.0, 1.0),
)
def test_one_point_jumps_as_the_impact_map_says(kind, tool, rates, tilt, restitution):
    made = hit(kind, tool, rates, tilt=tilt, restitution=restitution)
    assume(made is not None)
    plant, plane, dq = made
    robot, q = plant.robot, HOMES[plant.robot.name]
    inertia = state_at(robot, q, dq).inertia(INERTIA[kind])
    jacobian = point_jacobians(robot, plane, q)[0]
    expected = predict_post_impact_velocity(inertia, jacobian, plane.normal, dq, 0.0, restitution).velocity
    (impact,) = plant.impacts
    np.testing.assert_array_equal(impact.velocity_before, dq)
    np.testing.assert_allclose(impact.velocity_after, expected, atol=1e-9)
    np.testing.assert_array_equal(plant.link_position, q)
    if kind is PlantB:
        # Proper (2.56): the motors do not feel it.
        np.testing.assert_array_equal(plant.motor_velocity, dq)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(list(INERTIA)),
    st.lists(number, min_size=3, max_size=3),
    st.floats(-0.5, 0.5),
    st.floats(0.0, 1.0),
)
def test_friction_of_one_point_in_a_plane_stops_the_slip_or_is_at_its_limit(kind, rates, tilt, friction):
    """The impulse that stops the point, if it lies in the cone of friction; else one on its edge, against the slip."""
    made = hit(kind, "planar_sphere", rates, tilt=tilt, friction=friction)
    assume(made is not None)
    plant, plane, dq = made
    along = np.cross([0.0, 1.0, 0.0], plane.normal)
    rows = np.array([plane.normal, along]) @ point_jacobians(plant.robot, plane, HOMES["planar_rrr"])[0]
    W = rows @ np.linalg.solve(state_at(plant.robot, HOMES["planar_rrr"], dq).inertia(INERTIA[kind]), rows.T)
    before = rows @ dq
    stop = -np.linalg.solve(W, before)
    (impact,) = plant.impacts
    normal, tangential = impact.impulse[0] @ plane.normal, impact.impulse[0] @ along
    size = np.abs(stop).max()
    assume(abs(abs(stop[1]) - friction * stop[0]) > 1e-6 * size)
    if stop[0] > 0.0 and abs(stop[1]) < friction * stop[0]:
        np.testing.assert_allclose([normal, tangential], stop, atol=1e-8 * size)
        assert plant.contact_modes == ("stick",)
    else:
        after = before + W @ [normal, tangential]
        assert after[0] == pytest.approx(0.0, abs=1e-8)
        assert abs(tangential) == pytest.approx(friction * normal, abs=1e-8 * size)
        assert tangential * after[1] <= 1e-9 * size


@settings(deadline=None, max_examples=80)
@given(
    st.sampled_from(list(INERTIA)),
    st.sampled_from([tool for _, tool in TOOLS]),
    st.lists(number, min_size=7, max_size=7),
    st.floats(-0.3, 0.3),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_an_impact_obeys_the_laws_of_contact(kind, tool, rates, tilt, friction, restitution):
    """Momentum with Pinocchio's Jacobians, no pull, no penetration, cone of friction, no energy gained."""
    made = hit(kind, tool, rates, tilt=tilt, friction=friction, restitution=restitution)
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
    assert np.all(np.linalg.norm(tangential, axis=1) <= friction * normal * (1.0 + 1e-9) + 1e-12)
    change = 0.5 * impact.velocity_after @ inertia @ impact.velocity_after - 0.5 * dq @ inertia @ dq
    assert impact.energy_change == pytest.approx(change, abs=1e-9)
    assert change <= 1e-9
    if restitution == 0.0:
        np.testing.assert_allclose(normal * (after @ plane.normal), 0.0, atol=1e-8)
    if restitution == 1.0 and friction == 0.0 and touched.sum() == 1:
        assert change == pytest.approx(0.0, abs=1e-9)


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
        assert "open" not in plant.contact_modes
    else:
        assert "open" in plant.contact_modes


def pressed(kind, tool, force, friction, samples=400):
    """Return a plant that rests on the surface under a force (3,) [N] at the origin of E, damped, and the surface."""
    robot = ROBOTS[tool]
    plane = rigid_surface(robot, 0.0, friction=friction)
    plant = kind(robot, HOMES[robot.name], plane, FREE_JOINTS)
    for _ in range(samples):
        jacobian = state_at(robot, plant.link_position, plant.link_velocity).jacobian
        plant.step(jacobian[:3].T @ force - 20.0 * plant.link_velocity)
        assert plant.normal_forces.min() >= 0.0
    return plant, plane


@pytest.mark.parametrize(
    ("kind", "tool"),
    [
        (PlantB, "sphere"),
        (PlantB, "planar_sphere"),
        (PlantC, "sphere"),
        (PlantC, "planar_sphere"),
        (PlantC, "plate"),
        (PlantC, "planar_edge"),
        (PlantC, "edge"),
        (PlantB, "plate"),
        (PlantB, "planar_edge"),
        (PlantB, "edge"),
    ],
)
def test_held_against_the_surface_the_contacts_carry_the_commanded_force(kind, tool):
    # A sphere rolls off under what goes past its contact point, and so does the edge about itself.
    aside = 4.0 if tool in ("plate", "planar_edge") else 0.0
    plant, _ = pressed(kind, tool, np.array([aside, 0.0, -30.0]), 0.3)
    assert np.abs(plant.link_velocity).max() < 1e-5
    np.testing.assert_allclose(plant.contact_force, [-aside, 0.0, 30.0], atol=2e-2)
    np.testing.assert_allclose(plant.gaps, 0.0, atol=1e-9)
    assert set(plant.contact_modes) == {"stick"}


@pytest.mark.parametrize("tool", ROBOTS)
@pytest.mark.parametrize("kind", INERTIA)
def test_pulled_by_more_than_friction_holds_it_slips_against_mu_times_the_normal_force(kind, tool):
    plant, plane = pressed(kind, tool, np.array([20.0, 0.0, -30.0]), 0.3, 12)
    closed = np.array(plant.contact_modes) != "open"
    slips = (point_jacobians(plant.robot, plane, plant.link_position) @ plant.link_velocity)[closed]
    assert slips[:, 0].min() > 1e-3
    np.testing.assert_allclose(slips @ plane.normal, 0.0, atol=1e-9)
    force = plant.contact_force
    tangential = force - (force @ UP) * UP
    assert "slip" in plant.contact_modes
    assert np.linalg.norm(tangential) <= 0.3 * force[2] * (1.0 + 1e-9)
    if len(plant.gaps) == 1:
        expected = -0.3 * force[2] * slips[0] / np.linalg.norm(slips[0])
        np.testing.assert_allclose(tangential, expected, atol=1e-6 * force[2])


def test_slip_is_braked_stops_and_stays():
    surface = rigid_surface(ROBOTS["sphere"], friction=0.5)
    plant = rigid_plant(PlantC, ROBOTS["sphere"], surface, linear=(0.02, 0.03, -0.1))
    modes, speeds = [], []
    for _ in range(40):
        jacobian = state_at(plant.robot, plant.link_position, plant.link_velocity).jacobian
        plant.step(jacobian[2] * -40.0)
        modes.append(plant.contact_modes[0])
        speeds.append(np.linalg.norm((jacobian @ plant.link_velocity)[:2]))
    first = modes.index("stick")
    assert "slip" in modes[:first] or modes[first - 1] == "open"
    assert set(modes[first:]) == {"stick"}


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
        if opened is None and set(plant.contact_modes) == {"open"}:
            opened = force
    assert opened == pytest.approx(0.0, abs=0.5)
    assert plant.gap > 1e-5 and plant.normal_force == 0.0 and not plant.contact_force.any()


def test_bounces_get_smaller_and_end_after_the_time_of_the_geometric_series():
    """v_k = e^k v_0 and 2 v_k / a between touches add up to 2 e v_0 / (a (1 - e)): then it rests on the surface."""
    robot = undamped("planar_rrr")
    plane, q, e = rigid_surface(robot, 0.0, restitution=0.5), HOMES["planar_rrr"], 0.5
    dq = velocity_for(robot, (0.0, 0.0, -0.05))
    plant = PlantC(robot, q, None, FREE_JOINTS)
    state = state_at(robot, q, dq)
    inertia = state.inertia(InertiaModel.REDUCED_MOTORS)
    row = state.jacobian[2]
    # A constant torque that accelerates the point along the normal only, against the bounces.
    push = -inertia @ np.linalg.solve(inertia, row) / (row @ np.linalg.solve(inertia, row)) * 20.0
    plant.reset(q, plane, dq)
    for _ in range(8):
        plant.step(push)
    times = np.array([impact.time for impact in plant.impacts])
    normals = np.array([[row @ impact.velocity_before, row @ impact.velocity_after] for impact in plant.impacts])
    np.testing.assert_allclose(normals[:-1, 1], -e * normals[:-1, 0], rtol=5e-2)
    assert 8 <= len(times) <= 12
    assert times[-1] == pytest.approx(2.0 * e * 0.05 / (20.0 * (1.0 - e)), rel=0.05)
    assert plant.contact_modes == ("slip",) and plant.normal_force > 0.0


@pytest.mark.parametrize("tool", ["edge", "planar_edge", "plate"])
@pytest.mark.parametrize("kind", INERTIA)
def test_what_lands_tilted_rocks_and_comes_to_rest_on_all_points(kind, tool):
    robot = ROBOTS[tool]
    plane = rigid_surface(robot, tilt=0.003, friction=0.4, restitution=0.5)
    plant = rigid_plant(kind, robot, plane, linear=(0.0, 0.0, -0.1))
    deepest = 0.0
    for _ in range(300):
        jacobian = state_at(robot, plant.link_position, plant.link_velocity).jacobian
        plant.step(jacobian[2] * -30.0 - 10.0 * plant.link_velocity)
        deepest = min(deepest, plant.gap)
    first = plant.impacts[0].impulse @ plane.normal
    assert first[0] == 0.0 < first[1] or first[1] == 0.0 < first[0]
    assert deepest > -1e-8
    assert "open" not in plant.contact_modes
    assert all(impact.energy_change <= 1e-12 for impact in plant.impacts)


@pytest.mark.parametrize("tool", ROBOTS)
@pytest.mark.parametrize("kind", INERTIA)
def test_contact_does_not_hold_an_arm_that_leaves(kind, tool):
    """From rest on the surface upwards: the same motion as without a surface."""
    robot = ROBOTS[tool]
    q, surface = HOMES[robot.name], rigid_surface(robot, 0.0, friction=0.5)
    lift = state_at(robot, q, np.zeros(q.size)).jacobian[2] * 10.0
    velocities = []
    for plane in (surface, None):
        plant = kind(robot, q, plane, FREE_JOINTS)
        velocities.append(run(plant, 20, lift))
    np.testing.assert_allclose(velocities[0], velocities[1], atol=1e-9)
    assert np.abs(velocities[0]).max() > 1e-3


@pytest.mark.parametrize("kind", INERTIA)
def test_large_friction_stops_the_slip_and_small_friction_does_nothing(kind):
    """mu to infinity: the point does not move along the surface after the impact; mu to zero: as without friction."""
    robot, after = ROBOTS["sphere"], {}
    for mu in (0.0, 1e-9, 1e4):
        plane = rigid_surface(robot, 0.0, friction=mu)
        plant = rigid_plant(kind, robot, plane)
        after[mu] = plant.link_velocity.copy()
    assert plant.contact_modes == ("stick",)
    velocity = point_jacobians(robot, plane, plant.link_position)[0] @ after[1e4]
    np.testing.assert_allclose(velocity, 0.0, atol=1e-9)
    np.testing.assert_allclose(after[1e-9], after[0.0], atol=1e-7)


def test_refuses_surfaces_and_starts_that_cannot_be():
    robot = ROBOTS["planar_sphere"]
    good = rigid_surface(robot)
    for change, name in (
        ({"friction": -0.1}, "friction"),
        ({"friction": np.inf}, "friction"),
        ({"restitution": 1.1}, "restitution"),
        ({"restitution": np.nan}, "restitution"),
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
