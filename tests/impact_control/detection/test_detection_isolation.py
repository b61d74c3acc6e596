"""The link that was hit, and when the rise of a score began."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.detection import NO_LINK, LinkIsolation, step_response
from impact_control.detection.isolation import WINDOWS
from impact_control.detection.onset import onset_time
from impact_control.util.errors import InvalidInputError

JOINTS = 4


def isolated(residual, event, velocity=None, threshold=0.5, **tuning):
    """Return the link named at the event, the one at the end, and how many samples after the event it was named."""
    tuning.setdefault("windows", (1, 3, 10))
    tuning.setdefault("lead", 5)
    isolation = LinkIsolation(np.broadcast_to(threshold, (len(tuning["windows"]), JOINTS)), **tuning)
    at_event = None
    velocity = np.zeros_like(residual) if velocity is None else velocity
    for k, (torque, speed) in enumerate(zip(residual, velocity, strict=True)):
        isolation.record(torque, speed)
        if k == event:
            isolation.impact()
            at_event = isolation.link
    return at_event, isolation.link, isolation.decided_after


@settings(deadline=None, max_examples=30)
@given(
    link=st.integers(1, JOINTS),
    seed=st.integers(0, 2**32 - 1),
    offset=st.floats(-20.0, 20.0),
    slope=st.floats(0.0, 2.0),
    drift=st.floats(0.0, 0.5),
    ceiling=st.floats(0.5, 1.0),
)
def test_the_outermost_joint_that_changes_in_any_window_is_the_link(link, seed, offset, slope, drift, ceiling):
    """Against the means written out, with noise that passes the bound now and then and an offset as of a gravity."""
    random = np.random.default_rng(seed)
    residual = offset + random.uniform(-0.6, 0.6, (60, JOINTS))
    residual[28:, :link] += random.choice([-3.0, 3.0], link)
    velocity = random.uniform(-0.2, 0.2, (60, JOINTS))
    windows, event, before, lead = (2, 5, 10), 36, 20, 10
    past = slice(event - lead - before + 1, event - lead + 1)
    react = np.zeros(JOINTS, dtype=bool)
    for window in windows:
        now = slice(event, event + window)
        change = residual[now].mean(axis=0) - residual[past].mean(axis=0)
        moved = velocity[now].mean(axis=0) - velocity[past].mean(axis=0)
        motion = np.abs(velocity[past].mean(axis=0)).sum()
        friction = slope * np.where(np.sign(change) == -np.sign(moved), np.abs(moved), 0.0)
        react |= np.abs(change) >= np.minimum(0.5 + friction + drift * motion, ceiling)
    expected = int(np.flatnonzero(react)[-1]) + 1 if react.any() else NO_LINK
    tuning = {"windows": windows, "lead": lead, "velocity_slope": slope, "motion_slope": drift, "ceiling": ceiling}
    assert isolated(residual, event, velocity, **tuning)[1] == expected


def test_a_reaction_that_comes_late_moves_the_link_outwards_until_the_last_window_is_over():
    residual = np.zeros((60, JOINTS))
    residual[30:, 0] = 2.0
    residual[33:, 2] = 2.0
    residual[45:, 3] = 50.0
    assert isolated(residual, 30) == (1, 3, 9)
    assert isolated(residual, 30, windows=(1, 3)) == (1, 1, 0)


def test_before_a_joint_reacts_the_link_is_not_known():
    residual = np.zeros((60, JOINTS))
    residual[30:, 1] = 0.1 * np.arange(30.0)  # the mean over 3 samples is 0.1, over 10 it is 0.45, over 20 it is 0.95
    assert isolated(residual, 30) == (NO_LINK, NO_LINK, 0)
    assert isolated(residual, 30, windows=(1, 3, 10, 20)) == (NO_LINK, 2, 19)
    isolation = LinkIsolation(np.full(JOINTS, 0.5), windows=(2, 4))
    for k in range(8):
        isolation.record(residual[k], residual[k])
    assert isolation.settled
    isolation.impact()
    assert not isolation.settled
    for _ in range(3):
        isolation.record(residual[0], residual[0])
    assert isolation.settled


def test_each_window_has_its_own_threshold():
    residual = np.zeros((60, JOINTS))
    residual[30, 3] = 1.0  # over at once: the mean over 3 samples is a third of it
    rows = np.array([[0.9], [0.9], [0.9]])
    assert isolated(residual, 30, threshold=rows)[1] == 4
    rows[0] = 1.1
    assert isolated(residual, 30, threshold=rows)[1] == NO_LINK
    rows[1] = 0.3
    assert isolated(residual, 30, threshold=rows)[1] == 4


def test_what_friction_makes_of_a_joint_that_is_pushed_along_is_no_reaction():
    """A touch on link 2 that moves joint 3 too, whose unknown friction of 0.8 Nm s/rad then shows in its residual."""
    velocity = np.zeros((60, JOINTS))
    velocity[30:, :3] = 2.0
    residual = np.zeros((60, JOINTS))
    residual[30:, 1] = 5.0
    residual[30:] -= 0.8 * velocity[30:]
    assert isolated(residual, 30, velocity)[1] == 3
    assert isolated(residual, 30, velocity, velocity_slope=0.8)[1] == 2
    # What is more than friction ever was is a reaction, however fast the joint has got.
    assert isolated(residual, 30, velocity, velocity_slope=0.8, ceiling=1.5)[1] == 3


@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_a_change_along_with_that_of_the_speed_is_no_friction(direction):
    """Friction that grows with the speed holds against its change: what pushes the joint is another torque."""
    velocity, residual = np.zeros((60, JOINTS)), np.zeros((60, JOINTS))
    velocity[30:, 2] = 2.0 * direction
    residual[30:, 2] = 1.0
    assert isolated(residual, 30, velocity, velocity_slope=0.8)[1] == (3 if direction > 0.0 else NO_LINK)
    assert isolated(-residual, 30, velocity, velocity_slope=0.8)[1] == (NO_LINK if direction > 0.0 else 3)


def test_the_noise_of_one_sample_is_no_reaction_and_an_impulse_is():
    """Both are 1 Nm in the sample of the event; the impulse fades with 1/K_O = 10 ms."""
    spike, impulse = np.zeros((110, JOINTS)), np.zeros((110, JOINTS))
    spike[30, 2] = 1.0
    impulse[30:, 2] = np.exp(-0.1 * np.arange(80.0))
    for residual, link in ((spike, NO_LINK), (impulse, 3)):
        assert isolated(residual, 30, windows=WINDOWS)[1] == link


def test_an_arm_that_moves_fast_is_looked_at_less_closely_than_a_slow_one():
    residual = np.zeros((60, JOINTS))
    residual[30:, 2] = 1.0
    slow, fast = np.full((60, JOINTS), 0.1), np.full((60, JOINTS), -0.5)
    assert isolated(residual, 30, slow, motion_slope=0.3)[1] == 3  # 0.5 + 0.3 * 0.4
    assert isolated(residual, 30, fast, motion_slope=0.3)[1] == NO_LINK  # 0.5 + 0.3 * 2.0
    per_joint = np.array([0.3, 0.3, 0.0, 0.3])
    assert isolated(residual, 30, fast, motion_slope=per_joint)[1] == 3
    # The motion before the impact counts: what the impact made of it is the other slope's.
    stopped = np.where(np.arange(60)[:, None] < 30, slow, fast)
    assert isolated(residual, 30, stopped, motion_slope=0.3)[1] == 3


def test_each_window_may_have_slopes_of_its_own():
    residual, velocity = np.zeros((60, JOINTS)), np.zeros((60, JOINTS))
    residual[30:, 3] = 1.0
    velocity[30:] = -1.0
    rows = np.full((3, JOINTS), 10.0)
    assert isolated(residual, 30, velocity, velocity_slope=rows)[1] == NO_LINK
    rows[2] = 0.1
    assert isolated(residual, 30, velocity, velocity_slope=rows) == (NO_LINK, 4, 9)


@given(gain=st.floats(1.0, 500.0), period=st.floats(1e-4, 1e-2))
def test_the_step_response_is_that_of_the_filter_of_the_residual(gain, period):
    windows = (1, 4, 25)
    fine = 2000
    for w, response in zip(windows, step_response(np.array([gain, 2.0 * gain]), period, windows), strict=True):
        middle = (np.arange(fine) + 0.5) * w * period / fine
        expected = [np.mean(-np.expm1(-k * middle)) for k in (gain, 2.0 * gain)]
        assert response == pytest.approx(expected, rel=1e-4)
    assert step_response(1e6, 1.0, (5,))[0, 0] == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(InvalidInputError):
        step_response(0.0, period)


def test_what_began_before_the_detection_is_not_taken_for_rest():
    residual = np.zeros((60, JOINTS))
    residual[26:, 1] = 1.0
    assert isolated(residual, 30, lead=5)[1] == 2
    assert isolated(residual, 30, before=1, lead=1)[1] == NO_LINK


def test_without_a_past_nothing_is_isolated_and_bad_samples_are_left_out():
    isolation = LinkIsolation(np.full(JOINTS, 0.5))
    isolation.impact()
    assert isolation.link == NO_LINK
    residual = np.zeros((60, JOINTS))
    residual[30:, :2] = 2.0
    with_bad = np.insert(residual, [5, 29, 31], np.nan, axis=0)
    assert isolated(with_bad, 32)[1] == isolated(residual, 30)[1] == 2
    bad_speed = np.zeros_like(residual)
    bad_speed[31, 3] = np.inf
    assert isolated(residual, 30, bad_speed)[1] == 2


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (([0.0, 1.0],), "isolation_threshold"),
        (([[1.0, 1.0]] * 2, 0.0, 0.0, 2.0, (1, 2, 3)), "isolation_threshold"),
        (([1.0], -1.0), "isolation_slope"),
        (([1.0], [1.0, 2.0]), "isolation_slope"),
        (([1.0], np.inf), "isolation_slope"),
        (([1.0], 0.0, -1.0), "isolation_motion_slope"),
        (([1.0], 0.0, 0.0, 0.9), "isolation_ceiling"),
        (([1.0], 0.0, 0.0, 2.0, (0,)), "isolation window"),
        (([1.0], 0.0, 0.0, 2.0, (3, 2)), "isolation windows"),
        (([1.0], 0.0, 0.0, 2.0, ()), "isolation windows"),
        (([1.0], 0.0, 0.0, 2.0, (5,), 0), "isolation before"),
        (([1.0], 0.0, 0.0, 2.0, (5,), 5, 0), "isolation lead"),
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
