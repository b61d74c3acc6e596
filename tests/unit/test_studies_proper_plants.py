"""Three plants of Proper 2021, 3.5: course, contacts, and the plants against the rigid map and each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from impact_control.robots import Dynamics, InertiaModel, load_robot
from impact_control.studies.proper_plants import STUDY
from impact_control.studies.three_plants import measures
from impact_control.studies.three_plants.claims import claims, claims_table, verdict
from impact_control.studies.three_plants.course import (
    DETECTION_DELAY,
    EXPECTED_NORMAL,
    LONGEST_INTERIM,
    Course,
    Slide,
    rigid_map,
    tilted_surface,
)
from impact_control.studies.three_plants.response import SCENARIOS, PlantModel, respond
from impact_control.studies.three_plants.statements import findings
from impact_control.studies.three_plants.tables import (
    contacts_table,
    convergence_table,
    gains_table,
    tilt_table,
    velocities_table,
)

A, B, C = PlantModel
NEVER = np.inf


@pytest.fixture(scope="module")
def cases():
    return {scenario: {model: respond(scenario, model) for model in PlantModel} for scenario in SCENARIOS}


@pytest.fixture(scope="module")
def edge_course():
    return Course(load_robot("planar_rrr", "planar_edge"))


def test_slide_keeps_its_ends_and_its_derivatives():
    slide = Slide(np.array([0.3, 0.02, 0.0]), np.array([0.15, 0.0, 0.05]), np.array([0.4, 0.02, 0.0]), 0.8)
    step = 1e-6
    for time in (-0.1, 0.05, 0.3, 0.6, 0.79, 1.0):
        before, after = slide.at(time - step), slide.at(time + step)
        for order in (0, 1):
            slope = (after[order] - before[order]) / (2.0 * step)
            np.testing.assert_allclose(slope, slide.at(time)[order + 1], atol=1e-6)
    np.testing.assert_allclose(slide.at(0.0)[0], slide.start)
    np.testing.assert_allclose(slide.at(0.0)[1], slide.twist)
    np.testing.assert_allclose(slide.at(0.8)[0], slide.end, atol=1e-12)
    assert not slide.at(0.8)[1].round(12).any() and not slide.at(0.0)[2].any()


def test_the_slide_does_not_go_into_the_surface_and_an_edge_does_not_turn(edge_course):
    assert edge_course.slide.twist[1] == pytest.approx(0.0, abs=1e-12)
    assert edge_course.slide.twist[2] == pytest.approx(0.0, abs=1e-9)
    sphere = Course(load_robot("planar_rrr", "planar_sphere"))
    assert sphere.slide.twist[1] == pytest.approx(0.0, abs=1e-12)
    assert abs(sphere.slide.twist[2]) > 0.01


def test_phases(edge_course):
    assert edge_course.phase(1.0, np.array([NEVER, NEVER])) == "ante"
    one = np.array([1.0, NEVER])
    assert edge_course.phase(1.0 + 0.9 * DETECTION_DELAY, one) == "ante"
    assert edge_course.phase(1.0 + 1.1 * DETECTION_DELAY, one) == "interim"
    both = np.array([1.0, 1.05])
    assert edge_course.phase(1.05 + 0.9 * DETECTION_DELAY, both) == "interim"
    assert edge_course.phase(1.05 + 1.1 * DETECTION_DELAY, both) == "post"
    at_once = np.array([1.0, 1.0])
    assert edge_course.phase(1.1, at_once) == "interim"
    assert edge_course.phase(1.001 + DETECTION_DELAY + LONGEST_INTERIM, at_once) == "post"


def test_post_torque_presses_with_the_wanted_force_on_the_slide(edge_course):
    # On the slide there is nothing to correct: what is left over the motion's own torque is J^T f.
    robot = load_robot("planar_rrr", "planar_edge")
    q, dq = np.radians([45.0, -110.0, -20.0]), np.array([0.2, -0.1, 0.3])
    time = edge_course.approach.impact_time + 0.1
    torque = edge_course.torque("post", time, q, dq)
    dynamics = Dynamics(robot)
    dynamics.update(q, dq)
    inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
    load = 30.0 * dynamics.jacobian[2]
    ddq = np.linalg.solve(inertia, torque + load + dynamics.gravity - dynamics.nonlinear)
    pose, rate, second = edge_course.slide.at(0.1)
    found = dynamics.jacobian @ ddq + dynamics.jacobian_rate_velocity
    # phi = q1 + q2 + q3 turns about -y of A and is -90 deg at the impact.
    turn = -(q.sum() + np.pi / 2)
    at = np.array([dynamics.position[0], dynamics.position[2], turn])
    np.testing.assert_allclose(
        found[[0, 2, 4]], second + 40.0 * (rate - dynamics.twist[[0, 2, 4]]) + 400.0 * (pose - at), atol=1e-9
    )


def test_tilted_surface_keeps_the_place_of_impact():
    for tilt in (-5.0, 0.0, 5.0):
        point, normal = tilted_surface(tilt)
        assert normal @ (np.array([0.3, 0.0, 0.0]) - point) == pytest.approx(0.0, abs=1e-12)
        assert np.arctan2(-normal[0], normal[2]) == pytest.approx(np.radians(tilt))


def test_map_of_two_points_is_that_of_a_rigid_constraint():
    # Gauss: least change of velocity in the metric of the inertia that stops what may not move, z and the turn.
    robot = load_robot("planar_rrr", "planar_edge")
    q = np.radians([57.0, -112.0, -35.0])
    dynamics = Dynamics(robot)
    dynamics.update(q, np.zeros(3))
    dq = np.linalg.solve(dynamics.jacobian[[0, 2, 4]], [0.1, -0.17, 0.0])
    inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
    rows = dynamics.jacobian[[2, 4]]
    response = np.linalg.solve(inertia, rows.T)
    expected = dq - response @ np.linalg.solve(rows @ response, rows @ dq)
    found = rigid_map(robot, q, dq, EXPECTED_NORMAL, np.array([0, 1]), InertiaModel.REDUCED_MOTORS)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_plants_with_rigid_contact_jump_as_the_map_says(cases):
    for scenario, responses in cases.items():
        for model, inertia in ((B, InertiaModel.LINKS), (C, InertiaModel.REDUCED_MOTORS)):
            response = responses[model]
            after = measures.right_after(response)
            expected = measures.map_velocity(response, inertia)
            np.testing.assert_allclose(after, expected, atol=1e-3, err_msg=f"{scenario.name}, {model}")
            assert all(impact.energy_change <= 1e-12 for impact in response.impacts)


def test_no_point_sinks_into_a_rigid_surface(cases):
    for responses in cases.values():
        for model in (B, C):
            assert responses[model].gaps.min() > -1e-8
        # Compliant contact: indentation stays far below the bounces.
        assert -1e-4 < responses[A].gaps.min() < 0.0


def test_bounces_and_when_they_end(cases):
    response = cases[SCENARIOS[0]][C]
    count = len(response.time)
    closed, gaps = np.zeros((count, 1), dtype=bool), np.zeros((count, 1))
    closed[100:200], closed[300:400], closed[410:] = True, True, True
    gaps[200:300, 0], gaps[400:410, 0] = 2e-4, 0.5e-6
    made = replace(response, closed=closed, gaps=gaps, touches=np.array([response.time[100]]))
    (bounce,) = measures.bounces(made, 0)
    assert (bounce.opens, bounce.closes, bounce.height) == (response.time[200], response.time[300], 2e-4)
    assert measures.settled(made) == response.time[300]
    closed[300:] = False
    assert measures.settled(made) == np.inf


def test_tilt_takes_simultaneity(cases):
    expected, tilted = cases[SCENARIOS[2]], cases[SCENARIOS[3]]
    for model in PlantModel:
        assert measures.contact_interval(expected[model]) < 1e-4
        assert list(measures.touched_at_once(expected[model])) == [0, 1]
        # The surface rises along x: the point that is farther out touches first.
        assert list(measures.touched_at_once(tilted[model])) == [1]
        estimate = measures.estimated_interval(tilted[model])
        assert measures.contact_interval(tilted[model]) == pytest.approx(estimate, rel=0.05)
        # Without the turn of the first impact it would take the gap over the speed of the approach.
        free = 0.2 * np.sin(np.radians(5.0)) / (0.2 * np.sin(np.radians(65.0)))
        assert measures.contact_interval(tilted[model]) < free


def test_flexible_joints_ring_around_the_rigid_ones(cases):
    responses = cases[SCENARIOS[0]]
    size = measures.jump_size(responses[C])
    for model in (A, B):
        for window in measures.WINDOWS[:2]:
            mean = measures.offset(responses[model], responses[C], window)
            assert mean < 0.2 * measures.distance(responses[model], responses[C], window)
        assert measures.distance(responses[model], responses[C], measures.WINDOWS[-1]) < 0.01 * size
    assert measures.distance(responses[A], responses[B], (0.0, 0.1)) < 0.05 * size
    assert measures.ringing(responses[C]) < 0.01 * measures.ringing(responses[B])


def test_tables_and_findings_are_made_of_these_numbers(cases):
    said = claims(cases)
    table = claims_table({400.0: said, 200.0: said})
    assert len(table.rows) == len(said) >= 10
    assert all(row[2] == row[3] for row in table.rows)
    agree = sum(claim.agrees for claim in said)
    assert verdict({400.0: said})[0] == (agree == len(said))
    assert f"{agree} of {len(said)} with the gain 400" in verdict({400.0: said})[1]
    agreeing = tuple(replace(claim, agrees=True) for claim in said)
    assert verdict({400.0: said, 200.0: agreeing})[0]
    assert len(velocities_table(cases).rows) == 12
    assert len(convergence_table(cases).rows) == 24
    contacts = contacts_table(cases).rows
    assert len(contacts) == 18
    assert all(row[4] == 0 for row in contacts if row[1] == "C")
    tilts = {5.0: cases[SCENARIOS[3]]}
    (row,) = tilt_table(tilts).rows
    assert row[4] == pytest.approx(1e3 * measures.estimated_interval(cases[SCENARIOS[3]][C]))
    gains = {400.0: cases[SCENARIOS[2]][A]}
    (row,) = gains_table(gains).rows
    assert row[1] == pytest.approx(min(bounce[6] for bounce in contacts if bounce[:2] == (SCENARIOS[2].name, "A")))
    assert len(findings(cases, tilts, gains)) == 7
    assert STUDY.name == "proper_plants"


def test_figures_show_every_scenario(cases):
    from impact_control.studies.three_plants.drawing import draw_gaps, draw_velocities

    for draw in (draw_velocities, draw_gaps):
        axes = draw(cases).axes
        assert len(axes) == 12
        assert [a.get_title(loc="left") or a.get_title() for a in axes[:4]] == [s.name for s in SCENARIOS]
