"""All detectors behind one interface: events, their impact times, and what they do with bad samples."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.detection import (
    NO_LINK,
    SCORES,
    DetectionSignals,
    ImpactDetector,
    LinkIsolation,
    ResidualRateScore,
    ResidualScore,
    ScoreDetector,
    TorqueErrorScore,
    VelocityJumpScore,
    WhitenedScore,
    make_score,
    own_scores,
)
from impact_control.util.errors import InvalidInputError
from impact_studies.models.detection.record import event_samples
from whitened_models import whitened_model

PERIOD = 1e-3
GAIN = 50.0
JOINTS = 3
SCORES_OF = {
    "residual_rate": (lambda: ResidualRateScore(JOINTS), 100.0),
    "residual": (lambda: ResidualScore(JOINTS), 2.0),
    "velocity_jump": (lambda: VelocityJumpScore(JOINTS, window=6, gaps=(1, 4)), 0.02),
    "torque_error": (lambda: TorqueErrorScore(JOINTS, joints=(2, 3)), 1.8),
    "whitened": (lambda: WhitenedScore(JOINTS, np.full(JOINTS, 200.0), whitened_model(JOINTS)), 20.0),
}
"""Score of each method, and its threshold."""

LEVERS = np.array([1.0, 0.8, -0.5])


def record_of(steps: dict[float, float], duration: float = 0.3) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Signals (m, 3) of contacts that begin at the keys [s] with forces [N] that stay, and their jumps of velocity.

    Residual: exact first-order answer to the steps, Proper 2021 (2.90). Velocity: constant acceleration and jumps.
    Joint torque: its error rises within 2 ms of a contact and goes away with 20 ms.
    """
    time = PERIOD * np.arange(round(duration / PERIOD))
    residual, velocity = np.zeros((time.size, JOINTS)), np.outer(time, [1.0, -2.0, 0.5])
    error = np.zeros((time.size, JOINTS))
    for start, force in steps.items():
        since = np.maximum(time - start, 0.0)[:, None]
        residual += force * LEVERS * (1.0 - np.exp(-GAIN * since))
        velocity += 0.02 * force * LEVERS * (since > 0.0)
        error += force * LEVERS * np.minimum(since / 2e-3, 1.0) * np.exp(-since / 0.02)
    rate = np.diff(residual, axis=0, prepend=residual[:1]) / PERIOD
    commanded = np.full_like(residual, 7.0)
    return time, {
        "residual": residual,
        "residual_rate": rate,
        "velocity": velocity,
        "commanded_torque": commanded,
        "joint_torque": commanded + error,
    }


def play(detector, time, record):
    """Return (sample, impact time) of each event; feeds the record sample by sample."""
    signals = DetectionSignals(JOINTS)
    events = []
    for k, stamp in enumerate(time.tolist()):
        for name, values in record.items():
            getattr(signals, name)[:] = values[k]
        if detector.detect(signals, stamp):
            events.append((k, detector.impact_time))
    return events


def detector_of(method, isolation=False, **changes):
    score, threshold = SCORES_OF[method]
    chosen = {"threshold": threshold, "refractory_time": 0.05 if method == "whitened" else 0.01, **changes}
    return ScoreDetector(score(), JOINTS, isolation=LinkIsolation(np.ones(JOINTS)) if isolation else None, **chosen)


@pytest.mark.parametrize("method", SCORES_OF)
@settings(deadline=None, max_examples=15)
@given(start=st.floats(0.1, 0.2), force=st.floats(8.0, 40.0), sign=st.sampled_from([-1.0, 1.0]))
def test_one_contact_is_one_event_and_its_time_is_that_of_the_contact(method, start, force, sign):
    time, record = record_of({start: sign * force})
    first_after = int(np.searchsorted(time, start, side="right"))
    detector = detector_of(method)
    events = play(detector, time, record)
    assert len(events) == 1 and detector.index == 1
    sample, impact_time = events[0]
    assert first_after <= sample <= first_after + 8
    assert detector.detection_time == time[sample]
    assert impact_time <= detector.detection_time
    # Half a period of a sudden one; the bend of the exponential over at most 6 ms of a slow rise.
    assert abs(impact_time - start) <= 1.5 * PERIOD


