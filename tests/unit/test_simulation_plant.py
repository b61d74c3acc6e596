"""The plant against an independent integration, limit cases, conservation and the published impact map."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from impact_control.errors import InvalidInputError
from impact_control.identification import gross_post_impact_velocity
from impact_control.impacts import ExponentialHuntCrossley, RegularisedCoulomb, predict_post_impact_velocity
from impact_control.robots import Dynamics, InertiaModel, contact_point_jacobian, load_robot
from impact_control.simulation import FlexibleJointPlant, PlantOptions, Surface
from impact_control.simulation.plant_kernel import contact_force

ROBOT = load_robot()
HOME = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785])
UP = np.array([0.0, 0.0, 1.0])


def contact_position(q):
    dynamics = Dynamics(ROBOT)
    dynamics.update(q, np.zeros(7))
    return dynamics.position.copy()


def table(distance=0.0005, **changes):
    """Return a steel-like table `distance` below the sphere at HOME."""
    point = contact_position(HOME) - (ROBOT.end_effector.radius + distance) * UP
    values = {"stiffness": 3.2e9, "damping": 3.2e12, "exponent": 1.5, "friction": 0.3} | changes
    return Surface(point=point, normal=UP, **values)


def falling_plant(surface, options=None, velocity=(0.05, 0.0, -0.17), robot=ROBOT):
    """Return a plant at HOME whose end-effector moves with `velocity` [m/s] and does not turn."""
    plant = FlexibleJointPlant(robot, HOME, surface, options)
    dynamics = Dynamics(robot)
    dynamics.update(HOME, np.zeros(7))
    rows = np.vstack([dynamics.jacobian, np.eye(7)[:1]])
    dq = np.linalg.solve(rows, [*velocity, 0.0, 0.0, 0.0, 0.0])
    plant.link_velocity[:] = dq
    plant.motor_velocity[:] = dq
    return plant


def reference_solution(plant, torque, duration):
    """Integrate Rey Arias (1)-(5) whole, nothing frozen, with SciPy, from the plant's state."""
    robot, surface = plant.robot, plant.surface
    model = robot.pinocchio_model
    data = model.createData()
    k, d = robot.transmission.stiffness, robot.transmission.damping
    b = robot.transmission.motor_inertia
    gain = b / robot.transmission.reduced_motor_inertia - 1.0
    rate_gain = gain * d / k
    cutoff = 2.0 * math.pi * robot.torque_loop.filter_cutoff
    law = ExponentialHuntCrossley(surface.stiffness, surface.damping, surface.exponent)
    coulomb = RegularisedCoulomb(surface.friction, surface.slip_scale)

    def right_side(_, x, actuation):
        q, dq, theta, dtheta, filtered = x.reshape(5, 7)
        pin.forwardKinematics(model, data, q, dq)
        pin.computeJointJacobians(model, data)
        pin.updateFramePlacements(model, data)
        jacobian = pin.getFrameJacobian(model, data, robot.contact_frame_id, pin.LOCAL_WORLD_ALIGNED)
        centre = data.oMf[robot.contact_frame_id].translation
        gap = surface.normal @ (centre - surface.point) - robot.end_effector.radius
        point = contact_point_jacobian(jacobian, -robot.end_effector.radius * surface.normal)
        v = point @ dq
        closing = -surface.normal @ v
        normal_force = law.force(-gap, closing) if gap < 0.0 else 0.0
        force = normal_force * surface.normal + coulomb.force(normal_force, v + closing * surface.normal)
        spring = k * (theta - q)
        transmitted = spring + d * (dtheta - dq)
        friction = robot.friction.torque(dq, np.zeros(7))
        ddq = pin.aba(model, data, q, dq, transmitted - friction + point.T @ force)
        return np.concatenate([dq, ddq, dtheta, (actuation - transmitted) / b, cutoff * (spring - filtered)])

    x = np.concatenate(
        [
            plant.link_position,
            plant.link_velocity,
            plant.motor_position,
            plant.motor_velocity,
            plant._state[4],
        ]
    )
    tick = 1.0 / robot.torque_loop.rate
    for _ in range(round(duration / tick)):
        q, _, theta, _, filtered = x.reshape(5, 7)
        u = torque + pin.computeGeneralizedGravity(model, data, q)
        spring = k * (theta - q)
        actuation = u + gain * (u - filtered) - rate_gain * cutoff * (spring - filtered)
        x = solve_ivp(
            right_side,
            (0.0, tick),
            x,
            method="LSODA",
            args=(actuation,),
            rtol=1e-9,
            atol=1e-11,
            max_step=2e-5,
        ).y[:, -1]
    return x.reshape(5, 7)


