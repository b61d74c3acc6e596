"""Three plants of Proper 2021, 3.5: course, contacts, and the plants against the rigid map and each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from impact_control.robots import Dynamics, InertiaModel, load_robot
from impact_studies.catalogue.proper_plants import STUDY
from impact_studies.frame.study import Mark
from impact_studies.three_plants import measures
from impact_studies.three_plants.claims import (
    LAST,
    SecondImpact,
    claims,
    claims_table,
    second_impact_claims,
    second_impact_finding,
    second_impact_table,
    task_motion,
    verdict,
)
from impact_studies.three_plants.course import (
    DETECTION_DELAY,
    EXPECTED_NORMAL,
    LONGEST_INTERIM,
    Course,
    Slide,
    rigid_map,
    tilted_surface,
)
from impact_studies.three_plants.references import reference
from impact_studies.three_plants.response import BOUNCE_HEIGHT, SCENARIOS, PlantCase, PlantModel, ReturnWatch, respond
from impact_studies.three_plants.statements import findings
from impact_studies.three_plants.tables import (
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
    return {scenario: {model: respond(PlantCase(scenario, model)) for model in PlantModel} for scenario in SCENARIOS}


@pytest.fixture(scope="module")
def edge_course():
    return Course(load_robot("planar_rrr", "planar_edge"))


@pytest.fixture(scope="module")
def second(cases):
    """Fig. 3.20: the returns of A and of B as another impact."""
    edge = SCENARIOS[2]
    returned = {model: respond(PlantCase(edge, model, returns=True)) for model in (A, B)}
    plants = {**cases[edge], A: returned[A]}
    return SecondImpact(plants, cases[edge][A], returned[B], reference("planar_edge", followed=True))


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
    assert edge_course.phase(1.07 + 0.9 * DETECTION_DELAY, at_once, 1.07) == "interim"
    assert edge_course.phase(1.07 + 1.1 * DETECTION_DELAY, at_once, 1.07) == "post"


def test_a_return_is_no_first_touch_and_no_flutter():
    watch = ReturnWatch(2)

    def sample(time, *gaps):
        watch.observe(time, np.array(gaps), np.array(gaps) <= 0.0)
        return watch.first

    assert sample(0.0, 1e-2, 2e-2) == NEVER
    assert sample(0.1, 0.0, 1e-2) == NEVER
    assert sample(0.2, 0.5 * BOUNCE_HEIGHT, 0.0) == NEVER, "the first touch of the second point"
    assert sample(0.3, 0.0, 0.0) == NEVER, "not high enough"
    assert sample(0.4, 0.0, 2.0 * BOUNCE_HEIGHT) == NEVER
    assert sample(0.5, 0.0, 0.5 * BOUNCE_HEIGHT) == NEVER
    assert sample(0.6, 0.0, 0.0) == 0.6
    assert sample(0.7, 1e-3, 0.0) == sample(0.8, 0.0, 0.0) == 0.6, "the first return stays"


def test_a_detected_return_begins_the_post_phase(second):
    for model, response in ((A, second.plants[A]), (B, second.detected)):
        back = measures.first_return(response)
        # Detected DETECTION_DELAY later, and seen by the controller within a millisecond.
        assert DETECTION_DELAY <= response.post_time - back <= DETECTION_DELAY + 1.5e-3, model
        plain = second.undetected if model is A else second.plants[B]
        assert plain.post_time == pytest.approx(LONGEST_INTERIM + DETECTION_DELAY, abs=1.5e-3)
        before = (response.time < back) & (plain.time < back)
        np.testing.assert_array_equal(response.position[before], plain.position[before])
    assert second.between == (second.plants[A].post_time, second.plants[B].post_time)


def test_the_distance_from_the_reference_is_that_of_the_velocities(second):
    """On the reference it is 0; all joints off by a jump's size are 100 % of it."""
    size = measures.jump_size(second.plants[C])
    wanted = measures.expected_time(second.plants[C])
    on_it = np.column_stack(
        [np.interp(wanted, second.reference.time, one) for one in second.reference.post.joints[:, 1].T]
    )
    for off, percent in ((0.0, 0.0), (size, 100.0)):
        moved = replace(second.plants[C], velocity=on_it + off)
        assert second.percent_from_reference(moved, second.last) == pytest.approx(percent, abs=1e-9)
    assert second.last[1] - second.last[0] == pytest.approx(LAST)


