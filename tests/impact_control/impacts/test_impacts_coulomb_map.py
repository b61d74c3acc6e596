"""One contact under Coulomb's law: laws of mechanics, known cases, and two other ways to the same numbers."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from impact_control.impacts import FrictionLaw, SlipOutcome, coulomb_map, curved_slip, predict_contact_impact
from impact_control.util.errors import InvalidInputError

UP = np.array([0.0, 0.0, 1.0])
seeds = st.integers(0, 2**32 - 1)
frictions = st.floats(0.0, 3.0)
restitutions = st.one_of(st.just(0.0), st.just(1.0), st.floats(1e-3, 1.0))
thorough = settings(deadline=None, max_examples=400)


def random_contact(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mobility, normal and contact velocity into the surface; well enough conditioned to compare solutions."""
    random = np.random.default_rng(seed)
    root = random.normal(size=(3, 3))
    mobility = root @ root.T + 0.05 * np.eye(3)
    normal = random.normal(size=3)
    normal /= np.linalg.norm(normal)
    velocity = random.normal(size=3) * 10.0 ** random.uniform(-2, 1)
    return mobility, normal, velocity if normal @ velocity < 0.0 else -velocity


def tangential(vector: np.ndarray, normal: np.ndarray) -> np.ndarray:
    return vector - (normal @ vector) * normal


# ---------------------------------------------------------------------- laws


@thorough
@given(seeds, frictions, restitutions)
def test_no_impact_gains_energy_pulls_leaves_the_cone_or_enters_the_surface(seed, friction, restitution):
    mobility, normal, velocity = random_contact(seed)
    result = predict_contact_impact(mobility, normal, velocity, friction, restitution)
    mass = np.linalg.inv(mobility)
    before, after = 0.5 * velocity @ mass @ velocity, result.contact_velocity_after
    assert result.kinetic_energy_change <= 1e-12 * before
    assert 0.5 * after @ mass @ after - before == pytest.approx(result.kinetic_energy_change, abs=1e-9 * before)
    np.testing.assert_allclose(after, velocity + mobility @ result.impulse, atol=1e-12 * np.linalg.norm(velocity))
    assert result.normal_impulse > 0.0
    assert normal @ result.impulse == pytest.approx(result.normal_impulse, rel=1e-12)
    friction_impulse = np.linalg.norm(tangential(result.impulse, normal))
    assert friction_impulse <= (friction + 1e-9) * result.normal_impulse
    assert normal @ after >= -1e-9 * np.linalg.norm(velocity)
    if restitution == 0.0:
        assert abs(normal @ after) <= 1e-9 * np.linalg.norm(velocity)


@thorough
@given(seeds, restitutions)
def test_without_friction_it_is_newtons_law(seed, restitution):
    mobility, normal, velocity = random_contact(seed)
    result = predict_contact_impact(mobility, normal, velocity, 0.0, restitution)
    approach = normal @ velocity
    np.testing.assert_allclose(result.impulse, result.normal_impulse * normal, atol=1e-12 * result.normal_impulse)
    assert result.normal_impulse == pytest.approx(-(1.0 + restitution) * approach / (normal @ mobility @ normal))
    assert normal @ result.contact_velocity_after == pytest.approx(-restitution * approach, abs=1e-9 * -approach)
    # The effective mass carries 1/2 m v_N^2, of which e^2 comes back.
    carried = 0.5 * approach**2 / (normal @ mobility @ normal)
    assert result.kinetic_energy_change == pytest.approx(-(1.0 - restitution**2) * carried, abs=1e-9 * carried)


@thorough
@given(seeds, st.floats(0.0, 2.0), st.floats(0.0, 0.99))
def test_more_restitution_gives_more_impulse_and_no_less_energy(seed, friction, restitution):
    mobility, normal, velocity = random_contact(seed)
    dull = predict_contact_impact(mobility, normal, velocity, friction, restitution)
    lively = predict_contact_impact(mobility, normal, velocity, friction, restitution + 0.01)
    assert lively.normal_impulse > dull.normal_impulse


