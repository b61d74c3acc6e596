"""What the offline search for the impact time refuses of a recording."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.util.errors import InvalidInputError
from impact_studies.models.contact_identification.impact_time import offline_impact_time

TIME = 1e-3 * np.arange(100)


def velocity_with_a_jump():
    return np.where(TIME[:, None] >= 0.05, [0.5, 0.0], 0.0) + TIME[:, None] ** 3


@pytest.mark.parametrize("joints", [(), (2,), (-1,), (0, 5)])
def test_joints_that_are_not_there_are_refused(joints):
    with pytest.raises(InvalidInputError, match="joints"):
        offline_impact_time(TIME, velocity_with_a_jump(), joints=joints)


@pytest.mark.parametrize("stamp", [np.inf, np.nan])
def test_stamps_that_are_not_finite_are_refused(stamp):
    time = TIME.copy()
    time[-1] = stamp
    with pytest.raises(InvalidInputError, match="time"):
        offline_impact_time(time, velocity_with_a_jump())


def test_a_jump_in_a_joint_that_is_not_searched_is_not_found():
    assert offline_impact_time(TIME, velocity_with_a_jump(), joints=(0,)) == pytest.approx(0.049)
    assert offline_impact_time(TIME, velocity_with_a_jump(), joints=(1,)) is None
