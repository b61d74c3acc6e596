"""What of the plant can be switched off, and the forces from outside: each against what it has to do."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from impact_control.robots import load_robot
from impact_control.scenario import JointBacklash
from impact_control.simulation import FlexibleJointPlant, PlantOptions, Sensors
from impact_control.util.errors import InvalidInputError
from simulated_arms import HOMES, energy, kinetic_energy, moving_plant, state_of, undamped

ROBOT = load_robot("planar_rrr")
HOME = HOMES["planar_rrr"]
STILL = np.zeros(3)
ONE_TICK = PlantOptions(sample_period=2.5e-4, refresh_ticks=1)
DEFAULT = PlantOptions(joint_friction=False)


def moved(options, samples=40, robot=ROBOT, torque=(3.0, -2.0, 1.0)):
    """Return the state after some samples under a constant torque."""
    plant = FlexibleJointPlant(robot, HOME, None, options)
    for _ in range(samples):
        plant.step(np.array(torque))
    return np.concatenate([plant.link_position, plant.link_velocity, plant.motor_velocity])


@pytest.mark.parametrize("torque_loop", [True, False])
def test_the_torque_loop_makes_the_motors_lighter(torque_loop):
    """The first tick after a step of the command moves the motor with u / B_theta, without the loop with u / B_rho."""
    plant = FlexibleJointPlant(ROBOT, HOME, None, dataclasses.replace(ONE_TICK, torque_loop=torque_loop))
    torque = np.array([1.0, -2.0, 0.5])
    plant.step(torque)
    transmission = ROBOT.transmission
    inertia = transmission.reduced_motor_inertia if torque_loop else transmission.motor_inertia
    # The transmission takes what belongs to its deflection: (k t^2 / 2 + d t) / b, below 2 % after 0.25 ms.
    np.testing.assert_allclose(plant.motor_velocity, torque / inertia * 2.5e-4, rtol=0.02)


def test_without_filter_is_the_limit_of_a_fast_filter():
    def with_cutoff(cutoff, options):
        loop = dataclasses.replace(ROBOT.torque_loop, filter_cutoff=cutoff)
        return moved(dataclasses.replace(options, largest_step=5e-6), 10, dataclasses.replace(ROBOT, torque_loop=loop))

    unfiltered = with_cutoff(300.0, dataclasses.replace(DEFAULT, torque_filter=False))
    errors = [np.abs(with_cutoff(cutoff, DEFAULT) - unfiltered).max() for cutoff in (300.0, 3e3, 3e4)]
    assert errors[1] < 0.5 * errors[0]
    assert errors[2] < 0.2 * errors[1]


def test_joint_friction_takes_energy_and_can_be_switched_off():
    rubbing, free = (moved(PlantOptions(joint_friction=on))[3:6] for on in (True, False))
    assert np.abs(free).sum() > np.abs(rubbing).sum()


def test_without_gravity_compensation_the_command_has_to_hold_the_arm():
    uncompensated = dataclasses.replace(DEFAULT, gravity_compensation=False)
    gravity = state_of(ROBOT, HOME).gravity
    held = FlexibleJointPlant(ROBOT, HOME, None, uncompensated)
    for _ in range(100):
        held.step(gravity)
    np.testing.assert_allclose(held.link_position, HOME, atol=1e-9)
    fallen = moved(uncompensated, 60, torque=STILL)[:3] - HOME
    # 60 ms of free fall of links and reduced motors, M + B_theta: 2 % of it are the springs and the changing posture.
    inertia = state_of(ROBOT, HOME).mass_matrix + np.diag(ROBOT.transmission.reduced_motor_inertia)
    expected = -0.5 * np.linalg.solve(inertia, gravity) * 0.06**2
    assert np.linalg.norm(fallen - expected) < 0.05 * np.linalg.norm(expected)


def test_an_external_torque_has_to_be_carried_by_the_joints():
    plant = FlexibleJointPlant(ROBOT, HOME, None, DEFAULT)
    outside = np.array([2.0, -1.0, 0.5])
    plant.external_torque[:] = outside
    for _ in range(600):
        plant.step(-outside - 20.0 * plant.link_velocity)
    # What is left of the motion is damped by the command.
    carried = state_of(ROBOT, plant.link_position).gravity - outside - 20.0 * plant.link_velocity
    np.testing.assert_allclose(plant.joint_torque, carried, atol=1e-5)


def test_an_external_wrench_acts_as_its_joint_torque_until_it_is_switched_off():
    wrench = np.array([3.0, 0.0, -8.0, 0.0, 0.4, 0.0])
    pushed, turned = (FlexibleJointPlant(ROBOT, HOME, None, DEFAULT) for _ in range(2))
    pushed.external_wrench[:] = wrench
    for _ in range(20):
        turned.external_torque[:] = state_of(ROBOT, turned.link_position).jacobian.T @ wrench
        for plant in (pushed, turned):
            plant.step(STILL)
    assert np.abs(pushed.link_velocity).max() > 0.05
    np.testing.assert_allclose(pushed.link_velocity, turned.link_velocity, atol=1e-4)
    pushed.external_wrench[:] = 0.0
    free = FlexibleJointPlant(ROBOT, HOME, None, DEFAULT)
    for name in ("link_position", "link_velocity", "motor_position", "motor_velocity", "filtered_torque"):
        getattr(free, name)[:] = getattr(pushed, name)
    for plant in (pushed, free):
        plant.step(STILL)
    # They differ by the predicted velocity of one interval: the free arm does not know how it came here.
    np.testing.assert_allclose(pushed.link_velocity, free.link_velocity, atol=2e-6)


def test_the_work_of_an_external_force_is_the_energy_gained():
    robot = undamped("planar_rrr")
    plant = FlexibleJointPlant(
        robot, HOME, None, PlantOptions(joint_friction=False, torque_loop=False, gravity_compensation=False)
    )
    force = np.array([4.0, 0.0, 6.0])
    plant.external_wrench[:3] = force
    start, before = energy(plant), state_of(robot, plant.link_position).position.copy()
    for _ in range(150):
        plant.step(STILL)
    work = force @ (state_of(robot, plant.link_position).position - before)
    assert work > 0.1
    assert energy(plant) - start == pytest.approx(work, rel=1e-4)


# ---------------------------------------------------------------------- backlash


def with_backlash(gap, **friction):
    return dataclasses.replace(DEFAULT, backlash=JointBacklash(gap=gap, **friction))


def test_no_gap_is_no_backlash():
    np.testing.assert_array_equal(moved(with_backlash(np.zeros(3))), moved(DEFAULT))


def test_inside_the_gap_link_and_motor_do_not_feel_each_other():
    options = dataclasses.replace(with_backlash(0.02), gravity_compensation=False, torque_loop=False)
    plant = FlexibleJointPlant(ROBOT, HOME, None, options)
    plant.motor_position[:] = HOME
    plant.step(STILL)
    model = ROBOT.pinocchio_model
    falling = pin.aba(model, model.createData(), HOME, STILL, STILL)
    # The posture changes by 1e-5 rad in 1 ms, and with it the acceleration.
    np.testing.assert_allclose(plant.link_velocity, falling * 1e-3, atol=5e-5 * np.abs(falling * 1e-3).max())
    assert not plant.motor_velocity.any()
    assert not plant.joint_torque.any()


def test_holds_itself_with_its_teeth_on_one_side():
    plant = FlexibleJointPlant(ROBOT, HOME, None, with_backlash(0.01))
    for _ in range(200):
        plant.step(STILL)
    np.testing.assert_allclose(plant.link_position, HOME, atol=1e-9)
    np.testing.assert_allclose(plant.joint_torque, state_of(ROBOT, HOME).gravity, atol=1e-6)


def rattling(options, robot=None):
    """Return a weightless arm without dissipation whose motors rattle in their backlash."""
    plant = FlexibleJointPlant(robot or undamped("planar_rrr"), HOME, None, options)
    plant.motor_velocity[:] = [0.5, -0.8, 0.6]
    return plant


def test_conserves_energy_through_the_gap():
    """The dead zone stores nothing: energy moves between link and motor through many crossings.

    A fast torque loop, which is switched off, only makes the rigid-body terms fresher than the oscillations need.
    """
    options = dataclasses.replace(with_backlash(0.002), torque_loop=False, gravity_compensation=False, refresh_ticks=1)
    robot = undamped("planar_rrr")
    robot = dataclasses.replace(robot, torque_loop=dataclasses.replace(robot.torque_loop, rate=16e3))
    plant = rattling(options, robot)
    start = energy(plant)
    sides = []
    for _ in range(500):
        plant.step(STILL)
        sides.append(np.sign(plant.joint_torque))
    assert (np.abs(np.diff(sides, axis=0)).sum(axis=0) > 10).all()
    assert energy(plant) == pytest.approx(start, rel=1e-4)


def test_friction_in_the_gap_brings_motor_and_link_together_and_keeps_the_momentum():
    """Inside the gap it acts on both sides: with motor 1 alone turning, the momentum about its axis stays."""
    base = dataclasses.replace(with_backlash(0.5, damping=2.0, dry_friction=0.1), torque_loop=False)
    plant = rattling(base)
    dynamics = state_of(plant.robot, HOME)
    momentum = ROBOT.transmission.motor_inertia[0] * 0.5
    gap_before = kinetic_energy(plant)
    for _ in range(100):
        plant.step(STILL)
    dynamics.compute(plant.link_position, plant.link_velocity)
    after = ROBOT.transmission.motor_inertia[0] * plant.motor_velocity[0]
    after += (dynamics.mass_matrix @ plant.link_velocity)[0]
    assert after == pytest.approx(momentum, rel=1e-4)
    assert kinetic_energy(plant) < 0.9 * gap_before


def test_halving_the_steps_changes_a_rattling_arm_little():
    """Damped at the flanks, where the damping sets in at once: the steps end there."""

    def velocities(options):
        plant = moving_plant(ROBOT, None, options, linear=(0.1, 0.0, 0.1))
        plant.motor_velocity[:] *= -1.0
        for _ in range(60):
            plant.step(STILL)
        return plant.link_velocity.copy()

    options = with_backlash(0.001)
    coarse = velocities(options)
    fine = velocities(dataclasses.replace(options, largest_step=2.5e-5))
    assert np.abs(coarse - fine).max() < 1e-3 * np.abs(fine).max()


@pytest.mark.parametrize(
    ("backlash", "name"),
    [
        ({"gap": -0.1}, "gap"),
        ({"gap": [0.1, np.nan, 0.1]}, "gap"),
        ({"gap": 0.1, "damping": -1.0}, "damping"),
        ({"gap": 0.1, "dry_friction": np.inf}, "dry_friction"),
    ],
)
def test_backlash_refuses_wrong_numbers(backlash, name):
    with pytest.raises(InvalidInputError, match=name):
        JointBacklash(**backlash)


def test_backlash_of_another_arm_is_refused():
    with pytest.raises(InvalidInputError, match="backlash gap"):
        FlexibleJointPlant(ROBOT, HOME, None, with_backlash(np.full(7, 0.01)))


@pytest.mark.parametrize("name", ["sample_period", "refresh_ticks", "largest_step", "step_safety", "stiff_friction"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_options_refuse_wrong_numbers(name, value):
    with pytest.raises(InvalidInputError, match=name):
        PlantOptions(**{name: value})


def test_sensors_report_what_the_torque_sensors_see_of_a_backlash():
    plant = FlexibleJointPlant(ROBOT, HOME, None, with_backlash(0.02))
    plant.motor_position[:] = HOME
    assert not Sensors(ROBOT.noise, 0.0, seed=0).measure(plant).torque.any()
