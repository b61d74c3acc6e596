"""Checks of the `sh` blocks of the documentation: everything that a line names has to exist.

Lines are read word by word, and quick ones are run. `test_documented_lines.py` runs all that need neither a ROS 2
installation nor Docker nor an arm.
"""

from __future__ import annotations

import ast
import itertools
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import typer
from ruamel.yaml import YAML
from typer.testing import CliRunner

from documentation import ROOT
from impact_control.cli.main import app
from impact_control.scenario import load_scenario
from impact_control_ros.robot_side.files import ARGUMENTS
from impact_studies.frame.runner import find_study

QUICK = ({"scenarios", "--schema"}, {"study", "--list"})
"""Quick calls of `impact-control`, which are run."""

CALIBRATION = ("calibrate", "tune")
"""Commands that are run on the recordings of the page."""

_ASSIGNMENT = re.compile(r"[A-Z_]+=")


def command_lines(text: str) -> Iterator[list[str]]:
    """Yield the words of each command of a block, without assignments of variables in front of it."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and _ASSIGNMENT.match(words[0]):
            words = words[1:]
        if words:
            yield words


def check_command(words: list[str], directory: Path) -> None:
    """Require that a command exists as it is called; run it when it is quick.

    directory: in the place of the clone, with the files that the page has made so far.
    """
    program = Path(words[0]).name
    if program not in CHECKS:
        raise AssertionError(f"no checker knows {program}: {' '.join(words)}")
    CHECKS[program](words[1:], directory)


def _export(arguments: list[str], directory: Path) -> None:
    assert arguments and all(_ASSIGNMENT.match(argument) for argument in arguments), arguments


def _make(arguments: list[str], directory: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for argument in arguments:
        name, is_variable, value = argument.partition("=")
        if is_variable:
            assert re.search(rf"\$\({name}\)|\$\(call quoted,{name}\)", makefile), argument
        else:
            assert re.search(rf"^{name}:.*##", makefile, re.MULTILINE), argument
        if name == "SCENARIO":
            _load(value, directory)


def _impact_control(arguments: list[str], directory: Path) -> None:
    command = typer.main.get_command(app)
    name, *rest = arguments
    context = command.commands[name].make_context(name, list(rest))
    if context.params.get("scenario") not in (None, "my/file.yaml"):
        _load(context.params["scenario"], directory)
    if name == "study" and context.params["name"] not in (None, "all"):
        find_study(context.params["name"])
    if set(arguments) in QUICK or name in CALIBRATION:
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output


def _load(scenario: str, directory: Path) -> None:
    """Load a scenario by its name, or its file in the clone."""
    load_scenario(directory / scenario if scenario.endswith(".yaml") else scenario)


def _python(arguments: list[str], directory: Path) -> None:
    """Install a package beside the environment and not into it."""
    assert arguments[:3] == ["-m", "pip", "install"], arguments
    target = ["--quiet", "--disable-pip-version-check", "--no-index", "--target", str(directory / "installed")]
    subprocess.run([sys.executable, *arguments[:3], *target, *arguments[3:]], cwd=directory, check=True, timeout=60)


def _colcon(arguments: list[str], directory: Path) -> None:
    verb, option, *packages = arguments
    assert (verb, option) == ("build", "--packages-up-to")
    assert all((ROOT / "src" / package / "package.xml").is_file() for package in packages)


def _pip(arguments: list[str], directory: Path) -> None:
    """Require that a package without a rosdep key is among our requirements."""
    verb, package = arguments
    assert verb == "install"
    assert re.search(rf"^{package}\b", (ROOT / "requirements" / "run.in").read_text(), re.MULTILINE), package


def _anything(arguments: list[str], directory: Path) -> None:
    """Programs of the system: their arguments are not ours."""
    assert arguments


def _ros2(arguments: list[str], directory: Path) -> None:
    verb, *rest = arguments
    if verb == "launch":
        package, file, *given = rest
        assert package == "impact_control_ros"
        assert (ROOT / "launch" / file).is_file(), file
        for argument in given:
            name, _, value = argument.partition(":=")
            assert not ARGUMENTS[name].choices or value in ARGUMENTS[name].choices, argument
            if name == "scenario":
                _load(value, directory)
        return
    names = {f"/{name}" for name in _topics()}
    places = [word for word in rest if word.startswith("/")]
    assert places and set(places) <= names, rest
    if verb == "action":
        kind, goal = rest[-2:]
        package, *place = kind.split("/")
        fields = (ROOT / "src" / package / Path(*place).with_suffix(".action")).read_text().split("---")[0]
        assert all(re.search(rf"\b{name}\b", fields) for name in YAML(typ="safe").load(goal)), goal


def _topics() -> set[str]:
    module = ROOT / "src" / "impact_control_ros" / "impact_control_ros" / "bridge" / "topics.py"
    assigned = (node for node in ast.parse(module.read_text()).body if isinstance(node, ast.Assign))
    return {ast.literal_eval(node.value) for node in assigned}


def _docker(arguments: list[str], directory: Path) -> None:
    assert arguments[:2] == ["compose", "-f"], arguments
    compose = YAML(typ="safe").load((ROOT / arguments[2]).read_text())
    services = compose["services"]
    profiles = {profile for service in services.values() for profile in service.get("profiles", [])}
    for option, value in itertools.pairwise(arguments):
        assert option != "--profile" or value in profiles, value
        assert option != "--rm" or value in services, value
    for place in re.findall(r"\b(?:tests|src)/[\w/.]*", " ".join(arguments)):
        assert (ROOT / place).exists(), place


CHECKS = {
    "export": _export,
    "make": _make,
    "impact-control": _impact_control,
    "python": _python,
    "ros2": _ros2,
    "docker": _docker,
    "rosdep": _anything,
    "colcon": _colcon,
    "pip": _pip,
    "source": _anything,
    "mkdir": _anything,
    "chmod": _anything,
}
"""Check of each program that occurs in the documentation."""