@pytest.mark.parametrize("method", sorted(set(SCORES_OF) - {"residual"}))
def test_a_second_contact_while_the_first_is_held_is_found_with_its_own_time(method):
    time, record = record_of({0.1003: 10.0, 0.1803: 12.0})
    events = play(detector_of(method), time, record)
    assert len(events) == 2
    assert [t for _, t in events] == pytest.approx([0.1003, 0.1803], abs=1.5 * PERIOD)


def test_the_residual_shows_a_second_contact_once_it_has_fallen_in_between():
    """While it only rises it is one rise; a bound alone would not even see the second, Proper 2021, Fig. 3.4."""
    time, record = record_of({0.1003: 10.0, 0.1803: 12.0})
    assert len(play(detector_of("residual"), time, record)) == 1
    time, record = record_of({0.1003: 10.0, 0.1503: -4.0, 0.1803: 12.0})
    assert np.all(np.abs(record["residual"][110:, 0]) > SCORES_OF["residual"][1])
    events = play(detector_of("residual"), time, record)
    assert [t for _, t in events] == pytest.approx([0.1003, 0.1803], abs=1.5 * PERIOD)


@pytest.mark.parametrize("method", SCORES_OF)
def test_a_bounce_is_another_impact(method):
    """Contact, its loss 30 ms later, and contact again after 40 ms: the loss is a sudden change as well."""
    time, record = record_of({0.1003: 10.0, 0.1303: -10.0, 0.1703: 10.0})
    times = [t for _, t in play(detector_of(method), time, record)]
    assert any(abs(t - 0.1003) <= 1.5 * PERIOD for t in times)
    assert any(abs(t - 0.1703) <= 1.5 * PERIOD for t in times)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_residual_rate_has_the_events_of_the_impact_detector(seed):
    random = np.random.default_rng(seed)
    time = PERIOD * np.arange(150)
    rates = random.uniform(-250.0, 250.0, (150, JOINTS)) * (random.uniform(size=(150, 1)) < 0.3)
    rates[random.integers(0, 150, 5), 0] = np.nan
    detector, reference = detector_of("residual_rate"), ImpactDetector(np.full(JOINTS, 100.0), 0.01)
    signals = DetectionSignals(JOINTS)
    for k, stamp in enumerate(time.tolist()):
        signals.residual_rate[:] = rates[k]
        assert detector.detect(signals, stamp) == reference.detect(rates[k], stamp)
        assert detector.index == reference.index
        assert np.array_equal(detector.triggered, reference.triggered)
        assert detector.isolated_link == reference.isolated_link


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), rise_ratio=st.sampled_from([0.0, 0.5, 1.0]), wait=st.sampled_from([0.0, 0.0105]))
def test_a_record_at_once_has_the_events_of_the_stream(seed, rise_ratio, wait):
    random = np.random.default_rng(seed)
    time = PERIOD * np.delete(np.arange(200), random.integers(1, 199, 20))
    score = np.abs(random.normal(0.0, 1.0, (time.size, JOINTS)))
    score[random.integers(0, time.size, 4), 1] = np.nan
    bound = np.array([1.0, 1.5, 2.0])
    detector = ImpactDetector(bound, wait, rise_ratio)
    streamed = [k for k in range(time.size) if detector.detect(score[k], float(time[k]))]
    assert event_samples(time, score, bound, wait, rise_ratio).tolist() == streamed
    assert streamed


