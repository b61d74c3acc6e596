"""Sensors and command gate: what a Franka reports, and what it does without commands."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from impact_control.robots import load_robot
from impact_control.scenario import load_scenario
from impact_control.simulation import CommandGate, CommandState, FlexibleJointPlant, Sensors, build_world
from impact_control.util.errors import InvalidInputError
from impact_control_ros.robot_side.simulated_arm import ArmSide

ROBOT = load_robot()
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
STILL = np.zeros(7)


def gate(timeout=0.02):
    return CommandGate(ROBOT.limits, timeout, np.full(7, 10.0))


def test_noise_has_the_published_half_widths():
    plant = FlexibleJointPlant(ROBOT, HOME)
    sensors = Sensors(ROBOT.noise, 1.0, seed=3)
    samples = [sensors.measure(plant) for _ in range(4000)]
    position = np.array([s.position for s in samples]) - HOME
    velocity = np.array([s.velocity for s in samples])
    assert np.abs(position).max() <= 7.5e-4 * (1 + 1e-9)
    assert np.abs(velocity).max() <= 5e-3 * (1 + 1e-9)
    # Clipping at three standard deviations takes 1 % of the width.
    assert position.std() == pytest.approx(2.5e-4, rel=0.03)
    assert velocity.std() == pytest.approx(5e-3 / 3, rel=0.03)
    assert abs(velocity.mean()) < 5e-5


def test_noise_is_repeated_by_its_seed_and_vanishes_at_scale_zero():
    plant = FlexibleJointPlant(ROBOT, HOME)
    first, second = (Sensors(ROBOT.noise, 1.0, seed=5).measure(plant) for _ in range(2))
    other = Sensors(ROBOT.noise, 1.0, seed=6).measure(plant)
    np.testing.assert_array_equal(first.velocity, second.velocity)
    assert (first.velocity != other.velocity).any()
    np.testing.assert_array_equal(Sensors(ROBOT.noise, 0.0, seed=5).measure(plant).position, HOME)


def test_gate_applies_holds_and_then_damps():
    g = gate()
    speed = np.full(7, 0.5)
    assert g.offer(np.full(7, 3.0))
    np.testing.assert_array_equal(g.select(speed, 1e-3), np.full(7, 3.0))
    assert g.state is CommandState.FRESH
    for _ in range(20):
        np.testing.assert_array_equal(g.select(speed, 1e-3), np.full(7, 3.0))
        assert g.state is CommandState.HELD
    for torque in (*np.arange(2.0, -9.5, -1.0), -9.0):  # at the 1000 Nm/s that a Franka allows
        np.testing.assert_allclose(g.select(speed, 1e-3), np.full(7, torque), atol=1e-12)
        assert g.state is CommandState.LOST
    g.offer(np.full(7, 1.0))
    g.select(speed, 1e-3)
    assert g.state is CommandState.FRESH


def test_gate_damps_before_the_first_command_and_after_reset():
    g = gate()
    g.select(STILL, 1e-3)
    assert g.state is CommandState.LOST
    assert not g.seen_command
    g.offer(np.ones(7))
    g.reset()
    np.testing.assert_allclose(g.select(np.full(7, 0.5), 1e-3), np.full(7, -1.0))
    for _ in range(25):
        g.select(np.full(7, 0.5), 1e-3)
    np.testing.assert_allclose(g.torque, np.full(7, -9.0))
    for torque in (*np.arange(-8.0, 1.5, 1.0), 1.0):
        np.testing.assert_allclose(g.select(np.full(7, -0.1), 1e-3), np.full(7, torque), atol=1e-12)


def test_gate_damps_at_once_where_nobody_commands():
    g = gate()
    g.offer(np.full(7, 3.0))
    g.select(STILL, 1e-3)
    g.release()
    np.testing.assert_allclose(g.select(STILL, 1e-3), np.full(7, 2.0))
    assert g.state is CommandState.LOST and g.seen_command


def test_gate_damps_where_commands_come_late():
    g = gate()
    speed = np.full(7, 0.5)
    for _ in range(30):
        assert g.offer(np.full(7, 3.0), age=0.02)
        np.testing.assert_array_equal(g.select(speed, 1e-3), np.full(7, 3.0))
        assert g.state is CommandState.FRESH
    for cycle in range(30):
        assert g.offer(np.full(7, 3.0), age=0.021)
        np.testing.assert_allclose(g.select(speed, 1e-3), np.full(7, max(2.0 - cycle, -9.0)), atol=1e-12)
        assert g.state is CommandState.LOST
    assert g.refused == 0


def test_gate_holds_a_command_for_as_long_as_it_is_young():
    g = gate()
    g.offer(np.full(7, 3.0), age=0.015)
    states = []
    for _ in range(8):
        g.select(STILL, 1e-3)
        states.append(g.state)
    assert states == [CommandState.FRESH] + [CommandState.HELD] * 5 + [CommandState.LOST] * 2


@pytest.mark.parametrize("command", [np.ones(6), np.ones(8), np.append(np.ones(6), math.nan), np.full(7, math.inf)])
def test_gate_drops_what_is_no_command(command):
    g = gate()
    g.offer(np.full(7, 2.0))
    g.select(STILL, 1e-3)
    assert not g.offer(command)
    assert g.refused == 1
    np.testing.assert_array_equal(g.select(STILL, 1e-3), np.full(7, 2.0))
    assert g.state is CommandState.HELD


def test_gate_keeps_the_torque_limits():
    g = gate()
    g.offer(np.full(7, 1000.0))
    np.testing.assert_array_equal(g.select(STILL, 1e-3), ROBOT.limits.torque)
    fast = np.full(7, -1000.0)
    for _ in range(120):
        g.select(fast, 1e-3)
    np.testing.assert_array_equal(g.torque, ROBOT.limits.torque)


def test_lost_commands_bring_a_moving_arm_to_rest():
    plant = FlexibleJointPlant(ROBOT, HOME)
    plant.link_velocity[:] = 0.5
    plant.motor_velocity[:] = 0.5
    g = gate()
    for _ in range(1000):
        plant.step(g.select(plant.link_velocity, 1e-3))
    assert np.abs(plant.link_velocity).max() < 1e-2


def test_wrong_settings_are_refused():
    with pytest.raises(InvalidInputError, match="timeout"):
        gate(timeout=0.0)
    with pytest.raises(InvalidInputError, match="noise"):
        Sensors(ROBOT.noise, -1.0, seed=0)
    for delay in (-1, 0.5):
        with pytest.raises(InvalidInputError, match="measurement delay"):
            Sensors(ROBOT.noise, 1.0, seed=0, delay=delay)


def test_bounces_are_one_contact_and_a_later_touch_is_another():
    side = ArmSide("", None, build_world(load_scenario("tabletop")), 1e-3, None)
    side._arm = arm = SimpleNamespace(first_contact_time=math.nan)
    begun = []
    for time, touching in (
        (0.5, False),
        (1.001, False),
        (1.03, True),
        (1.1, True),
        (1.3, False),
        (4.0, True),
        (4.05, True),
    ):
        if time > 1.0:  # within a period, over before its end
            arm.first_contact_time = 1.0004
        side._note_contact(time, touching)
        begun.append(side._contact_began)
    np.testing.assert_array_equal(begun, [math.nan, 1.0004, 1.0004, 1.0004, 1.0004, 4.0, 4.0])
