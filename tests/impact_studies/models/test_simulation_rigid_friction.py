"""Plants B and C on several points with friction: held, braked, landing tilted, and the laws of contact throughout."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.robots import InertiaModel, load_robot
from impact_control.simulation import FlexibleJointPlant
from impact_studies.models.rigid_contact.forces import SHORTEST_STEP
from rigid_contact_arms import (
    FREE_JOINTS,
    UNDRIVEN,
    PlantB,
    PlantC,
    energy,
    kinetic_energy,
    point_jacobians,
    rigid_plant,
    rigid_surface,
    state_at,
)
from simulated_arms import HOMES, surface_below, velocity_for

KINDS = [PlantB, PlantC]
ROBOTS = {
    tool: load_robot(name, tool)
    for name, tool in [("panda", "edge"), ("panda", "plate"), ("planar_rrr", "planar_edge")]
}
DEEPEST = {PlantB: 2e-7, PlantC: 2e-5}
"""[m] A touch that is not seen lasts less than a step h: a h^2 / 8 with up to 150 m/s^2. The time steps of B, which go
up to the touch at the speed at their start, a h^2 / 2 with 26 us, and may be missed once more."""


def undamped(robot):
    """Return the robot with transmissions that do not dissipate."""
    transmission = dataclasses.replace(robot.transmission, damping=np.zeros(len(robot.joint_names)))
    return dataclasses.replace(robot, transmission=transmission)


def assert_laws_of_contact(plant, deepest):
    """No penetration beyond `deepest` [m], no pull, in the cone of friction, stuck points rest, slip is braked."""
    plane = plant.surface
    forces = plant.contact_forces
    normal = forces @ plane.normal
    tangential = forces - np.outer(normal, plane.normal)
    friction = np.linalg.norm(tangential, axis=1)
    jacobians = point_jacobians(plant.robot, plane, plant.link_position)
    velocity = jacobians @ plant.link_velocity
    slip = velocity - np.outer(velocity @ plane.normal, plane.normal)
    speed = np.linalg.norm(slip, axis=1)
    limit = plane.friction * normal
    size = 1e-9 * max(1.0, np.abs(forces).max())
    modes = np.array(plant.contact_modes)
    assert plant.gap > -deepest
    assert normal.min() >= 0.0 and not forces[modes == "open"].any()
    assert np.all(friction <= limit + size)
    assert np.all(speed[modes == "stick"] < 1e-8)
    np.testing.assert_allclose((velocity @ plane.normal)[modes != "open"], 0.0, atol=1e-8)
    slipping = modes == "slip"
    np.testing.assert_allclose(friction[slipping], limit[slipping], atol=size)
    braked = -np.einsum("pi,pi->p", tangential, slip)
    assert np.all(braked[slipping] >= -size * speed[slipping])
    # Friction that turns a slower slip within the shortest step is not followed in its direction.
    inertia = state_at(plant.robot, plant.link_position, plant.link_velocity).inertia(InertiaModel.LINKS)
    mobility = np.einsum("pin,pin->p", jacobians, np.linalg.solve(inertia, jacobians.swapaxes(1, 2)).swapaxes(1, 2))
    moving = slipping & (speed > limit * mobility * SHORTEST_STEP)
    np.testing.assert_allclose(braked[moving], (limit * speed)[moving], rtol=1e-6, atol=1e-12)


def command(plant, force, damping):
    """Return the torque [Nm] of a force (3,) [N] at the origin of E and of a damping [Nm s/rad] of the joints."""
    state = state_at(plant.robot, plant.link_position, plant.link_velocity)
    return state.jacobian[:3].T @ force - damping * plant.link_velocity


@pytest.mark.parametrize("tool", ROBOTS)
@pytest.mark.parametrize("kind", KINDS)
def test_held_aside_within_friction_it_carries_the_command_and_does_not_creep(kind, tool):
    """The force aside is 0.83 of what friction can hold of the force down."""
    robot, force = ROBOTS[tool], np.array([7.5, 0.0, -30.0])
    plant = kind(robot, HOMES[robot.name], rigid_surface(robot, 0.0, friction=0.3), FREE_JOINTS)
    course = []
    for _ in range(300):
        plant.step(command(plant, force, 20.0))
        assert_laws_of_contact(plant, DEEPEST[kind])
        state = state_at(robot, plant.link_position, plant.link_velocity)
        course.append([*state.position, *state.rotation.ravel()])
    assert set(plant.contact_modes) == {"stick"}
    if tool != "edge":
        # The edge rolls about itself, its points stick all the same.
        np.testing.assert_allclose(course[-1], course[-100], atol=1e-11)
        # The elbow of the Panda still settles.
        np.testing.assert_allclose(plant.contact_force, -force, atol=0.01 * np.linalg.norm(force))


@pytest.mark.parametrize("tool", ROBOTS)
@pytest.mark.parametrize("kind", KINDS)
def test_slip_of_several_points_is_braked_stops_and_stays(kind, tool):
    robot = ROBOTS[tool]
    plant = rigid_plant(kind, robot, rigid_surface(robot, 0.0, friction=0.5), linear=(0.05, 0.0, 0.0))
    modes = []
    for _ in range(180):
        plant.step(command(plant, np.array([0.0, 0.0, -40.0]), 20.0))
        assert_laws_of_contact(plant, DEEPEST[kind])
        modes.append(set(plant.contact_modes))
    assert "slip" in modes[0]
    assert all(mode == {"stick"} for mode in modes[-20:])


def slide(plant, samples):
    """Push a plant down with 40 N; return the positions of E along x [m] and the forces of the contacts (3,) [N]."""
    places, forces = [], []
    for _ in range(samples):
        plant.step(command(plant, np.array([0.0, 0.0, -40.0]), 0.0))
        places.append(state_at(plant.robot, plant.link_position, plant.link_velocity).position[0])
        forces.append(np.array(plant.contact_force))
    return np.array(places), np.array(forces)


@pytest.mark.parametrize("tool", ["planar_edge", "plate"])
def test_b_is_braked_as_plant_a_on_a_stiff_surface(tool):
    """The second method: contact of finite stiffness, friction smoothed over 0.1 mm/s.

    A bounces in the first samples, under less than its final load, which moves its path by some 3 %.
    """
    robot = ROBOTS[tool]
    start = velocity_for(robot, (0.05, 0.0, 0.0))
    stiff = dataclasses.replace(surface_below(robot, 0.0, friction=0.5), slip_scale=1e-4)
    other = FlexibleJointPlant(robot, HOMES[robot.name], stiff, FREE_JOINTS.joints)
    other.link_velocity[:] = start
    other.motor_velocity[:] = start
    plant = rigid_plant(PlantB, robot, rigid_surface(robot, 0.0, friction=0.5), linear=(0.05, 0.0, 0.0))
    (places, forces), (others, other_forces) = slide(plant, 30), slide(other, 30)
    travel = np.abs(others - others[0]).max()
    assert travel > 2e-4
    assert np.abs(places - others).max() < 0.07 * travel
    # Both at the limit of friction, where they slip and the load is largest.
    np.testing.assert_allclose(forces[6:12], other_forces[6:12], atol=0.02 * np.abs(forces[6:12]).max())
    assert np.abs(forces[6:12, 0]).min() > 30.0


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(KINDS), st.sampled_from(list(ROBOTS)), st.integers(0, 2**32 - 1))
def test_the_laws_of_contact_hold_however_it_lands_and_is_pushed(kind, tool, seed):
    """Any friction, restitution, tilt, speed and push; it never stalls."""
    robot, random = ROBOTS[tool], np.random.default_rng(seed)
    aside = np.array([1.0, float(robot.name == "panda"), 1.0])
    plane = rigid_surface(
        robot,
        friction=random.uniform(0.05, 2.0),
        tilt=random.choice([0.0, 1.0]) * random.uniform(-0.05, 0.05),
        restitution=random.choice([0.0, 0.3, 0.6]),
    )
    linear = aside * random.uniform([-0.2, -0.2, -0.25], [0.2, 0.2, -0.05])
    force = aside * random.uniform([-30.0, -30.0, -60.0], [30.0, 30.0, 0.0])
    plant = rigid_plant(kind, robot, plane, linear=linear)
    for _ in range(40):
        plant.step(command(plant, force, 2.0))
        assert_laws_of_contact(plant, DEEPEST[kind])
    assert plant.impacts
    for impact in plant.impacts:
        before, after = impact.velocity_before, impact.velocity_after
        assert impact.energy_change <= 1e-9 * np.sum((after - before) ** 2)


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(KINDS), st.sampled_from(list(ROBOTS)), st.integers(0, 2**32 - 1))
def test_an_arm_that_falls_on_the_surface_only_loses_energy(kind, tool, seed):
    random = np.random.default_rng(seed)
    robot = undamped(ROBOTS[tool])
    plane = rigid_surface(robot, friction=random.uniform(0.1, 0.8), tilt=random.uniform(-0.03, 0.03))
    plant = rigid_plant(kind, robot, plane, UNDRIVEN, (random.uniform(-0.2, 0.2), 0.0, -0.2))
    energies, largest = [energy(plant)], kinetic_energy(plant)
    for _ in range(30):
        plant.step(np.zeros(len(robot.joint_names)))
        energies.append(energy(plant))
        largest = max(largest, kinetic_energy(plant))
    assert plant.impacts
    assert np.diff(energies).max() < 1e-5 * largest
