"""Faults of recorded samples are found, counted and named, and none of them becomes an impact."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.calibration.thresholds import calibrate_thresholds
from impact_control.classification import SingleImpactClassifier, Verdict
from impact_control.detection import ResidualRateScore, ScoreDetector
from impact_control.observation import MomentumObserver
from impact_control.recording.defects import CheckedSamples, DefectKind, check_samples
from impact_control.recording.opening import open_recording
from impact_control.replay import replay_samples
from impact_control.robots import load_robot
from impact_control.scenario import Classification
from impact_control.simulation import FlexibleJointPlant, Sensors
from impact_control.util.errors import InvalidInputError
from recording_samples import EPOCH_NS, TYPES, time_message, write_messages

PERIOD = 1e-3
DURATION = 1.5
GAIN = np.full(7, 30.0)
REFRACTORY = 0.05
HOME = np.array([0.4, -0.5, -0.3, -2.0, 0.8, 1.9, 1.3])
PUSH = np.array([40.0, -60.0, 30.0, 40.0, 0.0, 0.0, 0.0])
"""[Nm] on joints 1 to 4, as of a force on link 4."""


class Samples:
    """Joint samples as they are recorded: one row a sample, in order of arrival."""

    def __init__(self, time, position, velocity, torque, names):
        self.time, self.names = time, names
        self.columns = [position, velocity, torque]

    def copy(self):
        return Samples(self.time.copy(), *(column.copy() for column in self.columns), list(self.names))

    def take(self, rows):
        """Keep these rows, in this order."""
        self.time = self.time[rows]
        self.columns = [column[rows] for column in self.columns]
        self.names = [self.names[row] for row in rows]

    def checked(self):
        return check_samples(self.time, self.names, *self.columns, joints=robot().joint_names, period=PERIOD)


@functools.cache
def robot():
    return load_robot()


def simulated(push_at=np.inf, seed=3):
    """A record of the Panda in fast motion of all joints, and from a time on with a sudden external torque."""
    arm = robot()
    plant, sensors = FlexibleJointPlant(arm, HOME), Sensors(arm.noise, 1.0, seed)
    stiffness = np.array([600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0])
    damping = np.array([50.0, 50.0, 50.0, 50.0, 30.0, 25.0, 15.0])
    rates = np.array([3.1, 3.7, 4.2, 2.9, 4.9, 4.4, 5.1])
    time = np.arange(0.0, DURATION, PERIOD)
    columns = np.zeros((3, time.size, 7))
    for k, t in enumerate(time):
        sample = sensors.measure(plant)
        columns[:, k] = sample.position, sample.velocity, sample.torque
        size = 0.3 * min(1.0, 2.0 * t) ** 2
        target, wanted = HOME + size * np.sin(rates * t), size * rates * np.cos(rates * t)
        plant.external_torque[:] = PUSH if t >= push_at else 0.0
        plant.step(stiffness * (target - sample.position) + damping * (wanted - sample.velocity))
    return Samples(time, *columns, [tuple(arm.joint_names)] * time.size)


@functools.cache
def free_motion():
    return simulated()


@functools.cache
def limits():
    """Thresholds just above what the free motion itself makes: any fault that adds to it would show."""
    replay = walked(free_motion().checked(), np.full(7, 1e9))
    return calibrate_thresholds(replay.time, replay.residual_rate, 1.0 / 3600.0, block=0.025).threshold


def walked(checked, threshold, classifier=None):
    transmission = robot().transmission
    observer = MomentumObserver(GAIN, transmission.damping / transmission.stiffness)
    size = len(threshold)
    detector = ScoreDetector(ResidualRateScore(size), size, threshold, REFRACTORY)
    follower = None if classifier is None else AtRest(classifier)
    return replay_samples(checked, robot(), observer, detector, follower=follower)


class AtRest:
    """Lets a classifier follow an arm that was to be at rest."""

    def __init__(self, classifier):
        self.judge = classifier

    def impact_detected(self, time, position):
        self.judge.impact_detected(time, position)

    def follow(self, time, dynamics, observer):
        self.judge.classify(time, dynamics.dq, np.zeros(7))


def started_classifier():
    """A classifier that would call any impact one: expected at the middle, in reach of nothing."""
    tuning = Classification.of(
        window_length=20,
        decay_rate=30.0,
        envelope_margin=0.03,
        configuration_error=0.02,
        time_error=0.03,
        post_impact_time=0.15,
    )
    classifier = SingleImpactClassifier(tuning, 7)
    classifier.await_impact(0.5 * DURATION, HOME)
    return classifier


def lose(random, samples):
    """Samples missing: one, some, or up to 0.2 s."""
    length = int(random.choice([1, 2, 5, 20, 60, 200]))
    first = random.integers(1, samples.time.size - length - 1)
    samples.take(np.delete(np.arange(samples.time.size), np.arange(first, first + length)))


def repeat(random, samples):
    """A stamp twice: the same sample again, or the next one with the stamp of this."""
    row = random.integers(1, samples.time.size - 1)
    if random.random() < 0.5:
        samples.take(np.insert(np.arange(samples.time.size), row, row))
    else:
        samples.time[row + 1] = samples.time[row]


def freeze(random, samples):
    """The last sample in place of some that were lost, under their stamps."""
    first, length = random.integers(20, samples.time.size - 12), random.integers(1, 10)
    for column in samples.columns:
        column[first : first + length] = column[first - 1]


def delay(random, samples):
    """A sample that arrives some later than those after it."""
    row, by = random.integers(1, samples.time.size - 40), random.integers(1, 30)
    order = np.arange(samples.time.size)
    samples.take(np.insert(np.delete(order, row), row + by, row))


def misdate(random, samples):
    """A stamp far in the past or the future."""
    samples.time[random.integers(1, samples.time.size)] += random.choice([-1.0, 1.0]) * random.uniform(0.01, 100.0)


def spoil(random, samples):
    """A number, or a whole row, that is none; or the stamp."""
    row = random.integers(1, samples.time.size)
    value = random.choice([np.nan, np.inf, -np.inf])
    if random.random() < 0.2:
        samples.time[row] = value
    else:
        joints = slice(None) if random.random() < 0.3 else random.integers(7)
        samples.columns[random.integers(3)][row, joints] = value


def rename(random, samples):
    """Joints in another order, named so: for one sample, or from then on."""
    first = random.integers(0, samples.time.size)
    last = first + 1 if random.random() < 0.5 else samples.time.size
    order = random.permutation(7)
    for column in samples.columns:
        column[first:last] = column[first:last][:, order]
    for row in range(first, last):
        samples.names[row] = tuple(samples.names[row][i] for i in order)


def mislabel(random, samples):
    """Joints in another order, under their old names: for a while, or from then on."""
    first = random.integers(100, samples.time.size - 300)
    last = first + random.integers(1, 200) if random.random() < 0.5 else samples.time.size
    order = np.roll(np.arange(7), random.integers(1, 7))
    for column in samples.columns:
        column[first:last] = column[first:last][:, order]


def set_clock(random, samples):
    """The clock set back, or some samples lost and the stamps of those after them moved up."""
    row, by = int(random.integers(600, samples.time.size - 500)), int(random.integers(60, 120))
    if random.random() < 0.5:
        samples.take(np.delete(np.arange(samples.time.size), np.arange(row, row + by)))
    samples.time[row:] -= by * PERIOD


FAULTS = {
    lose: {DefectKind.GAP},
    repeat: {DefectKind.DUPLICATED},
    freeze: {DefectKind.REPEATED, DefectKind.GAP},
    delay: {DefectKind.REORDERED},
    misdate: {DefectKind.REORDERED},
    spoil: {DefectKind.NOT_FINITE},
    rename: {DefectKind.OTHER_ORDER},
    mislabel: {DefectKind.SWAPPED},
    set_clock: {DefectKind.ELSEWHERE},
}


def test_a_whole_record_has_no_defects_and_no_impact():
    checked = free_motion().checked()
    assert checked.in_words() == []
    assert checked.usable.all()
    replay = walked(checked, limits())
    assert replay.events == () and replay.defects == ()


def test_a_torque_that_no_joint_gives_is_a_defect():
    torque = np.zeros((5, 2))
    torque[1, 1], torque[3, 0] = 1e100, -871.0
    strongest, period = np.array([870.0, 120.0]), 1e-3
    rows = (np.zeros((5, 2)), np.zeros((5, 2)), torque)
    checked = check_samples(period * np.arange(5), "ab", *rows, joints="ab", period=period, strongest=strongest)
    assert checked.usable.tolist() == [True, False, True, False, True]
    assert checked.count(DefectKind.IMPOSSIBLE) == 2


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_each_fault_is_named_with_its_count(fault, seed):
    random = np.random.default_rng(seed)
    samples = free_motion().copy()
    fault(random, samples)
    checked = samples.checked()
    kinds = {defect.kind for defect in checked.defects}
    if fault is rename and DefectKind.OTHER_ORDER not in kinds:
        return  # the permutation that changes nothing
    if fault is misdate and kinds == {DefectKind.GAP}:
        return  # moved by less than a period or two, between the neighbours
    assert FAULTS[fault] <= kinds
    words = " ".join(checked.in_words())
    for defect in checked.defects:
        assert str(len(defect.rows)) in defect.in_words()
        assert " s" in words
    # What is left is whole, in order, and what was recorded.
    used = checked.time[checked.usable]
    assert (np.diff(used) > 0.0).all()
    assert np.isfinite(checked.position[checked.usable]).all()


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 2**32 - 1), st.lists(st.sampled_from(list(FAULTS)), min_size=1, max_size=6))
def test_no_fault_is_classified_as_an_impact(seed, faults):
    random = np.random.default_rng(seed)
    samples = free_motion().copy()
    for fault in faults:
        fault(random, samples)
    classifier = started_classifier()
    replay = walked(samples.checked(), limits(), classifier)
    assert replay.impacts == (), (replay.events, replay.defects)
    assert (replay.impact, replay.post_impact) == (Verdict.UNKNOWN, Verdict.NOT_STARTED)


def test_unchecked_the_same_faults_do_raise_alarms():
    """What is prevented: joints that trade places, and samples that go on after a gap, look like impacts."""
    samples = free_motion().copy()
    for column in samples.columns:
        column[900:1000] = np.roll(column[900:1000], 1, axis=1)
    checked = samples.checked()
    blind = CheckedSamples(
        checked.names, samples.time, *samples.columns, np.ones(samples.time.size, dtype=bool), checked.defects
    )
    assert walked(blind, limits()).impacts
    assert not walked(checked, limits()).impacts


@pytest.mark.parametrize("lost", [False, True])
def test_a_record_goes_on_after_an_odd_stamp_and_its_impact_is_found(lost):
    odd = simulated(push_at=1.2)
    if lost:
        odd.take(np.delete(np.arange(odd.time.size), np.arange(800, 870)))
    odd.time[800:] -= 0.07
    checked = odd.checked()
    assert checked.count(DefectKind.ELSEWHERE) == 1
    assert np.count_nonzero(checked.usable) >= 1500 - 140
    found = walked(checked, limits())
    assert found.impacts[0].impact_time == pytest.approx(1.13, abs=3 * PERIOD)


def test_joints_that_trade_places_are_named_and_those_alike_are_not():
    """Of a usual pose three joints are at 0: which of them is which must not keep the rest of the record out."""
    samples = free_motion().copy()
    samples.columns[0][:, [0, 2, 4]] = 1e-4 * np.sin(np.outer(np.arange(samples.time.size), [1.0, 2.0, 3.0]))
    samples.columns[1][:, [0, 2, 4]] = 0.0
    for column in samples.columns:
        column[700:900] = column[700:900][:, [1, 0, 2, 3, 4, 6, 5]]
        column[1000:1200] = np.roll(column[1000:1200], 1, axis=1)
    checked = samples.checked()
    assert np.flatnonzero(~checked.usable).tolist() == [*range(700, 900), *range(1000, 1200)]
    words = " ".join(checked.in_words())
    assert "200 samples with joints that trade places" in words and checked.count(DefectKind.SWAPPED) == 400
    assert "panda_joint2 holds panda_joint1, panda_joint1 holds panda_joint2, panda_joint7 holds panda_joint6" in words


def test_an_impact_is_still_found_and_doubted_only_beside_a_gap():
    pushed = simulated(push_at=1.0)
    whole = walked(pushed.checked(), limits())
    assert whole.impacts[0].impact_time == pytest.approx(1.0, abs=3 * PERIOD)
    far, near = pushed.copy(), pushed.copy()
    far.take(np.delete(np.arange(far.time.size), np.arange(300, 360)))
    near.take(np.delete(np.arange(near.time.size), np.arange(930, 990)))
    found = walked(far.checked(), limits())
    assert found.impacts[0].impact_time == pytest.approx(whole.impacts[0].impact_time, abs=PERIOD)
    assert len(found.defects) == 1 and "59 samples" not in found.defects[0] and "60 samples" in found.defects[0]
    doubted = [event for event in walked(near.checked(), limits()).events if event.doubt]
    assert doubted and "gap of 0.0610 s" in doubted[0].doubt
    assert doubted[0].impact_time == pytest.approx(1.0, abs=3 * PERIOD)


def test_lost_single_samples_cost_no_impact():
    pushed = simulated(push_at=1.0)
    lossy = pushed.copy()
    random = np.random.default_rng(1)
    keep = np.sort(random.choice(pushed.time.size, int(0.98 * pushed.time.size), replace=False))
    keep = keep[(np.diff(keep, prepend=-1) <= 2)]  # no two in a row
    lossy.take(keep)
    found = walked(lossy.checked(), limits())
    assert found.impacts[0].impact_time == pytest.approx(1.0, abs=3 * PERIOD)


def test_counts_and_times_are_those_of_the_faults():
    samples = free_motion().copy()
    order = np.arange(400)
    samples.take(np.insert(np.delete(np.delete(order, np.arange(100, 120)), 50), 53, 50))
    samples.columns[1][200, 3] = np.nan
    samples.time[300] = samples.time[299]
    checked = samples.checked()
    assert {defect.kind: len(defect.rows) for defect in checked.defects} == {
        DefectKind.NOT_FINITE: 1,
        DefectKind.DUPLICATED: 1,
        DefectKind.REORDERED: 1,
        DefectKind.GAP: 4,  # the loss, and one where each unusable sample was
    }
    (gap,) = (defect for defect in checked.defects if defect.kind is DefectKind.GAP)
    assert "23 samples missing" in gap.in_words() and "0.0210 s after 0.0990 s" in gap.in_words()
    (late,) = (defect for defect in checked.defects if defect.kind is DefectKind.REORDERED)
    assert late.time == pytest.approx([0.050])
    assert "at 0.0500 s" in late.in_words()


def test_what_stands_in_for_lost_samples_costs_these_and_no_others():
    """At 10 rad/s a joint moves on by 60 mrad in 6 ms: the record went on nowhere near where it stood still."""
    time = PERIOD * np.arange(200)
    position = 10.0 * time[:, None] + np.zeros(7)
    columns = [position, np.full((200, 7), 10.0), np.sin(50.0 * position)]
    for column in columns:
        column[100:105] = column[99]
    checked = Samples(time, *columns, [tuple(robot().joint_names)] * 200).checked()
    assert np.flatnonzero(~checked.usable).tolist() == [100, 101, 102, 103, 104]
    assert "5 samples equal to the one before" in " ".join(checked.in_words())
    still = Samples(time, np.ones((200, 7)), *np.zeros((2, 200, 7)), [tuple(robot().joint_names)] * 200)
    assert still.checked().usable.all()  # an arm at rest, without noise, repeats itself


def test_missing_and_additional_joints():
    names = robot().joint_names
    samples = free_motion().copy()
    samples.take(np.arange(20))
    fingers = [[*row, 0.0] for row in samples.columns[0].tolist()]
    with_finger = [(*names, "panda_finger_joint1")] * 20
    checked = check_samples(samples.time, with_finger, fingers, fingers, fingers, joints=names, period=PERIOD)
    assert checked.count(DefectKind.OTHER_JOINTS) == 0
    assert checked.position == pytest.approx(samples.columns[0])
    short = list(samples.names)
    short[7] = tuple(names[:6])
    rows = samples.columns[0].tolist()
    rows[7] = rows[7][:6]
    checked = check_samples(samples.time, short, rows, rows, rows, joints=names, period=PERIOD)
    assert checked.count(DefectKind.OTHER_JOINTS) == 1
    assert not checked.usable[7] and np.isnan(checked.position[7]).all()


def test_faults_in_a_bag_are_found(prefix, tmp_path):
    samples = free_motion().copy()
    samples.take(np.r_[0:100, 130:200])
    for column in samples.columns:
        column[50:] = column[50:][:, ::-1]
    samples.names[50:] = [names[::-1] for names in samples.names[50:]]
    samples.columns[2][120] = np.nan
    told = []
    for k, time in enumerate(samples.time):
        stamp = EPOCH_NS + round(1e9 * time)
        message = {"header": {"stamp": time_message(stamp), "frame_id": ""}, "name": list(samples.names[k])}
        values = [column[k].tolist() for column in samples.columns]
        message |= dict(zip(("position", "velocity", "effort"), values, strict=True))
        told.append(("/arm/joint_states", message, stamp))
    write_messages(tmp_path / "bag", prefix, TYPES, told)
    checked = open_recording(tmp_path / "bag").arm("").checked(robot().joint_names, PERIOD)
    whole = free_motion()
    assert checked.count(DefectKind.OTHER_ORDER) == 120
    assert checked.count(DefectKind.NOT_FINITE) == 1
    assert checked.count(DefectKind.GAP) == 2
    assert checked.position[:100] == pytest.approx(whole.columns[0][:100])
    assert checked.torque[119] == pytest.approx(whole.columns[2][149])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"time": np.zeros(0)}, "rows"),
        ({"names": [("a", "b")] * 3}, "rows"),
        ({"position": np.zeros((3, 2))}, "rows"),
        ({"period": 0.0}, "period"),
        ({"joints": ("a", "a")}, "joints"),
        ({"joints": ()}, "joints"),
    ],
)
def test_what_is_not_allowed_is_named(change, words):
    numbers = np.zeros((2, 2))
    arguments = {"time": np.array([0.0, 0.001]), "names": ("a", "b"), "position": numbers, "velocity": numbers}
    arguments |= {"torque": numbers, "joints": ("b", "a"), "period": PERIOD}
    assert check_samples(**arguments).count(DefectKind.OTHER_ORDER) == 2
    with pytest.raises(InvalidInputError, match=words):
        check_samples(**{**arguments, **change})