def test_velocity_jump_is_the_distance_from_the_line_through_the_last_samples():
    random = np.random.default_rng(3)
    time = np.cumsum(random.uniform(0.5, 2.0, 40)) * PERIOD
    velocity = random.normal(0.0, 1.0, (40, JOINTS))
    score, signals = VelocityJumpScore(JOINTS, window=5, gaps=(1, 3)), DetectionSignals(JOINTS)
    for k, stamp in enumerate(time.tolist()):
        signals.velocity[:] = velocity[k]
        values = score.evaluate(signals, stamp)
        for g, gap in enumerate((1, 3)):
            seen = slice(k - gap - 4, k - gap + 1)
            expected = np.zeros(JOINTS)
            if k - gap - 4 >= 0:
                line = np.polynomial.polynomial.polyfit(time[seen] - stamp, velocity[seen], 1)
                expected = np.abs(velocity[k] - line[0])
            assert values[g * JOINTS : (g + 1) * JOINTS] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_constant_acceleration_is_no_jump_whatever_the_stamps(seed):
    random = np.random.default_rng(seed)
    detector = detector_of("velocity_jump", threshold=1e-6)
    signals = DetectionSignals(JOINTS)
    acceleration = random.uniform(-50.0, 50.0, JOINTS)
    for stamp in np.cumsum(random.uniform(0.5e-3, 4e-3, 60)).tolist():
        signals.velocity[:] = 1.0 + acceleration * stamp
        assert not detector.detect(signals, stamp)


def test_torque_error_adds_the_chosen_joints_only():
    detector = detector_of("torque_error", threshold=1.8)
    signals = DetectionSignals(JOINTS)
    signals.commanded_torque[:] = 20.0
    for k, errors in enumerate(([50.0, 0.0, 0.0], [50.0, -0.9, 0.8], [50.0, -0.9, 0.95])):
        signals.joint_torque[:] = signals.commanded_torque + errors
        assert detector.detect(signals, k * PERIOD) is (k == 2)
    assert detector.triggered.tolist() == [True, True, True]
    assert detector.isolated_link == NO_LINK


@pytest.mark.parametrize("method", SCORES_OF)
def test_useless_samples_change_nothing(method):
    time, record = record_of({0.1003: 20.0})
    clean = play(detector_of(method), time, record)
    detector, signals = detector_of(method), DetectionSignals(JOINTS)
    events = []
    for k, stamp in enumerate(time.tolist()):
        for name, values in record.items():
            getattr(signals, name)[:] = values[k]
        if detector.detect(signals, stamp):
            events.append((k, detector.impact_time))
        for name in record:
            getattr(signals, name)[:] = 1e6
        for useless in (stamp, stamp - 0.004, np.nan):
            assert not detector.detect(signals, useless)
    assert events == clean


@pytest.mark.parametrize("method", SCORES_OF)
def test_samples_that_are_not_finite_are_no_impact(method):
    time, record = record_of({})
    for name in ("residual", "residual_rate", "velocity", "joint_torque"):
        for value, k in ((np.nan, 120), (np.nan, 121), (np.nan, 200)):
            record[name][k] = value
    assert play(detector_of(method, isolation=True), time, record) == []


@pytest.mark.parametrize("method", SCORES_OF)
def test_after_a_gap_or_a_clock_that_jumps_back_detection_goes_on(method):
    time, record = record_of({0.1003: 10.0})
    detector = detector_of(method)
    for shift, count in ((0.0, 1), (10.0, 2), (-50.0, 3)):
        events = play(detector, time + shift, record)
        assert len(events) == 1
        assert detector.index == count
        assert events[0][1] == pytest.approx(0.1003 + shift, abs=1.5 * PERIOD)


@pytest.mark.parametrize("method", SCORES_OF)
def test_reset_forgets_everything(method):
    time, record = record_of({0.1003: 10.0})
    detector = detector_of(method, isolation=True)
    events = play(detector, time, record)
    detector.reset()
    assert (detector.index, detector.isolated_link, detector.triggered.any()) == (0, NO_LINK, False)
    assert np.isnan(detector.impact_time) and np.isnan(detector.detection_time)
    assert play(detector, time, record) == events


