"""Files that vary a scenario: what each trial gets, and what is refused in one line."""

from __future__ import annotations

import pytest

from impact_control.scenario import load_scenario
from impact_control.scenario.variation import variations
from impact_control.util.errors import ScenarioError

SCENE = load_scenario("tabletop")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "vary.yaml"


def test_each_trial_takes_the_next_value_of_each_list(file):
    file.write_text("task.impact.speed: [0.1 m/s, 0.2 m/s, 0.15 m/s]\ntask:\n  post:\n    force: [20 N, 30 N]\n")
    found = variations(SCENE, file, 5)
    assert [one.scene.arm().task.impact.speed for one in found] == [0.1, 0.2, 0.15, 0.1, 0.2]
    assert [one.scene.arm().task.post.force for one in found] == [20.0, 30.0, 20.0, 30.0, 20.0]
    assert found[1].changes == {"task.impact.speed": "0.2 m/s", "task.post.force": "30 N"}
    assert {one.scene.name for one in found} == {"tabletop"}


def test_without_a_file_all_trials_are_alike():
    assert [one.changes for one in variations(SCENE, None, 2)] == [{}, {}]


@pytest.mark.parametrize(
    ("text", "line", "key", "allowed"),
    [
        ("# a comment\ntask.impact.speed: [0.1 m/s, fast]", 2, "task.impact.speed", "m/s"),
        ("task.impact.sped: [0.1 m/s]", 1, "task.impact.sped", "speed"),
        ("task.impact.speed: []", 1, "task.impact.speed", "a list of values"),
        ("task.impact: [{speed: 0.1 m/s}]", 1, "task.impact", "a list of values"),
        ("simulation.seed: [1, 2]", 1, "simulation.seed", "entries of task, expected_environment"),
        ("classification.method: [simultaneous]", 1, "classification.method", "but not classification.method"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(file, text, line, key, allowed):
    file.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        variations(SCENE, file, 3, ("classification.method",))
    words = str(caught.value)
    assert words.startswith(f"{file}:{line}: {key}: ") and allowed in words and "\n" not in words
