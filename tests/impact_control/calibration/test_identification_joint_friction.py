"""Joint friction from the residual of motion without contact: of one joint by itself, and of the simulated Panda."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.calibration.friction import LEAST_EXPLAINED, PARAMETERS, identify_joint_friction
from impact_control.observation import MomentumObserver
from impact_control.robots import Dynamics, load_robot
from impact_control.simulation import FlexibleJointPlant, Sensors
from impact_control.util.errors import InvalidInputError

PERIOD = 1e-3
GAIN = np.full(7, 30.0)
VISCOUS = np.array([0.5, 0.6, 0.3, 0.4, 0.1, 0.15, 0.05])
"""[Nm s/rad] added to the sigmoid, which is all that the robot's data have."""


def published_friction(velocity, amplitude, slope, offset, viscous):
    """Gaz et al. 2019 as printed, with exponentials, and the viscous term."""
    rest = amplitude / (1.0 + np.exp(-slope * offset))
    return amplitude / (1.0 + np.exp(-slope * (velocity + offset))) - rest + viscous * velocity


def residual_of(time, torque, gain=30.0):
    """What a momentum observer makes of an external torque (m, n): Flacco 2016 (13), from rest."""
    residual, rows = np.zeros_like(torque), np.zeros(torque.shape[1])
    for k in range(1, time.size):
        half = 0.5 * gain * (time[k] - time[k - 1])
        rows = ((1.0 - half) * rows + half * (torque[k] + torque[k - 1])) / (1.0 + half)
        residual[k] = rows
    return residual


def sweep(time, speed=1.0):
    """Velocities (m, 1) of a joint that goes through all speeds both ways."""
    return speed * (np.sin(2.1 * time) * (0.6 + 0.4 * np.sin(0.37 * time)))[:, None]


@settings(deadline=None, max_examples=10)
@given(st.floats(0.2, 2.0), st.floats(4.0, 20.0), st.floats(-0.05, 0.05), st.floats(0.0, 1.0), st.floats(-0.3, 0.3))
def test_without_noise_the_parameters_come_back(amplitude, slope, offset, viscous, bias):
    time = np.arange(0.0, 10.0, PERIOD)
    velocity = sweep(time)
    torque = published_friction(velocity, amplitude, slope, offset, viscous) + bias
    residual = residual_of(time, -torque)
    fit = identify_joint_friction(time, velocity, residual, np.array([30.0]))
    found = np.array([getattr(fit, name)[0] for name in PARAMETERS])
    assert found == pytest.approx([amplitude, slope, offset, viscous, bias], rel=1e-4, abs=1e-4)
    assert fit.explained[0] == pytest.approx(1.0, abs=1e-6)


def test_gaps_and_an_uneven_clock_do_not_disturb():
    random = np.random.default_rng(1)
    time = np.cumsum(random.choice([1e-3, 2e-3], 12000))
    velocity = sweep(time)
    residual = residual_of(time, -published_friction(velocity, 0.8, 8.0, 0.02, 0.1))
    kept = (time % 3.0) > 0.4  # 0.4 s missing in every 3 s
    fit = identify_joint_friction(time[kept], velocity[kept], residual[kept], np.array([30.0]))
    assert [fit.amplitude[0], fit.slope[0], fit.offset[0]] == pytest.approx([0.8, 8.0, 0.02], rel=1e-3)


def test_standard_errors_are_those_of_repeated_trials():
    time = np.arange(0.0, 8.0, PERIOD)
    velocity, trials = sweep(time), 60
    clean = residual_of(time, -published_friction(velocity, 0.8, 8.0, 0.02, 0.1))
    found, stated = [], []
    for seed in range(trials):
        noise = 0.02 * np.random.default_rng(seed).standard_normal(velocity.shape)
        fit = identify_joint_friction(time, velocity, clean + noise, np.array([30.0]))
        found.append([getattr(fit, name)[0] for name in PARAMETERS])
        stated.append(fit.standard_error[:, 0])
    # A standard deviation of 60 trials is known to 1 in 11; the stated ones rest on 20 parts each, 1 in 6.
    assert np.std(found, axis=0) == pytest.approx(np.mean(stated, axis=0), rel=0.4)
    assert np.mean(found, axis=0) == pytest.approx([0.8, 8.0, 0.02, 0.1, 0.0], rel=0.02, abs=0.002)


def test_a_joint_that_hardly_moves_is_named_and_not_identified():
    time = np.arange(0.0, 10.0, PERIOD)
    velocity = np.hstack([sweep(time), sweep(time, 0.1), np.abs(sweep(time))])
    torque = published_friction(velocity, 0.8, 8.0, 0.02, 0.1)
    residual = residual_of(time, -torque)
    fit = identify_joint_friction(time, velocity, residual, np.full(3, 30.0))
    assert fit.identified.tolist() == [True, False, False]
    assert np.isnan(fit.amplitude[1:]).all()
    assert "both directions" in fit.objection[1] and "both directions" in fit.objection[2]


def test_what_has_no_friction_is_not_given_any():
    time = np.arange(0.0, 10.0, PERIOD)
    residual = 0.05 * np.random.default_rng(3).standard_normal((time.size, 1))
    fit = identify_joint_friction(time, sweep(time), residual, np.array([30.0]))
    assert not fit.identified[0] or abs(fit.amplitude[0]) < 0.05


