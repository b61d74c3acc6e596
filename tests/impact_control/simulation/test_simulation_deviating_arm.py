"""Arms that differ from the model that the controller has of them."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from impact_control.pipeline import Outcome
from impact_control.robots import Dynamics, InertiaModel, load_robot, scaled_robot
from impact_control.scenario import ArmDeviation, load_scenario
from impact_control.simulation import build_world
from impact_control.simulation.deviating_arm import GravityError, deviating_robot
from impact_control.simulation.scenario_run import run_scenario

BOTH = {"simulation.arm_deviation.inertia": 1.0, "simulation.arm_deviation.friction": 1.0}


@pytest.fixture(scope="module")
def panda():
    """A Panda with its sphere."""
    return load_robot("panda")


@pytest.fixture
def q(panda):
    """A configuration in the middle of its range."""
    return 0.5 * (panda.limits.position_lower + panda.limits.position_upper)


def differs(inertia=1.0, friction=1.0, seed=0):
    return ArmDeviation(inertia=inertia, friction=friction, seed=seed)


def inertias(robot, q):
    dynamics = Dynamics(robot)
    dynamics.compute(q, np.zeros_like(q))
    return dynamics.inertia(InertiaModel.LINKS).copy()


def test_factors_scale_inertia_gravity_motors_and_friction(panda, q):
    ones = np.ones(7)
    scaled = scaled_robot(panda, 1.3 * ones, 0.8 * ones, 2.0 * ones)
    np.testing.assert_allclose(inertias(scaled, q), 1.3 * inertias(panda, q), rtol=1e-12)
    np.testing.assert_allclose(GravityError(panda, scaled).at(q), -0.3 * _gravity(panda, q), atol=1e-12)
    drive, known = scaled.transmission, panda.transmission
    np.testing.assert_allclose(drive.motor_inertia, 0.8 * known.motor_inertia)
    np.testing.assert_allclose(drive.reduced_motor_inertia, 0.8 * known.reduced_motor_inertia)
    np.testing.assert_allclose(scaled.friction.amplitude, 2.0 * panda.friction.amplitude)
    np.testing.assert_array_equal(drive.stiffness, known.stiffness)


def _gravity(robot, q):
    """By the inverse dynamics at rest: another algorithm than the one under test."""
    model = robot.pinocchio_model
    return pin.rnea(model, model.createData(), q, 0.0 * q, 0.0 * q)


def test_drawn_arms_have_the_standard_deviations_of_the_file(panda):
    arms = [deviating_robot(panda, differs(2.0, 0.5, seed)) for seed in range(400)]
    masses = np.array([[link.mass for link in arm.pinocchio_model.inertias[1:]] for arm in arms])
    known = np.array([link.mass for link in panda.pinocchio_model.inertias[1:]])
    motors = np.array([arm.transmission.reduced_motor_inertia for arm in arms])
    friction = np.array([arm.friction.amplitude for arm in arms])
    for drawn, of, expected in (
        (masses, known, 2.0 * panda.deviation.link_inertia),
        (motors, panda.transmission.reduced_motor_inertia, 2.0 * panda.deviation.reduced_motor_inertia),
        (friction, panda.friction.amplitude, 0.5 * panda.deviation.joint_friction[0]),
    ):
        logarithm = np.log(drawn / of)
        # 2800 numbers: the standard error of their deviation is 1.3 %, of their mean 1.9 % of it.
        assert logarithm.std() == pytest.approx(expected, rel=0.06)
        assert abs(logarithm.mean()) < 0.08 * expected


def test_a_seed_is_an_arm_and_those_of_a_scene_are_two(panda, q):
    first, again = (deviating_robot(panda, differs(seed=3)) for _ in range(2))
    np.testing.assert_array_equal(inertias(first, q), inertias(again, q))
    for other in (deviating_robot(panda, differs(seed=4)), deviating_robot(panda, differs(seed=3), 1)):
        assert np.all(other.friction.amplitude != first.friction.amplitude)


def test_only_what_is_asked_for_differs(panda, q):
    links = deviating_robot(panda, differs(friction=0.0))
    np.testing.assert_array_equal(links.friction.amplitude, panda.friction.amplitude)
    assert np.all(links.transmission.motor_inertia != panda.transmission.motor_inertia)
    rubbing = deviating_robot(panda, differs(inertia=0.0))
    np.testing.assert_allclose(inertias(rubbing, q), inertias(panda, q), rtol=1e-12)
    assert np.all(rubbing.friction.amplitude != panda.friction.amplitude)


def test_a_world_has_the_known_arm_unless_it_is_asked_to_differ():
    world = build_world(load_scenario("tabletop"))
    assert not world.gravity_errors
    known = load_robot("panda", "sphere")
    np.testing.assert_array_equal(world.single[0].robot.friction.amplitude, known.friction.amplitude)


def _accelerations(command, **overrides):
    """Mean accelerations over 60 ms of an arm that differs, and those that its gravity error makes of its inertia."""
    scenario = load_scenario("tabletop").with_overrides({**BOTH, "simulation.joint_friction": False, **overrides})
    world = build_world(scenario)
    arm, _, gate = world.single
    q, samples = arm.link_position.copy(), 60
    known = load_robot("panda", "sphere")
    for _ in range(samples):
        if command:
            gate.offer(np.zeros(7))
        world.step([gate.select(arm.link_velocity, 1e-3)])
    made = 2.0 * (arm.link_position - q) / (1e-3 * samples) ** 2
    inertia = inertias(arm.robot, q) + np.diag(arm.robot.transmission.reduced_motor_inertia)
    return made, np.linalg.solve(inertia, _gravity(known, q) - _gravity(arm.robot, q))


def test_an_arm_falls_by_what_its_model_misses_of_its_gravity():
    """Its flexible joints ring, which moves this mean by less than 2 %."""
    made, expected = _accelerations(True)
    assert np.linalg.norm(expected) > 0.1
    assert np.linalg.norm(made - expected) < 0.02 * np.linalg.norm(expected)


def test_an_arm_without_commands_holds_itself():
    made, _ = _accelerations(False)
    np.testing.assert_allclose(made, 0.0, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("tabletop", Outcome.SUCCEEDED),
        ("tabletop_tilted", Outcome.POST_IMPACT_UNEXPECTED),
        ("tabletop_raised", Outcome.IMPACT_UNEXPECTED),
        ("tabletop_absent", Outcome.NO_IMPACT),
    ],
)
def test_the_shipped_tasks_end_as_meant_on_arms_of_other_inertia(name, outcome, seed):
    """Arms that the defaults were not laid out on; for other friction see docs/lab/studies.md."""
    changes = {"simulation.arm_deviation.inertia": 1.0, "simulation.arm_deviation.seed": seed}
    assert run_scenario(load_scenario(name).with_overrides(changes)).outcome is outcome
