"""The compiled orientation error against Pinocchio's logarithm and exponential."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.robots.rotation import orientation_error

AXIS = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda v: math.hypot(*v) > 0.1)
ANGLE = st.one_of(
    st.floats(0.0, math.pi - 1e-7),
    st.floats(0.0, 1e-3),
    st.floats(0.0, 1e-9),
    st.floats(1e-9, 1e-2).map(lambda a: 3.1 + a),
)


def turned(axis, angle):
    return angle * np.array(axis) / np.linalg.norm(axis)


def error_of(phi, nominal, rotation):
    out = np.zeros(3)
    orientation_error(phi, np.ascontiguousarray(nominal), np.asfortranarray(rotation), np.zeros((2, 3, 3)), out)
    return out


@settings(deadline=None)
@given(AXIS, ANGLE, AXIS, ANGLE, AXIS, ANGLE)
def test_is_what_pinocchio_finds(a, alpha, b, beta, c, gamma):
    phi, nominal, rotation = turned(a, alpha), pin.exp3(turned(b, beta)), pin.exp3(turned(c, gamma))
    wanted = pin.exp3(phi) @ nominal
    expected = pin.log3(wanted @ rotation.T)
    found = error_of(phi, nominal, rotation)
    assert np.linalg.norm(found) <= math.pi + 1e-12
    # Near half a turn the vector is badly determined, the rotation is not.
    np.testing.assert_allclose(pin.exp3(found) @ rotation, wanted, atol=1e-7)
    if np.linalg.norm(expected) < 3.0:
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("axis", range(3))
def test_half_a_turn_has_an_axis(axis):
    half = np.diag(np.where(np.arange(3) == axis, 1.0, -1.0))
    found = error_of(np.zeros(3), half, np.eye(3))
    assert abs(found[axis]) == pytest.approx(math.pi)
    assert np.linalg.norm(found) == pytest.approx(math.pi)
