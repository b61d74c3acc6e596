"""Messages: constants as in the library, commands as rclpy writes them, two events for one impact."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from impact_msgs.msg import ControllerReference
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray

from impact_control.classification import Verdict
from impact_control.control import Fault, Limit, Mode, QPStatus
from impact_control.impacts import SlipOutcome
from impact_control.pipeline import MoveOutcome, Outcome, Pipeline
from impact_control.planning import plan_scenario
from impact_control.planning.assignment import assigned
from impact_control.robots import InertiaModel
from impact_control.scenario import load_scenario
from impact_control.simulation import CommandState
from impact_control_ros.bridge.loop_output import (
    ClassificationWriter,
    CommandReader,
    CommandWriter,
    ImpactEventWriter,
    ReferenceWriter,
)
from impact_control_ros.bridge.messages import FirstOfEvent, nanoseconds

MESSAGES = Path(__file__).resolve().parents[3] / "src" / "impact_msgs"


@pytest.mark.parametrize(
    ("file", "prefix", "enumeration"),
    [
        ("msg/ControllerReference.msg", "", Mode),
        ("msg/ControllerStatus.msg", "FAULT_", Fault),
        ("msg/ControllerStatus.msg", "QP_", QPStatus),
        ("msg/ControllerStatus.msg", "RELAXED_", Limit),
        ("msg/ImpactClassification.msg", "", Verdict),
        ("msg/GroundTruth.msg", "COMMAND_", CommandState),
        ("action/ExecuteImpactTask.action", "", Outcome),
        ("action/MoveTo.action", "", MoveOutcome),
    ],
)
def test_constants_are_those_of_the_core(file, prefix, enumeration):
    text = (MESSAGES / file).read_text()
    written = {
        name: int(value) for name, value in re.findall(rf"^uint8 {prefix}([A-Z_]+) *= *(\d+)", text, re.MULTILINE)
    }
    # No flag is set: not a constant of its own.
    assert written == {
        name: int(value)
        for name, value in enumeration.__members__.items()
        if name != "NONE" or enumeration is not Limit
    }


def test_a_reference_says_what_its_plan_expects_of_the_impact():
    # A force would press away the height.
    task = plan_scenario(load_scenario("tabletop").with_overrides({"task.post.force": "0 N"})).arms[""]
    reference, pipeline = task.reference, Pipeline(task.scenario, task.robot)
    pipeline.reset()
    pipeline.start(reference, task.scenario)
    writer = ReferenceWriter(task.robot.joint_names)
    writer.start(task.scenario, reference)
    message = deserialize_message(serialize_message(writer.write(Time(), pipeline.controller)), ControllerReference)
    assert message.nominal_impact_time == reference.nominal_impact_time
    deviations = ("jump_deviation", "friction_deviation", "configuration_deviation", "height_deviation")
    for name in ("impact_configuration", *deviations):
        expected = getattr(reference, name)
        assert np.any(expected != 0.0)
        np.testing.assert_array_equal(getattr(message, name), expected)


def test_a_verdict_says_what_it_was_judged_by():
    task = assigned("tabletop")
    pipeline, tuning = Pipeline(task.scenario, task.robot), task.scenario.classification
    pipeline.start(task.plan().reference, task.scenario)
    message = ClassificationWriter(task.scenario, 7).write(pipeline.judge)
    assert message.time_error_limit == tuning.time_error
    assert message.configuration_error_limit == pipeline.judge.classifier.configuration_limit
    assert message.configuration_error_limit > tuning.configuration_error


@pytest.mark.parametrize(("half", "enumeration"), [(0, InertiaModel), (1, SlipOutcome)])
def test_constants_of_the_predictor_are_those_of_the_core(half, enumeration):
    text = (MESSAGES / "srv/PredictPostImpact.srv").read_text().split("---")[half]
    written = {name: int(value) for name, value in re.findall(r"^uint8 ([A-Z_]+) *= *(\d+)", text, re.MULTILINE)}
    assert written == {name: int(value) for name, value in enumeration.__members__.items()}


JOINTS = st.lists(st.text("abj_1234", min_size=1, max_size=12), min_size=1, max_size=14)


@given(JOINTS, st.data())
def test_writes_what_rclpy_writes(names, data):
    values = data.draw(arrays(float, len(names)))
    written = CommandWriter(names).write(values)
    command = deserialize_message(written, Float64MultiArray)
    assert len(written) == len(serialize_message(command))
    np.testing.assert_array_equal(command.data, values)
    (dimension,) = command.layout.dim
    assert (dimension.label, dimension.size, dimension.stride) == (",".join(names), len(names), len(names))


OBSERVER = SimpleNamespace(residual=np.array([1.0, 2.0]), residual_rate=np.array([3.0, 4.0]))


def detector(index, link, settled):
    return SimpleNamespace(index=index, isolated_link=link, link_settled=settled, triggered=np.array([True, False]))


def impact(writer, index, link=-1, settled=False):
    """Stamps and links of what is sent at an impact."""
    stamp = 1_000_000 * index
    events = writer.impact(stamp, stamp - 500_000, detector(index, link, settled), OBSERVER, np.zeros(2), np.ones(2))
    return [(event.index, event.isolated_link) for event in events], events[-1]


def test_the_event_comes_again_with_the_link_once_that_is_settled():
    writer = ImpactEventWriter(("a", "b"))
    assert not writer.waiting
    sent, event = impact(writer, 1)
    assert sent == [(1, -1)]
    assert (nanoseconds(event.header.stamp), nanoseconds(event.impact_time)) == (1_000_000, 500_000)
    assert list(event.external_torque) == [1.0, 2.0] and list(event.joint_velocity) == [1.0, 1.0]
    assert writer.settle(detector(1, 1, False)) == [] and writer.waiting
    (again,) = writer.settle(detector(1, 2, True))
    assert (again.index, again.isolated_link, nanoseconds(again.header.stamp)) == (1, 2, 1_000_000)
    assert not writer.waiting


def test_without_isolation_an_event_comes_once():
    writer = ImpactEventWriter(("a", "b"))
    assert impact(writer, 1, link=2, settled=True)[0] == [(1, 2)]
    assert not writer.waiting


def test_the_next_impact_ends_the_waiting_with_the_link_known_by_then():
    writer = ImpactEventWriter(("a", "b"))
    impact(writer, 1)
    writer.settle(detector(1, 2, False))
    assert impact(writer, 2)[0] == [(1, 2), (2, -1)]
    writer.reset()
    assert not writer.waiting


def test_a_receiver_takes_both_messages_of_an_impact_as_one():
    writer, is_new = ImpactEventWriter(("a", "b")), FirstOfEvent()
    first = impact(writer, 1)[1]
    assert is_new(first)
    assert not is_new(writer.settle(detector(1, 2, True))[0])
    assert is_new(impact(writer, 2)[1])
    # A detector that was reset counts from 1 again: the stamp tells.
    restarted = impact(ImpactEventWriter(("a", "b")), 2)[1]
    restarted.header.stamp.sec = 5
    assert is_new(restarted)


@given(JOINTS)
def test_commands_are_read_as_they_were_written_whatever_the_padding_is(names):
    n = len(names)
    sent, taken, reader = np.arange(n) - 3.0, np.zeros(n), CommandReader(names)
    written = CommandWriter(names).write(sent)
    # CDR aligns the four integers after the label to 4 bytes, and the numbers to 8 behind the encapsulation.
    label_end = 4 + 4 + 4 + len(",".join(names)) + 1
    integers_end = label_end + -label_end % 4 + 16
    padding = [*range(label_end, integers_end - 16), *range(integers_end, len(written) - 8 * n)]
    for fill in (0, 255):
        data = bytearray(written)
        for at in padding:
            data[at] = fill
        taken[:] = 0.0
        assert reader.read(bytes(data), taken)
        np.testing.assert_array_equal(taken, sent)
        np.testing.assert_array_equal(deserialize_message(bytes(data), Float64MultiArray).data, sent)


def test_a_reader_leaves_the_torques_at_commands_for_others():
    names = [f"joint{i}" for i in range(7)]
    taken, reader = np.full(7, 5.0), CommandReader(names)
    data = CommandWriter(names).write(np.zeros(7))
    swapped = CommandWriter([names[1], names[0], *names[2:]]).write(np.zeros(7))
    fewer = CommandWriter(names[:6]).write(np.zeros(6))
    for other in (data[:-8], data + bytes(8), swapped, fewer, b"", bytes(len(data))):
        assert not reader.read(other, taken)
    assert (taken == 5.0).all()


def test_a_reader_takes_commands_without_a_label():
    """As those of a controller that is not ours."""
    names, taken = [f"joint{i}" for i in range(7)], np.zeros(7)
    sent = np.arange(7.0)
    data = serialize_message(Float64MultiArray(data=sent.tolist()))
    assert CommandReader(names).read(data, taken)
    np.testing.assert_array_equal(taken, sent)
    assert not CommandReader(names).read(serialize_message(Float64MultiArray(data=[1.0] * 6)), taken)