@thorough
@given(seeds, frictions)
def test_what_sticks_has_the_impulse_that_stops_the_contact(seed, friction):
    mobility, normal, velocity = random_contact(seed)
    result = predict_contact_impact(mobility, normal, velocity, friction)
    sticking = -np.linalg.solve(mobility, velocity)
    inside = np.linalg.norm(tangential(sticking, normal)) <= friction * (normal @ sticking)
    if result.slip is SlipOutcome.STICKS:
        np.testing.assert_allclose(result.impulse, sticking, atol=1e-7 * np.linalg.norm(sticking))
        assert inside
    else:
        slip = tangential(result.contact_velocity_after, normal)
        assert np.linalg.norm(slip) > 0.0


@thorough
@given(seeds, frictions, restitutions, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_scale_of_mass_and_speed_does_not_matter(seed, friction, restitution, lightness, quickness):
    mobility, normal, velocity = random_contact(seed)
    result = predict_contact_impact(mobility, normal, velocity, friction, restitution)
    scaled = predict_contact_impact(lightness * mobility, normal, quickness * velocity, friction, restitution)
    expected = quickness / lightness * result.impulse
    np.testing.assert_allclose(scaled.impulse, expected, atol=1e-6 * np.linalg.norm(expected))


@thorough
@given(seeds, frictions, restitutions)
def test_the_axes_do_not_matter(seed, friction, restitution):
    mobility, normal, velocity = random_contact(seed)
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))  # mirrors too
    result = predict_contact_impact(mobility, normal, velocity, friction, restitution)
    turned = predict_contact_impact(turn @ mobility @ turn.T, turn @ normal, turn @ velocity, friction, restitution)
    np.testing.assert_allclose(turned.impulse, turn @ result.impulse, atol=1e-6 * np.linalg.norm(result.impulse))


@pytest.mark.parametrize("law", FrictionLaw)
def test_vanishing_friction_is_no_friction(law):
    for seed in range(40):
        mobility, normal, velocity = random_contact(seed)
        smooth = predict_contact_impact(mobility, normal, velocity, 0.0, 0.5, law)
        errors = [
            np.linalg.norm(predict_contact_impact(mobility, normal, velocity, mu, 0.5, law).impulse - smooth.impulse)
            for mu in (1e-5, 1e-6)
        ]
        assert errors[1] <= 0.11 * errors[0] + 1e-8 * np.linalg.norm(smooth.impulse)


# ---------------------------------------------------------------------- against the printed law


@thorough
@given(seeds, st.floats(1e-3, 1.0))
def test_it_is_the_printed_law_as_long_as_the_slip_keeps_its_direction(seed, friction):
    # The slip keeps to a plane when normal and slip do not couple with the direction across it.
    random = np.random.default_rng(seed)
    root = random.normal(size=(2, 2))
    mobility = np.zeros((3, 3))
    mobility[np.ix_([0, 2], [0, 2])] = root @ root.T + 0.05 * np.eye(2)
    mobility[1, 1] = random.uniform(0.1, 2.0)
    velocity = np.array([random.normal(), 0.0, -abs(random.normal()) - 1e-3])
    try:
        printed = predict_contact_impact(mobility, UP, velocity, friction, 0.0, FrictionLaw.FIXED_DIRECTION)
    except InvalidInputError as error:
        assert error.name == "friction"
        assert predict_contact_impact(mobility, UP, velocity, friction).jammed
        return
    exact = predict_contact_impact(mobility, UP, velocity, friction)
    scale = np.linalg.norm(printed.impulse)
    if printed.slip is SlipOutcome.SLIPS:
        assert exact.slip is SlipOutcome.SLIPS
        np.testing.assert_allclose(exact.impulse, printed.impulse, atol=1e-9 * scale)
    else:
        # Where the printed law turns the slip around it has stopped on the way, and does not start again that way.
        assert exact.slip is not SlipOutcome.SLIPS