def test_agrees_with_an_independent_integration_through_an_impact():
    plant = falling_plant(table())
    torque = np.array([1.0, -2.0, 0.5, 1.5, -0.3, 0.4, 0.1])
    expected = reference_solution(plant, torque, 0.006)
    before = plant.link_velocity.copy()
    for _ in range(6):
        plant.step(torque)
    assert plant.first_contact_time == pytest.approx(0.0005 / 0.17, rel=0.05)
    jump = np.linalg.norm(expected[1] - before)
    assert jump > 0.1
    np.testing.assert_allclose(plant.link_velocity, expected[1], atol=2e-3 * jump)
    np.testing.assert_allclose(plant.link_position, expected[0], atol=1e-6)
    np.testing.assert_allclose(plant.motor_velocity, expected[3], atol=2e-3 * jump)


def test_halving_the_steps_changes_the_post_impact_velocity_little():
    """Issue: less than 0.5 % of the jump; the figures stand in PlantOptions."""

    def velocities(options):
        plant = falling_plant(table(), options)
        samples = [plant.link_velocity.copy()]
        for _ in range(20):
            plant.step(np.zeros(7))
            samples.append(plant.link_velocity.copy())
        return np.array(samples)

    default = PlantOptions()
    coarse = velocities(default)
    finer_integration = velocities(
        PlantOptions(largest_step=default.largest_step / 2, step_safety=default.step_safety / 2)
    )
    finer_everything = velocities(
        PlantOptions(largest_step=default.largest_step / 2, step_safety=default.step_safety / 2, refresh_ticks=1)
    )
    jump = np.linalg.norm(coarse[5] - coarse[0])
    assert np.abs(coarse - finer_integration).max() < 1e-4 * jump
    assert np.linalg.norm(coarse[-1] - finer_everything[-1]) < 5e-4 * jump
    assert np.abs(coarse - finer_everything).max() < 5e-3 * jump


def test_rests_under_zero_command():
    plant = FlexibleJointPlant(ROBOT, HOME, table())
    for _ in range(200):
        plant.step(np.zeros(7))
    assert np.abs(plant.link_velocity).max() < 1e-9
    np.testing.assert_allclose(plant.link_position, HOME, atol=1e-9)
    assert plant.normal_force == 0.0


def undamped_robot():
    """Return the Panda without gravity, damping, friction and torque feedback: a conservative system."""
    model = ROBOT.pinocchio_model.copy()
    model.gravity.linear = np.zeros(3)
    transmission = dataclasses.replace(
        ROBOT.transmission,
        damping=np.zeros(7),
        reduced_motor_inertia=ROBOT.transmission.motor_inertia,
    )
    return dataclasses.replace(ROBOT, pinocchio_model=model, transmission=transmission, gravity=np.zeros(3))


def energy(plant):
    model = plant.robot.pinocchio_model
    transmission = plant.robot.transmission
    links = pin.computeKineticEnergy(model, model.createData(), plant.link_position, plant.link_velocity)
    motors = 0.5 * transmission.motor_inertia @ plant.motor_velocity**2
    springs = 0.5 * transmission.stiffness @ (plant.motor_position - plant.link_position) ** 2
    return links + motors + springs


