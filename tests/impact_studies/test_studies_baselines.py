"""Ways to meet an impact, side by side: cases, measures of a trial, the feedback torque, statements."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from impact_control.references import build_reference
from impact_control.robots import Dynamics, InertiaModel, load_robot
from impact_control.scenario import Feedback, load_scenario
from impact_studies.frame.study import Mark, all_hold
from impact_studies.frame.trials import from_arrays
from impact_studies.impact_baselines.impedance import Impedance
from impact_studies.impact_baselines.statements import (
    AROUND,
    PEAK_FEEDBACK,
    Outcome,
    comparisons,
    findings,
    medians_table,
    target_table,
    verdict,
    worst_table,
)
from impact_studies.impact_baselines.trial import (
    HEIGHT,
    JOINT_SPACE,
    METHODS,
    PLAIN,
    REFERENCE_SPREADING,
    SLOW,
    SOFT,
    STIFF,
    STIFFNESS,
    WINDOW,
    Case,
    FeedbackTorque,
    Measured,
    cases,
    met,
    planned,
    run_case,
)

HIGH = 6e-3
SPEED_DOWN = 0.2 * math.sin(math.radians(60.0))


@functools.cache
def trial(method, height=HIGH):
    return from_arrays(Measured, run_case(Case(method, height, 0.0, 0.0, 3)))


def test_all_methods_meet_the_same_surfaces():
    every = cases(5, 3)
    assert len(every) == 5 * len(METHODS)
    surfaces = {
        method: [(c.height, c.tilt_x, c.tilt_y, c.seed) for c in every if c.method == method] for method in METHODS
    }
    assert all(found == surfaces[PLAIN] for found in surfaces.values())
    assert all(abs(case.height) <= HEIGHT for case in every)
    assert cases(7, 3)[: len(every)] == every
    assert cases(5, 4) != every


@pytest.mark.parametrize(("tilt_x", "tilt_y"), [(2.0, 0.0), (0.0, -1.5), (1.0, 1.0)])
def test_the_real_surface_is_turned_and_lifted(tilt_x, tilt_y):
    scenario = met(planned(PLAIN), Case(PLAIN, 4e-3, tilt_x, tilt_y, 7))
    surface = scenario.actual_environment.surface
    assert surface.point == pytest.approx(scenario.expected_environment.surface.point + np.array([0.0, 0.0, 4e-3]))
    slopes = [-surface.normal[1] / surface.normal[2], surface.normal[0] / surface.normal[2]]
    expected = [math.tan(math.radians(tilt_x)), math.tan(math.radians(tilt_y)) / math.cos(math.radians(tilt_x))]
    assert slopes == pytest.approx(expected)
    assert scenario.simulation.seed == 7


def test_the_slow_approach_is_nowhere_much_faster_than_at_its_end():
    scenario = planned(SLOW)
    reference = build_reference(scenario, load_robot())
    speed = np.linalg.norm(reference.ante.columns.velocity, axis=1)
    assert speed.max() < 1.6 * scenario.task.impact.speed
    late = reference.ante.times > reference.nominal_impact_time
    assert speed[late].max() <= 1.01 * scenario.task.impact.speed


@pytest.mark.parametrize("joint_space", [False, True])
def test_the_feedback_torque_is_that_of_the_joint_errors_where_all_gains_are_one(joint_space):
    """With the same gain in all tasks and joints, small errors ask for inertia (k e + 2 sqrt(k) de) in both forms."""
    gain, gamma, robot = 100.0, 0.7, load_robot()
    control = load_scenario("tabletop").control
    gains = replace(control.gains, position=gain, orientation=gain, posture=gain, joint=gain)
    control = replace(control, gains=gains, feedback=Feedback.JOINT_SPACE if joint_space else Feedback.TASK_SPACE)
    q = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    error, rate = 1e-6 * np.arange(1.0, 8.0), 1e-5 * np.linspace(1.0, -2.0, 7)
    dynamics = Dynamics(robot)
    dynamics.compute(q, -rate)
    twist = dynamics.jacobian @ np.array([error, rate]).T
    wanted = SimpleNamespace(
        joint_position=q + error,
        joint_velocity=np.zeros(7),
        posture=np.array([q[0] + error[0], 0.0, 0.0]),
        angular_velocity=np.zeros(3),
    )
    controller = SimpleNamespace(
        desired=wanted,
        gamma=gamma,
        position_error=twist[:3, 0],
        orientation_error=twist[3:, 0],
        velocity_error=twist[:3, 1],
    )
    whole, by_velocity = FeedbackTorque(control, 7).at(controller, dynamics)
    inertia = dynamics.mass_matrix + np.diag(robot.transmission.reduced_motor_inertia)
    np.testing.assert_allclose(by_velocity, inertia @ (2.0 * gamma * math.sqrt(gain) * rate), rtol=1e-6)
    np.testing.assert_allclose(whole - by_velocity, inertia @ (gain * error), rtol=1e-6)


@pytest.mark.parametrize("method", [REFERENCE_SPREADING, PLAIN])
def test_a_trial_on_a_higher_surface(method):
    """It comes early by height over speed; detected at once; inside all limits; until the slide ends."""
    found = trial(method)
    assert found.contact_offset == pytest.approx(-HIGH / SPEED_DOWN, abs=2e-3)
    assert 0.0 <= found.detection_delay <= 3e-3
    assert found.limits_kept
    assert found.peak_feedback >= found.peak_feedback_detected >= 0.0
    assert found.peak_feedback == pytest.approx(np.max(found.feedback[found.time >= 0.0]), rel=0.5)
    assert 1.5 < found.cycle_time < 2.5
    assert 0.0 < found.rate_limited < WINDOW
    assert found.peak_torque_rate <= 1000.0 * (1.0 + 1e-9)


def test_the_jump_of_the_velocity_is_in_the_feedback_of_plain_tracking():
    """Van Steen 2024, section I: until the nominal time the old speed is asked for, 2 sqrt(k) times the jump of it.

    On the normal alone that is 2 sqrt(400) 0.17 = 7 m/s^2, which the effective mass of some kg makes tens of Nm.
    """
    spread, plain = trial(REFERENCE_SPREADING), trial(PLAIN)
    assert plain.peak_velocity_feedback > 3.0 * spread.peak_velocity_feedback
    early = (plain.time > 5e-3) & (plain.time < HIGH / SPEED_DOWN - 5e-3)
    assert np.median(plain.feedback[early]) > 2.0 * np.median(spread.feedback[early])


@pytest.mark.parametrize("method", [SOFT, STIFF])
def test_impedance_control_presses_harder_by_stiffness_times_height(method):
    """Once at rest on a surface that is higher by h the force is F + K h, but for what friction holds back."""
    found = trial(method)
    assert found.force_error == pytest.approx(STIFFNESS[method] * HIGH, rel=0.15)
    assert found.limits_kept and math.isnan(found.detection_delay)
    assert found.peak_torque_rate <= 1000.0 * (1.0 + 1e-9)


def test_impedance_control_without_errors_presses_with_the_force_of_the_task():
    scenario, robot = planned(STIFF), load_robot()
    reference = build_reference(scenario, robot)
    law, dynamics, end = Impedance(STIFFNESS[STIFF], scenario, robot, reference), Dynamics(robot), 2.4
    configuration = inverse_kinematics(robot, reference)
    dynamics.compute(configuration, np.zeros(7))
    for _ in range(200):  # the torque rises at the limit of its rate
        torque, feedback = law.answer(end, dynamics)
    # The posture does not accelerate E: no force of it there.
    inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
    mobility = dynamics.jacobian @ np.linalg.solve(inertia, dynamics.jacobian.T)
    force = np.linalg.solve(mobility, dynamics.jacobian @ np.linalg.solve(inertia, torque - feedback[0]))
    np.testing.assert_allclose(force[:3], -scenario.task.post.force * reference.geometry.normal, atol=1e-6)
    np.testing.assert_allclose(feedback, 0.0, atol=1e-2)


def inverse_kinematics(robot, reference):
    """The configuration at the end of the slide, within 1 um and 1 urad."""
    dynamics, geometry = Dynamics(robot), reference.geometry
    q = reference.impact_configuration.copy()
    for _ in range(50):
        dynamics.compute(q, np.zeros(7))
        turn = pin.log3(geometry.orientation @ dynamics.rotation.T)
        q += np.linalg.pinv(dynamics.jacobian) @ np.concatenate(
            [reference.post.columns.position[-1] - dynamics.position, turn]
        )
    return q


def test_the_damping_of_impedance_control_has_its_ratio_along_each_axis_of_the_inertia():
    """With one stiffness for all axes D = 2 zeta sqrt(K Lambda): each decoupled axis is damped alike."""
    scenario, robot = planned(SOFT), load_robot()
    reference = build_reference(scenario, robot)
    law, dynamics = Impedance(30.0, scenario, robot, reference), Dynamics(robot)
    dynamics.compute(reference.impact_configuration, np.zeros(7))
    inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
    apparent = np.linalg.inv(dynamics.jacobian @ np.linalg.solve(inertia, dynamics.jacobian.T))
    damping = law.damping(dynamics)
    np.testing.assert_allclose(damping @ damping, 4.0 * 0.7**2 * 30.0 * apparent, rtol=1e-9)


def made(peak, kept=True, **changes):
    values = dict.fromkeys(Measured.__annotations__, 1.0)
    values |= {"peak_feedback": peak, "limits_kept": kept, "time": np.zeros(2), "feedback": np.ones(2), **changes}
    return Measured(**values)


def outcome(spread, plain, kept=True):
    """Two surfaces; the other methods are like plain tracking."""
    trials = {method: [made(plain), made(plain, kept)] for method in METHODS}
    trials[REFERENCE_SPREADING] = [made(spread), made(spread)]
    surfaces = {method: [Case(method, 1e-3 * k, 0.0, 0.0, k) for k in range(2)] for method in METHODS}
    return Outcome(surfaces, trials)


@pytest.mark.parametrize(("spread", "kept", "holds"), [(4.0, True, True), (6.0, True, False), (4.0, False, False)])
def test_the_verdict_is_the_cut_of_the_median_inside_all_limits(spread, kept, holds):
    result = outcome(spread, 10.0, kept)
    assert result.cut() == pytest.approx(100.0 - 10.0 * spread)
    assert all_hold(comparisons(result)) is holds
    assert (" cuts " in verdict(result)) is holds
    assert result.broken() == (0 if kept else len(METHODS) - 1)
    table = target_table(result)
    assert table.mark(0, 3) is (Mark.GOOD if spread <= 5.0 else Mark.BAD)
    assert table.mark(3, 3) is (Mark.GOOD if kept else Mark.BAD)
    assert findings(result)[0].mark is table.mark(0, 3)


def test_a_peak_before_a_late_impact_counts_around_it_only():
    time, feedback = np.array([-0.06, -0.04, 0.02]), np.array([50.0, 20.0, 3.0])
    late = made(5.0, contact_offset=0.05, time=time, feedback=feedback)
    early = made(5.0, contact_offset=-0.05, time=time, feedback=feedback)
    assert [AROUND.of(late), AROUND.of(early)] == [20.0, 5.0]
    assert PEAK_FEEDBACK.of(late) == PEAK_FEEDBACK.of(early) == 5.0


def test_tables_have_a_row_for_each_method():
    result = outcome(2.0, 10.0)
    for table in (medians_table(result), worst_table(result)):
        assert [row[0] for row in table.rows] == list(METHODS)
    medians = medians_table(result)
    column = [one.name for one in medians.columns].index(PEAK_FEEDBACK.name)
    assert [row[column] for row in medians.rows if row[0] in (REFERENCE_SPREADING, JOINT_SPACE)] == [2.0, 10.0]


def test_pictures_are_drawn():
    from impact_studies.impact_baselines.drawing import draw_courses, draw_peaks

    result = outcome(2.0, 10.0)
    assert len(draw_peaks(result).axes) == 1
    assert len(draw_courses(result).axes) == 3