def planar_impulse(mobility, velocity, friction, restitution):
    """Normal and tangential impulse of a planar impact by cases, each stretch of it in closed form."""
    (normal_mobility, coupling), (_, slip_mobility) = mobility
    v_n, slip = velocity
    normal = along = work = owed = 0.0
    closing = True
    while True:
        if slip != 0.0:
            force = -friction * np.sign(slip)
        else:
            holding = -coupling / slip_mobility
            force = np.clip(holding, -friction, friction)
        rate, change = normal_mobility + coupling * force, coupling + slip_mobility * force
        ends = []
        if slip != 0.0 and slip * change < 0.0:
            ends.append((-slip / change, "stop"))
        roots = [-v_n / rate] if closing else np.roots([0.5 * rate, v_n, work - owed]).real
        ends += [(root, "end") for root in roots if root > 0.0]
        length, kind = min(ends)
        work += (v_n + 0.5 * rate * length) * length
        normal, along = normal + length, along + force * length
        v_n, slip = v_n + rate * length, 0.0 if kind == "stop" else slip + change * length
        if slip == 0.0 and kind != "stop" and abs(force) < friction:
            slip = 0.0
        if kind == "end" and not closing:
            return normal, along
        if kind == "end":
            owed, work, closing, v_n = -(restitution**2) * work, 0.0, False, 0.0
            if owed == 0.0:
                return normal, along


@thorough
@given(seeds, st.floats(0.01, 3.0), st.sampled_from([0.0, 0.3, 0.8, 1.0]))
def test_planar_impacts_agree_with_their_closed_form(seed, friction, restitution):
    random = np.random.default_rng(seed)
    root = random.normal(size=(2, 2))
    plane = root @ root.T + 0.05 * np.eye(2)
    velocity = np.array([-abs(random.normal()) - 1e-2, random.normal()])
    mobility = np.zeros((3, 3))
    mobility[np.ix_([2, 0], [2, 0])] = plane
    # Without mobility across the plane, as of a planar arm.
    result = predict_contact_impact(mobility, UP, np.array([velocity[1], 0.0, velocity[0]]), friction, restitution)
    normal, along = planar_impulse(plane, velocity, friction, restitution)
    np.testing.assert_allclose(result.impulse, [along, 0.0, normal], atol=1e-6 * np.hypot(normal, along))


# ---------------------------------------------------------------------- a second method in space


def small_steps(mobility, velocity, friction, restitution, step):
    """Impulses (m, 3) of m contacts at once: backward Euler along the normal impulse, normal first.

    The friction of each step is found by projection on the disk of radius mu dp: no slip direction, no case of
    sticking, no formula of the map.
    """
    v, impulse, result = velocity.copy(), np.zeros_like(velocity), np.full_like(velocity, np.nan)
    work, target, friction_step = np.zeros(len(v)), np.full(len(v), np.nan), np.zeros((len(v), 2))
    relaxation = 1.0 / np.linalg.eigvalsh(mobility[:, 1:, 1:])[:, -1:]
    while np.isnan(result).any():
        free = v[:, 1:] + mobility[:, 1:, 0] * step[:, None]
        for _ in range(30):
            slip = free + np.einsum("mij,mj->mi", mobility[:, 1:, 1:], friction_step)
            friction_step = friction_step - relaxation * slip
            length = np.maximum(np.linalg.norm(friction_step, axis=1), 1e-300)
            friction_step *= np.minimum(1.0, friction * step / length)[:, None]
        increment = np.column_stack([step, friction_step])
        after = v + np.einsum("mij,mj->mi", mobility, increment)
        work += 0.5 * (v[:, 0] + after[:, 0]) * step
        impulse, v = impulse + increment, after
        closed = np.isnan(target) & (v[:, 0] >= 0.0)
        target[closed] = (1.0 - restitution[closed] ** 2) * work[closed]
        finished = np.isnan(result[:, 0]) & (v[:, 0] >= 0.0) & (work >= target)
        result[finished] = impulse[finished]
    return result


def test_curved_slip_agrees_with_small_steps_and_the_more_the_smaller_they_are():
    random = np.random.default_rng(7)
    count = 120
    roots = random.normal(size=(count, 3, 3))
    mobility = roots @ roots.swapaxes(1, 2) + 0.1 * np.eye(3)
    velocity = random.normal(size=(count, 3))
    velocity[:, 0] = -np.abs(velocity[:, 0]) - 0.1
    friction = random.uniform(0.05, 1.5, count)
    restitution = np.where(random.random(count) < 0.5, 0.0, random.uniform(0.2, 1.0, count))
    normal = np.array([1.0, 0.0, 0.0])
    results = [
        predict_contact_impact(*case[:1], normal, *case[1:])
        for case in zip(mobility, velocity, friction, restitution, strict=True)
    ]
    assert {result.slip for result in results} == set(SlipOutcome)
    assert {result.jammed for result in results} == {False, True}
    impulse = np.array([result.impulse for result in results])
    scale = np.linalg.norm(impulse, axis=1)
    errors = [
        np.linalg.norm(small_steps(mobility, velocity, friction, restitution, impulse[:, 0] / steps) - impulse, axis=1)
        / scale
        for steps in (100, 800)
    ]
    # First order: an eighth of the step, an eighth of the error.
    assert np.mean(errors[1]) < 0.2 * np.mean(errors[0])
    assert np.max(errors[1]) < 0.02


