"""What is seen at a moment is what the messages said, whether they just came or lie in a bag."""

from __future__ import annotations

import math

import numpy as np
import pytest

from impact_control.classification import Verdict
from impact_control.control import Mode
from impact_control.recording.messages import decode, message_definition, parse_definition, short_name
from impact_control.recording.series import read_bag
from impact_control.view.frame import PLOT_SPAN, arm_frame, courses_of
from impact_control.view.panel import ALL_JOINTS, plots_of
from impact_control.view.recorded import signals_of_recording
from impact_control.view.signals import LAYOUTS, GrowingSignals, RecordedSignals, Signal, signals_of
from recording_samples import (
    EPOCH_NS,
    JOINTS,
    TYPES,
    SampleRun,
    encoder,
    messages,
    write_run,
)

RUN = SampleRun()


@pytest.fixture(scope="module")
def recorded(prefix, tmp_path_factory):
    directory = tmp_path_factory.mktemp("bag") / "bag"
    write_run(directory, prefix, RUN)
    return signals_of_recording(read_bag(directory), JOINTS)


def heard(prefix, handful):
    """The same run as the viewer hears it: serialised messages, some at a time."""
    signals = GrowingSignals(span=100.0)
    types = {topic: parse_definition(kind, message_definition(kind, [prefix])) for topic, kind in TYPES.items()}
    waiting = {}

    def take():
        for topic, payloads in waiting.items():
            end = next((key for key in LAYOUTS if topic.endswith("/" + key)), None)
            if end is not None:
                columns = decode(payloads, types[topic], short_name(TYPES[topic]))
                time = (columns["header.stamp"].astype(np.int64) - EPOCH_NS) / 1e9
                signals.extend(signals_of(end, columns, time, JOINTS))
        waiting.clear()

    for count, (topic, content, _) in enumerate(messages(RUN)):
        waiting.setdefault(topic, []).append(encoder(TYPES[topic], prefix)(content))
        if count % handful == handful - 1:
            take()
    take()
    return signals


@pytest.mark.parametrize("time", [0.1, 0.502, 0.6, 1.19])
@pytest.mark.parametrize("handful", [40, 333])
def test_what_was_just_heard_and_what_was_recorded_look_the_same(prefix, recorded, time, handful):
    live = arm_frame(heard(prefix, handful), time, time - 0.04)
    bag = arm_frame(recorded, time, time - 0.04)
    for name, value in vars(bag).items():
        np.testing.assert_array_equal(getattr(live, name), value, err_msg=name)


def test_before_anything_was_heard_nothing_is_known():
    frame = arm_frame(RecordedSignals(), 0.0, -1.0)
    assert frame.position is None and frame.mode is None and frame.contact_force is None and frame.peak_rate is None
    assert frame.post_impact is Verdict.NOT_STARTED and frame.reason == "" and math.isnan(frame.task_time)


def test_the_force_is_the_largest_since_the_frame_before():
    time = np.arange(100) * 1e-3
    force, points = np.zeros((100, 3)), np.zeros((100, 4))
    force[50], points[50] = [0.0, 0.0, 900.0], [900.0, 0.0, 0.0, 0.0]
    force[60:], points[60:] = [0.0, 0.0, 30.0], [10.0, 10.0, 10.0, 0.0]
    signals = RecordedSignals(contact_force=Signal(time, force), point_forces=Signal(time, points))
    impact = arm_frame(signals, 0.07, 0.03)
    assert impact.contact_force[2] == 900.0 and impact.point_forces[0] == 900.0
    assert arm_frame(signals, 0.09, 0.07).contact_force[2] == 30.0
    # Nothing new has come: what was last known stays.
    later = arm_frame(signals, 5.0, 4.9)
    assert later.contact_force[2] == 30.0 and np.count_nonzero(later.point_forces) == 3


def test_joints_come_in_the_order_of_the_robot_and_messages_of_other_joints_tell_nothing():
    columns = {"name": [["b", "x", "a"]] * 2, "position": np.arange(6.0).reshape(2, 3), "velocity": np.zeros((2, 3))}
    found = signals_of("joint_states", columns, np.array([0.0, 1.0]), ("a", "b"))
    np.testing.assert_array_equal(found["position"].value, [[2.0, 0.0], [5.0, 3.0]])
    assert not signals_of("joint_states", columns, np.array([0.0, 1.0]), ("a", "c"))


def test_arrays_of_changing_length_are_left_out():
    columns = {"name": [["a"], ["a"]], "position": [np.zeros(1), np.zeros(2)], "velocity": np.zeros((2, 1))}
    assert set(signals_of("joint_states", columns, np.array([0.0, 1.0]), ("a",))) == {"velocity"}


def test_plots_show_the_reference_that_is_followed(recorded):
    courses = courses_of(recorded, RUN.time[-1], 7)
    assert courses.time[-1] == pytest.approx(0.0, abs=0.011) and courses.time[0] >= -PLOT_SPAN
    time = courses.time + RUN.time[-1]
    before, after = np.searchsorted(time, [0.3, 0.9])
    for row, planned in ((before, RUN.ante_velocity), (after, RUN.post_velocity)):
        np.testing.assert_allclose(courses.reference[row], planned(time[row : row + 1])[0], atol=5e-3)
    assert np.isfinite(np.hstack([vars(courses)[name] for name in vars(courses) if name != "time"])).all()


def test_lost_samples_are_a_gap_and_not_zero():
    time = np.delete(np.arange(0.0, 2.0, 1e-3), np.arange(1000, 1400))
    ones = np.ones((time.size, 7))
    signals = RecordedSignals(
        **{name: Signal(time, ones) for name in ("velocity", "residual", "ante_velocity", "post_velocity")},
        mode=Signal(time, np.full((time.size, 1), float(Mode.POST))),
        contact_force=Signal(time, ones[:, :3]),
        desired_force=Signal(time[time > 0.5], ones[time > 0.5, :3]),
    )
    courses = courses_of(signals, 1.999, 7)
    at = courses.time + 1.999
    lost = (at > 1.06) & (at < 1.39)
    for name, values in vars(courses).items():
        if name != "time":
            assert np.isnan(values[lost]).all(), name
            later = values[(at > 0.6) & ((at < 1.0) | (at > 1.41))]
            assert np.isfinite(later).all() and later.all(), name
    assert (courses.desired_force[at < 0.49] == 0.0).all()  # not yet known
    for plot in plots_of(courses, ALL_JOINTS):
        assert len(plot.lines) == len(plot.data) and np.isfinite(plot.scale).all()
        for points in plot.data[1:]:
            assert (np.diff(np.flatnonzero(np.isfinite(points))) == 1).all()  # uPlot would join what NaN parts


def test_plots_of_nothing_can_be_drawn():
    courses = courses_of(RecordedSignals(), 3.0, 7)
    assert courses.velocity.shape == (len(courses.time), 7) and len(courses.time) >= 2
    assert not courses.velocity.any() and not courses.contact_force.any()
