"""The panel says mode, verdicts and numbers in words, and its bars stand where the threshold is."""

from __future__ import annotations

import re

import numpy as np
import pytest

from impact_control.classification import Verdict
from impact_control.control import Fault, Mode
from impact_control.view.frame import ArmFrame, Courses, courses_of
from impact_control.view.panel import (
    ALL_JOINTS,
    MODE_COLORS,
    VERDICT_COLORS,
    arm_panel,
    empty_courses,
    joint_choices,
    plots_of,
    rate_bars,
)
from impact_control.view.signals import RecordedSignals


def text(page):
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def bars(frame):
    return [float(width) for width in re.findall(r"<div style='width:([\d.]+)%", rate_bars(frame))]


def test_every_mode_and_verdict_has_a_colour():
    assert set(MODE_COLORS) == set(Mode) and set(VERDICT_COLORS) == set(Verdict)


def test_mode_verdicts_and_reason_are_said():
    frame = ArmFrame(
        mode=Mode.PULL_BACK,
        impact=Verdict.UNEXPECTED,
        post_impact=Verdict.NOT_STARTED,
        reason="0.2 s < T & <b>late</b>",
    )
    page = arm_panel("left", frame)
    said = text(page)
    assert said.startswith("left Mode pull back Impact unexpected After it not started")
    assert "0.2 s &lt; T &amp; &lt;b&gt;late" in page
    assert MODE_COLORS[Mode.PULL_BACK] in page and VERDICT_COLORS[Verdict.UNEXPECTED] in page


def test_a_fault_is_said_with_its_reason_and_nothing_is_said_of_nothing():
    assert "Mode fault: state stale" in text(arm_panel("", ArmFrame(mode=Mode.FAULT, fault=Fault.STATE_STALE)))
    nothing = text(arm_panel("", ArmFrame()))
    assert "Mode no data" in nothing and "nan" not in nothing


def test_numbers_come_with_their_units():
    frame = ArmFrame(
        contact_force=np.array([3.0, 0.0, 4.0]),
        desired_force=np.array([0.0, 0.0, -30.0]),
        peak_force=8991.2,
        task_time=1.456,
        position_error=0.00042,
        impacts=2,
        isolated_link=6,
        missed_samples=3,
    )
    said = text(arm_panel("", frame))
    for part in (
        "Task time 1.46 s",
        "Impacts 2, link 6",
        "Contact force 5 N, peak 8991 N",
        "Desired force 30 N",
        "Position error 0.4 mm",
        "Missed samples 3",
    ):
        assert part in said


@pytest.mark.parametrize(("share", "width"), [(0.0, 0.0), (0.5, 35.0), (1.0, 70.0), (50.0, 100.0)])
def test_a_bar_reaches_its_mark_at_the_threshold(share, width):
    threshold = np.array([800.0, 30.0])
    frame = ArmFrame(residual=np.zeros(2), peak_rate=share * threshold, rate_threshold=threshold)
    assert bars(frame) == [width, width]
    assert ("#e03131" in rate_bars(frame)) == (share > 1.0)


def test_without_a_threshold_there_is_no_bar_but_the_numbers():
    frame = ArmFrame(residual=np.array([1.5]), peak_rate=np.array([20.0]))
    assert bars(frame) == [0.0] and "20" in text(rate_bars(frame)) and "+1.50" in text(rate_bars(frame))
    assert rate_bars(ArmFrame()) == ""


def test_plots_have_the_lines_that_were_chosen():
    courses = courses_of(RecordedSignals(), 1.0, 7)
    velocity, force, torque = plots_of(courses, ALL_JOINTS)
    assert len(velocity.lines) == len(velocity.data) == 15 and len(torque.data) == 8 and len(force.data) == 3
    velocity, _, torque = plots_of(courses, joint_choices(7)[4])
    assert [line["label"] for line in velocity.lines] == ["t", "4", "4 ref"] and len(torque.data) == 2


def test_the_scale_of_the_force_holds_what_is_desired():
    quiet = empty_courses(7)
    assert plots_of(quiet, ALL_JOINTS)[1].scale == (0.0, 100.0)
    pressed = Courses(**{**vars(quiet), "desired_force": np.full((2, 1), 60.0)})
    assert plots_of(pressed, ALL_JOINTS)[1].scale == (0.0, 180.0)
