"""The plant against an independent integration, limit cases, conservation and the published impact map."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from impact_control.impacts import (
    ExponentialHuntCrossley,
    HuntCrossley,
    LinearSpring,
    predict_post_impact_velocity,
    regularised_coulomb_gain,
)
from impact_control.observation.post_impact_velocity import gross_post_impact_velocity
from impact_control.robots import Dynamics, InertiaModel, contact_point_jacobian, load_robot
from impact_control.simulation import FlexibleJointPlant, PlantOptions
from impact_control.util.errors import InvalidInputError
from simulated_arms import HOMES, STEEL, energy, kinetic_energy, moving_plant, state_of, surface_below, undamped

ROBOT = load_robot()
HOME = HOMES["panda"]
UP = np.array([0.0, 0.0, 1.0])
WOOD = ExponentialHuntCrossley(1.9657e9, 1.9657e13, 1.5)
"""Proper 2021, Table 3.1."""

TOOLS = [
    ("panda", "sphere"),
    ("panda", "edge"),
    ("panda", "plate"),
    ("planar_rrr", None),
    ("planar_rrr", "planar_edge"),
]
FRICTIONLESS_JOINTS = PlantOptions(joint_friction=False)
CONSERVATIVE = PlantOptions(joint_friction=False, torque_loop=False, gravity_compensation=False)


def run(plant, samples, torque=0.0):
    """Step the plant, return the link velocities at all samples."""
    torques = np.zeros(plant.link_position.size) + torque
    velocities = [plant.link_velocity.copy()]
    for _ in range(samples):
        plant.step(torques)
        velocities.append(plant.link_velocity.copy())
    return np.array(velocities)


def reference_solution(plant, torque, duration):
    """Integrate Rey Arias (1)-(5) whole, nothing frozen, with SciPy, from the plant's state."""
    robot, surface, tool = plant.robot, plant.surface, plant.robot.end_effector
    model = robot.pinocchio_model
    data = model.createData()
    n = model.nv
    k, d = robot.transmission.stiffness, robot.transmission.damping
    b = robot.transmission.motor_inertia
    gain = b / robot.transmission.reduced_motor_inertia - 1.0
    rate_gain = gain * d / k
    cutoff = 2.0 * math.pi * robot.torque_loop.filter_cutoff

    def right_side(_, x, actuation):
        q, dq, theta, dtheta, filtered = x.reshape(5, n)
        pin.forwardKinematics(model, data, q, dq)
        pin.computeJointJacobians(model, data)
        pin.updateFramePlacements(model, data)
        jacobian = pin.getFrameJacobian(model, data, robot.contact_frame_id, pin.LOCAL_WORLD_ALIGNED)
        placement = data.oMf[robot.contact_frame_id]
        outside = np.zeros(n)
        for point in tool.contact_points:
            offset = placement.rotation @ point - tool.radius * surface.normal
            gap = surface.normal @ (placement.translation + offset - surface.point)
            contact = contact_point_jacobian(jacobian, offset)
            v = contact @ dq
            closing = -surface.normal @ v
            normal_force = surface.law.force(-gap, closing) if gap < 0.0 else 0.0
            force = normal_force * surface.normal
            slip = v + closing * surface.normal
            friction = regularised_coulomb_gain(float(np.linalg.norm(slip)), surface.friction, surface.slip_scale)
            force -= friction * max(normal_force, 0.0) * slip
            outside += contact.T @ force
        spring = k * (theta - q)
        transmitted = spring + d * (dtheta - dq)
        friction = robot.friction.torque(dq, np.zeros(n))
        ddq = pin.aba(model, data, q, dq, transmitted - friction + outside)
        return np.concatenate([dq, ddq, dtheta, (actuation - transmitted) / b, cutoff * (spring - filtered)])

    state = (
        plant.link_position,
        plant.link_velocity,
        plant.motor_position,
        plant.motor_velocity,
        plant.filtered_torque,
    )
    x = np.concatenate(state)
    tick = 1.0 / robot.torque_loop.rate
    for _ in range(round(duration / tick)):
        q, _, theta, _, filtered = x.reshape(5, n)
        u = torque + pin.computeGeneralizedGravity(model, data, q)
        spring = k * (theta - q)
        actuation = u + gain * (u - filtered) - rate_gain * cutoff * (spring - filtered)
        x = solve_ivp(
            right_side, (0.0, tick), x, method="LSODA", args=(actuation,), rtol=1e-9, atol=1e-11, max_step=2e-5
        ).y[:, -1]
    return x.reshape(5, n)


