"""Plants B and C: convergence, energy, an independent integration, the limit of stiff joints, what can be switched."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from impact_control.robots import InertiaModel, load_robot
from impact_control.scenario import JointBacklash
from impact_control.simulation import FlexibleJointPlant, PlantOptions
from impact_control.util.errors import InvalidInputError, SimulationError
from impact_studies.models.rigid_contact.options import RigidContactOptions
from rigid_contact_arms import (
    FREE_JOINTS,
    UNDRIVEN,
    PlantB,
    PlantC,
    Reference,
    energy,
    kinetic_energy,
    rigid_plant,
    rigid_surface,
    run,
    state_at,
)
from simulated_arms import HOMES, undamped

PLANAR = load_robot("planar_rrr")
HOME = HOMES["planar_rrr"]
STILL = np.zeros(3)

COURSES = [
    ("planar_rrr", "planar_sphere", {}),
    ("planar_rrr", "planar_edge", {"tilt": 0.002}),
    ("planar_rrr", "planar_edge", {}),
    ("panda", "sphere", {"tilt": 0.1}),
    ("panda", "plate", {"tilt": 0.002}),
]


def joints(**changes):
    """Return the options of a plant whose joints are without friction, but for `changes`."""
    return RigidContactOptions(joints=dataclasses.replace(FREE_JOINTS.joints, **changes))


@pytest.mark.parametrize(("kind", "step", "samples", "bound"), [(PlantC, 1e-3, 30, 1e-6), (PlantB, 50e-6, 10, 1e-4)])
@pytest.mark.parametrize(("name", "tool", "surface"), COURSES)
def test_halving_the_step_hardly_changes_the_post_impact_velocity(kind, step, samples, bound, name, tool, surface):
    """By less than `bound` of the jump."""
    robot = load_robot(name, tool)
    torque = 2.0 * np.cos(np.arange(len(robot.joint_names)))

    def velocities(largest_step):
        options = dataclasses.replace(FREE_JOINTS, largest_step=largest_step)
        plant = rigid_plant(kind, robot, rigid_surface(robot, **surface), options)
        course = run(plant, samples, torque)
        assert plant.impacts
        return course, plant.impacts

    coarse, impacts = velocities(step)
    fine, _ = velocities(step / 2)
    jump = max(np.abs(impact.velocity_after - impact.velocity_before).max() for impact in impacts)
    assert np.abs(coarse - fine).max() / jump < bound


@pytest.mark.parametrize("gravity", [False, True], ids=["weightless", "swinging"])
@pytest.mark.parametrize("name", HOMES)
@pytest.mark.parametrize("kind", [PlantB, PlantC])
def test_conserves_energy_without_dissipation(kind, name, gravity):
    """Drift below 1e-4 of the largest kinetic energy over 1 s, from 1 rad/s on or falling freely."""
    robot = undamped(name, gravity)
    plant = kind(robot, HOMES[name], None, UNDRIVEN)
    n = len(robot.joint_names)
    plant.reset(HOMES[name], None, np.array([0.5, -0.3, 0.4, 0.6, -0.5, 0.7, 0.3])[:n] * 2.0)
    start, drift, largest = energy(plant), 0.0, kinetic_energy(plant)
    for _ in range(1000):
        plant.step(np.zeros(n))
        drift = max(drift, abs(energy(plant) - start))
        largest = max(largest, kinetic_energy(plant))
    assert drift < 1e-4 * largest


@pytest.mark.parametrize("kind", [PlantB, PlantC])
def test_contact_takes_energy_at_impacts_only(kind):
    robot = undamped("planar_rrr", gravity=True)
    plant = rigid_plant(kind, robot, rigid_surface(robot), UNDRIVEN)
    start, largest = energy(plant), kinetic_energy(plant)
    energies, lost = [start], [0.0]
    for _ in range(100):
        plant.step(STILL)
        energies.append(energy(plant))
        lost.append(-sum(impact.energy_change for impact in plant.impacts))
    assert lost[-1] > 0.02 * largest and np.diff(lost).min() >= 0.0
    assert np.abs(start - np.array(energies) - lost).max() < 1e-5 * largest


@pytest.mark.parametrize(("kind", "tilt", "samples"), [(PlantC, 0.1, 20), (PlantC, 0.0, 12), (PlantB, -0.1, 6)])
def test_agrees_with_an_independent_integration_through_an_impact(kind, tilt, samples):
    plane = rigid_surface(PLANAR, tilt=tilt)
    plant = rigid_plant(kind, PLANAR, plane, RigidContactOptions(), (-0.3, 0.0, -0.17))
    flexible = kind is PlantB
    rows = [plant.link_position, plant.link_velocity]
    if flexible:
        rows += [plant.motor_position, plant.motor_velocity, state_at(PLANAR, HOME, STILL).gravity]
    torque = np.array([1.0, -2.0, -1.5]) - 30.0 * state_at(PLANAR, HOME, STILL).jacobian[2]
    expected = Reference(PLANAR, plane, flexible, torque).advance(np.concatenate(rows), 1e-3 * samples)
    velocities = run(plant, samples, torque)
    jump = np.abs(plant.impacts[0].velocity_after - plant.impacts[0].velocity_before).max()
    assert jump > 0.1
    tolerance = 2e-5 if flexible else 1e-6
    np.testing.assert_allclose(velocities[-1], expected[3:6], atol=tolerance * jump)
    np.testing.assert_allclose(plant.link_position, expected[:3], atol=1e-7 * jump)
    if flexible:
        np.testing.assert_allclose(plant.motor_velocity, expected[9:12], atol=tolerance * jump)


def test_b_tends_to_c_when_the_joints_become_stiff():
    """Without torque loop and friction: what is left of the vibrations is that of C with M + B_rho."""
    surface = rigid_surface(PLANAR)
    options = joints(torque_loop=False)
    torque = -30.0 * state_at(PLANAR, HOME, STILL).jacobian[2]
    rigid = rigid_plant(PlantC, PLANAR, surface, options)
    goal = run(rigid, 60, torque)[-1]
    jump = np.abs(rigid.impacts[0].velocity_after - rigid.impacts[0].velocity_before).max()
    errors = []
    for factor in (1.0, 10.0, 100.0):
        t = PLANAR.transmission
        stiffness = factor * t.stiffness
        # The same relative damping at any stiffness: D goes with sqrt(K B).
        transmission = dataclasses.replace(t, stiffness=stiffness, damping=0.3 * np.sqrt(stiffness * t.motor_inertia))
        robot = dataclasses.replace(PLANAR, transmission=transmission)
        finer = dataclasses.replace(options, largest_step=25e-6 / np.sqrt(factor))
        plant = rigid_plant(PlantB, robot, surface, finer)
        errors.append(np.abs(run(plant, 60, torque)[-1] - goal).max() / jump)
    assert rigid.closed.all()
    assert errors[1] < 0.5 * errors[0] and errors[2] < 0.5 * errors[1]
    assert errors[2] < 0.01


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"joint_friction": True},
        {"torque_loop": False},
        {"torque_filter": False},
        {"gravity_compensation": False},
        {"backlash": JointBacklash(gap=0.002, damping=1.0, dry_friction=0.05)},
    ],
    ids=lambda changes: next(iter(changes), "all"),
)
def test_b_moves_freely_as_plant_a_does_whatever_is_switched(changes):
    options = joints(refresh_ticks=1, **changes)
    plant = PlantB(PLANAR, HOME, None, options)
    other = FlexibleJointPlant(PLANAR, HOME, None, options.joints)
    torque = np.array([3.0, -2.0, 1.0])
    for i in range(60):
        for moved in (plant, other):
            moved.step(torque * (1.0 + np.cos(0.3 * i)))
    largest = np.abs(other.link_velocity).max()
    assert largest > 0.05
    # Plant A holds the rigid-body terms for a tick.
    np.testing.assert_allclose(plant.link_velocity, other.link_velocity, atol=1e-3 * largest)
    np.testing.assert_allclose(plant.motor_velocity, other.motor_velocity, atol=1e-3 * largest)
    np.testing.assert_allclose(plant.joint_torque, other.joint_torque, atol=1e-2)


@pytest.mark.parametrize("kind", [PlantB, PlantC])
def test_rests_under_zero_command_and_without_compensation_under_gravity(kind):
    for compensated in (True, False):
        plant = kind(PLANAR, HOME, rigid_surface(PLANAR), joints(gravity_compensation=compensated))
        run(plant, 50, STILL if compensated else state_at(PLANAR, HOME, STILL).gravity)
        np.testing.assert_allclose(plant.link_position, HOME, atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "inertia"), [({}, InertiaModel.REDUCED_MOTORS), ({"torque_loop": False}, InertiaModel.MOTORS)]
)
def test_c_moves_with_the_inertia_that_the_torque_loop_leaves(changes, inertia):
    plant = PlantC(PLANAR, HOME, None, dataclasses.replace(joints(sample_period=1e-6, **changes)))
    torque = np.array([1.0, -2.0, 0.5])
    plant.step(torque)
    expected = np.linalg.solve(state_at(PLANAR, HOME, STILL).inertia(inertia), torque) * 1e-6
    np.testing.assert_allclose(plant.link_velocity, expected, rtol=1e-5)


def test_friction_of_the_joints_of_c_is_that_of_the_robot():
    rubbing, free = (PlantC(PLANAR, HOME, None, joints(sample_period=1e-6, joint_friction=on)) for on in (True, False))
    dq = np.array([0.4, -0.3, 0.5])
    for plant in (rubbing, free):
        plant.reset(HOME, None, dq)
        plant.step(STILL)
    inertia = state_at(PLANAR, HOME, dq).inertia(InertiaModel.REDUCED_MOTORS)
    torque = inertia @ (free.link_velocity - rubbing.link_velocity) / 1e-6
    np.testing.assert_allclose(torque, PLANAR.friction.torque(dq, STILL), rtol=1e-4)


@pytest.mark.parametrize(
    ("changes", "name"),
    [({"backlash": JointBacklash(gap=0.01)}, "backlash gap"), ({"torque_filter": False}, "torque_filter")],
)
def test_c_refuses_what_rigid_joints_do_not_have(changes, name):
    with pytest.raises(InvalidInputError, match=name):
        PlantC(PLANAR, HOME, None, joints(**changes))


@pytest.mark.parametrize("kind", [PlantB, PlantC])
@pytest.mark.parametrize("value", [np.zeros(2), np.array([0.0, np.nan, 0.0])])
def test_refuses_states_that_are_none(kind, value):
    with pytest.raises(InvalidInputError, match="configuration"):
        kind(PLANAR, value)
    plant = kind(PLANAR, HOME)
    with pytest.raises(InvalidInputError, match="velocity"):
        plant.reset(HOME, None, value)


def test_refuses_options_that_cannot_be():
    for name in ("largest_step", "rest_speed"):
        for value in (0.0, -1.0, np.inf):
            with pytest.raises(InvalidInputError, match=name):
                RigidContactOptions(**{name: value})
    with pytest.raises(InvalidInputError, match="sample_period"):
        PlantB(PLANAR, HOME, None, RigidContactOptions(joints=PlantOptions(sample_period=0.9e-3)))


@pytest.mark.parametrize("kind", [PlantB, PlantC])
def test_what_is_no_number_ends_the_simulation_with_the_joint(kind):
    command = np.zeros(7)
    command[2] = math.nan
    with pytest.raises(SimulationError, match=r"command: no finite number at fr3_joint3$") as caught:
        kind(load_robot("fr3"), HOMES["fr3"]).step(command)
    assert caught.value.part == "command"
    plant = kind(load_robot("fr3"), HOMES["fr3"])
    plant.link_velocity[4] = math.inf
    with pytest.raises(SimulationError) as caught:
        plant.step(np.zeros(7))
    assert caught.value.part == "joint" and "fr3_joint5" in caught.value.found
