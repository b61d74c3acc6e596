"""The simulated joints of the backlash study, how it counts, and the study in its quick version."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from impact_control.robots import load_robot
from impact_studies.catalogue import flacco_backlash
from impact_studies.flacco import guidance as flacco_guidance
from impact_studies.flacco.arm import JOINTS, MOTOR_INERTIA, PERIOD, POSTURE, HangingArm, Recording, Sample, simulate
from impact_studies.flacco.drawing import draw_gap
from impact_studies.flacco.evaluation import (
    JOINT,
    LEVER_ERROR,
    MASS_ERROR,
    START,
    Pendulum,
    Unexplained,
    alarm_count,
    by_model,
    count_crossings,
    creep_allowance,
    crossings,
    delay,
    judge_swing,
    nominal_robot,
    record_swing,
    thresholds,
    untransmitted_torque,
)
from impact_studies.flacco.experiments import (
    SETTLING,
    SINE_AMPLITUDE,
    SINE_FREQUENCY,
    Contact,
    classical_residual,
    excitation,
    figure_8_motion,
    no_load,
    pushes,
    sinusoids,
    standing,
)
from impact_studies.flacco.guidance import (
    ADMITTANCE_GAIN,
    GUIDANCE,
    NOMINAL,
    QUIET_TIME,
    RECORDINGS,
    Guidance,
    GuidedSine,
    measure,
    person,
    random_of,
)
from impact_studies.flacco.outcome import QUICK, compute
from impact_studies.flacco.statements import SIGNIFICANT, STANDSTILL, statements
from impact_studies.frame.study import Mark
from impact_studies.models.observation.backlash_model import BacklashModel

ARM = HangingArm()


def without(*names: str) -> BacklashModel:
    values = {field.name: getattr(JOINTS, field.name) for field in fields(JOINTS)}
    return BacklashModel(**(values | {name: np.zeros(7) for name in names}))


def test_momentum_changes_by_what_acts_on_it():
    """d/dt (M dq) = C^T dq - g + transmitted + external and d/dt (B dtheta) = tau_M - spring, over all samples."""
    random = np.random.default_rng(0)
    frictionless = without("gap_viscous", "gap_dry", "link_viscous", "link_dry", "motor_viscous", "motor_dry")
    push = Contact(0.3, 0.3, np.array([2.0, -1.0, 1.0, 0.5, 0.0, 0.0, 0.0]))
    run = simulate(ARM, frictionless, excitation(random), pushes((push,)), 1.0, random, noise=0.0)
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


def test_a_link_rests_at_the_edge_to_which_its_weight_pulls_it():
    run = simulate(ARM, JOINTS, standing, no_load, 3.0, np.random.default_rng(0), noise=0.0)
    deflection, weight = run.deflection[-1], ARM.terms(run.position[-1], np.zeros(7)).gravity
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


def test_what_watches_is_given_each_sample_and_changes_the_next():
    seen = []

    def motion(time):
        return POSTURE + (0.1 if len(seen) >= 3 else 0.0), np.zeros(7)

    run = simulate(ARM, JOINTS, motion, no_load, 0.005, np.random.default_rng(0), watch=seen.append)
    assert [sample.time for sample in seen] == list(run.time)
    for k, sample in enumerate(seen):
        for name in Sample._fields[1:]:
            np.testing.assert_array_equal(getattr(sample, name), getattr(run, name)[k])
    pulled = np.abs(run.motor_torque[:, 0]) > 0.05 * ARM.position_gain[0]
    assert list(pulled[:4]) == [False, False, False, True]


@pytest.fixture(scope="module")
def swing():
    return judge_swing(record_swing(5.0))


def test_the_single_joint_keeps_to_its_equations_of_motion(swing):
    """In the gap the link falls freely; outside motor and link together feel the motor's torque and the weight."""
    run, inertia, motor = swing.recording, 0.25, 0.1
    assert np.all(run.mass_matrix == inertia)
    np.testing.assert_allclose(run.gravity, 9.81 * 0.5 * np.sin(run.position))
    velocity, other = run.velocity[:, 0], run.motor_velocity[:, 0]
    free = np.abs(run.deflection[:, 0]) < 0.099
    free = free[1:] & free[:-1]
    mean = 0.5 * (run.gravity[1:, 0] + run.gravity[:-1, 0])
    fall = np.diff(velocity) / PERIOD
    assert np.count_nonzero(free) > 500
    np.testing.assert_allclose(inertia * fall[free], -mean[free], atol=2e-3)
    both = inertia * fall + motor * np.diff(other) / PERIOD
    np.testing.assert_allclose(both, run.motor_torque[:-1, 0] - mean, atol=2e-2)


