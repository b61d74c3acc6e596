"""Contact parameters come back from noisy force profiles, and the law that made a profile is recognised."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import trapezoid

from impact_control.impacts import (
    ExponentialHuntCrossley,
    HuntCrossley,
    LawKind,
    LinearSpring,
    Maxwell,
    NonlinearViscoelastic,
    RestitutionHuntCrossley,
)
from impact_control.util.errors import InvalidInputError
from impact_studies.models.contact_identification.contact_model import ContactModel
from impact_studies.models.contact_identification.contact_parameters import compare_contact_models, fit_contact_model
from impact_studies.models.contact_identification.contact_profile import ForceProfile
from impact_studies.models.contact_identification.contact_search import Search, slopes
from impact_studies.models.impacts.normal_impact import sample_normal_impact, simulate_normal_impact
from impact_studies.models.impacts.normal_impact_kernel import sample_impact_force, state_scale

MASS, SPEED = 4.0, 0.1
RATE = 25e3  # [Hz] Wang 2022, VI
ONSET = 1.3e-5
LAWS = {
    ContactModel.LINEAR_SPRING: LinearSpring(4e5),
    ContactModel.MAXWELL: Maxwell(4e5, 1500.0),
    ContactModel.NONLINEAR_VISCOELASTIC: NonlinearViscoelastic(2e5, 4e6),
    ContactModel.HUNT_CROSSLEY: HuntCrossley(6e7, 1.2e9, 1.5),
    ContactModel.EXPONENTIAL_HUNT_CROSSLEY: ExponentialHuntCrossley(6e7, 1.8e9, 1.5),
    ContactModel.RESTITUTION_HUNT_CROSSLEY: RestitutionHuntCrossley(6e7, 1.8e9, 1.5, 0.2, SPEED),
}
CONTAINS = {
    ContactModel.LINEAR_SPRING: set(ContactModel),
    ContactModel.MAXWELL: {ContactModel.MAXWELL},
    ContactModel.NONLINEAR_VISCOELASTIC: {
        ContactModel.NONLINEAR_VISCOELASTIC,
        ContactModel.HUNT_CROSSLEY,
        ContactModel.RESTITUTION_HUNT_CROSSLEY,
    },
    ContactModel.HUNT_CROSSLEY: {ContactModel.HUNT_CROSSLEY, ContactModel.RESTITUTION_HUNT_CROSSLEY},
    ContactModel.EXPONENTIAL_HUNT_CROSSLEY: {
        ContactModel.EXPONENTIAL_HUNT_CROSSLEY,
        ContactModel.RESTITUTION_HUNT_CROSSLEY,
    },
    ContactModel.RESTITUTION_HUNT_CROSSLEY: {ContactModel.RESTITUTION_HUNT_CROSSLEY},
}
"""The models of which a law is a special case: they fit it as well, with more parameters."""

each_law = pytest.mark.parametrize("model", LAWS, ids=lambda model: model.name)


def profile(law, seed=None, noise=0.01, speed=SPEED, known_speed=True):
    """Return the profile of an impact, 2 ms before to 2 ms after, with noise of a part of its peak."""
    end = simulate_normal_impact(law, MASS, speed).restitution_end
    time = np.arange(-2e-3, end + 2e-3, 1.0 / RATE)
    force = sample_normal_impact(law, MASS, speed, time - ONSET)
    if seed is not None:
        force = force + noise * np.max(force) * np.random.default_rng(seed).standard_normal(time.size)
    return ForceProfile(time, force, speed if known_speed else None)


@each_law
@pytest.mark.parametrize(("mass", "seed"), [(MASS, 0), (None, 1)], ids=["mass known", "mass unknown"])
def test_the_law_that_made_the_profile_wins(model, mass, seed):
    fits = compare_contact_models([profile(LAWS[model], seed)], mass)
    own = next(fit for fit in fits if fit.model is model)
    assert fits[0].model is model
    assert own.objections == ()
    for fit in fits:
        if fit.model not in CONTAINS[model]:
            assert fit.bic > own.bic + 10.0
    peak = np.max(profile(LAWS[model]).force)
    assert own.residual_rms == pytest.approx(0.01 * peak, rel=0.15)


@each_law
@pytest.mark.parametrize("unknown", ["none", "mass", "speed"])
def test_parameters_come_back_from_noise(model, unknown):
    law = LAWS[model]
    recorded = profile(law, seed=3, known_speed=unknown != "speed")
    fit = fit_contact_model(model, [recorded], None if unknown == "mass" else MASS, exponent=1.5)
    tolerance = {"newton_restitution": 0.1}
    for name, estimate in fit.parameters.items():
        true = getattr(law, name)
        assert estimate.value == pytest.approx(true, rel=tolerance.get(name, 0.04))
        assert abs(estimate.value - true) <= 4.0 * estimate.standard_error + 1e-9 * true
    assert fit.mass.value == pytest.approx(MASS, rel=0.02)
    assert fit.speeds[0].value == pytest.approx(SPEED, rel=0.02)
    assert fit.onsets[0].value == pytest.approx(ONSET, abs=3e-5)
    assert fit.restitutions[0].value == pytest.approx(law.restitution(MASS, SPEED), abs=0.015)
    assert type(fit.law()) is type(law)
    given = {"none": (fit.mass, *fit.speeds), "mass": fit.speeds, "speed": (fit.mass,)}[unknown]
    assert all(estimate.standard_error < 1e-12 for estimate in given)


@each_law
def test_without_noise_the_fit_is_exact(model):
    law = LAWS[model]
    recorded = profile(law)
    fit = fit_contact_model(model, [recorded], MASS)
    for name, estimate in fit.parameters.items():
        assert estimate.value == pytest.approx(getattr(law, name), rel=2e-3)
    np.testing.assert_allclose(fit.forces[0], recorded.force, atol=1e-4 * np.max(recorded.force))
    assert fit.residual_rms < 1e-5 * np.max(recorded.force)


def test_standard_errors_are_those_of_repeated_fits():
    law = LAWS[ContactModel.MAXWELL]
    fits = [fit_contact_model(ContactModel.MAXWELL, [profile(law, seed)]) for seed in range(40)]
    for name in ("stiffness", "damping"):
        scatter = np.std([fit.parameters[name].value for fit in fits], ddof=1)
        stated = np.mean([fit.parameters[name].standard_error for fit in fits])
        # The scatter of 40 is known to 11 %.
        assert stated == pytest.approx(scatter, rel=0.4)


def test_with_the_exponent_unknown_stiffness_is_known_only_together_with_it():
    law = LAWS[ContactModel.HUNT_CROSSLEY]
    fit = fit_contact_model(ContactModel.HUNT_CROSSLEY, [profile(law, seed=5)], MASS)
    exponent, stiffness = fit.parameters["exponent"], fit.parameters["stiffness"]
    assert exponent.value == pytest.approx(1.5, rel=0.03)
    depth = np.max(simulate_normal_impact(law, MASS, SPEED).depth)
    assert stiffness.value * depth**exponent.value == pytest.approx(6e7 * depth**1.5, rel=0.03)
    expected = -math.log(depth) * exponent.standard_error
    assert stiffness.standard_error / stiffness.value == pytest.approx(expected, rel=0.3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_viscoelastic_profile_needs_a_restitution_above_one_from_the_virtual_spring(seed):
    """Wang 2022 VII-A1: the peak comes before the end of compression, so what follows it is the larger part."""
    law = LAWS[ContactModel.NONLINEAR_VISCOELASTIC]
    recorded = profile(law, seed)
    spring, viscoelastic = (
        fit_contact_model(model, [recorded])
        for model in (ContactModel.VIRTUAL_SPRING, ContactModel.NONLINEAR_VISCOELASTIC)
    )
    clean = profile(law)
    top = int(np.argmax(clean.force))
    after, before = (trapezoid(clean.force[part]) for part in (slice(top, None), slice(0, top + 1)))
    assert after / before > 1.5
    assert spring.parameters["restitution"].value > 1.5
    assert any("restitution" in objection for objection in spring.objections)
    assert viscoelastic.objections == ()
    assert viscoelastic.bic < spring.bic - 100.0
    with pytest.raises(InvalidInputError):
        spring.law()


def test_restitution_of_the_virtual_spring_comes_back():
    """Quarter sine and quarter cosine e times as long, written down on their own."""
    pulsation, kept = math.sqrt(4e5 / MASS), 0.6
    time = np.arange(-2e-3, 2e-2, 1.0 / RATE)
    phase = pulsation * time
    back = (phase - math.pi / 2) / kept
    shape = np.where(phase < math.pi / 2, np.sin(np.clip(phase, 0.0, None)), np.cos(np.clip(back, None, math.pi / 2)))
    peak = SPEED * math.sqrt(4e5 * MASS)
    force = peak * (shape + 0.01 * np.random.default_rng(0).standard_normal(time.size))
    fits = compare_contact_models([ForceProfile(time, force, SPEED)])
    assert fits[0].model is ContactModel.VIRTUAL_SPRING
    assert fits[0].objections == ()
    assert fits[0].parameters["restitution"].value == pytest.approx(kept, rel=0.03)
    assert fits[0].parameters["stiffness"].value == pytest.approx(4e5, rel=0.03)
    assert fits[0].mass.value == pytest.approx(MASS, rel=0.03)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_negative_damping_is_reported_and_not_clipped(seed):
    """A contact that gives energy: the fit follows it, says so, and no law is made of it."""
    kind, parameters = int(LawKind.NONLINEAR_VISCOELASTIC), np.array([2e5, -6e5, 1.0, 0.0])
    time = np.arange(-2e-3, 2e-2, 1.0 / RATE)
    force = np.empty(time.size)
    assert sample_impact_force(kind, parameters, MASS, SPEED, state_scale(parameters, MASS, SPEED), time, force)
    force += 0.01 * np.max(force) * np.random.default_rng(seed).standard_normal(time.size)
    recorded = ForceProfile(time, force, SPEED)
    fit = fit_contact_model(ContactModel.NONLINEAR_VISCOELASTIC, [recorded])
    assert fit.parameters["damping"].value == pytest.approx(-6e5, rel=0.1)
    assert fit.restitutions[0].value > 1.1
    assert any("damping" in objection for objection in fit.objections)
    assert any("restitution" in objection for objection in fit.objections)
    with pytest.raises(InvalidInputError) as caught:
        fit.law()
    assert caught.value.name == "damping"
    maxwell = fit_contact_model(ContactModel.MAXWELL, [recorded])
    assert maxwell.parameters["damping"].value < 0.0
    assert maxwell.objections != ()


def test_several_speeds_are_fitted_by_one_law():
    """Wang 2022 VII-A2, VII-A3: Maxwell's restitution is the same at all speeds, the viscoelastic one falls."""
    speeds = (0.08, 0.12, 0.18)
    law = LAWS[ContactModel.NONLINEAR_VISCOELASTIC]
    recorded = [profile(law, seed, speed=speed) for seed, speed in enumerate(speeds)]
    maxwell, viscoelastic = (
        fit_contact_model(model, recorded) for model in (ContactModel.MAXWELL, ContactModel.NONLINEAR_VISCOELASTIC)
    )
    kept = [estimate.value for estimate in viscoelastic.restitutions]
    assert kept == pytest.approx([law.restitution(MASS, speed) for speed in speeds], abs=0.01)
    assert kept[0] > kept[1] > kept[2]
    values = [estimate.value for estimate in maxwell.restitutions]
    assert values == pytest.approx([values[0]] * 3, rel=1e-3)
    assert viscoelastic.bic < maxwell.bic - 100.0
    assert viscoelastic.mass.value == pytest.approx(MASS, rel=0.01)
    assert viscoelastic.law().damping == pytest.approx(4e6, rel=0.02)
    assert len(viscoelastic.onsets) == len(viscoelastic.forces) == 3
    # The same samples but one profile with a mass twice as large belong to no common law.
    other = profile(LinearSpring(4e5), 0, speed=0.12)
    worse = fit_contact_model(ContactModel.NONLINEAR_VISCOELASTIC, [recorded[0], other, recorded[2]])
    assert worse.residual_rms > 3.0 * viscoelastic.residual_rms


