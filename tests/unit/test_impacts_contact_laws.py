"""Force laws of contact: limits, continuity, no adhesion, dissipation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.errors import InvalidInputError
from impact_control.impacts import (
    ExponentialHuntCrossley,
    Material,
    RegularisedCoulomb,
    exponential_hunt_crossley_force,
    regularised_coulomb_gain,
    sphere_on_plane_stiffness,
)

# Rey Arias 2024, Table I.
LAW = ExponentialHuntCrossley(stiffness=3.2e9, damping=3.2e12, exponent=1.5)
quick = settings(deadline=None, max_examples=60)
depths = st.floats(1e-9, 1e-2)
rates = st.floats(-10.0, 10.0)
dampings = st.floats(0.0, 1e13)


@quick
@given(depths, rates, dampings)
def test_it_follows_the_printed_law_and_never_pulls(depth, rate, damping):
    law = ExponentialHuntCrossley(3.2e9, damping, 1.5)
    if rate >= 0.0:
        expected = 3.2e9 * depth**1.5 + damping * depth**1.5 * rate
    else:
        expected = 3.2e9 * math.exp(damping / 3.2e9 * rate) * depth**1.5
    force = law.force(depth, rate)
    assert force == pytest.approx(expected, rel=1e-12)
    assert force >= 0.0


@quick
@given(st.floats(-1.0, 0.0), rates)
def test_nothing_acts_outside_the_surface(depth, rate):
    assert LAW.force(depth, rate) == 0.0


@quick
@given(depths)
def test_force_and_slope_are_continuous_at_zero_rate(depth):
    step = 1e-9
    at_rest = LAW.force(depth, 0.0)
    going_in, going_out = LAW.force(depth, step), LAW.force(depth, -step)
    slope = LAW.damping * depth**LAW.exponent
    assert (going_in - at_rest) / step == pytest.approx(slope, rel=1e-5)
    assert (at_rest - going_out) / step == pytest.approx(slope, rel=1e-5)


@quick
@given(depths, rates)
def test_without_damping_it_is_hertz(depth, rate):
    hertz = 3.2e9 * depth**1.5
    assert ExponentialHuntCrossley(3.2e9, 0.0, 1.5).force(depth, rate) == pytest.approx(hertz, rel=1e-12)
    nearly = ExponentialHuntCrossley(3.2e9, 1e-3, 1.5).force(depth, rate)
    assert nearly == pytest.approx(hertz, rel=1e-9)


@quick
@given(depths, dampings, st.floats(-10.0, 9.0), st.floats(0.0, 1.0))
def test_force_grows_with_depth_and_with_rate(depth, damping, rate, more):
    law = ExponentialHuntCrossley(3.2e9, damping, 1.5)
    assert law.force(depth, rate + more) >= law.force(depth, rate)
    assert law.force(depth * (1.0 + more), rate) >= law.force(depth, rate)


def work_of_a_cycle(law: ExponentialHuntCrossley, amplitude: float, pulsation: float, mean: float) -> float:
    """Work done on the surface by depth = mean - amplitude cos(pulsation t) over one period."""
    time = (np.arange(4000) + 0.5) / 4000 * 2 * np.pi / pulsation
    depth = mean - amplitude * np.cos(pulsation * time)
    rate = amplitude * pulsation * np.sin(pulsation * time)
    force = np.array([law.force(d, r) for d, r in zip(depth, rate, strict=True)])
    return float(np.sum(force * rate) * (time[1] - time[0]))


@settings(deadline=None, max_examples=10)
@given(st.floats(1e-5, 1e-3), st.floats(1.0, 1e3), st.floats(-0.5, 2.0), dampings)
def test_a_closed_cycle_dissipates(amplitude, pulsation, mean, damping):
    lossless = ExponentialHuntCrossley(3.2e9, 0.0, 1.5)
    stored = 3.2e9 * ((1.0 + mean) * amplitude) ** 2.5 / 2.5
    assert abs(work_of_a_cycle(lossless, amplitude, pulsation, mean * amplitude)) <= 1e-5 * stored
    law = ExponentialHuntCrossley(3.2e9, damping, 1.5)
    assert work_of_a_cycle(law, amplitude, pulsation, mean * amplitude) >= -1e-5 * stored
    strong = ExponentialHuntCrossley(3.2e9, 3.2e9 / (amplitude * pulsation), 1.5)
    assert work_of_a_cycle(strong, amplitude, pulsation, mean * amplitude) > 0.0


def test_kernel_runs_the_same_compiled_and_as_python():
    for kernel, arguments in (
        (exponential_hunt_crossley_force, (1e-5, 0.3, 3.2e9, 3.2e12, 1.5)),
        (exponential_hunt_crossley_force, (1e-5, -0.0003, 3.2e9, 3.2e12, 1.5)),
        (regularised_coulomb_gain, (0.01, 0.3, 2e-3)),
        (regularised_coulomb_gain, (0.0, 0.3, 2e-3)),
    ):
        plain = getattr(kernel, "py_func", kernel)
        assert kernel(*arguments) == pytest.approx(plain(*arguments), rel=1e-14)


def test_stiffness_of_a_sphere_on_a_plane():
    steel = Material(200e9, 0.3)
    aluminium = Material(69e9, 0.33)
    # Hertz: F = 4/3 E* sqrt(r) delta^1.5 with 1/E* = (1 - nu^2)/E of both.
    effective = 1.0 / ((1.0 - 0.33**2) / 69e9 + (1.0 - 0.3**2) / 200e9)
    stiffness = sphere_on_plane_stiffness(0.02, aluminium, steel)
    assert stiffness == pytest.approx(4.0 / 3.0 * effective * math.sqrt(0.02), rel=1e-12)
    assert stiffness == sphere_on_plane_stiffness(0.02, steel, aluminium)
    assert sphere_on_plane_stiffness(0.08, aluminium, steel) == pytest.approx(2.0 * stiffness, rel=1e-12)
    rigid = Material(1e25, 0.3)
    lone = sphere_on_plane_stiffness(0.02, aluminium, rigid)
    assert lone == pytest.approx(4.0 * math.sqrt(0.02) / (3.0 * aluminium.plane_compliance), rel=1e-9)
    assert stiffness < lone


@quick
@given(
    # Rounded: zero, or large enough for the square not to vanish.
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3).map(lambda slip: np.round(slip, 9)),
    st.floats(0.0, 100.0).map(lambda force: round(force, 9)),
    st.floats(0.0, 1.0).map(lambda friction: round(friction, 9)),
)
def test_friction_opposes_the_slip_inside_the_cone(slip, normal_force, friction):
    force = RegularisedCoulomb(friction, 2e-3).force(normal_force, slip)
    speed = np.linalg.norm(slip)
    assert np.linalg.norm(force) <= friction * normal_force * (1.0 + 1e-12)
    assert force @ slip <= 0.0
    expected = friction * normal_force * math.tanh(speed / 2e-3)
    assert np.linalg.norm(force) == pytest.approx(expected, rel=1e-9, abs=1e-30)
    assert force @ slip == pytest.approx(-np.linalg.norm(force) * speed, rel=1e-9, abs=1e-30)


def test_friction_is_smooth_through_rest():
    assert regularised_coulomb_gain(0.0, 0.3, 2e-3) == 150.0
    for speed in (1e-300, 1e-12, 1.9e-11, 2.1e-11, 1e-9, 1e-7):
        assert regularised_coulomb_gain(speed, 0.3, 2e-3) == pytest.approx(150.0, rel=1e-8)
    np.testing.assert_array_equal(RegularisedCoulomb(0.3, 2e-3).force(10.0, np.zeros(3)), np.zeros(3))
    assert regularised_coulomb_gain(1.0, 0.3, 2e-3) == pytest.approx(0.3, rel=1e-12)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: ExponentialHuntCrossley(0.0, 1.0, 1.5), "stiffness"),
        (lambda: ExponentialHuntCrossley(1.0, -1.0, 1.5), "damping"),
        (lambda: ExponentialHuntCrossley(1.0, 1.0, math.nan), "exponent"),
        (lambda: RegularisedCoulomb(-0.1, 1.0), "friction"),
        (lambda: RegularisedCoulomb(0.1, 0.0), "velocity_scale"),
        (lambda: Material(-1.0, 0.3), "young_modulus"),
        (lambda: Material(1.0, 0.6), "poisson_ratio"),
        (lambda: Material(1.0, math.nan), "poisson_ratio"),
        (lambda: sphere_on_plane_stiffness(0.0, Material(1.0, 0.3), Material(1.0, 0.3)), "radius"),
    ],
)
def test_parameters_without_meaning_are_refused(build, name):
    with pytest.raises(InvalidInputError) as caught:
        build()
    assert caught.value.name == name