@pytest.mark.parametrize("method", SCORES_OF)
def test_update_keeps_no_memory(method):
    time, record = record_of({0.1003: 10.0, 0.2003: 10.0})
    detector = detector_of(method, isolation=True)
    play(detector, time, record)
    signals = DetectionSignals(JOINTS)

    def run(start: float) -> None:
        for k in range(3000):
            signals.velocity[:] = signals.residual[:] = signals.residual_rate[:] = 1e3 * (k % 100 == 0)
            signals.joint_torque[:] = signals.velocity
            detector.detect(signals, start + k * PERIOD)

    run(100.0)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    run(200.0)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert detector.index > 50
    assert after - before < 2000


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: detector_of("residual", threshold=[1.0, 2.0]), "threshold"),
        (lambda: detector_of("residual", threshold=[]), "threshold"),
        (lambda: detector_of("torque_error", threshold=[1.0, 2.0]), "threshold"),
        (lambda: ScoreDetector(ResidualScore(2), 2, 1.0, 0.0, isolation=LinkIsolation([1.0])), "isolation_threshold"),
        (lambda: TorqueErrorScore(JOINTS, joints=(0,)), "joints"),
        (lambda: TorqueErrorScore(JOINTS, joints=(2, 2)), "joints"),
        (lambda: TorqueErrorScore(JOINTS, joints=()), "joints"),
        (lambda: VelocityJumpScore(JOINTS, window=1), "window"),
        (lambda: VelocityJumpScore(JOINTS, gaps=(0,)), "gap"),
        (lambda: VelocityJumpScore(JOINTS, gaps=()), "gaps"),
        (lambda: make_score("nothing", JOINTS), "detector"),
        (lambda: make_score("torque_error", JOINTS), "detector"),
    ],
)
def test_wrong_parameters_are_refused_by_name(make, name):
    with pytest.raises(InvalidInputError) as caught:
        make()
    assert caught.value.name == name


def test_every_method_is_tested_here():
    assert set(SCORES_OF) == set(SCORES)


def offer(directory, *lines):
    """Install a package that offers these entry points, as pip does."""
    info = directory / "somebodys-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys\nVersion: 1\n")
    (info / "entry_points.txt").write_text("\n".join(["[impact_control.scores]", *lines]) + "\n")


def test_a_score_of_another_package_is_found_by_its_name(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    assert own_scores() == ()
    offer(
        tmp_path,
        "speed = impact_control.detection:VelocityJumpScore",
        "residual = impact_control.detection:ResidualRateScore",
        "broken = impact_control.detection:NoSuchScore",
    )
    assert own_scores() == ("broken", "speed")
    theirs, ours = make_score("speed", JOINTS), VelocityJumpScore(JOINTS)
    signals, random = DetectionSignals(JOINTS), np.random.default_rng(3)
    for k in range(200):
        signals.velocity[:] = random.normal(0.0, 1e-3, JOINTS) + (k > 150)
        np.testing.assert_array_equal(theirs.evaluate(signals, k * PERIOD), ours.evaluate(signals, k * PERIOD))
    # Names of ours cannot be taken.
    assert isinstance(make_score("residual", JOINTS), ResidualScore)
    with pytest.raises(InvalidInputError, match="NoSuchScore"):
        make_score("broken", JOINTS)
    with pytest.raises(InvalidInputError, match=r"residual_rate, .*speed"):
        make_score("spead", JOINTS)


def test_a_record_with_stamps_that_do_not_increase_is_refused():
    with pytest.raises(InvalidInputError, match="time"):
        event_samples(np.array([0.0, 0.0]), np.zeros((2, 1)), np.ones(1), 0.0)
    with pytest.raises(InvalidInputError, match="score"):
        event_samples(np.array([0.0, 1.0]), np.zeros((2, 2)), np.ones(1), 0.0)
