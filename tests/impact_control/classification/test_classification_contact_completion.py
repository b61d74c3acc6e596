"""Contact completion: rest of the face under load, whatever the tilt; not pivots, bounces, single ends."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.classification import ContactCompletion
from impact_control.classification.contact_completion import is_supported, measure_face
from impact_control.scenario import CompletionSettings
from impact_control.util.errors import InvalidInputError
from kernels import peak_memory, python_form

PARAMETERS = CompletionSettings(window=8, largest_speed=5e-3, least_force=2.0)
EDGE = np.array([[-0.1, 0.0, 0.0], [0.1, 0.0, 0.0]])
PLATE = 0.05 * np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
DOWN = np.diag([1.0, -1.0, -1.0])
PRESSED = np.array([0.0, 0.0, 10.0])


def feed(points, twist, force, rotation=DOWN, samples=50, parameters=PARAMETERS):
    """Return the detector after samples of twist(k), force(k), and the sample that completed, or None."""
    detector = ContactCompletion(points, parameters)
    for k in range(samples):
        if detector.observe(1e-3 * k, rotation, twist(k), force(k)):
            return detector, k
    return detector, None


def pivot(rate, point):
    """Twist of E that turns about y with `rate` [rad/s] and leaves `point` at rest."""
    omega = np.array([0.0, rate, 0.0])
    return np.concatenate((-np.cross(omega, DOWN @ point), omega))


def rotation_of(seed):
    matrix, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return matrix * np.linalg.det(matrix)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_face_that_slides_in_itself_under_load_is_complete_whatever_its_tilt(seed) -> None:
    rotation = rotation_of(seed)
    random = np.random.default_rng(seed)
    normal = rotation[:, 2]
    sliding = rotation[:, :2] @ random.normal(size=2)
    twist = np.concatenate((sliding, random.normal() * normal))
    detector, done = feed(PLATE, lambda k: twist, lambda k: -10.0 * normal, rotation)
    assert done == 2 * PARAMETERS.window - 2
    assert detector.contact_time == 0.0 and detector.decision_time == pytest.approx(1e-3 * done)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_speeds_are_those_of_the_points_along_the_normal(seed) -> None:
    random = np.random.default_rng(seed)
    rotation, points, twist = rotation_of(seed), random.normal(size=(5, 3)), random.normal(size=6)
    points[:, 2] = 0.0
    detector, _ = feed(points, lambda k: twist, lambda k: PRESSED, rotation)
    expected = [rotation[:, 2] @ (twist[:3] + np.cross(twist[3:], rotation @ point)) for point in points]
    assert np.allclose(detector.speeds, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("points", [EDGE, PLATE])
def test_turning_about_the_points_that_touch_is_not_complete(points) -> None:
    twist = pivot(0.2, points[0])
    assert feed(points, lambda k: twist, lambda k: PRESSED)[1] is None


def test_a_bounce_is_not_complete_at_its_height_where_it_is_slow() -> None:
    slow = np.zeros(6)
    assert feed(EDGE, lambda k: slow, lambda k: np.zeros(3))[1] is None


def test_a_pull_and_a_force_along_the_face_do_not_count() -> None:
    assert feed(EDGE, lambda k: np.zeros(6), lambda k: -PRESSED)[1] is None
    assert feed(EDGE, lambda k: np.zeros(6), lambda k: np.array([50.0, 0.0, 0.0]))[1] is None


def test_bounces_between_touches_are_waited_for() -> None:
    """Two flights of 20 ms that end in impulses, then rest: complete two windows after the last."""

    def motion(k):
        return np.array([0.0, 0.0, 0.03 * (1.0 - (k % 20) / 10.0), 0.0, 0.0, 0.0]) if k < 40 else np.zeros(6)

    def force(k):
        return 40.0 * PRESSED if k in (0, 20, 40) else PRESSED if k > 40 else np.zeros(3)

    _, done = feed(EDGE, motion, force, samples=100)
    assert done is not None and 40 < done <= 40 + 2 * PARAMETERS.window


@pytest.mark.parametrize(("largest", "least", "complete"), [(5e-3, 2.0, True), (1e-3, 2.0, False), (5e-3, 20.0, False)])
def test_both_thresholds_decide(largest, least, complete) -> None:
    parameters = CompletionSettings(window=8, largest_speed=largest, least_force=least)
    twist = np.array([0.0, 0.0, 2e-3, 0.0, 0.0, 0.0])
    assert (feed(EDGE, lambda k: twist, lambda k: PRESSED, parameters=parameters)[1] is not None) == complete


def test_a_longer_window_decides_later() -> None:
    done = [
        feed(EDGE, lambda k: np.zeros(6), lambda k: PRESSED, parameters=replace(PARAMETERS, window=w))[1]
        for w in (4, 9)
    ]
    assert done == [6, 16]


def test_repeated_and_broken_samples_are_passed_over_and_it_says_so_once() -> None:
    detector = ContactCompletion(EDGE, CompletionSettings(window=3, largest_speed=1e-3, least_force=1.0))
    still = np.zeros(6)
    assert not detector.observe(0.0, DOWN, still, PRESSED)
    assert not detector.observe(0.0, DOWN, still, PRESSED)
    assert not detector.observe(0.001, DOWN, np.full(6, math.nan), PRESSED)
    for k in range(2, 5):
        assert not detector.observe(1e-3 * k, DOWN, still, PRESSED)
    assert detector.observe(0.005, DOWN, still, PRESSED)
    assert not detector.observe(0.006, DOWN, still, PRESSED) and detector.complete
    detector.reset()
    assert not detector.complete and math.isnan(detector.contact_time)


@pytest.mark.parametrize("tilt", [0.0, 4.0, -10.0])
def test_a_single_point_that_slides_along_a_tilt_is_complete_and_one_that_flies_is_not(tilt) -> None:
    """It moves with v sin(beta) along z of E, which no threshold of the speed tells from a flight: the load does."""
    beta, speed = math.radians(tilt), 0.2
    sliding = np.array([speed * math.cos(beta), 0.0, -speed * math.sin(beta), 0.0, 0.0, 0.0])
    normal = np.array([math.sin(beta), 0.0, math.cos(beta)])
    point = np.zeros((1, 3))
    assert feed(point, lambda k: sliding, lambda k: 10.0 * normal)[1] == 2 * PARAMETERS.window - 2
    assert feed(point, lambda k: sliding, lambda k: np.zeros(3))[1] is None
    assert feed(EDGE, lambda k: sliding, lambda k: 10.0 * normal)[1] == (14 if tilt == 0.0 else None)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 5))
def test_compiled_kernels_equal_their_python_forms(seed, count) -> None:
    random = np.random.default_rng(seed)
    rotation, points = rotation_of(seed), random.normal(size=(count, 3))
    twist, force = random.normal(size=6), random.normal(size=3)
    one, other = np.zeros(count + 1), np.zeros(count + 1)
    face = (rotation, twist, force, points)
    assert measure_face(*face, one) == python_form(measure_face)(*face, other)
    assert np.allclose(one, other, rtol=1e-12, atol=1e-12)
    samples = random.normal(size=(6, count + 1))
    assert is_supported(samples, one, 0.5, 0.1) == python_form(is_supported)(samples, other, 0.5, 0.1)
    assert np.allclose(one, samples.mean(axis=0), rtol=1e-12, atol=1e-12)
    assert np.allclose(one, other, rtol=1e-12, atol=1e-12)


def test_update_allocates_no_arrays() -> None:
    points = np.random.default_rng(1).normal(size=(400, 3))
    detector = ContactCompletion(points, PARAMETERS)
    turning = np.full(6, 0.1)
    detector.observe(0.0, DOWN, turning, PRESSED)
    peak = peak_memory(lambda k: detector.observe(1e-3 * k, DOWN, turning, PRESSED), range(1, 100))
    assert not detector.complete and math.isfinite(detector.force)
    assert peak < points[:, 0].nbytes


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((1, 1.0, 1.0), "window"), ((5, 0.0, 1.0), "largest_speed"), ((5, 1.0, math.nan), "least_force")],
)
def test_tuning_outside_the_range_is_refused(arguments, name) -> None:
    with pytest.raises(InvalidInputError, match=name):
        CompletionSettings(**dict(zip(("window", "largest_speed", "least_force"), arguments, strict=True)))


def test_an_end_effector_without_points_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="contact_points"):
        ContactCompletion(np.zeros((0, 3)), PARAMETERS)