def test_the_classical_residual_is_the_motor_that_does_not_move_with_the_link(swing):
    """Without friction dr/dt = K (B (ddq - ddtheta) - r), in the gap and outside."""
    np.testing.assert_allclose(swing.classical, swing.untransmitted, atol=1e-3)
    assert swing.apart < 1e-3 and np.abs(swing.untransmitted).max() > 1.0
    assert swing.inside.size == 2 and swing.inside.min() > 5.0 * swing.elsewhere
    assert swing.arrival.min() > swing.inside.max()
    # The residual (12) knows the torque on the link.
    assert np.abs(swing.backlash[swing.recording.time > START]).max() < 0.02


def test_the_torque_that_does_not_come_to_the_link_is_that_of_the_motor_alone(swing):
    """A motor that moves with its link under a torque that does not change: (2) assumes what is there."""
    run = swing.recording
    still = replace(run, motor_velocity=run.velocity, motor_torque=np.ones_like(run.motor_torque))
    assert not untransmitted_torque(still).any()
    # B (ddq - ddtheta) of a link at 2 rad/s^2 from a motor at 0: 0.2 Nm once the filter has settled.
    time = run.time[:, None]
    steady = replace(still, velocity=2.0 * time, motor_velocity=0.0 * time)
    assert untransmitted_torque(steady)[-1] == pytest.approx(0.2, abs=1e-3)


def test_each_purpose_has_random_numbers_of_its_own():
    first = [random_of(3, name).uniform() for name in (*RECORDINGS, NOMINAL, GUIDANCE)]
    assert len(set(first)) == len(first)
    assert random_of(3, NOMINAL).uniform() == first[-2] != random_of(4, NOMINAL).uniform()


def test_without_a_gap_the_classical_residual_is_right():
    values = {field.name: getattr(JOINT, field.name) for field in fields(JOINT)}
    stiff = BacklashModel(**(values | {"gap": np.zeros(1)}))
    sine = sinusoids(np.array([[0.5]]), np.array([[0.25]]), np.zeros((1, 1)), centre=np.zeros(1))
    run = simulate(Pendulum(), stiff, sine, no_load, 3.0, np.random.default_rng(0), noise=0.0)
    assert np.abs(classical_residual(run, stiff, Pendulum().motor_inertia)).max() < 0.05


class Scripted:
    """Observer whose residual follows a script of the time."""

    def __init__(self, script):
        self.script = script

    def observe(self, mass_matrix, coriolis, gravity, time, joints):
        return self.script(time)


def guided(script, duration):
    """The wanted positions and whether the law was followed, sample by sample."""
    sine = GuidedSine(Scripted(script), np.zeros(7), np.full(7, 0.5))
    wanted, yielding = [], []
    for k in range(round(duration / PERIOD)):
        wanted.append(sine(k * PERIOD)[0])
        sine.watch(Sample(k * PERIOD, *np.zeros((5, 7)), np.eye(7), *np.zeros((2, 7))))
        yielding.append(sine.yielding)
    return np.array(wanted), np.array(yielding)