# ---------------------------------------------------------------------- known cases


def test_sphere_on_a_plane_slips_or_rolls():
    # Homogeneous sphere, radius r, mass m, no spin: mobility 1/m along the normal, 7/2 1/m along the plane. It slips to
    # the end while mu < 2/7 |v_T| / ((1 + e) |v_N|), else it rolls off with 5/7 of its speed.
    mass, restitution = 0.5, 0.6
    mobility = np.diag([3.5, 3.5, 1.0]) / mass
    velocity = np.array([0.3, -0.4, -0.2])
    limit = 2.0 / 7.0 * 0.5 / (1.6 * 0.2)
    slips = predict_contact_impact(mobility, UP, velocity, 0.9 * limit, restitution)
    assert slips.slip is SlipOutcome.SLIPS
    direction = np.array([0.6, -0.8, 0.0])
    np.testing.assert_allclose(slips.impulse, mass * 1.6 * 0.2 * (UP - 0.9 * limit * direction), rtol=1e-9, atol=1e-15)
    rolls = predict_contact_impact(mobility, UP, velocity, 1.1 * limit, restitution)
    assert rolls.slip is SlipOutcome.STICKS
    np.testing.assert_allclose(rolls.contact_velocity_after, [0.0, 0.0, 0.12], atol=1e-12)
    np.testing.assert_allclose(tangential(rolls.impulse, UP), -mass * 2.0 / 7.0 * velocity * [1.0, 1.0, 0.0])


def test_coupling_starts_a_slip_that_friction_cannot_hold():
    # No slip before: it sticks from |G_TN| / G_TT on, and below that slips the way the coupling drives it.
    mobility = np.array([[1.0, 0.0, 0.4], [0.0, 1.0, 0.0], [0.4, 0.0, 1.0]])
    velocity = -0.5 * UP
    slips = predict_contact_impact(mobility, UP, velocity, 0.3)
    assert slips.slip is SlipOutcome.SLIPS
    np.testing.assert_allclose(slips.impulse[:2], [-0.3 * slips.normal_impulse, 0.0], atol=1e-12)
    assert slips.contact_velocity_after[0] > 0.0
    sticks = predict_contact_impact(mobility, UP, velocity, 0.5)
    assert sticks.slip is SlipOutcome.STICKS
    np.testing.assert_allclose(sticks.contact_velocity_after, np.zeros(3), atol=1e-12)
    printed = predict_contact_impact(mobility, UP, velocity, 0.5, 0.0, FrictionLaw.FIXED_DIRECTION)
    np.testing.assert_allclose(printed.impulse, 0.5 * UP, atol=1e-15)


def test_slip_stops_and_goes_on_the_other_way():
    # Slip 0.1 against a coupling that drives it back: it stops early, and mu < |G_TN| / G_TT does not hold it.
    mobility = np.array([[1.0, 0.0, -0.6], [0.0, 1.0, 0.0], [-0.6, 0.0, 1.0]])
    result = predict_contact_impact(mobility, UP, np.array([0.1, 0.0, -1.0]), 0.2)
    assert result.slip is SlipOutcome.REVERSES
    # Until the slip stops: ds/dp = -0.8, dv_N/dp = 1.12; then ds/dp = -0.4, dv_N/dp = 0.88.
    first = 0.1 / 0.8
    second = (1.0 - 1.12 * first) / 0.88
    np.testing.assert_allclose(result.impulse, [0.2 * (second - first), 0.0, first + second], atol=1e-9)
    assert result.contact_velocity_after[0] == pytest.approx(-0.4 * second, rel=1e-9)


