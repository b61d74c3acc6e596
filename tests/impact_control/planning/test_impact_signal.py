"""The signal of a planned impact in its detector, against simulated impacts on a hard surface."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from tests.support.random_tasks import TABLETOP, random_task
from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_control.pipeline.sensing import make_observer
from impact_control.planning import Plan, impact_signal, plan_scenario
from impact_control.planning.team import Team
from impact_control.robots import Dynamics, SensorNoise
from impact_control.scenario import load_scenario
from impact_control.simulation.world import build_world
from impact_control.util.errors import ImpactControlError

HARD = {
    "simulation.noise": 0.0,
    "actual_environment.surface.contact.stiffness": "1e10 N/m^1.5",
    "actual_environment.surface.contact.damping": "1e13 N*s/m^2.5",
}


def largest_rate(plan: Plan) -> float:
    """Return the largest rate of the residual in the 2.5 ms after the first contact, as a part of its bound."""
    scenario, arm = plan.scene.arm(), plan.arms[""]
    world = build_world(scenario, {"": arm.robot}, {"": arm.reference.initial_configuration})
    team, sensor, body, gate = Team(plan), world.sensors[""], world.arms[""], world.gates[""]
    team.reset()
    team.start()
    period, pipeline, largest = scenario.control.period, team.pipelines[""], 0.0
    for k in range(round((scenario.task.impact.time + 0.05) / period)):
        measured = sensor.measure(body)
        team.tick({"": (k * period, measured.position, measured.velocity, measured.torque)})
        if not math.isnan(body.first_contact_time) and k * period < body.first_contact_time + 2.5e-3:
            rates = np.abs(pipeline.observer.residual_rate)
            largest = max(largest, float(np.max(rates / scenario.detection.rate_threshold)))
        world.step([gate.select(body.link_velocity, period)])
        gate.offer(pipeline.torque)
    return largest


@pytest.mark.parametrize("gain", [30.0, 1000.0])
def test_random_impacts_on_a_hard_surface_leave_the_predicted_signal_or_two_halves(gain):
    """Within 20 %, where the impulse falls into one period; never less than half of it."""
    found = []
    for seed in range(100, 116):
        scenario = random_task(seed, ("panda", "fr3")[seed % 2]).with_overrides(HARD)
        bounds = ", ".join(f"{gain / 30.0 * one:.17g}" for one in scenario.detection.rate_threshold) + " Nm/s"
        faster = {"detection.observer_gain": f"{gain} 1/s", "detection.residual_rate.threshold": bounds}
        scenario = scenario.with_overrides(faster)
        try:
            plan = plan_scenario(scenario)
        except ImpactControlError:
            continue
        signal = impact_signal(plan.arms[""])
        found.append(largest_rate(plan) / signal.share)
    assert len(found) >= 10
    assert min(found) > 0.5
    assert max(found) < 1.2
    assert np.mean(np.array(found) > 0.9) > 0.6


def test_an_edge_that_touches_first_at_its_weaker_end_leaves_the_predicted_signal():
    """Tilted by 1.5 deg along the edge: 0.63 of the signal of both ends at once."""
    edge, ratios = load_scenario("tabletop_edge"), []
    for tilt in (-1.5, 1.5):
        normal = edge.expected_surface.normal + math.tan(math.radians(tilt)) * edge.task.impact.heading
        turned = {"actual_environment.surface.normal": (normal / np.linalg.norm(normal)).tolist()}
        plan = plan_scenario(edge.with_overrides({**HARD, **turned}))
        ratios.append(largest_rate(plan) / impact_signal(plan.arms[""]).share)
    assert 0.9 < min(ratios) < 1.3


def test_it_grows_with_the_speed_and_falls_with_the_threshold():
    share = impact_signal(plan_scenario(TABLETOP).arms[""]).share
    slow = TABLETOP.with_overrides({"task.impact.speed": "0.1 m/s"})
    assert impact_signal(plan_scenario(slow).arms[""]).share == pytest.approx(0.5 * share, rel=0.05)
    threshold = 2.0 * TABLETOP.detection.rate_threshold
    text = ", ".join(f"{one:.17g}" for one in threshold) + " Nm/s"
    deaf = TABLETOP.with_overrides({"detection.residual_rate.threshold": text})
    assert impact_signal(plan_scenario(deaf).arms[""]).share == pytest.approx(0.5 * share)


def test_a_slow_impact_is_warned_of_unless_another_detector_may_find_it():
    arguments = ["plan", "tabletop", "--set", "task.impact.speed=0.03 m/s"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "warning: the impact may not be detected" in result.output
    noisy = CliRunner().invoke(app, [*arguments[:2], "--set", "detection.residual_rate.threshold=1 Nm/s"])
    assert "a false impact is found before that of the task with probability 1:" in " ".join(noisy.output.split())
    touch = CliRunner().invoke(app, ["plan", "tabletop_touch", "--set", "task.impact.speed=0.03 m/s"])
    assert "may not be detected" not in touch.output and "Signal" in touch.output


def test_arms_at_objects_have_none():
    plan = plan_scenario(load_scenario("push_parcel_1"))
    assert [impact_signal(arm) for arm in plan.arms.values()] == [None] * len(plan.arms)


@pytest.mark.parametrize(
    ("seed", "model", "period", "gain", "joint", "bound"),
    [
        (31, "panda", 1e-3, 30.0, 6, 3.841),
        (32, "fr3", 1e-3, 200.0, 3, 1672.0),
        (33, "panda", 5e-4, 30.0, 6, 7.644),
        (34, "panda", 1e-3, 1000.0, 6, 106.1),
        (35, "fr3", 4e-3, 200.0, 5, 37.31),
        (35, "fr3", 4e-3, 1000.0, 0, 1177.0),
    ],
)
def test_false_alarms_come_as_often_as_predicted(seed, model, period, gain, joint, bound):
    """Noise alone, clipped as in the published data, in the configurations of the approach; thirty times, some 90."""
    bounds, times = np.full(7, 1e9), 30
    bounds[joint] = bound
    changes = {
        "control.period": f"{period} s",
        "detection.observer_gain": f"{gain} 1/s",
        "detection.residual_rate.threshold": ", ".join(f"{one:.6g}" for one in bounds) + " Nm/s",
    }
    scenario = random_task(seed, model, speed=0.1).with_overrides(changes)
    arm = plan_scenario(scenario).arms[""]
    expected = times * impact_signal(arm).false_alarms
    dynamics, observer = Dynamics(arm.robot), make_observer(scenario, arm.robot)
    random, noise, counted = np.random.default_rng(5), arm.robot.noise, 0
    for _ in range(times):
        observer.reset()
        for row in range(round(scenario.task.impact.time / period)):
            of_velocity, of_torque = np.clip(random.standard_normal((2, 7)), -3.0, 3.0) / 3.0
            dynamics.compute(arm.reference.ante.columns.joint_position[row], noise.velocity * of_velocity)
            dynamics.compute_momentum_terms()
            torque = dynamics.gravity + noise.torque * of_torque
            terms = (dynamics.coriolis_transposed_velocity, dynamics.gravity, row * period)
            observer.observe(dynamics.mass_matrix, dynamics.dq, torque, *terms)
            counted += int(np.count_nonzero(np.abs(observer.residual_rate) > scenario.detection.rate_threshold))
    assert expected > 50.0
    # The noise is clipped: fewer by up to a third where that of one sensor counts most.
    assert 0.6 * expected < counted < expected + 3.0 * math.sqrt(expected)


def test_a_robot_file_without_noise_raises_no_false_alarms():
    arm = plan_scenario(TABLETOP).arms[""]
    quiet = SensorNoise(*np.zeros((5, 7)))
    signal = impact_signal(dataclasses.replace(arm, robot=dataclasses.replace(arm.robot, noise=quiet)))
    assert signal.false_alarms == 0.0 and signal.warnings == ()