def test_the_sine_waits_for_the_hand_to_be_gone():
    spans = ((0.1, 0.2), (2.0, 2.5), (3.5, 3.8))  # the first one while the links settle

    def script(time):
        return np.array([0.0, 1.5, 0, 0, 0, 0, 0]) * any(first <= time < last for first, last in spans)

    wanted, yielding = guided(script, 8.0)
    changes = np.flatnonzero(np.diff(yielding)) + 1
    np.testing.assert_allclose(changes * PERIOD, [2.0, 3.8 + QUIET_TIME], atol=1.1 * PERIOD)
    sine = figure_8_motion()
    np.testing.assert_array_equal(wanted[:2001], [sine(k * PERIOD)[0] for k in range(2001)])
    # (15): a torque of 1 Nm beyond the threshold for 0.8 s, and what is left of the speed of the sine.
    led = wanted[changes[1]]
    way = np.zeros(7)
    way[0], way[1] = sine(2.0)[1][0] / flacco_guidance.FOLLOWING, 0.8 * ADMITTANCE_GAIN
    np.testing.assert_allclose(led - wanted[2000], way, atol=2e-3)
    assert np.ptp(wanted[2900:3500], axis=0).max() < 1e-4
    again = figure_8_motion(0.0, led)
    for since in (0.0, 0.5, 2.0):
        k = round(since / PERIOD)
        np.testing.assert_allclose(wanted[changes[1] + k], again(since)[0], atol=2e-3)


def test_without_a_touch_the_sine_goes_on():
    wanted, yielding = guided(lambda time: np.full(7, 0.49), 3.0)
    assert not yielding.any() and np.ptp(wanted[:, 0]) > SINE_AMPLITUDE


def guidance(led_to=0.6, silence=2.0, creep=0.0, law=1.0):
    """The third experiment as it should be, drawn by hand: joint 1 is led, the others stay."""
    first, second = pushes_ = person(7.0)
    begin, end = 7.1, second.end + silence
    time = np.arange(round((end + 7.0) / PERIOD)) * PERIOD
    rate = 2.0 * np.pi * SINE_FREQUENCY
    held = (time >= begin) & (time < end)
    start = SINE_AMPLITUDE * np.sin(rate * begin)
    hands = np.clip((time - begin) / (first.end - begin), 0.0, 1.0)
    position = np.zeros((time.size, 7))
    position[:, 0] = np.where(held, start + (led_to - start) * hands, SINE_AMPLITUDE * np.sin(rate * time))
    after = time >= end
    position[after, 0] = led_to + SINE_AMPLITUDE * np.sin(rate * (time[after] - end))
    position[:, 0] += np.where(held & (time > first.end + 0.2), creep * (time - first.end - 0.2), 0.0)
    speed = figure_8_motion()(begin)[1][0] / flacco_guidance.FOLLOWING
    torque = np.zeros_like(position)
    touched = (time >= begin) & (time <= first.end) | (time >= second.start + 0.1) & (time <= second.end)
    count = np.count_nonzero(touched & held)
    torque[touched, 0] = 0.5 + law * (led_to - start - speed) / (ADMITTANCE_GAIN * PERIOD * count)
    empty = np.zeros_like(position)
    terms = np.zeros((time.size, 7, 7))
    recording = Recording(time, position, position, empty, empty, empty, terms, empty, empty, empty, empty)
    return Guidance(recording, torque, held, np.full(7, 0.5), pushes_)


def test_what_the_person_did_is_measured():
    led = measure(guidance())
    assert led.way[0] == pytest.approx(led.law_way[0], abs=2e-3) and not led.way[1:].any() and not led.law_way[1:].any()
    assert led.silence == pytest.approx(2.0, abs=2 * PERIOD) and led.pause == pytest.approx(1.3, abs=2 * PERIOD)
    assert led.shift == pytest.approx(0.6, abs=1e-9) and np.abs(led.offset).max() < 1e-9
    assert led.amplitudes == pytest.approx((SINE_AMPLITUDE, SINE_AMPLITUDE))
    # The threshold of 0.5 Nm counts in the law as printed, and the speed of the sine does not.
    held = PERIOD * np.count_nonzero(guidance().residual[guidance().yielding, 0])
    speed = figure_8_motion()(7.1)[1][0] / flacco_guidance.FOLLOWING
    assert led.printed_way[0] == pytest.approx(led.law_way[0] - speed + 0.5 * ADMITTANCE_GAIN * held, abs=1e-6)
    assert led.idle_way == 0.0 and led.pushed_way == pytest.approx(abs(led.way[0]), abs=2e-3)
    assert guidance().alarms == 0 and guidance().delays[0] == pytest.approx(0.1, abs=2 * PERIOD)


