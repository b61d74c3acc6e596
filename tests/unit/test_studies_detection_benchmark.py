"""The benchmark of the detectors: its scores are those of the stream, its figures those of the outcomes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from impact_control.detection import DetectionSignals, LinkIsolation, event_samples
from impact_control.observation import MomentumObserver
from impact_control.robots import Dynamics, load_robot
from impact_control.studies.detection.arms import ARMS, SPEEDS, TOUCH
from impact_control.studies.detection.drawing import draw_delays, draw_roc
from impact_control.studies.detection.evaluation import MARGIN, Choice, choose, median_delay, missed, right_links
from impact_control.studies.detection.methods import METHODS, REFRACTORY, observe
from impact_control.studies.detection.motion import AFTER, BEFORE, PERIOD, free_record, impact_record
from impact_control.studies.detection.plan import FRICTIONS, Extent, Outcomes, Sequences
from impact_control.studies.detection.statements import findings
from impact_control.studies.detection.tables import (
    conditions_table,
    methods_table,
    sequences_table,
    speeds_table,
    targets_table,
)
from impact_control.studies.detection.targets import Target, measured_targets
from impact_control.studies.detection.trials import (
    INERTIAS,
    MEAN_LEAD,
    MEAN_WINDOW,
    NOISES,
    SCALES,
    SETTLED,
    FreeCase,
    ImpactCase,
    count_alarms,
    distinct_closings,
    isolation_changes,
    measure_impacts,
    measure_scores,
)

PLANAR, PANDA = ARMS
EXTENT = Extent(contacts=("steel", TOUCH), speeds=(0.01, 0.1))


@pytest.fixture(scope="module")
def record():
    return impact_record(PLANAR, "steel", 0.1, True, 3)


@pytest.fixture(scope="module")
def seen(record):
    robot = load_robot(PLANAR.robot, PLANAR.end_effector)
    return observe(robot, record, 1.0, INERTIAS, np.random.default_rng(0))


@pytest.fixture(scope="module")
def bounds():
    """Largest scores of a second of free motion, as a case has them."""
    result = measure_scores(FreeCase(0, False, 1.0, 4))
    names = [*map(str, range(len(METHODS))), "link"]
    return tuple(tuple(tuple(result[f"{i} {name}"].tolist()) for name in names) for i in range(len(NOISES)))


def test_the_tool_meets_the_surface_when_and_as_fast_as_it_is_meant_to(record):
    impact = record.closings[0]
    assert BEFORE <= impact <= BEFORE + 3.0 * PERIOD
    assert record.time[-1] == pytest.approx(impact + AFTER, abs=3.0 * PERIOD)
    last = int(np.searchsorted(record.time, impact)) - 1
    dynamics = Dynamics(load_robot(PLANAR.robot, PLANAR.end_effector))
    twists = []
    for k in (last, last + 5):
        dynamics.update(record.position[k], record.velocity[k])
        twists.append(dynamics.twist[:3].copy())
    # The change of velocity is along the normal, but for friction; the tool slides at up to half of its speed.
    assert 0.097 <= np.linalg.norm(twists[0]) <= 0.103 * math.hypot(1.0, 0.5)
    assert np.linalg.norm(twists[1] - twists[0]) > 0.05


def test_a_touch_starts_when_it_is_said_to_and_moves_no_joint_torque_outwards():
    record = impact_record(PANDA, TOUCH, 0.1, False, 5)
    (start,) = record.closings
    robot = load_robot(PANDA.robot, PANDA.end_effector)
    (exact,) = observe(robot, record, 0.0, (1.0,), np.random.default_rng(0))
    residual = exact.residual(500.0)
    before, after = record.time < start, record.time >= start + 2e-3
    assert np.abs(residual[before]).max() < 0.02 * np.abs(residual[after]).max()
    link = PANDA.touched_link
    largest = np.abs(residual[after]).max(axis=0)
    # The momentum of 2 kg at 0.1 m/s at 0.1 m beside joint 4, in 5 ms: at least half of it in the filter of 2 ms.
    assert largest[link - 1] > 0.5 * 2.0 * 0.1 * 0.1 / 5e-3
    assert largest[link:].max() < 0.02 * largest[link - 1]


def test_free_motion_is_vigorous_and_inside_the_limits():
    for arm in ARMS:
        record = free_record(arm, True, 3.0, 1)
        limits = load_robot(arm.robot, arm.end_effector).limits
        speed = np.abs(record.velocity).max(axis=0)
        assert not record.closings
        assert np.all(speed < limits.velocity)
        assert speed.max() > 0.3 * limits.velocity.min()
        assert np.all(np.abs(record.joint_torque) < limits.torque)


def test_residual_is_that_of_the_momentum_observer(record, seen):
    robot = load_robot(PLANAR.robot, PLANAR.end_effector)
    observed, dynamics = seen[0], Dynamics(robot)
    gain = 200.0
    observer = MomentumObserver(np.full(3, gain), robot.transmission.damping / robot.transmission.stiffness)
    residual = []
    for k, time in enumerate(observed.time.tolist()):
        q, dq = observed.position[k], observed.velocity[k]
        dynamics.update(q, dq)
        dynamics.update_momentum_terms()
        observer.update(
            dynamics.mass_matrix,
            dq,
            observed.joint_torque[k],
            dynamics.coriolis_transposed_velocity,
            dynamics.gravity,
            time,
        )
        residual.append(observer.residual.copy())
    # They start differently; after 100 ms e^-20 of that is left.
    assert observed.residual(gain)[100:] == pytest.approx(np.array(residual)[100:], rel=1e-6, abs=1e-6)


def test_a_model_that_is_too_heavy_sees_its_gravity_as_a_contact(seen):
    exact, heavy = (o.residual(100.0)[100:190].mean(axis=0) for o in seen)
    robot = load_robot(PLANAR.robot, PLANAR.end_effector)
    dynamics = Dynamics(robot)
    dynamics.update(seen[0].position[150], np.zeros(3))
    # r = tau_ext estimated = model torque less measured torque: +5 % of gravity, at 0.1 m/s little else.
    assert heavy - exact == pytest.approx(0.05 * dynamics.gravity, abs=0.1)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_the_scan_of_a_record_finds_what_the_streaming_detector_finds(method, seen):
    observed = seen[0]
    score = method.score(PLANAR, observed)[SETTLED:]
    bound = 0.6 * score[:100].max(axis=0) + 1e-12
    residual = observed.residual(method.gain)
    rate = np.diff(residual, axis=0, prepend=residual[:1]) / PERIOD
    detector, signals = method.detector(PLANAR, bound, np.ones(3)), DetectionSignals(3)
    events = []
    for k in range(len(residual)):
        signals.velocity[:] = observed.velocity[k]
        signals.joint_torque[:], signals.commanded_torque[:] = observed.joint_torque[k], observed.commanded_torque[k]
        signals.residual[:], signals.residual_rate[:] = residual[k], rate[k]
        if detector.update(signals, float(observed.time[k])) and k >= SETTLED + 12:
            events.append(k)
    scanned = event_samples(observed.time, method.score(PLANAR, observed), bound, REFRACTORY)
    assert [k for k in scanned.tolist() if k >= SETTLED + 12] == events
    assert events


def test_isolation_is_calibrated_with_the_means_that_it_compares():
    residual = np.random.default_rng(1).normal(0.0, 1.0, (60, 1))
    changes = isolation_changes(residual)
    for k in (20, 37):
        change = changes[k - MEAN_WINDOW - MEAN_LEAD + 1, 0]
        for factor, link in ((0.999, 1), (1.001, -1)):
            isolation = LinkIsolation(np.array([factor * change]), MEAN_WINDOW, MEAN_LEAD)
            for i in range(k + MEAN_WINDOW):
                isolation.update(residual[i])
                if i == k:
                    isolation.impact()
            assert isolation.link == link


def test_impacts_are_found_at_the_calibrated_bounds_and_free_motion_is_quiet(bounds):
    case = ImpactCase(0, "steel", 0.2, False, 2, 70, bounds)
    found = measure_impacts(case)
    at = SCALES.index(1.1)
    jump = next(j for j, method in enumerate(METHODS) if method.gaps == (1,))
    assert np.all(found["delay"][:, :, :, jump, at] <= 2.0 * PERIOD)
    assert np.all(np.abs(found["error"][:, :, :, jump, at]) <= 1.0 * PERIOD)
    assert np.all(found["link"][:, 0, 0, jump, at] == PLANAR.reacting_link)
    # The same motion with the same noise has no score above its largest.
    alarms = count_alarms(FreeCase(0, False, 1.0, 4, bounds))["alarms"]
    assert np.all(alarms[..., at:] == 0)
    assert np.all(alarms[..., 0].max(axis=1) > 0)
    repeated = measure_impacts(case)
    assert all(np.array_equal(found[name], repeated[name], equal_nan=True) for name in found)


def test_closings_that_follow_at_once_are_one_impact():
    assert distinct_closings((0.1, 0.105, 0.1052, 0.13, 0.131)) == [0.1, 0.13]


def outcomes_with(delay_of, alarm_at=3):
    """Outcomes in which every impact has delay_of(method, scale) [s], and alarms up to scale number `alarm_at`."""
    shape = (2, 2, 2, 2, 3, len(NOISES), len(INERTIAS), len(METHODS), len(SCALES))
    delay = np.empty(shape)
    for m in range(len(METHODS)):
        for s in range(len(SCALES)):
            delay[..., m, s] = delay_of(m, s)
    alarms = np.zeros((2, len(FRICTIONS), len(NOISES), len(INERTIAS), len(METHODS), len(SCALES)), dtype=int)
    alarms[:, 1, 1, 0, :, : alarm_at + 1] = 1
    link = np.empty(shape, dtype=int)
    for a, arm in enumerate(ARMS):
        link[a, 0], link[a, 1] = arm.reacting_link, arm.touched_link
    return Outcomes(0.25, alarms, delay, delay - 0.5e-3, np.zeros(shape, dtype=int), link)


def test_the_choice_is_the_first_quiet_scale_with_its_margin_and_the_fastest_method():
    tuning = outcomes_with(lambda m, s: 1e-3 * (1 + abs(m - 5)) if m != 5 or s > 4 else math.nan)
    choice = choose(tuning)
    assert choice.scales == ((4 + MARGIN,) * len(METHODS),) * 2
    assert choice.method == 5
    never_quiet = choose(outcomes_with(lambda m, s: 1e-3, len(SCALES) - 1))
    assert never_quiet.scales[0][0] == len(SCALES) - 1


def test_a_missed_impact_is_later_than_all_others():
    delay = np.array([1e-3, np.nan, 2e-3])
    assert median_delay(delay) == 2e-3
    assert math.isinf(median_delay(np.array([1e-3, np.nan, np.nan])))
    assert missed(delay) == pytest.approx(1 / 3)


def test_targets_compare_with_what_was_measured():
    choice = Choice(((5,) * len(METHODS),) * 2, 5)
    good = measured_targets(outcomes_with(lambda m, s: 1.5e-3), EXTENT, choice)
    assert all(target.met for target in good)
    slow = measured_targets(outcomes_with(lambda m, s: 3e-3), EXTENT, choice)
    assert [target.met for target in slow] == [False, False, True, True, True, True]
    lost = measured_targets(outcomes_with(lambda m, s: math.nan if m == 5 else 1e-3), EXTENT, choice)
    assert not any(target.met for target in lost[:4])
    assert not Target("nothing measured", "1", 0.0, math.nan).met
    wrong = outcomes_with(lambda m, s: 1e-3)
    wrong.link[0, 0, 0, 0, 0] = 1
    share = 1.0 - np.mean(right_links(wrong, EXTENT.contacts, 5, choice.scales))
    assert share == pytest.approx(1 / 48)
    assert measured_targets(wrong, EXTENT, choice)[-1].measured == pytest.approx(100.0 * (1.0 - share))


def test_tables_figures_and_findings_say_what_the_outcomes_are():
    choice = Choice(((5,) * len(METHODS),) * 2, 5)
    outcomes = outcomes_with(lambda m, s: 1.5e-3 if m < 7 else math.nan)
    table = methods_table(outcomes, EXTENT, choice)
    assert len(table.rows) == 2 * len(METHODS)
    assert table.rows[0][5:9] == pytest.approx((0.0, 1.5, 1.5, 1.0))
    assert table.rows[7][5] == 100.0 and math.isnan(table.rows[7][6])
    assert speeds_table(outcomes, EXTENT, choice).rows[0][2:] == pytest.approx((1.5, 0.0, 1.5, 0.0))
    conditions = conditions_table(outcomes, EXTENT, Choice(((2,) * len(METHODS),) * 2, 5))
    assert sum(row[3] for row in conditions.rows) == outcomes.alarms[..., 5, 2].sum() == 2
    targets = measured_targets(outcomes, EXTENT, choice)
    assert len(targets_table(targets).rows) == len(targets)
    said = findings(outcomes, EXTENT, choice, targets)
    assert any(METHODS[5].name in finding.text for finding in said)
    sequences = Sequences(10, 20, np.arange(len(METHODS)), np.arange(len(METHODS)))
    assert sequences_table(sequences).rows[4][1:] == pytest.approx((20.0, 0.4))
    assert len(draw_roc(outcomes).axes) == 4
    assert len(draw_delays(outcomes, EXTENT, choice).axes) == 4


def test_the_full_extent_has_the_ten_minutes_and_the_speeds_that_are_asked_for():
    extent = Extent()
    assert extent.report_segments * extent.segment * len(FRICTIONS) >= 600.0
    assert (SPEEDS[0], SPEEDS[-1]) == (0.01, 0.5)
