"""The set-up: lock files pin everything, package files agree, and what is missing is told in one line."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer

import impact_control
from impact_control.cli import app

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ("cut", "date", "env", "grep", "mkdir", "rm", "sed", "sh", "uname")
TOOLS = ("make", "gcc", "g++", "cmake")


def requirements(file: str) -> list[str]:
    """Return the lines of a requirements file without comments."""
    lines = (line.split("#")[0].strip() for line in (ROOT / "requirements" / file).read_text().splitlines())
    return [line for line in lines if line]


def pins(lock: str) -> dict[str, str]:
    """Return the packages and versions of a requirements file, an empty version where none is pinned."""
    pairs = (line.partition("==") for line in requirements(lock))
    return {name.partition("[")[0]: version for name, _, version in pairs}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a directory with the files the set-up starts from."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for directory in ("requirements", "scripts"):
        shutil.copytree(ROOT / directory, tmp_path / directory)
    return tmp_path


def make_setup(
    clone: Path, tools: tuple[str, ...], *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `make setup`, or make with other arguments, where only the basic commands and these tools are installed."""
    path = clone / "machine"
    path.mkdir()
    for name in COMMANDS + tools:
        found = shutil.which(name)
        assert found, name
        (path / name).symlink_to(found)
    return subprocess.run(
        [str(path / "make"), *(arguments or ("setup",))],
        cwd=clone,
        env={"PATH": str(path), "HOME": "/nonexistent", **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


ADDED = ["test", "extras", "view", "cluster", "fuzz"]
"""Lists whose packages go into the environment beside those of `run`."""


@pytest.mark.parametrize("name", ["run", *ADDED, "compat"])
def test_lock_pins_every_package_once(name: str) -> None:
    lock = f"{name}.txt"
    lines = requirements(lock)
    assert all(re.fullmatch(r"[a-z0-9.-]+==[a-z0-9.]+", line) for line in lines)
    assert len(pins(lock)) == len(lines)


@pytest.mark.parametrize("name", ["run", *ADDED, "compat"])
def test_lock_holds_what_was_asked_for(name: str) -> None:
    locked = pins(f"{name}.txt")
    asked = pins(f"{name}.in")
    assert asked
    assert all(locked.get(package) for package in asked)
    assert {package: locked[package] for package, version in asked.items() if version} == {
        package: version for package, version in asked.items() if version
    }


@pytest.mark.parametrize("name", ADDED)
def test_added_locks_do_not_change_the_run_environment(name: str) -> None:
    assert not pins(f"{name}.txt").keys() & pins("run.txt").keys()


@pytest.mark.parametrize("name", ADDED[1:])
def test_added_locks_do_not_change_the_test_tools(name: str) -> None:
    tools, added = pins("test.txt"), pins(f"{name}.txt")
    assert {package: version for package, version in added.items() if tools.get(package, version) != version} == {}


def test_make_test_runs_the_studies_on_a_cluster_and_installs_what_they_need() -> None:
    command = ["make", "-n", "ENVIRONMENT=.venv-new", "test"]
    asked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (suite,) = (line for line in asked.splitlines() if "pytest" in line and "tests/unit " in line)
    assert suite.endswith(" tests/cluster")
    assert re.findall(r"touch \S+/(cluster|test)$", asked, re.MULTILINE) == ["cluster", "test"]


@pytest.mark.parametrize("package", ["impact_msgs", "impact_control"])
def test_versions_agree(package: str) -> None:
    manifest = ElementTree.parse(ROOT / "src" / package / "package.xml")
    assert manifest.findtext("version") == impact_control.__version__


def test_every_interface_file_is_generated() -> None:
    package = ROOT / "src" / "impact_msgs"
    build_file = (package / "CMakeLists.txt").read_text()
    listed = re.findall(r"^  ((?:action|msg|srv)/\S+)$", build_file, re.MULTILINE)
    present = [path for kind in ("action", "msg", "srv") for path in package.glob(f"{kind}/*")]
    assert listed == sorted(str(path.relative_to(package)) for path in present)


@pytest.mark.parametrize(
    ("missing", "advice"),
    [
        ("gcc", "no C compiler found: install gcc or clang"),
        ("g++", "no C++ compiler found: install g++ or clang"),
        ("cmake", "no CMake found: install"),
    ],
)
def test_missing_tool_is_named_in_one_line(clone: Path, missing: str, advice: str) -> None:
    result = make_setup(clone, tuple(tool for tool in TOOLS if tool != missing))
    assert result.returncode != 0
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert advice in result.stderr


@pytest.mark.parametrize("environment", [{}, {"PYTHON": "/bin/false"}])
def test_missing_python_is_named_in_one_line(clone: Path, environment: dict[str, str]) -> None:
    result = make_setup(clone, TOOLS, **environment)
    assert result.returncode != 0
    assert len(result.stderr.splitlines()) == 1
    assert "no Python 3.11 found" in result.stderr
    assert not (clone / ".venv").exists()


def test_tests_with_older_versions_leave_the_environment_alone(clone: Path) -> None:
    result = make_setup(clone, TOOLS, "test-compat")
    assert result.returncode != 0
    assert "no Python 3.12 or 3.11 found as python3.12 or python3.11 or python3" in result.stderr
    assert not list(clone.glob(".venv*"))


@pytest.mark.parametrize("packages", ["run", pytest.param("compat", marks=pytest.mark.long)])
def test_missing_network_is_told_in_one_line(clone: Path, packages: str) -> None:
    closed_port = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": os.devnull}
    python = os.path.realpath(sys.executable)
    here = "{}.{}".format(*sys.version_info)
    if here not in {"run": ("3.11",), "compat": ("3.12", "3.11")}[packages]:
        pytest.skip(f"this environment is not made with Python {here}")
    chosen = ("setup", f"PACKAGES={packages}", "ENVIRONMENT=.venv-here")
    result = make_setup(clone, TOOLS, *chosen, PYTHON=python, **closed_port)
    assert result.returncode != 0
    *notices, progress, reason = result.stderr.splitlines()
    assert [notice for notice in notices if "no Python 3.12 found" in notice and f"run on {here}" in notice] == notices
    assert len(notices) == (packages == "compat" and here == "3.11")
    assert progress.startswith(f"setup 1/4 python {here}")
    assert "package index cannot be reached" in reason
    assert ".venv-here/log/python.log" in reason
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize(("chosen", "minutes"), [((), 10.0), (("MINUTES=1",), 1.0)])
def test_the_benchmark_runs_for_ten_minutes_idle_and_loaded(
    monkeypatch: pytest.MonkeyPatch, chosen: tuple[str, ...], minutes: float
) -> None:
    """What `make bench` would run, given to the command line, measures so long, with load and growth."""
    asking = subprocess.run(["make", "-n", "bench", *chosen], cwd=ROOT, capture_output=True, text=True, check=True)
    (line,) = (line for line in asking.stdout.splitlines() if "bin/impact-control bench" in line)
    arguments = line.split("bin/impact-control ")[1].split()
    asked = []
    monkeypatch.setattr("impact_control.nodes.bench.run_bench", lambda *given: asked.append(given))
    typer.main.get_command(app).main(arguments, standalone_mode=False)
    ((seconds, loaded, growth, *_),) = asked
    assert (seconds, loaded, growth) == (60.0 * minutes, True, True)
