"""A free mass on a contact law: energy, restitution in closed form, exact solutions, a second integrator."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp, trapezoid
from scipy.special import beta

from impact_control.impacts import (
    ExponentialHuntCrossley,
    HuntCrossley,
    LinearSpring,
    Maxwell,
    NonlinearViscoelastic,
    RestitutionHuntCrossley,
)
from impact_control.impacts.restitution import (
    exponential_restitution,
    hunt_crossley_restitution,
    maxwell_restitution,
    relative_damping_for_restitution,
    vanishing_force_restitution,
)
from impact_control.util.errors import InvalidInputError
from impact_studies.models.impacts.normal_impact import impact_restitution, sample_normal_impact, simulate_normal_impact
from impact_studies.models.impacts.normal_impact_kernel import sample_impact_force, state_scale

LAWS = (
    LinearSpring(4e4),
    NonlinearViscoelastic(2e4, 4e5),
    NonlinearViscoelastic(2e4, 4e7),
    HuntCrossley(3e6, 9e7, 1.5),
    ExponentialHuntCrossley(3e6, 9e7, 1.5),
    # Rey Arias 2024, Table I.
    ExponentialHuntCrossley(3.2e9, 3.2e12, 1.5),
    RestitutionHuntCrossley(3e6, 9e7, 1.5, 0.2, 0.1),
    Maxwell(4e4, 500.0),
    Maxwell(4e4, 1e5),
)
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.kind.name}-{law.parameters[1]:g}")
quick = settings(deadline=None, max_examples=40)
masses = st.floats(0.1, 50.0)
speeds = st.floats(0.01, 1.0)
relative_dampings = st.floats(1e-6, 1e4)


@each_law
@settings(deadline=None, max_examples=15)
@given(mass=masses, speed=speeds)
def test_energy_is_accounted_for(law, mass, speed):
    """Wang (28) at every instant, and the works against what is stored, dissipated and left."""
    impact = simulate_normal_impact(law, mass, speed)
    energies = impact.energies
    initial = 0.5 * mass * speed**2
    assert energies.initial == pytest.approx(initial, rel=1e-12)
    assert impact.energy_imbalance < 1e-9
    assert energies.compression_work == pytest.approx(initial, rel=1e-9)
    assert energies.restitution_work == pytest.approx(energies.final, abs=1e-9 * initial)
    assert energies.dissipated + energies.final == pytest.approx(initial, rel=1e-9)
    assert -1e-9 * initial <= energies.dissipated
    assert energies.restitution_work <= energies.stored + 1e-9 * initial
    assert np.all(np.diff(impact.dissipated_energy) >= -1e-9 * initial)
    assert np.all(np.diff(impact.time) >= 0.0)


@each_law
@settings(deadline=None, max_examples=15)
@given(mass=masses, speed=speeds)
def test_restitution_is_that_of_the_closed_form(law, mass, speed):
    impact = simulate_normal_impact(law, mass, speed)
    expected = law.restitution(mass, speed)
    # With less than 1e-14 of its energy left, 1e-7 of its speed, a mass counts as stopped.
    assert impact.restitution == pytest.approx(expected, abs=1e-9 if expected > 1e-7 else 1e-7)
    assert impact.energies.final == pytest.approx(expected**2 * impact.energies.initial, abs=1e-9)
    assert impact_restitution(int(law.kind), law.parameters, mass, speed) == impact.restitution


@quick
@given(relative_dampings, st.floats(0.0, 0.99))
def test_closed_forms_make_the_integral_of_the_motion_vanish(rho, release):
    """u du / g(u) from -rho e to rho, by quadrature: nothing of the closed forms is used but e."""

    def linear(u):
        return u / (1.0 + u)

    def extended(u):
        remaining = 1.0 - release
        return linear(u) if u >= -release else u / (remaining * math.exp((u + release) / remaining))

    going_in = quad(linear, 0.0, rho, epsabs=0.0, epsrel=1e-10, limit=200)[0]
    exit_rate = rho * exponential_restitution(rho, release)
    before = min(release, exit_rate)
    out = -quad(extended, -before, 0.0, epsabs=0.0, epsrel=1e-10, limit=200)[0] if before > 0.0 else 0.0
    if exit_rate > release:
        out -= quad(extended, -exit_rate, -release, epsabs=0.0, epsrel=1e-10, limit=200)[0]
    assert out == pytest.approx(going_in, rel=1e-6)
    exit_rate = rho * hunt_crossley_restitution(rho)
    # Beyond, 1 - rho e is lost in rounding.
    if rho < 10.0:
        assert -quad(linear, -exit_rate, 0.0, epsabs=0.0, epsrel=1e-10, limit=200)[0] == pytest.approx(
            going_in, rel=1e-6
        )


@quick
@given(relative_dampings, st.floats(1.01, 2.0), st.floats(0.0, 0.99))
def test_restitution_falls_with_the_speed_and_lies_between_its_limits(rho, more, release):
    plain, extended = hunt_crossley_restitution(rho), exponential_restitution(rho, release)
    rounding = 1e-12
    assert 0.0 < plain <= extended + rounding
    assert extended <= 1.0
    assert hunt_crossley_restitution(rho * more) < plain
    assert exponential_restitution(rho * more, release) < extended
    if plain <= release / rho:
        assert extended == plain
    # Wang (25) is above, and close for large rho only.
    assert plain <= vanishing_force_restitution(rho) * (1.0 + rounding)
    assert exponential_restitution(rho) >= extended - rounding


def test_limits_of_the_restitution():
    assert hunt_crossley_restitution(0.0) == exponential_restitution(0.0) == maxwell_restitution(0.0) == 1.0
    for rho in (1e-200, 1e-9, 1e-7, 1e-5, 1e-3):
        # Hunt and Crossley 1975: 1 - 2/3 rho for slight damping; the next term is 4/9 rho^2.
        assert 1.0 - hunt_crossley_restitution(rho) == pytest.approx(2.0 / 3.0 * rho, rel=rho, abs=3e-16)
        assert 1.0 - exponential_restitution(rho) == pytest.approx(2.0 / 3.0 * rho, rel=rho, abs=3e-16)
    for rho in (30.0, 1e3, 1e6):
        assert hunt_crossley_restitution(rho) == pytest.approx(vanishing_force_restitution(rho), rel=1e-9)
    assert maxwell_restitution(1.0) == maxwell_restitution(50.0) == 0.0
    assert maxwell_restitution(0.999) < 1e-30


def test_wang_25_is_a_limit_that_a_free_mass_does_not_reach():
    """At -k/c the force of (23) vanishes, so the mass cannot be slowed to it: it leaves slower, at depth zero.

    At c v / k = 1, (25) gives 1, no loss at all; the mass keeps 59 %.
    """
    law = NonlinearViscoelastic(2e4, 2e5)
    impact = simulate_normal_impact(law, 4.0, 0.1)
    assert vanishing_force_restitution(1.0) == 1.0
    # (1 + rho) / (1 - rho e) = exp(rho (1 + e)) at rho = 1.
    assert 2.0 / (1.0 - impact.restitution) == pytest.approx(math.exp(1.0 + impact.restitution), rel=1e-8)
    for damping in (2e4, 2e5, 2e6, 2e7):
        impact = simulate_normal_impact(NonlinearViscoelastic(2e4, damping), 4.0, 0.1)
        assert np.min(impact.depth_rate) >= -2e4 / damping * (1.0 + 1e-9)
        assert abs(impact.depth[-1]) <= 1e-9 * np.max(impact.depth)
        assert np.all(impact.force[1:-1] > 0.0)


@quick
@given(st.floats(1e-4, 1.0), st.floats(1e3, 1e9), st.floats(1.0, 3.0), masses, speeds)
def test_exact_restitution_gives_back_newtons(restitution, stiffness, exponent, mass, speed):
    law = RestitutionHuntCrossley.with_exact_restitution(stiffness, exponent, restitution, speed)
    impact = simulate_normal_impact(law, mass, speed)
    assert impact.restitution == pytest.approx(restitution, abs=1e-8)
    rho = relative_damping_for_restitution(restitution)
    assert hunt_crossley_restitution(rho) == pytest.approx(restitution, rel=1e-9)


def test_damping_for_a_restitution_near_one_is_that_of_hunt_and_crossley():
    for loss in (1e-3, 1.01e-5, 0.99e-5, 1e-6, 1e-9, 2.0**-53):
        kept = 1.0 - loss
        exact = 1.5 * (1.0 - kept) * (1.0 + loss)
        assert relative_damping_for_restitution(kept) == pytest.approx(exact, rel=10.0 * loss**2 + 1e-9)
    assert relative_damping_for_restitution(1.0) == 0.0


@quick
@given(st.floats(1e2, 1e8), masses, speeds)
def test_spring_is_half_a_sine(stiffness, mass, speed):
    impact = simulate_normal_impact(LinearSpring(stiffness), mass, speed)
    pulsation = math.sqrt(stiffness / mass)
    assert impact.restitution_end == pytest.approx(math.pi / pulsation, rel=1e-9)
    assert impact.compression_end == pytest.approx(0.5 * math.pi / pulsation, rel=1e-9)
    peak = speed * math.sqrt(stiffness * mass)
    np.testing.assert_allclose(impact.force, peak * np.sin(pulsation * impact.time), atol=1e-9 * peak)


@quick
@given(st.floats(1e2, 1e9), st.floats(0.5, 3.0), masses, speeds)
def test_without_damping_depth_and_duration_are_those_of_hertz(stiffness, exponent, mass, speed):
    impact = simulate_normal_impact(HuntCrossley(stiffness, 0.0, exponent), mass, speed)
    power = exponent + 1.0
    depth = (0.5 * power * mass * speed**2 / stiffness) ** (1.0 / power)
    # 2 integral of d delta / sqrt(v^2 - 2 k delta^n / (n m)), with n = eta + 1.
    duration = 2.0 * depth / speed * beta(1.0 / power, 0.5) / power
    assert np.max(impact.depth) == pytest.approx(depth, rel=1e-8)
    assert impact.restitution_end == pytest.approx(duration, rel=1e-8)
    assert impact.restitution == pytest.approx(1.0, abs=1e-8)


@quick
@given(st.floats(1e-3, 1e3), st.floats(1.0, 3.0), masses, speeds)
def test_depth_with_damping(rho, exponent, mass, speed):
    """k delta^(eta+1) / (eta+1) = m (k/d)^2 (rho - ln(1 + rho)), from the motion on the way in."""
    stiffness = 1e5
    law = HuntCrossley(stiffness, rho * stiffness / speed, exponent)
    impact = simulate_normal_impact(law, mass, speed)
    expected = mass * (speed / rho) ** 2 * (rho - math.log1p(rho))
    assert impact.energies.stored == pytest.approx(expected, rel=1e-7)


@quick
@given(st.floats(1e3, 1e7), st.floats(0.01, 0.99), masses, speeds)
def test_maxwell_is_the_damped_oscillation_of_its_force(stiffness, zeta, mass, speed):
    damping = math.sqrt(stiffness * mass) / (2.0 * zeta)
    impact = simulate_normal_impact(Maxwell(stiffness, damping), mass, speed)
    pulsation = math.sqrt(stiffness / mass)
    damped = pulsation * math.sqrt(1.0 - zeta**2)
    decay = np.exp(-zeta * pulsation * impact.time)
    force = stiffness * speed / damped * decay * np.sin(damped * impact.time)
    np.testing.assert_allclose(impact.force, force, atol=1e-8 * np.max(force))
    if math.isfinite(impact.restitution_end):
        assert impact.restitution_end == pytest.approx(math.pi / damped, rel=1e-6)
        # The dashpot has given way by the whole impulse over c, and stays there.
        impulse = mass * speed * (1.0 + impact.restitution)
        assert impact.depth[-1] == pytest.approx(impulse / damping, rel=1e-8)
    else:
        assert maxwell_restitution(zeta) < 1e-6


def test_an_overdamped_maxwell_law_never_lets_go():
    impact = simulate_normal_impact(Maxwell(4e4, 100.0), 4.0, 0.1)
    assert impact.compression_end == impact.restitution_end == math.inf
    assert impact.restitution == 0.0
    assert impact.energies.dissipated == pytest.approx(impact.energies.initial, rel=1e-9)
    assert impact.energies.restitution_work == 0.0
    assert impact.depth[-1] == pytest.approx(4.0 * 0.1 / 100.0, rel=1e-5)


@each_law
def test_a_second_integrator_finds_the_same(law):
    mass, speed = 4.0, 0.1
    impact = simulate_normal_impact(law, mass, speed)

    def motion(_, state):
        depth, rate, creep = state
        return rate, -law.force(depth, rate, creep) / mass, law.creep_rate(depth, creep)

    def turn(_, state):
        return state[1]

    def opening(_, state):
        return state[0] - state[2]

    opening.direction = -1.0
    opening.terminal = True
    depth = np.max(impact.depth)
    other = solve_ivp(
        motion,
        (0.0, 2.0 * impact.restitution_end),
        (0.0, speed, 0.0),
        method="DOP853",
        events=(turn, opening),
        rtol=1e-11,
        atol=(1e-12 * depth, 1e-12 * speed, 1e-12 * depth),
        dense_output=True,
    )
    assert impact.compression_end == pytest.approx(other.t_events[0][0], rel=1e-7)
    assert impact.restitution_end == pytest.approx(other.t_events[1][0], rel=1e-6)
    np.testing.assert_allclose(impact.depth[:-1], other.sol(impact.time[:-1])[0], atol=1e-6 * depth)


@each_law
def test_samples_lie_on_the_simulated_profile(law):
    mass, speed = 4.0, 0.1
    impact = simulate_normal_impact(law, mass, speed)
    peak = np.max(impact.force)
    np.testing.assert_allclose(sample_normal_impact(law, mass, speed, impact.time), impact.force, atol=2e-6 * peak)
    outside = np.array([-1.0, -1e-9, 0.0, 1.01 * impact.restitution_end, 1.0 + impact.restitution_end])
    np.testing.assert_array_equal(sample_normal_impact(law, mass, speed, outside), np.zeros(5))
    time = np.linspace(0.0, impact.restitution_end, 100_001)
    impulse = trapezoid(sample_normal_impact(law, mass, speed, time), time)
    assert impulse == pytest.approx(mass * speed * (1.0 + impact.restitution), rel=1e-6)


@each_law
def test_kernel_runs_the_same_compiled_and_as_python(law):
    time = np.linspace(-1e-3, 0.05, 40)
    arguments = (int(law.kind), law.parameters, 4.0, 0.1, state_scale(law.parameters, 4.0, 0.1), time)
    fast, plain = np.empty(40), np.empty(40)
    assert sample_impact_force(*arguments, fast)
    assert getattr(sample_impact_force, "py_func", sample_impact_force)(*arguments, plain)
    np.testing.assert_allclose(fast, plain, rtol=1e-9)


@quick
@given(st.floats(0.1, 10.0), st.floats(0.1, 10.0))
def test_force_alone_leaves_one_scale_open(length, tension):
    """Depth, speed times s, mass over s, k over s^eta, d over s^(eta+1): the same force. All forces by one factor."""
    time = np.linspace(0.0, 0.02, 50)
    force = sample_normal_impact(HuntCrossley(3e6, 9e7, 1.5), 4.0, 0.1, time)
    other = HuntCrossley(3e6 * tension / length**1.5, 9e7 * tension / length**2.5, 1.5)
    scaled = sample_normal_impact(other, 4.0 * tension / length, 0.1 * length, time)
    np.testing.assert_allclose(scaled, tension * force, atol=1e-6 * tension * np.max(force))


def test_negative_damping_gains_energy_by_the_inverse_factor():
    """Backwards in time damping changes its sign: the same impact from its end."""
    law = NonlinearViscoelastic(2e4, 1e5)
    kept = law.restitution(4.0, 0.1)
    gained = impact_restitution(int(law.kind), np.array([2e4, -1e5, 1.0, 0.0]), 4.0, 0.1 * kept)
    assert gained == pytest.approx(1.0 / kept, rel=1e-8)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: simulate_normal_impact(LAWS[0], 0.0, 0.1), "mass"),
        (lambda: simulate_normal_impact(LAWS[0], 1.0, -0.1), "speed"),
        (lambda: simulate_normal_impact(Maxwell(1e9, 1.0), 10.0, 0.1), "law"),
        (lambda: sample_normal_impact(LAWS[0], math.nan, 0.1, np.zeros(2)), "mass"),
        (lambda: sample_normal_impact(LAWS[0], 1.0, math.inf, np.zeros(2)), "speed"),
        (lambda: sample_normal_impact(LAWS[0], 1.0, 0.1, np.array([0.0, math.nan])), "time"),
        (lambda: sample_normal_impact(LAWS[0], 1.0, 0.1, np.array([0.1, 0.0])), "time"),
        (lambda: sample_normal_impact(Maxwell(1e9, 1.0), 10.0, 0.1, np.array([10.0])), "law"),
        (lambda: hunt_crossley_restitution(-1.0), "relative_damping"),
        (lambda: exponential_restitution(math.nan), "relative_damping"),
        (lambda: exponential_restitution(1.0, 1.01), "release"),
        (lambda: vanishing_force_restitution(0.0), "relative_damping"),
        (lambda: relative_damping_for_restitution(0.0), "restitution"),
        (lambda: maxwell_restitution(-0.1), "damping_ratio"),
    ],
)
def test_what_has_no_meaning_is_refused(build, name):
    with pytest.raises(InvalidInputError) as caught:
        build()
    assert caught.value.name == name
