"""Loss is reported where it happened, and no statement is made for which the samples are missing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from impact_control.recording.analysis import RunAnalysis, analyse
from impact_control.recording.bag import BagWriter
from impact_control.recording.gaps import Gaps, unseen_torque
from impact_control.recording.measures import CommandLimits
from impact_control.recording.series import read_bag
from impact_control.recording.summary import Mark, summarise
from recording_samples import EPOCH_NS, TYPES, SampleRun, encoder, install_messages, messages

LIMITS = CommandLimits(np.array([87.0] * 4 + [12.0] * 3), np.full(7, 1000.0))
RUN = SampleRun()
DECISIONS = ("/arm/impact/events", "/arm/impact/classification")
Lost = Callable[[float], bool]


@pytest.fixture(scope="module")
def analysis_without(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Lost], RunAnalysis]:
    """The made-up run as a recorder kept it that lost the stream at some times [s]; decisions are reliable."""
    prefix = install_messages(tmp_path_factory.mktemp("prefix"))
    encoders = {topic: encoder(kind, prefix) for topic, kind in TYPES.items()}

    def write(lost: Lost) -> RunAnalysis:
        directory = tmp_path_factory.mktemp("gaps") / "run"
        with BagWriter(directory, search_paths=[prefix]) as bag:
            for topic, content, log_time in messages(RUN):
                if topic in DECISIONS or not lost((log_time - EPOCH_NS) * 1e-9):
                    bag.write(topic, TYPES[topic], encoders[topic](content), log_time)
        return analyse(read_bag(directory), limits=LIMITS)

    return write


def rows(analysis: RunAnalysis) -> dict[str, tuple[str, Mark]]:
    return {row.label: (row.value, row.mark) for row in summarise(analysis).rows}


def test_a_whole_recording_says_nothing_of_gaps(analysis_without):
    analysis = analysis_without(lambda time: False)
    assert analysis.gaps.missing == 0
    assert analysis.withheld == ()
    assert analysis.within_limits
    assert not {"Recording", "Not known"} & set(rows(analysis))


def test_a_stopped_recorder_is_reported_with_what_is_not_known(analysis_without):
    analysis = analysis_without(lambda time: 0.45 < time < 0.75)
    assert analysis.gaps.missing == 150
    assert analysis.gaps.longest == pytest.approx(0.302, abs=2.1e-3)
    assert analysis.gross_post_velocity is None
    assert analysis.within_limits is None
    assert analysis.withheld == ("velocity before and after the impact", "whether the torque kept its limits")
    shown = rows(analysis)
    assert shown["Recording"][0].startswith("150 samples missing, the longest gap 302 ms after")
    assert shown["Recording"][1] is Mark.BAD
    assert shown["Not known"][1] is Mark.BAD
    verdict = summarise(analysis).verdict
    assert verdict.startswith("AS EXPECTED, as far as was recorded (150 samples missing): impact detected 3.6 ms")
    assert "limits kept" not in verdict


def test_a_gap_right_after_the_impact_leaves_the_rest_of_the_report(analysis_without):
    analysis = analysis_without(lambda time: RUN.impact_time - 0.001 < time < RUN.impact_time + 0.11)
    assert analysis.gross_post_velocity is None
    assert analysis.final_force == pytest.approx(RUN.final_force, rel=0.05)
    assert analysis.outcome == "succeeded"


def test_a_gap_in_the_window_of_the_final_force_withholds_it(analysis_without):
    analysis = analysis_without(lambda time: 1.05 < time < 1.15)
    assert analysis.final_force is None
    assert "final normal force" in analysis.withheld
    assert analysis.gross_post_velocity is not None


def test_single_lost_samples_are_counted_and_withhold_nothing(analysis_without):
    analysis = analysis_without(lambda time: round(time * RUN.rate) % 50 == 25)
    assert analysis.gaps.missing == 12
    assert analysis.withheld == ()
    assert analysis.within_limits
    assert rows(analysis)["Recording"][1] is Mark.PLAIN


def test_gaps_are_found_whatever_the_order_of_arrival():
    time = np.delete(np.arange(100) * 1e-3, [10, 11, 12, 50])
    gaps = Gaps.between(np.random.default_rng(2).permutation(time), 1e-3)
    assert gaps.missing == 4
    np.testing.assert_allclose(gaps.start, [0.009, 0.049])
    assert gaps.covers(0.0, 0.1)  # none of them is long
    assert not Gaps.between(np.array([0.0, 0.001, 0.03, 0.031]), 1e-3).covers(0.02, 0.025)


@given(st.integers(0, 10_000), st.integers(1, 40), st.floats(10.0, 1000.0))
def test_no_torque_in_a_gap_is_above_its_bound(seed, length, rate):
    random = np.random.default_rng(seed)
    steps = random.choice([-1.0, 1.0], (300, 7)) * rate * 1e-3 * random.uniform(0.0, 1.0, (300, 1)) ** 0.1
    torque, time = np.cumsum(steps, axis=0), np.arange(300) * 1e-3
    start = int(random.integers(1, 299 - length))
    lost = slice(start, start + length)
    for number in (None, length, length + 3):
        bound = unseen_torque(np.delete(time, lost), np.delete(torque, lost, axis=0), 1e-3, rate, number)
        assert bound is not None
        assert np.all(np.abs(torque[lost]).max(axis=0) <= bound + 1e-9)


def test_the_bound_is_reached_by_the_fastest_torque():
    time = np.array([0.0, 1.0, 11.0, 12.0]) * 1e-3
    torque = np.array([[0.0], [1.0], [1.0], [0.0]])
    np.testing.assert_allclose(unseen_torque(time, torque, 1e-3, 1000.0), [6.0])
    assert unseen_torque(time[:2], torque[:2], 1e-3, 1000.0) is None
    np.testing.assert_allclose(unseen_torque(time, torque, 1e-3, 1000.0, lost=9), [6.0])
    np.testing.assert_allclose(unseen_torque(time, torque, 1e-3, 1000.0, lost=3), [3.0])
    assert unseen_torque(time, torque, 1e-3, 1000.0, lost=0) is None
