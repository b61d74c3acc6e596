"""Scenario files of goals: read and checked by another process, and the same tasks as read here."""

from __future__ import annotations

import os
import time

import pytest

from impact_control.planning.assignment import assigned
from impact_control.robots import data_file
from impact_control.robots.loading import DATA_DIRECTORY
from impact_control.scenario import document, load_scenario
from impact_control.util.errors import ImpactControlError
from impact_control_ros.bridge import goal_file
from impact_control_ros.bridge.goal_file import GoalFiles, robot_section


@pytest.fixture
def files():
    found = GoalFiles()
    yield found
    found.close()


def refuse(path):
    """In place of the reading of scenario files in this process."""
    raise AssertionError(f"{path} was read here")


FILES = {
    "tabletop": "extends: tabletop\ntask: {impact: {speed: 0.31 m/s}}\nrobot: {model: fr3}\n",
    "scene": "extends: grab_juice_1\ndescription: as shipped\n",
}


@pytest.mark.parametrize(("name", "arm"), [("tabletop", ""), ("scene", "left")])
def test_a_file_is_read_elsewhere_and_is_the_same_task(files, name, arm, tmp_path, monkeypatch):
    path = tmp_path / f"{name}.yaml"
    path.write_text(FILES[name])
    here = assigned(str(path), arm)
    monkeypatch.setattr(document, "regular_text", refuse)
    apart = files.assigned(str(path), arm)
    assert apart.scenario.document.plain() == here.scenario.document.plain()
    assert (apart.arm, apart.scene.name, apart.robot.name) == (here.arm, here.scene.name, here.robot.name)


def test_the_files_of_another_robot_are_not_read_here(files, tmp_path, monkeypatch):
    """A goal with another robot is refused; that of the node itself is known, and not read again."""
    path = tmp_path / "another.yaml"
    path.write_text(f"extends: tabletop\nrobot: {{model: {DATA_DIRECTORY / 'fr3.yaml'}}}\n")
    guarded = GoalFiles(robot_section(load_scenario("tabletop")))
    monkeypatch.setattr(data_file, "regular_text", refuse)
    with pytest.raises(ImpactControlError, match="another robot than this node was configured with"):
        guarded.assigned(str(path), "")
    path.write_text("extends: tabletop\ntask: {impact: {speed: 0.31 m/s}}\n")
    assert guarded.assigned(str(path), "").scenario.name == "another"
    guarded.close()


def test_what_is_wrong_with_a_file_is_said_by_its_reader(files, tmp_path, monkeypatch):
    monkeypatch.setattr(document, "regular_text", refuse)
    path = tmp_path / "wrong.yaml"
    path.write_text("extends: tabletop\ntask: {impact: {speed: fast}}\n")
    with pytest.raises(ImpactControlError, match=r"wrong.yaml:2: task\.impact\.speed: 'fast'; allowed: "):
        files.assigned(str(path), "")
    os.mkfifo(tmp_path / "fifo.yaml")
    with pytest.raises(ImpactControlError, match="is no regular file"):
        files.assigned(str(tmp_path / "fifo.yaml"), "")
    with pytest.raises(ImpactControlError, match="embedded null"):
        files.assigned("a\0b.yaml", "")
    with pytest.raises(ImpactControlError, match="No such file"):
        files.assigned("two\nlines.yaml", "")


def test_a_file_that_is_read_for_ever_is_given_up_and_the_next_is_read(files, tmp_path, monkeypatch):
    monkeypatch.setattr(goal_file, "LONGEST", 0.05)
    path = tmp_path / "plain.yaml"
    path.write_text(FILES["tabletop"])
    with pytest.raises(ImpactControlError, match=r"plain\.yaml: not read within 0\.05 s"):
        files.assigned(str(path), "")
    monkeypatch.undo()
    assert files.assigned(str(path), "").scenario.name == "plain"
    files._reader.kill()
    with pytest.raises(ImpactControlError, match=r"plain\.yaml: its reader ended"):
        files.assigned(str(path), "")
    assert files.assigned(str(path), "").robot.name == "fr3"


def test_the_largest_file_keeps_no_other_thread_waiting(files, tmp_path):
    """Read here it takes the interpreter for seconds, in which a loop has to share it."""
    path = tmp_path / "many.yaml"
    path.write_text("extends: tabletop\n" + "".join(f"key{i}: {i}\n" for i in range(17_000)))
    begun, used = time.perf_counter(), time.process_time()
    with pytest.raises(ImpactControlError, match=r"many\.yaml:2: key0: "):
        files.assigned(str(path), "")
    assert time.process_time() - used < 0.2 * (time.perf_counter() - begun)
