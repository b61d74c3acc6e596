"""The link that was hit, and when the rise of a score began."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.detection import NO_LINK, LinkIsolation
from impact_control.detection.onset import onset_time
from impact_control.errors import InvalidInputError

JOINTS = 4


def isolated(residual, event, **tuning):
    """Return the link named at the event and at the end."""
    isolation = LinkIsolation(np.full(JOINTS, 0.5), **tuning)
    at_event = None
    for k, values in enumerate(residual):
        isolation.update(values)
        if k == event:
            isolation.impact()
            at_event = isolation.link
    return at_event, isolation.link


@settings(deadline=None, max_examples=30)
@given(link=st.integers(1, JOINTS), seed=st.integers(0, 2**32 - 1), offset=st.floats(-20.0, 20.0))
def test_the_outermost_joint_that_changes_is_the_link(link, seed, offset):
    """With noise of which a single sample often passes the bound, and an offset as of a wrong gravity."""
    random = np.random.default_rng(seed)
    residual = offset + random.uniform(-0.6, 0.6, (60, JOINTS))
    residual[28:, :link] += random.choice([-3.0, 3.0], link)
    _, final = isolated(residual, 30)
    # The mean of 10 uniform samples differs from another by less than 0.5 in all but 1 of 200 joints.
    assert final >= link
    quiet = np.abs(residual[30:40].mean(axis=0) - residual[16:26].mean(axis=0)) < 0.5
    assert final == max(k + 1 for k in range(JOINTS) if k < link or not quiet[k])


def test_a_reaction_that_comes_late_is_still_seen_but_not_after_the_window():
    residual = np.zeros((60, JOINTS))
    residual[30:, 0] = 2.0
    residual[33:, 2] = 2.0
    residual[45:, 3] = 50.0
    assert isolated(residual, 30) == (1, 3)
    assert isolated(residual, 30, window=3) == (1, 1)


def test_what_began_before_the_detection_is_not_taken_for_rest():
    residual = np.zeros((60, JOINTS))
    residual[26:, 1] = 1.0
    assert isolated(residual, 30, lead=5)[1] == 2
    assert isolated(residual, 30, window=1, lead=1)[1] == NO_LINK


def test_without_a_past_nothing_is_isolated_and_bad_samples_are_left_out():
    isolation = LinkIsolation(np.full(JOINTS, 0.5))
    isolation.impact()
    assert isolation.link == NO_LINK
    residual = np.zeros((60, JOINTS))
    residual[30:, :2] = 2.0
    with_bad = np.insert(residual, [5, 29, 31], np.nan, axis=0)
    assert isolated(with_bad, 32)[1] == isolated(residual, 30)[1] == 2


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (([0.0, 1.0],), "isolation_threshold"),
        (([1.0], 0), "isolation window"),
        (([1.0], 5, 0), "isolation lead"),
    ],
)
def test_wrong_tuning_is_refused(arguments, name):
    with pytest.raises(InvalidInputError) as caught:
        LinkIsolation(np.array(arguments[0]), *arguments[1:])
    assert caught.value.name == name


def onset(score, roll=0):
    """Return the onset for a score (m,) at stamps 0, 1, 2, ...; `roll` turns the rings."""
    history, stamps = np.roll(score, roll)[:, None], np.roll(np.arange(float(len(score))), roll)
    return onset_time(history, stamps, (len(score) - 1 + roll) % len(score), len(score), 0)


@pytest.mark.parametrize("roll", [0, 3])
def test_a_rise_within_one_period_is_put_into_its_middle(roll):
    assert onset([0.0, 0.1, 0.0, 0.1, 0.0, 5.0], roll=roll) == 4.5


@settings(deadline=None, max_examples=40)
@given(start=st.floats(2.0, 6.0), slope=st.floats(0.1, 10.0), base=st.floats(0.0, 3.0), roll=st.integers(0, 10))
def test_a_straight_rise_is_followed_to_its_foot(start, slope, base, roll):
    score = base + slope * np.maximum(np.arange(11.0) - start, 0.0)
    assert onset(score, roll=roll) == pytest.approx(start, abs=1e-6)


def test_a_rise_in_contact_starts_at_its_own_foot():
    first = [0.0, 0.0, 4.0, 8.0, 8.0, 8.1, 8.0, 7.9, 8.0, 8.1, 8.0]
    second = [9.0, 10.0, 11.0, 12.0]
    assert onset([*first, *second]) == pytest.approx(10.0, abs=0.2)
    assert onset([0.0, 0.0, 0.0, 3.0, 6.0, 9.0]) == pytest.approx(2.0)


def test_with_one_sample_only_its_stamp_is_what_is_known():
    assert onset_time(np.ones((4, 1)), np.full(4, 7.0), 2, 1, 0) == 7.0