def test_what_the_person_did_not_do_is_measured_too():
    assert measure(guidance(silence=1.5)).silence == pytest.approx(1.5, abs=2 * PERIOD)
    assert measure(guidance(creep=0.01)).idle_way > 0.02
    wrong = measure(guidance(law=1.2))
    assert abs(wrong.way[0] - wrong.law_way[0]) > 0.05
    twice = guidance()
    twice.yielding[3000:3100] = True
    assert measure(twice) is None
    stays = guidance()
    stays.yielding[-1] = True
    assert measure(stays) is None
    loud = guidance()
    loud.residual[3000:3010, 1] = 0.6
    assert loud.alarms == 1 and loud.loudest == pytest.approx(1.2)


def test_a_nominal_model_is_near_the_true_one():
    run = simulate(ARM, JOINTS, excitation(np.random.default_rng(2)), no_load, 0.05, np.random.default_rng(2))
    again = by_model(run, HangingArm())
    for name in ("mass_matrix", "coriolis_transposed_velocity", "gravity"):
        np.testing.assert_allclose(getattr(again, name), getattr(run, name), atol=1e-12)
    true, nominal = load_robot().pinocchio_model, nominal_robot(np.random.default_rng(3)).pinocchio_model
    for known, guess in zip(list(true.inertias)[1:], list(nominal.inertias)[1:], strict=True):
        factor = guess.mass / known.mass
        assert 0.0 < abs(factor - 1.0) <= MASS_ERROR
        assert 0.0 < np.abs(guess.lever - known.lever).max() <= LEVER_ERROR
        np.testing.assert_allclose(guess.inertia, factor * known.inertia, atol=1e-12)
    off = by_model(run, HangingArm(nominal_robot(np.random.default_rng(3))))
    for name in ("mass_matrix", "gravity"):
        difference = np.linalg.norm(getattr(off, name) - getattr(run, name)) / np.linalg.norm(getattr(run, name))
        assert 1e-3 < difference < 0.2


@pytest.fixture(scope="module")
def outcome():
    return compute(0, QUICK, lambda *_: None)


@pytest.fixture(scope="module")
def quick(outcome):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flacco_backlash, "compute", lambda *_: outcome)
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
    assert [figure.name for figure in quick.figures] == [
        "single_joint",
        "gap",
        "trajectories",
        "identification",
        "crossings",
        "contacts",
        "guidance",
    ]
    for figure in quick.figures:
        assert figure.draw().axes


def test_the_quick_study_says_what_the_source_says(quick):
    said = [one for one in quick.comparisons if one.where.startswith(("II,", "V-"))]
    figures = ("Fig. 2", "Fig. 5", "Fig. 7", "Fig. 9", "Fig. 13")
    places = {figure: sum(figure in one.where for one in said) for figure in figures}
    assert places == {"Fig. 2": 2, "Fig. 5": 1, "Fig. 7": 3, "Fig. 9": 2, "Fig. 13": 2}
    (shown,) = (one for one in said if "Fig. 5" in one.where)
    assert shown.published == 25.0 and "joint 2" in shown.what
    # The motion of Fig. 9 is a set-up, the rest is so by the equations and by the model of the plant: no verdict.
    motion = {one.what: one.own for one in said if one.mark is Mark.PLAIN and "Fig. 9" in one.where}
    assert motion == {"rest before the motion": pytest.approx(2.0), "joints that are moved": "1, 3, 4, 7"}
    assert [one.where for one in said if one.mark is Mark.PLAIN][:2] == ["II, Fig. 2", "V-A, Fig. 7"]


def test_thresholds_stand_beside_those_of_the_source_without_a_verdict(quick, outcome):
    rows = [one for one in quick.comparisons if one.what.startswith("threshold of joint")]
    assert [one.published for one in rows] == [0.8, 0.5, 0.4, 0.3, 0.2, 0.2, 0.2]
    assert [one.own for one in rows] == list(outcome.threshold)
    assert {(one.unit, one.mark) for one in rows} == {("Nm", Mark.PLAIN)}


