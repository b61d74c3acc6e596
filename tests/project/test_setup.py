"""The set-up: lock files pin everything, package files agree, and what is missing is named in one line."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import impact_control
from impact_control.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ("cut", "date", "env", "grep", "mkdir", "rm", "sed", "sh", "uname")
TOOLS = ("make", "gcc", "g++", "cmake")
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def requirements(file: str) -> list[str]:
    """Return the lines of a requirements file without comments."""
    lines = (line.split("#")[0].strip() for line in (ROOT / "requirements" / file).read_text().splitlines())
    return [line for line in lines if line]


def pins(file: str, python: str = PYTHONS[0]) -> dict[str, str]:
    """Return the packages and versions of a requirements file for a Python, an empty version where none is pinned."""
    there = {"python_version": python, "python_full_version": f"{python}.0"}
    asked = [Requirement(line) for line in requirements(file)]
    due = [one for one in asked if one.marker is None or one.marker.evaluate(there)]
    found = {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in due}
    assert len(found) == len(due), f"{file} names a package twice"
    return found


def pythons(lock: str) -> list[str]:
    """Return the Pythons that a lock file says it has packages for."""
    first = (ROOT / "requirements" / lock).read_text().splitlines()[0]
    found = re.search(r" for Python (.*) on Linux x86_64\.$", first)
    assert found, first
    return found[1].split(", ")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a directory with the files the set-up starts from."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for directory in ("requirements", "scripts"):
        shutil.copytree(ROOT / directory, tmp_path / directory)
    return tmp_path


def install_python(path: Path, prepared: str) -> None:
    """Put a command there that is this Python, but for what has been changed before it executes code.

    It makes no environments.
    """
    python = shlex.quote(os.path.realpath(sys.executable))
    code = shlex.quote(f"import sys, sysconfig\n{prepared}\nexec(sys.argv[2])")
    path.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exec {python} -c {code} "$@"\nexit 1\n')
    path.chmod(0o755)


def version(text: str, build: str = "x86_64-linux-gnu") -> str:
    """Return what makes a Python appear as another version."""
    tag = "cpython-" + text.replace(".", "")
    return f"sys.version_info = ({text.replace('.', ', ')}); sysconfig.get_config_var = lambda name: '{tag}-{build}'"


NO_VENV = "sys.modules['ensurepip'] = None"
NO_HEADERS = "sysconfig.get_path = lambda name: '/nonexistent'"

DISTRIBUTIONS = {
    "debian": 'ID=debian\nVERSION_ID="13"\n',
    "ubuntu": 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n',
    "mint": 'ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_ID="22.1"\n',
    "old ubuntu": 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\n',
    "old debian": 'ID=debian\nVERSION_ID="11"\n',
    "fedora": "ID=fedora\nVERSION_ID=43\n",
    "rocky": 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.6"\n',
    "tumbleweed": 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\nVERSION_ID="20261101"\n',
    "leap": 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\nVERSION_ID="15.6"\n',
    "arch": "ID=arch\nBUILD_ID=rolling\n",
    "unknown": "ID=void\n",
}
"""Contents of os-release."""


def make_setup(
    clone: Path,
    tools: tuple[str, ...],
    *arguments: str,
    pythons: dict[str, str] | None = None,
    distribution: str = "debian",
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run `make setup`, or make with other arguments, where only the basic commands and these tools are installed.

    pythons: by name, with the code that changes them. distribution: of DISTRIBUTIONS.
    """
    path = clone / "machine"
    path.mkdir()
    for name in COMMANDS + tools:
        found = shutil.which(name)
        assert found, name
        (path / name).symlink_to(found)
    for name, prepared in (pythons or {}).items():
        install_python(path / name, prepared)
    release = clone / "os-release"
    release.write_text(DISTRIBUTIONS[distribution])
    return subprocess.run(
        [str(path / "make"), *(arguments or ("setup",))],
        cwd=clone,
        env={"PATH": str(path), "HOME": "/nonexistent", "OS_RELEASE": str(release), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def told(result: subprocess.CompletedProcess[str]) -> str:
    """Return the reason that a set-up failed with, its one line."""
    assert result.returncode != 0
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    _, _, reason = line.partition("setup: ")
    return reason.removesuffix(".  Stop.")


ADDED = ["test", "extras", "view", "cluster", "coverage", "fuzz", "lock"]
"""Lists whose packages go into the environment beside those of `run`."""


@pytest.mark.parametrize("name", ["run", *ADDED, "peers", "compat"])
def test_lock_pins_every_package_once(name: str) -> None:
    lock = f"{name}.txt"
    assert all(re.match(r"[a-z0-9-]+==[a-z0-9.]+( ; |$)", line) for line in requirements(lock))
    for python in pythons(lock):
        assert all(pins(lock, python).values())


@pytest.mark.parametrize("name", ["run", *ADDED, "peers", "compat"])
def test_lock_holds_what_was_asked_for(name: str) -> None:
    asked = pins(f"{name}.in")
    assert asked
    for python in pythons(f"{name}.txt"):
        locked = pins(f"{name}.txt", python)
        assert all(locked.get(package) for package in asked)
        exact = {package: version for package, version in asked.items() if re.fullmatch("[0-9.]+", version)}
        assert {package: locked[package] for package in exact} == exact


def test_one_lock_file_serves_every_python() -> None:
    """Packages of `make demo` and `make test`; the others hold some of them, `compat` those of ROS 2 Jazzy."""
    assert [pythons(f"{name}.txt") for name in ("run", "test", "cluster")] == 3 * [PYTHONS]
    assert "3.12" in pythons("compat.txt")
    assert all(set(pythons(f"{name}.txt")) <= set(PYTHONS) for name in (*ADDED, "peers", "compat"))


@pytest.mark.parametrize("name", ADDED)
def test_added_locks_do_not_change_the_run_environment(name: str) -> None:
    assert not pins(f"{name}.txt").keys() & pins("run.txt").keys()


@pytest.mark.parametrize("name", ADDED[1:])
def test_added_locks_do_not_change_the_test_tools(name: str) -> None:
    tools, added = pins("test.txt"), pins(f"{name}.txt")
    assert {package: version for package, version in added.items() if tools.get(package, version) != version} == {}


def test_make_verify_runs_the_long_tests_of_all_that_make_test_runs_and_of_all_studies() -> None:
    def asked(target: str) -> str:
        command = ["make", "-n", "ENVIRONMENT=.venv-new", target]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    def paths(target: str, marked: str) -> set[str]:
        (command,) = (line for line in asked(target).splitlines() if f"-m '{marked}'" in line)
        return {word for word in shlex.split(command) if word.startswith("tests/")}

    at_once = {path for path in paths("test", "not wall_clock and not long") if "/impact_studies/" not in path}
    assert paths("verify", "long and not wall_clock") == at_once | {"tests/impact_studies"}
    assert paths("studies", "not long") == {"tests/impact_studies"}
    assert paths("verify", "long and wall_clock") == paths("test", "wall_clock and not long")
    assert sorted(re.findall(r"touch \S+/(cluster|test)$", asked("verify"), re.MULTILINE)) == ["cluster", "test"]


@pytest.mark.parametrize(
    "package",
    ["impact_msgs", "impact_guard", "impact_sim_hardware", "impact_control", "impact_control_ros", "impact_studies"],
)
def test_versions_agree(package: str) -> None:
    manifest = ElementTree.parse(ROOT / "src" / package / "package.xml")
    assert manifest.findtext("version") == impact_control.__version__


KEYS = {
    "PIL": "python3-pil",
    "mcap": "mcap-ros2-support",
    "pinocchio": "pinocchio",
    "qpsolvers": "python3-qpsolvers-pip",
    "ruamel": "python3-ruamel.yaml",
    **{name: f"python3-{name}" for name in ("lxml", "matplotlib", "numba", "numpy", "rich", "scipy", "typer")},
}
"""rosdep key of an imported package, where it is not its name."""

WITHOUT_KEY = {"_typeshed", "daqp", "franka_msgs", "mujoco", "pydrake", "viser", "zstandard"}
"""Without a rosdep key, or optional."""


def imported_by(package: str) -> set[str]:
    """Packages beside the standard library that a package imports."""
    trees = [ast.parse(path.read_text()) for path in (ROOT / "src" / package / package).rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {package}


@pytest.mark.parametrize("package", ["impact_control", "impact_control_ros", "impact_studies"])
def test_a_manifest_names_what_is_imported(package: str) -> None:
    imported = imported_by(package) - WITHOUT_KEY
    assert len(imported) > 4
    manifest = ElementTree.parse(ROOT / "src" / package / "package.xml")
    named = {one.text for one in manifest.iter("exec_depend")}
    assert {KEYS.get(name, name) for name in imported} - named == set()


ON_PYPI = {"PIL": "pillow", "pinocchio": "pin", "ruamel": "ruamel.yaml"}
"""Name on PyPI of an imported package, where it is another."""

OPTIONAL = {"_typeshed", "distributed", "mujoco", "pydrake", "viser"}
"""Imported where it is installed."""


@pytest.mark.parametrize("package", ["impact_control", "impact_studies"])
def test_pip_installs_what_is_imported(package: str) -> None:
    tree = ast.parse((ROOT / "src" / package / "setup.py").read_text())
    (required,) = (
        node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "REQUIRED"
    )
    named = {node.value for node in ast.walk(required) if isinstance(node, ast.Constant)}
    assert {ON_PYPI.get(name, name) for name in imported_by(package) - OPTIONAL} == named


def test_what_documents_run_with_ros2_is_installed_by_that_package() -> None:
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.yml")]
    found = {pair for path in files for pair in re.findall(r"ros2 run (impact_\w+) ([\w-]+)", path.read_text())}
    assert found
    for package, executable in found:
        assert re.search(rf'"{executable}\b', (ROOT / "src" / package / "setup.py").read_text()), (package, executable)


def test_every_interface_file_is_generated() -> None:
    package = ROOT / "src" / "impact_msgs"
    build_file = (package / "CMakeLists.txt").read_text()
    listed = re.findall(r"^  ((?:action|msg|srv)/\S+)$", build_file, re.MULTILINE)
    present = [path for kind in ("action", "msg", "srv") for path in package.glob(f"{kind}/*")]
    assert listed == sorted(str(path.relative_to(package)) for path in present)


@pytest.mark.parametrize(
    ("missing", "advice"),
    [
        ("gcc", "missing: a C compiler (gcc or clang): apt-get install gcc"),
        ("g++", "missing: a C++ compiler (g++ or clang++): apt-get install g++"),
        ("cmake", "missing: CMake 3.22 or newer: apt-get install cmake"),
    ],
)
def test_missing_tool_is_named_in_one_line(clone: Path, missing: str, advice: str) -> None:
    present = tuple(tool for tool in TOOLS if tool != missing)
    assert told(make_setup(clone, present, pythons={"python3": ""})) == advice


ANY = "Python 3.11, 3.12, 3.13 or 3.14"
ELSEWHERE = " (a Python that lies elsewhere: make PYTHON=/path/to/python3.14)"


@pytest.mark.parametrize(
    ("distribution", "command"),
    [
        ("debian", "apt-get install gcc g++ cmake python3 python3-venv python3-dev"),
        ("ubuntu", "apt-get install gcc g++ cmake python3 python3-venv python3-dev"),
        ("mint", "apt-get install gcc g++ cmake python3 python3-venv python3-dev"),
        ("old ubuntu", "apt-get install gcc g++ cmake python3.11 python3.11-venv python3.11-dev"),
        ("old debian", "apt-get install gcc g++ cmake"),
        ("fedora", "dnf install gcc gcc-c++ cmake python3 python3-devel"),
        ("rocky", "dnf install gcc gcc-c++ cmake python3.12 python3.12-devel"),
        ("tumbleweed", "zypper install gcc gcc-c++ cmake python3 python3-devel"),
        ("leap", "zypper install gcc gcc-c++ cmake python311 python311-devel"),
        ("arch", "pacman -S gcc cmake python"),
        ("unknown", "install it with the package manager of this system"),
    ],
)
def test_a_bare_machine_is_told_all_packages_of_its_distribution(clone: Path, distribution: str, command: str) -> None:
    reason = told(make_setup(clone, ("make",), distribution=distribution))
    tried = "python3 or python3.14 or python3.13 or python3.12 or python3.11"
    tools = "a C compiler (gcc or clang), a C++ compiler (g++ or clang++), CMake 3.22 or newer"
    assert reason == f"missing: {tools}, {ANY} (none as {tried}): {command}{ELSEWHERE}"
    assert not (clone / ".venv").exists()


def test_a_machine_without_os_release_is_told_what_is_missing(clone: Path) -> None:
    reason = told(make_setup(clone, TOOLS[:3], pythons={"python3": ""}, OS_RELEASE="/nonexistent"))
    assert reason == "missing: CMake 3.22 or newer: install it with the package manager of this system"


@pytest.mark.parametrize("environment", [{}, {"PYTHON": "/bin/false"}])
def test_missing_python_is_named_in_one_line(clone: Path, environment: dict[str, str]) -> None:
    reason = told(make_setup(clone, TOOLS, **environment))
    assert reason.startswith(f"missing: {ANY} (none as {environment.get('PYTHON', 'python3 or python3.14 or ')}")
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize(
    ("prepared", "shown"),
    [
        (version("3.10"), "3.10"),
        (version("3.15"), "3.15"),
        (version("3.14", "t-x86_64-linux-gnu").replace("314-t", "314t"), "cpython-314t-x86_64-linux-gnu"),
        (version("3.13", "x86_64-linux-musl"), "cpython-313-x86_64-linux-musl"),
        ("sysconfig.get_config_var = lambda name: 'pypy311-pp73-x86_64-linux-gnu'", "pypy311-pp73-x86_64-linux-gnu"),
    ],
    ids=["older", "newer", "without the global lock", "musl", "PyPy"],
)
def test_a_python_without_packages_is_not_taken(clone: Path, prepared: str, shown: str) -> None:
    """Its version is told. The package it came with would not help: it is there."""
    advice = "no package of this system is known to bring it"
    reason = told(make_setup(clone, TOOLS, pythons={"python3": prepared}))
    assert reason == f"missing: {ANY} (python3 is {shown}): {advice}{ELSEWHERE}"


def test_an_old_distribution_is_told_its_newer_python(clone: Path) -> None:
    reason = told(make_setup(clone, TOOLS, pythons={"python3": version("3.10")}, distribution="old ubuntu"))
    command = "apt-get install python3.11 python3.11-venv python3.11-dev"
    assert reason == f"missing: {ANY} (python3 is 3.10): {command}{ELSEWHERE}"


@pytest.mark.parametrize(
    ("distribution", "name", "lacking", "parts", "command"),
    [
        ("debian", "python3", [NO_VENV], "the modules venv and ensurepip", "apt-get install python3-venv"),
        ("debian", "python3", [NO_HEADERS], "the header files (Python.h)", "apt-get install python3-dev"),
        ("ubuntu", "python3.12", [NO_HEADERS], "the header files (Python.h)", "apt-get install python3.12-dev"),
        ("fedora", "python3", [NO_HEADERS], "the header files (Python.h)", "dnf install python3-devel"),
        ("fedora", "python3.12", [NO_HEADERS], "the header files (Python.h)", "dnf install python3.12-devel"),
        ("leap", "python3.12", [NO_HEADERS], "the header files (Python.h)", "zypper install python312-devel"),
        ("arch", "python3", [NO_HEADERS], "the header files (Python.h)", "pacman -S python"),
        (
            "debian",
            "python3",
            [NO_VENV, NO_HEADERS],
            "the modules venv and ensurepip of python3 (3.12), the header files (Python.h)",
            "apt-get install python3-venv python3-dev",
        ),
    ],
)
def test_a_missing_part_of_python_is_named_with_its_package(
    clone: Path, distribution: str, name: str, lacking: list[str], parts: str, command: str
) -> None:
    present = {name: "; ".join([version("3.12"), *lacking])}
    reason = told(make_setup(clone, TOOLS, pythons=present, distribution=distribution))
    assert reason == f"missing: {parts} of {name} (3.12): {command}"


@pytest.mark.parametrize(
    ("present", "packages", "chosen"),
    [
        ({"python3": version("3.12"), "python3.14": version("3.14")}, "run", "3.12"),
        ({"python3": version("3.10"), "python3.12": version("3.12"), "python3.13": version("3.13")}, "run", "3.13"),
        ({"python3": f"{version('3.13')}; {NO_HEADERS}", "python3.11": version("3.11")}, "run", "3.11"),
        ({"python3": version("3.11"), "python3.12": version("3.12")}, "compat", "3.12"),
        ({"python3": version("3.12")}, "compat", "3.12"),
        ({"python3": version("3.13"), "python3.11": version("3.11")}, "compat", "3.11"),
    ],
)
def test_the_first_python_with_all_its_parts_is_taken(
    clone: Path, present: dict[str, str], packages: str, chosen: str
) -> None:
    chosen_from = make_setup(clone, (*TOOLS, "nproc"), "setup", f"PACKAGES={packages}", pythons=present)
    *notices, progress, reason = chosen_from.stderr.splitlines()
    assert progress == f"setup 1/4 python {chosen} environment (downloads 280 MB) ... failed"
    assert "step python failed" in reason
    other = "setup: no Python 3.12 found as python3.12: the tests run on 3.11 instead"
    assert notices == ([other] if packages == "compat" and chosen == "3.11" else [])


def test_the_python_that_is_named_is_taken(clone: Path) -> None:
    elsewhere = clone / "it's mine"
    elsewhere.mkdir()
    install_python(elsewhere / "python", version("3.13"))
    result = make_setup(clone, TOOLS, "setup", f"PYTHON={elsewhere / 'python'}", pythons={"python3": version("3.12")})
    assert result.stderr.startswith("setup 1/4 python 3.13 environment")


@pytest.fixture
def ready(clone: Path) -> Path:
    """Return a clone whose environment is there, of stand-ins: its Python, and a command that prints its arguments."""
    environment = clone / ".venv"
    packages = [clone / "src" / name for name in ("impact_control", "impact_control_ros")]
    for directory in (environment / "bin", environment / "stamps", *packages):
        directory.mkdir(parents=True)
    for package in packages:
        for file in ("setup.py", "setup.cfg", "pyproject.toml", "package.xml"):
            shutil.copy2(ROOT / "src" / package.name / file, package)
    (environment / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    command = environment / "bin" / "impact-control"
    command.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    command.chmod(0o755)
    (environment / "stamps" / "python").write_text(str(clone))
    for stamp in ("messages", "package", "warm"):
        (environment / "stamps" / stamp).touch()
    return clone


def make(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make as if these tests had not been started by make."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", *arguments]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=60)


def test_another_python_makes_another_environment(ready: Path) -> None:
    """Asked for by name; the one it was made with changes nothing, by whatever name."""
    install_python(ready / "same", "")
    install_python(ready / "other", "sys.executable = '/usr/bin/python3.99'")

    def is_due(*arguments: str) -> bool:
        result = make(ready, "-n", "setup", *arguments)
        assert result.returncode == 0
        return "touch .venv/stamps/messages" in result.stdout

    assert not is_due()
    assert not is_due(f"PYTHON={ready / 'same'}")
    assert is_due(f"PYTHON={ready / 'other'}")
    assert is_due("PYTHON=/bin/false")


@pytest.mark.parametrize(
    "scenario",
    ["my file.yaml", "it's.yaml", '"$HOME" $(touch oops)`touch oops`.yaml', "-a;b&c|d #e*.yaml", "ü\\n.yaml"],
)
def test_the_demo_gets_the_name_of_its_scenario_as_it_is(ready: Path, scenario: str) -> None:
    result = make(ready, "demo", f"SCENARIO={scenario}")
    assert result.returncode == 0
    assert result.stdout.splitlines() == ["demo", f"--scenario={scenario}"]
    assert not (ready / "oops").exists()


def test_a_list_without_packages_for_the_python_says_so(ready: Path) -> None:
    here = "{}.{}".format(*sys.version_info)
    lock = ready / "requirements" / "fuzz.txt"
    lock.write_text("# Resolved from fuzz.in by `make lock`, for Python 3.8, 3.9 on Linux x86_64.\nnone-such==1\n")
    reason = told(make(ready, ".venv/stamps/fuzz"))
    assert reason.startswith(f"requirements/fuzz.txt has packages for Python 3.8, 3.9, .venv has {here}: name one of ")


def test_tests_with_older_versions_leave_the_environment_alone(clone: Path) -> None:
    result = make_setup(clone, TOOLS, "test-compat", pythons={"python3": version("3.13")})
    assert result.returncode != 0
    assert "setup: missing: Python 3.11 or 3.12 (python3 is 3.13): " in result.stderr
    assert not list(clone.glob(".venv*"))


@pytest.mark.parametrize("packages", ["run", pytest.param("compat", marks=pytest.mark.long)])
def test_missing_network_is_told_in_one_line(clone: Path, packages: str) -> None:
    closed_port = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": os.devnull}
    python = os.path.realpath(sys.executable)
    here = "{}.{}".format(*sys.version_info)
    if here not in pythons(f"{packages}.txt"):
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


def test_the_benchmark_is_installed_before_it_runs() -> None:
    """A fresh environment has neither studies nor benchmark: `make bench` has to bring them."""
    asking = ["make", "-n", "bench", "ENVIRONMENT=.venv-none"]
    said = subprocess.run(asking, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert 0 < said.find("touch .venv-none/stamps/test") < said.find("impact-control bench")


@pytest.mark.parametrize(("chosen", "minutes"), [((), 10.0), (("MINUTES=1",), 1.0)])
def test_the_benchmark_runs_for_ten_minutes_idle_and_loaded(
    monkeypatch: pytest.MonkeyPatch, chosen: tuple[str, ...], minutes: float
) -> None:
    """What `make bench` would run, given to the command line, measures so long, with load and growth."""
    asking = subprocess.run(["make", "-n", "bench", *chosen], cwd=ROOT, capture_output=True, text=True, check=True)
    (line,) = (line for line in asking.stdout.splitlines() if "bin/impact-control bench" in line)
    arguments = line.split("bin/impact-control ")[1].split()
    asked = []
    monkeypatch.setattr("benchmark.bench.run_bench", lambda *given: asked.append(given))
    typer.main.get_command(app).main(arguments, standalone_mode=False)
    ((seconds, loaded, growth, *_),) = asked
    assert (seconds, loaded, growth) == (60.0 * minutes, True, True)
