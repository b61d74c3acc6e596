"""Rules of the house that a machine can check."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {name: ROOT / "src" / name / name for name in ("impact_control", "impact_control_ros", "impact_studies")}
TOOLS = ROOT / "tools"
"""Run from a clone, where their folders are packages without one around them."""

ROS = {"rclpy", "builtin_interfaces", "rcl_interfaces", "launch", "launch_ros", "ament_index_python"}

ABOVE = {
    "impact_control": {"impact_control_ros", "impact_studies", "benchmark", "endurance", "fuzz"},
    "impact_control_ros": {"impact_studies", "benchmark", "endurance", "fuzz"},
    "impact_studies": {"impact_control_ros", "benchmark", "endurance", "fuzz"},
}
"""Packages that one must not import: arrows point down, from tools to studies and ROS side, and on to the library."""

ALLOWED = {
    "impact_control": {
        "util": "",
        "robots": "",
        "impacts": "",
        "observation": "",
        "detection": "observation scenario",
        "scenario": "robots",
        "classification": "scenario",
        "references": "robots impacts scenario",
        "control": "robots references scenario",
        "reaction": "classification control scenario",
        "pipeline": "classification control detection impacts observation reaction references robots scenario",
        "recording": "observation",
        "planning": "control impacts pipeline recording references robots scenario",
        "replay": "classification control detection observation pipeline recording references robots scenario",
        "simulation": "classification control impacts pipeline planning recording references robots scenario",
        "calibration": "classification detection observation pipeline planning recording references replay "
        "robots scenario",
        "view": "classification control recording references replay robots scenario",
        "cli": "calibration detection planning recording replay scenario simulation view",
    },
    "impact_control_ros": {
        "doctor": "bridge",
        "bridge": "",
        "robot_side": "bridge",
        "session": "bridge doctor robot_side",
        "nodes": "bridge robot_side session",
    },
    "impact_studies": {
        "frame": "",
        "models": "",
        "engines": "",
        "impact_baselines": "frame",
        "planar_impact": "frame models",
        "classification": "frame planar_impact three_plants",
        "three_plants": "frame models planar_impact",
        "signals": "classification frame three_plants",
        "detection": "frame models",
        "envelope": "frame",
        "flacco": "frame models",
        "net_feedback": "frame",
        "recordings": "frame",
        "rey_arias": "frame models",
        "wang": "frame models",
        "catalogue": "classification detection engines envelope flacco frame impact_baselines net_feedback "
        "planar_impact recordings rey_arias signals three_plants wang",
    },
    "tools": {"benchmark": "", "endurance": "benchmark", "fuzz": "benchmark"},
}
"""Which subpackages of its package each subpackage may import from, beside `util`."""

MODULES = [path for package in (*PACKAGES.values(), TOOLS) for path in sorted(package.rglob("*.py"))]


def used_parts(package, part):
    """Subpackages of its package that the modules of a subpackage import, each with the line of a complaint."""
    for path in ((TOOLS if package == "tools" else PACKAGES[package]) / part).rglob("*.py"):
        for module in imported_modules(path):
            top, *below = ["tools", *module.split(".")] if package == "tools" else module.split(".")
            if top == package and below and (package != "tools" or below[0] in ALLOWED["tools"]):
                yield below[0], f"{shown(path)} imports {module}"


def shown(path):
    """A path as a test names it."""
    return str(path.relative_to(ROOT))


def imported_modules(path):
    """Names of all modules imported anywhere in a file, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_has_a_row(package):
    """No module lies beside the subpackages, and no subpackage is without a row."""
    below = {path.relative_to(PACKAGES[package]).parts[:-1][:1] for path in PACKAGES[package].rglob("*.py")}
    assert {part for parts in below for part in parts} - {"__pycache__"} == set(ALLOWED[package])
    assert [path.name for path in PACKAGES[package].glob("*.py")] == ["__init__.py"]


def test_every_tool_has_a_row():
    assert {path.parent.name for path in TOOLS.glob("*/*.py")} == set(ALLOWED["tools"])
    assert [path.name for path in TOOLS.glob("*.py")] == ["setup.py"]


@pytest.mark.parametrize("package", PACKAGES)
def test_arrows_point_down_between_packages(package):
    for path in PACKAGES[package].rglob("*.py"):
        for module in imported_modules(path):
            top = module.split(".")[0]
            assert top not in ABOVE[package], f"{shown(path)} imports {module}"
            if package != "impact_control_ros":
                assert top not in ROS and not top.endswith("_msgs"), f"{shown(path)} imports {module}"


@pytest.mark.parametrize(("package", "part"), [(package, part) for package in ALLOWED for part in ALLOWED[package]])
def test_arrows_point_one_way_between_subpackages(package, part):
    allowed = {part, "util", *ALLOWED[package][part].split()}
    for used, complaint in used_parts(package, part):
        assert used in allowed, complaint


@pytest.mark.parametrize("package", ALLOWED)
def test_no_package_has_a_circle(package):
    """Its subpackages can be put in an order in which each uses only those before it."""
    left = {part: set(used.split()) for part, used in ALLOWED[package].items()}
    while left:
        free = {part for part, used in left.items() if not used & left.keys()}
        assert free, left
        left = {part: used for part, used in left.items() if part not in free}


def scopes(tree):
    """The module and its public classes."""
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")]
    return [tree, *classes]


def is_overload(node):
    """Whether this only declares types of a function whose docstring is at its definition."""
    return "overload" in map(ast.unparse, node.decorator_list)


def test_every_module_and_public_name_says_what_it_is():
    missing = []
    for path in MODULES:
        tree = ast.parse(path.read_text())
        if ast.get_docstring(tree) is None:
            missing.append(shown(path))
        for node in (child for scope in scopes(tree) for child in scope.body):
            is_public = isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
            if is_public and ast.get_docstring(node) is None and not is_overload(node):
                missing.append(f"{shown(path)}: {node.name}")
    assert not missing, "without a docstring: " + ", ".join(missing)
