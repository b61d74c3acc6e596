"""Steps of plant A against the modes of what they integrate: they stay where the schemes are stable."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Chebyshev
from scipy.linalg import expm

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import JointBacklash
from impact_control.simulation import Arm, PlantOptions, ScenePlant
from impact_control.simulation.body_motion import derivative
from impact_control.simulation.joint_kernel import BACKLASH_SLIP_SCALE
from impact_control.simulation.plant_kernel import advance_classically
from impact_control.simulation.stabilised_step import DAMPING, LENGTH, MOST_STAGES, advance_stabilised, stages_for
from impact_control.simulation.step_control import STABLE, STIFFENING, Schedule, due_step, joint_rates
from simulated_arms import HOMES, SHIPPED, STEEL, surface_below, velocity_for

FIRM, STICKY = JointBacklash(), JointBacklash(gap=1e-4, damping=2.0, dry_friction=0.3)
SLACK_STEEL = ExponentialHuntCrossley(10**6.5, 3.2e12, 1.5)
"""Softer than steel, damped as much: a decay of 10^7 1/s."""


def configurations(robot, count, seed):
    lower, upper = robot.limits.position_lower, robot.limits.position_upper
    return np.random.default_rng(seed).uniform(lower, upper, (count, lower.size))


def modes_of_joints(robot, q, damping):
    """Return the eigenvalues of links and motors with damping (n,) [Nm s/rad] between them and friction, at q."""
    dynamics, drive, n = Dynamics(robot), robot.transmission, q.size
    dynamics.compute(q, np.zeros(n))
    friction = np.diag(0.25 * robot.friction.amplitude * robot.friction.slope)
    inertia = np.block([[dynamics.mass_matrix, np.zeros((n, n))], [np.zeros((n, n)), np.diag(drive.motor_inertia)]])
    between = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.eye(n))
    springs = between @ np.diag(np.tile(drive.stiffness, 2))
    dampers = between @ np.diag(np.tile(damping, 2)) + np.kron([[1.0, 0.0], [0.0, 0.0]], friction)
    zero, one = np.zeros((2 * n, 2 * n)), np.eye(2 * n)
    return np.linalg.eigvals(
        np.block([[zero, one], [-np.linalg.solve(inertia, springs), -np.linalg.solve(inertia, dampers)]])
    )


def test_the_classical_scheme_is_stable_in_the_half_disc():
    """By the principle of the maximum it is enough to look at the edge."""
    arc = 1j * np.exp(1j * np.linspace(0.0, np.pi, 2001))
    edge = STABLE * STIFFENING * np.concatenate([arc, 1j * np.linspace(-1.0, 1.0, 2001)])
    growth = np.abs(1.0 + edge + edge**2 / 2.0 + edge**3 / 6.0 + edge**4 / 24.0)
    assert growth.max() <= 1.0 + 1e-12
    assert growth.max() > 1.0 - 1e-3
    decaying = -STABLE
    assert abs(1.0 + decaying + decaying**2 / 2.0 + decaying**3 / 6.0 + decaying**4 / 24.0) < 0.5


def stabilised_growth(stages, z):
    """Return |P_s| of Sommeijer, Shampine and Verwer 1998 at the real z, from Chebyshev polynomials of NumPy."""
    chebyshev = Chebyshev.basis(stages)
    first, second = chebyshev.deriv(), chebyshev.deriv(2)
    w0 = 1.0 + DAMPING / stages**2
    weight = second(w0) / first(w0) ** 2
    return np.abs(1.0 - weight * chebyshev(w0) + weight * chebyshev(w0 + first(w0) / second(w0) * z))


@pytest.mark.parametrize("stages", range(2, MOST_STAGES + 1))
def test_the_stabilised_scheme_is_stable_as_far_as_it_says_and_damps_on_the_way(stages):
    length = LENGTH * (stages**2 - 1.0)
    decay = np.linspace(0.0, length, 20001)
    growth = stabilised_growth(stages, -decay)
    assert growth.max() <= 1.0
    # A mode that the classical scheme does not bear.
    assert growth[decay > 2.615].max(initial=0.0) < 0.53
    assert stages_for(length, 1.0, 1.0) == stages
    assert stages_for(1.01 * length, 1.0, 1.0) == stages + 1


@pytest.mark.parametrize("backlash", [FIRM, STICKY], ids=["firm", "backlash"])
@pytest.mark.parametrize(("name", "tool"), SHIPPED)
def test_the_modes_of_the_joints_are_inside_their_bounds(name, tool, backlash):
    robot = load_robot(name, tool)
    drive = robot.transmission
    damping = np.maximum(drive.damping, backlash.damping + backlash.dry_friction / BACKLASH_SLIP_SCALE)
    for q in configurations(robot, 20, seed=41):
        arrays = ScenePlant([Arm(robot, q)], options=PlantOptions(backlash=backlash, torque_filter=False)).arrays
        fastest_decay, square = joint_rates(arrays)
        modes = modes_of_joints(robot, q, damping)
        oscillating = np.abs(modes.imag) > 1e-3 * np.abs(modes)
        assert np.abs(modes[~oscillating]).max(initial=0.0) <= fastest_decay
        assert np.abs(modes[oscillating]).max(initial=0.0) <= np.sqrt(square)
        # The bound is not far off either, where a mode is fast.
        fastest = np.abs(modes).max()
        assert fastest * 50e-6 < 1.0 or fastest_decay < 1.2 * fastest


class Step:
    """The integration step that a scene is due, as a map of its state."""

    def __init__(self, scene):
        """Choose it as the plant does, at the rigid-body terms of the last interval."""
        self.arrays = scene.arrays
        o = scene.options
        limits = (o.largest_step, o.step_safety, np.inf)
        self.rate(scene.arrays.state)
        self.length, self.stages = due_step(
            Schedule(1, o.sample_period, 1, o.sample_period, *limits, 1.0),
            scene.arrays,
            joint_rates(scene.arrays),
            scene.time,
            o.largest_step,
        )

    def rate(self, state):
        """Return the rate of a state; it is the first row of the work, too."""
        slope = self.arrays.work[0]
        derivative(self.arrays, state, slope)
        return slope.copy()

    def end(self, state):
        """Return the state after the step from another one."""
        moved = state.copy()
        self.rate(moved)
        if self.stages:
            advance_stabilised(self.arrays, moved, self.length, self.stages)
        else:
            advance_classically(self.arrays, moved, self.length)
        return moved

    def linearised(self, of):
        """Return the derivative of a map of the state, by differences."""
        state = self.arrays.state
        shifts = 1e-9 * np.eye(state.size)
        return np.array([(of(state + shift) - of(state - shift)) / 2e-9 for shift in shifts]).T


def falling(name, tool, law, options, friction=0.3):
    robot = load_robot(name, tool)
    scene = ScenePlant(
        [Arm(robot, HOMES[name])], surfaces=[surface_below(robot, law=law, friction=friction)], options=options
    )
    arm = scene.arms[0]
    arm.link_velocity[:] = velocity_for(robot, (0.05, 0.0, -0.17))
    arm.motor_velocity[:] = arm.link_velocity
    return scene


@pytest.mark.parametrize("backlash", [FIRM, STICKY], ids=["firm", "backlash"])
@pytest.mark.parametrize("law", [STEEL, SLACK_STEEL], ids=["steel", "slack"])
@pytest.mark.parametrize("tool", ["sphere", "plate"])
def test_a_step_makes_nothing_grow_that_does_not_grow_by_itself(tool, law, backlash):
    """From before an impact of an FR3 to the end of it: both schemes, and steps that contacts and joints shorten."""
    options = PlantOptions(sample_period=2.5e-4, refresh_ticks=1, backlash=backlash)
    scene = falling("fr3", tool, law, options)
    touched, stages = 0, set()
    for _ in range(60):
        scene.step([np.zeros(7)])
        step = Step(scene)
        touched += scene.arms[0].normal_force > 0.0
        stages.add(step.stages)
        true = np.abs(np.linalg.eigvals(expm(step.length * step.linearised(step.rate)))).max()
        ours = np.abs(np.linalg.eigvals(step.linearised(step.end))).max()
        # Motions that neither grow nor decay have eigenvalues of 1, several at once, which rounding moves by 3e-3.
        assert ours < max(true, 1.0) + 1e-2
    assert touched > 10
    assert 0 in stages


def test_what_a_free_fr3_does_not_resolve_dies_out_in_few_steps():
    """The fastest mode, joint 7 against its motor, in one step of 50 us that is gone in four stages."""
    scene = ScenePlant([Arm(load_robot("fr3"), HOMES["fr3"])])
    scene.step([np.zeros(7)])
    step = Step(scene)
    assert (step.length, step.stages) == (pytest.approx(50e-6), 4)
    rates, modes = np.linalg.eig(step.linearised(step.rate))
    fastest = np.argmax(np.abs(rates))
    assert rates[fastest] * step.length < -4.0
    after = step.linearised(step.end) @ modes[:, fastest]
    assert np.linalg.norm(after) < 0.5 * np.linalg.norm(modes[:, fastest])