def test_any_speed_will_do_for_what_does_not_depend_on_the_scale():
    law = LAWS[ContactModel.HUNT_CROSSLEY]
    recorded = profile(law, seed=4)
    one = ForceProfile(recorded.time, recorded.force, 1.0)
    true, scaled = (fit_contact_model(ContactModel.HUNT_CROSSLEY, [p]) for p in (recorded, one))
    assert scaled.residual_rms == pytest.approx(true.residual_rms, rel=1e-6)
    assert scaled.restitutions[0].value == pytest.approx(true.restitutions[0].value, rel=1e-3)
    assert scaled.parameters["exponent"].value == pytest.approx(true.parameters["exponent"].value, rel=1e-3)
    assert scaled.mass.value * 1.0 == pytest.approx(true.mass.value * SPEED, rel=1e-3)


SPEEDS = (0.03, 0.12, 0.5)
FREE = {"stiffness": 6e7, "damping": 1.2e9, "exponent": 1.5}


def noisy(speeds, seed=None):
    """Return profiles of a Hunt-Crossley contact with a noise of 1 % of the peak of each, which they state."""
    profiles = []
    for k, speed in enumerate(speeds):
        clean = profile(LAWS[ContactModel.HUNT_CROSSLEY], speed=speed)
        noise = 0.01 * float(np.max(clean.force))
        random = np.random.default_rng([0 if seed is None else seed, k])
        force = clean.force if seed is None else clean.force + noise * random.standard_normal(clean.time.size)
        profiles.append(ForceProfile(clean.time, force, speed, noise))
    return profiles