def test_conserves_energy_without_dissipation():
    plant = falling_plant(None, PlantOptions(joint_friction=False), velocity=(0.3, 0.2, 0.1), robot=undamped_robot())
    start = energy(plant)
    for _ in range(200):
        plant.step(np.zeros(7))
    assert energy(plant) == pytest.approx(start, rel=1e-4)


def test_an_impact_only_takes_energy():
    plant = falling_plant(table(), PlantOptions(joint_friction=False), robot=undamped_robot())
    energies = [energy(plant)]
    for _ in range(12):
        plant.step(np.zeros(7))
        energies.append(energy(plant))
    assert energies[-1] < 0.98 * energies[0]
    # What the frozen rigid-body terms add is of the size of the drift allowed without an impact.
    assert max(np.diff(energies)) < 1e-4 * energies[0]


@settings(deadline=None, max_examples=60)
@given(
    st.floats(-1e-4, 1e-5),
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3),
    st.floats(0.0, 1.0),
    st.floats(0.0, 3.0),
)
def test_contact_force_pushes_and_stays_in_the_friction_cone(gap, velocity, friction, tilt):
    normal = np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    force = np.empty(3)
    v = np.array(velocity)
    surface = np.array([3.2e9, 3.2e12, 1.5, friction, 2e-3, *normal, 0.0, 0.0, 0.0, 0.02])
    normal_force = contact_force(gap, v, surface, force)
    assert normal_force >= 0.0
    assert force @ normal == pytest.approx(normal_force, rel=1e-9, abs=1e-12)
    tangential = force - normal_force * normal
    assert np.linalg.norm(tangential) <= friction * normal_force * (1.0 + 1e-9) + 1e-12
    assert tangential @ v <= 1e-9 * max(1.0, normal_force)
    if gap >= 0.0:
        assert not force.any()


def test_post_impact_velocity_follows_the_reduced_motor_inertia():
    """Rey Arias 2024 section III: of M, M + B_theta, M + B_rho the second predicts the gross velocity best."""
    plant = falling_plant(table(friction=0.0), PlantOptions(joint_friction=False), velocity=(0.0, 0.0, -0.17))
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
    dynamics.update(*state)
    jacobian = contact_point_jacobian(dynamics.jacobian, -ROBOT.end_effector.radius * UP)
    errors = {
        model: np.abs(
            predict_post_impact_velocity(dynamics.inertia(model), jacobian, UP, state[1], 0.0).velocity - observed
        ).mean()
        for model in InertiaModel
    }
    assert min(errors, key=errors.get) is InertiaModel.REDUCED_MOTORS


def test_reset_starts_again_and_forgets_the_contact():
    plant = falling_plant(table())
    for _ in range(6):
        plant.step(np.zeros(7))
    assert plant.first_contact_time > 0.0
    plant.reset(HOME, None)
    assert plant.time == 0.0
    assert math.isnan(plant.first_contact_time)
    assert plant.gap == math.inf
    assert not plant.link_velocity.any()


def test_refuses_to_start_inside_the_surface():
    with pytest.raises(InvalidInputError, match="inside the surface"):
        FlexibleJointPlant(ROBOT, HOME, table(distance=-0.01))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"stiffness": 0.0}, "stiffness"),
        ({"friction": -0.1}, "friction"),
        ({"damping": math.nan}, "damping"),
        ({"exponent": math.inf}, "exponent"),
    ],
)
def test_surface_refuses_wrong_numbers(change, name):
    with pytest.raises(InvalidInputError, match=name):
        table(**change)


def test_refresh_must_divide_the_sample_period():
    with pytest.raises(InvalidInputError, match="refresh_ticks"):
        FlexibleJointPlant(ROBOT, HOME, None, PlantOptions(refresh_ticks=3))