def test_jamming_is_a_phase_that_ends():
    # G_NN - mu G_NT = 1 - 2 * 0.8 < 0: compression goes on until the slip has stopped, then the contact sticks.
    mobility = np.array([[1.0, 0.0, 0.8], [0.0, 1.0, 0.0], [0.8, 0.0, 1.0]])
    velocity = np.array([0.3, 0.0, -0.2])
    with pytest.raises(InvalidInputError, match=r"below 1\.25.*COULOMB"):
        predict_contact_impact(mobility, UP, velocity, 2.0, 0.0, FrictionLaw.FIXED_DIRECTION)
    result = predict_contact_impact(mobility, UP, velocity, 2.0)
    assert result.jammed
    assert result.slip is SlipOutcome.STICKS
    np.testing.assert_allclose(result.impulse, -np.linalg.solve(mobility, velocity), atol=1e-9)
    # With e = 1 nothing is lost in normal direction: not even what jamming took in addition.
    lively = predict_contact_impact(mobility, UP, velocity, 2.0, 1.0)
    slip_stop = 0.3 / (2.0 - 0.8)
    friction_work = -2.0 * 0.5 * 0.3 * slip_stop
    assert lively.kinetic_energy_change == pytest.approx(friction_work, rel=1e-9)


def test_newtons_restitution_would_gain_energy_where_this_one_does_not():
    # Stuck at the end, with v_N^+ = 0.2 after v_N^- = -0.2: in the cone, and with more energy than before.
    mobility = np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.0], [0.9, 0.0, 1.0]])
    velocity, friction = np.array([-0.2, 0.0, -0.2]), 2.0
    newton = -np.linalg.solve(mobility, velocity + np.array([0.0, 0.0, -0.2]))
    assert np.linalg.norm(newton[:2]) <= friction * newton[2]
    assert 0.5 * newton @ (2.0 * velocity + mobility @ newton) == pytest.approx(0.5 * 0.2 * 0.16 / 0.19)
    assert predict_contact_impact(mobility, UP, velocity, friction, 1.0).kinetic_energy_change < 0.0


def test_a_contact_on_one_joint_moves_along_one_line():
    # Rank 1: normal and slip stop together, whatever the friction; wedged contacts give nothing back.
    line = np.array([0.6, 0.0, 0.8])
    mobility = 2.0 * np.outer(line, line)
    for friction, restitution in ((0.0, 0.5), (0.2, 0.5), (5.0, 0.0), (5.0, 0.5)):
        result = predict_contact_impact(mobility, UP, -0.5 * line, friction, restitution)
        across = result.contact_velocity_after - (line @ result.contact_velocity_after) * line
        np.testing.assert_allclose(across, np.zeros(3), atol=1e-12)
        returned = line @ result.contact_velocity_after
        assert -1e-12 <= returned <= 0.5 * restitution + 1e-12
        if friction == 5.0:
            assert abs(returned) < 1e-9


def test_a_slip_that_cannot_be_followed_is_refused_in_time():
    # Slips along both tangents, one a hundred million times easier than the other: 1e8 steps would be needed.
    root = np.array([[1e4, 0.0, 0.0], [0.2, 1.0, 0.0], [0.1, 0.1, 1.0]])
    mobility, velocity = root @ root.T, np.array([1e4, 1.0, -1.0])
    with pytest.raises(InvalidInputError) as caught:
        predict_contact_impact(mobility, UP, velocity, 0.3)
    assert caught.value.name == "mobility"
    assert predict_contact_impact(mobility, UP, velocity, 0.0).normal_impulse > 0.0


# ---------------------------------------------------------------------- the kernel, and wrong input


@settings(deadline=None, max_examples=15)
@given(seeds, st.floats(0.0, 1.0), st.sampled_from([0.0, 0.5]))
def test_compiled_and_plain_kernels_agree(seed, friction, restitution):
    kernel = coulomb_map.coulomb_impulse
    plain = getattr(kernel, "py_func", None)
    assume(plain is not None)
    mobility, _, velocity = random_contact(seed)
    velocity[0] = -abs(velocity[0]) - 1e-3
    fast, slow = np.empty(3), np.empty(3)
    assert kernel(mobility, velocity, friction, restitution, fast) == plain(
        mobility, velocity, friction, restitution, slow
    )
    np.testing.assert_allclose(fast, slow, rtol=0.0, atol=1e-12 * np.linalg.norm(slow))


