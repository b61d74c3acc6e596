"""Deviations of the velocity after an impact against random errors of the same size, and their limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from impact_control.impacts import FrictionLaw, predict_post_impact_velocity
from impact_control.planning import plan_scenario
from impact_control.references import build_reference
from impact_control.references.impact_deviation import friction_deviation
from impact_control.robots import Dynamics, InertiaModel, contact_jacobians
from impact_control.scenario import load_scenario, robot_of
from impact_control.simulation.scenario_run import run_scenario

NO_FORCE = {"task.post.force": "0 N"}
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


def test_contacts_that_still_close_when_the_contact_is_complete_add_their_speed():
    """Two contacts of an edge: motions of least kinetic energy with random closing speeds, by a linear system."""
    changes = {"task.impact.speed": "0.1 m/s"}
    deviations = {}
    for speed in (1e-9, 0.01):
        text = {"classification.completion.largest_speed": f"{speed} m/s", **changes}
        scenario = load_scenario("tabletop_edge").with_overrides(text)
        robot = robot_of(scenario.robot)
        reference = build_reference(scenario, robot)
        deviations[speed] = reference.jump_deviation
    dynamics, random, n = Dynamics(robot), np.random.default_rng(4), 7
    dynamics.compute(reference.impact_configuration, reference.ante_impact_velocity)
    jacobians = contact_jacobians(dynamics.jacobian, reference.geometry.contact_offsets)
    rows = np.array([reference.geometry.normal @ jacobian for jacobian in jacobians])
    inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
    system = np.block([[inertia, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
    speeds = random.uniform(-0.01, 0.01, (len(rows), 20_000))
    motions = np.linalg.solve(system, np.vstack([np.zeros((n, 20_000)), speeds]))[:n]
    added = np.sqrt(deviations[0.01] ** 2 - deviations[1e-9] ** 2)
    np.testing.assert_allclose(added, motions.std(axis=1), rtol=0.03, atol=1e-6)


def test_no_contact_closes_faster_than_it_approached():
    deviations = []
    for speed in (0.1, 10.0):
        changes = {"task.impact.speed": "0.1 m/s", "classification.completion.largest_speed": f"{speed} m/s"}
        scenario = load_scenario("tabletop_edge").with_overrides(changes)
        deviations.append(build_reference(scenario, robot_of(scenario.robot)).jump_deviation)
    np.testing.assert_allclose(*deviations)


def known_to(robot, parts):
    """Return the robot with joint friction that is known to these parts (n,) of it."""
    return replace(robot, deviation=replace(robot.deviation, joint_friction=parts))


def of_friction(scenario, robot, reference):
    q, before = reference.impact_configuration, reference.ante_impact_velocity
    return friction_deviation(robot, scenario, reference.post, reference.geometry.normal, q, before)


@pytest.mark.parametrize("joint", range(7))
def test_the_friction_of_a_joint_moves_the_arm_as_by_a_second_method(joint):
    """The error of the position, behind the same feedback, by an adaptive method, at rest before the impact."""
    scenario, robot, reference = planned()
    alone = known_to(robot, 0.3 * (np.arange(7) == joint))
    friction, gain = robot.friction.reduced(robot.transmission), scenario.control.gains.position
    dynamics, post, start = Dynamics(robot), reference.post, reference.nominal_impact_time
    dynamics.compute(reference.impact_configuration, reference.ante_impact_velocity)
    column = np.linalg.inv(dynamics.inertia(InertiaModel.REDUCED_MOTORS))[:, joint]

    def missing(velocity):
        return 0.3 * friction.torque(velocity.copy(), np.empty(7))[joint]

    def slope(t, state):
        velocity = np.array([np.interp(start + t, post.times, row) for row in post.columns.joint_velocity.T])
        return [state[1], missing(velocity) - gain * state[0] - 2.0 * np.sqrt(gain) * state[1]]

    begin = [missing(reference.ante_impact_velocity) / gain, 0.0]
    times = np.linspace(0.0, scenario.classification.post_impact_time, 151)
    speed = np.abs(solve_ivp(slope, times[[0, -1]], begin, t_eval=times, max_step=1e-3, rtol=1e-8).y[1]).max()
    found = of_friction(scenario, alone, reference)
    np.testing.assert_allclose(found.velocity, speed * np.abs(column), rtol=0.01)
    # The offset is where the feedback of (15) stands still.
    np.testing.assert_allclose(found.configuration, np.abs(begin[0] * column))
    rise = reference.geometry.normal @ dynamics.jacobian[:3]
    lifted = of_friction(scenario.with_overrides(NO_FORCE), alone, reference)
    np.testing.assert_allclose(lifted.height, np.abs(begin[0] * rise @ column))


def test_independent_joints_add_by_their_squares_and_known_friction_adds_nothing():
    scenario, robot, reference = planned(**NO_FORCE)
    every = of_friction(scenario, known_to(robot, np.full(7, 0.3)), reference)
    apart = [of_friction(scenario, known_to(robot, 0.3 * row), reference) for row in np.eye(7)]
    velocities = [each.velocity for each in apart]
    largest = np.max(velocities, axis=0)
    # Their largest values are not at the same time.
    total = np.linalg.norm(velocities, axis=0)
    assert np.all((every.velocity >= largest * (1.0 - 1e-12)) & (every.velocity <= total * (1.0 + 1e-12)))
    offsets = np.linalg.norm([each.configuration for each in apart], axis=0)
    np.testing.assert_allclose(every.configuration, offsets)
    np.testing.assert_allclose(every.height, np.linalg.norm([each.height for each in apart]))
    for of_known in of_friction(scenario, known_to(robot, np.zeros(7)), reference):
        np.testing.assert_array_equal(of_known, 0.0)


def test_a_force_takes_off_the_height_what_it_presses_down_against_the_feedback():
    """A force F moves a mass m, held with the stiffness k m, by F / (k m); continuous where it begins to press."""
    scenario, robot, reference = planned(**NO_FORCE)
    free = of_friction(scenario, robot, reference).height
    dynamics = Dynamics(robot)
    dynamics.compute(reference.impact_configuration, reference.ante_impact_velocity)
    normal, gain = reference.geometry.normal, scenario.control.gains.position
    inverse = np.linalg.inv(dynamics.inertia(InertiaModel.REDUCED_MOTORS))
    acceleration = normal @ dynamics.jacobian[:3] @ inverse @ dynamics.jacobian[:3].T @ normal
    limit = scenario.classification.uncertainty.limit
    pressed = limit * free * gain / acceleration
    assert 0.1 < pressed < 5.0
    for share, left in ((1e-6, 1.0), (0.5, 0.5), (0.999, 0.001), (1.001, 0.0), (10.0, 0.0)):
        held = scenario.with_overrides({"task.post.force": f"{share * pressed} N"})
        np.testing.assert_allclose(of_friction(held, robot, reference).height, left * free, rtol=1e-5, atol=1e-12)


def test_friction_that_is_not_fed_forward_counts_as_not_known():
    scenario, robot, reference = planned()
    half = scenario.with_overrides({"control.friction_compensation": 0.7})
    found = of_friction(half, known_to(robot, np.zeros(7)), reference)
    for one, other in zip(found, of_friction(scenario, known_to(robot, np.full(7, 0.3)), reference), strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.scenario
@pytest.mark.parametrize("model", ["panda", pytest.param("fr3", marks=pytest.mark.long)])
def test_they_are_the_spread_of_simulated_arms_of_other_friction(model):
    """Joints 5 to 7, whose inertia is small; at the others other things are larger, and the tracking covers them."""
    scenario = load_scenario("tabletop").with_overrides({"robot.model": model, "simulation.noise": 0.0})
    plan = plan_scenario(scenario)

    def motion(**deviation):
        changes = {f"simulation.arm_deviation.{key}": value for key, value in deviation.items()}
        course = run_scenario(scenario.with_overrides(changes), scenario.task.impact.time + 0.2, plan)
        contact, signals = course.at(course.single.first_contact_time), course.single.signals
        after = signals.joint_velocity[contact + 30 : contact + 150]
        assert after.shape == (120, 7)
        return signals.joint_position[contact], after, signals.joint_position[free]

    free = round((scenario.task.impact.time - 0.03) / scenario.control.period)
    place, velocity, above = motion()
    arms = [motion(friction=0.5, seed=seed) for seed in range(20)]
    off = np.array([each[1] - velocity for each in arms])
    reference = plan.arms[""].reference
    moved = 2.0 * np.sqrt(np.mean([(each[0] - place) ** 2 for each in arms], axis=0))
    print("moved", moved.round(5), "deviation", reference.configuration_deviation.round(5))
    assert 0.6 < np.linalg.norm(moved) / np.linalg.norm(reference.configuration_deviation) < 1.6
    dynamics = Dynamics(plan.arms[""].robot)
    dynamics.compute(reference.impact_configuration, reference.ante_impact_velocity)
    heights = [reference.geometry.normal @ dynamics.jacobian[:3] @ (each[2] - above) for each in arms]
    height = of_friction(scenario.with_overrides(NO_FORCE), plan.arms[""].robot, reference).height
    print("height", heights, height)
    assert 0.6 < 2.0 * np.sqrt(np.mean(np.square(heights))) / height < 1.6
    spread = 2.0 * np.sqrt(np.mean(off**2, axis=0)).max(axis=0)
    deviation = reference.friction_deviation
    print("spread", spread.round(4), "deviation", deviation.round(4))
    ratio = spread[4:] / deviation[4:]
    assert np.all((ratio > 0.6) & (ratio < 1.6))
    assert np.all(spread < 1.6 * np.hypot(deviation, scenario.classification.uncertainty.tracking))
