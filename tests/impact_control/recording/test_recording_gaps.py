"""Loss is reported where it happened, and no statement is made for which the samples are missing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from impact_control.recording.analysis import analyse
from impact_control.recording.gaps import Gaps, with_gaps
from impact_control.recording.measures import CommandLimits
from impact_control.recording.motion_figures import Envelope, RunData
from impact_control.recording.report import FIGURES
from impact_control.recording.series import read_bag
from impact_control.recording.summary import Mark, summarise
from recording_samples import EPOCH_NS, TORQUE_LIMITS, TYPES, SampleRun, messages, write_messages

LIMITS = CommandLimits(TORQUE_LIMITS, np.full(7, 1000.0))
RUN = SampleRun()
DECISIONS = ("/arm/impact/events", "/arm/impact/classification")
Lost = Callable[[float], bool]


@pytest.fixture(scope="module")
def bag_without(prefix, tmp_path_factory):
    """The made-up run as a recorder kept it that lost the stream at some times [s]; decisions are reliable.

    without: topics that were not recorded. peak: time [s] of a torque, and its part of the limit. repeated: times [s]
    at which a joint state repeats the one before.
    """

    def told(lost, without, peak, repeated):
        measured = {}
        for topic, content, log_time in messages(RUN):
            time = (log_time - EPOCH_NS) * 1e-9
            if topic.endswith("/joint_states"):
                if repeated(time):
                    content |= measured
                measured = {key: content[key] for key in ("position", "velocity", "effort")}
            if topic.endswith("/status") and time > peak[0]:
                content["peak_torque_share"] = max(content["peak_torque_share"], peak[1])
            if topic not in without and (topic in DECISIONS or not lost(time)):
                yield topic, content, log_time

    def write(lost, without=(), peak=(0.0, 0.0), repeated=lambda time: False):
        directory = tmp_path_factory.mktemp("gaps") / "run"
        write_messages(directory, prefix, TYPES, told(lost, without, peak, repeated))
        return read_bag(directory)

    return write


@pytest.fixture(scope="module")
def analysis_without(bag_without):
    return lambda *arguments, **more: analyse(bag_without(*arguments, **more), limits=LIMITS)


def rows(analysis):
    return {row.label: (row.value, row.mark) for row in summarise(analysis).rows}


def test_a_whole_recording_says_nothing_of_gaps(analysis_without):
    analysis = analysis_without(lambda time: False)
    assert analysis.gaps.missing == 0
    assert analysis.withheld == ()
    assert analysis.within_limits
    assert analysis.repeats == 0
    assert not {"Recording", "Not known", "Repeats"} & set(rows(analysis))


def test_repeated_joint_states_are_counted(analysis_without):
    analysis = analysis_without(lambda time: False, repeated=lambda time: 0.4 < time < 0.4095)
    assert analysis.repeats == 5
    shown = rows(analysis)["Repeats"]
    assert shown == ("5 joint states repeat the one before and are no new samples", Mark.PLAIN)


def test_only_gaps_break_a_line():
    time = np.array([0.0, 0.001, 0.003, 0.004, 0.054, 0.055])
    broken, values, counts = with_gaps(time, np.ones((6, 2)), np.arange(6))
    np.testing.assert_allclose(broken, [0.0, 0.001, 0.003, 0.004, 0.029, 0.054, 0.055])
    assert np.flatnonzero(np.isnan(values).all(axis=1)).tolist() == np.flatnonzero(np.isnan(counts)).tolist() == [4]
    slow = 0.02 * np.arange(5)
    assert with_gaps(slow, slow)[0].size == 5 and with_gaps(slow[:1], slow[:1])[0].size == 1


def test_no_figure_joins_what_a_gap_has_parted(bag_without):
    bag = bag_without(lambda time: 0.6 < time < 0.85)
    time = RUN.time[(RUN.time <= 0.6) | (RUN.time >= 0.85)]
    bound = np.ones((time.size, 7))
    run = RunData(bag, analyse(bag, limits=LIMITS), envelope=Envelope(time, -bound, bound, bound))
    checked = 0
    for entry in FIGURES:
        figure = entry.draw(run)
        for axes in [] if figure is None else figure.axes:
            for line in axes.lines:
                x, y = np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)
                if x.size > 10:
                    scale = 1e3 if "[ms]" in figure.axes[-1].get_xlabel() and x[-1] > 10.0 else 1.0
                    drawn = np.isfinite(y[1:]) & np.isfinite(y[:-1])
                    assert np.diff(x)[drawn].max() < 0.2 * scale, (entry.name, line.get_label())
                    checked += 1
    assert checked > 60


def test_a_stopped_recorder_is_reported_with_what_is_not_known(analysis_without):
    analysis = analysis_without(lambda time: 0.45 < time < 0.75)
    assert analysis.gaps.missing == 150
    assert analysis.gaps.longest == pytest.approx(0.302, abs=2.1e-3)
    assert analysis.gross_post_velocity is None
    assert analysis.withheld == ("velocity before and after the impact",)
    shown = rows(analysis)
    assert shown["Recording"][0].startswith("150 samples missing, the longest gap 302 ms after")
    assert shown["Recording"][1] is Mark.BAD
    assert shown["Not known"][1] is Mark.BAD
    verdict = summarise(analysis).verdict
    assert verdict.startswith("AS EXPECTED, as far as was recorded (150 samples missing): impact detected 3.6 ms")
    assert verdict.endswith("as expected, limits kept, at rest.")


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


def test_a_torque_above_its_limit_is_found_though_its_command_is_lost(analysis_without):
    """The controller counts the largest torque itself."""
    lost = lambda time: 0.45 < time < 0.75  # noqa: E731
    assert analysis_without(lost, peak=(0.6, 1.02)).within_limits is False
    assert analysis_without(lost, peak=(0.6, 1.0)).within_limits is True


def test_without_the_count_of_the_controller_lost_commands_withhold_the_limits(analysis_without):
    analysis = analysis_without(lambda time: 0.45 < time < 0.75, without=("/arm/controller/status",))
    assert analysis.within_limits is None
    assert analysis.withheld == ("velocity before and after the impact", "whether the torque kept its limits")
    assert "limits kept" not in summarise(analysis).verdict
    assert analysis_without(lambda time: False, without=("/arm/controller/status",)).within_limits is True
