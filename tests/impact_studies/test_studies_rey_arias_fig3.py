"""Planar impacts of the study of Rey Arias 2024, Fig. 3: approach, plant against map, common motion, rigid arms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.patches import Circle

from impact_control.robots import Dynamics, InertiaModel, load_robot
from impact_control.util.errors import InvalidInputError
from impact_studies.catalogue import rey_arias_fig3
from impact_studies.frame.study import tally
from impact_studies.frame.trials import run_trials
from impact_studies.planar_impact import figure3
from impact_studies.planar_impact.drawing import POSES, draw_poses
from impact_studies.planar_impact.jump import (
    common_error,
    common_motion,
    direction_error,
    gross_jump,
    is_best,
    mean_error,
    relative_error,
    worse_joints,
)
from impact_studies.planar_impact.response import (
    AfterImpact,
    TaskController,
    flexible_response,
    planar_approach,
    rigid_response,
    with_reflected_inertia,
)

ROBOT = load_robot("planar_rrr")
NORMAL = np.array([0.0, 0.0, 1.0])
PRESSED = figure3.ENDINGS[0]


@pytest.fixture(scope="module")
def followed():
    return flexible_response(ROBOT, figure3.surface(), figure3.approach(), AfterImpact.FOLLOW)


@pytest.fixture(scope="module")
def free():
    return flexible_response(ROBOT, figure3.surface(), figure3.approach(), AfterImpact.HOLD)


@pytest.mark.parametrize("angle", [15.0, 90.0, 150.0])
def test_approach_is_smooth_and_comes_with_the_wanted_velocity(angle):
    line = planar_approach(angle, 0.2, 0.3, 0.02)
    step = 1e-6
    for time in np.linspace(0.01, 0.8, 30):
        before, _, _ = line.at(time - step)
        after, _, _ = line.at(time + step)
        _, velocity, acceleration = line.at(time)
        np.testing.assert_allclose((after - before) / (2.0 * step), velocity, atol=1e-8)
        slope = (line.at(time + step)[1] - line.at(time - step)[1]) / (2.0 * step)
        np.testing.assert_allclose(slope, acceleration, atol=1e-5)
    position, velocity, acceleration = line.at(line.impact_time)
    np.testing.assert_allclose(position, [0.3, 0.0, 0.02], atol=1e-12)
    # Proper 2021 (3.2).
    expected = [-0.2 * np.cos(np.radians(angle)), 0.0, -0.2 * np.sin(np.radians(angle))]
    np.testing.assert_allclose(velocity, expected, atol=1e-12)
    assert not acceleration.any() and not line.at(0.0)[1].any()


@pytest.mark.parametrize("angle", [0.0, 180.0, -30.0, float("nan")])
def test_an_approach_that_does_not_go_down_is_refused(angle):
    with pytest.raises(InvalidInputError, match="approach angle"):
        planar_approach(angle, 0.1, 0.3, 0.02)
    with pytest.raises(InvalidInputError, match="speed"):
        planar_approach(30.0, 0.0, 0.3, 0.02)


def test_controller_gives_a_rigid_arm_the_acceleration_of_the_line():
    line = figure3.approach()
    controller = TaskController(ROBOT, line)
    dynamics = Dynamics(ROBOT)
    q, dq = np.radians([50.0, -120.0, -20.0]), np.array([0.1, -0.2, 0.3])
    torque = controller.torque(0.3, q, dq)
    dynamics.compute(q, dq)
    inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
    ddq = np.linalg.solve(inertia, torque + dynamics.gravity - dynamics.nonlinear)
    position, velocity, acceleration = line.at(0.3)
    found = dynamics.jacobian @ ddq + dynamics.jacobian_rate_velocity
    wanted = acceleration + 40.0 * (velocity - dynamics.twist[:3]) + 400.0 * (position - dynamics.position)
    np.testing.assert_allclose(found[[0, 2]], wanted[[0, 2]], atol=1e-9)
    # z of E is to point down; a positive turn about y of A brings x of A towards -z.
    toe = np.arctan2(dynamics.rotation[0, 2], -dynamics.rotation[2, 2])
    assert found[4] == pytest.approx(-40.0 * dynamics.twist[4] + 400.0 * toe, abs=1e-9)


def test_the_impact_comes_as_planned(followed):
    q, dq = followed.at_impact
    dynamics = Dynamics(ROBOT)
    dynamics.compute(q, dq)
    assert followed.start_time == pytest.approx(followed.approach.impact_time, abs=2e-3)
    np.testing.assert_allclose(dynamics.position, followed.approach.impact_position, atol=2e-4)
    assert dynamics.position[2] == pytest.approx(figure3.HEIGHT, abs=1e-6)
    velocity = [-0.1 * np.cos(np.radians(30.0)), 0.0, -0.1 * np.sin(np.radians(30.0))]
    np.testing.assert_allclose(dynamics.twist[:3], velocity, atol=2e-4)
    # No ringing before the impact: motors move as the links do.
    last = np.flatnonzero(followed.time < 0.0)[-1]
    np.testing.assert_allclose(followed.motor_velocity[last], followed.link_velocity[last], atol=1e-3)


def test_the_poses_are_those_of_the_motion(followed):
    whole, close = draw_poses(followed).axes
    for axes in (whole, close):
        circles = [patch for patch in axes.patches if isinstance(patch, Circle)]
        assert len(circles) == len(POSES)
        before, impact, after = circles[0], circles[POSES.index(0.0)], circles[-1]
        assert impact.center == pytest.approx((0.3, 0.02), abs=3e-4)
        # 30 degrees from the start to the impact, then along the surface.
        rise, way = np.array(before.center)[::-1] - np.array(impact.center)[::-1]
        assert np.degrees(np.arctan2(rise, way)) == pytest.approx(30.0, abs=0.5)
        assert after.center[1] == pytest.approx(0.02, abs=1e-3) and after.center[0] < 0.3
    arm = whole.lines[POSES.index(0.0)].get_xydata()
    lengths = np.linalg.norm(np.diff(arm, axis=0), axis=1)
    q, _ = followed.at_impact
    turns = np.cumsum(q)
    np.testing.assert_allclose(np.diff(arm, axis=0) / lengths[:, None], unit_vectors(turns), atol=2e-3)


def unit_vectors(angles):
    """Along links at these angles [rad] to x."""
    return np.column_stack([np.cos(angles), np.sin(angles)])


def test_after_the_impact_the_torque_is_held_or_not(followed, free):
    after = free.time > 0.0
    last = free.command[~after][-1]
    np.testing.assert_array_equal(free.command[after], np.broadcast_to(last, free.command[after].shape))
    assert np.ptp(followed.command[after], axis=0).max() > 1.0
    assert followed.torque_rate_use > 1.0


def test_a_limited_controller_keeps_to_the_limits():
    limited = flexible_response(ROBOT, figure3.surface(), figure3.approach(90.0, 0.5), AfterImpact.LIMIT)
    assert limited.torque_rate_use == pytest.approx(1.0, abs=1e-9)
    assert np.all(np.abs(limited.command) <= ROBOT.limits.torque)
    # It presses later and less: the impact is the same, what follows is not.
    jump = gross_jump(limited)
    assert is_best(jump) and relative_error(jump, InertiaModel.REDUCED_MOTORS) > 2.0


def test_maps_stop_the_normal_motion_and_lose_energy(followed):
    for prediction in gross_jump(followed).predictions.values():
        assert abs(NORMAL @ prediction.contact_velocity_after) < 1e-12
        assert prediction.normal_impulse > 0.0 and prediction.kinetic_energy_change < 0.0


def test_under_the_controller_the_map_with_reduced_motors_is_best_in_every_joint(followed):
    jump = gross_jump(followed)
    assert is_best(jump) and not worse_joints(jump)
    assert relative_error(jump, InertiaModel.REDUCED_MOTORS) < 1.0
    assert mean_error(jump, InertiaModel.REDUCED_MOTORS) < 0.05 * mean_error(jump, InertiaModel.MOTORS)


def test_a_free_impact_rebounds_along_the_jump_of_the_map(free):
    # (M + B_theta) (dq^+ - dq^-) = J_N^T Lambda_N: the impulse may differ from that of the map, its direction not.
    jump = gross_jump(free)
    map_jump = jump.predictions[InertiaModel.REDUCED_MOTORS].velocity - jump.ante
    np.testing.assert_allclose(
        jump.common - jump.ante, (1.0 + jump.restitution) * map_jump, atol=0.01 * np.abs(map_jump).max()
    )
    assert 0.05 < jump.restitution < 0.2
    # 1/2 v^2 / (J_N M^-1 J_N^T) (e^2 - 1) is what an impact with restitution e does to the energy.
    inelastic = jump.predictions[InertiaModel.REDUCED_MOTORS].kinetic_energy_change
    assert jump.common_energy_change == pytest.approx((1.0 - jump.restitution**2) * inelastic, rel=0.01)
    assert free.normal_force[free.time > 0.03].max() == 0.0


def test_common_motion_does_not_ring(free):
    time, velocity = common_motion(free)
    settled = time > 0.02
    time, velocity, links = time[settled], velocity[settled], free.link_velocity[free.time >= 0.0][settled]

    def roughness(values):
        lines = np.polyfit(time, values, 1)
        return np.abs(values - np.outer(time, lines[0]) - lines[1]).max(axis=0)

    assert np.all(roughness(velocity) < 0.35 * roughness(links))
    # The motion of the links swings about it.
    np.testing.assert_allclose(links.mean(axis=0), velocity.mean(axis=0), atol=2e-3)


def test_with_stiff_joints_and_closed_contact_the_plant_does_what_the_map_says():
    impacts = [figure3.stiff_impact(scale, PRESSED) for scale in (1.0, 10.0, 100.0)]
    responses = [
        figure3.response_of(impact, arrays)
        for impact, arrays in zip(impacts, run_trials(figure3.run_impact, impacts, None, lambda *_: None), strict=True)
    ]
    errors = [relative_error(gross_jump(response), InertiaModel.REDUCED_MOTORS) for response in responses]
    assert errors[1] < 0.2 * errors[0] and errors[2] < 0.2 * errors[1]
    assert errors[2] < 0.05  # percent of the jump


def test_rigid_arms_start_as_the_maps_predict_and_stay_on_the_surface(followed):
    jump = gross_jump(followed)
    dynamics = Dynamics(ROBOT)
    for model in (InertiaModel.LINKS, InertiaModel.REDUCED_MOTORS):
        _, position, velocity = rigid_response(followed, model)
        np.testing.assert_allclose(velocity[0], jump.predictions[model].velocity, atol=1e-6)
        dynamics.compute(position[-1], velocity[-1])
        assert dynamics.position[2] == pytest.approx(figure3.HEIGHT, abs=1e-6)


def test_reflected_inertia_of_the_rigid_arm():
    for model in InertiaModel:
        arm = with_reflected_inertia(ROBOT, model)
        np.testing.assert_allclose(
            Dynamics(arm).inertia(InertiaModel.REDUCED_MOTORS), Dynamics(ROBOT).inertia(model), atol=1e-8
        )


def test_inertia_read_about_the_centre_of_mass():
    printed = figure3.with_inertia_about_centre(ROBOT).pinocchio_model
    ours = ROBOT.pinocchio_model
    assert [printed.inertias[i].inertia[2, 2] for i in (1, 2, 3)] == pytest.approx(figure3.INERTIA_ABOUT_END, rel=1e-9)
    for i, about_end in enumerate(figure3.INERTIA_ABOUT_END, 1):
        link = ours.inertias[i]
        end = np.array([(0.327, 0.393, 0.167)[i - 1], 0.0, 0.0]) - link.lever
        assert link.inertia[2, 2] + link.mass * (end @ end) == pytest.approx(about_end, rel=1e-9)


def test_measures_of_the_study(followed):
    jump = gross_jump(followed)
    swapped = dict(jump.predictions)
    swapped[InertiaModel.LINKS], swapped[InertiaModel.REDUCED_MOTORS] = (
        swapped[InertiaModel.REDUCED_MOTORS],
        swapped[InertiaModel.LINKS],
    )
    wrong = replace(jump, predictions=swapped)
    assert not is_best(wrong)
    assert [joint for joint, _ in worse_joints(wrong)] == [1, 2, 3]
    perfect = replace(jump, fitted=jump.predictions[InertiaModel.REDUCED_MOTORS].velocity)
    assert mean_error(perfect, InertiaModel.REDUCED_MOTORS) == 0.0
    assert relative_error(perfect, InertiaModel.REDUCED_MOTORS) == 0.0
    assert common_error(replace(jump, common=perfect.fitted)) == 0.0
    assert direction_error(replace(jump, common=2.0 * perfect.fitted - jump.ante)) == pytest.approx(0.0, abs=1e-5)


def test_the_quick_study_holds(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    told = []
    result = rey_arias_fig3.STUDY.run(0, True, lambda done, text: told.append((done, text)))
    assert result.holds
    assert result.verdict.endswith(tally(result.comparisons))
    assert [table.name for table in result.tables] == ["claims", "joints", "sweep", "variants", "limit"]
    assert np.all(np.diff([done for done, _ in told]) >= 0.0)
    for figure in result.figures:
        assert figure.draw().axes
