"""Impacts at many contacts: laws of mechanics, results known in closed form, other maps as second methods."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.impacts import (
    Body,
    Contact,
    ContactMode,
    ContactSolverError,
    free_object,
    impact_impulses,
    predict_multi_contact_impact,
    predict_post_impact_velocity,
)
from impact_control.impacts.contact_system import assemble
from impact_control.util.errors import InvalidInputError
from multi_contact_samples import (
    FAMILIES,
    arm_without_geometry,
    contact_impulses,
    plate_on_the_ground,
    point_of_free_object,
    random_box,
    random_inertia,
    random_rotation,
)

UP = np.array([0.0, 0.0, 1.0])
seeds = st.integers(0, 2**32 - 1)
quick = settings(deadline=None, max_examples=60)


def predict_approaching(family, random, friction, restitution):
    """A random case in which a contact approaches, and its result."""
    while True:
        bodies, contacts = family(random, friction, restitution)
        system = assemble(bodies, contacts)
        if np.min((system.jacobian @ system.velocity)[::3]) < -1e-3:
            return bodies, contacts, predict_multi_contact_impact(bodies, contacts)


def kinetic_energy(bodies, velocities):
    return sum(0.5 * velocities[name] @ body.inertia @ velocities[name] for name, body in bodies.items())


def assert_laws_of_mechanics(bodies, contacts, result):
    """Momentum, cone, no adhesion, no penetration, restitution, complementarity, energy; from the public fields."""
    before = {name: body.velocity for name, body in bodies.items()}
    momentum = {name: body.inertia @ (result.velocities[name] - before[name]) for name, body in bodies.items()}
    speed = np.abs(result.contact_velocities_before).max()
    largest = np.abs(result.impulses).max()
    for contact, impulse, normal_impulse, mode, old, new in zip(
        contacts,
        result.impulses,
        result.normal_impulses,
        result.modes,
        result.contact_velocities_before,
        result.contact_velocities_after,
        strict=True,
    ):
        momentum[contact.body] = momentum[contact.body] - contact.jacobian.T @ impulse
        relative = contact.jacobian @ result.velocities[contact.body]
        if contact.other is not None:
            momentum[contact.other] = momentum[contact.other] + contact.other_jacobian.T @ impulse
            relative = relative - contact.other_jacobian @ result.velocities[contact.other]
        np.testing.assert_allclose(new, relative, atol=1e-8 * speed)
        n = contact.normal
        assert n @ impulse == pytest.approx(normal_impulse, abs=1e-9 * largest)
        assert normal_impulse >= 0.0
        assert np.linalg.norm(impulse - normal_impulse * n) <= contact.friction * normal_impulse + 1e-9 * largest
        rebound = result.restitution_factor * contact.restitution * max(0.0, -n @ old)
        assert n @ new >= rebound - 1e-8 * speed
        if mode is ContactMode.SEPARATES:
            assert normal_impulse <= 1e-8 * largest
        else:
            assert n @ new <= rebound + 1e-8 * speed
        slip = new - (n @ new) * n
        if mode is ContactMode.STICKS:
            assert np.linalg.norm(slip) <= 1e-7 * speed
        if mode is ContactMode.SLIPS:
            assert slip @ impulse <= 1e-8 * speed * largest
    for name, body in bodies.items():
        scale = np.abs(body.inertia @ before[name]).max() + np.abs(result.impulses).sum()
        np.testing.assert_allclose(momentum[name], 0.0, atol=1e-8 * scale)
    energy = kinetic_energy(bodies, before)
    change = kinetic_energy(bodies, result.velocities) - energy
    assert result.kinetic_energy_change == pytest.approx(change, abs=1e-7 * energy)
    assert result.kinetic_energy_change <= 1e-8 * energy


@pytest.mark.parametrize("restitution", [0.0, 1.0])
@pytest.mark.parametrize("family", FAMILIES)
def test_laws_of_mechanics_hold_in_thousands_of_impacts(family, restitution):
    random = np.random.default_rng(0)
    for _ in range(350):
        assert_laws_of_mechanics(*predict_approaching(family, random, 1.0, restitution))


@quick
@given(seeds, st.sampled_from(FAMILIES), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_laws_of_mechanics_hold_for_any_friction_and_restitution(seed, family, friction, restitution):
    assert_laws_of_mechanics(*predict_approaching(family, np.random.default_rng(seed), friction, restitution))


def test_restitution_is_reduced_only_where_energy_would_grow():
    random = np.random.default_rng(1)
    reduced = grown = 0
    for _ in range(200):
        bodies, contacts, result = predict_approaching(arm_without_geometry, random, 1.0, 1.0)
        if result.restitution_factor == 1.0:
            continue
        reduced += 1
        system = assemble(bodies, contacts)
        W = system.jacobian @ np.linalg.solve(system.inertia, system.jacobian.T)
        before = system.jacobian @ system.velocity
        wanted = before.copy()
        wanted[::3] += system.restitution * np.minimum(before[::3], 0.0)
        try:
            p = contact_impulses(W, wanted, system.friction)
        except ContactSolverError:
            continue
        grown += 1
        assert p @ (before + 0.5 * W @ p) > 0.0
    assert 3 <= grown <= reduced <= 200


@quick
@given(seeds, st.floats(0.0, 1.0))
def test_equal_restitution_without_friction_needs_no_reduction_and_loses_the_known_energy(seed, e):
    # All contacts approach: what is lost is (1 - e^2) times what the plastic impact loses.
    random = np.random.default_rng(seed)
    bodies, contacts = plate_on_the_ground(random, 0.0, 0.0)
    velocity = bodies["plate"].velocity * np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
    velocity[2] -= 0.1
    bodies = {"plate": Body(bodies["plate"].inertia, velocity)}
    plastic = predict_multi_contact_impact(bodies, contacts)
    result = predict_multi_contact_impact(bodies, [Contact(c.body, c.jacobian, c.normal, 0.0, e) for c in contacts])
    if np.max(plastic.contact_velocities_before @ UP) > 0.0:
        return
    assert result.restitution_factor == 1.0
    energy = 0.5 * velocity @ bodies["plate"].inertia @ velocity
    expected = (1.0 - e**2) * plastic.kinetic_energy_change
    assert result.kinetic_energy_change == pytest.approx(expected, abs=1e-7 * energy)


@quick
@given(seeds, st.floats(0.0, 1.0))
def test_one_contact_without_friction_is_the_rigid_map(seed, restitution):
    random = np.random.default_rng(seed)
    size = int(random.integers(3, 8))
    inertia, jacobian, velocity = random_inertia(random, size), random.normal(size=(3, size)), random.normal(size=size)
    normal = random_rotation(random)[0]
    if normal @ jacobian @ velocity > 0.0:
        velocity = -velocity
    one = predict_post_impact_velocity(inertia, jacobian, normal, velocity, 0.0, restitution)
    contact = Contact("arm", jacobian, normal, 0.0, restitution)
    many = predict_multi_contact_impact({"arm": Body(inertia, velocity)}, [contact])
    np.testing.assert_allclose(many.velocities["arm"], one.velocity, atol=1e-7 * np.abs(velocity).max())
    np.testing.assert_allclose(many.impulses[0], one.impulse, rtol=1e-7, atol=1e-7 * one.normal_impulse)


@quick
@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(-2.0, 2.0), st.floats(-20.0, 20.0))
def test_a_ball_on_the_ground_sticks_or_slips_as_in_the_textbook(friction, e, slide, spin):
    # Solid ball: the contact point has tangential mobility (1 + 5/2)/m = 7/(2 m); it sticks if mu allows.
    mass, radius, approach = 0.7, 0.1, 1.0
    ball = free_object(mass, 0.4 * mass * radius**2 * np.eye(3), np.array([slide, 0.0, -approach, 0.0, spin, 0.0]))
    contact = Contact("ball", point_of_free_object([0.0, 0.0, -radius]), UP, friction, e)
    result = predict_multi_contact_impact({"ball": ball}, [contact])
    slip = slide - radius * spin
    normal_impulse = (1.0 + e) * mass * approach
    tangential = -math.copysign(min(friction * normal_impulse, 2.0 / 7.0 * mass * abs(slip)), slip)
    if result.restitution_factor == 1.0:
        np.testing.assert_allclose(result.impulses[0], [tangential, 0.0, normal_impulse], atol=1e-7)
        after = slip + 3.5 * tangential / mass
        np.testing.assert_allclose(result.contact_velocities_after[0], [after, 0.0, e * approach], atol=1e-7)
    else:
        # Only at e = 1 up to rounding: of this contact normal and tangent do not act on each other.
        assert e > 0.999


@pytest.mark.parametrize("sizes", [(6, 1), (6, 1, 1), (6, 1, 1, 1), (7, 6), (1, 7), (6, 2), (2, 6, 3)])
def test_contacts_move_as_their_bodies_do(sizes):
    """Each body hits the one before it; velocities from the definition, body by body."""
    random = np.random.default_rng(sum(sizes))
    bodies = {str(i): Body(random_inertia(random, n), random.normal(size=n)) for i, n in enumerate(sizes)}
    contacts = [
        Contact(str(i), random.normal(size=(3, n)), UP, 0.2, 0.0, str(i - 1), random.normal(size=(3, sizes[i - 1])))
        for i, n in enumerate(sizes)
        if i > 0
    ]
    system = assemble(bodies, contacts)
    for contact, axes, velocity in zip(
        contacts, system.axes, (system.jacobian @ system.velocity).reshape(-1, 3), strict=True
    ):
        own, other = bodies[contact.body].velocity, bodies[contact.other].velocity
        expected = contact.jacobian @ own - contact.other_jacobian @ other
        np.testing.assert_allclose(axes.T @ velocity, expected, atol=1e-12)


@quick
@given(seeds)
def test_independent_contacts_that_stay_closed_are_proper_2_51(seed):
    random = np.random.default_rng(seed)
    size, count = 7, int(random.integers(1, 4))
    inertia, velocity = random_inertia(random, size), random.normal(size=size)
    jacobians = random.normal(size=(count, 3, size))
    contacts = [Contact("arm", jacobian, UP) for jacobian in jacobians]
    normal = jacobians[:, 2]
    matrix = np.block([[inertia, -normal.T], [normal, np.zeros((count, count))]])
    solution = np.linalg.solve(matrix, np.concatenate([inertia @ velocity, np.zeros(count)]))
    if np.min(normal @ velocity) >= -1e-3:
        return
    result = predict_multi_contact_impact({"arm": Body(inertia, velocity)}, contacts)
    if np.all(solution[size:] >= 0.0):
        np.testing.assert_allclose(result.velocities["arm"], solution[:size], atol=1e-6)
        np.testing.assert_allclose(result.normal_impulses, solution[size:], atol=1e-6)
    else:
        # (2.51) would pull at a contact; here one separates.
        assert ContactMode.SEPARATES in result.modes
        assert np.min(result.normal_impulses) >= 0.0


def dropped_plate(points, friction=0.0, spin=(0.0, 0.0, 0.0), slide=0.0):
    """A plate of 2 kg that falls on points of its lower face."""
    velocity = np.array([slide, 0.0, -0.5, *spin])
    plate = free_object(2.0, np.diag([0.02, 0.03, 0.04]), velocity)
    return {"plate": plate}, [Contact("plate", point_of_free_object([x, y, -0.01]), UP, friction) for x, y in points]


def test_a_plate_with_more_points_than_proper_2_51_can_take():
    corners = [(0.1, 0.1), (0.1, -0.1), (-0.1, -0.1), (-0.1, 0.1)]
    bodies, contacts = dropped_plate(corners)
    normal = np.array([contact.jacobian[2] for contact in contacts])
    assert np.linalg.matrix_rank(np.block([[bodies["plate"].inertia, -normal.T], [normal, np.zeros((4, 4))]])) == 9
    result = predict_multi_contact_impact(bodies, contacts)
    np.testing.assert_allclose(result.velocities["plate"], 0.0, atol=1e-8)
    np.testing.assert_allclose(result.normal_impulses, 2.0 * 0.5 / 4.0, rtol=1e-6)
    # Points inside the others change nothing but the share of each.
    more = predict_multi_contact_impact(*dropped_plate([*corners, (0.0, 0.0), (0.05, 0.02), corners[0]]))
    np.testing.assert_allclose(more.velocities["plate"], 0.0, atol=1e-8)
    assert more.normal_impulses.sum() == pytest.approx(1.0, rel=1e-8)


def test_a_tilting_plate_closes_on_one_side_and_opens_on_the_other():
    # An edge of two points hits, the far edge moves up: as if it had only the near edge.
    near, far = [(0.1, 0.1), (0.1, -0.1)], [(-0.1, 0.1), (-0.1, -0.1)]
    both = predict_multi_contact_impact(*dropped_plate(near + far, spin=(0.0, 20.0, 0.0)))
    edge = predict_multi_contact_impact(*dropped_plate(near, spin=(0.0, 20.0, 0.0)))
    np.testing.assert_allclose(both.velocities["plate"], edge.velocities["plate"], atol=1e-8)
    assert both.modes[2:] == (ContactMode.SEPARATES, ContactMode.SEPARATES)
    assert np.all(both.contact_velocities_after[2:, 2] > 0.0)


def arms_and_box(speed, friction, arm_inertia, jacobian):
    """Two arms that are mirror images in x = 0 squeeze a box with the corners of a plate each."""
    mirror = np.diag([-1.0, 1.0, 1.0])
    bodies = {"box": free_object(2.0, np.diag([0.02, 0.03, 0.04]), np.zeros(6))}
    contacts = []
    for name, side in (("left", -1.0), ("right", 1.0)):
        bodies[name] = Body(arm_inertia, speed)
        for y in (-0.05, 0.05):
            for z in (-0.05, 0.05):
                own = jacobian[:3] + np.cross(jacobian[3:].T, np.array([0.0, y, z])).T
                own = own if side < 0.0 else mirror @ own
                box = point_of_free_object([0.1 * side, y, z])
                contacts.append(Contact("box", box, np.array([-side, 0.0, 0.0]), friction, 0.0, name, own))
    return bodies, contacts


@quick
@given(seeds)
def test_two_mirrored_arms_leave_the_box_where_it_is(seed):
    random = np.random.default_rng(seed)
    jacobian = random.normal(size=(6, 7)) * np.array([[1.0], [1.0], [1.0], [0.3], [0.3], [0.3]])
    speed = np.linalg.lstsq(jacobian, np.array([0.3, 0.02, -0.1, 0.0, 0.1, 0.1]), rcond=None)[0]
    bodies, contacts = arms_and_box(speed, 0.4, random_inertia(random, 7), jacobian)
    result = predict_multi_contact_impact(bodies, contacts)
    scale = np.abs(speed).max()
    np.testing.assert_allclose(result.velocities["left"], result.velocities["right"], atol=1e-6 * scale)
    np.testing.assert_allclose(result.impulses[:4] * [-1.0, 1.0, 1.0], result.impulses[4:], atol=1e-6)
    # What the mirror turns around is zero: velocity across it, rotation about axes in it.
    np.testing.assert_allclose(result.velocities["box"][[0, 4, 5]], 0.0, atol=1e-6 * scale)
    assert result.kinetic_energy_change < 0.0


@quick
@given(seeds, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_momentum_of_colliding_free_objects_is_kept(seed, friction, restitution):
    random = np.random.default_rng(seed)
    centres = {"a": random.normal(size=3), "b": random.normal(size=3)}
    bodies = {name: random_box(random, random.normal(size=6)) for name in centres}
    normal = random_rotation(random)[0]
    points = random.normal(size=(4, 3))
    contacts = [
        Contact(
            "a",
            point_of_free_object(point - centres["a"]),
            normal,
            friction,
            restitution,
            "b",
            point_of_free_object(point - centres["b"]),
        )
        for point in points
    ]
    try:
        result = predict_multi_contact_impact(bodies, contacts)
    except InvalidInputError:
        return
    linear, angular, scale = np.zeros(3), np.zeros(3), 0.0
    for name, body in bodies.items():
        change = body.inertia @ (result.velocities[name] - body.velocity)
        linear += change[:3]
        angular += change[3:] + np.cross(centres[name], change[:3])
        scale += np.abs(change).max()
    np.testing.assert_allclose(linear, 0.0, atol=1e-10 * scale)
    np.testing.assert_allclose(angular, 0.0, atol=1e-9 * scale)


def test_three_balls_in_a_row():
    # Newton's law for all contacts at once: the ball that arrives stops relative to the next one as e says.
    balls = {str(i): free_object(1.0, np.eye(3), np.eye(6)[0] if i == 0 else np.zeros(6)) for i in range(3)}
    for e, expected in ((1.0, [-1 / 3, 2 / 3, 2 / 3]), (0.0, [1 / 3, 1 / 3, 1 / 3])):
        contacts = [
            Contact(a, point_of_free_object([0.5, 0, 0]), -np.eye(3)[0], 0.3, e, b, point_of_free_object([-0.5, 0, 0]))
            for a, b in (("0", "1"), ("1", "2"))
        ]
        result = predict_multi_contact_impact(balls, contacts)
        np.testing.assert_allclose([result.velocities[name][0] for name in "012"], expected, atol=1e-8)
        assert result.restitution_factor == 1.0
        assert result.kinetic_energy_change == pytest.approx(0.5 * (np.sum(np.square(expected)) - 1.0), abs=1e-8)


@quick
@given(seeds)
def test_a_body_that_cannot_be_moved_is_the_environment(seed):
    random = np.random.default_rng(seed)
    bodies, contacts = plate_on_the_ground(random, 0.5, 0.0)
    # With more than three points the share of each, and with it the friction, is not determined.
    contacts = contacts[:3]
    rock = free_object(1e12, 1e12 * np.eye(3), np.zeros(6))
    on_rock = [
        Contact(c.body, c.jacobian, c.normal, c.friction, c.restitution, "rock", point_of_free_object([0.0, 0.0, 0.0]))
        for c in contacts
    ]
    try:
        alone = predict_multi_contact_impact(bodies, contacts)
    except InvalidInputError:
        return
    moved = predict_multi_contact_impact({**bodies, "rock": rock}, on_rock)
    np.testing.assert_allclose(moved.velocities["plate"], alone.velocities["plate"], atol=1e-6)
    np.testing.assert_allclose(moved.velocities["rock"], 0.0, atol=1e-10)


@quick
@given(seeds, st.sampled_from(FAMILIES))
def test_order_of_bodies_and_contacts_does_not_matter(seed, family):
    random = np.random.default_rng(seed)
    bodies, contacts, result = predict_approaching(family, random, 0.7, 0.0)
    order = random.permutation(len(contacts))
    shuffled = predict_multi_contact_impact(dict(reversed(bodies.items())), [contacts[i] for i in order])
    for name, body in bodies.items():
        scale = np.abs(body.velocity).max() + np.abs(result.velocities[name]).max()
        np.testing.assert_allclose(shuffled.velocities[name], result.velocities[name], atol=1e-6 * scale)


@quick
@given(seeds)
def test_axes_of_the_world_do_not_matter(seed):
    random = np.random.default_rng(seed)
    bodies, contacts, result = predict_approaching(arm_without_geometry, random, 0.5, 0.5)
    turn = random_rotation(random)
    turned = [Contact(c.body, turn @ c.jacobian, turn @ c.normal, c.friction, c.restitution) for c in contacts]
    other = predict_multi_contact_impact(bodies, turned)
    scale = np.abs(bodies["arm"].velocity).max()
    np.testing.assert_allclose(other.velocities["arm"], result.velocities["arm"], atol=1e-5 * scale)
    np.testing.assert_allclose(other.impulses, result.impulses @ turn.T, atol=1e-5 * np.abs(result.impulses).max())


@quick
@given(seeds)
def test_friction_vanishes_smoothly(seed):
    random = np.random.default_rng(seed)
    bodies, contacts, result = predict_approaching(plate_on_the_ground, random, 0.0, 0.0)
    little = predict_multi_contact_impact(bodies, [Contact(c.body, c.jacobian, c.normal, 1e-9) for c in contacts])
    np.testing.assert_allclose(little.velocities["plate"], result.velocities["plate"], atol=1e-6)


def test_restitutions_that_walls_do_not_allow_are_reduced():
    # Between two walls without a gap there is no rebound from one of them.
    delassus = np.vstack([np.eye(3), np.diag([-1.0, 1.0, -1.0])])
    delassus = delassus @ delassus.T
    before = np.array([-1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    impulse, factor, _ = impact_impulses(delassus, before, np.zeros(2), np.ones(2))
    assert factor < 1e-3
    np.testing.assert_allclose(before + delassus @ impulse, 0.0, atol=1e-3)


def good_case():
    return {"a": Body(np.eye(3), np.array([0.0, 0.0, -1.0]))}, [Contact("a", np.eye(3), UP, 0.3, 0.5)]


@pytest.mark.parametrize(
    ("body", "contact", "name"),
    [
        ({"inertia": np.diag([1.0, 1.0, -1.0])}, {}, "inertia of a"),
        ({"inertia": np.triu(np.ones((3, 3)))}, {}, "inertia of a"),
        ({"inertia": np.full((3, 3), math.nan)}, {}, "inertia of a"),
        ({"inertia": np.eye(4)}, {}, "inertia of a"),
        ({"velocity": np.array([0.0, math.inf, -1.0])}, {}, "velocity of a"),
        ({"velocity": np.array([0.0, 0.0, 1.0])}, {}, "velocity"),
        ({}, {"normal": np.zeros(3)}, "normal of contact 0"),
        ({}, {"normal": 2.0 * UP}, "normal of contact 0"),
        ({}, {"normal": np.array([math.nan, 0.0, 0.0])}, "normal of contact 0"),
        ({}, {"jacobian": np.full((3, 3), math.nan)}, "jacobian of contact 0"),
        ({}, {"jacobian": np.eye(4)}, "jacobian of contact 0"),
        ({}, {"jacobian": np.zeros((3, 3))}, "jacobian of contact 0"),
        ({}, {"friction": -0.1}, "friction of contact 0"),
        ({}, {"friction": math.nan}, "friction of contact 0"),
        ({}, {"friction": "rough"}, "friction of contact 0"),
        ({}, {"friction": 1j}, "friction of contact 0"),
        ({}, {"friction": [0.1, 0.2]}, "friction of contact 0"),
        ({}, {"restitution": "hard"}, "restitution of contact 0"),
        ({}, {"normal": ["up", 0.0, 1.0]}, "normal of contact 0"),
        ({}, {"jacobian": [[1.0], [0.0, 1.0], [1.0]]}, "jacobian of contact 0"),
        ({"velocity": ["slow", 0.0, 0.0]}, {}, "velocity of a"),
        ({}, {"restitution": 1.1}, "restitution of contact 0"),
        ({}, {"restitution": -0.1}, "restitution of contact 0"),
        ({}, {"body": "b"}, "body of contact 0"),
        ({}, {"other": "b", "other_jacobian": np.eye(3)}, "body of contact 0"),
        ({}, {"other": "a", "other_jacobian": np.eye(3)}, "other of contact 0"),
        ({}, {"other": "b"}, "other of contact 0"),
        ({}, {"other_jacobian": np.eye(3)}, "other of contact 0"),
    ],
)
def test_wrong_input_is_refused(body, contact, name):
    bodies, contacts = good_case()
    predict_multi_contact_impact(bodies, contacts)
    with pytest.raises(InvalidInputError) as caught:
        predict_multi_contact_impact(
            {"a": Body(**{**vars(bodies["a"]), **body})}, [Contact(**{**vars(contacts[0]), **contact})]
        )
    assert caught.value.name == name
    given = {**body, **contact}.get(name.split()[0])
    assert given is None or " of " not in name or caught.value.value is given


def test_a_system_without_contacts_and_objects_without_mass_are_refused():
    with pytest.raises(InvalidInputError, match="contacts"):
        predict_multi_contact_impact(good_case()[0], [])
    with pytest.raises(InvalidInputError, match="mass"):
        free_object(0.0, np.eye(3), np.zeros(6))
    with pytest.raises(InvalidInputError, match="rotational_inertia"):
        free_object(1.0, np.eye(2), np.zeros(6))


def test_closing_walls_are_reported():
    delassus = np.array([[1.0, 0, 0, -1, 0, 0]]).T @ np.array([[1.0, 0, 0, -1, 0, 0]]) + np.diag([0, 1, 1, 0, 1, 1.0])
    with pytest.raises(ContactSolverError):
        impact_impulses(delassus, np.array([-1.0, 0, 0, -1, 0, 0]), np.zeros(2), np.zeros(2))
