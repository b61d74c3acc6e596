"""`impact-control plan`: what it prints, its exit codes, and that nothing of ROS is loaded for it."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from impact_control.cli.main import app, main
from impact_control.planning import budget_of, draft_plan
from impact_control.scenario import config_directory, load_scenario
from impact_control.util.errors import ScenarioError

FAST = ("--set", "task.impact.speed=0.5 m/s")


def plan(*arguments):
    return CliRunner().invoke(app, ["plan", *arguments])


def test_a_feasible_task_is_shown_with_each_limit_and_the_predicted_jump():
    result = plan("tabletop")
    assert result.exit_code == 0, result.output
    budget = budget_of(draft_plan(load_scenario("tabletop")).arms[""])
    for use in budget.uses:
        row = re.compile(rf" {use.quantity.words} +{use.reference.removesuffix('-impact')} .*")
        [line] = filter(row.fullmatch, result.output.splitlines())
        for text in (f"{use.time:.3f} s", f"{use.value:.4g}", use.quantity.unit, f"{use.share:.0%}"):
            assert text in line
    assert "Predicted joint velocity across the impact" in result.output
    assert "FEASIBLE: 57% of a limit at most." in result.output
    assert max(len(line) for line in result.output.splitlines()) <= 80


def test_an_infeasible_task_names_what_is_violated():
    result = plan("tabletop", *FAST)
    assert result.exit_code == 1, result.output
    for words in ("INFEASIBLE", "panda_joint2", "rad/s^2", "task.ante.extension_duration", "-7.5 to 7.5"):
        assert words in result.output


def test_a_pose_out_of_reach_is_infeasible():
    point = "1.2, 0, 0.2 m"
    keys = ("task.impact.position", "expected_environment.surface.point")
    result = plan("tabletop", *(word for key in keys for word in ("--set", f"{key}={point}")))
    assert result.exit_code == 1
    assert "inverse kinematics" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("nowhere",),
        ("tabletop", "--set", "task.impact.speed=0.5"),
        ("tabletop", "--set", "task.impact.haste=1"),
        ("tabletop", "--set", "no value"),
        ("tabletop", "--set", "task.impact.heading=[1, 0"),
        ("tabletop_plate", "--set", "task.impact.orientation=170, 0, -45 deg"),
        ("tabletop", "--set", "detection.own={score: nowhere, threshold: 1}"),
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_a_wrong_file_or_value_is_another_exit_code_and_one_line(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["impact-control", "plan", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert ended.value.code == 2, printed
    assert printed.err.startswith("impact-control: ") and not printed.out


def test_json_has_all_of_it():
    result = plan("push_parcel_2", "--json")
    assert result.exit_code == 0
    values = json.loads(result.stdout)
    budget = budget_of(draft_plan(load_scenario("push_parcel_2")).arms["left"])
    left = values["arms"]["left"]
    assert values["feasible"] is True
    assert [use["share"] for use in left["limits"]] == [use.share for use in budget.uses]
    assert len(left["impact"]["velocity_after"]) == 7
    assert json.loads(plan("tabletop", *FAST, "--json").stdout)["refusals"]


def test_values_are_set_as_they_would_stand_in_a_file(tmp_path):
    for line in ("task.impact.speed=0.3 m/s", "task.impact.speed: 0.3 m/s", " task.impact.speed = 0.3 m/s"):
        values = json.loads(plan("tabletop", "--json", "--set", line).stdout)
        assert values == json.loads(plan("tabletop", "--json", "--set", "task.impact.speed=0.3 m/s").stdout)
    turned = plan("tabletop", "--set", "task.impact.heading=[0, 1, 0]", "--set", "task.impact.approach_angle=90 deg")
    assert turned.exit_code == 0


def test_an_entry_with_a_dotted_key_in_a_file_is_that_of_its_section(tmp_path):
    path = tmp_path / "fast.yaml"
    tabletop = config_directory() / "scenarios" / "tabletop.yaml"
    path.write_text(f"extends: {tabletop}\ntask:\n  impact:\n    time: 1.1 s\ntask.impact.speed: 0.3 m/s\n")
    scenario = load_scenario(path)
    assert (scenario.task.impact.speed, scenario.task.impact.time) == (0.3, 1.1)
    path.write_text(f"extends: {tabletop}\n\ntask.impact.haste: 0.3 m/s\n")
    with pytest.raises(ScenarioError, match=r"fast.yaml:3: task.impact.haste"):
        load_scenario(path)


def test_it_loads_nothing_of_ros():
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom impact_control.cli.main import app\n"
        "assert CliRunner().invoke(app, ['plan', 'tabletop']).exit_code == 0\n"
        "assert not [name for name in sys.modules if name.split('.')[0] in ('rclpy', 'impact_msgs')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
