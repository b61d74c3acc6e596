"""Rules of the house that a machine can check."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "impact_control" / "impact_control"
CORE = sorted(p for p in PACKAGE.rglob("*.py") if "nodes" not in p.relative_to(PACKAGE).parts)
ROS = {"rclpy", "impact_msgs", "builtin_interfaces", "rcl_interfaces", "launch", "launch_ros", "ament_index_python"}

ALLOWED = {
    "robots": set(),
    "impacts": set(),
    "scenario": {"robots"},
    "references": {"robots", "impacts", "scenario"},
    "control": {"robots", "references"},
    "observation": set(),
    "detection": {"observation"},
    "classification": {"observation"},
    "reaction": {"classification"},
    "simulation": {"robots", "impacts", "scenario", "references"},
    "identification": {"impacts", "observation"},
    "recording": {"identification"},
    "studies": {
        "classification",
        "control",
        "detection",
        "identification",
        "impacts",
        "observation",
        "reaction",
        "recording",
        "references",
        "robots",
        "scenario",
        "simulation",
    },
    "view": {"classification", "control", "recording", "references", "robots", "scenario"},
    "benchmark": {
        "classification",
        "control",
        "detection",
        "impacts",
        "observation",
        "recording",
        "references",
        "robots",
        "scenario",
        "simulation",
        "studies",
    },
}
"""Which subpackages each may import from: arrows point one way."""


def imported_modules(path):
    """Names of all modules imported anywhere in a file, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("path", CORE, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_core_does_not_know_ros(path):
    """Only `nodes` and the command line, which starts them, come near ROS."""
    for module in imported_modules(path):
        top = module.split(".")[0]
        assert top not in ROS and not top.endswith("_msgs"), f"{path.name} imports {module}"
        if path.name != "cli.py":
            assert not module.startswith("impact_control.nodes"), f"{path.name} imports {module}"


@pytest.mark.parametrize("name", ALLOWED)
def test_arrows_point_one_way(name):
    for path in (PACKAGE / name).rglob("*.py"):
        for module in imported_modules(path):
            parts = module.split(".")
            if parts[0] == "impact_control" and len(parts) > 1 and parts[1] in ALLOWED and parts[1] != name:
                assert parts[1] in ALLOWED[name], f"{path.relative_to(PACKAGE)} imports {module}"


def scopes(tree):
    """The module and its public classes."""
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")]
    return [tree, *classes]


def test_every_module_and_public_name_says_what_it_is():
    missing = []
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        if ast.get_docstring(tree) is None:
            missing.append(str(path.relative_to(PACKAGE)))
        for node in (child for scope in scopes(tree) for child in scope.body):
            is_public = isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
            if is_public and ast.get_docstring(node) is None:
                missing.append(f"{path.relative_to(PACKAGE)}: {node.name}")
    assert not missing, "without a docstring: " + ", ".join(missing)