def test_a_fit_that_explains_little_is_not_taken_for_friction():
    time = np.arange(0.0, 40.0, PERIOD)
    other = np.random.default_rng(5).normal(0.0, 0.5, 2000).repeat(20)  # of a wrong model, or a hand: 0.02 s each
    velocity = sweep(time)
    torque = published_friction(velocity, 0.6, 6.0, 0.0, 0.0) + other[:, None]
    arguments = time, velocity, residual_of(time, -torque), np.array([30.0])
    loose = identify_joint_friction(*arguments, viscous=False)
    assert loose.identified.all() and loose.explained[0] < 0.25
    strict = identify_joint_friction(*arguments, viscous=False, least_explained=LEAST_EXPLAINED)
    assert strict.explained == loose.explained and np.isnan(strict.amplitude).all()
    assert f"{100.0 * loose.explained[0]:.0f} % of the variance explained, less than 50 %" in strict.objection[0]


@pytest.fixture(scope="module")
def motion():
    """Time, measured velocities and residuals of the simulated Panda in motion, with a viscous friction added."""
    robot = load_robot()
    home = np.array([0.0, -0.3, 0.0, -2.0, 0.0, 1.9, 0.7])
    plant, sensors, dynamics = FlexibleJointPlant(robot, home), Sensors(robot.noise, 1.0, 5), Dynamics(robot)
    observer = MomentumObserver(GAIN, robot.transmission.damping / robot.transmission.stiffness)
    stiffness = np.array([600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0])
    damping = np.array([50.0, 50.0, 50.0, 50.0, 30.0, 25.0, 15.0])
    rates = np.array([2.1, 2.3, 2.6, 1.9, 2.9, 2.4, 3.1])
    time = np.arange(0.0, 14.0, PERIOD)
    velocities, residuals = np.zeros((2, time.size, 7))
    for k, t in enumerate(time):
        sample = sensors.measure(plant)
        dynamics.compute(sample.position, sample.velocity)
        dynamics.compute_momentum_terms()
        terms = dynamics.coriolis_transposed_velocity, dynamics.gravity
        residuals[k] = observer.observe(dynamics.mass_matrix, sample.velocity, sample.torque, *terms, t)
        velocities[k] = sample.velocity
        size = 0.5 * np.minimum(1.0, t) * (0.6 + 0.4 * np.sin(0.5 * t))
        target = home + size * np.sin(rates * t)
        wanted = size * rates * np.cos(rates * t)
        plant.external_torque[:] = -VISCOUS * plant.link_velocity
        plant.step(stiffness * (target - sample.position) + damping * (wanted - sample.velocity))
    return robot, time, velocities, residuals


def test_the_friction_of_the_simulated_panda_comes_back(motion):
    robot, time, velocities, residuals = motion
    fit = identify_joint_friction(time, velocities, residuals, GAIN)
    assert fit.identified.all(), fit.objection
    true = robot.friction
    for name, exact in (("amplitude", true.amplitude), ("slope", true.slope), ("viscous", VISCOUS)):
        found, error = getattr(fit, name), fit.standard_error[PARAMETERS.index(name)]
        print(f"{name}: off by {100 * np.abs(found / exact - 1).round(4)} %, stated {100 * (error / exact).round(4)} %")
    # The friction torque itself, over the speeds at which the joints moved: what a compensation would use.
    for joint in range(7):
        speed = np.linspace(velocities[:, joint].min(), velocities[:, joint].max(), 101)
        exact = published_friction(speed, true.amplitude[joint], true.slope[joint], true.offset[joint], VISCOUS[joint])
        found = published_friction(speed, *(getattr(fit, name)[joint] for name in PARAMETERS[:4]))
        off = np.abs(found - exact).max() / np.abs(exact).max()
        print(f"joint {joint + 1}: friction torque off by {100 * off:.2f} % of its largest, target 3 %")
        assert off < 0.03


def test_in_parts_of_the_record_the_same_friction_is_found(motion):
    _, time, velocities, residuals = motion
    half = time.size // 2
    parts = [
        identify_joint_friction(time[rows], velocities[rows], residuals[rows], GAIN)
        for rows in (slice(0, half), slice(half, None))
    ]
    for name in ("amplitude", "viscous"):
        row = PARAMETERS.index(name)
        spread = np.hypot(parts[0].standard_error[row], parts[1].standard_error[row])
        assert (np.abs(getattr(parts[0], name) - getattr(parts[1], name)) < 5.0 * spread + 0.01).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"time": np.zeros(2000)}, "increasing"),
        ({"velocity": np.zeros((2000, 2))}, "velocity"),
        ({"residual": np.full((2000, 1), np.nan)}, "residual"),
        ({"observer_gain": np.array([-1.0])}, "observer_gain"),
        ({"time": np.arange(300) * PERIOD, "velocity": np.ones((300, 1)), "residual": np.ones((300, 1))}, "duration"),
    ],
)
def test_what_is_not_allowed_is_named(change, words):
    time = np.arange(2000) * PERIOD
    arguments = {"time": time, "velocity": sweep(time), "residual": np.zeros((2000, 1)), "observer_gain": np.ones(1)}
    with pytest.raises(InvalidInputError, match=words):
        identify_joint_friction(**{**arguments, **change})
