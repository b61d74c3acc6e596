"""What is not as expected in a scene: each case ends at rest, inside the limits, with its verdict."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from impact_control.classification import Verdict
from impact_control.control import Mode
from impact_control.pipeline import Outcome
from impact_control.scenario import load_scene
from impact_control.scene_figures import scene_figures
from impact_control.scene_run import run_scene
from impact_control.team import plan_scene

ENDS = {
    "push_missing": (Outcome.NO_IMPACT, Mode.STOPPED),
    "push_early": (Outcome.IMPACT_UNEXPECTED, Mode.STOPPED),
    "push_late": (Outcome.IMPACT_UNEXPECTED, Mode.STOPPED),
    "push_heavy": (Outcome.POST_IMPACT_UNEXPECTED, Mode.STOPPED),
    "push_slippery": (Outcome.POST_IMPACT_UNEXPECTED, Mode.STOPPED),
    "grab_missing": (Outcome.NO_IMPACT, Mode.STOPPED),
    "grab_early": (Outcome.IMPACT_UNEXPECTED, Mode.STOPPED),
    "grab_late": (Outcome.IMPACT_UNEXPECTED, Mode.STOPPED),
    "grab_heavy": (Outcome.POST_IMPACT_UNEXPECTED, Mode.POST),
    "grab_slippery": (Outcome.POST_IMPACT_UNEXPECTED, Mode.STOPPED),
}


@functools.cache
def run(name):
    plan = plan_scene(load_scene(name))
    return plan, run_scene(plan)


@pytest.mark.parametrize("name", ENDS)
def test_it_ends_at_rest_inside_the_limits_with_its_verdict(name):
    plan, course = run(name)
    outcome, mode = ENDS[name]
    assert course.finished
    assert course.outcome is outcome, [arm.reason for arm in course.arms.values()]
    figures = scene_figures(plan, course)
    assert figures.peak_torque < 1.0
    assert figures.peak_speed < 1.0
    assert figures.peak_torque_rate <= 1.0 + 1e-9
    for arm in course.arms.values():
        assert arm.signals.mode[-1] == mode
        assert np.abs(arm.signals.joint_velocity[-50:]).max() < 0.02


def test_a_grabbed_box_of_twice_the_mass_is_told_by_its_weight_and_held():
    plan, course = run("grab_heavy")
    found = plan.scene.actual_environment.objects["box"].mass
    assert found == 2.0 * plan.scene.expected_environment.objects["box"].mass
    for arm in course.arms.values():
        assert (arm.impact, arm.post_impact) == (Verdict.EXPECTED, Verdict.UNEXPECTED)
        assert "held force unexpected" in arm.reason
        # Half of the 1.3 kg too much hang on each arm.
        assert float(arm.reason.split(" N from")[0].split()[-1]) == pytest.approx(-1.3 * 9.81 / 2.0, abs=0.5)
    height = course.objects["box"].position[:, 2]
    assert height[-1] - height[0] == pytest.approx(0.15, abs=0.015)


@pytest.mark.parametrize(("name", "early"), [("push_early", -0.05), ("push_late", 0.05), ("grab_late", 0.05)])
def test_the_impact_comes_when_the_file_says(name, early):
    plan, course = run(name)
    for arm in course.arms.values():
        assert arm.first_contact_time - plan.scene.task.impact_time == pytest.approx(early, abs=4e-3)


def test_a_grab_with_one_hand_first_is_brought_to_its_end_by_both():
    plan = plan_scene(load_scene("grab_uneven").with_overrides({"task.duration": "1.2 s"}))
    course = run_scene(plan)
    left, right = course.arms["left"], course.arms["right"]
    assert course.outcome is Outcome.SUCCEEDED, (left.reason, right.reason)
    assert left.first_contact_time - plan.scene.task.impact_time == pytest.approx(-0.01, abs=2e-3)
    assert right.first_contact_time - left.first_contact_time > 5e-3
    switched = [np.argmax(arm.signals.mode == Mode.INTERIM) for arm in (left, right)]
    assert abs(switched[0] - switched[1]) <= 1
    assert course.time[switched[1]] < right.first_contact_time, "told by the left arm, before it touches itself"
    assert (left.impact, right.impact) == (Verdict.EXPECTED, Verdict.EXPECTED)
    assert course.objects["box"].position[-1, 2] - course.objects["box"].position[0, 2] == pytest.approx(0.15, abs=0.01)


def test_figures_of_a_run_without_an_impact_say_so():
    figures = scene_figures(*run("push_missing"))
    assert np.isnan(figures.found_speed)
    assert figures.predicted_speed == pytest.approx(0.398, abs=0.002)
    assert figures.ways == {}
    assert "none" in figures.line and "NO_IMPACT" in figures.line