@pytest.mark.parametrize(
    ("name", "tool", "law", "tilt"),
    [
        ("panda", "sphere", STEEL, 0.0),
        ("panda", "plate", HuntCrossley(3.2e7, 1e8, 1.5), 0.003),
        ("planar_rrr", "planar_edge", LinearSpring(2e6), -0.003),
    ],
)
def test_agrees_with_an_independent_integration_through_an_impact(name, tool, law, tilt):
    robot = load_robot(name, tool)
    plant = moving_plant(robot, surface_below(robot, tilt=tilt, law=law))
    torque = np.array([1.0, -2.0, 0.5, 1.5, -0.3, 0.4, 0.1])[: plant.link_position.size]
    expected = reference_solution(plant, torque, 0.006)
    before = plant.link_velocity.copy()
    run(plant, 6, torque)
    assert plant.first_contact_time == pytest.approx(0.0005 / 0.17, rel=0.05)
    jump = np.linalg.norm(expected[1] - before)
    assert jump > 0.1
    np.testing.assert_allclose(plant.link_velocity, expected[1], atol=2e-3 * jump)
    np.testing.assert_allclose(plant.link_position, expected[0], atol=1e-6)
    np.testing.assert_allclose(plant.motor_velocity, expected[3], atol=2e-3 * jump)


@pytest.mark.parametrize("law", [STEEL, WOOD], ids=["steel", "wood"])
@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_halving_the_steps_changes_the_post_impact_velocity_little(name, tool, law):
    """Less than 0.1 % of the jump at every sample but for the refresh of the rigid-body terms, 0.1 % after it."""
    robot = load_robot(name, tool)
    surface = surface_below(robot, law=law)

    def velocities(options):
        return run(moving_plant(robot, surface, options), 20)

    default = FRICTIONLESS_JOINTS
    finer = dataclasses.replace(default, largest_step=default.largest_step / 2, step_safety=default.step_safety / 2)
    coarse, fine = velocities(default), velocities(finer)
    finest = velocities(dataclasses.replace(finer, refresh_ticks=1))
    jump = np.abs(fine - fine[0]).max()
    assert np.abs(coarse - fine).max() < 1e-3 * jump
    assert np.abs(coarse[-1] - finest[-1]).max() < 1e-3 * jump


def test_rests_under_zero_command():
    plant = FlexibleJointPlant(ROBOT, HOME, surface_below(ROBOT))
    run(plant, 200)
    assert np.abs(plant.link_velocity).max() < 1e-9
    np.testing.assert_allclose(plant.link_position, HOME, atol=1e-9)
    assert plant.normal_force == 0.0


@pytest.mark.parametrize("gravity", [False, True], ids=["weightless", "swinging"])
@pytest.mark.parametrize("name", HOMES)
def test_conserves_energy_without_dissipation(name, gravity):
    """Drift below 1e-4 of the largest kinetic energy over 1 s, from 1 rad/s on or falling freely."""
    plant = FlexibleJointPlant(undamped(name, gravity), HOMES[name], None, CONSERVATIVE)
    plant.link_velocity[:] = np.array([0.5, -0.3, 0.4, 0.6, -0.5, 0.7, 0.3])[: plant.link_velocity.size] * 2.0
    plant.motor_velocity[:] = plant.link_velocity
    start, drift, largest = energy(plant), 0.0, kinetic_energy(plant)
    for _ in range(1000):
        plant.step(np.zeros(plant.link_position.size))
        drift = max(drift, abs(energy(plant) - start))
        largest = max(largest, kinetic_energy(plant))
    assert drift < 1e-4 * largest


def test_the_predicted_velocity_makes_the_rigid_body_terms_second_order():
    """Twice the interval: four times the drift of the energy; with the velocity of now it would be twice."""

    def drift(**options):
        plant = FlexibleJointPlant(undamped(), HOME, None, dataclasses.replace(CONSERVATIVE, **options))
        plant.link_velocity[:] = np.array([1.0, -0.6, 0.8, 1.2, -1.0, 1.4, 0.6])
        plant.motor_velocity[:] = plant.link_velocity
        start = energy(plant)
        run(plant, 300)
        return abs(energy(plant) - start)

    assert drift(refresh_ticks=4) / drift(refresh_ticks=2) > 3.2


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_an_impact_only_takes_energy(name, tool):
    tooled = load_robot(name, tool)
    robot = dataclasses.replace(
        tooled, transmission=dataclasses.replace(tooled.transmission, damping=np.zeros(len(tooled.joint_names)))
    )
    plant = moving_plant(robot, surface_below(robot), CONSERVATIVE)
    energies = [energy(plant)]
    kinetic = kinetic_energy(plant)
    for _ in range(12):
        plant.step(np.zeros(plant.link_position.size))
        energies.append(energy(plant))
    assert energies[0] - energies[-1] > 0.02 * kinetic
    # What the frozen rigid-body terms add is of the size of the drift allowed without an impact.
    assert max(np.diff(energies)) < 1e-4 * kinetic


def test_an_elastic_impact_keeps_the_energy():
    """A spring without loss and without friction: what goes into the contact comes back."""
    robot = undamped("planar_rrr", gravity=True)
    plant = moving_plant(robot, surface_below(robot, law=LinearSpring(1e5), friction=0.0), CONSERVATIVE)
    start, kinetic = energy(plant), kinetic_energy(plant)
    touched = False
    for _ in range(100):
        plant.step(np.zeros(3))
        touched = touched or plant.normal_force > 0.0
        if touched and plant.gap > 0.0:
            break
    assert touched and plant.gap > 0.0
    assert energy(plant) == pytest.approx(start, abs=2e-4 * kinetic)


