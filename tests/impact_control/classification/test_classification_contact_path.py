"""Height of a contact over the expected surface: noise, tilts, and surfaces that lie elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.random_tasks import random_task

from impact_control.classification import ContactPath
from impact_control.pipeline import Outcome
from impact_control.planning import plan_scenario
from impact_control.scenario import ContactPathSettings, Uncertainty
from impact_control.simulation.scenario_run import run_scenario
from impact_control.util.errors import InvalidInputError

PERIOD = 1e-3
SETTINGS = ContactPathSettings(begin=0.06, window=0.1)
KNOWN = Uncertainty(height=5e-5, normal=math.radians(0.2), limit=3.0)


def axes(seed):
    """A normal and two tangents."""
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return rotation


def slide(normal, path, *, noise=0.0, seed=0):
    """Judge positions path(t) after an impact at 0."""
    random, judged = np.random.default_rng(seed), ContactPath(SETTINGS, KNOWN, normal, PERIOD)
    for k in range(1000):
        judged.follow(k * PERIOD, path(k * PERIOD) + noise * random.normal(size=3))
    return judged


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.floats(-0.02, 0.02), st.floats(0.0, 0.1))
def test_a_way_on_the_surface_is_expected_wherever_the_surface_lies(seed, height, way):
    """Noise of 0.2 mm in each sample: means of 100 are 0.02 mm off."""
    normal, along, across = axes(seed)
    path = slide(normal, lambda t: height * normal + way * t * along + 0.01 * t * t * across, noise=2e-4, seed=seed)
    assert path.deviation < 1.0


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.floats(5.0, 20.0), st.floats(0.01, 0.1), st.sampled_from([-1.0, 1.0]))
def test_a_tilted_surface_is_told_by_the_rise_along_the_way(seed, tilt, way, sign):
    normal, along, _ = axes(seed)
    direction = along + sign * math.tan(math.radians(tilt)) * normal
    path = slide(normal, lambda t: way * t * direction, noise=2e-4, seed=seed)
    assert path.deviation > 1.0
    assert "off the expected surface" in path.reason and f"{'+' if sign > 0 else '-'}" in path.reason


def test_the_deviation_is_the_rise_in_standard_deviations():
    """Without noise: a step of the height after the first window, no way along the surface."""
    normal = np.array([0.0, 0.0, 1.0])
    path = slide(normal, lambda t: (3e-4 if t > 0.3 else 0.0) * normal)
    assert path.deviation == pytest.approx(3e-4 / (3.0 * 5e-5))
    rising = slide(normal, lambda t: np.array([0.05 * t, 0.0, 0.0]))
    assert rising.deviation == pytest.approx(0.0, abs=1e-9)


def test_a_slope_within_its_deviation_is_expected_on_any_way():
    normal = np.array([0.0, 0.0, 1.0])
    slope = math.tan(math.radians(0.5))
    assert slide(normal, lambda t: np.array([0.2 * t, 0.0, 0.2 * slope * t])).deviation < 1.0


def test_what_comes_before_the_contact_has_closed_does_not_count():
    normal = np.array([0.0, 0.0, 1.0])
    assert slide(normal, lambda t: (0.01 if t < 0.055 else 0.0) * normal).deviation == 0.0


def test_a_position_that_is_no_number_is_not_as_expected():
    path = slide(np.array([0.0, 0.0, 1.0]), lambda t: np.full(3, math.nan if t > 0.5 else 0.0))
    assert path.deviation == math.inf


@pytest.mark.parametrize(
    ("section", "name"),
    [(ContactPathSettings, "begin"), (ContactPathSettings, "window"), (Uncertainty, "height"), (Uncertainty, "limit")],
)
def test_settings_are_above_zero(section, name):
    with pytest.raises(InvalidInputError, match=name):
        section(**{name: 0.0})


def test_an_arm_that_does_not_press_may_be_off_by_what_its_feedback_leaves():
    normal = np.array([0.0, 0.0, 1.0])
    judged = ContactPath(SETTINGS, KNOWN, normal, PERIOD)
    for free in (0.0, 1.2e-3, 0.0):
        judged.reset(free)
        for k in range(1000):
            judged.follow(k * PERIOD, (3e-4 if k > 300 else 0.0) * normal)
        assert judged.deviation == pytest.approx(3e-4 / (3.0 * math.hypot(5e-5, free)))


def test_a_tap_without_a_force_is_expected_and_a_surface_that_rises_is_found():
    """Random tasks. Held to the height of a contact that is pressed on, four of these eight would be unexpected."""
    ends: dict[bool, list[Outcome]] = {False: [], True: []}
    for seed in range(8):
        task = random_task(700 + seed, ("panda", "fr3")[seed % 2], friction=0.2, angle=1.0, speed=0.2)
        tap = task.with_overrides({"task.post.force": "0 N", "task.post.slide": "8 cm"})
        heading, normal = tap.task.impact.heading, tap.expected_environment.surface.normal
        angle, plan = math.radians(10.0), plan_scenario(tap)
        turned = math.cos(angle) * normal - math.sin(angle) * heading
        rising = tap.with_overrides({"actual_environment.surface.normal": turned.tolist()})
        for rises, actual in ((False, tap), (True, rising)):
            ends[rises].append(run_scenario(actual, plan=plan).outcome)
    assert ends[False].count(Outcome.SUCCEEDED) >= 7
    assert ends[True].count(Outcome.POST_IMPACT_UNEXPECTED) >= 7
