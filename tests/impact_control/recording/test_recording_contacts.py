"""Ground truth of several contacts and of touches, read from a recording and drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from impact_control.recording.analysis import analyse
from impact_control.recording.measures import contact_forces, touch_torques
from impact_control.recording.motion_figures import RunData, task_space
from impact_control.recording.series import Topics, read_bag
from impact_control.recording.torque_figures import residual
from recording_samples import write_run

STAMPS = np.linspace(0.0, 0.4, 5)


@dataclass
class Truth:
    """A recording of nothing but the ground truth, in columns."""

    columns: dict[str, Any] = field(default_factory=dict)

    def get(self, topic):
        assert topic == Topics.truth
        return {"stamp": STAMPS, "time": STAMPS + 7.0, **self.columns}


def test_forces_and_touches_come_with_their_stamps():
    forces, torques = np.arange(10.0).reshape(5, 2), np.zeros((5, 7))
    assert touch_torques(Truth({"external_torque": torques})) is None
    torques[2, 3] = 4.0
    truth = Truth({"contact_normal_forces": forces, "external_torque": torques})
    for (stamps, values), expected in ((contact_forces(truth), forces), (touch_torques(truth), torques)):
        np.testing.assert_array_equal(stamps, STAMPS)
        np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("read", [contact_forces, touch_torques])
@pytest.mark.parametrize("column", [None, [[1.0], [1.0, 2.0], [], [], []]])
def test_a_recording_without_them_says_so(read, column):
    names = ("contact_normal_forces", "external_torque")
    assert read(Truth({} if column is None else dict.fromkeys(names, column))) is None


@pytest.fixture(scope="module")
def recording(prefix, tmp_path_factory):
    directory = tmp_path_factory.mktemp("bag") / "run"
    write_run(directory, prefix)
    return read_bag(directory)


def drawn(figure, label_part):
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return [label for label in labels if label_part in label]


def add_to_truth(recording, **columns):
    truth = recording.series(Topics.truth)
    truth.update(columns)
    return RunData(recording, analyse(recording))


def test_each_contact_is_drawn_where_there_are_several(recording):
    count = len(recording.series(Topics.truth)["stamp"])
    one = add_to_truth(recording, contact_normal_forces=np.ones((count, 1)))
    assert drawn(task_space(one), "contact") == []
    two = add_to_truth(recording, contact_normal_forces=np.tile([11.0, 12.0], (count, 1)))
    figure = task_space(two)
    assert drawn(figure, "contact") == ["contact 1", "contact 2"]
    lines = [line.get_ydata() for line in figure.axes[-1].get_lines()]
    for value in (11.0, 12.0):
        assert any(len(values) == count and (values == value).all() for values in lines)


def test_touches_are_drawn_beside_the_residual(recording):
    count = len(recording.series(Topics.truth)["stamp"])
    run = add_to_truth(recording, external_torque=np.zeros((count, 7)))
    assert drawn(residual(run), "touch") == []
    assert drawn(residual(add_to_truth(recording, external_torque=np.ones((count, 7)))), "touch")
