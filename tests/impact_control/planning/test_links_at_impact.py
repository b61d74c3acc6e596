"""Velocity of the links at the impact: a bound for the simulated links, refused above its limit with a slower task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.planning import InfeasibleTaskError, plan_scenario, propose
from impact_control.planning.budget import budget_of
from impact_control.planning.limit_use import AT_IMPACT
from impact_control.references.impact_map import links_in_impact
from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import load_scenario
from impact_control.simulation import FlexibleJointPlant, PlantOptions, Surface
from impact_control.simulation.scenario_run import run_scenario

HARD = {
    "actual_environment.surface.contact.stiffness": "8e9 N/m^1.5",
    "actual_environment.surface.contact.damping": "8e12 N*s/m^2.5",
}


def on_surface(point, normal, friction, **keys):
    """Return the keys of a task on a surface that is as expected."""
    surface = {"point": point, "normal": normal, "friction": friction}
    return {
        "task.impact.position": point,
        **{f"task.{name.replace('__', '.')}": value for name, value in keys.items()},
        **{
            f"{whose}_environment.surface.{key}": value
            for whose in ("expected", "actual")
            for key, value in surface.items()
        },
    }


TOO_FAST = on_surface(
    "0.4254, 0.0505, 0.1584 m",
    [0.4386015, -0.1294979, 0.8893025],
    0.1426,
    impact__speed="0.3896 m/s",
    impact__approach_angle="1.1998 rad",
    impact__heading=[-0.482242, -0.868938, 0.111308],
    post__force="7.35 N",
    post__slide="1 cm",
)
FAST_LAST_LINK = on_surface(
    "0.5503, -0.2125, 0.1443 m",
    [-0.0730589, 0.2794903, 0.9573649],
    0.2598,
    impact__speed="0.3593 m/s",
    impact__approach_angle="0.7576 rad",
    impact__heading=[0.2578773, 0.9325798, -0.2525754],
    post__force="5.14 N",
    post__slide="3 cm",
)


def task(model, place, angle, heading, speed, force=10.0):
    point = f"{', '.join(map(str, place))} m"
    return load_scenario("tabletop").with_overrides(
        {
            "robot.model": model,
            "task.impact.position": point,
            "task.impact.approach_angle": f"{angle} deg",
            "task.impact.heading": [np.cos(heading), np.sin(heading), 0.0],
            "task.impact.speed": f"{speed} m/s",
            "task.post.force": f"{force} N",
            "task.post.slide": "0.02 m",
            "expected_environment.surface.point": point,
            "actual_environment.surface.point": point,
            **HARD,
        }
    )


def use_at_impact(scenario):
    (use,) = (use for use in budget_of(plan_scenario(scenario).arms[""]).uses if use.reference == AT_IMPACT)
    return use


@pytest.mark.parametrize("model", ["panda", "fr3"])
@pytest.mark.parametrize("seed", [301, 302, 303, 304])
def test_the_simulated_links_are_not_faster(model, seed):
    """On steel, every 50 us for a millisecond; the fastest, a link before the last, is as fast as planned."""
    random = np.random.default_rng(seed)
    place = (random.uniform(0.4, 0.55), random.uniform(-0.15, 0.15), random.uniform(0.15, 0.3))
    scenario = task(model, place, random.uniform(60.0, 90.0), random.uniform(0.0, 6.3), random.uniform(0.15, 0.3))
    use, peak = use_at_impact(scenario), links_at_impact(scenario)
    print(f"{model} {seed}: planned {use.joint} at {use.share:.3f} of its limit, simulated {np.round(peak, 3)}")
    assert peak.max() < 1.05 * use.share
    assert peak[int(use.joint[-1]) - 1] > 0.93 * use.share


def links_at_impact(scenario):
    """Return by which part of their limits (7,) the simulated links move at most within a millisecond."""
    arm, surface, period = plan_scenario(scenario).arms[""], scenario.actual_surface, 5e-5
    loop = replace(arm.robot.torque_loop, rate=1.0 / period)
    robot, reference = replace(arm.robot, torque_loop=loop), arm.reference
    law = ExponentialHuntCrossley(surface.contact.stiffness, surface.contact.damping, surface.contact.exponent)
    table = Surface(surface.point, surface.normal, law, surface.friction)
    options = PlantOptions(sample_period=period, refresh_ticks=1)
    plant = FlexibleJointPlant(robot, reference.impact_configuration, table, options)
    plant.link_velocity[:] = plant.motor_velocity[:] = reference.ante_impact_velocity
    peak = np.zeros(7)
    for _ in range(20):
        plant.step(np.zeros(7))
        np.maximum(peak, np.abs(plant.link_velocity) / robot.limits.velocity, out=peak)
    return peak


def test_the_damper_of_the_last_link_of_the_fr3_acts_for_as_long_as_the_impulse():
    """Its link, which weighs next to nothing about its axis, is the fastest for 0.1 ms; its motor hardly moves."""
    scenario = load_scenario("tabletop").with_overrides({"robot.model": "fr3", **FAST_LAST_LINK, **HARD})
    use, peak = use_at_impact(scenario), links_at_impact(scenario)
    assert use.joint == "fr3_joint7"
    assert peak.argmax() == 6
    assert peak.max() < use.share < 2.0 * peak.max()


@pytest.mark.parametrize("duration", [1e-6, 5e-5, 1e-3])
@pytest.mark.parametrize("seed", [1, 2])
def test_links_in_impact_move_as_an_integrated_arm_does(duration, seed):
    """Random arms under random constant torques, one joint without damper, by the matrix exponential."""
    random = np.random.default_rng(seed)
    root = random.normal(size=(4, 4))
    mass, motors = root @ root.T + 0.01 * np.eye(4), random.uniform(0.1, 0.6, 4)
    damping, impulse = np.append(random.uniform(1.0, 100.0, 3), 0.0), random.normal(size=4)
    inverse = np.linalg.inv(mass)
    coupled = np.block(
        [[-inverse * damping, inverse * damping], [np.diag(damping / motors), -np.diag(damping / motors)]]
    )
    driven = np.concatenate([inverse @ impulse / duration, np.zeros(4)])[:, None]
    links = expm(duration * np.block([[coupled, driven], [np.zeros((1, 9))]]))[:4, 8]
    inertia = links_in_impact(mass, motors, damping, duration)
    assert np.linalg.solve(inertia, impulse) == pytest.approx(links, rel=1e-6, abs=1e-9 * np.abs(links).max())


def test_links_in_impact_lie_between_the_links_alone_and_with_their_motors():
    """Within the two as quadratic forms, so that no impulse gains energy; equal to them in the limits."""
    robot = load_robot("fr3", "sphere")
    dynamics, motors, damping = Dynamics(robot), robot.transmission.motor_inertia, robot.transmission.damping
    dynamics.compute(np.array([0.2, 0.3, -0.1, -2.0, 0.3, 2.2, 0.5]), np.zeros(7))
    mass = dynamics.mass_matrix
    both = mass + np.diag(motors)
    inertia = links_in_impact(mass, motors, damping, 5e-5)
    assert np.linalg.eigvalsh(inertia - mass).min() > -1e-12
    assert np.linalg.eigvalsh(both - inertia).min() > -1e-12
    assert links_in_impact(mass, motors, damping, 1e-12) == pytest.approx(mass, rel=1e-5, abs=1e-7)
    assert links_in_impact(mass, motors, damping, 1e6) == pytest.approx(both, rel=1e-5, abs=1e-7)


def test_a_task_that_is_too_fast_for_the_links_is_refused_with_a_slower_one():
    """A real one of the study of the operating envelope, whose links were measured at 1.12 times their limit."""
    scenario = load_scenario("tabletop").with_overrides(TOO_FAST)
    with pytest.raises(
        InfeasibleTaskError, match=r"impact at 1\.000 s, panda_joint6: velocity .*\(task\.impact\.speed\)"
    ) as refusal:
        plan_scenario(scenario)
    proposal = propose(scenario, (refusal.value,))[0]
    accepted = scenario.with_overrides(proposal.changes)
    assert accepted.task.impact.speed < scenario.task.impact.speed
    assert use_at_impact(accepted).share <= 1.0
    course = run_scenario(accepted).single
    assert np.abs(course.signals.measured_velocity[:, 5]).max() <= 2.61
