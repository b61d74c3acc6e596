"""Signals around an impact: the residual follows (2.90), touches are detected, references meet, envelopes enclose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from impact_control.studies import find_study
from impact_control.studies.signals import envelope
from impact_control.studies.signals.observer import GAIN, PERIOD, Observed, ObserverCase, observe
from impact_control.studies.signals.references import IMPACT, apart, reference
from impact_control.studies.signals.statements import detected
from impact_control.studies.trials import from_arrays


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return find_study("proper_signals").run(3, True, lambda *_: None)


@pytest.fixture(scope="module")
def observed():
    return from_arrays(Observed, observe(ObserverCase(0.2, 0.0, 0)))


def test_the_residual_decays_with_its_gain_while_nothing_touches(observed):
    """(2.90) with tau_ext = 0: r falls by exp(-K_O T); the flexible joints ring about that."""
    free = np.all(observed.torque == 0.0, axis=1) & (observed.time > 0.0)
    begin = int(np.flatnonzero(free)[0])
    run = np.flatnonzero(~free[begin:])[0]
    last = begin + int(run) - 1
    expected = observed.residual[begin] * np.exp(-GAIN * PERIOD * (last - begin))
    assert last - begin > 10
    np.testing.assert_allclose(observed.residual[last], expected, rtol=0.05, atol=0.05)


def test_the_torque_is_there_only_while_a_point_is_closed(observed):
    loaded = np.any(observed.torque != 0.0, axis=1)
    assert loaded.any()
    assert np.all(np.any(observed.gaps[loaded] <= 0.0, axis=1))


def test_a_detection_counts_for_the_touch_before_it_only(observed):
    touches = np.array([0.0, 0.05, np.inf])
    late = replace(observed, touches=touches, detections=np.array([-0.001, 0.002, 0.056]))
    assert np.array_equal(detected(late), [0.002, np.nan], equal_nan=True)


@pytest.mark.parametrize("end_effector", ["planar_sphere", "planar_edge"])
def test_the_references_meet_at_the_impact_and_jump_there_in_velocity_only(end_effector):
    one = reference(end_effector)
    assert one.time[IMPACT] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(one.joints_ante[IMPACT], one.joints_post[IMPACT], atol=1e-9)
    np.testing.assert_allclose(one.ante[IMPACT, 0], one.post[IMPACT, 0], atol=1e-12)
    # An inelastic impact without friction takes the velocity into the surface.
    assert one.ante[IMPACT, 1, 1] < -0.1
    assert one.post[IMPACT, 1, 1] == pytest.approx(0.0, abs=1e-9)


def test_paths_are_apart_by_their_shape_and_not_by_the_time():
    line = np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [4.0, 0.0]])
    assert apart(np.array([[0.3, 0.0], [2.5, 0.0], [4.0, 0.0]]), line) == 0.0
    assert apart(np.array([[0.3, 0.2], [5.0, 0.0]]), line) == pytest.approx(1.0)


def test_the_envelope_of_a_constant_is_the_constant():
    lower, upper = envelope.envelope(np.full((50, 2), 3.0), 4, 10.0, 0.01)
    assert np.array_equal(lower, upper) and np.all(lower == 3.0)


def test_a_fast_sine_is_enclosed_with_its_centre_and_a_slow_one_without():
    assert envelope.encloses(10.0) == (True, True)
    assert envelope.encloses(0.5) == (True, False)


def test_an_expected_impact_is_not_unexpected_and_a_tilted_one_is(result):
    (level,) = (one for one in result.comparisons if "(4.27)" in one.what and "0 deg" in one.what.split("by ")[1][:5])
    assert level.own == "satisfied"
    (tilted,) = (one for one in result.comparisons if "(4.27)" in one.what and "10 deg" in one.what)
    assert tilted.own.startswith("violated")


def test_the_study_is_drawn(result):
    assert [figure.name for figure in result.figures] == ["observer", "gaps", "references", "sine", "envelopes"]
    for figure in result.figures:
        assert figure.draw().axes
    assert len(result.tables[0].rows) == 6