def test_the_motion_of_the_end_effector_has_the_rate_it_says(second):
    response = second.plants[C]
    pose, rate = task_motion(response)
    step = response.time[1] - response.time[0]
    smooth = slice(2000, 2300)
    slope = (pose[2:] - pose[:-2])[smooth] / (2.0 * step)
    np.testing.assert_allclose(slope, rate[1:-1][smooth], atol=1e-4)


def test_what_is_said_of_the_second_impact_follows_the_responses(second):
    said = second_impact_claims(second)
    # That the return of B is not detected is a choice: what follows from it has no verdict.
    assert [claim.mark for claim in said] == [Mark.PLAIN, Mark.GOOD, Mark.PLAIN, Mark.PLAIN]
    # B in the place of C rings.
    ringing = second_impact_claims(replace(second, plants={**second.plants, C: second.plants[B]}))
    assert ringing[1].mark is Mark.BAD
    switch, back = second.plants[A].post_time, measures.first_return(second.plants[A])
    assert f"{1e3 * (switch - back):.1f} ms after its return" in said[3].own
    assert f"B after {1e3 * second.detected.post_time:.0f} ms if its return" in said[3].own
    table = second_impact_table({400.0: second})
    assert [row[1:3] for row in table.rows] == [("A", "yes"), ("A", "no"), ("B", "yes"), ("B", "no"), ("C", "none")]
    assert f"{1e3 * second.detected.post_time:.0f} ms" in second_impact_finding({400.0: second}).text


def test_the_second_impact_is_drawn(second):
    from impact_studies.three_plants.drawing import draw_second_impact

    axes = draw_second_impact(second).axes
    assert len(axes) == 12
    # Three plants, two references, three switches.
    assert all(len(one.lines) == 8 for one in axes)
    # Time counts from the expected impact, also that of the switches.
    switches = [line.get_xdata()[0] for line in axes[0].lines[5:]]
    for switch, response in zip(switches, second.plants.values(), strict=True):
        begins = measures.expected_time(response)[response.phases == "post"][0]
        assert switch == pytest.approx(1e3 * begins)
        assert abs(measures.lateness(response)) > 0.0


def test_post_torque_presses_with_the_wanted_force_on_the_slide(edge_course):
    # On the slide there is nothing to correct: what is left over the motion's own torque is J^T f.
    robot = load_robot("planar_rrr", "planar_edge")
    q, dq = np.radians([45.0, -110.0, -20.0]), np.array([0.2, -0.1, 0.3])
    time = edge_course.approach.impact_time + 0.1
    torque = edge_course.torque("post", time, q, dq)
    dynamics = Dynamics(robot)
    dynamics.compute(q, dq)
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
    dynamics.compute(q, np.zeros(3))
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
    agree = sum(claim.mark is Mark.GOOD for claim in said)
    assert verdict({400.0: said})[0] == (agree == len(said))
    assert f"{agree} of {len(said)} with the gain 400" in verdict({400.0: said})[1]
    without = tuple(replace(claim, holds=None) if i == 0 else claim for i, claim in enumerate(said))
    assert f" of {len(said) - 1} with the gain 400" in verdict({400.0: without})[1]
    assert claims_table({400.0: without}).mark(0, 2) is Mark.PLAIN
    agreeing = tuple(replace(claim, holds=True) for claim in said)
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
    from impact_studies.three_plants.drawing import draw_gaps, draw_velocities

    for draw in (draw_velocities, draw_gaps):
        axes = draw(cases).axes
        assert len(axes) == 12
        assert [a.get_title(loc="left") or a.get_title() for a in axes[:4]] == [s.name for s in SCENARIOS]