def test_smaller_steps_change_nothing_that_matters(monkeypatch):
    # The plain kernel reads its tolerance when it runs; the compiled one has it built in.
    plain = {
        name: getattr(getattr(coulomb_map, name), "py_func", getattr(coulomb_map, name))
        for name in ("coulomb_impulse", "curved_step", "step_to_end")
    }
    for name, function in plain.items():
        monkeypatch.setattr(coulomb_map, name, function)
    errors = []
    for seed in range(20):
        mobility, _, velocity = random_contact(seed)
        velocity[0] = -abs(velocity[0]) - 0.1
        impulses = []
        for tolerance in (coulomb_map._TOLERANCE, 1e-11):
            with monkeypatch.context() as patch:
                patch.setattr(coulomb_map, "_TOLERANCE", tolerance)
                impulse = np.empty(3)
                coulomb_map.coulomb_impulse(mobility, velocity, 0.3, 0.5, impulse)
                impulses.append(impulse)
        errors.append(np.linalg.norm(impulses[0] - impulses[1]) / np.linalg.norm(impulses[1]))
    assert 0.0 < max(errors) < 1e-6


def test_the_weights_of_the_steps_keep_the_cone_and_sum_to_one():
    assert np.all(curved_slip._WEIGHTS >= 0.0)
    assert np.sum(curved_slip._WEIGHTS) == pytest.approx(1.0, abs=1e-15)
    assert np.sum(curved_slip._ERROR_WEIGHTS) == pytest.approx(0.0, abs=1e-15)
    nodes = curved_slip._STAGES.sum(axis=1)
    np.testing.assert_allclose(nodes, [0.0, 0.2, 0.3, 0.6, 1.0, 0.875], atol=1e-15)
    # Quadrature conditions of order 5.
    for power in range(1, 5):
        assert curved_slip._WEIGHTS @ nodes**power == pytest.approx(1.0 / (power + 1), abs=1e-14)


WRONG = [
    ({"inverse_inertia": np.diag([1.0, 1.0, -1.0])}, "inverse_inertia"),
    ({"inverse_inertia": np.zeros((3, 3))}, "inverse_inertia"),
    ({"inverse_inertia": np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])}, "inverse_inertia"),
    ({"inverse_inertia": np.full((3, 3), np.nan)}, "inverse_inertia"),
    ({"inverse_inertia": np.eye(2)}, "inverse_inertia"),
    ({"inverse_inertia": [[1.0, 0.0], [0.0]]}, "inverse_inertia"),
    ({"normal": np.zeros(3)}, "normal"),
    ({"normal": 1.001 * UP}, "normal"),
    ({"normal": "up"}, "normal"),
    ({"contact_velocity": np.array([0.1, 0.0, 0.0])}, "contact_velocity"),
    ({"contact_velocity": np.array([0.1, np.inf, -1.0])}, "contact_velocity"),
    ({"inverse_inertia": np.diag([0.0, 1.0, 1.0])}, "contact_velocity"),
    ({"friction": -0.1}, "friction"),
    ({"friction": np.inf}, "friction"),
    ({"friction": np.nan}, "friction"),
    ({"friction": None}, "friction"),
    ({"restitution": 1.01}, "restitution"),
    ({"restitution": -0.01}, "restitution"),
    ({"restitution": np.nan}, "restitution"),
    ({"law": 1}, "law"),
]


@pytest.mark.parametrize(("changed", "name"), WRONG)
def test_wrong_input_is_refused_with_its_value(changed, name):
    arguments = {
        "inverse_inertia": np.eye(3),
        "normal": UP,
        "contact_velocity": np.array([0.1, 0.0, -0.2]),
        "friction": 0.2,
        "restitution": 0.1,
        "law": FrictionLaw.COULOMB,
    }
    assert list(inspect.signature(predict_contact_impact).parameters) == list(arguments)
    predict_contact_impact(**arguments)
    with pytest.raises(InvalidInputError) as caught:
        predict_contact_impact(**{**arguments, **changed})
    assert caught.value.name == name
