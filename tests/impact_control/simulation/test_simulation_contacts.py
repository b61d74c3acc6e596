"""Contact between bodies: geometry, reaction, friction cone; planes of the environment."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from impact_control.impacts import ExponentialHuntCrossley, HuntCrossley, LinearSpring
from impact_control.simulation import Box, Pusher, ScenePlant, inclined_plane
from impact_control.simulation.contact_kernel import distance_to_box
from impact_control.simulation.plant_kernel import observe
from impact_control.util.errors import InvalidInputError

LAWS = [ExponentialHuntCrossley(3.2e9, 3.2e12, 1.5), HuntCrossley(1e6, 1e5, 1.5), LinearSpring(1e4)]
number = st.floats(-1.0, 1.0)
HALF = (0.3, 0.2, 0.1)


@settings(deadline=None)
@given(number, number, number)
def test_the_nearest_point_of_a_box_lies_on_it_and_no_other_is_nearer(x, y, z):
    distance, *normal = distance_to_box(x, y, z, *HALF)
    assert np.linalg.norm(normal) == pytest.approx(1.0)
    nearest = np.array([x, y, z]) - distance * np.array(normal)
    outside = np.abs(nearest) - HALF
    assert outside.max() == pytest.approx(0.0, abs=1e-12)
    # Points of all faces: none is nearer.
    grid = np.linspace(-1.0, 1.0, 9)
    for axis in range(3):
        for side in (-1.0, 1.0):
            face = np.array(np.meshgrid(grid, grid, [side])).reshape(3, -1).T
            face = np.roll(face, axis, axis=1) * HALF
            assert np.linalg.norm(face - [x, y, z], axis=1).min() >= abs(distance) - 1e-12


@settings(deadline=None)
@given(number, number, number, number, number, number)
def test_the_distance_to_a_box_is_continuous(x, y, z, dx, dy, dz):
    step = 1e-6 * np.array([dx, dy, dz])
    first = distance_to_box(x, y, z, *HALF)[0]
    second = distance_to_box(x + step[0], y + step[1], z + step[2], *HALF)[0]
    assert abs(first - second) <= np.linalg.norm(step) + 1e-15


vector = st.lists(number, min_size=3, max_size=3).map(np.array)
direction = vector.filter(lambda v: np.abs(v).max() > 0.1)
quaternion = st.lists(number, min_size=4, max_size=4).map(np.array).filter(lambda q: np.linalg.norm(q) > 0.1)


def observed(scene):
    """Let the scene write down what holds for its state as it is now."""
    observe(scene.arrays, 0.0)
    return scene


@settings(deadline=None, max_examples=100)
@given(
    direction, quaternion, vector, vector, vector, st.floats(0.0, 1.0), st.floats(-1e-5, 1e-4), st.sampled_from(LAWS)
)
def test_contact_pushes_apart_in_the_friction_cone_and_reacts(towards, turn, v, u, spin, mu, depth, law):
    """A sphere somewhere on the faces of a box that moves and turns."""
    assume(abs(depth) > 1e-12)
    orientation = turn / np.linalg.norm(turn)
    rotation = pin.Quaternion(*orientation[[3, 0, 1, 2]]).toRotationMatrix()
    half = np.array(HALF)
    place = towards / (np.abs(towards) / half).max()
    axis = int(np.argmax(np.abs(place) / half))
    normal = rotation[:, axis] * np.sign(place[axis])
    box = Box(1.0, 2.0 * half, law, mu, [0.1, -0.2, 0.3], orientation, u, spin)
    scene = ScenePlant(boxes=[box], pushers=[Pusher([5.0, 5.0, 5.0], 0.02, v)])
    pusher, simulated = scene.pushers[0], scene.boxes[0]
    touched = box.position + rotation @ place
    pusher.position[:] = touched + (0.02 - depth) * normal
    observed(scene)
    force = pusher.contact_force
    assert pusher.gap == pytest.approx(-depth, abs=1e-12)
    np.testing.assert_array_equal(force, -simulated.contact_force)
    assert force @ normal == pytest.approx(pusher.normal_force, rel=1e-9, abs=1e-9)
    if depth <= 0.0:
        assert not force.any()
    if not isinstance(law, HuntCrossley):
        assert pusher.normal_force >= 0.0
    contact = touched - depth * normal
    slip = v - u - np.cross(rotation @ spin, contact - box.position)
    slip -= (slip @ normal) * normal
    tangential = force - (force @ normal) * normal
    pressed = max(pusher.normal_force, 0.0)
    round_off = 1e-9 + 1e-14 * np.linalg.norm(force)
    assert np.linalg.norm(tangential) <= mu * pressed * (1.0 + 1e-9) + round_off
    assert tangential @ slip <= 1e-9 * max(1.0, pressed)
    if np.linalg.norm(slip) > 0.02:
        np.testing.assert_allclose(
            tangential, -mu * pressed * slip / np.linalg.norm(slip), atol=1e-6 * max(1.0, pressed)
        )


def test_a_law_that_pulls_does_not_push_sideways():
    """Hunt-Crossley's law torn off: no friction then, which would speed up the slip."""
    box = Box(1.0, [0.2, 0.2, 0.2], HuntCrossley(1e5, 1e6, 1.0), 0.5, np.zeros(3))
    scene = ScenePlant(boxes=[box], pushers=[Pusher([0.0, 0.0, 0.3], 0.02, [0.1, 0.0, 1.0])])
    scene.pushers[0].position[2] = 0.1 + 0.02 - 1e-4
    observed(scene)
    assert scene.pushers[0].normal_force < 0.0
    np.testing.assert_array_equal(scene.pushers[0].contact_force[:2], 0.0)


def test_an_inclined_plane_is_that_of_the_thesis():
    """Proper 2021, 2.2.1: its surface goes through (0, l) and rises by tan(beta) along x."""
    beta, elevation = math.radians(5.0), 0.02
    point, normal = inclined_plane(beta, elevation)
    along = np.array([1.0, 0.0, math.tan(beta)])
    assert normal @ along == pytest.approx(0.0, abs=1e-15)
    assert np.linalg.norm(normal) == pytest.approx(1.0) and normal[2] > 0.0
    np.testing.assert_allclose(point, [0.0, 0.0, elevation])


def test_an_inclination_that_is_none_is_refused():
    with pytest.raises(InvalidInputError, match="elevation"):
        inclined_plane(0.1, math.inf)