def test_post_impact_velocity_follows_the_reduced_motor_inertia():
    """Rey Arias 2024 section III: of M, M + B_theta, M + B_rho the second predicts the gross velocity best."""
    plant = moving_plant(ROBOT, surface_below(ROBOT, friction=0.0), FRICTIONLESS_JOINTS, linear=(0.0, 0.0, -0.17))
    times, positions = [], []
    state = None
    for _ in range(110):
        if math.isnan(plant.first_contact_time):
            state = plant.link_position.copy(), plant.link_velocity.copy()
        plant.step(np.zeros(7))
        times.append(plant.time)
        positions.append(plant.link_position.copy())
    observed = gross_post_impact_velocity(np.array(times), np.array(positions), plant.first_contact_time)
    dynamics = Dynamics(ROBOT)
    dynamics.compute(*state)
    jacobian = contact_point_jacobian(dynamics.jacobian, -ROBOT.end_effector.radius * UP)
    errors = {
        model: np.abs(
            predict_post_impact_velocity(dynamics.inertia(model), jacobian, UP, state[1], 0.0).velocity - observed
        ).mean()
        for model in InertiaModel
    }
    assert min(errors, key=errors.get) is InertiaModel.REDUCED_MOTORS


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_gaps_are_those_of_the_forward_kinematics(name, tool):
    robot = load_robot(name, tool)
    surface = surface_below(robot, tilt=0.05)
    plant = moving_plant(robot, surface, linear=(0.1, 0.0, 0.2))
    for samples in (0, 30):
        run(plant, samples)
        dynamics = state_of(robot, plant.link_position)
        points = dynamics.position + robot.end_effector.contact_points @ dynamics.rotation.T
        expected = (points - surface.point) @ surface.normal - robot.end_effector.radius
        np.testing.assert_allclose(plant.gaps, expected, atol=2e-8)
        assert plant.gap == plant.gaps.min()


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_held_against_a_surface_the_contacts_carry_the_commanded_force(name, tool):
    """J^T f_command + sum J_i^T f_i = 0 at rest: 30 N down, through the middle of the contact points."""
    robot = load_robot(name, tool)
    surface = surface_below(robot, distance=1e-7, law=LinearSpring(1e6))
    plant = FlexibleJointPlant(robot, HOMES[name], surface, FRICTIONLESS_JOINTS)
    for _ in range(600):
        jacobian = state_of(robot, plant.link_position).jacobian
        # Damped, so that it comes to rest, also in its null space.
        plant.step(jacobian.T @ [0.0, 0.0, -30.0, 0.0, 0.0, 0.0] - 20.0 * plant.link_velocity)
    assert np.abs(plant.link_velocity).max() < 1e-6
    np.testing.assert_allclose(plant.contact_force, [0.0, 0.0, 30.0], atol=3e-3)
    np.testing.assert_allclose(plant.normal_forces, 30.0 / plant.gaps.size, atol=3e-3)
    np.testing.assert_allclose(plant.contact_forces.sum(axis=0), plant.contact_force, atol=1e-9)
    np.testing.assert_allclose(plant.contact_forces @ surface.normal, plant.normal_forces, atol=1e-9)


def test_the_points_of_a_tilted_edge_touch_one_after_the_other():
    robot = load_robot("planar_rrr", "planar_edge")
    plant = moving_plant(robot, surface_below(robot, tilt=0.002), linear=(0.0, 0.0, -0.2))
    run(plant, 20)
    first, second = np.sort(plant.first_contact_times)
    assert first == plant.first_contact_time == pytest.approx(5e-4 / 0.2, rel=0.02)
    assert math.isfinite(second) and second > first + 5e-4


def test_reset_starts_again_and_forgets_the_contact():
    plant = moving_plant(ROBOT, surface_below(ROBOT))
    run(plant, 6)
    assert plant.first_contact_time > 0.0
    plant.reset(HOME, None)
    assert plant.time == 0.0
    assert math.isnan(plant.first_contact_time)
    assert plant.gap == math.inf
    assert not plant.link_velocity.any()


def test_refuses_to_start_inside_the_surface():
    with pytest.raises(InvalidInputError, match="inside the surface"):
        FlexibleJointPlant(ROBOT, HOME, surface_below(ROBOT, distance=-0.01))


@pytest.mark.parametrize("configuration", [np.zeros(6), np.append(HOME[:6], math.nan)])
def test_refuses_a_configuration_that_is_none(configuration):
    with pytest.raises(InvalidInputError, match="configuration"):
        FlexibleJointPlant(ROBOT, configuration)


def test_refresh_must_divide_the_sample_period():
    with pytest.raises(InvalidInputError, match="refresh_ticks"):
        FlexibleJointPlant(ROBOT, HOME, None, PlantOptions(refresh_ticks=3))
