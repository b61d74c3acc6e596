"""Simulations that cannot go on: they end at once, with the part that is to blame, and do so again."""

from __future__ import annotations

import dataclasses
import math
import pickle

import numpy as np
import pytest

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.robots import load_robot
from impact_control.simulation import Arm, Box, ScenePlant
from impact_control.util.errors import SimulationError
from simulated_arms import HOMES, surface_below, velocity_for

FR3 = load_robot("fr3")
FOAM = ExponentialHuntCrossley(1e5, 1e5, 1.5)
IMPOSSIBLE = ExponentialHuntCrossley(1e20, 1e26, 1.5)
"""A mode of 10^14 1/s at the first touch."""


def scene(law=FOAM, robot=FR3):
    """Return an arm that is about to touch a surface, with a box far from both."""
    box = Box(mass=1.0, size=[0.1, 0.1, 0.1], law=FOAM, friction=0.3, position=[0.0, 2.0, 2.0])
    made = ScenePlant([Arm(robot, HOMES[robot.name])], [box], surfaces=[surface_below(robot, law=law)])
    arm = made.arms[0]
    arm.link_velocity[:] = velocity_for(robot, (0.0, 0.0, -0.2))
    arm.motor_velocity[:] = arm.link_velocity
    return made


def stall(made, command=None, samples=100):
    """Step a scene until it fails; return the error."""
    with pytest.raises(SimulationError) as caught:
        for _ in range(samples):
            made.step([np.zeros(7) if command is None else command])
    return caught.value


@pytest.mark.parametrize("torque", [math.nan, -math.inf, 1e300])
def test_a_command_that_is_none(torque):
    command = np.zeros(7)
    command[2] = torque
    error = stall(scene(), command)
    assert (error.part, error.time) == ("command", 0.0)
    assert "fr3_joint3" in str(error) and f"{torque:.3g} Nm" in str(error)


def test_what_acts_from_outside_and_is_none():
    made = scene()
    made.arms[0].external_torque[4] = math.inf
    error = stall(made)
    assert error.part == "external torque" and "fr3_joint5" in error.found
    made = scene()
    made.boxes[0].external_wrench[3] = math.nan
    error = stall(made)
    assert error.part == "external wrench" and "box 0" in error.found


@pytest.mark.parametrize(
    ("of", "row"),
    [("link_velocity", "velocity"), ("motor_position", "motor position"), ("filtered_torque", "filtered torque")],
)
def test_a_joint_whose_state_is_lost(of, row):
    made = scene()
    made.step([np.zeros(7)])
    getattr(made.arms[0], of)[5] = math.nan
    error = stall(made)
    assert error.part == "joint" and error.found.startswith(f"fr3_joint6: {row} nan")
    assert error.time == pytest.approx(1e-3)


def test_a_box_whose_state_is_lost():
    made = scene()
    made.boxes[0].velocity[1] = math.nan
    error = stall(made)
    assert error.part == "object" and "box 0" in error.found


def test_a_contact_too_stiff_for_any_step():
    error = stall(scene(IMPOSSIBLE))
    assert error.part == "contact" and "arm 0 at the surface" in error.found
    assert error.time == pytest.approx(5e-4 / 0.2, rel=0.05)
    assert 0.0 < error.step < 1e-9


def test_joints_too_stiff_for_any_step():
    drive = FR3.transmission
    rigid = dataclasses.replace(FR3, transmission=dataclasses.replace(drive, stiffness=1e20 * drive.stiffness))
    error = stall(scene(robot=rigid))
    assert error.part == "joint" and "1/s" in error.found
    assert error.time == 0.0


def test_a_torque_loop_that_is_not_stable_by_itself():
    """A thousandth of the motor inertia is more than 4 kHz can do: what grows is named before it is no number."""
    drive = FR3.transmission
    quick = dataclasses.replace(drive, reduced_motor_inertia=drive.motor_inertia / 1000.0)
    made = ScenePlant([Arm(dataclasses.replace(FR3, transmission=quick), HOMES["fr3"])])
    made.arms[0].link_velocity[:] = 0.1
    error = stall(made)
    assert error.part == "joint" and "fr3_joint" in error.found
    assert np.all(np.isfinite(made.arms[0].link_velocity))


def test_it_fails_again_and_passes_from_one_process_to_another():
    made = scene(IMPOSSIBLE)
    first, again = stall(made), stall(made, samples=1)
    assert (again.part, again.time) == (first.part, first.time)
    copy = pickle.loads(pickle.dumps(first))
    assert str(copy) == str(first)
    assert (copy.part, copy.found, copy.time, copy.step) == (first.part, first.found, first.time, first.step)