def test_the_gap_is_drawn_as_it_was_measured(outcome):
    recording, (axes,) = outcome.gap_recording, draw_gap(outcome).axes
    curve, *edges = axes.lines
    deflection = 1e3 * (recording.position[:, 1] - recording.motor_position[:, 1])
    np.testing.assert_array_equal(curve.get_ydata(), deflection)
    drawn = sorted(edge.get_ydata()[0] for edge in edges)
    lower, upper = (1e3 * (outcome.gap.centre[1] + side * outcome.gap.gap[1]) for side in (-1.0, 1.0))
    np.testing.assert_allclose(drawn, [lower, upper])
    # What is found is the range of the curve, noise averaged out.
    settled = deflection[recording.time > SETTLING]
    assert settled.min() == pytest.approx(lower, abs=0.5) and settled.max() == pytest.approx(upper, abs=0.5)


def judged(outcome):
    """Each verdict of the statements by what is compared, the numbers in it left out."""
    rows = statements(outcome)
    return {one.what.split("(")[0].strip(): one.mark for one in rows if one.mark is not Mark.PLAIN}


def as_it_should_be(outcome):
    """The outcome with what the statements are about drawn by hand."""
    swing = replace(outcome.single_joint, inside=np.array([0.3]), elsewhere=0.1)
    part = np.full(7, 1e-3)
    left = Unexplained(0.9 * (1.0 - SIGNIFICANT) * part, part, part, 1.1 * SIGNIFICANT * part)
    led = guidance()
    return replace(outcome, single_joint=swing, unexplained=left, guidance=led, led=measure(led))


FIG_2 = "classical residual of a joint that nothing touches, with a gap of 0.1 rad"
NOMINAL_LEFT = "part of the residual left unexplained with a nominal model of the links, mean of the joints"
ELSEWHERE = "the same with another trajectory"
ALARMS, FELT = "false alarms without a push, in the sines before and after", "pushes that are felt"
HANDS, WAY = "motion of the arm in the hands of the person", "way of the joints that are pushed"
SILENCE, GOES_ON = "residual below the threshold until the sine goes on, at least", "where the sine goes on"


def test_the_statements_hold_where_it_is_so(outcome):
    good = judged(as_it_should_be(outcome))
    names = (FIG_2, NOMINAL_LEFT, ELSEWHERE, ALARMS, FELT, HANDS, WAY, SILENCE, GOES_ON)
    assert good == dict.fromkeys(names, Mark.GOOD)


def test_each_statement_does_not_hold_where_it_is_not_so(outcome):
    good = as_it_should_be(outcome)
    swing, left, led = good.single_joint, good.unexplained, good.led
    half = (1.0 - SIGNIFICANT) * left.nominal
    loud, quiet = guidance(), guidance()
    loud.residual[3000:3010, 1] = 0.6
    quiet.residual[:] = 0.0

    def bad(**changed):
        return {what for what, mark in judged(replace(good, **changed)).items() if mark is Mark.BAD}

    assert bad(single_joint=replace(swing, elsewhere=0.4)) == {FIG_2}
    assert bad(unexplained=replace(left, exact=1.1 * half)) == {NOMINAL_LEFT}
    assert bad(unexplained=replace(left, nominal_elsewhere=0.9 * SIGNIFICANT * left.nominal)) == {ELSEWHERE}
    assert bad(guidance=loud) == {ALARMS}
    assert bad(guidance=quiet) == {FELT}
    assert bad(led=measure(guidance(creep=0.02))) >= {HANDS}
    assert bad(led=replace(led, idle_way=1.1 * STANDSTILL * led.pushed_way)) == {HANDS}
    assert bad(led=measure(guidance(law=1.2))) == {WAY}
    for silence in (1.5, 2.1):
        assert bad(led=measure(guidance(silence=silence))) == {SILENCE}
    assert bad(led=replace(led, offset=np.full(7, 0.1))) == {GOES_ON}
    assert bad(led=None) == {"what the arm does when the person comes"}
