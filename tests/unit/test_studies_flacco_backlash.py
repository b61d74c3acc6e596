"""The simulated joints of the backlash study, how it counts, and the study in its quick version."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from impact_control.observation import BacklashModel
from impact_control.studies import flacco_backlash
from impact_control.studies.flacco import arm as flacco_arm
from impact_control.studies.flacco.arm import JOINTS, MOTOR_INERTIA, PERIOD, POSTURE, HangingArm
from impact_control.studies.flacco.evaluation import (
    alarm_count,
    count_crossings,
    creep_allowance,
    crossings,
    delay,
    thresholds,
)
from impact_control.studies.flacco.experiments import Contact, excitation, no_load, pushes, standing
from impact_control.studies.study import Mark

ARM = HangingArm()


@pytest.fixture
def exact(monkeypatch):
    for name in ("POSITION_NOISE", "LINK_VELOCITY_NOISE", "MOTOR_VELOCITY_NOISE"):
        monkeypatch.setattr(flacco_arm, name, 0.0)


def without(*names: str) -> BacklashModel:
    values = {field.name: getattr(JOINTS, field.name) for field in fields(JOINTS)}
    return BacklashModel(**(values | {name: np.zeros(7) for name in names}))


def test_momentum_changes_by_what_acts_on_it(exact):
    """d/dt (M dq) = C^T dq - g + transmitted + external and d/dt (B dtheta) = tau_M - spring, over all samples."""
    random = np.random.default_rng(0)
    frictionless = without("gap_viscous", "gap_dry", "link_viscous", "link_dry", "motor_viscous", "motor_dry")
    push = Contact(0.3, 0.3, np.array([2.0, -1.0, 1.0, 0.5, 0.0, 0.0, 0.0]))
    run = ARM.run(excitation(random), pushes((push,)), 1.0, random, frictionless)
    momentum = np.einsum("kij,kj->ki", run.mass_matrix, run.velocity)
    drive = run.coriolis_transposed_velocity - run.gravity
    impulse = 0.5 * PERIOD * np.cumsum(drive[1:] + drive[:-1], axis=0) + PERIOD * np.cumsum(
        run.external_torque[:-1], axis=0
    )
    on_links = momentum[1:] - momentum[0] - impulse
    on_motors = MOTOR_INERTIA * (run.motor_velocity[1:] - run.motor_velocity[0])
    on_motors = on_motors - PERIOD * np.cumsum(run.motor_torque[:-1], axis=0)
    # Without friction what the spring gives to the links it takes from the motors.
    size = np.abs(on_links).max(axis=0)
    assert np.all(np.abs(on_links + on_motors).max(axis=0) < 0.01 * size)


def test_a_link_rests_at_the_edge_to_which_its_weight_pulls_it(exact):
    run = ARM.run(standing, no_load, 3.0, np.random.default_rng(0))
    ARM.update(run.position[-1], np.zeros(7))
    deflection, weight = run.deflection[-1], ARM.gravity
    loaded = np.abs(weight) > 0.05
    assert np.count_nonzero(loaded & (JOINTS.gap > 0.0)) >= 2
    expected = -np.sign(weight) * JOINTS.gap - weight / JOINTS.stiffness
    np.testing.assert_allclose(deflection[loaded], expected[loaded], atol=2e-4)
    assert np.all(np.abs(deflection) <= JOINTS.gap + np.abs(weight) / JOINTS.stiffness + 2e-4)
    # The printed (5) adds the motor's torque to that of the spring: at rest both are the weight.
    np.testing.assert_allclose(run.motor_torque[-1][loaded], weight[loaded], rtol=0.05)


def test_a_crossing_leads_from_one_edge_to_the_other():
    phi = np.array([1.2, 1.0, 0.5, 1.1, 0.2, -0.3, -1.0, -1.4, -0.2, -1.1, 0.0, 1.3, -1.2])
    assert crossings(phi, 1.0) == [(4, 6), (10, 11), (12, 12)]
    assert crossings(phi, 0.0) == []


def test_alarms_and_delays_are_counted_once():
    time = np.arange(2000) * PERIOD
    residual = np.zeros((time.size, 2))
    contact = Contact(1.0, 0.4, np.array([1.0, 0.0]))
    residual[1200:1450, 0] = 2.0  # in the contact, and a tail of it
    residual[500:510, 1] = -2.0
    residual[520:530, 0] = 2.0
    residual[1900, 1] = 2.0
    residual[100, 1] = 9.0  # while the links settle
    threshold = np.ones(2)
    assert alarm_count(residual, time, threshold, (contact,)) == 2
    assert alarm_count(residual, time, threshold) == 3
    assert delay(residual, time, threshold, contact) == pytest.approx(0.2)
    assert delay(residual, time, 3.0 * threshold, contact) is None
    deflection = np.column_stack([np.full(time.size, 5.0), np.sign(505.5 - np.arange(time.size))])
    counts = count_crossings(deflection, np.array([1.0, 1.0]), time, residual, 0.0 * residual, threshold)
    assert [(c.crossings, c.classical, c.backlash) for c in counts] == [(0, 0, 0), (1, 1, 0)]


def test_creep_allowance_is_what_noise_takes_from_a_dry_friction():
    random = np.random.default_rng(0)
    noise = np.array([0.5, 2.0, 0.0]) * JOINTS.slip_speed
    joints = BacklashModel(*np.full((9, 3), 0.5))
    found = creep_allowance(joints, noise * random.standard_normal((20000, 3)))
    speeds = np.linspace(0.0, 0.05, 101)[:, None]
    for j in range(2):
        draws = noise[j] * random.standard_normal(20000)
        lost = np.tanh(speeds / 0.01)[:, 0] - np.tanh((speeds + draws) / 0.01).mean(axis=1)
        assert found[j] == pytest.approx(0.5 * lost.max(), rel=0.1)
    assert found[2] == pytest.approx(0.0, abs=1e-12)
    # Noise of many slip speeds hides dry friction whole, but for 0 no more than all of it.
    assert found[0] < found[1] < 0.5
    residual, time = np.array([[9.0, 0.0], [0.1, -0.3], [-0.2, 0.1]]), np.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(thresholds(np.array([0.0, 0.5]), (residual, time)), [0.4, 1.1])


def test_a_contact_is_a_half_sine():
    contact = Contact(1.0, 0.5, np.array([2.0]))
    assert contact.end == 1.5
    assert contact.at(1.25) == pytest.approx([2.0]) and contact.at(1.125) == pytest.approx(np.sqrt([2.0]))
    assert not contact.at(0.99).any() and not contact.at(1.51).any()


def test_motions_are_smooth_and_start_at_rest():
    motion = excitation(np.random.default_rng(1))
    assert np.array_equal(motion(0.0)[0], POSTURE) and not motion(0.0)[1].any()
    for time in np.linspace(0.01, 3.0, 40):
        slope = (motion(time + 1e-6)[0] - motion(time - 1e-6)[0]) / 2e-6
        np.testing.assert_allclose(slope, motion(time)[1], atol=1e-6)


@pytest.fixture(scope="module")
def quick():
    return flacco_backlash.STUDY.run(0, True, lambda *_: None)


def test_the_quick_study_finds_the_contacts_and_no_alarms(quick):
    # Too short a motion for the coefficients to be within 5 %; all else has to hold already.
    table = {row[0]: (row[2], table_mark) for row, table_mark in zip(quick.tables[0].rows, marks(quick), strict=True)}
    for what in (
        "crossings in which the new residual alarms",
        "alarms of the new residual without contact",
        "contacts found at rest",
        "contacts found in motion",
        "alarms of the new residual beside contacts",
    ):
        assert table[what][1] is Mark.GOOD, (what, table[what])


def marks(result):
    return [result.tables[0].mark(i, 2) for i in range(len(result.tables[0].rows))]


def test_the_study_is_drawn(quick):
    assert [figure.name for figure in quick.figures] == ["identification", "crossings", "contacts"]
    for figure in quick.figures:
        assert figure.draw().axes