def bound(speeds, exponent_known=False):
    """Return the least standard errors of unbiased estimates at the true values, by name; Cramer and Rao.

    With independent Gaussian noise of standard deviation s, and J the derivatives of the samples by all unknowns, the
    onsets included, no unbiased estimate has a covariance below (J^T J / s^2)^-1.
    """
    profiles = noisy(speeds)
    search = Search(ContactModel.HUNT_CROSSLEY, profiles, MASS, FREE["exponent"] if exponent_known else None)
    stiffness, damping, exponent = FREE.values()
    shape = [
        math.log(stiffness * search.typical_depth**exponent / search.peak),
        math.asinh(damping * search.typical_speed / stiffness),
        *([] if exponent_known else [math.log(exponent)]),
    ]
    x = np.array([*shape, *((ONSET - outline.onset) / outline.duration for outline in search.outlines)])
    assert search.point(x).law == pytest.approx(FREE)
    jacobian = slopes(search.residuals, x) / (search.weights[0] / search.peak * profiles[0].noise)
    covariance = np.linalg.inv(jacobian.T @ jacobian)
    names = list(search.point(x).law)
    by_unknowns = slopes(search.reported, x)[: len(names)]
    return dict(zip(names, np.sqrt(np.einsum("ij,jk,ik->i", by_unknowns, covariance, by_unknowns)), strict=True))


