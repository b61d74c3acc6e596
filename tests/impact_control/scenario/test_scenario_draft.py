"""Scenarios from a few answers: the file says what was answered, and nothing else than the tabletop does."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_control.scenario import load_scenario
from impact_control.scenario.draft import QUESTIONS, draft_from, draft_text
from impact_control.util.errors import InvalidInputError
from random_tasks import TABLETOP

ANSWERS = st.fixed_dictionaries(
    {},
    optional={
        "robot": st.sampled_from(["panda", "fr3"]),
        "x": st.floats(0.3, 0.6),
        "y": st.floats(-0.3, 0.3),
        "z": st.floats(0.05, 0.5),
        "tilt": st.floats(0.0, 35.0),
        "towards": st.floats(-180.0, 180.0),
        "friction": st.floats(0.0, 0.6),
        "speed": st.floats(0.05, 0.5),
        "angle": st.floats(10.0, 90.0),
        "heading": st.floats(-180.0, 180.0),
        "force": st.floats(1.0, 60.0),
        "slide": st.floats(0.0, 0.1),
    },
)


@settings(deadline=None, max_examples=25)
@given(ANSWERS)
def test_the_file_says_what_was_answered(tmp_path_factory: pytest.TempPathFactory, answers: dict[str, object]) -> None:
    place = tmp_path_factory.mktemp("draft") / "mine.yaml"
    draft = draft_from({name: str(value) for name, value in answers.items()})
    place.write_text(draft_text(draft.entries(), place))
    scenario = load_scenario(place).arm()
    assert scenario.name == "mine"
    impact, expected, actual = scenario.task.impact, scenario.expected_environment.surface, scenario.actual_surface
    assert actual is not None
    np.testing.assert_allclose(impact.position, [draft.x, draft.y, draft.z], atol=1e-3)
    assert math.degrees(impact.approach_angle) == pytest.approx(draft.angle, rel=1e-3)
    assert (impact.speed, scenario.task.post.slide) == pytest.approx((draft.speed, draft.slide), rel=1e-3)
    for surface in (expected, actual):
        assert math.degrees(math.acos(min(1.0, surface.normal[2]))) == pytest.approx(draft.tilt, abs=1e-2)
        # Water runs down where the surface falls: there its normal leans.
        fall = np.array([math.cos(math.radians(draft.towards)), math.sin(math.radians(draft.towards))])
        assert surface.normal[:2] @ fall == pytest.approx(math.sin(math.radians(draft.tilt)), abs=1e-5)
        assert surface.friction == pytest.approx(draft.friction, rel=1e-3, abs=1e-9)
    base = TABLETOP.arm()
    assert scenario.classification.time_error == base.classification.time_error
    np.testing.assert_array_equal(scenario.task.home_configuration, base.task.home_configuration)


@pytest.mark.parametrize(("name", "text"), [("sped", "1"), ("x", "nan"), ("force", "30 N"), ("tilt", "")])
def test_what_is_no_answer_is_named(name: str, text: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{name}.*allowed: (one of robot|a finite number)"):
        draft_from({name: text})


def test_the_command_writes_what_the_planner_accepts(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    call = CliRunner().invoke
    too_fast = call(app, ["new", str(file), "speed=0.6"])
    assert too_fast.exit_code == 1 and not file.exists()
    assert "it can be done with\ntask.impact.speed: 0." in too_fast.output
    assert "speed = 0." in call(app, ["new", str(file), "speed=0.6", "--nearest"]).output
    # Nothing near is in reach: no proposal, and none is promised.
    assert "--nearest" in too_fast.output and "--nearest" not in call(app, ["new", str(file), "z=0.9"]).output
    assert call(app, ["plan", str(file)]).exit_code == 0
    again = call(app, ["new", str(file)])
    assert again.exit_code != 0 and "does not exist yet" in str(again.exception or again.output)


def test_without_values_it_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("impact_control.cli.commands.sys", type("Terminal", (), {"stdin": _Terminal()}))
    answers = {"speed": "0.25"}
    typed = "".join(f"{answers.get(name, '')}\n" for name in QUESTIONS)
    result = CliRunner().invoke(app, ["new", str(tmp_path / "asked.yaml")], input=typed)
    assert result.exit_code == 0, result.output
    assert load_scenario(tmp_path / "asked.yaml").arm().task.impact.speed == 0.25


class _Terminal:
    """Standard input that is a terminal."""

    def isatty(self) -> bool:
        return True
