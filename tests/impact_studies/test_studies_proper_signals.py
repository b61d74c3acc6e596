"""Signals around an impact: the residual follows (2.90), touches are detected, references meet, envelopes enclose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from impact_control.robots import Dynamics, load_robot, lowest_points
from impact_studies.frame.runner import find_study
from impact_studies.frame.study import Mark
from impact_studies.frame.trials import from_arrays
from impact_studies.signals import envelope
from impact_studies.signals.observer import GAIN, PERIOD, Observed, ObserverCase, observe
from impact_studies.signals.statements import SIMULTANEOUS, SINGLE, detected, reference_comparisons
from impact_studies.three_plants.course import ANGLE, DISTANCE, EXPECTED_NORMAL, SLIDE, SLIDE_TIME
from impact_studies.three_plants.plan import plan_impact
from impact_studies.three_plants.references import BEFORE, DEPTH, IMPACT, apart, extended, reference


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return find_study("proper_signals").run(3, True, lambda *_: None)


@pytest.fixture(scope="module")
def observed():
    return from_arrays(Observed, observe(ObserverCase(0.2, 0.0, 0)))


def test_the_residual_decays_with_its_gain_while_nothing_touches(observed):
    """(2.90) with tau_ext = 0: r falls by exp(-K_O T); the flexible joints ring about that."""
    free = np.all(observed.torque == 0.0, axis=1) & (observed.time > 0.0)
    begin = int(np.flatnonzero(free)[0])
    run = np.flatnonzero(~free[begin:])[0]
    last = begin + int(run) - 1
    expected = observed.residual[begin] * np.exp(-GAIN * PERIOD * (last - begin))
    assert last - begin > 10
    np.testing.assert_allclose(observed.residual[last], expected, rtol=0.05, atol=0.05)


def test_the_torque_is_there_only_while_a_point_is_closed(observed):
    loaded = np.any(observed.torque != 0.0, axis=1)
    assert loaded.any()
    assert np.all(np.any(observed.gaps[loaded] <= 0.0, axis=1))


def test_a_detection_counts_for_the_touch_before_it_only(observed):
    touches = np.array([0.0, 0.05, np.inf])
    late = replace(observed, touches=touches, detections=np.array([-0.001, 0.002, 0.056]))
    assert np.array_equal(detected(late), [0.002, np.nan], equal_nan=True)


@pytest.mark.parametrize("end_effector", ["planar_sphere", "planar_edge"])
def test_the_references_meet_at_the_impact_and_jump_there_in_velocity_only(end_effector):
    one = reference(end_effector)
    assert one.time[IMPACT] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(one.ante.joints[IMPACT, 0], one.post.joints[IMPACT, 0], atol=1e-9)
    np.testing.assert_allclose(one.ante.task[IMPACT, 0], one.post.task[IMPACT, 0], atol=1e-12)
    # An inelastic impact without friction takes the velocity into the surface.
    assert one.ante.task[IMPACT, 1, 1] < -0.1
    assert one.post.task[IMPACT, 1, 1] == pytest.approx(0.0, abs=1e-9)


@pytest.fixture(scope="module")
def references():
    return {SINGLE: reference("planar_sphere"), SIMULTANEOUS: reference("planar_edge")}


@pytest.mark.parametrize("end_effector", ["planar_sphere", "planar_edge"])
def test_the_extended_motions_begin_and_end_at_rest_and_have_the_derivatives_they_say(end_effector):
    plan = plan_impact(load_robot("planar_rrr", end_effector), ANGLE, DISTANCE, -BEFORE, SLIDE_TIME)
    step = 1e-6
    for motion, end in zip(extended(plan), ([SLIDE, -DEPTH, 0.0], [SLIDE, 0.0, 0.0]), strict=True):
        impact = motion(0.0)[0]
        np.testing.assert_allclose(motion(SLIDE_TIME)[0] - impact, end, atol=1e-12)
        for time in (-BEFORE, SLIDE_TIME):
            np.testing.assert_allclose(motion(time)[1], 0.0, atol=1e-12)
        assert motion(-BEFORE)[0][0] == pytest.approx(plan.approach.at(0.0)[0][0])
        for time in (-0.5, -0.1, 0.0, 0.3, 0.9):
            before, after = motion(time - step), motion(time + step)
            for order in (0, 1):
                slope = (after[order] - before[order]) / (2.0 * step)
                np.testing.assert_allclose(slope, motion(time)[order + 1], atol=1e-5)


def test_the_post_impact_reference_touches_the_surface_at_the_height_of_the_impact_not_at_that_printed(references):
    """(3.20) multiplies the height by 0: an end-effector with a radius then is in the surface by as much."""
    for one in references.values():
        dynamics, tool = Dynamics(one.robot), one.robot.end_effector
        for i in (0, IMPACT // 2, IMPACT, -1):
            dynamics.compute(one.post.joints[i, 0], np.zeros(3))
            lowest = lowest_points(tool.contact_points, tool.radius, dynamics.rotation, EXPECTED_NORMAL)
            heights = (dynamics.position + lowest) @ EXPECTED_NORMAL
            # The sphere turns on its way, the edge does not: the nearest point touches.
            assert heights.min() == pytest.approx(0.0, abs=1e-6)
            assert heights.min() - one.post.task[i, 0, 1] == pytest.approx(-0.02, abs=1e-6)


def test_what_is_said_of_the_references_holds_for_them_and_not_for_others(references):
    said = reference_comparisons(references)
    # What the references are made from, and what follows from that alone, has no verdict.
    judged = ["Fig. 3.12 (b)", "Fig. 3.13 (b)", "Fig. 3.15 (b), (3.17)", "Fig. 3.16 (b), (3.17)"]
    assert [one.where for one in said if one.mark is Mark.GOOD] == judged
    assert {one.where.split()[1] for one in said} == {"3.12", "3.13", "3.14", "3.15", "3.16"}

    def wrong(kind, **changed):
        """Return the comparisons that fail for a changed post-impact reference."""
        post = replace(references[kind].post, **changed)
        rows = reference_comparisons({**references, kind: replace(references[kind], post=post)})
        return [one.where for one in rows if one.mark is Mark.BAD]

    sphere, edge = references[SINGLE], references[SIMULTANEOUS]
    turning, straight = edge.post.task.copy(), sphere.post.task.copy()
    turning[IMPACT, 1, 2] = 1e-6
    straight[IMPACT, 1, 2] = sphere.ante.task[IMPACT, 1, 2] + 1e-9
    faster = np.array([1.0, 1.01, 1.0])[:, None]
    assert wrong(SIMULTANEOUS, task=turning) == ["Fig. 3.13 (b)"]
    assert "Fig. 3.12 (b)" in wrong(SINGLE, task=straight)
    assert wrong(SINGLE, joints=faster * sphere.post.joints) == ["Fig. 3.15 (b), (3.17)"]
    assert wrong(SIMULTANEOUS, joints=faster * edge.post.joints) == ["Fig. 3.16 (b), (3.17)"]


def test_joints_that_put_the_end_effector_or_its_turn_elsewhere_are_seen(references):
    """As far as they do: 2 mm too high, or turned by 2 mrad, in one of the two references."""
    edge = references[SIMULTANEOUS]
    assert edge.kinematics_error < 1e-6
    for axis in (1, 2):
        for name in ("ante", "post"):
            side = getattr(edge, name)
            poses = side.task.copy()
            poses[3, 0, axis] += 2e-3
            moved = replace(edge, **{name: replace(side, task=poses)})
            assert moved.kinematics_error == pytest.approx(2e-3, abs=1e-6)


def test_the_joint_accelerations_are_those_of_the_pose_and_the_slope_of_the_velocities(references):
    """(3.25) gives the task acceleration back; the slope is that of a spline with other errors."""
    for one in references.values():
        dynamics = Dynamics(one.robot)
        for side in (one.ante, one.post):
            for i in range(0, one.time.size, 20):
                joints, rates, second = side.joints[i]
                dynamics.compute(joints, rates)
                reached = dynamics.jacobian @ second + dynamics.jacobian_rate_velocity
                np.testing.assert_allclose(reached[[0, 2, 4]], side.task[i, 2], atol=1e-9)
        largest = np.abs(one.ante.joints[:, 2]).max()
        assert one.acceleration_error < 0.01 * largest
        off = one.post.joints + np.array([0.0, 0.0, 0.1])[:, None]
        assert replace(one, post=replace(one.post, joints=off)).acceleration_error > 0.08


def test_the_force_is_shared_by_the_points_and_only_the_post_impact_reference_has_it(references):
    """(3.21): nothing before the impact, lambda_ref / n_c at each point after it, the same torque as one force."""
    for kind, points in ((SINGLE, 1), (SIMULTANEOUS, 2)):
        before, after = references[kind].forces
        assert np.array_equal(before, np.zeros(points))
        assert after == pytest.approx([30.0 / points] * points)
        assert references[kind].pressing_difference < 1e-9


def test_a_torque_that_presses_elsewhere_than_at_the_points_is_seen(references):
    """Both ends of the edge 30 mm further along x of E, which points along x of A: 0.9 Nm more about all axes."""
    edge = references[SIMULTANEOUS]
    tool = edge.robot.end_effector
    moved = replace(tool, contact_points=tool.contact_points + np.array([0.03, 0.0, 0.0]))
    assert replace(edge, robot=replace(edge.robot, end_effector=moved)).pressing_difference == pytest.approx(0.9)


def test_statements_without_a_verdict_do_not_count(result):
    marks = [one.mark for one in result.comparisons]
    judged = len(marks) - marks.count(Mark.PLAIN)
    assert 0 < judged < len(marks)
    assert result.verdict.startswith(f"{marks.count(Mark.GOOD)} of {judged} statements")
    assert result.holds is (Mark.BAD not in marks)


def test_paths_are_apart_by_their_shape_and_not_by_the_time():
    line = np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [4.0, 0.0]])
    assert apart(np.array([[0.3, 0.0], [2.5, 0.0], [4.0, 0.0]]), line) == 0.0
    assert apart(np.array([[0.3, 0.2], [5.0, 0.0]]), line) == pytest.approx(1.0)


def test_the_envelope_of_a_constant_is_the_constant():
    lower, upper = envelope.envelope(np.full((50, 2), 3.0), 4, 10.0, 0.01)
    assert np.array_equal(lower, upper) and np.all(lower == 3.0)


def test_a_fast_sine_is_enclosed_with_its_centre_and_a_slow_one_without():
    assert envelope.encloses(10.0) == (True, True)
    assert envelope.encloses(0.5) == (True, False)


def test_an_expected_impact_is_not_unexpected_and_a_tilted_one_is(result):
    (level,) = (one for one in result.comparisons if "(4.27)" in one.what and "0 deg" in one.what.split("by ")[1][:5])
    assert level.own == "satisfied"
    (tilted,) = (one for one in result.comparisons if "(4.27)" in one.what and "10 deg" in one.what)
    assert tilted.own.startswith("violated")


def test_the_study_is_drawn(result):
    assert [figure.name for figure in result.figures] == [
        "observer",
        "gaps",
        "references",
        "paths",
        "sine",
        "envelopes",
    ]
    for figure in result.figures:
        assert figure.draw().axes
    (references,) = (figure for figure in result.figures if figure.name == "references")
    panels = references.draw().axes
    assert len(panels) == 14
    forces = [sorted({float(value) for line in axes.lines[:-1] for value in line.get_ydata()}) for axes in panels[6:8]]
    assert forces == [[0.0, 30.0], [0.0, 15.0]]
    assert len(result.tables[0].rows) == 6