@pytest.mark.parametrize(("speeds", "repeats"), [((SPEED,), 30), (SPEEDS, 8)], ids=["one speed", "three speeds"])
def test_with_a_free_exponent_the_fit_reaches_the_bound(speeds, repeats):
    """The errors of repeated fits against the least that any unbiased estimate can have."""
    least = bound(speeds)
    fits = [fit_contact_model(ContactModel.HUNT_CROSSLEY, noisy(speeds, seed), MASS) for seed in range(repeats)]
    for name, true in FREE.items():
        errors = [fit.parameters[name].value - true for fit in fits]
        # A root mean square of n is known to 1 / sqrt(2 n).
        margin = 3.0 / math.sqrt(2.0 * repeats)
        assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(least[name], rel=margin)
        assert np.mean([fit.parameters[name].standard_error for fit in fits]) == pytest.approx(least[name], rel=0.1)


def test_several_speeds_tell_the_exponent_where_one_cannot():
    one, several, known = bound((SPEED,)), bound(SPEEDS), bound((SPEED,), exponent_known=True)
    assert 0.10 < one["stiffness"] / FREE["stiffness"] < 0.20
    assert several["stiffness"] / FREE["stiffness"] < 0.05
    assert known["stiffness"] / FREE["stiffness"] < 0.01 and known["exponent"] < 1e-12
    # Repeating one speed only averages.
    assert bound((SPEED,) * 3)["stiffness"] == pytest.approx(one["stiffness"] / math.sqrt(3), rel=1e-6)
    assert several["stiffness"] < 0.6 * bound((SPEED,) * 3)["stiffness"]


