"""Force laws of contact: limits, continuity, no adhesion, dissipation."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.impacts import (
    ExponentialHuntCrossley,
    HuntCrossley,
    LawKind,
    LinearSpring,
    Maxwell,
    NonlinearViscoelastic,
    RestitutionHuntCrossley,
    contact_damping,
    contact_stiffness,
    normal_force,
    regularised_coulomb_gain,
)
from impact_control.util.errors import InvalidInputError
from impact_studies.models.impacts.materials import Material, sphere_on_plane_stiffness
from kernels import python_form

# Rey Arias 2024, Table I.
LAW = ExponentialHuntCrossley(stiffness=3.2e9, damping=3.2e12, exponent=1.5)
WITHOUT_MEMORY = (
    LinearSpring(4e4),
    NonlinearViscoelastic(2e4, 4e5),
    HuntCrossley(3e6, 9e7, 1.5),
    ExponentialHuntCrossley(3e6, 9e7, 1.5),
    RestitutionHuntCrossley(3e6, 9e7, 1.5, 0.2, 0.1),
)
MAXWELL = Maxwell(4e4, 500.0)
each_law = pytest.mark.parametrize("law", WITHOUT_MEMORY, ids=lambda law: law.kind.name)

quick = settings(deadline=None, max_examples=60)
depths = st.floats(1e-9, 1e-2)
rates = st.floats(-10.0, 10.0)
dampings = st.floats(0.0, 1e13)


@quick
@given(depths, dampings, st.floats(-10.0, 9.0), st.floats(0.0, 1.0))
def test_force_grows_with_depth_and_with_rate(depth, damping, rate, more):
    law = ExponentialHuntCrossley(3.2e9, damping, 1.5)
    assert law.force(depth, rate + more) >= law.force(depth, rate)
    assert law.force(depth * (1.0 + more), rate) >= law.force(depth, rate)


@quick
@given(st.floats(1e-6, 1e-2), st.floats(-1.0, 1.0))
def test_each_law_is_the_printed_one(depth, rate):
    power = depth**1.5
    release = 9e7 / 3e6 * 0.1 * 0.2
    if rate >= -0.2 * 0.1:
        restitution_gain = 1.0 + 30.0 * rate
    else:
        restitution_gain = (1.0 - release) * math.exp(3.0 / (1.0 - release) * (rate + 0.2 * 0.1) / 0.1)
    expected = (
        4e4 * depth,
        2e4 * depth + 4e5 * depth * rate,
        3e6 * power + 9e7 * power * rate,
        3e6 * power * (1.0 + 30.0 * rate if rate >= 0.0 else math.exp(30.0 * rate)),
        3e6 * power * restitution_gain,
    )
    for law, force in zip(WITHOUT_MEMORY, expected, strict=True):
        # Hunt-Crossley's force goes through zero: rounding counts against its elastic part.
        rounding = 1e-12 * law.force(depth, 0.0)
        assert law.force(depth, rate) == pytest.approx(force, rel=1e-12, abs=rounding)
        assert normal_force(law.kind, law.parameters, depth, rate) == law.force(depth, rate)
        assert law.force(depth + 1e-3, rate, 1e-3) == pytest.approx(force, rel=1e-9, abs=1e-9 * law.force(depth, 0.0))
    assert MAXWELL.force(depth, rate, 0.25 * depth) == pytest.approx(4e4 * 0.75 * depth, rel=1e-12)
    assert MAXWELL.creep_rate(depth, 0.25 * depth) == pytest.approx(4e4 * 0.75 * depth / 500.0, rel=1e-12)
    assert MAXWELL.force(depth, rate, 2.0 * depth) == MAXWELL.creep_rate(depth, 2.0 * depth) == 0.0


@each_law
@quick
@given(depth=st.floats(1e-5, 1e-2), rate=st.floats(-0.5, 0.5))
def test_stiffness_and_damping_are_the_slopes_of_the_force(law, depth, rate):
    kind, parameters = int(law.kind), law.parameters
    step = 1e-4 * depth
    slope = (law.force(depth + step, rate) - law.force(depth - step, rate)) / (2 * step)
    elastic_slope = contact_stiffness(kind, parameters, depth, 0.0)
    assert contact_stiffness(kind, parameters, depth, rate) == pytest.approx(slope, rel=1e-6, abs=1e-6 * elastic_slope)
    step = 1e-6
    slope = (law.force(depth, rate + step) - law.force(depth, rate - step)) / (2 * step)
    # Where the exponential branch begins the second slope jumps: first order there.
    assert contact_damping(kind, parameters, depth, rate) == pytest.approx(slope, rel=3e-4, abs=1e-6 * elastic_slope)


@each_law
@quick
@given(rate=st.floats(-1.0, 1.0), outside=st.floats(-1.0, 0.0))
def test_force_and_its_slopes_vanish_outside_and_the_force_comes_from_zero(law, rate, outside):
    kind, parameters = int(law.kind), law.parameters
    assert normal_force(kind, parameters, outside, rate) == 0.0
    assert contact_stiffness(kind, parameters, outside, rate) == 0.0
    assert contact_damping(kind, parameters, outside, rate) == 0.0
    assert abs(law.force(1e-12, rate)) <= 1e-9 * abs(law.force(1e-3, rate)) + 1e-12


@each_law
@pytest.mark.parametrize("rate", [0.0, -0.02])
def test_force_and_slope_are_continuous_where_the_branches_meet(law, rate):
    depth, step = 1e-3, 1e-9
    at, before, after = (law.force(depth, r) for r in (rate, rate + step, rate - step))
    slope = contact_damping(int(law.kind), law.parameters, depth, rate)
    scale = law.force(depth, 0.0) / step
    assert before - at == pytest.approx(slope * step, abs=1e-13 * scale * step + 1e-6 * slope * step)
    assert at - after == pytest.approx(slope * step, abs=1e-13 * scale * step + 1e-6 * slope * step)


def test_the_restitution_law_as_printed_would_jump():
    """Errata: with (1 + rho mu_N) as in Proper (2.36) the force is not continuous at ddelta = -mu_N ddelta^-."""
    law = WITHOUT_MEMORY[-1]
    elastic, release = law.force(1e-3, 0.0), 9e7 / 3e6 * 0.1 * 0.2
    arriving = law.force(1e-3, -0.02)
    assert arriving == pytest.approx(elastic * (1.0 - release), rel=1e-12)
    assert elastic * (1.0 + release) / arriving == pytest.approx(1.6 / 0.4, rel=1e-12)


@quick
@given(depths, rates, st.floats(0.0, 1e10))
def test_without_restitution_both_exponential_laws_are_one(depth, rate, damping):
    plain = ExponentialHuntCrossley(3.2e9, damping, 1.5)
    assert RestitutionHuntCrossley(3.2e9, damping, 1.5, 0.0, 0.3).force(depth, rate) == plain.force(depth, rate)


@quick
@given(st.floats(1e-5, 1e-2), st.floats(-1.0, 1.0))
def test_with_a_release_at_vanishing_force_hunt_crossley_is_cut_at_zero(depth, rate):
    at_limit = np.array([3e6, 9e7, 1.5, 3e6 / 9e7])
    below = np.array([3e6, 9e7, 1.5, 3e6 / 9e7 * (1.0 - 1e-9)])
    cut = max(HuntCrossley(3e6, 9e7, 1.5).force(depth, rate), 0.0)
    kind = int(LawKind.RESTITUTION_HUNT_CROSSLEY)
    for parameters in (at_limit, below):
        force = normal_force(kind, parameters, depth, rate)
        assert force == pytest.approx(cut, rel=1e-7, abs=1e-7 * 3e6 * depth**1.5)


@quick
@given(st.floats(1e-6, 1e-2), st.floats(-10.0, 10.0), st.floats(0.0, 1e-2))
def test_which_laws_pull(depth, rate, creep):
    spring, viscoelastic, hunt_crossley, exponential, with_restitution = WITHOUT_MEMORY
    for law in (spring, exponential, with_restitution, MAXWELL):
        assert law.force(depth, rate, creep) >= 0.0
    assert viscoelastic.force(depth, -1.01 * 2e4 / 4e5) < 0.0 < viscoelastic.force(depth, -0.99 * 2e4 / 4e5)
    assert hunt_crossley.force(depth, -1.01 * 3e6 / 9e7) < 0.0 < hunt_crossley.force(depth, -0.99 * 3e6 / 9e7)


@quick
@given(st.floats(1e-6, 1e-2), st.floats(-1.0, 1.0), st.floats(1.0, 3.0), st.floats(0.01, 100.0))
def test_units_of_the_parameters(depth, rate, exponent, unit):
    """The same contact in another unit of length, force kept: k in 1/length^eta, d in 1/length^(eta+1)."""
    for law in (HuntCrossley, ExponentialHuntCrossley):
        force = law(3e6, 9e7, exponent).force(depth, rate)
        other = law(3e6 / unit**exponent, 9e7 / unit ** (exponent + 1), exponent).force(depth * unit, rate * unit)
        assert other == pytest.approx(force, rel=1e-9, abs=1e-9 * 3e6 * depth**exponent)


@quick
@given(st.floats(1e-6, 1e-2), st.floats(-1.0, 1.0))
def test_without_damping_all_are_elastic(depth, rate):
    hertz = HuntCrossley(3e6, 0.0, 1.5).force(depth, rate)
    assert hertz == pytest.approx(3e6 * depth**1.5, rel=1e-14)
    assert ExponentialHuntCrossley(3e6, 0.0, 1.5).force(depth, rate) == hertz
    assert RestitutionHuntCrossley(3e6, 0.0, 1.5, 1.0, 0.1).force(depth, rate) == hertz
    spring = LinearSpring(4e4).force(depth, rate)
    assert NonlinearViscoelastic(4e4, 0.0).force(depth, rate) == spring
    assert Maxwell(4e4, 1e300).force(depth, rate) == spring
    assert Maxwell(4e4, 1e300).creep_rate(depth, 0.0) < 1e-290


@quick
@given(st.floats(1e-6, 1e-2), st.floats(0.0, 0.9))
def test_stored_energy_is_the_elastic_work(depth, part):
    creep = part * depth
    middle = (np.arange(500) + 0.5) / 500
    for law in (*WITHOUT_MEMORY, MAXWELL):
        way = creep + middle * (depth - creep)
        work = np.mean([law.force(d, 0.0, creep) for d in way]) * (depth - creep)
        assert law.stored_energy(depth, creep) == pytest.approx(work, rel=1e-5)
        assert law.stored_energy(creep, creep) == law.stored_energy(-depth) == 0.0


def test_a_kind_with_memory_or_unknown_is_not_taken_for_another():
    parameters = MAXWELL.parameters
    for kind in (int(LawKind.MAXWELL), 17, -1):
        for kernel in (normal_force, contact_stiffness, contact_damping):
            assert math.isnan(kernel(kind, parameters, 1e-3, 0.1))


def work_of_a_cycle(law, amplitude: float, pulsation: float, mean: float) -> float:
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


@each_law
@settings(deadline=None, max_examples=8)
@given(st.floats(1e-5, 1e-3), st.floats(1.0, 1e3), st.floats(-0.5, 2.0))
def test_no_law_gains_energy_in_a_closed_cycle(law, amplitude, pulsation, mean):
    stored = law.stored_energy((1.0 + mean) * amplitude)
    work = work_of_a_cycle(law, amplitude, pulsation, mean * amplitude)
    # The force of the damped laws grows with the rate: what is lost is compared with what is stored and damped.
    assert work >= -1e-5 * stored
    if law.kind is LawKind.LINEAR_SPRING:
        assert abs(work) <= 1e-5 * stored


@settings(deadline=None, max_examples=20)
@given(st.floats(1e-5, 1e-3), st.floats(1.0, 1e3), st.floats(-0.9, 0.9))
def test_maxwell_gains_no_energy_between_two_times_without_load(amplitude, pulsation, mean):
    time = np.linspace(0.0, 2 * np.pi / pulsation, 4001)
    depth = amplitude * (mean - np.cos(pulsation * time))
    creep, work, lost = 0.0, 0.0, 0.0
    for before, after in pairwise(depth):
        force = MAXWELL.force(0.5 * (before + after), 0.0, creep)
        flow = force / MAXWELL.damping * time[1]
        # The midpoint rule also in the creep, so that the work is what is stored and lost but for second order.
        force = MAXWELL.force(0.5 * (before + after), 0.0, creep + 0.5 * flow)
        flow = force / MAXWELL.damping * time[1]
        creep += flow
        work += force * (after - before)
        lost += force * flow
    most = MAXWELL.stored_energy(amplitude * (1.0 + mean))
    assert lost >= 0.0
    assert work - MAXWELL.stored_energy(depth[-1], creep) == pytest.approx(lost, abs=1e-4 * most)


def test_kernel_runs_the_same_compiled_and_as_python():
    for kernel, arguments in (
        *(
            (kernel, (int(law.kind), law.parameters, 1e-4, rate))
            for kernel in (normal_force, contact_stiffness, contact_damping)
            for law in WITHOUT_MEMORY
            for rate in (0.3, -0.01, -0.3)
        ),
        (regularised_coulomb_gain, (0.01, 0.3, 2e-3)),
        (regularised_coulomb_gain, (0.0, 0.3, 2e-3)),
    ):
        assert kernel(*arguments) == pytest.approx(python_form(kernel)(*arguments), rel=1e-14)


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
    speed = float(np.linalg.norm(slip))
    force = -regularised_coulomb_gain(speed, friction, 2e-3) * normal_force * slip
    assert np.linalg.norm(force) <= friction * normal_force * (1.0 + 1e-12)
    assert force @ slip <= 0.0
    expected = friction * normal_force * math.tanh(speed / 2e-3)
    assert np.linalg.norm(force) == pytest.approx(expected, rel=1e-9, abs=1e-30)
    assert force @ slip == pytest.approx(-np.linalg.norm(force) * speed, rel=1e-9, abs=1e-30)


def test_friction_is_smooth_through_rest():
    assert regularised_coulomb_gain(0.0, 0.3, 2e-3) == 150.0
    for speed in (1e-300, 1e-12, 1.9e-11, 2.1e-11, 1e-9, 1e-7):
        assert regularised_coulomb_gain(speed, 0.3, 2e-3) == pytest.approx(150.0, rel=1e-8)
    assert regularised_coulomb_gain(1.0, 0.3, 2e-3) == pytest.approx(0.3, rel=1e-12)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: ExponentialHuntCrossley(0.0, 1.0, 1.5), "stiffness"),
        (lambda: ExponentialHuntCrossley(1.0, -1.0, 1.5), "damping"),
        (lambda: ExponentialHuntCrossley(1.0, 1.0, math.nan), "exponent"),
        (lambda: LinearSpring(-1.0), "stiffness"),
        (lambda: NonlinearViscoelastic(1.0, math.inf), "damping"),
        (lambda: NonlinearViscoelastic(0.0, 1.0), "stiffness"),
        (lambda: HuntCrossley(1.0, 1.0, 0.0), "exponent"),
        (lambda: HuntCrossley(1.0, -1e-9, 1.0), "damping"),
        (lambda: Maxwell(1.0, 0.0), "damping"),
        (lambda: Maxwell(math.nan, 1.0), "stiffness"),
        (lambda: RestitutionHuntCrossley(1.0, 1.0, 1.5, 1.1, 0.1), "newton_restitution"),
        (lambda: RestitutionHuntCrossley(1.0, 1.0, 1.5, math.nan, 0.1), "newton_restitution"),
        (lambda: RestitutionHuntCrossley(1.0, 1.0, 1.5, 0.5, 0.0), "impact_rate"),
        (lambda: RestitutionHuntCrossley(1.0, 20.1, 1.5, 0.5, 0.1), "damping"),
        (lambda: RestitutionHuntCrossley.with_exact_restitution(1.0, 1.5, 0.0, 0.1), "restitution"),
        (lambda: RestitutionHuntCrossley.with_exact_restitution(1.0, 1.5, 1.01, 0.1), "restitution"),
        (lambda: RestitutionHuntCrossley.with_exact_restitution(1.0, 1.5, 0.5, -0.1), "impact_rate"),
        (lambda: LAW.restitution(0.0, 1.0), "mass"),
        (lambda: MAXWELL.restitution(1.0, math.nan), "speed"),
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
