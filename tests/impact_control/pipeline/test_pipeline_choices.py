"""A scenario chooses detector and classifier."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.classification import SimultaneousImpactClassifier, SingleImpactClassifier
from impact_control.detection import DetectionSignals, FirstOf, ScoreDetector, scores_of
from impact_control.detection.factory import make_isolation
from impact_control.pipeline.judge import ContactWatch, make_classifier
from impact_control.pipeline.sensing import make_detector
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario
from impact_control.util.errors import InvalidInputError, ScenarioError

TABLETOP = load_scenario("tabletop")
TORQUE_ERROR = {"detection.torque_error": {"threshold": "1.8 Nm", "joints": [5, 6]}}
ALL = TABLETOP.with_overrides(
    {
        "detection.residual": {"threshold": "5 Nm"},
        "detection.velocity_jump": {"threshold": "0.1 rad/s", "window": 6},
        **TORQUE_ERROR,
    }
)


def test_every_detector_with_a_section_is_used():
    assert isinstance(make_detector(TABLETOP, 7), ScoreDetector)
    assert isinstance(make_detector(ALL, 7), FirstOf)
    scores = scores_of(ALL.detection, 7)
    assert list(scores) == ["residual_rate", "residual", "velocity_jump", "torque_error"]
    assert scores["torque_error"][0].joints.tolist() == [-1]
    signals, (jump, bound) = DetectionSignals(7), scores["velocity_jump"]
    np.testing.assert_array_equal(bound, np.full(7, 0.1))
    for k in range(9):  # a line through 6 samples, the last of them one before the newest
        signals.velocity[:] = 1.0 if k == 6 else 0.0
        assert jump.evaluate(signals, k * 1e-3).any() == (k >= 6)


def test_a_score_of_another_package_may_be_the_only_one():
    own = TABLETOP.with_overrides(
        {"detection.residual_rate": "none", "detection.own": {"score": "s", "threshold": 2.0}}
    )
    with pytest.raises(InvalidInputError, match=r"detector = 's'.*residual_rate"):
        make_detector(own, 7)


def test_isolation_is_that_of_the_scenario_and_shows_of_a_friction_what_the_observer_does():
    assert make_detector(TABLETOP, 7).link_settled
    isolation = {"threshold": "1 Nm", "velocity_slope": "2 Nm*s/rad", "motion_slope": "0.1 Nm*s/rad"}
    bounds = make_isolation(ALL.with_overrides({"detection.isolation": isolation}).detection, 1e-3).bounds
    for window in bounds:
        np.testing.assert_array_equal(window.threshold, np.ones(7))
        np.testing.assert_array_equal(window.motion_slope, np.full(7, 0.1))
    slope = np.array([window.velocity_slope for window in bounds])
    # After 3 ms at K_O = 30 1/s the mean of 1 - exp(-30 t) is 90 / 2 thousandths, less 90^2 / 6 millionths.
    assert slope[0] == pytest.approx(np.full(7, 2.0 * (45e-3 - 1350e-6)), rel=1e-3)
    assert np.all(np.diff(slope, axis=0) > 0.0) and np.all(slope < 2.0)


def test_without_the_detector_on_the_rate_there_is_no_bound_of_it():
    only = ALL.with_overrides({"detection.residual_rate": "none"})
    assert "residual_rate" not in scores_of(only.detection, 7)
    assert np.isnan(only.detection.rate_threshold).all()
    np.testing.assert_array_equal(ALL.detection.rate_threshold, ALL.detection.residual_rate.threshold)


def test_a_scenario_without_a_detector_is_refused():
    with pytest.raises(ScenarioError, match="at least one detector"):
        TABLETOP.with_overrides({"detection.residual_rate": "none"})


@pytest.mark.parametrize("joints", [[], [0], [8], [5, 5], ["5"], [True], [1.5]])
def test_joints_that_are_none_are_refused(joints):
    with pytest.raises(ScenarioError, match=r"detection\.torque_error\.joints.*whole numbers from 1 to 7"):
        TABLETOP.with_overrides({"detection.torque_error": {"threshold": "1.8 Nm", "joints": joints}})


def test_the_classifier_is_the_chosen_one():
    single = make_classifier(TABLETOP.classification, 7)
    assert isinstance(single, SingleImpactClassifier)
    at_once = ContactWatch(TABLETOP, load_robot())
    assert at_once.completion.complete and not at_once.awaited
    edge = load_scenario("tabletop_edge")
    many = make_classifier(edge.classification, 7)
    assert isinstance(many, SimultaneousImpactClassifier)
    assert many.await_completion
    assert many.parameters.impact_interval == pytest.approx(0.1)
    awaited = ContactWatch(edge, load_robot("panda", "edge"))
    assert awaited.awaited and awaited.completion.speeds.size == 2


@pytest.mark.parametrize("key", ["impact_interval", "completion"])
def test_what_only_the_simultaneous_classifier_reads_is_refused_with_the_other(key):
    value = "60 ms" if key == "impact_interval" else {"window": 15, "largest_speed": "1 cm/s", "least_force": "5 N"}
    with pytest.raises(ScenarioError, match=f"classification.{key}.*simultaneous"):
        TABLETOP.with_overrides({f"classification.{key}": value})