def test_profiles_are_weighed_by_their_noise():
    """Two equal profiles: one of them ten times as noisy adds 1 %, and the fit follows the other."""
    good, bad = noisy((SPEED, SPEED), 3)
    bad = ForceProfile(bad.time, bad.force + 0.1 * np.max(bad.force), SPEED, 10.0 * good.noise)
    alone, both, equal = (
        fit_contact_model(ContactModel.HUNT_CROSSLEY, profiles, MASS, exponent=1.5).parameters["stiffness"].value
        for profiles in ([good], [good, bad], [ForceProfile(p.time, p.force, SPEED) for p in (good, bad)])
    )
    assert abs(both - alone) < 0.1 * abs(equal - alone)


TIME = np.arange(100) / RATE
PUSH = np.sin(np.linspace(0.0, np.pi, 100))


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: ForceProfile(TIME[:10], PUSH[:10]), "time"),
        (lambda: ForceProfile(TIME[::-1], PUSH), "time"),
        (lambda: ForceProfile(TIME + math.nan, PUSH), "time"),
        (lambda: ForceProfile(TIME, PUSH[:-1]), "force"),
        (lambda: ForceProfile(TIME, PUSH + math.inf), "force"),
        (lambda: ForceProfile(TIME, -PUSH), "force"),
        (lambda: ForceProfile(TIME, PUSH, 0.0), "speed"),
        (lambda: ForceProfile(TIME, PUSH, 0.1, 0.0), "noise"),
        (
            lambda: fit_contact_model(
                ContactModel.LINEAR_SPRING, [ForceProfile(TIME, PUSH, 0.1, 1.0), ForceProfile(TIME, PUSH, 0.1)]
            ),
            "noise",
        ),
        (lambda: fit_contact_model(ContactModel.LINEAR_SPRING, [ForceProfile(TIME, PUSH)]), "speed"),
        (lambda: fit_contact_model(ContactModel.LINEAR_SPRING, [ForceProfile(TIME, PUSH, 0.1)], -1.0), "mass"),
        (lambda: fit_contact_model(ContactModel.LINEAR_SPRING, [], 1.0), "profiles"),
        (lambda: fit_contact_model(ContactModel.HUNT_CROSSLEY, [ForceProfile(TIME, PUSH)], 1.0, 0.0), "exponent"),
    ],
)
def test_what_cannot_be_identified_is_refused(build, name):
    with pytest.raises(InvalidInputError) as caught:
        build()
    assert caught.value.name == name
